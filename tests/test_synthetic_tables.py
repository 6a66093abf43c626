"""The benchmark of made tables: its judges against naive counts, budgets, and what is exchanged."""

from __future__ import annotations

import argparse
import importlib
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jaxdp.tables import Schema

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SCHEMAS = sorted((BENCHMARKS / "schemas").glob("*.json"))
PLENTY = 1e12


@pytest.fixture(scope="module")
def code() -> Iterator[SimpleNamespace]:
    """Return the modules under test."""
    names = ("synthetic_tables", "_table_judges", "_public_tables", "_opendp", "_graphical")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        yield SimpleNamespace(
            **{name.removeprefix("_"): importlib.import_module(name) for name in names}
        )


def schema_of(**more: Any) -> Schema:
    columns = {
        "a": {"type": "numeric", "lower": 0, "upper": 1},
        "b": {"type": "numeric", "lower": 0, "upper": 1, "nullable": True},
        "c": {"type": "categorical", "categories": ["p", "q"], "other": False},
    }
    return Schema.from_json({"columns": columns | more})


CLASSES = {"y": {"type": "categorical", "categories": ["no", "yes"], "target": True}}
NUMBER = {"z": {"type": "numeric", "lower": 0, "upper": 1, "target": True}}


def table(num: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return records whose b follows a, is missing at times, and tells the class."""
    rng = np.random.default_rng(seed)
    a = rng.random(num)
    b = np.where(rng.random(num) < 0.1, -1, np.clip(a + rng.normal(0, 0.1, num), 0, 1))
    x = np.column_stack([a, b, rng.integers(0, 2, num)]).astype(np.float32)
    return x, (a > 0.5).astype(np.int32)


def test_a_table_is_no_distance_from_itself_and_teaches_what_it_has(code: SimpleNamespace) -> None:
    real, test = table(2000, 0), table(500, 1)
    found = code.table_judges.judged(schema_of(**CLASSES), real, real, test)
    assert set(found) == set(code.table_judges.FIGURES)
    assert found["tv1"] == found["tv2"] == found["three_way"] == found["strong"] == 0
    assert found["f1"] > 0.99
    assert found["f1_macro"] > 0.99
    assert found["auc"] > 0.999
    assert found["r2"] is None


def test_a_number_is_predicted_by_its_r2(code: SimpleNamespace) -> None:
    def records(seed: int) -> tuple[np.ndarray, np.ndarray]:
        x, y = table(2000, seed)
        return np.column_stack([x, 0.5 * x[:, 0] + 0.25]).astype(np.float32), 0 * y

    real, test = records(0), records(1)
    shuffled = real[0].copy()
    shuffled[:, 3] = shuffled[::-1, 3]
    judged, schema = code.table_judges.judged, schema_of(**NUMBER)
    assert judged(schema, real, real, test)["r2"] > 0.99
    worse = judged(schema, real, (shuffled, real[1]), test)
    assert worse["r2"] < 0.2
    assert worse["f1"] is worse["auc"] is None
    assert worse["strong"] == pytest.approx(1, abs=0.1)  # of a and z, which go apart
    assert worse["tv1"] == 0


def test_total_variations_are_those_of_naive_counts(code: SimpleNamespace) -> None:
    # No twentieth of 401, or of those that are there of b, is a whole number: quantiles are sure.
    real, made = table(401, 0), table(300, 2)
    schema = schema_of(**CLASSES)
    found = code.table_judges.judged(schema, real, made, table(50, 1))
    numbers = [np.sort(real[0][real[0][:, column] >= 0, column]) for column in range(2)]
    edges = [
        [ranked[math.ceil(part * len(ranked) / 20) - 1] for part in range(1, 20)]
        for ranked in numbers
    ]

    def cells(x: np.ndarray, y: np.ndarray) -> list[list[int]]:
        return [
            [
                *(
                    -1 if row[column] < 0 else sum(row[column] >= edge for edge in edges[column])
                    for column in range(2)
                ),
                int(row[2]),
                int(label),
            ]
            for row, label in zip(x, y, strict=True)
        ]

    sides = [cells(*side) for side in (real, made)]

    def apart(*columns: int) -> float:
        shares: list[dict[Any, float]] = [{}, {}]
        for side, share in zip(sides, shares, strict=True):
            for row in side:
                key = tuple(row[column] for column in columns)
                share[key] = share.get(key, 0) + 1 / len(side)
        keys = shares[0].keys() | shares[1].keys()
        return sum(abs(shares[0].get(key, 0) - shares[1].get(key, 0)) for key in keys) / 2

    assert found["tv1"] == pytest.approx(np.mean([apart(i) for i in range(4)]))
    pairs = [apart(i, j) for i in range(4) for j in range(i + 1, 4)]
    assert found["tv2"] == pytest.approx(np.mean(pairs))


def test_independent_columns_have_their_counts_and_spend_the_budget(code: SimpleNamespace) -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 2000)
    cells = np.column_stack([first, np.minimum(first, 1), rng.integers(0, 4, 2000)])
    private = code.graphical.CellTable(cells, (3, 2, 4))
    budget = code.graphical.Budget(PLENTY, rng)
    made = code.synthetic_tables.independent(private, budget, 2000)
    assert budget.spent == pytest.approx(PLENTY)
    for column, size in enumerate(private.sizes):
        counts = np.bincount(made[:, column], minlength=size)
        np.testing.assert_allclose(counts, private.counts((column,)), atol=1)
    assert abs(np.corrcoef(made[:, 0], made[:, 1])[0, 1]) < 0.1


@pytest.mark.parametrize("rho", [0.02435597035955397, 0.0012, 1.1])
@pytest.mark.parametrize("num", [1, 9, 14, 54])
def test_a_budget_can_be_divided_by_what_rounds_up(
    code: SimpleNamespace, rho: float, num: int
) -> None:
    found = code.opendp._divisible(rho, num)
    assert rho * (1 - 1e-9) < found <= rho
    rest = math.nextafter(math.nextafter(found - found * 0.5, 0), 0)
    whole = math.nextafter(math.nextafter(rest - rest * 0.9, 0), 0)
    total = 0.0
    for _ in range(num):
        exact = Fraction(total) + Fraction(math.nextafter(whole / num, 0))
        total = float(exact)
        total = math.nextafter(total, 1) if Fraction(total) < exact else total
    assert total <= whole


_STUB = """
import sys
from pathlib import Path
import numpy as np
_, folder, algorithm, rho, count = sys.argv[1:]
assert (algorithm, float(rho)) == ("mst", 0.1), "not so"
with np.load(Path(folder, "table.npz")) as table:
    cells = table["cells"][: int(count)] + table["sizes"]
np.savez(Path(folder, "made.npz"), cells=cells, seconds=2.5, peak_mb=7.0)
"""


@pytest.fixture
def stub(tmp_path: Path) -> str:
    """Return a program in the place of OpenDP's python."""
    (tmp_path / "stub.py").write_text(_STUB)
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {tmp_path / "stub.py"} "$@"\n')
    program.chmod(0o755)
    return str(program)


def test_another_program_is_given_cells_and_returns_them(code: SimpleNamespace, stub: str) -> None:
    cells = np.arange(10).reshape(5, 2)
    made = code.opendp.made_by_opendp(stub, "mst", cells, (10, 20), 0.1, 3)
    np.testing.assert_array_equal(made.cells, np.add(cells[:3], (10, 20)))
    assert (made.seconds, made.peak_mb) == (2.5, 7.0)
    with pytest.raises(subprocess.CalledProcessError) as caught:
        code.opendp.made_by_opendp(stub, "aim", cells, (10, 20), 0.1, 3)
    assert "not so" in code.synthetic_tables._why(caught.value)


def test_a_case_that_fails_has_a_note_and_no_figures(
    code: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["synthetic_tables.py", "--quick"])
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho no budget >&2\nexit 1\n")
    program.chmod(0o755)
    args = argparse.Namespace(
        quick=True, limit=60, delta=1e-6, opendp_python=str(program), most=None
    )
    found = code.synthetic_tables.run(args, "toy", "opendp_aim", 1.0, 0)
    assert found["note"] == "no budget"
    assert all(found[name] is None for name in code.table_judges.FIGURES)


def test_what_takes_too_long_is_ended(code: SimpleNamespace) -> None:
    with pytest.raises(TimeoutError), code.synthetic_tables._limited(1):
        time.sleep(30)
    with code.synthetic_tables._limited(1):
        pass
    time.sleep(1.1)  # nothing rings any more


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_schemas_are_of_the_listed_tables_and_have_a_target(
    code: SimpleNamespace, path: Path
) -> None:
    assert path.stem in code.public_tables.SOURCES
    schema = code.public_tables.public_schema(path.stem)
    assert (schema.target is None) == (len(schema.judged) == 1)


def test_a_table_of_scikit_learn_is_split(code: SimpleNamespace) -> None:
    split = code.public_tables.public_problem("diabetes", seed=0)
    assert (len(split.x), len(split.x_test)) == (354, 88)
    other = code.public_tables.public_problem("diabetes", seed=1)
    assert not np.array_equal(split.x, other.x)
    assert set(code.public_tables.SOURCES) == {path.stem for path in SCHEMAS}
