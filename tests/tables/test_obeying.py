"""Every record that is made obeys the rules as it is written; private ones are stored as ever."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support import ruled_tables

from jaxdp.tables import Schema, frames, obeying

SCHEMA = ruled_tables.schema_of()


def as_written(x: np.ndarray, y: np.ndarray | None, schema: Schema = SCHEMA) -> pd.DataFrame:
    """Return a made table as a file of it is read again: of texts."""
    text = frames.to_csv(frames.decode(x, y, schema), schema)
    return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)


@pytest.mark.parametrize("num", [1, 2, 30, 3000])
def test_every_record_obeys_as_it_is_written(num: int) -> None:
    x, y = ruled_tables.drawn(SCHEMA, num), np.arange(num) % 2
    made = as_written(x, y)
    assert set(ruled_tables.broken(made).values()) == {0}
    assert list(made.columns) == list(ruled_tables.COLUMNS)
    if num == 3000:
        assert (made.end == "").sum() > 500, "of a missing one nothing follows"
        assert made.start.nunique() > 500


def test_records_that_obey_stay_as_they_are() -> None:
    """So what `jaxdp sample` has drawn is written as it was drawn, and read again so."""
    x, y = ruled_tables.drawn(SCHEMA, 500), np.zeros(500, int)
    once = obeying.obey(x, y, SCHEMA)
    assert not np.array_equal(once, x)
    np.testing.assert_array_equal(obeying.obey(once, y, SCHEMA, seed=3), once)
    pd.testing.assert_frame_equal(frames.decode(once, y, SCHEMA), frames.decode(x, y, SCHEMA))
    again, _ = frames.encode(as_written(once, y), SCHEMA)
    pd.testing.assert_frame_equal(as_written(again, y), as_written(once, y))


def test_columns_that_no_rule_moves_stay_as_they_are() -> None:
    x = ruled_tables.drawn(SCHEMA, 500)
    found, names = obeying.obey(x, None, SCHEMA), [column.name for column in SCHEMA.columns]
    for name in ("start", "sex", "age", "drugs", "care"):
        place = names.index(name)
        np.testing.assert_array_equal(found[:, place], x[:, place])


def test_without_rules_nothing_is_looked_at() -> None:
    schema = ruled_tables.schema_of(rules=[], columns={"start": ruled_tables.DAY})
    x = ruled_tables.drawn(schema, 50)
    assert obeying.obey(x, None, schema) is x
    assert obeying.obeyed(x, None, schema) == {}


def test_guarantee_one_record_changes_how_no_other_is_stored() -> None:
    """Rules look at records that are made. Private ones are stored one by one, as ever."""
    frame = ruled_tables.frame_of(60)
    x, y = frames.encode(frame, SCHEMA)
    order = np.random.default_rng(0).permutation(60)
    shuffled, labels = frames.encode(frame.iloc[order], SCHEMA)
    np.testing.assert_array_equal(shuffled, x[order])
    np.testing.assert_array_equal(labels, y[order])
    for other in (frame.iloc[[0]], frame.iloc[[7]]):  # one that breaks every rule, one that obeys
        changed = frame.copy()
        changed.iloc[5] = other.iloc[0]
        stored, _ = frames.encode(changed, SCHEMA)
        np.testing.assert_array_equal(np.delete(stored, 5, axis=0), np.delete(x, 5, axis=0))
    for place in range(60):
        alone, _ = frames.encode(frame.iloc[[place]], SCHEMA)
        np.testing.assert_array_equal(alone[0], x[place])


def test_a_total_is_not_read() -> None:
    frame = ruled_tables.frame_of(20)
    x, _ = frames.encode(frame, SCHEMA)
    without, _ = frames.encode(frame.drop(columns="cost"), SCHEMA)
    np.testing.assert_array_equal(without, x)


@pytest.mark.parametrize(
    ("form", "numbers"),
    [
        ({"decimals": 2}, 1000.0),
        ({"decimals": 1, "decimal": ",", "suffix": " EUR"}, 1e6),
        ({"integer": True}, 10**6),
        ({}, 0.001),
        ({"decimals": 12}, 0.5),
    ],
)
def test_printed_totals_are_sums_of_printed_parts(form: dict[str, Any], numbers: float) -> None:
    from decimal import Decimal

    part = {"type": "numeric", "lower": -numbers if form else 0, "upper": numbers, **form}
    total = {"type": "numeric", **{k: v for k, v in form.items() if k != "bins"}}
    names = ("a", "b", "c", "half", "all")
    schema = Schema.from_json(
        {
            "columns": {n: total if n in ("half", "all") else part for n in names},
            "rules": [
                {"total": "all", "sum": ["half", "c"]},
                {"total": "half", "sum": ["a", "b"]},
            ],
        }
    )
    made = as_written(np.random.default_rng(0).random((200, 3)), None, schema)

    def number(text: str) -> Decimal:
        return Decimal(text.replace(" EUR", "").replace(",", "."))

    for a, b, c, half, whole in made[list(names)].itertuples(index=False):
        assert number(a) + number(b) == number(half)
        assert number(half) + number(c) == number(whole)


def test_a_missing_part_makes_its_total_missing_or_counts_as_nothing() -> None:
    part = {"type": "numeric", "lower": 0, "upper": 9, "integer": True, "nullable": True}
    for nullable, expected in ((True, [5, None]), (False, [5, 3])):
        schema = Schema.from_json(
            {
                "columns": {"a": part, "b": part, "t": {"type": "numeric", "integer": True,
                                                        "nullable": nullable}},
                "rules": [{"total": "t", "sum": ["a", "b"]}],
            }
        )  # fmt: skip
        made = frames.decode(np.array([[2 / 9, 3 / 9], [3 / 9, -1]]), None, schema)
        assert made.t.astype(object).where(made.t.notna(), None).tolist() == expected


def test_a_total_keeps_to_bounds_of_its_own() -> None:
    part = {"type": "numeric", "lower": 0, "upper": 100, "decimals": 1}
    schema = Schema.from_json(
        {
            "columns": {"a": part, "b": part, "c": part, "t": part | {"lower": 20}},
            "rules": [{"total": "t", "sum": ["a", "b", "c"]}],
        }
    )
    made = frames.decode(np.random.default_rng(0).random((500, 3)), None, schema)
    assert made.t.between(20, 100).all()


@pytest.mark.parametrize(
    ("first", "then", "strict"),
    [
        ({"integer": True}, {"integer": True}, True),
        ({"decimals": 2}, {"decimals": 1}, False),
        ({"decimals": 1}, {"decimals": 2}, True),
        ({}, {"integer": True}, False),
        ({}, {}, False),
        ({"bins": [20, 50]}, {"spikes": [30], "nullable": True}, False),
    ],
)
def test_orders_hold_of_digits_as_they_are_written(first: Any, then: Any, strict: bool) -> None:
    bounds = {"type": "numeric", "lower": 0, "upper": 100}
    schema = Schema.from_json(
        {
            "columns": {
                "a": bounds | first,
                "b": bounds | then,
                "c": bounds | {"upper": 90} | then,
            },
            "rules": [{"order": ["a", "b"], "strict": strict}, {"order": ["b", "c"]}],
        }
    )
    made = as_written(ruled_tables.drawn(schema, 2000), None, schema)
    a, b, c = (pd.to_numeric(made[name], errors="coerce") for name in "abc")
    assert not ((a >= b) if strict else (a > b)).any()
    assert not (b > c).any()
    assert b.dropna().between(0, 90).all()


def test_bounds_that_were_bought_may_contradict_a_rule() -> None:
    """Noise may say that all ends lie before all starts. Then they follow each other at once."""
    column = {"type": "numeric", "integer": True}
    stored = {
        "columns": {
            "a": column | {"lower": 50, "upper": 90},
            "b": column | {"lower": 0, "upper": 9},
        },
        "rules": [{"order": ["a", "b"]}],
        "bought": {"name": "0" * 32, "facts": {"a": ["bounds"], "b": ["bounds"]}, "ledger": {}},
    }  # fmt: skip
    schema = Schema.from_json(stored)
    made = frames.decode(np.random.default_rng(0).random((200, 2)), None, schema)
    assert (made.a <= made.b).all()


def test_conditions_may_be_of_classes_ranges_and_missing_values() -> None:
    schema = Schema.from_json(
        {
            "columns": {
                "a": {"type": "numeric", "lower": 0, "upper": 9, "integer": True, "nullable": True},
                "b": {"type": "categorical", "categories": ["x"]},
                "c": {"type": "numeric", "lower": 0, "upper": 1},
                "ill": {"type": "categorical", "categories": ["no", "mild", "bad"], "target": True,
                        "classes": {"well": ["no"], "sick": ["mild", "bad"]}},
            },
            "rules": [
                {"missing": "b", "unless": {"a": ["2..3", 7, None]}},
                {"missing": "c", "unless": {"ill": "mild"}, "or_unanswered": True},
            ],
        }
    )  # fmt: skip
    x, y = ruled_tables.drawn(schema, 1000), np.arange(1000) % 2
    made = frames.decode(x, y, schema)
    asked = made.a.isin([2, 3, 7]) | made.a.isna()
    assert (made.b.notna() == asked).all()
    assert made.c[made.ill == "no"].isna().all()
    assert made.c[made.ill == "mild"].isna().any()
    assert made.c[made.ill == "mild"].notna().any()
    # Records of no class are not asked.
    assert frames.decode(x, None, schema).c.notna().sum() > made.c.notna().sum()


def test_a_value_that_is_asked_for_is_one_of_records_alike() -> None:
    """Of 2000 records half lack what they were asked; others say the same where they are alike."""
    rng = np.random.default_rng(0)
    schema = Schema.from_json(
        {
            "columns": {
                "asked": {"type": "categorical", "categories": ["no", "yes"], "other": False},
                "kind": {"type": "categorical", "categories": list("abcde"), "other": False},
                "size": {"type": "numeric", "lower": 0, "upper": 10, "integer": True},
            },
            "rules": [{"missing": "size", "unless": {"asked": "yes"}}],
        }
    )
    kind = rng.integers(0, 5, 2000)
    size = np.where(rng.random(2000) < 0.5, -1, 2 * kind / 10)
    x = np.column_stack([np.ones(2000), kind, size]).astype(np.float32)
    made = frames.decode(x, None, schema)
    assert made["size"].notna().all()
    assert (made["size"] == 2 * kind).mean() > 0.99


def test_coarser_columns_stay_where_finer_ones_tell_others() -> None:
    """A map of a chain: lands keep their shares, and cities and codes are of these lands."""
    rng = np.random.default_rng(0)
    schema = Schema.from_json(
        {
            "columns": {
                "code": {"type": "categorical", "categories": [f"z{n}" for n in range(12)]},
                "city": {"type": "categorical", "categories": [f"c{n}" for n in range(6)]},
                "land": {"type": "categorical", "categories": ["l0", "l1"]},
            },
            "rules": [
                {"determined": "land", "by": "city",
                 "map": {f"c{n}": f"l{n % 2}" for n in range(6)}},
                {"determined": "city", "by": "code",
                 "map": {f"z{n}": f"c{n % 6}" for n in range(12)}},
            ],
        }
    )  # fmt: skip
    x = np.column_stack([rng.integers(0, k, 3000) for k in (12, 6, 2)]).astype(np.float32)
    x[:, 2] = rng.random(3000) < 0.9
    made = frames.decode(x, None, schema)
    number = {name: made[name].str[1:].astype(int) for name in made}
    assert (number["code"] % 6 == number["city"]).all()
    assert (number["city"] % 2 == number["land"]).all()
    np.testing.assert_array_equal(number["land"], x[:, 2])


def test_nothing_follows_from_other_or_missing() -> None:
    schema = Schema.from_json(
        {
            "columns": {
                "a": {"type": "categorical", "categories": ["x"], "nullable": True},
                "b": {"type": "categorical", "categories": ["u", "v"], "other": False},
            },
            "rules": [{"determined": "b", "by": "a"}],
        }
    )
    x = ruled_tables.drawn(schema, 300)
    made = frames.decode(x, None, schema)
    assert made.b[made.a == "x"].nunique() == 1
    assert made.b[made.a == "other"].nunique() == 2
    assert made.b[made.a.isna()].nunique() == 2


def test_several_columns_determine_one() -> None:
    word = {"type": "categorical", "categories": ["x", "y"], "other": False}
    schema = Schema.from_json(
        {
            "columns": {"a": word, "b": word, "c": word},
            "rules": [{"determined": "c", "by": ["a", "b"], "map": {"x": {"x": "y"}}}],
        }
    )
    made = frames.decode(ruled_tables.drawn(schema, 400), None, schema)
    assert (made.groupby(["a", "b"]).c.nunique() == 1).all()
    assert (made.c[(made.a == "x") & (made.b == "x")] == "y").all()


def test_records_that_break_rules_are_counted() -> None:
    x, _ = frames.encode(ruled_tables.frame_of(100), SCHEMA)
    known = tuple(rule for rule in SCHEMA.rules if str(rule) != "cost = drugs + care")
    found = obeying.breaking(obeying.read(x, SCHEMA), SCHEMA, of=known)
    assert found["start <= end"] == 10
    assert 5 <= found["pregnant is missing unless sex is f and age is 15..45"] <= 10
    assert found["weeks is missing unless pregnant is yes"] == 0
    values = obeying.obeyed(x, None, SCHEMA)
    assert set(obeying.breaking(values, SCHEMA).values()) == {0}
    wrong = values | {"cost": values["cost"] + 0.01}
    assert obeying.breaking(wrong, SCHEMA)["cost = drugs + care"] == 100
