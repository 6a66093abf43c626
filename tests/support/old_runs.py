"""Runs that have only been started, and runs as version 0.1.0 left them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from jaxdp.data import Spec
from jaxdp.methods.dp_kip.settings import Settings
from jaxdp.methods.dp_kip.story import STORY
from jaxdp.privacy.ledger import OLD_NOISE, Ledger
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.program.run_flags import RunFlags
from jaxdp.program.runs import start as run_start
from jaxdp.program.runs.folder import RunFolder

_SINCE = (
    *("verdict", "may_leave", "must_stay", "allowed", "counted_classes", "preparation"),
    *("objection", "ledger"),
)


class PlannedRun:
    """What starting a run needs of its plan."""

    story = dataclasses.replace(STORY, covers=("x",), num_bytes=0, old_noise=OLD_NOISE)
    earlier_certificate = None
    spec = Spec.images("toy", (1000, 2, 2), class_names=["a", "b"])

    def __init__(self, noise: float, seed: int) -> None:
        release = GaussianRelease(name="sum", sensitivity=1.0, stddev=noise)
        self.ledger = Ledger(num_examples=1000, delta=1e-5, releases=(release,))
        self.settings = Settings(seed=seed)

    def config(self) -> dict[str, Any]:
        return {}


def planned_run(*, noise: float = 1.0, seed: int = 0) -> Any:
    return PlannedRun(noise, seed)


def started(path: Path, planned: Any, *, resume: bool) -> dict[str, Any]:
    """Start a run; return the certificate that holds."""
    flags = RunFlags(resume=resume)
    folder = RunFolder(path, resume=resume, overwrite=False)
    with run_start.started(planned, flags, folder, {}) as found:
        return found.certificate


def without_news(certificate: dict[str, Any]) -> dict[str, Any]:
    """Return a certificate as version 0.1.0 wrote it: no ledger in it."""
    return {key: value for key, value in certificate.items() if key not in _SINCE}


def of_version_0_1_0(path: Path, *, finished: bool, **edits: Any) -> dict[str, Any]:
    """Leave a run as version 0.1.0 did."""
    old = without_news(started(path, planned_run(), resume=False)) | edits
    (path / "privacy.json").write_text(json.dumps(old))
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({k: config[k] for k in config if k != "ledger"}))
    (path / "metrics.json").write_text(json.dumps({"finished": finished}))
    return old
