"""Which ledger counts runs on one's own data, where none is named: one, or the user is asked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import RunFlags
from jaxdp.program.runs import dataset_ledgers


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data/scans.npz").touch()
    return tmp_path / "data"


def ledger_of(folder: Path) -> Path:
    found = dataset_ledgers.of_run(RunFlags(dataset="scans", data_dir=str(folder)))
    assert found is not None
    return found.path


def read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders cannot be written; the user who runs this may be root."""
    monkeypatch.setattr(os, "access", lambda *_: False)


def test_a_ledger_is_beside_the_data_or_in_the_users_folder(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ledger_of(data) == data / "scans.ledger.jsonl"
    read_only(monkeypatch)
    elsewhere = ledger_of(data)
    assert elsewhere.is_relative_to(data.parent / "home")
    elsewhere.parent.mkdir(parents=True)
    elsewhere.touch()
    monkeypatch.undo()
    monkeypatch.setenv("XDG_DATA_HOME", str(data.parent / "home"))
    assert ledger_of(data) == elsewhere  # it stays


def test_guarantee_of_two_ledgers_none_is_forgotten(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_only(monkeypatch)
    elsewhere = ledger_of(data)
    elsewhere.parent.mkdir(parents=True)
    elsewhere.touch()
    (data / "scans.ledger.jsonl").touch()
    with pytest.raises(InputError, match="both count runs on these data"):
        ledger_of(data)


def test_guarantee_a_ledger_whose_share_is_gone_is_not_begun_anew(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data / "scans.ledger.jsonl").symlink_to(data / "share/scans.ledger.jsonl")
    read_only(monkeypatch)
    assert ledger_of(data) == data / "scans.ledger.jsonl"  # which entering refuses


def test_guarantee_a_link_to_data_has_their_ledger(data: Path, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    (tmp_path / "links/scans.npz").symlink_to(data / "scans.npz")
    assert ledger_of(tmp_path / "links") == ledger_of(data) == data / "scans.ledger.jsonl"
    (tmp_path / "links/scans.ledger.jsonl").touch()  # of a version before
    assert ledger_of(tmp_path / "links") == tmp_path / "links/scans.ledger.jsonl"
    (data / "scans.ledger.jsonl").touch()
    with pytest.raises(InputError, match="both count"):
        ledger_of(tmp_path / "links")


def of_table(path: Path) -> Path:
    found = dataset_ledgers.of_run(RunFlags(csv=str(path)))
    assert found is not None
    return found.path


def test_guarantee_a_ledger_of_another_table_is_not_taken(data: Path) -> None:
    """One by the name up to the first dot may be of a version before, or of such a table."""
    (data / "survey.clean.csv").touch()
    (data / "survey.ledger.jsonl").touch()
    assert of_table(data / "survey.clean.csv") == data / "survey.ledger.jsonl"
    (data / "survey.csv.gz").touch()
    assert of_table(data / "survey.clean.csv") == data / "survey.clean.ledger.jsonl"
    assert of_table(data / "survey.csv.gz") == data / "survey.ledger.jsonl"
    (data / "survey.csv.gz").unlink()
    (data / "survey.clean.ledger.jsonl").touch()
    with pytest.raises(InputError, match=r"survey\.clean\.ledger.* and .*/survey\.ledger"):
        of_table(data / "survey.clean.csv")


def test_guarantee_names_with_dots_have_ledgers_of_their_own(data: Path) -> None:
    for name in ("scans.1", "scans.2"):
        (data / f"{name}.npz").touch()
        found = dataset_ledgers.of_run(RunFlags(dataset=name, data_dir=str(data)))
        assert found is not None
        assert found.path == data / f"{name}.ledger.jsonl"
