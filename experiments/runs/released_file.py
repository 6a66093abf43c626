"""The released embedding as a file: what was released, how, and under which certificate."""

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from experiments.ntk_settings import FeatureConfig
from experiments.runs import released_npz
from experiments.runs.release_log import ReleaseLog
from experiments.runs.stored_certificate import checked_form
from jaxdp.methods.dp_ntk.release import Released
from jaxdp.privacy import certificates

NAME = "embedding.npz"


class ReleasedFile(NamedTuple):
    """An embedding that was released before; using it costs no further privacy."""

    released: Released
    feature_config: FeatureConfig
    example_shape: list[int]
    certificate: dict[str, Any]


def write(
    log: ReleaseLog,
    released: Released,
    *,
    feature_config: FeatureConfig,
    example_shape: tuple[int, ...],
    certificate: dict[str, Any],
) -> None:
    """Write a released embedding with everything that is needed to use it."""
    arrays = {"mu": np.asarray(released.mu), "class_weights": np.asarray(released.class_weights)}
    meta = {
        "feature_config": dataclasses.asdict(feature_config),
        "example_shape": list(example_shape),
        "certificate": certificate,
    }
    released_npz.write(log, NAME, arrays, meta)


def read(path: str | Path) -> ReleasedFile:
    """Read a released embedding.

    Raises:
        InputError: there is none, or it is not one.
    """
    return released_npz.read(
        path, _build, flag="embedding", what="an embedding that a run has released"
    )


def _build(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> ReleasedFile:
    mu, weights = arrays["mu"], arrays["class_weights"]
    if mu.ndim != 2 or weights.shape != (len(mu),):
        raise ValueError(f"its arrays have shapes {mu.shape} and {weights.shape}")
    return ReleasedFile(
        Released(jnp.asarray(mu), jnp.asarray(weights)),
        FeatureConfig(**meta["feature_config"]),
        meta["example_shape"],
        certificates.recertified(checked_form(meta["certificate"])),
    )
