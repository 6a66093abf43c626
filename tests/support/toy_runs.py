"""Small runs of every driver, whole or only planned, on 60 digits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jaxdp.methods import certified
from jaxdp.program.commands import dp_kip, dp_kip_teacher, dp_ntk
from jaxdp.program.runs import driver
from jaxdp.program.runs import start as run_start
from jaxdp.program.runs.folder import RunFolder
from jaxdp.program.runs.release_log import ReleaseLog
from support import drivers

# Flags of data and privacy are added.
KIP = ("--ipc=1", "--steps=2", "--eval_every=1", "--batch_size=20", "--bounded")
NTK = ("--ntk_width=4", "--steps=1", "--batch_size=20", "--num_synthetic=20", "--evaluate=none")
TEACHER = ("--steps=2", "--batch_size=20", "--distill_steps=1", "--whiten=0")
DRIVERS = {
    "dp_kip": (dp_kip, KIP),
    "dp_ntk": (dp_ntk, NTK),
    "dp_kip_teacher": (dp_kip_teacher, TEACHER),
    "labelled": (dp_ntk, (*NTK, "--labels=teacher")),
}
SUBSET = ("--subset=60", "--delta=1e-3")
_METHODS = {
    "dp_kip": "dp_kip",
    "dp_ntk": "dp_ntk",
    "dp_kip_teacher": "teacher",
    "labelled": "dp_ntk",
}


class StoppedError(Exception):
    """Ends a run where a spy has seen enough."""


def forbidden(*_: Any, **__: Any) -> None:
    """Stand for a release that must not be made."""
    raise AssertionError("released a second time")


def run(name: str, *flags: str) -> int:
    """Run a driver at toy size; return its exit code."""
    program, toy = DRIVERS[name]
    return drivers.drive(program.main, *toy, *SUBSET, *flags)


def planned(name: str, *flags: str, subset: tuple[str, ...] = SUBSET) -> Any:
    """Return the plan of a driver's run."""
    return drivers.prepared(_METHODS[name], *DRIVERS[name][1], *subset, *flags).plan


def begun(name: str, folder: RunFolder, *flags: str) -> Any:
    """Return a run whose folder is open and which has taken no step."""
    plan, _, run_flags, data = drivers.prepared(_METHODS[name], *DRIVERS[name][1], *SUBSET, *flags)
    started = run_start.Started(folder, certified.certificate(plan), ReleaseLog(folder))
    return driver._Run(_METHODS[name], plan, run_flags, data, (), started)


def private_data(path: Path, *, seed: int) -> None:
    """Write a data set whose private half depends on the seed, and no other part of it."""
    import numpy as np

    rng, public = np.random.default_rng(seed), np.random.default_rng(99)
    np.savez(
        path,
        x_train=rng.integers(0, 200 + seed, (60, 8, 8), dtype=np.uint8),
        y_train=rng.choice(3, 60, p=[0.2 + 0.1 * seed, 0.4, 0.4 - 0.1 * seed]),
        x_test=public.integers(0, 256, (30, 8, 8), dtype=np.uint8),
        y_test=np.arange(30) % 3,
        class_names=np.array(["a", "b", "c"]),
    )
