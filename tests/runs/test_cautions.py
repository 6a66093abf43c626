"""Warnings of odd data and of lost classes: from public facts, made sets and test splits."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import drivers, toy_runs
from support.toy_tables import frame_of, write_table

from jaxdp.data import Private, Spec
from jaxdp.methods import teacher, warned
from jaxdp.methods.made import distilled
from jaxdp.program.commands import dp_ntk
from jaxdp.program.data.dataset import Dataset, HeldOut
from jaxdp.program.data.load import load_dataset
from jaxdp.program.runs import before, cautions, judging

# --- What was made ------------------------------------------------------------------------------


def lost(counts: list[int], shares: tuple[float, ...] | None = None) -> tuple[str, ...]:
    names = tuple("abcdefghij"[: len(counts)])
    labels = np.repeat(np.arange(len(counts)), counts)
    generator = SimpleNamespace(class_weights=shares)
    made: Any = SimpleNamespace(y=labels, class_names=names, generator=generator)
    return warned.lost_classes(made)


def test_a_class_of_which_hardly_anything_was_made_is_named() -> None:
    (line,) = lost([1618, 2], (0.9, 0.1))
    assert line.startswith("of 1620 made examples hardly any is of class b (2, 162 by share): what")
    assert lost([1604, 16], (0.9, 0.1))
    assert not lost([1603, 17], (0.9, 0.1))
    # Rare classes that are drawn seldom are as they should be, unless there is none.
    assert not lost([990, 10], (0.99, 0.01))
    assert lost([100, 0], (0.999, 0.001))


def test_without_shares_a_class_has_an_even_one() -> None:
    assert not lost([95, 5])
    (line,) = lost([96, 4])
    assert "b (4, 50 by share)" in line
    assert not lost([10])


def test_of_many_lost_classes_a_few_are_named() -> None:
    (line,) = lost([100, *[0] * 9])
    assert "f (0, 10 by share) and 4 more: what" in line
    assert "g (" not in line


# --- Rare classes -------------------------------------------------------------------------------

SPEC = Spec.images("own", (1000, 8, 8), class_names=["often", "seldom", "never"])


def settings_of(epsilon: float, **given: Any) -> Any:
    return teacher.complete(teacher.Settings(eps=epsilon, **given), SPEC)


def rare_lines(y: np.ndarray, settings: Any, spec: Spec = SPEC) -> list[str]:
    test = HeldOut(np.zeros((len(y), 64), np.float32), y)
    said = cautions.before_work(settings, spec, test)
    return [line for line in said if "by their shares" in line]


def test_a_class_that_is_too_rare_for_the_budget_is_named_before_the_run() -> None:
    y = np.repeat([0, 1], [95, 5])
    (line,) = rare_lines(y, settings_of(0.5))
    # Ten times the noise of one release at epsilon 0.5, 7.03.
    assert "at epsilon 0.5 little is learnt of a class with fewer than 71 training examples" in line
    assert "for seldom (about 50), by their shares of the test split" in line
    assert not rare_lines(y, settings_of(1.0))
    assert not rare_lines(y, settings_of(float("inf")))
    assert rare_lines(y, settings_of(1.0), SPEC.of_persons(2))
    test = HeldOut(np.zeros((len(y), 64), np.float32), y)
    assert not any(
        "little is learnt" in line
        for line in cautions.before_work(settings_of(0.5), SPEC, test, reused=True)
    )


def metrics_of(confusion: list[list[int]]) -> dict[str, Any]:
    counts = np.array(confusion)
    return {
        "krr_test_accuracy": float(np.trace(counts) / counts.sum()),
        "figures": {"krr": {"confusion": confusion, "auc": 0.9}},
    }


def test_a_rare_class_that_is_seldom_found_could_be_found_oftener() -> None:
    names = ("often", "seldom")
    (line,) = cautions._missed(settings_of(1.0), metrics_of([[95, 0], [4, 1]]), names)
    assert "kernel ridge regression finds 20.0% of seldom: --priors=equal finds more" in line
    assert not list(cautions._missed(settings_of(1.0), metrics_of([[95, 0], [1, 4]]), names))
    assert not list(cautions._missed(settings_of(1.0), metrics_of([[30, 20], [25, 25]]), names))
    equal = settings_of(1.0, priors="equal")
    assert not list(cautions._missed(equal, metrics_of([[95, 0], [4, 1]]), names))


# --- Before the work ---------------------------------------------------------------------------


SPEC_OF_SCENES = Spec.images("scenes", (5000, 32, 32, 3), class_names=["no", "yes"])


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load_dataset("digits", data_dir="nowhere", download=False)


def said(data: Dataset, **settings: Any) -> tuple[str, ...]:
    return cautions.before_work(SimpleNamespace(**settings), data.spec, data.test)


def with_test(data: Dataset, kept: np.ndarray) -> Dataset:
    return dataclasses.replace(data, test=HeldOut(data.test.x[kept], data.test.y[kept]))


def test_fewer_examples_than_distilled_ones(digits: Dataset) -> None:
    assert said(digits, ipc=143) == ()
    (line,) = said(digits, ipc=144)
    assert line == "1440 examples are to be distilled from 1437; lower --ipc"


def test_fewer_images_than_carry_a_second_layer() -> None:
    data = SPEC_OF_SCENES
    layered = teacher.Settings(second_layer=4096, ipc=1)
    (line,) = warned.odd_numbers(teacher.complete(layered, data), data)
    assert line == (
        "--ipc=1: so few images may carry less of a teacher with so many features; raise --ipc, or "
        "train a teacher with --second_layer=0"
    )
    both = dataclasses.replace(layered, encoder=True)
    (line,) = warned.odd_numbers(teacher.complete(both, data), data)
    assert line.endswith("train a teacher with --second_layer=0 --encoder=false")
    for changes in ({"ipc": 5}, {"second_layer": 0}):
        enough = dataclasses.replace(layered, **changes)
        assert not [*warned.odd_numbers(teacher.complete(enough, data), data)]


def test_a_class_of_which_no_example_was_held_out_is_to_be_counted() -> None:
    """Of two examples in a thousand none is in a tenth of them, and no share tells of them."""
    test = HeldOut(np.zeros((100, 64), np.float32), np.repeat([0, 1], [60, 40]))
    (line,) = cautions.before_work(settings_of(3.0), SPEC, test)
    assert line.startswith("the test split has no example of never: test scores say nothing about")
    assert "count its training examples before anything is spent" in line
    assert "at epsilon 3 little is learnt of a class with fewer than 14, so put such" in line
    (reused,) = cautions.before_work(settings_of(3.0), SPEC, test, reused=True)
    assert reused.endswith("test scores say nothing about that")


def test_what_is_missed_says_what_finds_more() -> None:
    for priors, said in (("data", "--priors=equal finds more"), ("equal", "more examples of")):
        assert cautions._for_rare_classes(settings_of(3.0, priors=priors)).startswith(said)


def test_a_class_that_the_test_split_lacks(digits: Dataset) -> None:
    kept = digits.test.y < 8
    data = with_test(digits, kept)
    (line,) = said(data, ipc=1)
    assert line.startswith("the test split has no example of 8, 9: test scores")
    assert said(data, unconditional=True) == ()


def test_a_class_with_few_test_examples_where_others_have_more(digits: Dataset) -> None:
    kept = np.flatnonzero((digits.test.y != 3) | (np.cumsum(digits.test.y == 3) <= 4))
    data = with_test(digits, kept)
    assert said(data, ipc=1) == ("the test split has few examples of 3 (4)",)
    assert said(data, unconditional=True) == ()
    few = kept[:90]  # fewer than ten of each in any case
    data = with_test(digits, few)
    assert said(data, ipc=1) == ()


def test_rows_beyond_the_usual_scale_are_told_of_by_test_rows(digits: Dataset) -> None:
    x = digits.test.x.reshape(-1, 64).astype(np.float32) / 16
    spec = Spec.rows("own", (1437, 64), class_names=digits.spec.class_names)
    rows = Private(digits.private.rows, digits.private.y)
    scaled = Dataset(spec=spec, private=rows, test=HeldOut(x, digits.test.y), source="here")
    assert said(scaled) == ()
    (line,) = said(dataclasses.replace(scaled, test=HeldOut(1000 * x, digits.test.y)))
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
    assert len(warnings) == 3
    assert warnings[0] == "70 examples are to be distilled from 60; lower --ipc"
    assert warnings[1].startswith("at epsilon 0.01 little is learnt of a class with fewer than")
    assert "cannot be told from chance" in warnings[2]
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
    from jaxdp.program.runs import driver

    def stop(*_: object) -> None:
        raise toy_runs.StoppedError

    monkeypatch.setattr(driver._Run, "finish", stop)
    lines = []
    for seed in (0, 1):
        toy_runs.private_data(tmp_path / "own.npz", seed=seed)
        given = ("--dataset=own", f"--data_dir={tmp_path}", f"--out_dir={tmp_path / str(seed)}")
        with pytest.raises(toy_runs.StoppedError):
            toy_runs.run(name, *given)
        said, errors = capsys.readouterr()
        # A bar tells how long it took.
        lines.append((said, [line for line in errors.split("\n") if "\r" not in line]))
    assert lines[0] == lines[1]
    assert drivers.READ.fullmatch(lines[0][0])


def test_a_run_whose_set_lacks_a_class_says_so_on_the_terminal_and_in_its_metrics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from jaxdp.methods.dp_ntk.labels import plan

    monkeypatch.setattr(plan, "labels_in_shares", lambda p, drawn: np.zeros(len(drawn), np.int32))
    flags = write_table(tmp_path, frame_of(200))
    asked = ("--labels=teacher", "--eps=5", "--delta=1e-3", "--num_synthetic=90", "--evaluate=none")
    out = tmp_path / "run"
    assert drivers.drive(dp_ntk.main, *flags, *asked, f"--out_dir={out}") == 0
    few, line = json.loads((out / "metrics.json").read_text())["warnings"]
    assert few.startswith("the test split has few examples of")
    assert line.startswith("of 90 made examples hardly any is of class yes (0, ")
    assert capsys.readouterr().err.count(f"WARNING: {line}\n") == 1


def test_guarantee_a_run_hands_the_test_split_alone_to_warnings_and_judges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take examples of either split alike, and what they say leaves without noise."""
    seen: list[Any] = []

    def spy(place: Any, name: str, held_out: int) -> None:
        original = getattr(place, name)

        def seeing(*given: Any, **named: Any) -> Any:
            seen.append((name, given[held_out], [type(each) for each in given]))
            return original(*given, **named)

        monkeypatch.setattr(place, name, seeing)

    spy(before.Announcement, "__init__", 5)
    spy(cautions, "of_run", 3)
    spy(judging, "judged", 3)
    assert toy_runs.run("dp_kip", "--evaluate=logistic", f"--out_dir={tmp_path / 'run'}") == 0
    assert {name for name, *_ in seen} == {"__init__", "of_run", "judged"}
    data = load_dataset("digits", data_dir="nowhere", download=False)
    held_out = {image.tobytes() for image in data.test.x}
    for _, test, types in seen:
        assert {image.tobytes() for image in test.x} < held_out
        assert not {Dataset, Private} & set(types)


def test_guarantee_judges_see_no_training_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How well a training record is told would be a figure of it, without noise."""
    seen: list[Any] = []
    monkeypatch.setattr(judging.registry, "evaluate", lambda names, problem: seen.append(problem))
    plan, _, run_flags, data = drivers.prepared(
        "dp_kip", *toy_runs.KIP, *toy_runs.SUBSET, f"--out_dir={tmp_path / 'run'}"
    )
    made = distilled(
        plan.spec,
        np.zeros((10, 64), np.float32),
        np.arange(10),
        shift=8.0,
        scale=8.0,
    )
    judging.judged(("mlp",), plan, made, data.test, run_flags)
    (problem,) = seen
    np.testing.assert_array_equal(problem.y_test, data.test.y)
    np.testing.assert_array_equal(problem.x_test, made.scaled(data.test.x))
    assert np.any(data.private.y != data.test.y)
