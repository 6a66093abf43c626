from .drawing import Generator
from .finish import (
    GeneratorConfig,
    GeneratorState,
    GeneratorTraining,
    published_schedule,
    train_generator,
)
from .plan import NtkPlan, make_plan
from .release import (
    EMBEDDING,
    WEIGHTS,
    multiplier_by_removal,
    release_embedding,
    sensitivities,
)
from .released import FORM, Released
from .settings import Settings, complete, folder_name

__all__ = [
    "EMBEDDING",
    "FORM",
    "WEIGHTS",
    "Generator",
    "GeneratorConfig",
    "GeneratorState",
    "GeneratorTraining",
    "NtkPlan",
    "Released",
    "Settings",
    "complete",
    "folder_name",
    "make_plan",
    "multiplier_by_removal",
    "published_schedule",
    "release_embedding",
    "sensitivities",
    "train_generator",
]
