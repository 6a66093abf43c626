"""Poisson sampling: the right rate, independent coins, every draw used exactly once."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp import numerics
from jaxdp.privacy import sampling


def draws(seed: int, repeats: int, n: int, rate: float) -> np.ndarray:
    """Return who is drawn, (repeats, n), over independent keys."""

    @jax.jit
    @jax.vmap
    def one(key: Any) -> Any:
        sample = sampling.poisson_sample(key, num_examples=n, sampling_rate=rate)
        meant = jnp.arange(n) < sample.size
        return jnp.zeros(n, bool).at[jnp.where(meant, sample.indices, n)].set(True, mode="drop")

    return np.asarray(one(jax.random.split(jax.random.key(seed), repeats)))


def z_score(drawn: np.ndarray, rate: float) -> float:
    """Return how many standard deviations the number of draws is away from `rate`."""
    return (drawn.sum() - rate * drawn.size) / math.sqrt(rate * (1 - rate) * drawn.size)


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.9])
def test_guarantee_inclusion_probability(rate: float) -> None:
    """The right rate is accepted, rates off by a tenth (of it or its complement) are not."""
    drawn = draws(0, 2000, 500, rate)
    assert abs(z_score(drawn, rate)) < 4
    off = 0.1 * min(rate, 1 - rate)
    for wrong in (rate - off, rate + off):
        assert abs(z_score(drawn, wrong)) > 6  # a million coins: at least 14 in expectation
    assert abs(z_score(draws(0, 2000, 500, rate + off), rate)) > 6
    # The same for every example, first and last included.
    per_example = (drawn.sum(axis=0) - rate * 2000) / math.sqrt(rate * (1 - rate) * 2000)
    assert np.max(np.abs(per_example)) < 5
    chi_square = np.sum(per_example**2)
    assert abs(chi_square - 500) < 5 * math.sqrt(2 * 500)


def test_guarantee_inclusions_are_independent() -> None:
    """Batch sizes are binomial (fixed ones would have no variance), and no pair goes together."""
    n, rate = 400, 0.2
    drawn = draws(1, 4000, n, rate)
    sizes = drawn.sum(axis=1)
    variance = n * rate * (1 - rate)
    assert abs(sizes.var() / variance - 1) < 5 * math.sqrt(2 / 4000)
    centred = (drawn - rate) / math.sqrt(rate * (1 - rate))
    neighbours = np.mean(centred[:, :-1] * centred[:, 1:])
    apart = np.mean(centred[:, : n // 2] * centred[:, n // 2 :])
    steps = np.mean(centred[:-1] * centred[1:])
    for correlation, pairs in ((neighbours, n - 1), (apart, n // 2), (steps, n)):
        assert abs(correlation) < 5 / math.sqrt(pairs * 4000)
    correlations = centred.T @ centred / 4000
    off = correlations[~np.eye(n, dtype=bool)]
    assert np.max(np.abs(off)) < 6 / math.sqrt(4000)
    np.testing.assert_allclose(off.var(), 1 / 4000, rtol=0.05)


def test_draws_come_in_order_and_without_repetition() -> None:
    draw = functools.partial(sampling.poisson_sample, num_examples=50, sampling_rate=0.5)
    for seed in range(20):
        sample = jax.jit(draw)(jax.random.key(seed))
        size = int(sample.size)
        indices = np.asarray(sample.indices)
        assert indices.shape == (50,)
        assert np.all(np.diff(indices[:size]) > 0)
        assert np.all((indices >= 0) & (indices < 50))


def test_no_draw_is_dropped_however_many_there_are() -> None:
    """Five times as many as expected still fit: the arrays have room for everybody."""
    rate, n = 0.999, 300
    sizes = draws(2, 200, n, rate).sum(axis=1)
    assert sizes.max() == n
    assert abs(sizes.mean() - rate * n) < 0.2


def test_guarantee_no_draw_is_dropped_however_unlikely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every coin falls, at a mean of one in a hundred: everybody is drawn, and used."""

    def all_fall(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        return jnp.zeros(shape, dtype)

    monkeypatch.setattr(jax.random, "bits", all_fall)
    sample = sampling.poisson_sample(jax.random.key(0), num_examples=300, sampling_rate=0.01)
    assert int(sample.size) == 300
    np.testing.assert_array_equal(sample.indices, np.arange(300))
    used = sampling.sum_over_chunks(
        lambda indices, mask: jnp.sum(mask, dtype=jnp.int32),
        sample,
        chunk_size=sampling.chunk_size_for(3.0, limit=100),
        zero=jnp.zeros((), jnp.int32),
    )
    assert int(used) == 300


def test_rate_one_draws_everybody() -> None:
    for seed in (0, 1):
        sample = sampling.poisson_sample(jax.random.key(seed), num_examples=7, sampling_rate=1.0)
        assert int(sample.size) == 7
        np.testing.assert_array_equal(sample.indices, np.arange(7))


def test_a_tiny_rate_draws_hardly_anybody() -> None:
    assert draws(3, 100, 1000, 1e-12).sum() == 0
    assert draws(3, 1000, 1000, 1e-5).sum() in range(1, 40)


def test_different_keys_draw_differently_and_equal_keys_equally() -> None:
    drawn = draws(4, 50, 200, 0.5)
    assert len({row.tobytes() for row in drawn}) == 50
    np.testing.assert_array_equal(drawn, draws(4, 50, 200, 0.5))


@pytest.mark.parametrize("rate", [1e-12, 1e-9, 0.1, 1 / 3, 0.5, 500 / 60000, 1 - 1e-12, 1.0])
def test_realised_rate_is_never_above_the_nominal_one(rate: float) -> None:
    realised = sampling.realised_rate(rate)
    assert 0 <= rate - realised < 2**-32
    assert realised * 2**32 == int(realised * 2**32)


def test_the_realised_rate_is_what_the_comparison_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """With bits 0, 1, 2, ... exactly the first `rate * 2^32` of all sides count."""
    rate = 5.5 / 2**32

    def counting(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        return jnp.arange(shape[0], dtype=dtype)

    monkeypatch.setattr(jax.random, "bits", counting)
    sample = sampling.poisson_sample(jax.random.key(0), num_examples=20, sampling_rate=rate)
    assert int(sample.size) == sampling.realised_rate(rate) * 2**32 == 5


def test_sampling_is_the_same_in_64_bit_mode() -> None:
    def sample() -> sampling.PoissonSample:
        return sampling.poisson_sample(jax.random.key(0), num_examples=100, sampling_rate=0.3)

    narrow = sample()
    with numerics.float64():
        wide = sample()
    assert int(narrow.size) == int(wide.size)
    assert wide.size.dtype == jnp.int32
    np.testing.assert_array_equal(narrow.indices, wide.indices)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("num_examples", 0),
        ("sampling_rate", 0.0),
        ("sampling_rate", -0.1),
        ("sampling_rate", 1.0001),
        ("sampling_rate", math.nan),
    ],
)
def test_bad_arguments_are_refused(argument: str, value: float) -> None:
    options: dict[str, Any] = {"num_examples": 5, "sampling_rate": 0.5, argument: value}
    with pytest.raises(ValueError, match=argument):
        sampling.poisson_sample(jax.random.key(0), **options)


