"""What tests of runs that use an earlier release share: private data that nobody may look at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxdp.methods.dp_ntk.labels.plan import LabelledPlan
from jaxdp.methods.dp_ntk.plan import NtkPlan
from jaxdp.methods.teacher.plan import TeacherPlan
from jaxdp.program.runs import driver
from support import drivers


def forbid_private_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every use of the private examples by a method an error."""

    def forbidden(*_: Any, **__: Any) -> None:
        raise AssertionError("the private data were used")

    monkeypatch.setattr(driver._Run, "_release", forbidden)
    for plan in (NtkPlan, TeacherPlan, LabelledPlan):
        monkeypatch.setattr(plan, "release", forbidden)


def runs_of_other_data(main: Callable[..., None], folder: Path, *flags: str) -> list[Path]:
    """Run a driver with other private data under the same flags; return the folders."""
    runs = [folder / name for name in ("300", "400")]
    for out in runs:
        assert drivers.drive(main, *flags, f"--subset={out.name}", f"--out_dir={out}") == 0
    return runs


def made(folder: Path, name: str) -> np.ndarray:
    """Return the examples that a run has made."""
    with np.load(folder / name) as saved:
        return saved["x"]


def assert_certified_again(folder: Path, original: Path) -> None:
    """Check that a certificate is that of an earlier run, word for word, and says so."""
    certificate, before = (drivers.read(each, "privacy.json") for each in (folder, original))
    assert "no privacy beyond that release" in certificate["reused"]
    assert certificate.pop("sha256").keys() == before.pop("sha256").keys()
    assert {key: certificate[key] for key in before} == before
