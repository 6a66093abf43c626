"""A run of DP-SGD to account for, of MNIST's size where nothing else is said."""

from __future__ import annotations

import math
from typing import Any

from jaxdp.privacy.mechanism import SubsampledGaussian

DELTA = 1e-5


def run(
    noise_multiplier: float, *, n: int = 60000, batch: int = 500, epochs: int = 10, **changes: Any
) -> SubsampledGaussian:
    defaults: dict[str, Any] = {
        "num_examples": n,
        "sampling_rate": batch / n,
        "num_steps": epochs * math.ceil(n / batch),
        "clip_norm": 1e-3,
        "noise_multiplier": noise_multiplier,
    }
    return SubsampledGaussian(**{**defaults, **changes})
