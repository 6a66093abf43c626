"""What the page says of a result that a run has left."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import saved_folders

from jaxdp.program.ui import results


def test_guarantee_a_result_that_was_changed_is_said_to_stay(tmp_path: Path) -> None:
    folder = saved_folders.images(tmp_path / "run")
    assert results.verdict(folder).startswith("MAY BE RELEASED")
    saved_folders.changed(folder / "privacy.json", verdict="MAY BE RELEASED to all")
    assert "to all" not in results.verdict(folder), "no word of a file is believed"
    made = folder / "synthetic.npz"
    made.write_bytes(made.read_bytes() + b"more")
    assert results.verdict(folder).startswith("MUST NOT BE RELEASED as it is: ")


@pytest.mark.parametrize("name", ["privacy.json", "config.json"])
def test_a_result_without_its_files_is_said_to_stay(tmp_path: Path, name: str) -> None:
    folder = saved_folders.images(tmp_path / "run")
    (folder / name).unlink()
    assert results.verdict(folder).startswith("MUST NOT BE RELEASED as it is: ")
