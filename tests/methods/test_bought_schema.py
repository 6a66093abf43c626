"""Runs with a schema that was bought: accounted together with it, and entered apart."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import jaxdp
from jaxdp.bought import Purchase, buy_schema
from jaxdp.methods import bought_schema, certified
from jaxdp.privacy import DatasetLedger, Ledger, joint_epsilon
from jaxdp.privacy.ledger import FLOAT32_NOISE, UNROUNDED_NOISE
from jaxdp.tables import Bought, Schema

NUM, DELTA = 1500, 1e-5
FAST: dict[str, dict[str, Any]] = {
    "marginals": {"steps": 2, "num_synthetic": 20},
    "dp_ntk": {"steps": 2, "num_synthetic": 20},
    "teacher": {"ipc": 1},
    "dp_kip": {"ipc": 1, "steps": 2},
}


def frame_of() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, NUM),
            "city": rng.choice(["Rome", "Oslo"], NUM),
            "ill": rng.choice(["no", "yes"], NUM),
        }
    )


def schema_of(**purchase: Any) -> Schema:
    draft = {
        "columns": {
            "age": {"type": "numeric", "integer": True, "lower": None, "upper": None},
            "city": {"type": "categorical", "categories": None},
            "ill": {"type": "categorical", "categories": ["no", "yes"], "target": True},
        }
    }
    price = Purchase(**{"epsilon": 1.0, "delta": DELTA, "share": 0.2} | purchase)
    return buy_schema(frame_of(), draft, price)


SCHEMA = schema_of()


def plan_of(method: str, schema: Schema = SCHEMA, most: int | None = None, **changes: Any) -> Any:
    package = getattr(jaxdp.methods, method)
    spec = jaxdp.Spec.table("people", schema, NUM)
    spec = spec if most is None else spec.of_persons(most)
    settings = package.Settings(**{"eps": 1.0, "delta": DELTA} | FAST[method] | changes)
    return package.make_plan(package.complete(settings, spec), spec)


@pytest.mark.parametrize("method", FAST)
def test_guarantee_a_run_and_its_schema_are_within_the_budget_together(method: str) -> None:
    plan = plan_of(method)
    facts = certified.certificate(plan)
    assert 0.98 < facts["epsilon"] <= 1 + 1e-6
    assert facts["delta"] == DELTA
    assert bought_schema.COVERS in facts["covers"]
    ledger = Ledger.from_json(facts["ledger"])
    assert ledger.threshold_delta == pytest.approx(DELTA / 10)
    own = certified.counted(plan)
    assert own is not None
    assert SCHEMA.bought is not None
    schema = Ledger.from_json(SCHEMA.bought.ledger)
    assert own.threshold_delta == 0
    assert own.epsilon() < 1 - 0.02
    assert joint_epsilon([schema, own], delta=DELTA) == pytest.approx(facts["epsilon"], rel=5e-3)


@pytest.mark.parametrize("method", FAST)
def test_guarantee_what_has_spent_all_leaves_nothing_to_a_run(method: str) -> None:
    with pytest.raises(jaxdp.SettingsError, match=r"eps|epsilon"):
        plan_of(method, eps=0.3)
    with pytest.raises(jaxdp.SettingsError, match="1/n of the 1500 records"):
        plan_of(method, delta=1e-3)
    with pytest.raises(jaxdp.SettingsError, match="takes of it"):
        plan_of(method, delta=DELTA / 10)


@pytest.mark.parametrize("method", FAST)
def test_guarantee_a_schema_that_was_bought_without_noise_is_never_releasable(method: str) -> None:
    with pytest.raises(jaxdp.SettingsError, match="without noise"):
        plan_of(method, schema_of(epsilon=float("inf")))
    seeded = certified.certificate(plan_of(method, schema_of(noise_seed=1)))
    assert not seeded["releasable"]
    assert certified.counted(plan_of(method, schema_of(noise_seed=1))) is None


@pytest.mark.parametrize("method", FAST)
def test_guarantee_a_run_has_the_noise_of_its_schema(method: str) -> None:
    assert SCHEMA.bought is not None
    for noise in (FLOAT32_NOISE, UNROUNDED_NOISE):
        bought = dataclasses.replace(SCHEMA.bought, ledger={**SCHEMA.bought.ledger, "noise": noise})
        facts = certified.certificate(plan_of(method, dataclasses.replace(SCHEMA, bought=bought)))
        assert facts["ledger"]["noise"] == noise
        assert not facts["releasable"]


def test_guarantee_persons_are_protected_by_both_or_by_none() -> None:
    with pytest.raises(jaxdp.SettingsError, match="persons with at most 1 records"):
        plan_of("marginals", most=3)
    both = plan_of("marginals", schema_of(records_per_person=3), most=3)
    assert certified.certificate(both)["epsilon"] <= 1 + 1e-6


@pytest.mark.parametrize("method", FAST)
def test_guarantee_a_schema_of_all_records_of_persons_serves_no_run_about_persons(
    method: str,
) -> None:
    """Its purchase has counted every record that a person has."""
    with pytest.raises(jaxdp.SettingsError, match="bought for single records"):
        plan_of(method, most=1)
    persons = schema_of(persons_declared=True)
    assert Schema.from_json(persons.to_json()) == persons
    facts = certified.certificate(plan_of(method, persons, most=1))
    assert facts["persons_declared"]
    assert not certified.certificate(plan_of(method, persons))["persons_declared"]


@pytest.mark.parametrize("ledger", [{}, {"relation": "replace"}, {"steps": 3}])
def test_guarantee_a_schema_with_no_ledger_of_a_purchase_is_refused(ledger: dict[str, Any]) -> None:
    assert SCHEMA.bought is not None
    edited = Bought(SCHEMA.bought.name, SCHEMA.bought.facts, ledger)
    with pytest.raises(jaxdp.SettingsError, match="has no ledger of a purchase"):
        plan_of("marginals", dataclasses.replace(SCHEMA, bought=edited))


def test_guarantee_a_ledger_that_forgets_the_schema_is_refused() -> None:
    plan = plan_of("marginals")
    assert plan.ledger is not None
    forgets = dataclasses.replace(plan.ledger, releases=plan.releases)
    with pytest.raises(ValueError, match="leaves out what was bought"):
        bought_schema.own_part(forgets, plan.spec)
    teaching = plan_of("dp_kip")
    forgets = dataclasses.replace(teaching.ledger, also=())
    with pytest.raises(ValueError, match="leaves out what was bought"):
        bought_schema.own_part(forgets, teaching.spec)


def test_guarantee_runs_with_one_schema_count_it_once(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger.jsonl"
    spec = jaxdp.Spec.table("people", SCHEMA, NUM)
    private = jaxdp.Private.of_frame(frame_of(), SCHEMA)
    method = jaxdp.methods.marginals
    settings = method.Settings(eps=1.0, delta=DELTA, **FAST["marginals"])
    told = []
    for _ in range(2):
        _, certificate = jaxdp.run(method, settings, spec, private, progress=False, ledger=path)
        told.append(certificate.facts)
    entries = DatasetLedger(path).read().entries
    assert [entry.method for entry in entries] == ["schema", "marginals", "marginals"]
    assert SCHEMA.bought is not None
    assert entries[0].name == SCHEMA.bought.name
    assert told[0]["earlier_runs"] == []
    assert len(told[1]["earlier_runs"]) == 1, "its own schema is in its own ledger"
    together = joint_epsilon([entry.ledger for entry in entries], delta=DELTA)
    assert told[1]["epsilon_with_earlier_runs"] == pytest.approx(together, rel=1e-6)
    changed = dataclasses.replace(entries[0].ledger, delta=2 * DELTA)
    with pytest.raises(ValueError, match="with other numbers"):
        DatasetLedger(path).require_room(entries[1].ledger, schema=(SCHEMA.bought.name, changed))


def test_counts_of_a_run_with_a_bought_schema_are_used_again(tmp_path: Path) -> None:
    plan = plan_of("marginals")
    facts = certified.certificate(plan)
    from jaxdp.methods import stored
    from jaxdp.methods.marginals.released import Released

    private = jaxdp.Private.of_frame(frame_of(), SCHEMA)
    runner = jaxdp.methods.PlainRunner(progress=False)
    released = plan.release(private, jaxdp.privacy.private_key(0), runner)
    assert isinstance(released, Released)
    earlier = stored.Earlier(
        stored=stored.Stored(
            released=released,
            options=stored.NoOptions(),
            example_shape=plan.spec.stored_shape,
            num_classes=1,
            certificate=facts,
            source="--counts=FILE",
            schema=plan.spec.schema_json,
        )
    )
    method = jaxdp.methods.marginals
    again = method.make_plan(plan.settings, plan.spec, earlier)
    assert again.releases == plan.releases
    assert again.ledger is None
