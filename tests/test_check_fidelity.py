"""Comparisons of made tables with private ones: right, and nowhere but where they may be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats.contingency import association as plain_association
from support import drivers
from support.drivers import assert_refused, names_in, read
from support.generating import drive
from support.public_releases import everything_in, release_in_public, same_time
from support.toy_tables import COLUMNS, frame_of, schema_of, strange_frame_of, write_table

from jaxdp.program.commands import dp_kip, dp_ntk
from jaxdp.program.evaluation import fidelity
from jaxdp.program.report import fidelity as report
from jaxdp.tables import frames
from jaxdp.tables.layout import Layout
from jaxdp.tables.schema import Schema

DRAWN = ("--eps=5", "--delta=1e-3", "--num_synthetic=90", "--noise_seed=1", "--evaluate=none")
LAYOUT = Layout(schema_of())


def beside(out: Path) -> Path:
    return out.with_name(f"{out.name}.not_for_release")


def split_of(num: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return frames.encode(frame_of(num, seed=seed), schema_of())


def compared(first: Any, second: Any, *, labelled: bool = True) -> fidelity.Fidelity:
    return fidelity.compare(LAYOUT, first, second, labelled=labelled)


# --- The numbers -------------------------------------------------------------------------------


def cells_of(split: tuple[np.ndarray, np.ndarray]) -> pd.DataFrame:
    found = pd.DataFrame(LAYOUT.cells(split[0]))
    found[len(found.columns)] = split[1]
    return found


def naive_distance(first: pd.Series, second: pd.Series) -> float:
    shares = (held.value_counts(normalize=True) for held in (first, second))
    mine, other = (dict(share) for share in shares)
    return sum(abs(mine.get(k, 0) - other.get(k, 0)) for k in {*mine, *other}) / 2


@pytest.mark.parametrize("most", [10**6, 1])  # in arrays, or looked up
def test_distances_are_those_of_counted_tables(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fidelity, "_MOST_CELLS", most)
    first, second = split_of(300, 0), split_of(80, 1)
    found, cells = compared(first, second), (cells_of(first), cells_of(second))
    assert len(found.pairs) == 15
    for place, distance in enumerate(found.columns):
        expected = naive_distance(*(held[place] for held in cells))
        assert distance.total_variation == pytest.approx(expected)
    for (a, b), pair in found.pairs.items():
        joint = (held[a].astype(str) + "," + held[b].astype(str) for held in cells)
        assert pair.distance.total_variation == pytest.approx(naive_distance(*joint))
        for held, mine in zip(cells, (pair.real, pair.made), strict=True):
            assert mine == pytest.approx(naive_association(held[a], held[b]), abs=1e-9)


def naive_association(a: pd.Series, b: pd.Series) -> float:
    """Bergsma 2013, from Cramer's V as scipy has it."""
    table = pd.crosstab(a, b).to_numpy()
    n, (r, k) = table.sum(), table.shape
    phi = plain_association(table, method="cramer") ** 2 * (min(r, k) - 1)
    phi = max(0, phi - (r - 1) * (k - 1) / (n - 1))
    rows, columns = (size - (size - 1) ** 2 / (n - 1) for size in (r, k))
    return (phi / (min(rows, columns) - 1)) ** 0.5


def test_associations_at_the_ends() -> None:
    place = np.arange(4)
    assert fidelity.association(np.array([50, 0, 0, 50]), place, 2) == pytest.approx(1)
    assert fidelity.association(np.array([50, 50, 50, 50]), place, 2) == 0
    for counts in ([1, 0, 0, 0], [1, 0, 0, 1], [9, 9, 0, 0]):  # too few, or a column of one value
        assert fidelity.association(np.array(counts), place, 2) == 0


