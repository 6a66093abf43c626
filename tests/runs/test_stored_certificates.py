"""Certificates that files hold: no number in them is believed."""

from __future__ import annotations

import dataclasses
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import drivers
from support.generated_folder import written
from support.old_runs import of_version_0_1_0, planned_run, started, without_news
from support.teaching import SCATTERING_ALONE
from support.toy_runs import planned

from jaxdp.methods import certified, dp_ntk, teacher
from jaxdp.methods.settings import SettingsError
from jaxdp.methods.stored import Earlier, GeneratedImages, Stored
from jaxdp.methods.teacher.earlier import BESIDE, check_earlier
from jaxdp.methods.teacher.settings import MapOptions
from jaxdp.privacy import certificates
from jaxdp.privacy.certificates import Terms
from jaxdp.privacy.ledger import Ledger, one_release
from jaxdp.privacy.stored_certificates import recertified
from jaxdp.program.commands import sample
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import RunFlags
from jaxdp.program.runs import released
from jaxdp.program.runs import start as run_start
from jaxdp.program.runs.folder import RunFolder
from jaxdp.program.runs.release_log import ReleaseLog

OPTIONS = MapOptions(**SCATTERING_ALONE)


def edit_meta(path: Path, **edits: Any) -> None:
    """Edit the certificate in an npz file of a release."""
    with np.load(path) as stored:
        arrays = dict(stored)
    meta = json.loads(str(arrays.pop("meta")))
    meta["certificate"] |= edits
    buffer = io.BytesIO()
    np.savez(buffer, **arrays, meta=np.array(json.dumps(meta)))
    path.write_bytes(buffer.getvalue())


def stored_teacher(certificate: dict[str, Any], **arrays: np.ndarray) -> Stored[Any]:
    return Stored(
        released=teacher.Released(**arrays),
        options=OPTIONS,
        example_shape=(8, 8, 1),
        num_classes=10,
        certificate=certificate,
        source="--teacher=b",
    )


EDITS = {"epsilon": 0.1, "releasable": True, "not_releasable_reason": None}


@pytest.mark.parametrize("where", ["embedding", "teacher"])
def test_guarantee_an_edited_certificate_of_a_release_is_refused(
    where: str, tmp_path: Path
) -> None:
    """A release without noise that says epsilon 0.1."""
    if where == "embedding":
        path, form = written(tmp_path / "run", eps=math.inf) / "embedding.npz", dp_ntk.FORM
    else:
        path, form = tmp_path / "run" / "teacher.npz", teacher.FORM
        stored = stored_teacher(
            certified.certificate(planned("dp_kip_teacher", "--eps=inf")), weights=np.ones((3, 10))
        )
        with RunFolder(tmp_path / "run", resume=False, overwrite=False) as folder:
            released.write(ReleaseLog(folder), path.name, form, stored)
    assert not released.read(path, form).certificate["releasable"]
    edit_meta(path, **EDITS)
    with pytest.raises(InputError, match=r"says epsilon 0\.1"):
        released.read(path, form)


def test_guarantee_an_edited_certificate_of_a_generator_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "generated", eps=math.inf)
    stored = drivers.read(path, "privacy.json")
    (path / "privacy.json").write_text(json.dumps(stored | EDITS))
    with pytest.raises(InputError, match=r"says epsilon 0\.1"):
        sample.generator_of(path)


def test_guarantee_an_edited_certificate_of_an_old_run_is_refused(tmp_path: Path) -> None:
    of_version_0_1_0(tmp_path / "old", finished=True, epsilon=0.1)
    with pytest.raises(InputError, match=r"says epsilon 0\.1"):
        started(tmp_path / "old", planned_run(), resume=True)


def test_guarantee_a_stored_teacher_of_version_0_1_0_is_not_releasable(tmp_path: Path) -> None:
    """Its noise was drawn in float32; that of class means was not, and was not rounded either."""
    certificate = certified.certificate(planned("dp_kip_teacher"))
    assert certificate["releasable"]
    meta = {
        "map_config": dataclasses.asdict(OPTIONS),
        "example_shape": [8, 8, 1],
        "certificate": without_news(certificate),
    }
    for arrays, reason in (
        ({"weights": np.ones((3, 10))}, "in float32"),
        ({"means": np.ones((10, 3))}, "not rounded to a grid"),
    ):
        np.savez(tmp_path / "teacher.npz", **arrays, meta=np.array(json.dumps(meta)))
        found = released.read(tmp_path / "teacher.npz", teacher.FORM).certificate
        assert not found["releasable"]
        assert reason in found["not_releasable_reason"]


def test_guarantee_a_teacher_is_used_beside_its_own_images_alone() -> None:
    """Each has a certificate of its own, and together they have cost more than either says."""
    spec = planned("dp_kip_teacher").spec
    settings = teacher.Settings(match="both", packing=1)
    certificate = {BESIDE: ["first"], "ledger": {}}
    stored = stored_teacher(certificate, weights=np.ones((3, 10)))

    def images(digest: str) -> GeneratedImages:
        return GeneratedImages(np.zeros((10, 1, 64)), {"ledger": {}}, 1.0, digest, "--synthetic=a")

    check_earlier(settings, spec, Earlier(stored, images("first")))
    for other, reused in (
        ("second", stored),
        ("first", dataclasses.replace(stored, certificate={"ledger": {}})),
    ):
        with pytest.raises(SettingsError, match="was not accounted for"):
            check_earlier(settings, spec, Earlier(reused, images(other)))


def test_a_release_without_noise_can_be_read_again() -> None:
    """As a run with --eps=inf leaves it, of a teacher beside an embedding."""
    ledger = Ledger(
        num_examples=9, delta=1e-3, steps=one_release(9, noise_multiplier=0.0), also=(0.0,)
    )
    certificate = certificates.certify(ledger, Terms(covers=(), target_epsilon=None))
    stored = json.loads(json.dumps(certificate))
    assert recertified(stored)["also_released"] == [0.0]
    assert not recertified(stored)["releasable"]
    with pytest.raises(ValueError, match="also_released"):
        recertified(stored | {"also_released": [-1.0]})


def test_a_finished_run_of_version_0_1_0_is_resumed_beside_a_ledger(tmp_path: Path) -> None:
    of_version_0_1_0(tmp_path / "old", finished=True)
    plan = planned_run()
    flags = RunFlags(resume=True, ledger=str(tmp_path / "x.ledger.jsonl"))
    folder = RunFolder(tmp_path / "old", resume=True, overwrite=False)
    with run_start.started(plan, flags, folder, {}) as found:
        found.log.finish({})
    assert "ledger_entry" not in json.loads((tmp_path / "old/config.json").read_text())
    assert not (tmp_path / "x.ledger.jsonl").exists()
