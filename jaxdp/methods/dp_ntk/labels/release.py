"""What is released: the steps of a teacher's training, and a mean embedding, under one ledger."""

import jax
import numpy as np
from jaxtyping import Array, Key

from jaxdp.data import Private, Spec
from jaxdp.features.base import FeatureMap
from jaxdp.methods.dp_ntk import release as embedding
from jaxdp.methods.dp_ntk.labels.released import Released
from jaxdp.methods.steps import Runner
from jaxdp.methods.teacher import release as teaching
from jaxdp.privacy.releases import GaussianRelease


def release(
    private: Private,
    key: Key[Array, ""],
    runner: Runner,
    *,
    spec: Spec,
    training: teaching.Training,
    features: FeatureMap,
    release_of_embedding: GaussianRelease,
) -> Released:
    """Return a private teacher and a noisy mean embedding.

    Args:
        private: the data.
        key: of samples and noise, fresh and secret.
        runner: takes the steps of the training.
        spec: public facts about the data.
        training: of the teacher.
        features: of examples as stored.
        release_of_embedding: its noise.

    Guarantee:
        As `jaxdp.methods.teacher.release.release` and `jaxdp.methods.dp_ntk.release.release`, whose
        keys are independent. Nothing else that depends on the private data is returned.
    """
    teacher_key, embedding_key = jax.random.split(key)
    taught = teaching.release(
        private, teacher_key, runner, spec=spec, training=training, means=None
    )
    # Last, because it is over at once: a run that is killed has not released it.
    embedded = embedding.release(
        private,
        embedding_key,
        features,
        (release_of_embedding,),
        num_classes=spec.num_classes,
        watch=runner.watched("mean embedding"),
    )
    return Released(embedded.mu, np.asarray(taught.weights))