def sample_of(size: int, n: int = 20) -> sampling.PoissonSample:
    chosen = np.sort(np.random.default_rng(size).permutation(n)[:size])
    indices = np.zeros(n, np.int32)
    indices[:size] = chosen
    return sampling.PoissonSample(jnp.asarray(indices), jnp.asarray(size, jnp.int32))


@pytest.mark.parametrize("chunk_size", [1, 3, 4, 7, 20, 33])
def test_guarantee_every_draw_is_used_exactly_once(chunk_size: int) -> None:
    """Nobody, less than a chunk, whole chunks, chunks and a rest, all."""
    n = 20

    @jax.jit
    def count(sample: sampling.PoissonSample) -> Any:
        def chunk(indices: Any, mask: Any) -> Any:
            assert indices.shape == mask.shape == (chunk_size,)
            used = jnp.zeros(n, jnp.int32).at[indices].add(mask.astype(jnp.int32))
            return {"used": used, "calls": jnp.ones((), jnp.int32)}

        zero = {"used": jnp.zeros(n, jnp.int32), "calls": jnp.zeros((), jnp.int32)}
        return sampling.sum_over_chunks(chunk, sample, chunk_size=chunk_size, zero=zero)

    for size in range(n + 1):
        sample = sample_of(size)
        total = count(sample)
        want = np.zeros(n, int)
        want[np.asarray(sample.indices)[:size]] = 1
        np.testing.assert_array_equal(total["used"], want)
        assert int(total["calls"]) == math.ceil(size / chunk_size)  # and no work for nothing


def test_sampled_chunks_sum_to_the_sampled_sum() -> None:
    """Sampler and chunks together, with masked lanes that would be seen."""
    values = jnp.asarray(np.random.default_rng(0).integers(1, 100, size=101))

    @jax.jit
    def total(key: Any) -> tuple[Any, Any]:
        sample = sampling.poisson_sample(key, num_examples=101, sampling_rate=0.4)
        meant = jnp.arange(101) < sample.size
        direct = jnp.sum(jnp.where(meant, values[sample.indices], 0))
        chunked = sampling.sum_over_chunks(
            lambda indices, mask: jnp.sum(jnp.where(mask, values[indices], 0)),
            sample,
            chunk_size=8,
            zero=jnp.zeros((), values.dtype),
        )
        return direct, chunked

    sums = set()
    for seed in range(20):
        direct, chunked = total(jax.random.key(seed))
        assert int(direct) == int(chunked)
        sums.add(int(direct))
    assert len(sums) > 15


@pytest.mark.parametrize("expected", [0.5, 1.0, 10.0, 200.0, 500.0, 1234.5, 60000.0])
@pytest.mark.parametrize("limit", [1, 50, 128, 1000])
def test_chunk_size_for(expected: float, limit: int) -> None:
    size = sampling.chunk_size_for(expected, limit=limit)
    typical = math.ceil(expected + 2 * math.sqrt(expected))
    chunks = math.ceil(typical / size)
    assert 1 <= size <= limit
    assert chunks == math.ceil(typical / limit)  # no more chunks than the limit forces
    assert chunks * size - typical < chunks  # and hardly a lane to spare
