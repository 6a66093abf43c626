"""Tables without a class to tell: with nothing to predict, a number, or several columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import jaxdp
from jaxdp.data import Private, Spec
from jaxdp.methods import dp_kip, dp_ntk, marginals, teacher
from jaxdp.methods.settings import SettingsError
from jaxdp.tables import Domain, Schema, SchemaError

COLUMNS: dict[str, dict[str, Any]] = {
    "cement": {"type": "numeric", "lower": 0, "upper": 600},
    "kind": {"type": "categorical", "categories": ["old", "new"], "other": False},
    "strength": {"type": "numeric", "lower": 0, "upper": 100},
}


def schema_of(*targets: str, **more: Any) -> Schema:
    columns = {
        name: facts | ({"target": True} if name in targets else {})
        for name, facts in COLUMNS.items()
    }
    return Schema.from_json({"columns": columns}, **more)


def frame_of(num: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    cement = rng.uniform(100, 500, num)
    return pd.DataFrame(
        {
            "cement": cement,
            "kind": np.where(rng.random(num) < 0.3, "new", "old"),
            "strength": np.clip(cement / 6 + rng.normal(0, 4, num), 0, 100),
        }
    )


@pytest.mark.parametrize("targets", [(), ("strength",), ("strength", "kind")])
def test_a_table_without_classes_is_made_whole(targets: tuple[str, ...]) -> None:
    schema, frame = schema_of(*targets), frame_of(1500)
    assert schema.target is None
    assert schema.judged == tuple(name for name in COLUMNS if name in targets)
    assert Schema.from_json(schema.to_json()) == schema
    private = Private.of_frame(frame, schema)
    assert set(private.y) == {0}
    spec = Spec.table("concrete", schema, 1500)
    assert (spec.class_names, spec.num_classes) == (("all",), 1)
    assert spec.kind.describe(spec) == "records of 3 columns"
    asked = marginals.Settings(eps=3.0, steps=60)
    made, certificate = jaxdp.run(marginals, asked, spec, private, progress=False)
    assert certificate.releasable
    assert list(made.frame.columns) == list(COLUMNS)
    assert len(made.frame) == 1500
    assert made.frame["cement"].corr(made.frame["strength"]) > 0.8  # of .98


def test_a_target_of_categories_is_that_of_classes() -> None:
    schema = schema_of("kind")
    assert schema.target is not None
    assert schema.judged == ()
    assert schema.class_names == ("old", "new")
    assert [column.name for column in schema.declared] == ["cement", "strength", "kind"]
    assert schema_of("kind", target="strength").judged == ("strength",)
    with pytest.raises(SchemaError, match="no column 'weight'"):
        schema_of(target="weight")


def test_pairs_with_what_is_to_be_predicted_come_first() -> None:
    assert Domain(schema_of()).target is None
    assert Domain(schema_of("kind")).target == 2
    assert Domain(schema_of("strength")).target == 2
    assert Domain(schema_of("strength", "kind")).target is None


@pytest.mark.parametrize("method", [dp_kip, teacher])
def test_methods_that_tell_classes_apart_refuse_it(method: Any) -> None:
    spec = Spec.table("concrete", schema_of(), 500)
    with pytest.raises(SettingsError, match="jaxdp run marginals"):
        method.complete(method.Settings(eps=1.0), spec)
    with pytest.raises(SettingsError, match="jaxdp run marginals"):
        dp_ntk.complete(dp_ntk.Settings(eps=1.0, labels="teacher"), spec)


def test_a_generator_takes_all_records_as_one_class() -> None:
    spec = Spec.table("concrete", schema_of(), 500)
    assert dp_ntk.complete(dp_ntk.Settings(eps=1.0), spec).unconditional


def test_guarantee_labels_without_classes_tell_nothing() -> None:
    schema = schema_of()
    assert not np.any(Private.of_frame(frame_of(20), schema).y)
    spec = Spec.table("concrete", schema, 20)
    with pytest.raises(ValueError, match="labels outside"):
        jaxdp.data.checked(Private(np.zeros((20, 3), np.float32), np.ones(20, int)), spec)
