"""The private teacher: a linear classifier by DP-SGD, and distillation from it for free."""

from jaxdp.methods.teacher.class_means import one_release, release_class_means
from jaxdp.methods.teacher.finish import (
    Distillation,
    DistillConfig,
    DistillState,
    cosine,
    distill,
    induced_weights,
    initial_images,
    loss,
    total_variation,
)
from jaxdp.methods.teacher.release import (
    Teacher,
    TeacherConfig,
    TeacherState,
    dp_teacher,
    momentum_in_phases,
    predict,
)

__all__ = [
    "DistillConfig",
    "DistillState",
    "Distillation",
    "Teacher",
    "TeacherConfig",
    "TeacherState",
    "cosine",
    "distill",
    "dp_teacher",
    "induced_weights",
    "initial_images",
    "loss",
    "momentum_in_phases",
    "one_release",
    "predict",
    "release_class_means",
    "total_variation",
]
