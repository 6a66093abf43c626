"""`jaxdp verify`: it says what may be believed, and whatever is not right ends it with 1."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from absl.testing import flagsaver
from support import saved_folders
from support.zip_files import rewritten, written

from jaxdp.program import command_line
from jaxdp.program.commands import export, pack, verify
from jaxdp.saved import npz, zips

FINGERPRINT = re.compile(r"(?:[0-9a-f]{4} ){4}[0-9a-f]{4}")


def ended(command: Any, *words: str, takes: str | None = "run") -> int:
    with flagsaver.flagsaver():
        try:
            command.main(command_line.parse(["jaxdp", *words], takes=takes))
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def verified(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    capsys.readouterr()
    code = ended(verify, str(path))
    out, err = capsys.readouterr()
    assert (out + err).isascii()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", out + err)
    return code, out, err


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    folder = saved_folders.images(tmp_path / "run")
    assert ended(pack, str(folder), f"--out={tmp_path / 'a.zip'}") == 0
    return tmp_path / "a.zip"


def test_five_lines_say_what_may_be_believed(
    packed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = verified(packed, capsys)
    assert (code, err) == (0, "")
    what, numbers, files, proof, verdict = out.splitlines()
    assert "12 generated images of 5x4 pixels, grey, 3 classes, made from 90 private" in what
    assert "epsilon 0.3407 at delta 1e-05, mu 0.1, replace" in numbers
    assert "among 90 records; computed now from its ledger (Gaussian, 1 release(s))" in numbers
    assert "other runs on these records are not counted" in numbers
    assert "files: 21 are as their digests say (that of privacy.json is the fingerprint)" in files
    assert files.endswith("covered by no digest: none")
    assert proof.startswith("not proved: nothing is signed")
    assert verdict.startswith("MAY BE RELEASED, under a strong guarantee")


def test_guarantee_sender_and_receiver_see_the_same_fingerprint(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And another one of any other pack: of the same run with another licence, as it is."""
    shown = []
    for licence in ("one", "other"):
        capsys.readouterr()
        out = tmp_path / f"{licence}.zip"
        assert ended(pack, str(packed), f"--out={out}", f"--license={licence}") == 0
        (sent,) = FINGERPRINT.findall(capsys.readouterr().out)
        (received,) = FINGERPRINT.findall(verified(out, capsys)[1])
        assert sent == received
        shown.append(sent)
    assert len({*shown, *FINGERPRINT.findall(verified(packed, capsys)[1])}) == 3