def test_what_differs_by_chance_is_what_samples_differ_by() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(30, 0.5))
    drawn = [np.stack([rng.multinomial(n, p) for n in (500, 120)]) for _ in range(300)]
    found = [fidelity.distance(counts) for counts in drawn]
    differ, said = (np.mean([getattr(d, name) for d in found]) for name in found[0]._fields)
    assert said == pytest.approx(differ, rel=0.05)
    assert fidelity.distance(np.array([[5, 0], [0, 9]])).total_variation == 1


def test_equal_tables_are_at_distance_0_and_others_are_not() -> None:
    split = split_of(200, 0)
    same = compared(split, split)
    assert all(d.total_variation == 0 for d in same.columns)
    assert all(p.distance.total_variation == 0 and p.real == p.made for p in same.pairs.values())
    rng = np.random.default_rng(0)
    said = fidelity.figures(compared(split, (split[0], rng.permutation(split[1]))))
    assert said["columns"]["age"]["total_variation"] == 0
    joint = said["columns"]["age"]["with_target"]
    assert joint["total_variation"] > 1.5 * joint["by_chance"]
    assert said["largest_pairs"][0]["columns"] == ["age", "ill"]
    assert said["largest_pairs"][0]["association_private"] > 0.5


def test_of_many_columns_the_first_are_paired(monkeypatch: pytest.MonkeyPatch) -> None:
    columns: dict[str, Any] = {
        f"c{i}": {"type": "ordinal", "categories": ["a", "b"]} for i in range(64)
    }
    columns["wide"] = {"type": "categorical", "categories": [f"v{i}" for i in range(3000)]}
    columns["long"] = {"type": "numeric", "lower": 0, "upper": 1, "bins": 2000}
    schema = Schema.from_json({"columns": {**columns, "ill": COLUMNS["ill"]}})
    rng, layout = np.random.default_rng(0), Layout(schema)
    x = np.column_stack([rng.integers(0, 2, (50, 64)), rng.integers(0, 3000, 50), rng.random(50)])
    split = x.astype(np.float32), rng.integers(0, 2, 50)
    found = fidelity.compare(layout, split, split, labelled=True)
    said = fidelity.figures(found)
    assert len(found.columns) == 67
    assert len(found.pairs) == 60 * 61 // 2 + 6
    assert said["compared_in_pairs"].startswith("the first 60 of 66 columns")
    assert said["columns"]["long"]["with_target"]["total_variation"] == 0
    monkeypatch.setattr(report, "_MOST_COLUMNS", 4)  # or drawing takes seconds
    page = report.render(found, layout, title="<wide>")
    assert "&lt;wide&gt;" in page
    assert said["compared_in_pairs"] in page


# --- The command -------------------------------------------------------------------------------


def test_guarantee_a_comparison_changes_nothing_that_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With releases that do not depend on the data, nothing in the folder does: to the byte."""
    release_in_public(monkeypatch)
    frame_of(40, seed=9).to_csv(tmp_path / "test.csv", index=False)
    out, found = tmp_path / "run", []
    runs = ((frame_of(200), True), (strange_frame_of(200), True), (frame_of(200), False))
    for frame, flag in runs:
        flags = (*write_table(tmp_path, frame), f"--test_csv={tmp_path / 'test.csv'}")
        flags = (*flags, f"--check_fidelity={flag}", "--overwrite", f"--out_dir={out}")
        assert drive(*DRAWN[:4], "--evaluate=logistic", *flags) == 0
        said = "\n".join(capfd.readouterr()).splitlines()
        found.append((everything_in(out), said, everything_in(beside(out))))
    (files, said, private), (others, said_again, others_private), (without, less, none) = found
    assert len(files) > 8
    assert files == others == without
    assert said == said_again
    assert less == [line for line in said if not line.startswith("NOT FOR RELEASE: ")]
    assert set(private) == {"fidelity.json", "fidelity.html"}
    assert all(private[name] != others_private[name] for name in private)
    assert none == {}  # what was there went with the run that it was about
    # No figure of the comparison is in a file that leaves.
    figures = json.loads(private["fidelity.json"])
    numbers = [c["total_variation"] for c in figures["columns"].values()]
    assert not any(str(n).encode() in held for n in numbers if n for held in files.values())


def test_guarantee_released_files_are_the_same_with_and_without_a_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same for the real release, of one noise seed."""
    same_time(monkeypatch)
    flags = write_table(tmp_path, frame_of(200))
    found = []
    for name, flag in (("one", "--check_fidelity"), ("other", "--nocheck_fidelity")):
        assert drive(*flags, *DRAWN, flag, f"--out_dir={tmp_path / name}") == 0
        found.append(everything_in(tmp_path / name))
    assert found[0] == found[1]
    assert beside(tmp_path / "one").stat().st_mode & 0o077 == 0
    assert not beside(tmp_path / "other").exists()


