from . import labels
from .drawing import Generator
from .finish import (
    GeneratorConfig,
    GeneratorState,
    GeneratorTraining,
    published_schedule,
    train_generator,
)
from .labelling import complete, folder_name, form_of, make_plan
from .labels.settings import Settings
from .plan import NtkPlan
from .release import (
    EMBEDDING,
    WEIGHTS,
    multiplier_by_removal,
    release_embedding,
    sensitivities,
)
from .released import FORM, Released

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
    "form_of",
    "labels",
    "make_plan",
    "multiplier_by_removal",
    "published_schedule",
    "release_embedding",
    "sensitivities",
    "train_generator",
]
