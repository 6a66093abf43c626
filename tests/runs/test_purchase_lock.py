"""Of runs that need the schema of one table at once, one buys it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from jaxdp.bought import buy_schema
from jaxdp.methods.settings import Budget
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import RunFlags
from jaxdp.program.runs import purchase_lock, schema_purchase
from jaxdp.tables import OpenSchema, raw

AGE = {"type": "numeric", "lower": None, "upper": None, "integer": True, "nullable": False}
OPENED = OpenSchema.from_json({"columns": {"age": AGE, "pay": AGE}})
FRAME = pd.DataFrame(
    {"age": [str(20 + n % 60) for n in range(300)], "pay": ["5", "900", "70"] * 100}
)


@pytest.fixture
def buyer(tmp_path: Path) -> schema_purchase.SchemaBuyer:
    flags = RunFlags(csv=str(tmp_path / "stays.csv"))
    return schema_purchase.SchemaBuyer(flags, Budget(eps=9.0), counts_cells=True)


def test_guarantee_of_two_runs_at_once_one_buys_and_the_other_waits(
    buyer: schema_purchase.SchemaBuyer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    records, wait = raw.read(FRAME, OPENED.schema), purchase_lock._wait
    first_buys, second_waits = threading.Event(), threading.Event()
    bought: list[Path] = []

    def slow(_: Any, opened: Any, purchase: Any, records: Any, path: Path, terms: Any) -> Any:
        del terms
        bought.append(path)
        if len(bought) == 1:
            first_buys.set()
            assert second_waits.wait(60)
        found = buy_schema(records, opened, purchase)
        schema_purchase.write(path, found)
        return found

    def waiting(lock: int, path: Path) -> None:
        if first_buys.is_set():
            second_waits.set()
        wait(lock, path)

    monkeypatch.setattr(schema_purchase, "bought", slow)
    monkeypatch.setattr(purchase_lock, "_wait", waiting)
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(buyer.complete, OPENED, records)
        assert first_buys.wait(60)
        other = pool.submit(buyer.complete, OPENED, records)
        assert one.result(60) == other.result(60)
    assert len(bought) == 1
    assert "bought before, and used again at no cost" in capsys.readouterr().err
    assert [path.name for path in bought[0].parent.iterdir()] == ["stays.bought.json"]


def test_a_lock_that_is_none_is_told(buyer: schema_purchase.SchemaBuyer, tmp_path: Path) -> None:
    records = raw.read(FRAME, OPENED.schema)
    (tmp_path / ".stays.bought.json.lock").write_text("mine")
    with pytest.raises(InputError, match="is no lock of a purchase"):
        buyer.complete(OPENED, records)
    (tmp_path / ".stays.bought.json.lock").unlink()
    (tmp_path / ".stays.bought.json.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is no lock of a purchase"):
        buyer.complete(OPENED, records)
    assert not (tmp_path / "elsewhere").exists()
