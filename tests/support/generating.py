"""What tests of the generating driver share: small runs, and draws from them."""

from __future__ import annotations

import functools
from pathlib import Path

from jaxdp.program.commands import dp_ntk
from jaxdp.program.commands import sample as sampling_driver
from support import drivers, toy_runs

drive = functools.partial(drivers.drive, dp_ntk.main)
sample = functools.partial(drivers.drive, sampling_driver.main)
plan_of = functools.partial(toy_runs.planned, "dp_ntk", subset=())

TOY = ("--ntk_width=8", "--steps=4", "--batch_size=40", "--num_synthetic=200")


def finished_run(out: Path) -> Path:
    """Make a whole private run on digits."""
    assert drive(*TOY, "--eps=5", f"--out_dir={out}") == 0
    return out
