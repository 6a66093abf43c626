"""Names of data of one's own: what a path names is read, and nothing else, and is text."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
from support.drivers import drive

from jaxdp.program import named_data
from jaxdp.program.commands import dp_kip, images, table
from jaxdp.program.data import outside_files
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import RunFlags
from jaxdp.program.runs import dataset_ledgers

NO_TEXT = os.fsdecode(b"caf\xe9")


def scans(folder: Path, *names: str) -> Path:
    for name in names or ("a", "b"):
        for number in range(6):
            path = folder / name / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            PIL.Image.fromarray(np.full((8, 8), 20 * number, np.uint8)).save(path)
    return folder


@pytest.mark.parametrize("name", ["digits", "mnist", "cifar10"])
def test_own_data_are_not_taken_for_public_ones(name: str, tmp_path: Path) -> None:
    """Others would be read, or runs on these counted by no ledger."""
    folder = scans(tmp_path / "own" / name)
    with pytest.raises(InputError, match="taken for the public ones"):
        named_data.named(str(folder))
    assert named_data.named(name) == {"dataset": name}


def test_a_folder_beside_a_file_of_its_name_is_asked_about(tmp_path: Path) -> None:
    folder = scans(tmp_path / "scans")
    found = {"dataset": "scans", "data_dir": str(tmp_path)}
    assert named_data.named(str(folder)) == found
    file = tmp_path / "scans.npz"
    file.touch()
    with pytest.raises(InputError, match=r"scans\.npz is beside it"):
        named_data.named(str(folder))
    assert named_data.named(str(file)) == found


def test_a_class_whose_name_is_no_text_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    scans(tmp_path / "odd", NO_TEXT, "tea")
    flags = ("--dataset=odd", "--data_dir=.", "--eps=5", "--ipc=1", "--steps=1", "--out_dir=run")
    assert drive(dp_kip.main, *flags, "--ledger=own.jsonl") == 2
    assert "class 'caf\\udce9' of image folder odd is no UTF-8 text" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["odd"]


@pytest.mark.parametrize("ending", [".csv", ".npz"])
def test_a_file_whose_name_is_no_text_is_refused(
    ending: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(f"{NO_TEXT}{ending}")
    path.write_text("age,ill\n" + "1,a\n2,b\n" * 20)
    if ending == ".csv":
        assert drive(table.main, f"--csv={path}", "--accept_guesses") == 2
    else:
        assert drive(images.main, f"--dataset={NO_TEXT}", "--data_dir=.") == 2
    assert "its name is no UTF-8 text" in capsys.readouterr().err
    assert sorted(Path().iterdir()) == [path]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("patients.csv", "patients"),
        ("2024.01.csv", "2024.01"),
        ("2024.02.CSV.gz", "2024.02"),
        ("a.b.parquet", "a.b"),
        ("notes.tsv", "notes"),
        ("plain", "plain"),
        (".csv", ".csv"),
    ],
)
def test_tables_whose_names_have_dots_are_told_apart(file: str, name: str) -> None:
    assert outside_files.table_name(f"folder.d/{file}") == name


def test_a_ledger_of_an_earlier_version_counts_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was named by what is before the first dot."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    flags = RunFlags(csv=str(tmp_path / "2024.01.csv"))
    found = dataset_ledgers.of_run(flags)
    assert found is not None
    assert found.path == tmp_path / "2024.01.ledger.jsonl"
    old = tmp_path / "2024.ledger.jsonl"
    old.touch()
    found = dataset_ledgers.of_run(flags)
    assert found is not None
    assert found.path == old
    elsewhere = dataset_ledgers.in_the_users_folder(old)
    elsewhere.parent.mkdir(parents=True)
    old.rename(elsewhere)
    found = dataset_ledgers.of_run(flags)
    assert found is not None
    assert found.path == elsewhere
