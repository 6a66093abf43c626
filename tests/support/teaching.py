"""What tests of the driver with a private teacher share: small runs, and what they leave."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from jaxdp.methods import teacher
from jaxdp.methods.stored import Stored
from jaxdp.program.commands import dp_kip_teacher
from jaxdp.program.data.load import load_dataset
from jaxdp.program.runs import released
from support import drivers, toy_runs

drive = functools.partial(drivers.drive, dp_kip_teacher.main)
plan_of = functools.partial(toy_runs.planned, "dp_kip_teacher", subset=())

DIGITS = load_dataset("digits", data_dir="nowhere").spec
TOY = ("--steps=4", "--batch_size=200", "--distill_steps=3")
SCATTERING_ALONE: dict[str, Any] = {
    "whiten": 0.1,
    "mirror": False,
    "patches": 0,
    "second_layer": 0,
    "encoder": False,
    "brightness": 0.0,
    "unit_norm": True,
}
"""Options of a public map to which nothing is added."""


def read_teacher(out: Path) -> Stored[Any]:
    """Return what a run has released."""
    return released.read(out / "teacher.npz", teacher.FORM)
