"""Commands on tables: what they write, what they read again, what they refuse."""

from __future__ import annotations

import functools
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support import drivers
from support.drivers import COMMON_FILES, assert_refused, names_in, read
from support.generating import drive, sample
from support.toy_tables import COLUMNS, MADE, frame_of, schema_of, strange_frame_of, write_table

from jaxdp.program.commands import dp_kip, dp_ntk
from jaxdp.program.commands import sample as sample_command
from jaxdp.program.data import table_files, tables
from jaxdp.tables import frames

PRIVACY = ("--eps=5", "--delta=1e-3")
DRAWN = (*PRIVACY, "--num_synthetic=90")
TRAINED = (*DRAWN, "--ntk_width=8", "--steps=2", "--batch_size=40", "--evaluate=none")
distill = functools.partial(drivers.drive, dp_kip.main)
KIP = (*PRIVACY, "--ipc=2", "--steps=2", "--batch_size=40", "--eval_every=1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table, its schema, and a finished run on it."""
    found = tmp_path_factory.mktemp("tables")
    flags = write_table(found, frame_of(400))
    assert drive(*flags, *DRAWN, f"--out_dir={found / 'run'}") == 0
    return found


def flags_of(folder: Path) -> list[str]:
    return [f"--csv={folder / 'people.csv'}", f"--schema={folder / 'people.json'}"]


def table(path: Path) -> pd.DataFrame:
    """Return a made table as texts; it must be one of the toy schema."""
    found = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert list(found.columns) == MADE
    x, _ = frames.encode(found, schema_of())
    assert np.all(np.isfinite(x))
    assert found["age"].astype(int).between(0, 120).all()
    assert found["income"].astype(float).between(0, 1000).all()
    assert set(found["smoker"]) <= {"no", "yes", "other", ""}
    assert set(found["stage"]) <= {"I", "II", "III"}
    return found


def test_marginals_leave_a_table_and_its_certificate(folder: Path) -> None:
    run = folder / "run"
    more = {"synthetic.npz", "synthetic.csv", "samples.png", "embedding.npz", "generator"}
    assert names_in(run) == (COMMON_FILES | more) - {"checkpoints"}
    made = table(run / "synthetic.csv")
    assert len(made) == 90
    assert 15 <= np.sum(made["ill"] == "yes") <= 45
    ages = made["age"].astype(int).groupby(made["ill"]).mean()
    assert ages["yes"] > ages["no"] + 15
    certificate = read(run, "privacy.json")
    assert certificate["num_examples"] == 360  # a tenth is held out
    assert any("synthetic.csv" in text for text in certificate["covers"])
    assert [r["sensitivity"] for r in certificate["releases"]] == [1 / 360]
    assert read(run, "config.json")["features"] == "marginals"
    assert "synthetic.csv" in (run / "report.html").read_text()
    assert read(run, "metrics.json")["accuracy"]["mlp"]["mean"] > 0.6


def test_a_finished_run_is_resumed_without_another_release(folder: Path) -> None:
    before = {p.name: p.read_bytes() for p in (folder / "run").iterdir() if p.is_file()}
    assert drive(*flags_of(folder), *DRAWN, f"--out_dir={folder / 'run'}", "--resume") == 0
    for name in ("synthetic.csv", "embedding.npz", "privacy.json"):
        assert (folder / "run" / name).read_bytes() == before[name]


def test_an_embedding_is_used_again_for_the_same_columns_alone(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = f"--embedding={folder / 'run' / 'embedding.npz'}"
    out = tmp_path / "again"
    again = (*flags_of(folder), "--num_synthetic=300", stored, "--evaluate=none")
    assert drive(*again, f"--out_dir={out}") == 0
    assert len(table(out / "synthetic.csv")) == 300
    changed = COLUMNS | {"age": COLUMNS["age"] | {"upper": 100}}
    flags = write_table(tmp_path, frame_of(400), changed)
    assert_refused(dp_ntk.main, capsys, "", *flags, stored, out=tmp_path / "other")


def test_sample_draws_records_in_the_released_shares(folder: Path, tmp_path: Path) -> None:
    run = f"--run={folder / 'run'}"
    assert sample(run, "--num=50", f"--out={tmp_path / 'more.csv'}") == 0
    found = table(tmp_path / "more.csv")
    shares = read(folder / "run" / "generator", "description.json")["class_weights"]
    assert len(found) == 50
    assert np.sum(found["ill"] == "yes") == pytest.approx(50 * shares[1], abs=1)
    assert sample(run, "--num=5", f"--out={tmp_path / 'named.npz'}") == 0
    assert len(table(tmp_path / "named.csv")) == 5


def test_a_table_that_is_there_is_found_before_anything_is_drawn(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is the CSV file that is looked at, and none with another ending."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sample_command, "labels_for", lambda *args, **more: pytest.fail("drawn"))
    run = f"--run={folder / 'run'}"
    for name in ("more.csv", "samples.csv"):
        (tmp_path / name).write_text("private")
    for out, said in (
        (("--out=more.csv",), "--out=more.csv: more.csv is there;"),
        (("--out=more",), "--out=more: more.csv is there;"),
        ((), "samples.csv: is there; remove it, or name another file by --out"),
    ):
        capsys.readouterr()
        assert sample(run, *out) == 2
        assert capsys.readouterr().err.startswith(f"error: {said}")
    assert {path.read_text() for path in tmp_path.iterdir()} == {"private"}


def test_arrays_beside_a_table_are_not_in_its_way(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "more.csv.npz").write_text("other")
    assert sample(f"--run={folder / 'run'}", "--num=5", f"--out={tmp_path / 'more.csv'}") == 0
    assert len(table(tmp_path / "more.csv")) == 5


@pytest.mark.parametrize(
    "change",
    [{"class_weights": [1.0]}, {"class_weights": [0.0, 1.0]}, {"schema": {}}, {"form": "cooked"}],
)
def test_a_changed_generator_is_refused(
    change: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    import shutil

    copy = tmp_path / "run"
    shutil.copytree(folder / "run", copy)
    path = copy / "generator" / "description.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert sample(f"--run={copy}", "--num=5", f"--out={tmp_path / 'x.csv'}") == 2
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ("--features=rff",),
        ("--features=entk", "--codes=bins"),
        ("--features=hermite", "--codes=raw"),
    ],
)
def test_networks_are_trained_on_tables(options: tuple[str, ...], folder: Path) -> None:
    out = folder / options[0].split("=")[1]
    assert drive(*flags_of(folder), *TRAINED, *options, f"--out_dir={out}") == 0
    assert len(table(out / "synthetic.csv")) == 90
    assert sample(f"--run={out}", "--num=7", f"--out={out / 'more.csv'}") == 0
    assert len(table(out / "more.csv")) == 7


@pytest.mark.slow
def test_a_table_has_no_settings_of_images(folder: Path, tmp_path: Path) -> None:
    """A run of before tells them in config.json, and goes on; one of images is another run."""
    run = tmp_path / "run"
    shutil.copytree(folder / "run", run)
    config = read(run, "config.json")
    of_images = {"dataset", "image_size", "pixel_bits", "channels", "validation", "class_names"}
    assert not set(config) & (of_images | {"person_separator"})
    page = (run / "report.html").read_text()
    assert "digits" not in page.partition("All settings")[2]
    assert drive("--eps=5", "--resume", f"--out_dir={run}") == 2
    config |= dict.fromkeys(of_images) | {"dataset": "digits", "validation": False}
    (run / "config.json").write_text(json.dumps(config))
    before = (run / "embedding.npz").read_bytes()
    assert drive(*flags_of(folder), *DRAWN, f"--out_dir={run}", "--resume") == 0
    assert (run / "embedding.npz").read_bytes() == before
    assert "dataset" not in read(run, "config.json")


@pytest.mark.parametrize("codes", ["one_hot", "raw", "bins"])
def test_tables_are_distilled(codes: str, folder: Path) -> None:
    out = folder / f"kip-{codes}"
    assert distill(*flags_of(folder), *KIP, f"--codes={codes}", f"--out_dir={out}") == 0
    found = table(out / "distilled.csv")
    assert found["ill"].tolist() == ["no", "no", "yes", "yes"]
    assert {"distilled.npz", "distilled.png", "report.html"} <= names_in(out)
    assert any("distilled.csv" in text for text in read(out, "privacy.json")["covers"])


def test_labels_that_are_not_used_are_not_made(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    options = ("--unconditional", "--evaluate=none")
    assert drive(*flags_of(folder), *DRAWN, *options, f"--out_dir={out}") == 0
    assert sample(f"--run={out}", "--num=5", f"--out={tmp_path / 'more.csv'}") == 0
    for path in (out / "synthetic.csv", tmp_path / "more.csv"):
        found = pd.read_csv(path)
        assert list(found.columns) == [name for name in MADE if name != "ill"]


def test_test_records_may_be_named_or_a_part(folder: Path, tmp_path: Path) -> None:
    frame_of(30, seed=1).to_csv(tmp_path / "test.csv", index=False)
    named = drivers.prepared("dp_ntk", *flags_of(folder), f"--test_csv={tmp_path / 'test.csv'}")
    assert (len(named.data.private.x), len(named.data.test.x)) == (400, 30)
    part = drivers.prepared("dp_ntk", *flags_of(folder), "--test_fraction=0.25")
    assert (len(part.data.private.x), len(part.data.test.x)) == (300, 100)


def test_guarantee_which_records_are_held_out_depends_on_their_places_alone() -> None:
    chosen = tables.held_out(1000, 0.1, seed=0)
    assert chosen.sum() == 100
    np.testing.assert_array_equal(chosen, tables.held_out(1000, 0.1, seed=0))
    assert not np.array_equal(chosen, tables.held_out(1000, 0.1, seed=1))
    # nor on numbers that a table was simulated with
    simulated = np.random.default_rng(0).random(1000)
    assert 0.4 < simulated[chosen].mean() < 0.6
    assert tables.held_out(2, 0.99, seed=0).sum() == 1


NOT_COMPARED = {"synthetic.npz", "synthetic.csv", "samples.png", "embedding.npz", "metrics.json"}


def test_guarantee_nothing_but_noised_sums_depends_on_the_data(tmp_path: Path) -> None:
    """Files that are not derived from the release are the same for data outside the schema."""
    found = []
    for name, frame in (("one", frame_of(200)), ("other", strange_frame_of(200))):
        flags = write_table(tmp_path, frame)
        out = tmp_path / name
        assert drive(*flags, *DRAWN, "--noise_seed=1", f"--out_dir={out}") == 0
        found.append(out)
    assert names_in(found[0]) == names_in(found[1])
    for name in ("config.json", "privacy.json"):
        facts, others = (read(out, name) for out in found)
        for held in (facts, others):
            held.pop("sha256", None)  # of what was released
        assert facts == others
    released, strange = (read(out, "released.json") for out in found)
    assert set(released) == set(strange)
    described, again = (read(out / "generator", "description.json") for out in found)
    for facts in (described, again):  # of the numbers that were released
        del facts["numbers_digest"], facts["class_weights"]
    assert described == again
    with np.load(found[0] / "embedding.npz") as mine, np.load(found[1] / "embedding.npz") as other:
        assert set(mine) == set(other)
        for key in set(mine) - {"mu", "class_weights"}:
            np.testing.assert_array_equal(mine[key], other[key])


@pytest.mark.parametrize(
    "changed",
    [
        {"ill": "no"},
        {"age": "", "debt": "", "smoker": ""},
        {"age": "inf", "income": "-inf", "debt": "NaN"},
        {"smoker": 'a, "b"\nc'},
    ],
)
def test_strange_columns_run(changed: dict[str, str], tmp_path: Path) -> None:
    flags = write_table(tmp_path, frame_of(60).assign(**changed))
    out = tmp_path / "run"
    assert drive(*flags, *DRAWN, "--line_breaks", f"--out_dir={out}") == 0
    assert len(table(out / "synthetic.csv")) == 90


def test_compressed_tables_are_read(tmp_path: Path) -> None:
    frame_of(20).to_csv(tmp_path / "people.csv.gz", index=False)
    found = tables.read_table(
        table_files.Source("csv", str(tmp_path / "people.csv.gz")), schema_of()
    )[:2]
    expected = frames.encode(frame_of(20), schema_of())
    for mine, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, wanted)
