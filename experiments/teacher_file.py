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


class TeacherFile(NamedTuple):
    """What was released before, a teacher or class means; distilling from it costs nothing more.

    `weights` (p, c) are the teacher's and `means` (c, p) the noisy class means of scattering
    features; at least one of them is there.
    """

    weights: np.ndarray | None
    means: np.ndarray | None
    map_config: MapConfig
    example_shape: list[int]
    certificate: dict[str, Any]

    @property
    def num_classes(self) -> int:
        """Number of classes c."""
        if self.weights is not None:
            return self.weights.shape[1]
        assert self.means is not None
        return len(self.means)


def write(folder: RunFolder, teacher: TeacherFile) -> None:
    """Write a released teacher with everything that is needed to use it."""
    meta = {
        "map_config": dataclasses.asdict(teacher.map_config),
        "example_shape": teacher.example_shape,
        "certificate": teacher.certificate,
    }
    text = json.dumps(meta, allow_nan=False)
    arrays = {"weights": teacher.weights, "means": teacher.means}
    released = {name: array for name, array in arrays.items() if array is not None}
    folder.write_npz(NAME, meta=np.array(text), **released)


def read(path: str | Path) -> TeacherFile:
    """Read a released teacher.

    Raises:
        InputError: there is none, or it is not one.
    """
    try:
        with np.load(Path(path).expanduser(), allow_pickle=False) as stored:
            weights, means = (
                stored[name] if name in stored.files else None for name in ("weights", "means")
            )
            meta = json.loads(str(stored["meta"]))
        released = [array for array in (weights, means) if array is not None]
        if not released:
            raise ValueError("it has neither weights nor means")
        for array in released:
            if array.ndim != 2 or not np.all(np.isfinite(array)):
                raise ValueError(f"an array has shape {array.shape}, or is not finite")
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
