"""`jaxdp pack`: what may leave is in one file, nothing else is, and the file can be used."""

from __future__ import annotations

import json
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from absl.testing import flagsaver
from support import drivers, saved_folders, toy_tables

import jaxdp
from jaxdp.methods.settings import InputError
from jaxdp.program import command_line
from jaxdp.program.commands import dp_ntk, pack, sample
from jaxdp.saved import zips


def run(*words: str) -> int:
    with flagsaver.flagsaver():
        try:
            pack.main(command_line.parse(["jaxdp pack", *words], takes="run"))
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def packed(folder: Path) -> Path:
    out = folder.with_suffix(".zip")
    assert run(str(folder), "-o", str(out)) == 0
    return out


def names_in(path: Path) -> set[str]:
    with zipfile.ZipFile(path) as found:
        return set(found.namelist())


def test_guarantee_nothing_that_must_stay_is_packed(tmp_path: Path) -> None:
    """Whatever else lies in the folder of a run stays there."""
    folder = saved_folders.images(tmp_path / "run")
    (folder / "checkpoints" / "1").mkdir(parents=True)
    for name in (
        *("metrics.json", "report.html", "state.part", ".lock", "x_train.npz", "notes.txt"),
        *("released.json.part", "checkpoints/1/state", "synthetic.npz.part"),
    ):
        (folder / name).write_text("private")
    os.symlink("/etc/hostname", folder / "teacher.npz")
    (folder / "README.md").write_text("kept secret: who is in it")
    certificate = json.loads((folder / "privacy.json").read_text())
    (folder / "privacy.json").write_text(json.dumps(certificate | {"by_hand": "kept secret"}))
    out = packed(folder)
    assert names_in(out) == {"run/privacy.json", "run/config.json", "run/synthetic.npz"}
    with zipfile.ZipFile(out) as file:
        assert not any(b"kept secret" in file.read(name) for name in file.namelist())


@pytest.mark.slow
def test_guarantee_of_a_generator_its_own_files_are_packed(tmp_path: Path) -> None:
    """Those that it is read from, and it draws from the packed file; nothing else is there."""
    source, schema = toy_tables.write_table(tmp_path, toy_tables.frame_of(200))
    folder = tmp_path / "run"
    flags = ("--delta=1e-3", "--evaluate=none", f"--out_dir={folder}")
    assert drivers.drive(dp_ntk.main, source, schema, *flags) == 0
    (folder / "generator" / "notes.txt").write_text("kept secret")
    out = packed(folder)
    names = names_in(out)
    assert "run/generator/description.json" in names
    assert "run/README.md" in names
    assert not [name for name in names if "notes" in name or "checkpoints" in name]
    drawn = tmp_path / "drawn.csv"
    assert drivers.drive(sample.main, f"--run={out}", "--num=5", f"--out={drawn}") == 0
    assert len(drawn.read_text().splitlines()) == 6


def test_what_is_packed_is_loaded_and_predicts(tmp_path: Path) -> None:
    folder = saved_folders.distilled(tmp_path / "run")
    whole, found = jaxdp.load(folder), jaxdp.load(packed(folder))
    x = np.asarray(whole.x).clip(0, 255).round()
    np.testing.assert_array_equal(found.x, whole.x)
    np.testing.assert_array_equal(found.predict(x), whole.predict(x))
    assert found.certificate.facts == whole.certificate.facts


def test_a_run_is_packed_to_the_same_bytes(tmp_path: Path) -> None:
    folder = saved_folders.images(tmp_path / "run")
    assert packed(folder).read_bytes() == packed(folder).read_bytes()


def test_guarantee_what_must_not_be_released_is_not_packed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved_folders.images(tmp_path / "run", stddev=0.0)
    assert run(str(folder), "-o", str(tmp_path / "a.zip")) == 2
    assert "MUST NOT BE RELEASED" in capsys.readouterr().err
    assert not (tmp_path / "a.zip").exists()


def test_guarantee_another_file_than_was_certified_is_not_packed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved_folders.images(tmp_path / "run")
    (folder / "synthetic.npz").write_bytes(b"another")
    assert run(str(folder), "-o", str(tmp_path / "a.zip")) == 2
    assert "is not the file that privacy.json is about" in capsys.readouterr().err
    assert not (tmp_path / "a.zip").exists()


# --- Files of strangers --------------------------------------------------------------------------


def written(path: Path, members: dict[str, bytes], *, mode: int = stat.S_IFREG | 0o644) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            file.writestr(info, content)
    return path


def _link(path: Path) -> None:
    written(path, {"run/privacy.json": b"/etc/hostname"}, mode=stat.S_IFLNK | 0o777)


def _twice(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("run/privacy.json", b"{}")
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("run/privacy.json", b"[]")


HOSTILE: dict[str, Callable[[Path], Any]] = {
    "no zip file": lambda path: path.write_bytes(b"PK\x03\x04 no"),
    "nothing": lambda path: path.write_bytes(b""),
    "no members": lambda path: written(path, {}),
    "a name above": lambda path: written(path, {"run/../../../evil": b""}),
    "a root": lambda path: written(path, {"/run/evil": b""}),
    "a drive": lambda path: written(path, {"c:/run/evil": b""}),
    "backslashes": lambda path: written(path, {"run/..\\evil": b""}),
    "two folders": lambda path: written(path, {"run/a": b"", "other/a": b""}),
    "a file at the top": lambda path: written(path, {"privacy.json": b"{}"}),
    "a link": _link,
    "two of one name": _twice,
    "a file in the place of a folder": lambda path: written(path, {"run/a": b"", "run/a/b": b""}),
    "many files": lambda path: written(path, {f"run/{n}": b"" for n in range(1001)}),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_zip_files_are_refused_in_one_line(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    path = tmp_path / "a.zip"
    HOSTILE[case](path)
    with pytest.raises(
        InputError, match=r"a\.zip'\): (is not a file that jaxdp|cannot be)"
    ) as caught:
        jaxdp.load(path)
    assert "\n" not in str(caught.value)
    inside = (tmp_path / "temporary").resolve()
    assert {each.name for each in tmp_path.iterdir()} == {"a.zip", "temporary"}
    assert all(each.resolve().is_relative_to(inside) for each in inside.rglob("*"))


def test_a_bomb_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zips, "max_bytes", lambda: 10**6)
    path = written(tmp_path / "a.zip", {f"run/{n}": bytes(2**19) for n in range(3)})
    with pytest.raises(InputError, match="more than half of the memory"):
        jaxdp.load(path)


def test_a_zip_file_without_a_certificate_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.zip", {"run/notes.txt": json.dumps({}).encode()})
    with pytest.raises(InputError, match=r"has no privacy\.json"):
        jaxdp.load(path)
