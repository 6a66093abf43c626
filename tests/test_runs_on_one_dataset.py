"""What runs on the same data release together: the ledger beside one's own data, from commands."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import drivers

import jaxdp
from jaxdp.methods.dp_ntk.plan import NtkPlan
from jaxdp.privacy.dataset_ledger import (
    BudgetExceededError,
    DatasetLedger,
    ReleasedElsewhereError,
)
from jaxdp.program.commands import dp_ntk
from jaxdp.program.errors import InputError
from jaxdp.program.runs import dataset_ledgers
from jaxdp.saved.files import digest

TOY = (
    *("--features=rff", "--generator=dense", "--steps=1", "--batch_size=20", "--eps=1"),
    *("--num_synthetic=20", "--evaluate=none", "--delta=1e-3", "--dataset=scans"),
)


DRAWN = ("entry", "run", "at", "digest")
"""What the lines of a ledger have of names, times and what is before."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return stored(tmp_path / "data", seed=0)


def stored(folder: Path, *, seed: int) -> Path:
    """Write a dataset of 60 small images into a folder."""
    rng = np.random.default_rng(seed)
    folder.mkdir()
    arrays = {
        f"{name}_{split}": value
        for split, count in (("train", 60), ("test", 10))
        for name, value in (
            ("x", rng.integers(0, 256, (count, 4, 4), dtype=np.uint8)),
            ("y", np.arange(count) % 2),
        )
    }
    np.savez(folder / "scans.npz", **arrays)
    return folder


def run(data: Path, out: Path, *flags: str) -> int:
    return drivers.drive(dp_ntk.main, *TOY, f"--data_dir={data}", f"--out_dir={out}", *flags)


