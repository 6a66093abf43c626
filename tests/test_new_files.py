"""What is written never goes through a link, a pipe or another name of somebody's file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from jaxdp import new_files
from jaxdp.data import Spec
from jaxdp.methods.made import Made
from jaxdp.methods.steps import RowMap
from jaxdp.program import out_file
from jaxdp.program.data import drafts
from jaxdp.program.errors import InputError
from jaxdp.program.runs import rows
from jaxdp.program.runs.folder import RunFolder
from jaxdp.saved import public_cache

CONTENT = b"all of it"
KINDS = ("link", "dangling", "pipe", "hard link", "file")


def placed(kind: str, path: Path) -> Path:
    """Put something at a path; return somebody's file, which must stay as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    theirs = path.parent.parent / f"theirs-{path.name}"
    if kind != "dangling":
        theirs.write_bytes(CONTENT)
    if kind in ("link", "dangling"):
        path.symlink_to(theirs)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "hard link":
        os.link(theirs, path)
    else:
        path.write_bytes(b"before")
    return theirs


def require_untouched(kind: str, theirs: Path) -> None:
    assert theirs.exists() == (kind != "dangling")
    assert kind == "dangling" or theirs.read_bytes() == CONTENT


def made_set() -> Made:
    x, spec = np.zeros((2, 2, 2), np.uint8), Spec.images("toy", (9, 2, 2), class_names=["a", "b"])
    return Made(
        spec=spec, x=x, y=np.arange(2), class_names=("a", "b"), rows=x.reshape(2, 4), shift=0.0,
        scale=1.0, arrays={"x": x}, name="distilled",
    )  # fmt: skip


