"""DP-NTK and its relatives: one noisy mean embedding, and a generator trained on it for free."""

from jaxdp.methods.dp_ntk.finish import (
    GeneratorConfig,
    GeneratorState,
    GeneratorTraining,
    published_schedule,
    train_generator,
)
from jaxdp.methods.dp_ntk.release import (
    EMBEDDING,
    WEIGHTS,
    multiplier_by_removal,
    release_embedding,
    sensitivities,
)
from jaxdp.methods.dp_ntk.released import Released

__all__ = [
    "EMBEDDING",
    "WEIGHTS",
    "GeneratorConfig",
    "GeneratorState",
    "GeneratorTraining",
    "Released",
    "multiplier_by_removal",
    "published_schedule",
    "release_embedding",
    "sensitivities",
    "train_generator",
]
