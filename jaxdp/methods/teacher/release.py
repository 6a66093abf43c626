"""What the private teacher releases: the weights of a classifier, noisy class means, or both.

    m_k = (c / n) (sum_{y_i = k} phi(x_i) + N(0, sigma^2 I)),   |phi| <= 1,

For classes of equal size these are the class means. Otherwise a class's mean is scaled by its size
over n/c: we do not divide by the exact sizes, because that would release them. Images can be moved
towards them.

References:
    Zhao & Bilen (2023), "Dataset condensation with distribution matching", equation 5 (the target).
    Harder, Adamczewski & Park (2021), "DP-MERF" (the release of class means).
"""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from jaxdp import devices, processes
from jaxdp.data import Private, Spec
from jaxdp.features.base import FeatureMap
from jaxdp.methods.steps import RowMap, Runner, Steps, Watch
from jaxdp.methods.teacher.classifier import TeacherConfig, dp_teacher
from jaxdp.methods.teacher.probabilities import Last
from jaxdp.methods.teacher.released import Released
from jaxdp.privacy import class_sums
from jaxdp.privacy.class_sums import LabelledChunks
from jaxdp.privacy.mechanism import SubsampledGaussian

_MEANS_CHUNK = 500


class Training(NamedTuple):
    """A private training, as a plan has made it.

    Attributes:
        mechanism: what it is accounted by.
        config: how it goes.
        row_map: the public map from rows as stored to features.
        first: what the mean of features is accounted by, before the steps; None for none.
        last: the release after the steps; None for none.
    """

    mechanism: SubsampledGaussian
    config: TeacherConfig
    row_map: RowMap
    first: SubsampledGaussian | None = None
    last: Last | None = None


class Means(NamedTuple):
    """A release of class means, as a plan has made it.

    Attributes:
        features: the public map of rows as stored, of norm 1 at most.
        noise_multiplier: what it is accounted by.
    """

    features: FeatureMap
    noise_multiplier: float


def release(
    private: Private,
    key: Key[Array, ""],
    runner: Runner,
    *,
    spec: Spec,
    training: Training | None,
    means: Means | None,
) -> Released:
    """Return the weights of a private teacher, noisy class means, or both.

    Args:
        private: the data.
        key: of samples and noise, fresh and secret.
        runner: takes the steps of the training; it may show every state.
        spec: public facts about the data.
        training: of the teacher; None for none.
        means: None for none.

    Raises:
        TypeError: the key is not of `mechanism.private_key`.

    Guarantee:
        As `dp_teacher` and `release_class_means`, whose keys are independent. Nothing
        else that depends on the private data is returned.
    """
    teacher_key, means_key = jax.random.split(key)
    weights, view = None, None
    if training is not None:
        weights, view = _trained(private, teacher_key, runner, spec, training)
    # Last, because it is over at once: a run that is killed has not released it.
    found = None if means is None else _class_means(private, means_key, runner, spec, means)
    return Released(weights, found, view)


def _trained(
    private: Private, key: Array, runner: Runner, spec: Spec, training: Training
) -> tuple[np.ndarray, np.ndarray | None]:
    n = len(private.y)
    own = processes.own_part(n)
    rows = runner.rows(training.row_map, private.rows[own], what="features, training split")
    features, labels = devices.by_rows(rows, n), devices.by_rows(private.y[own], n)
    algorithm = dp_teacher(
        training.mechanism, training.config, first=training.first, last=training.last
    )
    state = runner.loop(
        Steps(
            name="private teacher",
            state=algorithm.init(features.shape[1], spec.num_classes),
            advance=lambda now, count: (algorithm.update(now, key, features, labels, count), None),
            num_steps=training.mechanism.num_steps,
            free=False,
        )
    )
    view = None if training.first is None else state.view.as_array()
    return np.asarray(state.result), view


def _class_means(
    private: Private, key: Array, runner: Runner, spec: Spec, means: Means
) -> np.ndarray:
    own = processes.own_part(len(private.y))
    chunks = class_sums.labelled_chunks(
        private.rows[own],
        private.y[own],
        num_classes=spec.num_classes,
        chunk_size=min(len(private.x), _MEANS_CHUNK),
    )
    found = release_class_means(
        key,
        means.features,
        chunks,
        num_classes=spec.num_classes,
        num_examples=spec.num_examples,
        noise_multiplier=means.noise_multiplier,
        watch=runner.watched("class means"),
    )
    return np.asarray(found)


def release_class_means(
    key: Key[Array, ""],
    features: FeatureMap,
    chunks: LabelledChunks,
    *,
    num_classes: int,
    num_examples: int,
    noise_multiplier: float,
    watch: Watch = iter,
) -> Float[Array, "c p"]:
    """Return noisy class means of private features, all classes taken as equally large.

    Args:
        key: of the noise, fresh and secret.
        features: `phi`, chosen without the data, of norm 1 at most.
        chunks: the private data.
        num_classes: c.
        num_examples: n, public.
        noise_multiplier: as accounted by `ledger.one_release`; 0 is not private.
        watch: sees the numbers of the chunks, and nothing of what is in them.

    Guarantee:
        One Gaussian release under the zero-out relation (`jaxdp.privacy.ledger`): one example moves
        the exact sums by at most 1 in Euclidean norm, and the noise on them has standard deviation
        `noise_multiplier`. They are divided by n/c afterwards, a public constant.
    """
    return class_sums.release_sums(
        key,
        features,
        chunks,
        num_classes=num_classes,
        stddev=noise_multiplier,
        divisor=num_examples / num_classes,
        watch=watch,
    )
