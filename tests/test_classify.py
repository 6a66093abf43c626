"""Classifiers of finished runs are those that the runs had themselves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from absl.testing import flagsaver
from support import toy_runs
from support.classified import (
    CASES,
    FEW,
    RELEASED,
    assert_refused,
    grey,
    lines_of,
    picture,
    run,
    run_of,
    saved,
    toy_place,
)
from support.drivers import names_in, read
from support.toy_runs import StoppedError
from support.toy_tables import frame_of, schema_of

import jaxdp
from jaxdp.data import Private, Spec
from jaxdp.methods import facts
from jaxdp.program import command_line
from jaxdp.program.commands import classify
from jaxdp.program.runs import driver
from jaxdp.tables.schema import BINS


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with toy data, and with the runs that are made of them."""
    return toy_place(tmp_path_factory.mktemp("classify"))


@pytest.mark.parametrize("name", RELEASED)
def test_classifier_is_the_one_that_the_run_had(name: str, place: Path) -> None:
    found, metric = run_of(name, place), CASES[name][2]
    loaded = jaxdp.load(found.folder)
    classifier, certificate = loaded.classifier, loaded.certificate
    mine, theirs = (each.decision_function(found.x) for each in (classifier, found.made.classifier))
    np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        classifier.predict_proba(found.x), found.made.classifier.predict_proba(found.x), atol=1e-5
    )
    if metric is not None:
        assert classifier.score(found.x, found.y) == read(found.folder, "metrics.json")[metric]
    assert certificate.facts["epsilon"] == read(found.folder, "privacy.json")["epsilon"]


@pytest.mark.parametrize("name", ["generated", "table generated"])
def test_where_none_was_released_logistic_regression_is_trained(name: str, place: Path) -> None:
    from sklearn.linear_model import LogisticRegression

    found = run_of(name, place)
    spec = found.made.spec.in_form("one_hot")

    def rows(x: np.ndarray) -> np.ndarray:
        return spec.codec.to_unit(x.reshape(len(x), -1))

    with np.load(found.folder / "synthetic.npz") as made:
        model = LogisticRegression(max_iter=5000).fit(rows(made["x"]), made["y"])
    classifier = jaxdp.load(found.folder).classifier
    expected = model.predict_proba(rows(found.x))
    np.testing.assert_allclose(classifier.predict_proba(found.x), expected, atol=2e-3)


def test_private_data_are_not_needed_nor_files_that_stay(place: Path, tmp_path: Path) -> None:
    found = run_of("teacher", place)
    for name in ("privacy.json", "config.json", "teacher.npz"):
        shutil.copy(found.folder / name, tmp_path)
    classifier = jaxdp.load(tmp_path).classifier
    np.testing.assert_array_equal(
        classifier.predict(found.x), found.made.classifier.predict(found.x)
    )


