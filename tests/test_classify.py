"""Classifiers of finished runs: those that the runs had themselves, and refusals of what is not."""

from __future__ import annotations

import csv
import dataclasses
import functools
import io
import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import toy_runs
from absl.testing import flagsaver
from drivers import names_in, read
from PIL import Image
from toy_runs import StoppedError, private_data
from toy_tables import frame_of, schema_of, write_table

from experiments import classify, command_line
from experiments.classify import classifier_of
from experiments.data import new_examples, resizing
from experiments.data.known import FLOATS
from experiments.errors import InputError
from experiments.report import pictures
from experiments.runs import driver, stored_spec
from jaxdp.data import Private, Spec
from jaxdp.methods import labelled, teacher
from jaxdp.methods.dp_kip.plan import KipPlan
from jaxdp.methods.labelled.plan import LabelledPlan
from jaxdp.methods.runner import num_columns
from jaxdp.methods.teacher import plan as teacher_plan
from jaxdp.tables.schema import BINS

pytestmark = pytest.mark.usefixtures("quick_compilation")

GENERATED = ("--num_synthetic=20", "--evaluate=none")
FEW = ("--features=rff", "--generator=dense", *GENERATED)
NOISY, PLAIN = "--eps=5", "--eps=inf"
TEACHER = "teacher_test_accuracy"
# The method, its flags beside the toy ones, and how its accuracy is called where a run tells one.
RELEASED: dict[str, tuple[str, tuple[str, ...], str | None]] = {
    "kip": ("dp_kip", ("--kernel=fc_nngp", "--depth=2", "--ridge=0.1", PLAIN), "krr_test_accuracy"),
    "features": ("dp_kip", ("--kernel=scatter", "--scatter_norm=unit", PLAIN), None),
    "teacher": ("dp_kip_teacher", (PLAIN,), TEACHER),
    "means": ("dp_kip_teacher", ("--match=embedding", "--ridge=0.1", PLAIN), None),
    "table kip": ("dp_kip", ("--codes=raw", "--nobounded", PLAIN), None),
    "table labelled": ("labelled", (*GENERATED, PLAIN), TEACHER),
}
CASES = RELEASED | {
    "generated": ("dp_ntk", (*FEW, NOISY), None),
    "table generated": ("dp_ntk", (*GENERATED, NOISY), None),
    "table unlabelled": ("dp_ntk", ("--unconditional", *GENERATED, PLAIN), None),
}


