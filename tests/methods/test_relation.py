"""Runs under either relation: their noise, their ledgers and what is refused."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import jaxdp
from jaxdp.bought import Purchase, buy_schema
from jaxdp.methods import certified
from jaxdp.methods.settings import SettingsError
from jaxdp.privacy import Ledger
from jaxdp.privacy.relations import REPLACE, ZERO_OUT
from jaxdp.tables import Schema

NUM, DELTA = 1500, 1e-5
FAST: dict[str, dict[str, Any]] = {
    "marginals": {"steps": 2, "num_synthetic": 20},
    "dp_ntk": {"steps": 2, "num_synthetic": 20, "features": "rff", "weights_share": 0.1},
    "labelled": {"steps": 2, "num_synthetic": 20, "labels": "teacher"},
    "teacher": {"ipc": 1},
    "dp_kip": {"ipc": 1, "steps": 20, "batch_size": 100},
}
DRAFT = {
    "columns": {
        "age": {"type": "numeric", "integer": True, "lower": 0, "upper": 99, "nullable": False},
        "city": {"type": "categorical", "categories": ["Oslo", "Rome"], "nullable": False},
        "ill": {"type": "categorical", "categories": ["no", "yes"], "target": True},
    }
}
SCHEMA = Schema.from_json(DRAFT)


def plan_of(method: str, schema: Schema = SCHEMA, most: int = 1, **changes: Any) -> Any:
    package = getattr(jaxdp.methods, "dp_ntk" if method == "labelled" else method)
    spec = jaxdp.Spec.table("people", schema, NUM).of_persons(most)
    settings = package.Settings(**{"eps": 1.0, "delta": DELTA} | FAST[method] | changes)
    return package.make_plan(package.complete(settings, spec), spec)


def bought_under(relation: str) -> Schema:
    """Return a schema whose bounds of one column were bought."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 90, NUM),
            "city": rng.choice(["Oslo", "Rome"], NUM),
            "ill": rng.choice(["no", "yes"], NUM),
        }
    )
    age = {"type": "numeric", "lower": None, "upper": None}
    draft = {"columns": DRAFT["columns"] | {"age": age}}
    price = Purchase(epsilon=1.0, delta=DELTA, share=0.2, relation=relation, persons_declared=True)
    return buy_schema(frame, draft, price)


def as_emptied(ledger: Ledger) -> Ledger:
    """Return a ledger of the same noise that promises less."""
    if ledger.steps is not None:
        steps = dataclasses.replace(ledger.steps, relation=ZERO_OUT)
        return dataclasses.replace(ledger, steps=steps)
    less = [
        dataclasses.replace(each, sensitivity=each.sensitivity / math.sqrt(2), relation=ZERO_OUT)
        for each in ledger.releases
    ]
    return dataclasses.replace(ledger, releases=tuple(less))


@pytest.mark.parametrize("method", list(FAST))
@pytest.mark.parametrize("most", [1, 2])
def test_guarantee_every_method_keeps_its_budget_under_either_relation(
    method: str, most: int
) -> None:
    for relation in (ZERO_OUT, REPLACE):
        ledger = plan_of(method, most=most, relation=relation).ledger
        assert ledger.relation == relation
        assert 0.9 < ledger.epsilon() <= 1.0
    assert as_emptied(ledger).epsilon() < 0.75


def test_zero_out_is_the_default_and_certificates_say_what_it_means() -> None:
    for relation, word in ((None, "empty record"), (REPLACE, "any other record")):
        changes = {} if relation is None else {"relation": relation}
        certificate = certified.certificate(plan_of("marginals", **changes))
        assert word in certificate["relation"]


@pytest.mark.parametrize(("method", "most"), [("marginals", math.sqrt(2)), ("dp_ntk", 2.0)])
def test_guarantee_releases_claim_what_a_record_moves_under_each_relation(
    method: str, most: float
) -> None:
    for relation, moved in ((ZERO_OUT, 1.0), (REPLACE, most)):
        plan = plan_of(method, relation=relation)
        unit = 1.0 if method == "marginals" else 1 / NUM
        first, *_ = plan.ledger.releases
        assert first.sensitivity == pytest.approx(moved * unit, rel=1e-2)
        assert first.sensitivity >= moved * unit * (1 - 1e-6)


def test_guarantee_a_ledger_that_promises_less_than_was_asked_for_gets_no_certificate() -> None:
    plan = plan_of("marginals", relation=ZERO_OUT)
    asked = dataclasses.replace(plan.settings, relation=REPLACE)
    with pytest.raises(ValueError, match="counts records as emptied"):
        certified.certificate(dataclasses.replace(plan, settings=asked))


@pytest.mark.parametrize("method", list(FAST))
def test_guarantee_a_schema_was_bought_under_what_its_run_promises(method: str) -> None:
    with pytest.raises(SettingsError, match="--relation=replace: the schema was bought under zero"):
        plan_of(method, bought_under(ZERO_OUT), relation=REPLACE)
    for bought, relation in ((ZERO_OUT, ZERO_OUT), (REPLACE, ZERO_OUT), (REPLACE, REPLACE)):
        ledger = plan_of(method, bought_under(bought), relation=relation).ledger
        assert ledger.relation == relation
        assert 0.8 < ledger.epsilon() <= 1.0


def test_an_unknown_relation_is_refused() -> None:
    with pytest.raises(SettingsError, match="--relation=add: unknown"):
        jaxdp.methods.marginals.Settings(relation="add")


def test_guarantee_a_stored_purchase_that_claims_less_is_refused() -> None:
    schema = bought_under(REPLACE)
    assert schema.bought is not None
    stored = schema.bought.ledger
    for release in stored["releases"]:
        release["sensitivity"] = 1.0
    forged = dataclasses.replace(
        schema, bought=dataclasses.replace(schema.bought, ledger=dict(stored))
    )
    with pytest.raises(SettingsError, match=r"no ledger of a purchase .*sensitivity is 1\.4"):
        plan_of("marginals", forged)


def test_guarantee_steps_count_what_was_bought_by_what_a_record_contributes() -> None:
    """One record contributes 1 to counts, and their noise is of the purchase."""
    for relation in (ZERO_OUT, REPLACE):
        schema = bought_under(relation)
        assert schema.bought is not None
        exact = sum(each["stddev"] ** -2 for each in schema.bought.ledger["releases"]) ** -0.5
        ledger = plan_of("dp_kip", schema, relation=ZERO_OUT).ledger
        assert ledger.also[0] == pytest.approx(exact)
