"""Compiled programs are kept between runs, in the user's cache folder, where one can be written."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import zstandard
from absl.testing import flagsaver
from support import drivers

from jaxdp.program import command_line, program_cache

NAME = "JAX_COMPILATION_CACHE_DIR"
ZSTD = b"\x28\xb5\x2f\xfd"  # what its files begin with
ENTRY = zstandard.ZstdCompressor().compress(b"1234")
needs_new_jax = pytest.mark.skipif(not program_cache.is_right(), reason="keeps no programs")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Give every test an environment of its own, without a folder for programs."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    os.environ.pop(NAME, None)
    os.environ["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    with warnings.catch_warnings():
        yield


@needs_new_jax
def test_programs_are_kept_for_their_owner_alone(tmp_path: Path) -> None:
    program_cache.use()
    folder = tmp_path / "cache" / "jaxdp" / "programs"
    assert os.environ[NAME] == str(folder)
    assert folder.stat().st_mode & 0o077 == 0


def test_what_the_user_has_set_counts() -> None:
    os.environ[NAME] = "elsewhere"
    program_cache.use()
    assert os.environ[NAME] == "elsewhere"


def test_without_a_folder_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    program_cache.use()
    assert NAME not in os.environ


def test_a_version_of_jax_whose_kept_programs_are_wrong_keeps_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.5.3")
    program_cache.use()
    assert NAME not in os.environ


@pytest.mark.slow
@needs_new_jax
def test_a_second_run_finds_the_programs_of_the_first(tmp_path: Path) -> None:
    """And they do what was compiled: on jax 0.5.3 they did not."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    found, made = [], []
    for number in range(2):
        flags = ("--steps=2", "--subset=30", "--batch_size=5", "--noise_seed=1")
        places = (f"--out_dir={tmp_path}/{number}",)
        command = [sys.executable, "-m", "experiments.dp_kip", *flags, *places]
        subprocess.run(command, cwd=drivers.ROOT, env=environment, check=True, capture_output=True)
        folder = tmp_path / "cache" / "jaxdp" / "programs"
        found.append({path.name: path.stat().st_mtime_ns for path in folder.iterdir()})
        made.append(np.load(tmp_path / str(number) / "distilled.npz")["x"])
    assert len(found[0]) > 10
    assert found[1] == found[0]  # it has compiled nothing
    assert {(folder / name).read_bytes()[:4] for name in found[0] if name.endswith("-cache")} == {
        ZSTD
    }
    np.testing.assert_array_equal(made[0], made[1])


@needs_new_jax
@pytest.mark.parametrize("most", ["_MOST_FILES", "_MOST_BYTES"])
def test_programs_give_way_that_were_not_used_for_longest(
    most: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cache" / "jaxdp" / "programs"
    folder.mkdir(parents=True)
    for number, name in enumerate(["old", "new", "oldest"]):
        (folder / name).write_bytes(ENTRY)
        used = {"oldest": 1, "old": 2, "new": 3}[name]
        os.utime(folder / name, (used, 10 - number))
    program_cache.use()
    assert len(list(folder.iterdir())) == 3
    del os.environ[NAME]
    monkeypatch.setattr(program_cache, most, {"_MOST_FILES": 2, "_MOST_BYTES": 30}[most])
    program_cache.use()
    assert {path.name for path in folder.iterdir()} == {"old", "new"}


@needs_new_jax
def test_what_jax_cannot_read_gives_way(tmp_path: Path) -> None:
    """It would be compiled in every run, as jax writes no file that is there."""
    folder = tmp_path / "cache" / "jaxdp" / "programs"
    folder.mkdir(parents=True)
    written = {
        "of an earlier version": zlib.compress(b"1234"),
        "whole": ENTRY,
        "empty": b"",
        "half written": ENTRY[: len(ENTRY) // 2],
        "last": ENTRY,
    }
    for number, (name, content) in enumerate(written.items()):
        (folder / name).write_bytes(content)
        os.utime(folder / name, (number, number))
    program_cache.use()
    assert {path.name for path in folder.iterdir()} == {"whole", "last"}


def test_a_flag_keeps_none() -> None:
    with flagsaver.flagsaver():
        command_line.parse(["driver", "--nokeep_programs"])
        command_line.prepare()
    assert NAME not in os.environ