def test_a_comparison_says_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = (*write_table(tmp_path, frame_of(200)), *DRAWN)
    out = tmp_path / "run"
    assert drive(*flags, f"--out_dir={out}") == 0
    assert not beside(out).exists()
    capsys.readouterr()
    # A finished run is compared later.
    assert drive(*flags, f"--out_dir={out}", "--resume", "--check_fidelity") == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "NOT FOR RELEASE" in line]
    assert len(lines) == 1
    said = read(beside(out), "fidelity.json")
    page = (beside(out) / "fidelity.html").read_text()
    for text in (said["note"], page):
        assert "computed from private records without noise." in text
        assert "The guarantee does not cover it: do not release it." in text
    assert (said["private_records"], said["made_records"]) == (180, 90)
    assert any("--check_fidelity" in text for text in read(out, "privacy.json")["must_stay"])
    # A second run on what was released has the records of --csv.
    again = ("--num_synthetic=30", f"--embedding={out / 'embedding.npz'}", "--evaluate=none")
    second = tmp_path / "second"
    assert drive(*flags[:2], *again, "--check_fidelity", f"--out_dir={second}") == 0
    assert read(beside(second), "fidelity.json")["made_records"] == 30


def test_without_labels_the_target_is_not_compared(tmp_path: Path) -> None:
    flags = write_table(tmp_path, frame_of(60))
    out = tmp_path / "run"
    assert drive(*flags, *DRAWN, "--unconditional", "--check_fidelity", f"--out_dir={out}") == 0
    said = read(beside(out), "fidelity.json")
    assert "ill" not in said["columns"]
    assert said["columns"]["age"]["with_target"] is None


@pytest.mark.slow
def test_a_distilled_table_is_compared(tmp_path: Path) -> None:
    flags = write_table(tmp_path, frame_of(100))
    steps = ("--steps=2", "--batch_size=40", "--ipc=2", "--eps=5", "--delta=1e-3")
    out = tmp_path / "run"
    flags = [*flags, *steps, "--eval_every=2", "--check_fidelity", f"--out_dir={out}"]
    assert drivers.drive(dp_kip.main, *flags) == 0
    assert read(beside(out), "fidelity.json")["made_records"] == 4
    assert not any("fidelity" in name for name in names_in(out))


def test_what_cannot_be_compared_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(expected: str, *flags: str) -> None:
        out = tmp_path / "run"
        assert_refused(dp_ntk.main, capsys, expected, "--check_fidelity", *flags, out=out)

    refused("compares tables with a schema, and --dataset=digits has none")
    flags = write_table(tmp_path, frame_of(20))
    (tmp_path / "run.not_for_release").write_text("mine")
    refused("is a link, a file or holds a run", *flags, *DRAWN)
    (tmp_path / "run.not_for_release").unlink()
    beside(tmp_path / "run").mkdir()
    (beside(tmp_path / "run") / "config.json").write_text("{}")
    refused("is a link, a file or holds a run", *flags, *DRAWN)


def test_a_run_in_the_working_folder_has_its_comparison_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = write_table(tmp_path, frame_of(40))
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path / "run")
    assert drive(*flags, *DRAWN, "--check_fidelity", "--out_dir=.") == 0
    assert names_in(beside(tmp_path / "run")) == {"fidelity.json", "fidelity.html"}
