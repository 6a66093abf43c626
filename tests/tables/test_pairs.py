"""Pairs of columns as features: what one record moves, and what is counted."""

from __future__ import annotations

import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest
from support.toy_tables import frame_of, one_column, schema_of
from test_marginals import assert_norms_hold

from jaxdp.data import Private, Spec, TableCodec
from jaxdp.features import base as feature_maps
from jaxdp.features.base import FeatureMap
from jaxdp.features.marginals import pair_features
from jaxdp.methods import dp_ntk
from jaxdp.methods.settings import SettingsError
from jaxdp.tables.layout import Layout
from jaxdp.tables.pairs import Pairs
from jaxdp.tables.schema import BINS

SCHEMA = schema_of()
PAIRS = Pairs(Layout(SCHEMA, BINS))


def stored_features() -> FeatureMap:
    """Return the map of records as stored."""
    return feature_maps.of_stored(pair_features(PAIRS), TableCodec(PAIRS.layout).to_unit)


def counted(x: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
    """Return how many records lie in each merged cell of each pair, by counting."""
    cells = PAIRS.layout.cells(x)
    found = {}
    for i, j in itertools.combinations(range(cells.shape[1]), 2):
        found[i, j] = np.zeros((PAIRS.widths[i], PAIRS.widths[j]))
        for record in cells:
            found[i, j][PAIRS.merged[i][record[i]], PAIRS.merged[j][record[j]]] += 1
    return found


def test_guarantee_no_record_has_features_of_a_norm_above_one() -> None:
    assert_norms_hold(stored_features())


def test_the_bound_on_distances_is_attained() -> None:
    pair = jnp.asarray(np.float32([[0, 0, -1, 0, 0], [1, 1, 1, 1, 1]]))
    moved = stored_features().weighted_sum(pair, jnp.array([1.0, -1.0]))
    assert np.linalg.norm(moved) == pytest.approx(math.sqrt(2), rel=1e-3)


def test_features_are_the_counts_of_pairs() -> None:
    x = Private.of_frame(frame_of(200), SCHEMA).x
    summed = stored_features().weighted_sum(jnp.asarray(x), jnp.ones(200))
    root = math.sqrt(len(PAIRS.all)) / feature_maps.SUMMED_SCALE
    tables = PAIRS.tables(np.asarray(summed)[None] * root)
    expected = counted(x)
    assert list(tables) == list(expected)
    for pair, table in tables.items():
        np.testing.assert_allclose(table[0], expected[pair], atol=1e-3)


def test_only_neighbouring_bins_of_numbers_are_merged() -> None:
    for block, merged in zip(PAIRS.layout.blocks, PAIRS.merged, strict=True):
        assert len(merged) == block.width
        steps = np.diff(merged)
        assert set(steps) <= {0, 1}
        if not block.column.is_numeric:
            assert np.all(steps == 1)
        elif block.column.nullable:
            assert steps[-1] == 1  # a missing number stays by itself
    assert PAIRS.widths == (6, 4, 7, 4, 3)
    assert PAIRS.dim == sum(a * b for a, b in itertools.combinations(PAIRS.widths, 2))


def test_a_table_of_one_column_has_no_pairs() -> None:
    spec = Spec.table("toy", one_column({"type": "numeric", "lower": 0, "upper": 1}), 10**6)
    done = dp_ntk.complete(dp_ntk.Settings(eps=1.0), spec)
    assert done.features == "marginals"
    asked = dp_ntk.complete(dp_ntk.Settings(eps=1.0, features="pairs"), spec)
    with pytest.raises(SettingsError, match="two columns"):
        dp_ntk.make_plan(asked, spec)


def test_pairs_of_too_many_cells_are_refused_in_one_line() -> None:
    many = {str(k): {"type": "numeric", "lower": 0, "upper": 1} for k in range(200)}
    spec = Spec.table("wide", schema_of(**many), 10**9)
    assert dp_ntk.complete(dp_ntk.Settings(eps=1.0), spec).features == "marginals"
    asked = dp_ntk.complete(dp_ntk.Settings(eps=1.0, features="pairs"), spec)
    with pytest.raises(SettingsError, match="use marginals"):
        dp_ntk.make_plan(asked, spec)


@pytest.mark.parametrize(
    ("num", "eps", "features"),
    [
        (3000, 1.0, "marginals"),
        (4000, 1.0, "pairs"),
        (4000, 0.1, "marginals"),
        (300, 20.0, "pairs"),
    ],
)
def test_pairs_are_counted_where_noise_leaves_them_legible(
    num: int, eps: float, features: str
) -> None:
    """The rule is public: five columns, so ten pairs."""
    spec = Spec.table("toy", SCHEMA, num)
    assert dp_ntk.complete(dp_ntk.Settings(eps=eps), spec).features == features


def test_a_share_of_pairs_belongs_to_pairs() -> None:
    spec = Spec.table("toy", SCHEMA, 100)
    asked = dp_ntk.Settings(eps=1.0, features="marginals", product_share=0.5)
    with pytest.raises(SettingsError, match="hermite or pairs"):
        dp_ntk.make_plan(dp_ntk.complete(asked, spec), spec)
    nothing = dp_ntk.Settings(eps=1.0, features="pairs", product_share=0.0)
    with pytest.raises(SettingsError, match="product_share above 0"):
        dp_ntk.make_plan(dp_ntk.complete(nothing, spec), spec)
