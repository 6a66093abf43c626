"""What is refused is refused before work: before data are read, maps computed or facts bought."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from absl.testing import flagsaver
from support.drivers import drive

import jaxdp
from jaxdp.features import whitening
from jaxdp.privacy.dataset_ledger import BudgetExceededError, DatasetLedger
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.program import command_line
from jaxdp.program.commands import (
    classify,
    dp_kip_teacher,
    dp_ntk,
    images,
    marginals,
    pack,
    sample,
    table,
)
from jaxdp.program.data import load
from jaxdp.program.runs import counted_records, estimates, schema_purchase
from jaxdp.saved import loading

Forbid = Callable[..., None]


@pytest.fixture
def forbid(monkeypatch: pytest.MonkeyPatch) -> Forbid:
    """Let functions fail the test when they are called."""

    def forbid(place: Any, *names: str) -> None:
        for name in names:

            def called(*args: Any, name: str = name, **kwargs: Any) -> None:
                pytest.fail(f"{name} came before the refusal")

            monkeypatch.setattr(place, name, called)

    return forbid


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a taken output folder, a file, a spent ledger and a table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "config.json").write_text("{}")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("")
    (tmp_path / "file").write_text("")
    (tmp_path / "bad.jsonl").write_text("nothing")
    release = GaussianRelease(name="class means", sensitivity=2.0, stddev=8.0)
    spent = Ledger(num_examples=90, delta=1e-5, releases=(release,))
    DatasetLedger(tmp_path / "spent.jsonl").enter("0" * 32, "dp_ntk", spent)
    lines = "".join(f"{20 + k % 60},{'ab'[k % 2]}\n" for k in range(100))
    (tmp_path / "people.csv").write_text(f"age,ill\n{lines}")
    return tmp_path


def names_in(folder: Path) -> set[str]:
    return {os.fspath(path.relative_to(folder)) for path in folder.rglob("*")}


WITHOUT_DATA = {
    "taken": ("--out_dir=taken", "--out_dir=taken: already holds a run"),
    "other": ("--out_dir=other", "--out_dir=other: the folder holds other files"),
    "file": ("--out_dir=file", "--out_dir=file: is a file"),
    "below a file": ("--out_dir=file/run", "--out_dir=file/run: cannot be written"),
    "both": ("--resume --overwrite", "--resume and --overwrite: give one of the two"),
    "judge": ("--evaluate=magic", "--evaluate=magic: 'magic' is unknown"),
    "no ledger": ("--budget=3 --ledger=none", "--budget=3: needs a file"),
    "bad ledger": ("--ledger=bad.jsonl", "bad.jsonl"),
    "budget": ("--budget=0.5 --ledger=spent.jsonl", "--budget=0.5: earlier runs (1) have spent"),
}
OF_IMAGES = {
    "teacher": ("--teacher=nowhere.npz", "--teacher=nowhere.npz: there is no such file"),
    "features": ("--out_dir=run --feature_cache=run/kept", "--feature_cache=run/kept: lies in"),
    "flag": ("--method=teacher --embedding=a.npz", "--embedding=a.npz: is for --method=dp_ntk"),
}
OF_TABLES = {
    "judge of images": ("--evaluate=frechet", "--evaluate=frechet: frechet works on images"),
    "counts": ("--counts=nowhere.npz", "--counts=nowhere.npz: there is no such file"),
}
_SCANS = "--dataset=scans --data_dir=."
REFUSED = [
    pytest.param(command, f"{data} {flags}", said, id=f"{command.__name__.split('.')[-1]}-{name}")
    for command, data, more in (
        (images, _SCANS, OF_IMAGES),
        (table, "--csv=people.csv --accept_guesses", OF_TABLES),
        (dp_ntk, _SCANS, {}),
        (marginals, "--csv=people.csv --schema=people.json", OF_TABLES),
    )
    for name, (flags, said) in (WITHOUT_DATA | more).items()
]


@pytest.mark.parametrize(("command", "flags", "said"), REFUSED)
def test_what_needs_no_data_is_refused_before_they_are_read(
    command: Any,
    flags: str,
    said: str,
    here: Path,
    forbid: Forbid,
    capsys: pytest.CaptureFixture[str],
) -> None:
    forbid(load, "load_dataset", "load_table")
    before = names_in(here)
    assert drive(command.main, *flags.split()) == 2
    assert said in capsys.readouterr().err
    assert names_in(here) == before


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--budget=0.5 --eps=1 --ledger=new.jsonl", "--budget=0.5: earlier runs (0)"),
        ("--evaluate=twelve --ledger=none", "--evaluate=twelve: twelve works on rows"),
        ("--out_dir=/proc/jaxdp --ledger=none", "--out_dir=/proc/jaxdp"),
    ],
)
def test_a_run_is_refused_before_public_maps_are_computed(
    flags: str,
    said: str,
    here: Path,
    forbid: Forbid,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "cache"))  # where nothing is kept
    forbid(whitening, "_mean_product", "_sums_of_products")
    rbf = ("--features=scatter_rbf", "--generator=dense", "--out_dir=run")
    assert drive(dp_ntk.main, "--dataset=digits", *rbf, *flags.split()) == 2
    assert said in capsys.readouterr().err
    assert not (here / "run").exists()


def test_a_budget_is_refused_before_public_maps_in_the_library_too(
    tmp_path: Path, forbid: Forbid
) -> None:
    forbid(whitening, "_mean_product", "_sums_of_products")
    x, y = np.zeros((60, 8, 8), np.uint8), np.arange(60) % 2
    spec = jaxdp.Spec.images("scans", x.shape, class_names=["no", "yes"])
    method = jaxdp.methods.dp_ntk
    settings = method.Settings(features="scatter_rbf", generator="dense", steps=1, batch_size=20)
    with pytest.raises(BudgetExceededError):
        jaxdp.run(
            *(method, settings, spec, jaxdp.Private(x, y)),
            progress=False,
            ledger=tmp_path / "ledger.jsonl",
            budget=0.5,
        )


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--out_dir=taken", "already holds a run"),
        ("--evaluate=frechet", "frechet works on images"),
        ("--method=teacher --batch_size=10000", "--batch_size=10000: larger than the 90"),
        ("--budget=0.5 --eps=1", "--budget=0.5: earlier runs (0)"),
        ("--delta=0.5", "--delta=0.5: is not below 1/n"),
    ],
)
def test_no_fact_of_a_schema_is_bought_for_a_run_that_is_refused(
    flags: str,
    said: str,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def buy(self: Any, records: Any) -> None:
        pytest.fail("facts were bought for a run that is refused")

    monkeypatch.setattr(schema_purchase.Planned, "buy", buy)
    data = ("--csv=people.csv", "--target=ill", "--accept_guesses")
    assert drive(table.main, *data, *flags.split()) == 2
    assert said in capsys.readouterr().err
    assert not (here / "people.ledger.jsonl").exists()
    assert not (here / "people.bought.json").exists()


@pytest.mark.parametrize(
    ("command", "words", "said"),
    [
        (classify, "--run=run nowhere.png", "nowhere.png: there is no such file"),
        (classify, "--run=run file --out=nowhere/a", "--out=nowhere/a: there is no folder"),
        (sample, "--run=run --out=nowhere/a.csv", "--out=nowhere/a.csv: there is no folder"),
        (pack, "--run=run --out=nowhere/a.zip", "--out=nowhere/a.zip: there is no folder"),
        (pack, "--run=run --out=folder.zip", "--out=folder.zip: is a folder"),
    ],
)
def test_places_and_files_are_refused_before_a_run_is_opened(
    command: Any,
    words: str,
    said: str,
    here: Path,
    forbid: Forbid,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (here / "folder.zip").mkdir()
    forbid(loading, "opened")
    forbid(counted_records, "draw")
    assert called(command, *words.split()) == 2
    assert said in capsys.readouterr().err


def called(command: Any, *words: str) -> int:
    """Run a command that takes files; return its exit code."""
    with flagsaver.flagsaver(), pytest.raises(SystemExit) as stop:
        command.main(command_line.parse(["driver", *words], takes_files=True))
    return int(stop.value.code or 0)


def test_examples_are_refused_before_a_classifier_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = jaxdp.Spec.images("scans", (60, 8, 8), class_names=["no", "yes"])

    class Stored:
        @property
        def classifier(self) -> None:
            pytest.fail("a classifier was made before its examples were read")

    stored: Any = Stored()
    stored.spec = spec
    monkeypatch.setattr(loading, "opened", lambda path, flag, **_: stored)
    np.savez(tmp_path / "new.npz", x=np.zeros((3, 9, 9), np.uint8))
    assert called(classify, "--run=run", str(tmp_path / "new.npz")) == 2
    assert "and the run is of examples of (8, 8, 1)" in capsys.readouterr().err


def test_a_run_that_cannot_be_announced_spends_nothing(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(estimates, "of_run", broken)
    before = names_in(here)
    with pytest.raises(ZeroDivisionError):
        drive(dp_ntk.main, "--dataset=digits", "--ledger=own.jsonl", "--out_dir=run")
    assert names_in(here) == before


@pytest.mark.parametrize(
    "flag",
    ["--encoder", "--second_layer=64", "--patches=8", "--brightness=0.1", "--whiten=0.1"],
)
def test_a_teacher_of_records_takes_no_flags_of_images(
    flag: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    age = {"type": "numeric", "lower": 0, "upper": 100}
    ill = {"type": "categorical", "categories": ["a", "b"], "target": True}
    (here / "people.json").write_text(json.dumps({"columns": {"age": age, "ill": ill}}))
    before = names_in(here)
    told = ("--csv=people.csv", "--schema=people.json", "--ipc=2", "--ledger=own.jsonl")
    assert drive(dp_kip_teacher.main, *told, flag, "--out_dir=run") == 2
    assert "works on images, leave it out" in capsys.readouterr().err
    assert names_in(here) == before
