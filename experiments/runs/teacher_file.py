"""The released teacher as a file: its weights, its features, its certificate."""

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.runs import released_npz
from experiments.runs.release_log import ReleaseLog
from experiments.runs.stored_certificate import checked_form
from experiments.teacher_settings import MapConfig
from jaxdp.privacy import certificates
from jaxdp.privacy.ledger import FLOAT32_NOISE, OLD_NOISE

NAME = "teacher.npz"


class TeacherFile(NamedTuple):
    """What was released before, a teacher or class means; distilling from it costs nothing more.

    `weights` (p, c) are the teacher's and `means` (c, p) the noisy class means of
    `mean_map.mean_map`; at least one of them is there.
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


def write(log: ReleaseLog, teacher: TeacherFile) -> None:
    """Write a released teacher with everything that is needed to use it."""
    arrays = {"weights": teacher.weights, "means": teacher.means}
    meta = {
        "map_config": dataclasses.asdict(teacher.map_config),
        "example_shape": teacher.example_shape,
        "certificate": teacher.certificate,
    }
    there = {name: array for name, array in arrays.items() if array is not None}
    released_npz.write(log, NAME, there, meta)


def read(path: str | Path) -> TeacherFile:
    """Read a released teacher.

    Raises:
        InputError: there is none, or it is not one.
    """
    return released_npz.read(path, _build, flag="teacher", what="a teacher that a run has released")


def _build(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> TeacherFile:
    if not arrays:
        raise ValueError("it has neither weights nor means")
    for name, array in arrays.items():
        if array.ndim != 2:
            raise ValueError(f"{name} has shape {array.shape}")
    # Version 0.1.0 drew the noise of weights in float32, that of class means in float64.
    old_noise = FLOAT32_NOISE if "weights" in arrays else OLD_NOISE
    return TeacherFile(
        arrays.get("weights"),
        arrays.get("means"),
        MapConfig(**meta["map_config"]),
        meta["example_shape"],
        certificates.recertified(checked_form(meta["certificate"]), old_noise=old_noise),
    )
