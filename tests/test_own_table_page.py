"""The page about own tables, from its first command to its last, on a small table."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support import drivers
from test_docs import DOCS

from jaxdp.program.commands import table
from jaxdp.tables.columns import Column
from jaxdp.tables.layout import edges

PAGE = DOCS / "own_tables.md"
_TOY = ("--steps=2", "--num_synthetic=40", "--evaluate=none", "--eps=20", "--delta=1e-3")


def table_of(num: int = 400) -> pd.DataFrame:
    """Return a table with the columns of the page."""
    rng = np.random.default_rng(0)
    stay = rng.integers(0, 12, num)
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 1461, num), unit="D")
    return pd.DataFrame(
        {
            "patient_id": np.arange(100_001, 100_001 + num),
            "admitted": days.strftime("%d.%m.%Y"),
            "age": rng.integers(0, 100, num),
            "sex": rng.choice(["f", "m"], num),
            "ward": rng.choice(["surgery", "medicine"], num),
            "stay": stay,
            "cost": [f"${each:,.2f}" for each in stay * rng.lognormal(6, 0.4, num)],
            "lactate": np.where(rng.random(num) < 0.3, "", rng.integers(5, 40, num) / 10),
            "ill": rng.choice(["no", "yes"], num),
        }
    )


def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table_of().to_csv("patients.csv", index=False)
    blocks = re.findall(r"^```bash\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    program, command, csv, *flags = shlex.split(blocks[0])
    assert (program, command) == ("jaxdp", "table")
    assert drivers.drive(table.main, f"--csv={csv}", *flags, *_TOY) == 0
    out = Path("runs/patients")
    there = ("synthetic.csv", "report.html", "privacy.json")
    assert all((out / name).exists() for name in there)
    assert Path("patients.bought.json").exists()
    made = pd.read_csv(out / "synthetic.csv", dtype=str, keep_default_na=False)
    assert list(made.columns) == list(table_of().columns)
    assert made.admitted.str.fullmatch(r"\d\d\.\d\d\.\d{4}").all()
    assert made.cost.str.fullmatch(r"\$[\d,]+\.\d\d").all()
    assert made.lactate.str.fullmatch(r"(-?\d+\.\d)?").all(), "as many digits as there were"
    assert made.patient_id.is_unique


def test_the_bins_of_the_page_put_skewed_costs_where_they_are() -> None:
    """Which bins of one length do not: most costs are in the first of them."""
    (shown,) = re.findall(r'^ +("cost": .*\n +"bins": .*\})$', PAGE.read_text(), re.MULTILINE)
    said = json.loads(f"{{{shown}}}")["cost"]
    costs = np.random.default_rng(0).lognormal(8, 1, 2000)
    medians = {}
    for name, bins in {"page": tuple(said["bins"]), "equal": 16}.items():
        ends = edges(Column(name="cost", **said | {"bins": bins}))
        counts, _ = np.histogram(costs, ends)
        medians[name] = np.median(np.repeat((ends[1:] + ends[:-1]) / 2, counts))  # drawn evenly
    assert medians["page"] == pytest.approx(np.median(costs), rel=0.5)
    assert medians["equal"] > 10 * np.median(costs)
