"""Folders of orbax that strangers have written: links, pipes, names and sizes."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.program.errors import InputError
from jaxdp.program.runs import checkpoints, generator_file, orbax_folders
from jaxdp.program.runs.checkpoints import Checkpoints, restore_tree, save_tree
from jaxdp.program.runs.orbax_folders import require_small

TREE = {"params": {"a": np.ones((3, 4), np.float32), "b": np.zeros(5, np.float32)}}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_tree(tmp_path / "variables", TREE)
    return tmp_path / "variables"


def a_link(folder: Path) -> None:
    (folder / "_METADATA").rename(folder.parent / "outside")
    (folder / "_METADATA").symlink_to(folder.parent / "outside")


def a_folder_that_is_a_link(folder: Path) -> None:
    (folder / "d").rename(folder.parent / "outside")
    (folder / "d").symlink_to(folder.parent / "outside")


def all_of_it_is_a_link(folder: Path) -> None:
    folder.rename(folder.parent / "outside")
    folder.symlink_to(folder.parent / "outside")


def a_pipe(folder: Path) -> None:
    os.mkfifo(folder / "d" / "x")


def many_files(folder: Path) -> None:
    for number in range(60):
        (folder / f"{number}").touch()


def deep_metadata(folder: Path) -> None:
    (folder / "_METADATA").write_text('{"a": ' + "[" * 10**5 + "]" * 10**5 + "}")


def a_name_outside(folder: Path) -> None:
    text = (folder / "_METADATA").read_text()
    (folder / "_METADATA").write_text(text.replace('"key": "a"', '"key": "../../a"'))


HOSTILE = [
    *(a_link, a_folder_that_is_a_link, all_of_it_is_a_link, a_pipe),
    *(many_files, deep_metadata, a_name_outside),
]


@pytest.mark.parametrize("harm", HOSTILE)
def test_folders_that_no_run_writes_are_refused_before_orbax_reads(
    harm: Any, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orbax_folders, "_MOST_ENTRIES", 50)
    np.testing.assert_array_equal(restore_tree(saved)["params"]["a"], TREE["params"]["a"])
    harm(saved)
    monkeypatch.setattr(checkpoints, "_checkpointer", None)
    with pytest.raises(ValueError, match=r"link|plain|more than|nested|of the name") as caught:
        restore_tree(saved)
    assert "\n" not in str(caught.value)


def test_arrays_that_declare_more_than_their_files_hold_are_not_read(tmp_path: Path) -> None:
    """Orbax writes 2^27 zeros in a few bytes; 10^12 take no more."""
    save_tree(tmp_path / "zeros", {"a": np.zeros(2**24, np.float32)})
    with pytest.raises(ValueError, match="its arrays take"):
        restore_tree(tmp_path / "zeros")

    class Declared:
        shape = (10**6, 10**6)

    with pytest.raises(ValueError, match=r"its arrays take 8e\+03 GB"):
        require_small({"a": Declared()}, tmp_path / "zeros")


def test_links_among_checkpoints_are_not_followed(tmp_path: Path) -> None:
    state = {"x": jnp.ones((2, 3))}
    stored = Checkpoints(tmp_path / "run" / "checkpoints", repeatable=True)
    stored.save(3, state)
    stored.close()
    shutil.move(tmp_path / "run" / "checkpoints" / "3", tmp_path / "outside")
    (tmp_path / "run" / "checkpoints" / "3").symlink_to(tmp_path / "outside")
    again = Checkpoints(tmp_path / "run" / "checkpoints", repeatable=True)
    with pytest.raises(InputError, match="3 in checkpoints is a link, or no plain file"):
        again.restore(state)
    assert (tmp_path / "outside" / "_CHECKPOINT_METADATA").exists()


def test_a_generator_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "description.json").write_text(json.dumps({}))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "generator").symlink_to(tmp_path / "outside")
    with pytest.raises(InputError, match="generator is a link, or no folder"):
        generator_file.read(tmp_path / "run", "--run=x")
