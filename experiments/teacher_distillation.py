"""From a checked run with a private teacher to its distillation, which is post-processing."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from experiments.representatives import representatives
from experiments.teacher_plan import TeacherPlan
from jaxdp.kernels import preprocess
from jaxdp.kernels.kip import SupportSet
from jaxdp.methods.teacher import finish as teacher_kip
from jaxdp.methods.teacher import matching as distribution_matching

# Images that have to look like something start as dark blurs, not as white noise.
_DARK_START = {"mean": 0.1, "scale": 0.15, "smooth": 2.0}


def make_distillation(
    plan: TeacherPlan, weights: Array | None, means: np.ndarray | None
) -> teacher_kip.Distillation:
    """Return the distillation, which is given what was released and no data."""
    extra, extra_data = None, None
    if plan.uses_means:
        extra = functools.partial(teacher_kip.embedding_distance, features=plan.mean_features)
        extra_data = jnp.asarray(means)
    elif plan.synthetic is not None:
        matching = distribution_matching.MatchingConfig(image_shape=plan.image_shape)
        extra = functools.partial(distribution_matching.matching_distance, config=matching)
        extra_data = jnp.asarray(plan.synthetic.x)
    config = teacher_kip.DistillConfig(
        num_steps=plan.hyper.distill_steps,
        ridge=plan.hyper.ridge,
        learning_rate=plan.hyper.distill_learning_rate,
        cosine_weight=plan.hyper.cosine_weight,
        extra_loss=extra,
        learn_labels=plan.settings.learn_labels,
        total_variation=plan.settings.total_variation,
        image_shape=plan.image_shape,
        seed=plan.settings.seed,
        bounds=(0.0, 1.0),  # pixels that can be shown; costs next to no accuracy
    )
    return teacher_kip.distill(weights, plan.feature_fn, config, extra_data)


def initial_support(plan: TeacherPlan) -> SupportSet:
    """Return the images before the first step: noise from the public seed, or generated."""
    if plan.synthetic is not None:
        x = representatives(plan.synthetic.x, plan.settings.ipc, seed=plan.settings.seed)
        labels = jnp.repeat(jnp.arange(plan.data.num_classes), plan.settings.ipc)
        y = preprocess.centred_one_hot(labels, plan.data.num_classes)
        return SupportSet(jnp.asarray(x), y)
    return teacher_kip.initial_images(
        jax.random.key(plan.settings.seed),
        ipc=plan.settings.ipc,
        num_classes=plan.data.num_classes,
        image_shape=plan.image_shape,
        **(_DARK_START if plan.uses_means else {}),
    )
