"""The released teacher as a file: its weights, its features, its certificate."""

import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.errors import InputError
from experiments.run_folder import RunFolder
from experiments.teacher_settings import MapConfig

NAME = "teacher.npz"
_KEYS = ("weights", "meta")


class TeacherFile(NamedTuple):
    """A teacher that was released before; distilling from it costs no further privacy.

    `means` (c, p) are the noisy class means of scattering features, where they were released too.
    """

    weights: np.ndarray
    means: np.ndarray | None
    map_config: MapConfig
    example_shape: list[int]
    certificate: dict[str, Any]


def write(folder: RunFolder, teacher: TeacherFile) -> None:
    """Write a released teacher with everything that is needed to use it."""
    meta = {
        "map_config": dataclasses.asdict(teacher.map_config),
        "example_shape": teacher.example_shape,
        "certificate": teacher.certificate,
    }
    text = json.dumps(meta, allow_nan=False)
    means = {} if teacher.means is None else {"means": teacher.means}
    folder.write_npz(NAME, weights=teacher.weights, meta=np.array(text), **means)


def read(path: str | Path) -> TeacherFile:
    """Read a released teacher.

    Raises:
        InputError: there is none, or it is not one.
    """
    try:
        with np.load(Path(path).expanduser(), allow_pickle=False) as stored:
            missing = [key for key in _KEYS if key not in stored.files]
            if missing:
                raise ValueError(f"it lacks {', '.join(missing)}")
            weights, meta = stored["weights"], json.loads(str(stored["meta"]))
            means = stored["means"] if "means" in stored.files else None
        if weights.ndim != 2 or not np.all(np.isfinite(weights)):
            raise ValueError(f"its weights have shape {weights.shape}, or are not finite")
        return TeacherFile(
            weights,
            means,
            MapConfig(**meta["map_config"]),
            meta["example_shape"],
            meta["certificate"],
        )
    except FileNotFoundError as error:
        raise InputError(f"--teacher={path}: there is no such file") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"--teacher={path}: is not a teacher that a run has released ({error})"
        ) from error
