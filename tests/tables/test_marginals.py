"""Marginals as features: what one record moves, and the records that are drawn from them."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.toy_tables import frame_of, schema_of

from jaxdp.data import Private, Spec, TableCodec
from jaxdp.features import base as feature_maps
from jaxdp.features.base import FeatureMap
from jaxdp.features.marginals import marginal_features
from jaxdp.methods import dp_ntk
from jaxdp.methods.dp_ntk import cells
from jaxdp.methods.dp_ntk import release as releasing
from jaxdp.methods.dp_ntk.released import Released
from jaxdp.methods.settings import SettingsError
from jaxdp.privacy import class_sums, releases
from jaxdp.privacy.mechanism import private_key
from jaxdp.privacy.relations import REPLACE
from jaxdp.tables.schema import BINS, Schema

SCHEMA = schema_of()
NUM_COLUMNS = len(SCHEMA.columns)


def facts_of(num: int, schema: Schema = SCHEMA) -> tuple[Spec, TableCodec, FeatureMap]:
    """Return the facts about a table whose marginals are released, and the map of its records."""
    spec = Spec.table("toy", schema, num, form=BINS)
    assert isinstance(spec.codec, TableCodec)
    features = marginal_features(spec.dim, len(schema.columns))
    return spec, spec.codec, feature_maps.of_stored(features, spec.codec.to_unit)


def embedded(private: Private, stddev: float = 0.0, *, seed: int = 0) -> Released:
    """Return a noisy embedding of a table, as it is released."""
    _, _, features = facts_of(len(private.x))
    bound = releasing.sensitivities(features, len(private.x), class_weights=False, relation=REPLACE)
    (name, sensitivity), *_ = bound.items()
    release = releases.GaussianRelease(name=name, sensitivity=sensitivity, stddev=stddev)
    return releasing.release(private, private_key(seed), features, (release,), num_classes=2)


def counted(private: Private, codec: TableCodec) -> np.ndarray:
    """Return how many records of each class lie in each cell, by counting."""
    found = np.zeros((2, codec.layout.dim))
    for record, label in zip(codec.layout.cells(private.x), private.y, strict=True):
        for block, cell in zip(codec.layout.blocks, record, strict=True):
            found[label, block.start + cell] += 1
    return found


def strange_records() -> np.ndarray:
    """Return records as stored, and others that are none."""
    good = Private.of_frame(frame_of(50), SCHEMA).x
    bad = np.full((9, NUM_COLUMNS), np.nan, np.float32)
    values = (np.inf, -np.inf, 1e30, -1e30, 0.5, -1, -0.5, 1e-40)
    for record, value in zip(bad, values, strict=False):
        record[:] = value
    mixed = good[:4].copy()
    mixed[np.arange(4), np.arange(4)] = [np.nan, np.inf, 2.5, -7]
    return np.concatenate([good, bad, mixed])


def assert_norms_hold(features: FeatureMap) -> None:
    """Check the features of records, good and strange: their norms, and how far they are apart."""
    one = jax.jit(lambda record: features.weighted_sum(record[None], jnp.ones(1)))
    phi = np.array([one(jnp.asarray(record)) for record in strange_records()], np.float64)
    norms = np.linalg.norm(phi, axis=1)
    assert norms.max() <= 1
    assert norms[:50].min() > 1 - 1e-3
    apart = np.linalg.norm(phi[:, None] - phi, axis=2)
    assert apart.max() <= math.sqrt(2) <= features.diameter


def test_guarantee_no_record_has_features_of_a_norm_above_one() -> None:
    assert_norms_hold(facts_of(50)[2])


def test_the_bound_on_distances_is_attained() -> None:
    _, _, features = facts_of(2)
    pair = jnp.asarray(np.float32([[0, 0, -1, 0, 0], [1, 1, 1, 1, 1]]))
    moved = features.weighted_sum(pair, jnp.array([1.0, -1.0]))
    assert np.linalg.norm(moved) == pytest.approx(features.diameter, rel=1e-3)
    assert features.diameter == math.sqrt(2)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(0, 39), st.integers(1, 17))
def test_guarantee_replacing_a_record_moves_sums_by_the_accounted_sensitivity(
    seed: int, other_class: bool, place: int, chunk: int
) -> None:
    frame, other = frame_of(40, seed=seed), frame_of(1, seed=seed + 1)
    if not other_class:
        other["ill"] = frame["ill"][place]
    replaced = frame.copy()
    replaced.iloc[place] = other.iloc[0][frame.columns]
    _, _, features = facts_of(40)
    sums = []
    for table in (frame, replaced):
        private = Private.of_frame(table, SCHEMA)
        chunks = class_sums.labelled_chunks(
            private.rows, private.y, num_classes=2, chunk_size=chunk
        )
        sums.append(np.asarray(class_sums.class_sums(features, chunks, num_classes=2)))
    bounds = releasing.sensitivities(features, 40, class_weights=False, relation=REPLACE)
    assert set(bounds) == {releasing.EMBEDDING}
    assert np.linalg.norm(sums[0] - sums[1]) / 40 <= bounds[releasing.EMBEDDING]


def test_guarantee_the_noise_is_on_every_cell_as_accounted() -> None:
    """Also on cells in which there is no record."""
    private = Private.of_frame(frame_of(60), SCHEMA)
    _, codec, _ = facts_of(60)
    exact = np.asarray(embedded(private).mu)
    drawn = [np.asarray(embedded(private, 0.5, seed=seed).mu) for seed in range(8)]
    noise = np.concatenate(drawn) - np.tile(exact, (8, 1))
    assert noise.std() == pytest.approx(0.5, rel=0.1)
    assert noise.std(axis=0).min() > 0.2
    assert np.any(counted(private, codec) == 0)


def test_the_embedding_is_the_counts_of_every_class() -> None:
    private = Private.of_frame(frame_of(300), SCHEMA)
    _, codec, _ = facts_of(300)
    expected = counted(private, codec) / 300 / math.sqrt(NUM_COLUMNS)
    expected *= feature_maps.SUMMED_SCALE
    np.testing.assert_allclose(embedded(private).mu, expected, atol=1e-6)


def fitted(released: Released) -> tuple[cells.CellGenerator, np.ndarray]:
    """Return the generator of a released embedding of the toy table."""
    _, codec, _ = facts_of(1)
    return cells.fitted(released, codec, class_names=("no", "yes"))


def test_without_noise_shares_are_those_of_the_records() -> None:
    private = Private.of_frame(frame_of(400), SCHEMA)
    generator, weights = fitted(embedded(private))
    sizes = np.bincount(private.y)
    np.testing.assert_allclose(weights, sizes / 400, atol=1e-6)
    assert generator.class_weights == tuple(weights)
    expected = counted(private, generator.codec) / sizes[:, None]
    np.testing.assert_allclose(generator.shares, expected, atol=1e-5)


def test_records_are_drawn_in_the_shares_of_every_cell() -> None:
    private = Private.of_frame(frame_of(400), SCHEMA)
    generator, _ = fitted(embedded(private))
    labels = np.repeat([0, 1], [3000, 700])
    drawn = Private(generator(labels, seed=1), labels)
    found = counted(drawn, generator.codec)
    expected = generator.shares * np.array([[3000], [700]])
    assert np.abs(found - expected).max() <= 1 + 1e-3
    np.testing.assert_array_equal(drawn.x, generator(labels, seed=1))
    assert not np.array_equal(drawn.x, generator(labels, seed=2))
    np.testing.assert_array_equal(generator.codec.layout.nearest(drawn.x), drawn.x)


def test_columns_are_drawn_independently_given_the_class() -> None:
    private = Private.of_frame(frame_of(400), SCHEMA)
    generator, _ = fitted(embedded(private))
    drawn = generator(np.zeros(20000, int), seed=0)
    correlations = np.corrcoef(drawn.T) - np.eye(NUM_COLUMNS)
    assert np.abs(correlations).max() < 0.03


def test_a_rare_class_is_not_drawn_like_the_largest_one() -> None:
    """What other classes look like says nothing of a class, however few records it has."""
    private = Private.of_frame(frame_of(400), SCHEMA)
    rare = np.concatenate([np.flatnonzero(private.y == 0), np.flatnonzero(private.y == 1)[:4]])
    released = embedded(Private(private.x[rare], private.y[rare]))
    generator, _ = fitted(released)
    turned = np.array(released.mu)
    for block in generator.codec.layout.blocks:
        turned[0, block.places] = turned[0, block.places][::-1]
    other, _ = fitted(released._replace(mu=jnp.asarray(turned)))
    assert not np.allclose(other.shares[0], generator.shares[0], atol=0.1)
    np.testing.assert_allclose(other.shares[1], generator.shares[1], atol=1e-6)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-3, 0.1, 10.0, 1e6]))
def test_shares_are_shares_whatever_the_noise(seed: int, stddev: float) -> None:
    _, codec, _ = facts_of(1)
    rng = np.random.default_rng(seed)
    noisy = jnp.asarray(rng.normal(0, stddev, (2, codec.layout.dim)), jnp.float32)
    generator, weights = fitted(Released(noisy, jnp.array([0.5, 0.5])))
    assert weights.min() > 0
    assert weights.sum() == pytest.approx(1)
    assert generator.shares.min() >= 0
    for block in codec.layout.blocks:
        np.testing.assert_allclose(generator.shares[:, block.places].sum(axis=1), 1, rtol=1e-6)
    drawn = generator(np.array([0, 1, 1]), seed=seed)
    assert np.all(np.isfinite(drawn))


def test_columns_with_few_cells_count_more_for_the_weights() -> None:
    """Each column's sum has the noise of its cells: weights by their number have the least."""
    rng = np.random.default_rng(0)
    places = [slice(0, 2), slice(2, 102)]
    exact = np.array([[0.35] * 2 + [0.007] * 100, [0.15] * 2 + [0.003] * 100])
    found = [
        cells.class_weights(exact + rng.normal(0, 0.01, exact.shape), places)[0] for _ in range(400)
    ]
    assert np.mean(found) == pytest.approx(0.7, abs=0.005)
    assert np.std(found) < 0.015  # 0.04 with equal weights