def test_images_folders_and_arrays_are_told_alike(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = run_of("teacher", place)
    one = picture(tmp_path / "one.png", found.x[0])
    for number in (1, 2):
        picture(tmp_path / "some" / "deeper" / f"{number}.PNG", found.x[number])
    (tmp_path / "some" / "notes.txt").write_text("no image")
    arrays = saved(tmp_path / "all.npz", x=found.x[..., 0])
    capsys.readouterr()
    assert run(one, str(tmp_path / "some"), arrays, f"--run={found.folder}") == 0
    said = capsys.readouterr()
    lines = lines_of(said.out)
    assert [line["row"] for line in lines] == ["", "", "", *map(str, range(len(found.x)))]
    assert Path(lines[1]["file"]) == tmp_path / "some" / "deeper" / "1.PNG"
    for mine, theirs in zip(lines[:3], lines[3:6], strict=True):
        assert mine | {"file": "", "row": ""} == theirs | {"file": "", "row": ""}
    predicted = found.made.classifier.predict(found.x)
    assert [line["class"] for line in lines[3:]] == ["abc"[label] for label in predicted]
    told = [[float(line[f"p_{name}"]) for name in "abc"] for line in lines[3:]]
    # 93 images and 90 are mapped in chunks of other sizes, which round otherwise.
    np.testing.assert_allclose(told, found.made.classifier.predict_proba(found.x), atol=1e-4)
    assert "the private teacher of teacher.npz" in said.err
    assert "MUST NOT BE RELEASED" in said.err


def test_a_run_may_be_the_first_word(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(run_of("teacher", place).folder)
    image = picture(tmp_path / "a.png", grey(8, 8))
    capsys.readouterr()
    assert run(f"--run={folder}", image) == 0
    expected = capsys.readouterr().out
    assert run(folder, image) == 0
    assert capsys.readouterr().out == expected
    assert_refused(capsys, "name what to classify", folder)
    assert_refused(capsys, "--run: name a finished run, as --run=runs/scans or", image, image)


def test_what_is_computed_once_is_said_and_shown(
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = str(run_of("patched", place).folder)
    image = picture(tmp_path / "a.png", grey(8, 8))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    capsys.readouterr()
    assert run(folder, image) == 0
    first = capsys.readouterr()
    assert "computed once, and kept for later" in first.err
    assert "public map, of synthetic images: 100%" in first.err
    assert run(folder, image) == 0
    second = capsys.readouterr()
    assert "public map" not in second.err
    assert second.out == first.out


def test_out_gets_what_is_printed(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = run_of("generated", place)
    arrays = saved(tmp_path / "new.npz", x_test=found.x, y_test=found.y)
    capsys.readouterr()
    assert run(arrays, f"--run={found.folder}") == 0
    said = capsys.readouterr()
    assert "logistic regression (scikit-learn), trained now on" in said.err
    assert "MAY BE RELEASED, under a medium guarantee (epsilon 5)" in said.err
    assert run(f"--run={found.folder}", f"--out={tmp_path / 'classes'}", arrays) == 0
    assert (tmp_path / "classes.csv").read_text() == said.out
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["table labelled", "table kip", "table generated"])
def test_records_need_neither_a_target_nor_dropped_columns(
    name: str, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = run_of(name, place)
    frame = frame_of(15, seed=3)
    new = frame.drop(columns=["ill", "name"]).assign(number=range(15))
    new[new.columns[::-1]].to_csv(tmp_path / "new.csv", index=False)
    new.to_parquet(tmp_path / "new.parquet")
    stored = saved(tmp_path / "new.npz", x=Private.of_frame(frame, schema_of()).x)
    capsys.readouterr()
    files = [str(tmp_path / "new.csv"), str(tmp_path / "new.parquet"), stored]
    assert run(f"--run={found.folder}", *files) == 0
    lines = lines_of(capsys.readouterr().out)
    told = [(line["row"], line["class"]) for line in lines]
    assert told[:15] == told[15:30] == told[30:]
    # Rows are scored beside other rows, so that sums may round in the last printed digit.
    scores = np.array([[float(line["p_no"]), float(line["p_yes"])] for line in lines])
    scores = scores.reshape(3, 15, 2)
    np.testing.assert_allclose(scores[1:], np.broadcast_to(scores[0], (2, 15, 2)), atol=2e-6)
    assert {line["class"] for line in lines} <= {"no", "yes"}
    classifier = jaxdp.load(found.folder).classifier
    predicted = classifier.predict(pd.DataFrame(new.drop(columns="number")))
    assert [label for _, label in told[:15]] == [("no", "yes")[label] for label in predicted]


def test_programs_of_one_process_have_defaults_of_their_own() -> None:
    from jaxdp.program.commands.sample import SampleFlags

    with flagsaver.flagsaver():
        for given, others, mine in (([], "samples.npz", None), (["--out=x"], "x", "x")):
            command_line.parse(["any", *given])
            assert command_line.settings_of(SampleFlags).out == others
            assert command_line.settings_of(classify.ClassifyFlags).out == mine


@pytest.mark.parametrize("name", CASES)
def test_a_run_stores_the_facts_and_says_how_to_use_it(name: str, place: Path) -> None:
    folder = run_of(name, place).folder
    config, page = read(folder, "config.json"), (folder / "report.html").read_text()
    spec = facts.from_config(config)
    assert facts.to_json(spec) == config["spec"]
    files = "new.csv" if "table" in name else "new.png folder/ new.npz"
    command = f"jaxdp classify --run=FOLDER {files}"
    assert (command in page) == (name != "table unlabelled")
    assert "report.html" in names_in(folder)


def test_facts_about_tables_are_kept_in_every_form() -> None:
    spec = Spec.table("people", schema_of(), 60)
    for each in (spec, spec.in_form(BINS), Spec.rows("r", (9, 4), class_names=["a", "b"])):
        config = {"spec": facts.to_json(each), "num_examples": each.num_examples}
        assert facts.from_config(json.loads(json.dumps(config))) == each


def test_nothing_is_classified_by_a_run_that_was_stopped(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    def stop(*_: Any) -> None:
        raise StoppedError

    monkeypatch.setattr(driver._Run, "finish", stop)
    out = tmp_path / "run"
    with pytest.raises(StoppedError):
        toy_runs.run("dp_ntk", *FEW, f"--data_dir={place}", "--dataset=toy", f"--out_dir={out}")
    good = picture(tmp_path / "good.png", grey(8, 8))
    assert_refused(capsys, "has not finished; give the run --resume", f"--run={out}", good)
