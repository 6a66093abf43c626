"""Warnings of odd data and of results at chance: from public facts and the test split alone."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import drivers
import numpy as np
import pytest
import toy_runs

from experiments.data.dataset import Dataset
from experiments.data.load import load_dataset
from experiments.runs import cautions

INSTEAD = "this does better: x"


def chance(metrics: dict[str, Any], *, c: int = 3, m: int = 75) -> tuple[str, ...]:
    return cautions.at_chance(metrics, num_classes=c, num_test=m, instead=INSTEAD)


def test_a_guess_is_named_with_what_does_better() -> None:
    (line,) = chance({"krr_test_accuracy": 1 / 3})
    assert line == (
        "the test accuracy of kernel ridge regression, 33.33%, cannot be told from chance, 33.33% "
        "for 3 classes, on 75 test examples; this does better: x"
    )


@pytest.mark.parametrize(
    ("c", "m", "highest"),
    [(3, 75, 0.4422), (10, 10_000, 0.106), (2, 8, 0.8536), (10, 360, 0.1316)],
)
def test_how_far_above_chance_a_result_must_be_depends_on_the_test_examples(
    c: int, m: int, highest: float
) -> None:
    assert chance({"krr_test_accuracy": highest - 1e-3}, c=c, m=m)
    assert not chance({"krr_test_accuracy": highest + 1e-3}, c=c, m=m)


def test_guesses_are_seldom_taken_for_results() -> None:
    rng = np.random.default_rng(0)
    for c, m in ((2, 40), (3, 75), (10, 360)):
        right = rng.binomial(m, 1 / c, 20_000) / m
        passed = np.mean([not chance({"krr_test_accuracy": each}, c=c, m=m) for each in right])
        assert passed < 0.05


def test_generated_sets_are_judged_by_their_best_classifier() -> None:
    good, bad = {"mean": 0.9}, {"mean": 0.1}
    assert not chance({"accuracy": {"logistic": bad, "mlp": good}})
    (line,) = chance({"accuracy": {"logistic": bad, "mlp": bad}})
    assert "accuracy of mlp" in line


def test_nothing_is_said_where_nothing_was_judged_or_there_is_one_class() -> None:
    assert not chance({})
    assert not chance({"krr_test_accuracy": None})
    assert not chance({"accuracy": {"mlp": {"mean": 1.0}}}, c=1)


# --- Before the work ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load_dataset("digits", data_dir="nowhere", download=False)


def said(data: Dataset, **settings: Any) -> tuple[str, ...]:
    return cautions.before_work(SimpleNamespace(**settings), data)


def test_fewer_examples_than_distilled_ones(digits: Dataset) -> None:
    assert said(digits, ipc=143) == ()
    (line,) = said(digits, ipc=144)
    assert line == "1440 examples are to be distilled from 1437; lower --ipc"


def test_a_class_that_the_test_split_lacks(digits: Dataset) -> None:
    kept = digits.y_test < 8
    data = dataclasses.replace(digits, x_test=digits.x_test[kept], y_test=digits.y_test[kept])
    (line,) = said(data, ipc=1)
    assert line.startswith("the test split has no example of 8, 9: test scores")
    assert said(data, unconditional=True) == ()


def test_guarantee_a_class_that_the_training_split_lacks_is_not_told(digits: Dataset) -> None:
    kept = digits.y_train > 0
    data = dataclasses.replace(digits, x_train=digits.x_train[kept], y_train=digits.y_train[kept])
    assert said(data, ipc=1) == ()


def test_guarantee_values_of_training_rows_are_not_looked_at(digits: Dataset) -> None:
    rows = {
        name: getattr(digits, name).reshape(-1, 64).astype(np.float32) / 16
        for name in ("x_train", "x_test")
    }
    scaled = dataclasses.replace(digits, **rows)
    assert said(scaled) == ()
    assert said(dataclasses.replace(scaled, x_train=1000 * scaled.x_train)) == ()
    (line,) = said(dataclasses.replace(scaled, x_test=1000 * scaled.x_test))
    assert line.startswith("test rows hold values beyond 10")
    (line,) = said(scaled, num_synthetic=100)
    assert line.startswith("rows without a schema: values that are drawn may be beyond")


# --- A run -------------------------------------------------------------------------------------


def test_a_run_at_chance_says_so_on_the_terminal_and_in_its_metrics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    flags = ("--ipc=7", "--eps=0.01", "--noise_seed=0", f"--out_dir={out}")
    assert toy_runs.run("dp_kip", *flags) == 0
    said, errors = capsys.readouterr()
    warnings = json.loads((out / "metrics.json").read_text())["warnings"]
    assert len(warnings) == 2
    assert warnings[0] == "70 examples are to be distilled from 60; lower --ipc"
    assert "cannot be told from chance" in warnings[1]
    for line in warnings:
        assert errors.count(f"WARNING: {line}\n") == 1
    assert "estimate: about" in said
    # Test scores may be private: they stay out of the file that may leave.
    assert "chance" not in (out / "privacy.json").read_text()
    assert "cannot be told from chance" in (out / "report.html").read_text()


@pytest.mark.parametrize("name", toy_runs.DRIVERS)
def test_guarantee_what_is_said_is_the_same_for_other_private_data(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands on the terminal before the first step is of public facts and the test split."""
    from experiments.runs import driver

    def stop(*_: object) -> None:
        raise toy_runs.StoppedError

    monkeypatch.setattr(driver._Run, "finish", stop)
    lines = []
    for seed in (0, 1):
        toy_runs.private_data(tmp_path / "own.npz", seed=seed)
        given = ("--dataset=own", f"--data_dir={tmp_path}", f"--out_dir={tmp_path / str(seed)}")
        with pytest.raises(toy_runs.StoppedError):
            toy_runs.run(name, *given)
        lines.append(capsys.readouterr())
    assert lines[0] == lines[1]
    assert drivers.READ.fullmatch(lines[0].out)
