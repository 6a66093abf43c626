"""Poisson sampling: the right rate, independent coins, every draw used."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxdp import sampling

RATE = 0.1


def draws(num_steps: int, n: int, rate: float) -> np.ndarray:
    """Return the inclusion matrix (steps, n) of independent steps."""

    @jax.jit
    @jax.vmap
    def included(key: jax.Array) -> jax.Array:
        sample = sampling.poisson_sample(key, num_examples=n, sampling_rate=rate)
        meant = jnp.arange(n) < sample.size
        return jnp.zeros(n, bool).at[sample.indices].max(meant)

    return np.asarray(included(jax.random.split(jax.random.key(0), num_steps)))


def p_value(included: np.ndarray, rate: float) -> float:
    return stats.binomtest(int(included.sum()), included.size, rate).pvalue


def test_guarantee_rate_is_right_and_wrong_rates_would_be_seen() -> None:
    included = draws(400, 500, RATE)
    assert p_value(included, RATE) > 1e-3
    assert p_value(included, 1.05 * RATE) < 1e-6
    assert p_value(included, 0.95 * RATE) < 1e-6


def test_guarantee_coins_are_independent_over_examples_and_steps() -> None:
    included = draws(400, 500, RATE)
    # Batches of fixed size, or shuffled epochs, have a smaller spread than independent coins.
    for axis in (0, 1):
        counts = included.sum(axis=axis)
        spread = np.var(counts) / (included.shape[axis] * RATE * (1 - RATE))
        assert 0.8 < spread < 1.25
    lagged = np.corrcoef(included[:-1].ravel(), included[1:].ravel())[0, 1]
    assert abs(lagged) < 0.01


def test_rate_one_draws_everyone() -> None:
    sample = sampling.poisson_sample(jax.random.key(0), num_examples=7, sampling_rate=1.0)
    assert int(sample.size) == 7
    np.testing.assert_array_equal(sample.indices, np.arange(7))


def test_keys_matter() -> None:
    samples = [
        sampling.poisson_sample(jax.random.key(i), num_examples=200, sampling_rate=0.5).indices
        for i in (0, 0, 1)
    ]
    np.testing.assert_array_equal(samples[0], samples[1])
    assert np.any(np.asarray(samples[0]) != np.asarray(samples[2]))


@pytest.mark.parametrize("size", [0, 1, 4, 5, 6, 23, 25])
def test_guarantee_every_draw_is_used_exactly_once(size: int) -> None:
    n, chunk_size = 25, 5
    indices = jnp.asarray(np.random.default_rng(size).permutation(n), jnp.int32)
    sample = sampling.PoissonSample(indices, jnp.asarray(size, jnp.int32))

    def count(chunk: jax.Array, mask: jax.Array) -> jax.Array:
        assert chunk.shape == mask.shape == (chunk_size,)
        return jnp.zeros(n, jnp.int32).at[chunk].add(mask.astype(jnp.int32))

    used = jax.jit(
        lambda sample: sampling.sum_over_chunks(
            count, sample, chunk_size=chunk_size, zero=jnp.zeros(n, jnp.int32)
        )
    )(sample)
    expected = np.zeros(n, int)
    expected[np.asarray(indices[:size])] = 1
    np.testing.assert_array_equal(used, expected)


def test_a_chunk_may_be_larger_than_the_data() -> None:
    sample = sampling.PoissonSample(jnp.arange(3, dtype=jnp.int32), jnp.asarray(2, jnp.int32))
    total = sampling.sum_over_chunks(
        lambda chunk, mask: jnp.sum(jnp.where(mask, chunk + 1, 0)),
        sample,
        chunk_size=8,
        zero=jnp.zeros((), jnp.int32),
    )
    assert int(total) == 3


@pytest.mark.parametrize("rate", [1e-9, 1 / 3, 500 / 60000, 0.999999, 1.0])
def test_realised_rate_never_exceeds_the_nominal_one(rate: float) -> None:
    realised = sampling.realised_rate(rate)
    assert realised <= rate
    assert rate - realised < 2**-32


def test_chunks_hold_a_typical_batch() -> None:
    for batch, limit in ((500.0, 256), (500.0, 4096), (1.0, 256), (5e3, 256)):
        size = sampling.chunk_size_for(batch, limit=limit)
        assert 1 <= size <= limit
        chunks = -(-(batch + 2 * batch**0.5) // size)
        assert chunks * size < 1.1 * (batch + 2 * batch**0.5) + chunks


@pytest.mark.parametrize(("n", "rate"), [(0, 0.5), (5, 0.0), (5, 1.5), (5, float("nan"))])
def test_bad_arguments(n: int, rate: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        sampling.poisson_sample(jax.random.key(0), num_examples=n, sampling_rate=rate)
