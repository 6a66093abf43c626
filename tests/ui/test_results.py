"""What the page says of a result that a run has left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import drivers, saved_folders
from support.toy_tables import frame_of

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


def test_first_records_of_a_table_without_a_line_of_names(tmp_path: Path) -> None:
    folder = saved_folders.table(tmp_path / "run")
    for header in (True, False):
        config = drivers.read(folder, "config.json")
        config["spec"]["codec"]["schema"]["csv"] = {"header": header}
        (folder / "config.json").write_text(json.dumps(config))
        frame_of(12).to_csv(folder / "synthetic.csv", index=False, header=header)
        found = results.first_records(folder)
        assert found is not None
        assert found.rows == frame_of(12).head(10).astype(str).to_numpy().tolist()
        places = range(1, len(found.names) + 1)
        names = list(frame_of(1)) if header else [f"column_{place}" for place in places]
        assert found.names == names
