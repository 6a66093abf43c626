"""`jaxdp run marginals`: what it leaves, what it refuses, and its counts used again."""

from __future__ import annotations

import html
import importlib
import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support import classified, drivers, toy_tables

import jaxdp
from jaxdp.program.commands import marginals, pack, sample, table, verify
from jaxdp.program.main import METHODS
from jaxdp.program.runs import counted_records, folder
from jaxdp.saved.files import digest
from jaxdp.saved.folder import SavedFolder

FAST = ("--steps=3", "--num_synthetic=40", "--evaluate=none", "--eps=2", "--delta=1e-3")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("table")
    csv, schema = toy_tables.write_table(folder, toy_tables.frame_of(120))
    return csv, schema


@pytest.fixture(scope="module")
def run(source: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "first"
    assert drivers.drive(marginals.main, *source, *FAST, f"--out_dir={out}") == 0
    return out


def test_a_run_leaves_a_table_its_counts_and_a_certificate(run: Path) -> None:
    assert {"synthetic.csv", "synthetic.npz", "counts.npz", "privacy.json"} <= drivers.names_in(run)
    made = pd.read_csv(run / "synthetic.csv", keep_default_na=False)
    assert list(made.columns) == toy_tables.MADE
    assert len(made) == 40
    facts = drivers.read(run, "privacy.json")
    assert facts["releasable"]
    assert 1.9 < facts["epsilon"] <= 2 + 1e-9
    assert any(each.startswith("counts.npz") for each in facts["may_leave"])
    assert "counts.npz" in facts["sha256"]


def test_a_run_is_loaded(run: Path) -> None:
    loaded = jaxdp.load(run)
    assert list(loaded.frame.columns) == toy_tables.MADE
    assert loaded.certificate.releasable


def test_guarantee_counts_that_are_used_again_cost_nothing(
    run: Path, source: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, again = tmp_path / "again", f"--counts={run / 'counts.npz'}"
    assert drivers.drive(marginals.main, *source, *FAST, again, f"--out_dir={out}") == 0
    ours, theirs = (drivers.read(each, "privacy.json") for each in (out, run))
    assert ours["epsilon"] == theirs["epsilon"]
    assert ours["ledger"] == theirs["ledger"]
    with np.load(out / "synthetic.npz") as one, np.load(run / "synthetic.npz") as other:
        np.testing.assert_array_equal(one["x"], other["x"])
    capsys.readouterr()
    wrong = (*source, *FAST, again, "--target=stage", f"--out_dir={tmp_path / 'other'}")
    assert drivers.drive(marginals.main, *wrong) == 2
    assert "another schema" in capsys.readouterr().err


def test_a_finished_run_is_resumed_without_a_new_release(run: Path, source: tuple) -> None:
    before = (run / "counts.npz").read_bytes()
    assert drivers.drive(marginals.main, *source, *FAST, f"--out_dir={run}", "--resume") == 0
    assert (run / "counts.npz").read_bytes() == before


def test_more_records_come_from_counts(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more, out = "--given=smoker=yes,age=20..60,ill=no", tmp_path / "more.csv"
    assert drivers.drive(sample.main, f"--run={run}", "--num=25", more, f"--out={out}") == 0
    said = capsys.readouterr()
    assert "25 records" in said.out
    assert "zero-out (one record emptied); privacy.json" in said.out
    assert said.err.startswith("fitting the model of counts again in 3 steps, about as long as the")
    made = pd.read_csv(out, keep_default_na=False)
    assert list(made.columns) == toy_tables.MADE
    assert len(made) == 25
    assert set(made.smoker) == {"yes"}
    assert set(made.ill) == {"no"}
    assert made.age.between(20, 60).all()


def test_more_records_are_others_than_the_run_has_made(run: Path, tmp_path: Path) -> None:
    before = pd.read_csv(run / "synthetic.csv")
    files = [tmp_path / f"{seed}.csv" for seed in (0, 0, 1)]
    files[1] = tmp_path / "again.csv"
    for file, seed in zip(files, (0, 0, 1), strict=True):
        more = (f"--num={len(before)}", f"--sample_seed={seed}", f"--out={file}")
        assert drivers.drive(sample.main, f"--run={run}", *more) == 0
    first, again, other = map(pd.read_csv, files)
    assert first.equals(again)
    for each in (before, other):
        assert (first.income != each.income).mean() > 0.9


@pytest.mark.parametrize("steps", [None, 0, "3", True])
def test_a_folder_that_does_not_say_its_steps_has_the_usual_ones(
    run: Path, steps: object, tmp_path: Path
) -> None:
    config = drivers.read(run, "config.json")
    (tmp_path / "config.json").write_text(json.dumps(config | {"steps": steps}))
    shutil.copy(run / "privacy.json", tmp_path)
    assert counted_records._steps_of(SavedFolder(tmp_path, "--run=x")) is None
    assert counted_records._steps_of(SavedFolder(run, "--run=x")) == 3


def test_a_file_that_is_there_is_not_written_over(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may be the private table."""
    for name in ("people.csv", "people.zip"):
        (tmp_path / name).write_text("private")
    for command, name in ((sample, "people"), (sample, "people.csv"), (pack, "people.zip")):
        assert drivers.drive(command.main, f"--run={run}", f"--out={tmp_path / name}") == 2
        said = capsys.readouterr().err
        assert "is there; remove it, or name another file" in said
        assert "fitting" not in said
    assert {file.read_text() for file in tmp_path.iterdir()} == {"private"}


def test_guarantee_counts_of_another_run_are_not_taken_for_those_of_a_certificate(
    run: Path,
    source: tuple[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Even where digests were made to fit: a release tells its own ledger."""
    other, mixed = tmp_path / "other", tmp_path / "mixed"
    more = ("--eps=8", f"--out_dir={other}", "--ledger=none")
    assert drivers.drive(marginals.main, *source, *FAST, *more) == 0
    shutil.copytree(run, mixed)
    shutil.copy(other / "counts.npz", mixed)
    out = f"--out={tmp_path / 'more'}"

    def refused() -> str:
        capsys.readouterr()
        assert drivers.drive(sample.main, f"--run={mixed}", out) == 2
        assert drivers.drive(pack.main, f"--run={mixed}", out) == 2
        assert drivers.drive(verify.main, f"--run={mixed}") == 1
        return capsys.readouterr().err

    assert refused().count("counts.npz is not the file") == 3
    facts = drivers.read(mixed, "privacy.json")
    facts["sha256"]["counts.npz"] = digest(mixed / "counts.npz")
    (mixed / "privacy.json").write_text(json.dumps(facts))
    assert refused().count("privacy.json and counts.npz are of different releases") == 3
    del facts["sha256"]["counts.npz"]
    (mixed / "privacy.json").write_text(json.dumps(facts))
    assert drivers.drive(sample.main, f"--run={mixed}", out) == 2
    assert "counts.npz is not the file that privacy.json is about" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("nobody=1", "columns are"),
        ("smoker=blue", "it can be"),
        ("ill=blue", "it can be"),
        ("age=60..20", "LOW..HIGH"),
        ("age=500", "LOW..HIGH"),
        ("age=x..y", "none of it"),
        ("income=5", "LOW..HIGH"),
        ("age", "say COLUMN=VALUE"),
    ],
)
def test_conditions_that_no_record_can_meet_are_refused(
    given: str, why: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drivers.drive(sample.main, f"--run={run}", f"--given={given}") == 2
    said = capsys.readouterr().err
    assert why in said
    assert "fitting" not in said


def test_a_run_makes_records_of_a_kind(run: Path, source: tuple[str, str], tmp_path: Path) -> None:
    again = (f"--counts={run / 'counts.npz'}", "--given=age=30", f"--out_dir={tmp_path / 'out'}")
    assert drivers.drive(marginals.main, *source, *FAST, *again) == 0
    made = pd.read_csv(tmp_path / "out" / "synthetic.csv", keep_default_na=False)
    assert set(made.age) == {30}
    assert len(made) == 40


def test_the_command_for_tables_takes_one_without_a_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = toy_tables.frame_of(90)[["age", "income"]]
    frame.to_csv(tmp_path / "plain.csv", index=False)
    columns = ", ".join(
        f'"{name}": {{"type": "numeric", "lower": 0, "upper": 1000}}' for name in frame
    )
    (tmp_path / "plain.json").write_text(f'{{"columns": {{{columns}}}}}')
    words = (f"--csv={tmp_path / 'plain.csv'}", f"--schema={tmp_path / 'plain.json'}")
    out = tmp_path / "out"
    fast = ("--steps=3", "--eps=2", "--delta=1e-3", f"--out_dir={out}", "--check_fidelity")
    assert drivers.drive(table.main, *words, *fast) == 0
    said = capsys.readouterr()
    assert "no classes" in said.out
    assert "chosen: jaxdp run marginals" in said.err
    assert list(pd.read_csv(out / "synthetic.csv").columns) == ["age", "income"]
    assert (tmp_path / "out.not_for_release" / "fidelity.json").exists()
    assert classified.run(f"--run={out}", str(tmp_path / "plain.csv")) == 2
    assert "no classes to tell" in capsys.readouterr().err
    page = html.unescape((out / "report.html").read_text())
    assert "jaxdp classify" not in page
    command, code = re.findall(r"<pre><code>(.*?)</code></pre>", page, re.DOTALL)[:2]
    program, name, *flags = shlex.split(command.replace("FOLDER", str(out)))
    assert (program, name) == ("jaxdp", "sample")
    more = tmp_path / "more.csv"
    assert drivers.drive(sample.main, *(each.replace("more.csv", str(more)) for each in flags)) == 0
    assert list(pd.read_csv(more).columns) == ["age", "income"]
    exec(code.replace("FOLDER", str(out)))
    assert "income" in capsys.readouterr().out


def test_a_run_tells_how_well_a_number_is_predicted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    age = np.random.default_rng(0).integers(0, 100, 400)
    pd.DataFrame({"age": age, "income": 2 * age}).to_csv(tmp_path / "pay.csv", index=False)
    number = {"type": "numeric", "lower": 0, "upper": 200}
    columns = {"age": number, "income": number | {"target": True}}
    (tmp_path / "pay.json").write_text(json.dumps({"columns": columns}))
    words = (f"--csv={tmp_path / 'pay.csv'}", f"--schema={tmp_path / 'pay.json'}", "--eps=20")
    fast = ("--steps=300", "--num_synthetic=500", "--delta=1e-3")
    for flags, is_told in (((), True), (("--evaluate=none",), False)):
        out = tmp_path / f"out{is_told}"
        assert drivers.drive(marginals.main, *words, *fast, *flags, f"--out_dir={out}") == 0
        said = capsys.readouterr().out
        assert ("income, predicted in the test records: R2 0." in said) == is_told
        found = drivers.read(out, "metrics.json").get("targets", {})
        assert (found.get("income", {}).get("r2", {}).get("value", 0) > 0.5) == is_told
        assert ("R2 0." in (out / "report.html").read_text()) == is_told


def test_how_far_the_table_is_from_the_private_one_may_leave(
    source: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "told"
    flags = (*source, *FAST, "--quality_share=0.2", f"--out_dir={out}")
    assert drivers.drive(marginals.main, *flags) == 0
    assert "three conditions at once are off by" in capsys.readouterr().out
    found, facts = (drivers.read(out, name) for name in ("quality.json", "privacy.json"))
    assert found["queries"] == 40
    assert "quality.json" in facts["sha256"]
    assert any(each.startswith("quality.json") for each in facts["may_leave"])
    assert [each["name"] for each in facts["releases"]][-1] == "answers to queries"
    assert "three conditions at once are off by" in (out / "README.md").read_text()
    before = (out / "quality.json").read_bytes()
    (out / "quality.json").unlink()
    assert drivers.drive(marginals.main, *flags, "--resume") == 0
    assert (out / "quality.json").read_bytes() == before
    again = (*source, *FAST, f"--counts={out / 'counts.npz'}", f"--out_dir={tmp_path / 'again'}")
    assert drivers.drive(marginals.main, *again) == 0
    assert (tmp_path / "again" / "quality.json").exists()
    assert drivers.drive(marginals.main, *source, *FAST, f"--out_dir={out}", "--overwrite") == 0
    assert not (out / "quality.json").exists()
    assert "three conditions" not in (out / "README.md").read_text()
    saved = jaxdp.load(tmp_path / "again")
    assert saved.certificate.releasable
    for more, said in (
        ((again[-2], "--relation=replace"), "was released under zero-out"),
        (("--quality_share=0.1", "--given=age=30"), "tells of a whole table"),
    ):
        asked = (*source, *FAST, *more)
        assert drivers.drive(marginals.main, *asked, f"--out_dir={tmp_path / 'no'}") == 2
        assert said in capsys.readouterr().err
        assert not (tmp_path / "no" / "synthetic.csv").exists()


def test_guarantee_a_run_that_replaces_another_releases_anew(
    source: tuple[str, str], tmp_path: Path
) -> None:
    """Counts of the run before, under other noise, are not taken for those of the new one."""
    out = f"--out_dir={tmp_path / 'out'}"
    assert drivers.drive(marginals.main, *source, *FAST, out) == 0
    before = (tmp_path / "out" / "counts.npz").read_bytes()
    assert drivers.drive(marginals.main, *source, *FAST, out, "--overwrite", "--eps=5") == 0
    assert (tmp_path / "out" / "counts.npz").read_bytes() != before


@pytest.mark.parametrize("method", METHODS)
def test_guarantee_what_any_method_releases_is_removed_with_its_run(method: str) -> None:
    story = importlib.import_module(f"jaxdp.methods.{method}.story").STORY
    assert {story.released, f"{story.result}.npz"} - {None} <= set(folder.OWN_FILES)