class Run(NamedTuple):
    """A finished run, what it has made, and its test data."""

    folder: Path
    made: Any
    x: np.ndarray
    y: np.ndarray


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with toy data: images, and a table; runs are made there once."""
    path = tmp_path_factory.mktemp("classify")
    private_data(path / "toy.npz", seed=0)
    write_table(path, frame_of(60))
    return path


def at_random(plan: Any, *_: Any) -> Any:
    """Stand for a release that takes long: numbers that no private data have been asked for."""
    rng, num = np.random.default_rng(0), plan.num_classes
    if isinstance(plan, KipPlan):
        return plan._initial_state(plan._public_key).support
    taught = plan.teaching if isinstance(plan, LabelledPlan) else plan
    width = num_columns(taught.feature_fn, taught.spec.dim)
    weights = rng.normal(size=(width, num)).astype(np.float32)
    if isinstance(plan, LabelledPlan):
        mu = rng.normal(size=(num, plan.generation.features.dim)).astype(np.float32)
        return labelled.Released(jnp.asarray(mu), weights)
    means = rng.normal(size=(num, plan.mean_features.dim)) if plan.uses_means else None
    return teacher.Released(weights if plan.uses_teacher else None, means)


@functools.cache
def run_of(name: str, place: Path) -> Run:
    """Return a run, made when it is first asked for; tests that change it take a copy."""
    method, flags, _ = CASES[name]
    out, seen = place / name.replace(" ", "_"), []
    write = driver._Run._write

    def spy(self: Any, made: Any) -> None:
        seen.append((made, self._data))
        write(self, made)

    data = [f"--data_dir={place}", "--dataset=toy"]
    if name.startswith("table"):
        data = [f"--csv={place / 'people.csv'}", f"--schema={place / 'people.json'}"]
    dot = io.BytesIO()
    Image.new("L", (1, 1)).save(dot, "PNG")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver._Run, "_write", spy)
        if name != "kip":
            for plan in (KipPlan, teacher.TeacherPlan, LabelledPlan):
                patch.setattr(plan, "release", at_random)
        patch.setattr(driver, "_print_summary", lambda *_: None)
        patch.setattr(pictures, "image_grid_png", lambda *_, **__: dot.getvalue())
        patch.setattr("experiments.report.tables.table_png", lambda *_, **__: dot.getvalue())
        patch.setattr(teacher_plan.distillation, "finish", lambda _, start, *__, **___: start)
        assert toy_runs.run(method, *flags, *data, f"--out_dir={out}") == 0
    ((made, found),) = seen
    return Run(out, made, found.x_test, found.y_test)


def run(*arguments: str) -> int:
    """Run the program in this process; return its exit code."""
    with flagsaver.flagsaver():
        try:
            classify.main(command_line.parse(["classify", *arguments], takes_files=True))
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def lines_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def saved(path: Path, **arrays: Any) -> str:
    np.savez(path, **arrays)
    return str(path)


def picture(path: Path, pixels: np.ndarray) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.squeeze()).save(path)
    return str(path)


def copied(run: Run, folder: Path) -> Path:
    out = folder / "copy"
    shutil.copytree(run.folder, out, ignore=shutil.ignore_patterns("checkpoints", "generator"))
    return out


# --- What is told --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RELEASED)
def test_classifier_is_the_one_that_the_run_had(name: str, place: Path) -> None:
    found, metric = run_of(name, place), CASES[name][2]
    classifier, certificate = classifier_of(found.folder)
    mine, theirs = (each.decision_function(found.x) for each in (classifier, found.made.classifier))
    np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        classifier.predict_proba(found.x), found.made.classifier.predict_proba(found.x), atol=1e-5
    )
    if metric is not None:
        assert classifier.score(found.x, found.y) == read(found.folder, "metrics.json")[metric]
    assert certificate["epsilon"] == read(found.folder, "privacy.json")["epsilon"]


@pytest.mark.parametrize("name", ["generated", "table generated"])
def test_where_none_was_released_logistic_regression_is_trained(name: str, place: Path) -> None:
    from sklearn.linear_model import LogisticRegression

    found = run_of(name, place)
    spec = found.made.spec.in_form("one_hot")

    def rows(x: np.ndarray) -> np.ndarray:
        return spec.codec.to_unit(x.reshape(len(x), -1))

    with np.load(found.folder / "synthetic.npz") as made:
        model = LogisticRegression(max_iter=5000).fit(rows(made["x"]), made["y"])
    classifier, _ = classifier_of(found.folder)
    expected = model.predict_proba(rows(found.x))
    np.testing.assert_allclose(classifier.predict_proba(found.x), expected, atol=2e-3)


def test_private_data_are_not_needed_nor_files_that_stay(place: Path, tmp_path: Path) -> None:
    found = run_of("teacher", place)
    for name in ("privacy.json", "config.json", "teacher.npz"):
        shutil.copy(found.folder / name, tmp_path)
    classifier, _ = classifier_of(tmp_path)
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
    np.testing.assert_allclose(told, found.made.classifier.predict_proba(found.x), atol=1e-5)
    assert "the private teacher of teacher.npz" in said.err
    assert "MUST NOT BE RELEASED" in said.err


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
    told = [{k: v for k, v in line.items() if k != "file"} for line in lines]
    assert told[:15] == told[15:30] == told[30:]
    assert {line["class"] for line in lines} <= {"no", "yes"}
    classifier, _ = classifier_of(found.folder)
    predicted = classifier.predict(pd.DataFrame(new.drop(columns="number")))
    assert [line["class"] for line in told[:15]] == [("no", "yes")[label] for label in predicted]


def test_programs_of_one_process_have_defaults_of_their_own() -> None:
    from experiments.sample import SampleFlags

    with flagsaver.flagsaver():
        for given, others, mine in (([], "samples.npz", None), (["--out=x"], "x", "x")):
            command_line.parse(["any", *given])
            assert command_line.settings_of(SampleFlags).out == others
            assert command_line.settings_of(classify.ClassifyFlags).out == mine


# --- Refusals: one line, exit code 2 -------------------------------------------------------------


def assert_refused(capsys: pytest.CaptureFixture[str], expected: str, *arguments: str) -> None:
    capsys.readouterr()
    assert run(*arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    assert expected in said.err


def assert_not_read(said: str, path: str, spec: Spec, *, before: str) -> None:
    """Check for a line about a file, even where another one was read before."""
    with pytest.raises(InputError) as caught:
        new_examples.read([before, path], spec)
    assert said in str(caught.value)
    assert path in str(caught.value)
    assert "\n" not in str(caught.value)


def grey(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.uint8)


def test_bad_examples_are_refused_in_one_line(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "a.png").symlink_to(picture(tmp_path / "a.png", grey(8, 8)))
    (tmp_path / "text.png").write_text("no image")
    (tmp_path / "text.npz").write_text("no arrays")
    (tmp_path / "new.txt").write_text("")
    table = str(place / "people.csv")
    bad = {
        picture(tmp_path / "wide.png", grey(8, 9)): "is 9x8 grey, and the run is of images of 8x8",
        picture(tmp_path / "rgb.png", grey(8, 8, 3)): "is 8x8 RGB",
        str(tmp_path / "text.png"): "replace or remove that image",
        str(tmp_path / "empty"): "there are no images in this folder",
        str(tmp_path / "linked"): "is a link that leads out of",
        str(tmp_path / "new.txt"): "is of no kind that is read; give .png",
        str(tmp_path / "nowhere.png"): "there is no such file",
        str(tmp_path / "text.npz"): "cannot be read",
        saved(tmp_path / "y.npz", y=grey(3)): "has no array x or x_test",
        saved(tmp_path / "rows.npz", x=grey(3, 64)): "has x of shape (3, 64)",
        saved(tmp_path / "none.npz", x=grey(0, 8, 8)): "has x of shape (0, 8, 8, 1)",
        saved(tmp_path / "real.npz", x=np.zeros((3, 8, 8))): "stored as uint8",
        table: "is a table, and the run is of images",
    }
    good, folder = picture(tmp_path / "good.png", grey(8, 8)), run_of("teacher", place).folder
    spec = stored_spec.from_config(read(folder, "config.json"))
    for path, said in bad.items():
        assert_not_read(said, path, spec, before=good)
    wide = str(tmp_path / "wide.png")
    assert_refused(capsys, f"error: {wide}: is 9x8 grey", f"--run={folder}", good, wide)
    assert_refused(capsys, f"error: {table}: is a table", f"--run={folder}", good, table)


def test_bad_records_are_refused_in_one_line(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_of("table labelled", place).folder
    spec = stored_spec.from_config(read(folder, "config.json"))
    (tmp_path / "empty").mkdir()
    (tmp_path / "head.csv").write_text("age,income,debt,smoker,stage\n")
    frame_of(3).drop(columns="age").to_csv(tmp_path / "less.csv", index=False)
    halves = np.full((2, 5), 0.5, np.float32)
    bad = {
        picture(tmp_path / "good.png", grey(8, 8)): "the run is of a table; give .csv",
        str(tmp_path / "empty"): "the run is of a table",
        saved(tmp_path / "halves.npz", x=halves): "not stored as the schema says",
        str(tmp_path / "less.csv"): "column 'age': there is no such column",
        str(tmp_path / "head.csv"): "no records",
    }
    for path, said in bad.items():
        assert_not_read(said, path, spec, before=str(place / "people.csv"))
    less = str(tmp_path / "less.csv")
    assert_refused(capsys, f"error: {less}: column 'age'", f"--run={folder}", less)


def test_images_are_resized_where_those_of_the_run_were(tmp_path: Path) -> None:
    """And only there: in another run a size tells that something is wrong."""
    wide = picture(tmp_path / "wide.png", np.arange(0, 160, 2, dtype=np.uint8).reshape(8, 10, 1))
    spec = Spec.images("scans", (9, 8, 8), class_names=["a", "b"])
    with pytest.raises(InputError, match="is 10x8 grey, and the run is of images of 8x8"):
        new_examples.read([wide], spec)
    spec = dataclasses.replace(spec, preparation=resizing.preparation((8, 8)))
    spec = stored_spec.from_config({"num_examples": 9, "spec": stored_spec.to_json(spec)})
    found = new_examples.read([wide], spec).x
    np.testing.assert_array_equal(
        found[0], resizing.resized(np.asarray(Image.open(wide))[..., np.newaxis], (8, 8))
    )
    again = new_examples.read([saved(tmp_path / "x.npz", x=found)], spec).x
    np.testing.assert_array_equal(again, found)


def test_examples_of_other_scales_are_refused(tmp_path: Path) -> None:
    digits = Spec.images("digits", (9, 8, 8), class_names=["a", "b"], low=0, high=16, dtype="uint8")
    bright = picture(tmp_path / "bright.png", grey(8, 8) + 255)
    with pytest.raises(InputError, match=r"bright.png: holds values outside \[0, 16\]"):
        new_examples.read([bright], digits)
    floats = Spec(
        name="f",
        kind="image",
        shape=(8, 8, 1),
        class_names=("a", "b"),
        num_examples=9,
        codec=FLOATS,
    )
    with pytest.raises(InputError, match="images of floats"):
        new_examples.read([bright], floats)
    with pytest.raises(InputError, match="not finite"):
        new_examples.read([saved(tmp_path / "x.npz", x=np.full((1, 8, 8), np.nan))], floats)
    assert (
        new_examples.read([saved(tmp_path / "x.npz", x=np.ones((2, 8, 8)))], floats).x.size == 128
    )
    rows = Spec.rows("r", (9, 4), class_names=["a", "b"])
    with pytest.raises(InputError, match=r"rows of 4 values; give \.npz"):
        new_examples.read([bright], rows)
    (tmp_path / "new.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match=r"without a schema; give \.npz"):
        new_examples.read([str(tmp_path / "new.csv")], rows)


def test_runs_without_a_classifier_are_refused(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = picture(tmp_path / "good.png", grey(8, 8))
    assert_refused(capsys, "error: --run: name the folder", good)
    folder = run_of("teacher", place).folder
    assert_refused(capsys, "name what to classify", f"--run={folder}")
    assert_refused(capsys, "has no privacy.json", f"--run={tmp_path}", good)
    plain = run_of("table unlabelled", place).folder
    assert_refused(capsys, "was made with --unconditional", f"--run={plain}", good)
    nowhere = f"--out={tmp_path / 'no' / 'x.csv'}"
    assert_refused(capsys, "cannot be written", f"--run={folder}", nowhere, good)
    assert_refused(capsys, "--out=.: is no name", f"--run={folder}", "--out=.", good)


def changed(path: Path, **news: Any) -> None:
    content = json.loads(path.read_text()) | news
    left_out = {name for name, value in news.items() if value is None}
    path.write_text(json.dumps({k: v for k, v in content.items() if k not in left_out}))


SPEC = stored_spec.to_json(Spec.images("toy", (9, 8, 8), class_names=["a", "b", "c"]))
OTHER = stored_spec.to_json(Spec.images("toy", (9, 10, 10), class_names=["a", "b", "c"]))
BAD_FILES: dict[str, tuple[str, Any, str]] = {
    "not finished": ("privacy.json", {"sha256": None}, "has not finished; give the run --resume"),
    "no certificate": ("privacy.json", b"{}", "its privacy.json cannot be trusted"),
    "a better epsilon": ("privacy.json", {"epsilon": 0.1}, "its own numbers give"),
    "no config": ("config.json", None, "its config.json cannot be read"),
    "broken config": ("config.json", b"[", "its config.json cannot be read"),
    "an older config": ("config.json", {"spec": None}, "give its run --resume, which adds them"),
    "another run": ("config.json", {"ledger": {"steps": None}}, "are of different runs"),
    "no facts": ("config.json", {"spec": 5}, "tells of no data that a run has"),
    "less facts": ("config.json", {"spec": {"name": "x"}}, "does not tell shape"),
    "no shape": ("config.json", {"spec": SPEC | {"shape": [8, 8.5, 1]}}, "sizes are whole"),
    "no kind": ("config.json", {"spec": SPEC | {"kind": []}}, "no kind of data"),
    "no codec": ("config.json", {"spec": SPEC | {"codec": {"low": 0}}}, "no data that a run"),
    "other sizes": ("config.json", {"spec": OTHER}, "cannot be used"),
    "no results": ("privacy.json", {"sha256": {}}, "it has none of labelled.npz"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_stored_files_that_are_broken_are_refused(
    case: str, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, change, said = BAD_FILES[case]
    copy = copied(run_of("generated", place), tmp_path)
    if change is None:
        (copy / name).unlink()
    elif isinstance(change, bytes):
        (copy / name).write_bytes(change)
    else:
        changed(copy / name, **change)
    good = picture(tmp_path / "good.png", grey(8, 8))
    assert_refused(capsys, said, f"--run={copy}", good)


@pytest.mark.parametrize(
    ("name", "file"),
    [("kip", "distilled.npz"), ("teacher", "teacher.npz"), ("table labelled", "labelled.npz"),
     ("generated", "synthetic.npz")],
)  # fmt: skip
def test_guarantee_files_are_those_that_the_certificate_is_about(
    name: str, file: str, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = copied(run_of(name, place), tmp_path)
    good = picture(tmp_path / "good.png", grey(8, 8))
    whole = (copy / file).read_bytes()
    (copy / file).write_bytes(whole + b"x")
    assert_refused(capsys, f"{file} is not the file that", f"--run={copy}", good)
    (copy / file).unlink()
    assert_refused(capsys, f"{file} cannot be read", f"--run={copy}", good)


def test_a_teacher_of_other_data_is_refused(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = copied(run_of("teacher", place), tmp_path)
    changed(copy / "config.json", spec=OTHER)
    said = "its teacher was made from other data than config.json tells of"
    assert_refused(capsys, said, f"--run={copy}", picture(tmp_path / "good.png", grey(8, 8)))


def distilled_with(folder: Path, **news: Any) -> None:
    """Change a distilled set, and the digest of it."""
    from experiments.runs.release_log import digest

    path = folder / "distilled.npz"
    with np.load(path) as made:
        arrays = {k: v for k, v in (dict(made) | news).items() if v is not None}
    np.savez(path, **arrays)
    changed(folder / "privacy.json", sha256={"distilled.npz": digest(path)})


@pytest.mark.parametrize(
    ("news", "said"),
    [
        ({"x": None}, "its files lack x"),
        ({"x": np.zeros((3, 7, 8, 1))}, "its x and y have shapes"),
        ({"x": np.full((3, 8, 8, 1), np.nan)}, "no numbers"),
        ({"y": np.array([0, 1, 3])}, "labels beyond 3 classes"),
        ({"y": np.zeros(3)}, "its x and y have shapes"),
        ({"y_scores": np.zeros((3, 2))}, "its y_scores have shape (3, 2)"),
    ],
)
def test_distilled_sets_of_other_data_are_refused(
    news: dict[str, Any],
    said: str,
    place: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    copy = copied(run_of("kip", place), tmp_path)
    distilled_with(copy, **news)
    assert_refused(capsys, said, f"--run={copy}", picture(tmp_path / "good.png", grey(8, 8)))


def test_options_that_no_run_has_are_refused(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = copied(run_of("kip", place), tmp_path)
    good = picture(tmp_path / "good.png", grey(8, 8))
    for key, value, said in (
        ("kernel", "deep", "--kernel=deep"),
        ("depth", "2", "--depth=2: must be of type int"),
        ("ridge", -1.0, "--ridge=-1.0"),
    ):
        before = (copy / "config.json").read_bytes()
        changed(copy / "config.json", **{key: value})
        assert_refused(capsys, said, f"--run={copy}", good)
        (copy / "config.json").write_bytes(before)


# --- What a run says of it -----------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_a_run_stores_the_facts_and_says_how_to_use_it(name: str, place: Path) -> None:
    folder = run_of(name, place).folder
    config, page = read(folder, "config.json"), (folder / "report.html").read_text()
    spec = stored_spec.from_config(config)
    assert stored_spec.to_json(spec) == config["spec"]
    files = "new.csv" if "table" in name else "new.png folder/ new.npz"
    command = f"python -m experiments.classify --run=FOLDER {files}"
    assert (command in page) == (name != "table unlabelled")
    assert "report.html" in names_in(folder)


def test_facts_about_tables_are_kept_in_every_form() -> None:
    spec = Spec.table("people", schema_of(), 60)
    for each in (spec, spec.in_form(BINS), Spec.rows("r", (9, 4), class_names=["a", "b"])):
        config = {"spec": stored_spec.to_json(each), "num_examples": each.num_examples}
        assert stored_spec.from_config(json.loads(json.dumps(config))) == each


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