def test_guarantee_certificates_show_what_all_runs_have_spent(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = DatasetLedger(data / "scans.ledger.jsonl")
    assert run(data, tmp_path / "a") == 0
    first = drivers.read(tmp_path / "a", "privacy.json")
    assert (first["earlier_runs"], first["epsilon_with_earlier_runs"]) == ([], first["epsilon"])
    assert f"this run is counted in {file.path}\n" in capsys.readouterr().err

    assert run(data, tmp_path / "a", "--overwrite") == 0  # what it replaces has been released
    second = drivers.read(tmp_path / "a", "privacy.json")
    assert second["earlier_runs"] == [first["ledger"]]
    assert 1.3 < second["epsilon_with_earlier_runs"] < 2
    said = capsys.readouterr().out
    assert "with an earlier run on the same data; epsilon 1" in said
    assert second["verdict"] in (tmp_path / "a/report.html").read_text()
    assert [entry.method for entry in file.read().entries] == ["dp_ntk", "dp_ntk"]

    before = file.path.read_bytes()
    capsys.readouterr()
    assert run(data, tmp_path / "a", "--resume") == 0
    once = " once, as it was entered before: --resume adds nothing\n"
    assert f"this run is counted in {file.path}{once}" in capsys.readouterr().err
    assert drivers.read(tmp_path / "a", "privacy.json") == second
    assert run(data, tmp_path / "b", f"--embedding={tmp_path}/a/embedding.npz") == 0  # is free
    assert run(data, tmp_path / "c", "--noise_seed=1") == 0  # must not leave the house
    assert run(data, tmp_path / "d", "--ledger=none") == 0
    assert file.path.read_bytes() == before
    assert "earlier_runs" not in drivers.read(tmp_path / "d", "privacy.json")


@pytest.mark.parametrize("how", ["command", "library"])
def test_guarantee_the_sum_of_a_run_for_persons_counts_no_run_for_records(
    how: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = data / "scans.ledger.jsonl"
    assert run(data, tmp_path / "a", "--records_per_person=1") == 0
    assert run(data, tmp_path / "b", "--records_per_person=1") == 0
    assert len(drivers.read(tmp_path / "b", "privacy.json")["earlier_runs"]) == 1
    assert run(data, tmp_path / "c") == 0
    before = file.read_bytes()
    if how == "command":
        capsys.readouterr()
        assert run(data, tmp_path / "d", "--records_per_person=1") == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "leave --records_per_person=1 out" in line
        assert not (tmp_path / "d").exists()
    else:
        with np.load(data / "scans.npz") as arrays:
            x, y = arrays["x_train"], arrays["y_train"]
        spec = jaxdp.Spec.images("scans", x.shape, class_names=("a", "b")).of_persons(1)
        method = jaxdp.methods.dp_ntk
        settings = method.Settings(features="rff", steps=1, delta=1e-3, generator="dense")
        with pytest.raises(ValueError, match="they protect single records"):
            jaxdp.run(method, settings, spec, jaxdp.Private(x, y), ledger=file, progress=False)
    assert file.read_bytes() == before


def test_guarantee_a_run_beyond_the_budget_is_refused_and_writes_nothing(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = data / "scans.ledger.jsonl"
    assert run(data, tmp_path / "a", "--budget=1.2") == 0
    before = file.read_bytes()
    capsys.readouterr()
    for flags in ((), ("--budget=1.3",)):  # the budget holds for later runs
        assert run(data, tmp_path / "b", *flags) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "earlier runs (1) have spent 1 of it" in line
        assert "would make it 1.5" in line
    assert not (tmp_path / "b").exists()
    assert file.read_bytes() == before
    assert run(data, tmp_path / "b", "--budget=2") == 0
    file.write_bytes(before[:-40] + b"}\n")
    assert run(data, tmp_path / "c", "--budget=20") == 2
    assert "was changed" in capsys.readouterr().err
    assert not (tmp_path / "c").exists()


def test_a_run_that_has_spent_all_of_the_budget_can_be_resumed(data: Path, tmp_path: Path) -> None:
    assert run(data, tmp_path / "a", "--budget=1") == 0
    before = drivers.read(tmp_path / "a", "privacy.json")
    assert run(data, tmp_path / "a", "--budget=1", "--resume") == 0
    assert drivers.read(tmp_path / "a", "privacy.json") == before


def test_guarantee_nothing_is_spent_that_earlier_runs_would_keep_from_leaving(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = data / "scans.ledger.jsonl"
    assert run(data, tmp_path / "a", "--eps=40") == 0
    before = file.read_bytes()
    capsys.readouterr()
    assert run(data, tmp_path / "b", "--eps=40") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "with earlier runs is above 50" in line
    assert not (tmp_path / "b").exists()
    assert file.read_bytes() == before
    assert run(data, tmp_path / "b", "--eps=40", "--allow_epsilon") == 0
    assert drivers.read(tmp_path / "b", "privacy.json")["releasable"]


def test_guarantee_nothing_is_spent_in_vain_from_python_either(tmp_path: Path) -> None:
    file = tmp_path / "scans.ledger.jsonl"
    of_python(ledger=file, eps=40.0)
    before = file.read_bytes()
    with pytest.raises(jaxdp.SettingsError, match="with earlier runs is above 50"):
        of_python(ledger=file, eps=40.0)
    assert file.read_bytes() == before


def test_guarantee_images_are_not_given_to_classes_that_were_renamed_since(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with np.load(data / "scans.npz") as arrays:
        kept = dict(arrays)
    for names, code in ((["ill", "well"], 0), (["well", "ill"], 2), (["ill", "well"], 0)):
        np.savez(data / "scans.npz", **kept, class_names=np.array(names))
        assert run(data, tmp_path / "a", "--resume") == code
    assert "other names of classes, or in another order (ill, well and well, ill)" in (
        capsys.readouterr().err
    )


class _KilledError(Exception):
    """Ends a run at the moment when its release begins."""


@pytest.mark.parametrize("how", ["command", "library"])
def test_guarantee_a_run_is_counted_before_it_reads_private_data(
    how: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is killed in a release is in the ledger; who is beyond the budget releases nothing."""
    file, seen = DatasetLedger(data / "scans.ledger.jsonl"), []

    def killed(*given: Any, **named: Any) -> None:
        seen.append(len(file.read().entries))
        raise _KilledError

    monkeypatch.setattr(NtkPlan, "release", killed)

    def begin(number: int, budget: float) -> None:
        if how == "command":
            code = run(data, tmp_path / str(number), f"--budget={budget:g}")
            raise BudgetExceededError if code == 2 else AssertionError(code)
        of_python(ledger=file.path, budget=budget)

    with pytest.raises(_KilledError):
        begin(1, 1.2)
    with pytest.raises(BudgetExceededError):
        begin(2, 1.2)
    assert seen == [1]


def test_guarantee_a_ledger_holds_nothing_of_the_data(tmp_path: Path) -> None:
    found = []
    for seed in (0, 1):
        folder = stored(tmp_path / f"data{seed}", seed=seed)
        assert run(folder, tmp_path / f"run{seed}") == 0
        lines = (folder / "scans.ledger.jsonl").read_text().splitlines()
        first, entry, notes, finished = map(json.loads, lines)
        found.append((first, {k: v for k, v in entry.items() if k not in DRAWN}))
        assert {key for key in notes if key not in DRAWN} == {"notes"}
        files = finished["finished"]  # of what was released: with noise
        told = drivers.read(tmp_path / f"run{seed}", "privacy.json")["sha256"]
        assert files == told
        assert notes["notes"] == digest(tmp_path / f"run{seed}" / "released.json")
    assert found[0] == found[1]


def test_where_a_ledger_is(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def of(*flags: str) -> Any:
        found = dataset_ledgers.of_run(drivers.settings(drivers.FLAGS["dp_ntk"][0], *flags))
        return None if found is None else found.path

    assert of("--dataset=digits") is None
    assert of("--dataset=mnist", f"--data_dir={data}") is None
    assert of("--dataset=scans", f"--data_dir={data}") == data / "scans.ledger.jsonl"
    assert of(f"--csv={data}/patients.csv.gz") == data / "patients.ledger.jsonl"
    assert of(f"--csv={data}/adult.csv", "--schema=adult") is None
    assert of(f"--csv={data}/adult.csv", "--schema=adult.json") == data / "adult.ledger.jsonl"
    assert of("--dataset=digits", f"--ledger={data}/x") == data / "x"
    assert of("--dataset=scans", f"--data_dir={data}", "--ledger=none") is None
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    found = of("--dataset=scans", f"--data_dir={data}")
    assert found.parent == tmp_path / "jaxdp/ledgers"
    assert found.name.startswith("scans-")
    assert found != of("--dataset=scans", f"--data_dir={data}/other")
    found.parent.mkdir(parents=True)
    found.touch()
    monkeypatch.undo()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert of("--dataset=scans", f"--data_dir={data}") == found  # though the folder can be written
    (data / "scans.ledger.jsonl").touch()
    with pytest.raises(InputError, match="both count runs on these data"):
        of("--dataset=scans", f"--data_dir={data}")
    for flags in (("--dataset=digits",), ("--dataset=scans", "--ledger=none")):
        with pytest.raises(Exception, match="--budget=1: needs a file"):
            of(*flags, "--budget=1")


def of_python(*, made: bool = False, eps: float = 1.0, **options: Any) -> Any:
    """Return the certificate of a small run of the library on 40 images, or what it has made."""
    rng, method = np.random.default_rng(0), jaxdp.methods.dp_ntk
    x, y = rng.integers(0, 256, (40, 4, 4), dtype=np.uint8), np.arange(40) % 2
    spec = jaxdp.Spec.images("scans", x.shape, class_names=["no", "yes"])
    settings = method.Settings(
        eps=eps, delta=1e-3, features="rff", generator="dense", steps=1, batch_size=20
    )
    private = jaxdp.Private(x, y)
    return jaxdp.run(method, settings, spec, private, progress=False, **options)[not made]


def test_guarantee_runs_from_python_are_counted_in_the_same_file(data: Path) -> None:
    file = data / "scans.ledger.jsonl"
    assert of_python(ledger=file).facts["earlier_runs"] == []
    certificate = of_python(ledger=str(file), budget=1.6)
    assert "with an earlier run on the same data; epsilon 1" in str(certificate)
    with pytest.raises(BudgetExceededError):
        of_python(ledger=file)
    assert "earlier_runs" not in of_python().facts
    with pytest.raises(ValueError, match="a budget needs a ledger"):
        of_python(budget=1.0)
    assert json.loads(file.read_text().splitlines()[1])["method"] == "dp_ntk"


def test_guarantee_a_run_from_python_has_begun_and_finished_in_the_file(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing can go on with its entry; its digest is that of the file which `save` writes."""
    file, begun = DatasetLedger(data / "scans.ledger.jsonl"), []
    real = NtkPlan.release

    def release(*given: Any, **named: Any) -> Any:
        begun.append(file.read().entries[-1])
        return real(*given, **named)

    monkeypatch.setattr(NtkPlan, "release", release)
    made = of_python(made=True, ledger=file.path)
    made.save(tmp_path / "saved")
    (entry,) = file.read().entries
    assert begun == [entry._replace(finished=None)]
    assert entry.notes is not None
    assert entry.finished == {"embedding.npz": digest(tmp_path / "saved/embedding.npz")}
    with pytest.raises(ReleasedElsewhereError):
        file.note(entry.name, "0" * 64, before=None)