def in_run(name: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with RunFolder(path.parent, resume=True, overwrite=False) as folder:
            folder.write_bytes(name, b"new")

    return write


def not_for_release(path: Path) -> None:
    out = path.parent.with_name(path.parent.name.removesuffix(".not_for_release"))
    RunFolder(out, resume=False, overwrite=False).write_not_for_release(path.name, b"new")


def public_array(path: Path) -> None:
    public_cache._write(path, "{}", np.zeros(3))


WRITERS: dict[str, Callable[[Path], object]] = {
    "out/x.json": lambda path: new_files.write(path, b"new"),
    "out/y.json": lambda path: new_files.write_part(path, b"new"),
    "out/samples.npz": lambda path: out_file.write(str(path), b"new", suffix=".npz"),
    "out/distilled.npz": lambda path: made_set().save(path.parent, overwrite=True),
    "run/metrics.json": in_run("metrics.json"),
    "run/metrics.json.part": in_run("metrics.json"),
    "run.not_for_release/copies.json": not_for_release,
    "cache/a.npy": public_array,
    "cache/a.json": lambda path: public_array(path.with_suffix(".npy")),
    "cache/a.PROCESS.part.npy": lambda path: public_array(path.with_name("a.npy")),
}


_REFUSED = "out/samples.npz"
"""Of a file that somebody names what is there is no result of before, and stays."""


@pytest.mark.parametrize("kind", KINDS)
def test_guarantee_whatever_is_in_the_place_of_out_stays(kind: str, tmp_path: Path) -> None:
    path = tmp_path / _REFUSED
    theirs = placed(kind, path)
    with pytest.raises(InputError, match="is there; remove it, or name another file"):
        WRITERS[_REFUSED](path)
    require_untouched(kind, theirs)
    assert path.is_symlink() == (kind in ("link", "dangling"))
    assert kind != "file" or path.read_bytes() == b"before"
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [each for each in WRITERS if each != _REFUSED])
def test_guarantee_writing_leaves_what_has_other_names(
    name: str, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / name.replace("PROCESS", str(os.getpid()))
    theirs = placed(kind, path)
    if name.startswith("run/"):
        (path.parent / "config.json").write_text("{}")
    WRITERS[name](path)
    require_untouched(kind, theirs)
    assert not path.is_symlink()
    assert not path.is_fifo()
    names = {each.name for each in path.parent.iterdir()}
    assert not [each for each in names if each.endswith(".part")]


@pytest.mark.parametrize("name", ["out/x.json", "out/samples.npz", "out/distilled.npz"])
def test_a_folder_in_the_place_of_a_file_stays(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir(parents=True)
    with pytest.raises((OSError, InputError)):
        WRITERS[name](tmp_path / name)
    assert [each.name for each in (tmp_path / "out").iterdir()] == [Path(name).name]


def test_a_file_that_cannot_be_written_leaves_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError("no space")

    (tmp_path / "x").write_bytes(b"before")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        new_files.write(tmp_path / "x", b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_bytes() == b"before"


@pytest.mark.parametrize("kind", [*KINDS[:3], "content", "folder"])
def test_guarantee_a_lock_that_is_none_is_refused_and_stays(kind: str, tmp_path: Path) -> None:
    lock = tmp_path / "run/.lock"
    if kind == "content":
        lock.parent.mkdir()
        lock.write_bytes(CONTENT)
    elif kind == "folder":
        lock.mkdir(parents=True)
    theirs = lock if kind in ("content", "folder") else placed(kind, lock)
    with (
        pytest.raises(InputError, match=r"\.lock in it is no lock of a run"),
        RunFolder(tmp_path / "run", resume=False, overwrite=False),
    ):
        raise AssertionError
    assert lock.is_symlink() or lock.exists()
    if kind != "folder":
        require_untouched(kind, theirs)


def test_a_lock_that_a_killed_run_has_left_is_taken(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/.lock").touch()
    os.utime(tmp_path / "run/.lock", (0, 0))
    with RunFolder(tmp_path / "run", resume=False, overwrite=False):
        assert (tmp_path / "run/.lock").stat().st_mtime > 0
    assert not (tmp_path / "run/.lock").exists()


@pytest.mark.parametrize("name", ["checkpoints", "teacher_checkpoints", "generator"])
@pytest.mark.parametrize("flag", ["resume", "overwrite"])
def test_guarantee_a_folder_of_a_run_that_is_a_link_is_refused(
    name: str, flag: str, tmp_path: Path
) -> None:
    theirs, run = tmp_path / "theirs", tmp_path / "run"
    (theirs / "variables").mkdir(parents=True)
    run.mkdir()
    (run / "config.json").write_text("{}")
    (run / name).symlink_to(theirs)
    with (
        pytest.raises(InputError, match=f"{name} in it is a link"),
        RunFolder(run, resume=flag == "resume", overwrite=flag == "overwrite"),
    ):
        raise AssertionError
    assert (theirs / "variables").is_dir()


def test_guarantee_comparisons_with_private_data_do_not_go_through_a_link(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o755)
    (tmp_path / "run.not_for_release").symlink_to(theirs)
    folder = RunFolder(tmp_path / "run", resume=False, overwrite=False)
    with pytest.raises(InputError, match="is a link"):
        folder.require_not_for_release()
    with pytest.raises(InputError, match="is a link"):
        folder.write_not_for_release("copies.json", b"private")
    assert not any(theirs.iterdir())
    assert theirs.stat().st_mode & 0o777 == 0o755


def test_guarantee_leftovers_that_are_links_go_and_their_targets_stay(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "x").write_bytes(CONTENT)
    with RunFolder(tmp_path / "run", resume=False, overwrite=False) as folder:
        (tmp_path / "run/a.part").symlink_to(theirs)
        (tmp_path / "run/b.part").symlink_to(theirs / "x")
        (tmp_path / "run/c.part").mkdir()
        folder.remove_leftovers()
        assert [each.name for each in (tmp_path / "run").iterdir()] == [".lock"]
    assert (theirs / "x").read_bytes() == CONTENT


@pytest.mark.parametrize("kind", KINDS)
def test_guarantee_kept_features_do_not_go_through_what_is_there(kind: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "cache")
    cache = rows.cache_for(folder, {})
    assert cache is not None
    x = np.ones((4, 3), np.float32)
    theirs = placed(kind, cache.path(x, np.float32))
    itself = RowMap(lambda chunk: chunk, {}, np.float32)
    rows.features_of(itself, x, description="", cache=cache)
    require_untouched(kind, theirs)
    assert cache.path(x, np.float32).stat().st_mode & 0o077 == 0
    shutil.rmtree(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_guarantee_a_draft_takes_the_place_of_nothing(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "out" / "schema.json"
    theirs = placed(kind, path)
    found = {"about": "", "missing": [], "columns": {}}
    with pytest.raises(InputError, match="is there already"):
        drafts.write(path, found)
    require_untouched(kind, theirs)