@pytest.mark.parametrize("seed", range(20))
def test_projections_are_the_nearest_shares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(0, rng.choice([0.01, 1, 100]), rng.integers(1, 9))
    found = cells.projected(values, 1.0)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    others = rng.dirichlet(np.full(len(values), 0.5), 2000)
    others = np.concatenate([others, (others + 19 * found) / 20])
    distances = np.linalg.norm(others - values, axis=1)
    assert np.linalg.norm(found - values) <= distances.min() * (1 + 1e-12)
    # the condition of Karush, Kuhn and Tucker: all shares above 0 are lowered alike
    lowered = (values - found)[found > 0]
    assert np.ptp(lowered) <= 1e-9 * max(1, np.abs(values).max())
    assert np.all(values[found == 0] <= lowered[0] + 1e-9)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=9).filter(lambda shares: sum(shares) > 1e-3),
    st.integers(0, 300),
    st.integers(0, 100),
)
def test_cells_are_drawn_in_their_shares_up_to_one(
    shares: list[float], count: int, seed: int
) -> None:
    parts = np.array(shares) / sum(shares)
    found = cells.evenly_drawn(parts, count, np.random.default_rng(seed))
    counts = np.bincount(found, minlength=len(parts))
    assert counts.sum() == count
    assert np.abs(counts - parts * count).max() < 1 + 1e-9
    assert np.all(counts[parts == 0] == 0)


def test_data_without_columns_have_no_marginals() -> None:
    spec: Any = Spec.rows("plain", (10, 3), class_names=["a", "b"])
    asked = dp_ntk.complete(dp_ntk.Settings(eps=1.0, features="marginals"), spec)
    with pytest.raises(SettingsError, match="nobody has declared the columns"):
        dp_ntk.make_plan(asked, spec)
