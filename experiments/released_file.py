"""The released embedding as a file: what was released, how, and under which certificate."""

import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from experiments.errors import InputError
from experiments.ntk_settings import FeatureConfig
from experiments.run_folder import RunFolder
from jaxdp.dp_ntk import Released

NAME = "embedding.npz"
_KEYS = ("mu", "class_weights", "meta")


class ReleasedFile(NamedTuple):
    """An embedding that was released before; using it costs no further privacy."""

    released: Released
    feature_config: FeatureConfig
    example_shape: list[int]
    certificate: dict[str, Any]


def write(
    folder: RunFolder,
    released: Released,
    *,
    feature_config: FeatureConfig,
    example_shape: tuple[int, ...],
    certificate: dict[str, Any],
) -> None:
    """Write a released embedding with everything that is needed to use it."""
    meta = {
        "feature_config": dataclasses.asdict(feature_config),
        "example_shape": list(example_shape),
        "certificate": certificate,
    }
    folder.write_npz(
        NAME,
        mu=np.asarray(released.mu),
        class_weights=np.asarray(released.class_weights),
        meta=np.array(json.dumps(meta, allow_nan=False)),
    )


def read(path: str | Path) -> ReleasedFile:
    """Read a released embedding.

    Raises:
        InputError: there is none, or it is not one.
    """
    try:
        with np.load(Path(path).expanduser(), allow_pickle=False) as stored:
            missing = [key for key in _KEYS if key not in stored.files]
            if missing:
                raise ValueError(f"it lacks {', '.join(missing)}")
            mu, weights = stored["mu"], stored["class_weights"]
            meta = json.loads(str(stored["meta"]))
        if mu.ndim != 2 or weights.shape != (len(mu),) or not np.all(np.isfinite(mu)):
            raise ValueError(f"its arrays have shapes {mu.shape} and {weights.shape}, or are NaN")
        return ReleasedFile(
            Released(jnp.asarray(mu), jnp.asarray(weights)),
            FeatureConfig(**meta["feature_config"]),
            meta["example_shape"],
            meta["certificate"],
        )
    except FileNotFoundError as error:
        raise InputError(f"--embedding={path}: there is no such file") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"--embedding={path}: is not an embedding that a run has released ({error})"
        ) from error
