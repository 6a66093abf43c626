from .classifier import (
    Teacher,
    TeacherConfig,
    TeacherState,
    dp_teacher,
    predict,
)
from .defaults import complete, folder_name
from .finish import (
    Distillation,
    DistillConfig,
    DistillState,
    cosine,
    distill,
    induced_weights,
    loss,
    total_variation,
)
from .plan import TeacherPlan
from .planning import make_plan
from .release import release_class_means
from .released import FORM, Released
from .settings import Settings
from .starts import initial_images

__all__ = [
    "FORM",
    "DistillConfig",
    "DistillState",
    "Distillation",
    "Released",
    "Settings",
    "Teacher",
    "TeacherConfig",
    "TeacherPlan",
    "TeacherState",
    "complete",
    "cosine",
    "distill",
    "dp_teacher",
    "folder_name",
    "induced_weights",
    "initial_images",
    "loss",
    "make_plan",
    "predict",
    "release_class_means",
    "total_variation",
]
