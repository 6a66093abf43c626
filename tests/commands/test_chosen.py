"""`jaxdp images`, `jaxdp table` and `jaxdp demo`: data are named, a method is chosen and said."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from absl.testing import flagsaver
from support import toy_tables
from support.own_folder import write_shapes

from jaxdp.data import Spec
from jaxdp.methods import teacher
from jaxdp.methods.settings import rules
from jaxdp.program import chosen, command_line
from jaxdp.program.commands import demo, images, recommend, table
from jaxdp.program.runs import driver


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What runs are asked for, in the place of running them."""
    found: list[Any] = []
    monkeypatch.setattr(driver, "run", lambda *arguments: found.append(arguments))
    return found


def run(main: Any, *words: str, takes_files: bool = True) -> int:
    with flagsaver.flagsaver():
        try:
            main(command_line.parse(["jaxdp x", *words], takes_files=takes_files))
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def digits(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (60, 8, 8)).astype(np.uint8)
    y = np.arange(60) % 3
    path = folder / "scans.npz"
    np.savez(path, x_train=x[:40], y_train=y[:40], x_test=x[40:], y_test=y[40:])
    return path


def test_a_folder_a_file_and_a_name_are_data(
    ran: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_shapes(tmp_path / "shapes", 5)
    digits(tmp_path)
    monkeypatch.chdir(tmp_path)
    for word in ("shapes", "shapes/", str(tmp_path / "scans.npz"), "scans.npz", "digits"):
        assert run(images.main, word, "--eps=2", "--image_size=16") == 0
    assert [data.spec.name for *_, data in ran] == ["shapes", "shapes", "scans", "scans", "digits"]
    assert {flags.data_dir for _, _, flags, _ in ran[:4]} == {str(tmp_path)}
    assert {(method, settings.eps) for method, settings, *_ in ran} == {("teacher", 2.0)}


def test_what_is_chosen_is_said_and_what_is_given_stays(
    ran: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(images.main, "digits", "--eps=inf") == 0
    assert "chosen: jaxdp run dp_kip --ipc=1\n  why: Without noise" in capsys.readouterr().err
    assert run(images.main, "digits", "--ipc=7", "--steps=50") == 0
    assert "chosen: jaxdp run teacher\n  why: A linear classifier" in capsys.readouterr().err
    assert run(images.main, "digits", "--method=dp_ntk", "--labels=teacher") == 0
    assert "chosen: jaxdp run dp_ntk --features=scatter_rbf" in capsys.readouterr().err
    methods = [(method, getattr(settings, "ipc", None)) for method, settings, *_ in ran]
    assert methods == [("dp_kip", 1), ("teacher", 7), ("dp_ntk", None)]
    assert ran[-1][1].labels == "teacher"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a folder of images"),
        (["a", "b"], "b: unexpected argument"),
        (["digits", "--dataset=digits"], "digits: leave it out, --dataset names the data"),
        (["digits", "--kernel=scatter"], "--kernel=scatter: is for --method=dp_kip"),
        (["digits", "--method=dp_ntk", "--teacher_share=0.3"], "is for --labels=teacher"),
        (["digits", "--method=dp_kip", "--match=both"], "--match=both: is for --method=teacher"),
        (["digits", "--method=kip"], "--method=kip: unknown; known are teacher, dp_kip, dp_ntk"),
        (["nosuch"], "error: nosuch: unknown dataset"),
        (["./nosuch/"], "there is no folder ./nosuch/\n"),
        ([".."], "error: ..: "),
        ([__file__], "is neither a folder nor an npz file"),
    ],
)
def test_bad_words_are_refused_before_a_run(
    words: list[str], said: str, ran: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(images.main, *words) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert said in err
    assert err.count("\n") == 1
    assert ran == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("scans.zip", "an npz file; unpack it, and name the folder with CLASS/*.png in it"),
        ("own.CSV", 'an npz file; tables are of "jaxdp table"'),
        ("own.parquet", 'an npz file; tables are of "jaxdp table"'),
    ],
)
def test_a_file_of_another_kind_is_answered_by_what_takes_it(
    name: str, said: str, ran: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(b"x")
    assert run(images.main, str(tmp_path / name)) == 2
    assert capsys.readouterr().err.endswith(f"is neither a folder nor {said}\n")
    assert ran == []


def test_a_misspelt_path_is_answered_by_what_is_there(
    ran: list[Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_shapes(tmp_path / "lesions", 5)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for main in (images.main, recommend.main):
        assert run(main, "../lesionz") == 2
        err = capsys.readouterr().err
        assert err == "error: there is no folder ../lesionz; did you mean ../lesions?\n"
        monkeypatch.chdir(tmp_path / "lesions" / "circle")
        assert run(main, "..", "--eps=2") == 0  # the folder above has a name, too
        monkeypatch.chdir(tmp_path / "work")
        capsys.readouterr()
        assert run(main, "..") == 2
        assert capsys.readouterr().err.startswith("error: ..: ")
    assert [data.spec.name for *_, data in ran] == ["lesions"]


def test_recommend_takes_what_a_run_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_shapes(tmp_path / "lesions", 5)
    toy_tables.write_table(tmp_path, toy_tables.frame_of(90))
    monkeypatch.chdir(tmp_path)
    assert run(recommend.main, "lesions", "--image_size=16", "--eps=3") == 0
    out = capsys.readouterr().out
    assert out.startswith("lesions: 13 training images of 16x16 pixels, grey; 3 classes")
    assert "--dataset=lesions" in out
    assert run(recommend.main, "people.csv", "--schema=people.json") == 0
    assert "--csv=people.csv --schema=people.json" in capsys.readouterr().out
    for words, said in (
        (("people.csv", "lesions"), "error: lesions: unexpected argument; give one CSV"),
        (("a.csv", "--csv=people.csv"), "error: a.csv: leave it out, --csv names the table"),
        (("a", "b"), "error: b: unexpected argument"),
    ):
        assert run(recommend.main, *words) == 2
        assert capsys.readouterr().err.startswith(said)


def test_a_table_needs_one_file(
    ran: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, schema = toy_tables.write_table(tmp_path, toy_tables.frame_of(90))
    path = source.removeprefix("--csv=")
    (tmp_path / "bare").mkdir()
    bare = shutil.copy(path, tmp_path / "bare")
    for words, said in (
        ([], "name a table"),
        ([bare], "has no schema"),
        ([path, schema, "--target=nosuch"], "has no column 'nosuch' to be the target"),
        ([path, schema, source], "leave it out, --csv names the table"),
        ([path, path, schema], "unexpected argument"),
    ):
        assert run(table.main, *words) == 2
        assert said in capsys.readouterr().err
    assert ran == []
    assert run(table.main, path, schema) == 0
    assert capsys.readouterr().err.endswith(
        "chosen: jaxdp run marginals\n"
        "  why: A model of all noisy counts, of columns and of pairs, makes the records.\n"
    )
    assert run(table.main, path, schema, "--target=stage") == 0
    (name, settings, _, first), (*_, second) = ran
    assert (name, settings.eps) == ("marginals", 1.0)
    assert first.spec.schema.target.name == "ill"
    assert second.spec.schema.target.name == "stage"
    assert second.spec.class_names == ("I", "II", "III")
    assert "ill" in [column.name for column in second.spec.schema.columns]


@pytest.mark.slow
def test_a_synthetic_table_has_the_columns_of_its_table(tmp_path: Path) -> None:
    source, schema = toy_tables.write_table(tmp_path, toy_tables.frame_of(300))
    out = tmp_path / "run"
    words = (source.removeprefix("--csv="), schema, "--target=stage", "--delta=1e-3")
    assert run(table.main, *words, f"--out_dir={out}", "--evaluate=none") == 0
    with (out / "synthetic.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 200
    assert list(rows[0]) == [name for name in toy_tables.COLUMNS if name != "name"]
    assert json.loads((out / "config.json").read_text())["target"] == "stage"


def test_the_demo_has_its_settings_and_a_folder_that_it_replaces(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found: list[dict[str, Any]] = []

    def note(method: str, *kinds: Any) -> None:
        values = [command_line.settings_of(kind) for kind in kinds]
        found.append({"method": method} | vars(values[0]) | vars(values[1]))

    monkeypatch.setattr(command_line, "run", note)
    for words in ([], ["--ipc=3", "--out_dir=mine"], ["--resume"]):
        assert run(demo.main, *words, takes_files=False) == 0
    names = ("dataset", "ipc", "eps", "match", "out_dir", "overwrite")
    assert [[each[name] for name in names] for each in found] == [
        ["digits", 10, 3.0, "both", "runs/demo", True],
        ["digits", 3, 3.0, "both", "mine", False],
        ["digits", 10, 3.0, "both", "runs/demo", False],
    ]
    assert "Open runs/demo/report.html in a browser." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("match", "shared"),
    [("both", (0.7, 0.03)), ("embedding", (0.5, None)), ("teacher", (0.5, None))],
)
def test_the_demo_takes_every_match(
    match: str, shared: tuple[float, float | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is shared between two matches is set where there are two, and no flag is blamed."""
    found: list[Any] = []
    monkeypatch.setattr(
        command_line, "run", lambda _, *kinds: found.append(command_line.settings_of(kinds[1]))
    )
    assert run(demo.main, f"--match={match}", takes_files=False) == 0
    (settings,) = found
    assert (settings.embedding_share, settings.cosine_weight) == shared
    spec = Spec.images("digits", (1437, 8, 8), class_names=list("0123456789"), low=0, high=16)
    assert teacher.complete(settings, spec).match == match


def test_every_method_can_be_chosen() -> None:
    def names(kinds: Sequence[type]) -> set[str]:
        return {name for kind in kinds for name in rules(kind)}

    assert all(
        "eps" in names(kinds) and "dataset" in names(kinds) for kinds in (chosen.METHODS.values())
    )