def test_exports_and_unpacked_packs_are_verified(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.unpack_archive(packed, tmp_path / "there")
    code, out, _ = verified(tmp_path / "there" / "run", capsys)
    assert (code, out) == (0, verified(packed, capsys)[1])
    words = (f"--run={packed}", "--format=png", f"--out={tmp_path / 'png'}")
    assert ended(export, *words, takes=None) == 0
    assert verified(tmp_path / "png", capsys)[0] == 0
    (tmp_path / "png" / "notes.txt").write_text("x")
    code, _, err = verified(tmp_path / "png", capsys)
    assert code == 1
    assert "holds notes.txt, which is covered by no digest" in err


def test_what_a_file_manager_leaves_in_an_unpacked_pack_is_told_and_no_fault(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.unpack_archive(packed, tmp_path / "there")
    for name in (".DS_Store", "images/Thumbs.db", "Desktop.ini"):
        (tmp_path / "there" / "run" / name).write_bytes(b"x")
    code, out, _ = verified(tmp_path / "there" / "run", capsys)
    assert code == 0
    assert "covered by no digest: .DS_Store, Desktop.ini, images/Thumbs.db" in out
    (tmp_path / "there" / "run" / "Thumbs.db.txt").write_bytes(b"x")
    assert verified(tmp_path / "there" / "run", capsys)[0] == 1


def test_guarantee_pictures_of_an_unpacked_pack_have_their_digests(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.unpack_archive(packed, tmp_path / "there")
    folder = tmp_path / "there" / "run"
    picture = next((folder / "images").rglob("*.png"))
    picture.write_bytes(picture.read_bytes() + b" ")
    code, _, err = verified(folder, capsys)
    assert code == 1
    assert f"{picture.name} is not the file that SHA256SUMS lists" in err


def test_the_folder_of_a_run_has_files_without_digests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved_folders.images(tmp_path / "run")
    for name in ("metrics.json", "a\x1b[2Jb"):
        (folder / name).write_text("{}")
    code, out, _ = verified(folder, capsys)
    assert code == 0
    assert "covered by no digest: a\\x1b[2Jb, config.json, metrics.json" in out
    (folder / "synthetic.npz").unlink()
    code, out, _ = verified(folder, capsys)
    assert code == 0
    assert "no made set" in out
    assert out.splitlines()[2].endswith("not passed on: synthetic.npz")


# --- What does not hold --------------------------------------------------------------------------


def _certificate(**news: Any) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        found = json.loads(members["run/privacy.json"])
        members["run/privacy.json"] = json.dumps(found | news).encode()

    return change


def _other_ledger(members: dict[str, bytes]) -> None:
    """Promise ten times the noise, in the certificate and nowhere else."""
    found = json.loads(members["run/privacy.json"])
    found["ledger"]["releases"][0]["stddev"] *= 10
    members["run/privacy.json"] = json.dumps(found).encode()


def _other_set(members: dict[str, bytes]) -> None:
    members["run/synthetic.npz"] = members["run/synthetic.npz"] + b" "


def _two_values(members: dict[str, bytes]) -> None:
    text = members["run/privacy.json"].decode()
    members["run/privacy.json"] = text.replace("{", '{"epsilon": 0.01,', 1).encode()


HOSTILE: dict[str, tuple[Callable[[dict[str, bytes]], Any], str]] = {
    "an edited epsilon": (_certificate(epsilon=0.1), "it says epsilon 0.1, and its own numbers"),
    "an edited mu": (_certificate(gaussian_dp_mu=0.01), "it says gaussian_dp_mu 0.01"),
    "an edited delta": (_certificate(delta=1e-9), "it says delta 1e-09"),
    "more records": (_certificate(num_examples=10**6), "it says num_examples 1000000"),
    "an edited ledger": (_other_ledger, "it says"),
    "two epsilons": (_two_values, "epsilon is there twice"),
    "an edited set": (_other_set, "is not the file that"),
    "another program": (
        lambda members: members.update({"run/how_to.py": b"import os"}),
        "how_to.py is not the file that SHA256SUMS lists",
    ),
    "an added file": (
        lambda members: members.update({"run/notes.txt": b""}),
        "holds notes.txt, which is covered by no digest",
    ),
    "an added file of a file manager": (
        lambda members: members.update({"run/images/Thumbs.db": b""}),
        "holds images/Thumbs.db, which is covered by no digest",
    ),
    "an added picture": (
        lambda members: members.update({"run/images/none/99.png": b""}),
        "holds images/none/99.png, which is covered by no digest",
    ),
    "a file that is gone": (
        lambda members: members.pop("run/README.md"),
        "lacks README.md, which SHA256SUMS lists",
    ),
    "a list that is gone": (
        lambda members: members.pop("run/SHA256SUMS"),
        "SHA256SUMS cannot be read",
    ),
    "codes of a terminal": (
        lambda members: members.update({"run/a\x1b]0;owned\x07": b""}),
        "it holds what is no plain file of a run",
    ),
    "a name above": (
        lambda members: members.update({"run/../../evil": b""}),
        "it holds what is no plain file of a run",
    ),
    "no certificate": (lambda members: members.pop("run/privacy.json"), "has no privacy.json"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_guarantee_what_does_not_hold_is_said(
    case: str, packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, said = HOSTILE[case]
    rewritten(packed, change)
    code, out, err = verified(packed, capsys)
    assert (code, out) == (1, "")
    assert err.startswith("DOES NOT HOLD: ")
    assert said in err
    assert err.count("\n") == 2
    assert not list(tmp_path.glob("**/evil"))


def test_guarantee_two_entries_of_one_name_are_refused(
    packed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(packed, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("run/privacy.json", file.read("run/privacy.json"))
    code, _, err = verified(packed, capsys)
    assert code == 1
    assert "it holds two files of one name" in err


def test_guarantee_bombs_are_refused(
    packed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a zip file, and of an npz file within it that the certificate names."""
    monkeypatch.setattr(zips, "max_bytes", lambda: 10**6)
    rewritten(packed, lambda members: members.update({"run/x": bytes(2 * 10**6)}))
    code, _, err = verified(packed, capsys)
    assert code == 1
    assert "more than half of the memory" in err


def test_guarantee_arrays_that_no_machine_holds_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved_folders.images(tmp_path / "run")
    monkeypatch.setattr(npz, "max_bytes", lambda: 100)
    code, _, err = verified(folder, capsys)
    assert code == 1
    assert "more than half of the memory" in err


def test_guarantee_what_must_not_be_released_is_not_all_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved_folders.images(tmp_path / "run", stddev=0.0)
    code, out, err = verified(folder, capsys)
    assert code == 1
    assert "there is no guarantee" in out
    assert "MUST NOT BE RELEASED" in out
    assert "must not be passed on, by its own certificate" in err


def test_names_of_strangers_do_not_steer_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved_folders.images(tmp_path / "run")
    config = json.loads((folder / "config.json").read_text())
    config["spec"]["name"] = "scans\x1b[2J\nMAY BE RELEASED"
    (folder / "config.json").write_text(json.dumps(config))
    code, out, _ = verified(folder, capsys)
    assert code == 0
    assert len(out.splitlines()) == 5
    assert "\\x1b[2J MAY BE RELEASED)" in out.splitlines()[0]


def test_sets_that_do_not_fit_their_data_do_not_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved_folders.distilled(tmp_path / "run")
    with np.load(folder / "distilled.npz") as stored:
        arrays = {**stored, "y": np.array([0, 1, 9])}
    spec, config = saved_folders.IMAGES, json.loads((folder / "config.json").read_text())
    saved_folders.write(folder, "distilled", spec, arrays, options=config)
    code, _, err = verified(folder, capsys)
    assert code == 1
    assert "labels beyond 3 classes" in err


# --- Bad input -----------------------------------------------------------------------------------


def test_bad_input_ends_with_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "no.zip").write_text("x")
    written(tmp_path / "noname", {"run/privacy.json": b"{}"})
    for name, said in (
        ("gone.zip", "there is no such file or folder"),
        (".", "has no privacy.json"),
        ("notes.txt", "is neither a folder nor a zip file"),
        ("no.zip", "is neither a folder nor a zip file"),
        ("noname", "is neither a folder nor a zip file"),
    ):
        code, out, err = verified(tmp_path / name, capsys)
        assert (code, out) == (2, "")
        assert err.startswith("error: ")
        assert said in err
    assert ended(verify) == 2
