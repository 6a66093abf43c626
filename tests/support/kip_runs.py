"""Runs of DP-KIP at toy size, which tests of its driver share."""

from __future__ import annotations

import functools
from pathlib import Path

from jaxdp.program.commands import dp_kip
from support import drivers
from support.drivers import COMMON_FILES

drive = functools.partial(drivers.drive, dp_kip.main)
assert_refused = functools.partial(drivers.assert_refused, dp_kip.main)

TOY = ("--ipc=1", "--steps=6", "--eval_every=2", "--batch_size=50")
FILES = COMMON_FILES | {"distilled.npz", "distilled.png"}


def finished(folder: Path) -> Path:
    """A finished private run on digits; tests that change it take a copy."""
    out = folder / "run"
    assert drive(*TOY, "--eps=5", f"--out_dir={out}") == 0
    return out
