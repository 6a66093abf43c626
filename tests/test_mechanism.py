"""The Gaussian mechanism: noise of the right size, independent, and from the right source."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp import mechanism, precision
from jaxdp.mechanism import SubsampledGaussian, add_gaussian_noise, private_key

DRAWS = 40_000


def noise(stddev: float, *, seed: int = 0, dtype: Any = jnp.float32) -> np.ndarray:
    """Return what is added to a value far from zero."""
    value = jnp.full(DRAWS, 3.0, dtype)
    noisy = add_gaussian_noise(jax.random.key(seed), value, stddev=stddev)
    assert noisy.dtype == dtype
    return np.asarray(noisy, np.float64) - 3.0


def accepts(drawn: np.ndarray, stddev: float) -> bool:
    """Test `N(0, stddev^2)`, two-sided chi-square and mean, at 4 standard deviations each.

    With 40000 draws the chi-square statistic has relative standard deviation 0.7 %, so a scale
    that is off by 5 % is off by 13 of them.
    """
    chi_square = float(np.sum((drawn / stddev) ** 2))
    size = (chi_square - drawn.size) / math.sqrt(2 * drawn.size)
    mean = float(np.mean(drawn)) * math.sqrt(drawn.size) / stddev
    return abs(size) < 4 and abs(mean) < 4


@pytest.mark.parametrize("stddev", [1e-6, 0.7, 300.0])
def test_guarantee_noise_has_the_stated_scale(stddev: float) -> None:
    """The right scale is accepted for every seed, wrong ones for none."""
    start = 3.0 if stddev > 1e-3 else 0.0
    value = jnp.full(DRAWS, start, jnp.float32)
    for seed in range(5):
        noisy = add_gaussian_noise(jax.random.key(seed), value, stddev=stddev)
        drawn = np.asarray(noisy, np.float64) - start
        assert accepts(drawn, stddev)
        for wrong in (0.95, 1.05, 0.5, 2.0):
            assert not accepts(drawn, wrong * stddev)
            assert not accepts(wrong * drawn, stddev)
        assert not accepts(np.zeros(DRAWS), stddev)


def test_noise_is_normal() -> None:
    """Kolmogorov-Smirnov against the normal distribution; uniform and Laplace noise fail it."""

    def distance(drawn: np.ndarray) -> float:
        ordered = np.sort(drawn)
        below = np.array([0.5 * math.erfc(-z / math.sqrt(2)) for z in ordered])
        steps = np.arange(1, drawn.size + 1) / drawn.size
        return float(np.max(np.abs(below - steps))) * math.sqrt(drawn.size)

    rng = np.random.default_rng(0)
    assert distance(noise(1.0)) < 2.0  # probability 7e-4
    assert distance(rng.uniform(-math.sqrt(3), math.sqrt(3), DRAWS)) > 2.0
    assert distance(rng.laplace(scale=math.sqrt(0.5), size=DRAWS)) > 2.0


def test_every_leaf_and_every_key_has_its_own_noise() -> None:
    tree = {"a": jnp.zeros(DRAWS), "b": jnp.zeros(DRAWS), "c": {"d": jnp.zeros((200, 200))}}
    leaves = [
        np.asarray(leaf).ravel()
        for seed in (0, 1)
        for leaf in jax.tree.leaves(add_gaussian_noise(jax.random.key(seed), tree, stddev=1.0))
    ]
    assert len(leaves) == 6
    for i, one in enumerate(leaves):
        assert accepts(one, 1.0)
        assert len(np.unique(one)) > 0.99 * one.size
        assert abs(np.mean(one[1:] * one[:-1])) < 5 / math.sqrt(DRAWS)
        for other in leaves[:i]:
            assert abs(np.mean(one * other)) < 5 / math.sqrt(DRAWS)


def test_equal_keys_give_equal_noise() -> None:
    np.testing.assert_array_equal(noise(1.0, seed=3), noise(1.0, seed=3))


def test_the_structure_of_the_tree_is_kept() -> None:
    tree = ({"x": jnp.ones((2, 3))}, [jnp.ones(())])
    noisy = add_gaussian_noise(jax.random.key(0), tree, stddev=1.0)
    assert jax.tree.structure(noisy) == jax.tree.structure(tree)
    assert [leaf.shape for leaf in jax.tree.leaves(noisy)] == [(2, 3), ()]


def test_zero_noise_returns_the_tree_unchanged() -> None:
    tree = {"x": jnp.asarray([1.5, -2.0])}
    same = add_gaussian_noise(jax.random.key(0), tree, stddev=0.0)
    np.testing.assert_array_equal(same["x"], tree["x"])


@pytest.mark.usefixtures("float64")
def test_float64_noise_is_drawn_in_float64() -> None:
    """Float32 noise cannot exceed 5.5 and has few digits; float64 noise must have both."""
    narrow = np.asarray(
        add_gaussian_noise(jax.random.key(0), jnp.zeros(10**6, jnp.float32), stddev=1.0)
    )
    drawn = np.asarray(
        add_gaussian_noise(jax.random.key(0), jnp.zeros(10**6, jnp.float64), stddev=1.0)
    )
    assert drawn.dtype == np.float64
    assert np.mean(drawn == drawn.astype(np.float32)) < 1e-3
    assert len(np.unique(drawn)) == drawn.size
    assert len(np.unique(narrow)) < 0.99 * narrow.size
    # The largest value that the bits can give, by the inverse of the distribution function.
    largest = {
        dtype: float(jnp.sqrt(2.0) * jax.lax.erf_inv(np.nextafter(dtype(1), dtype(0))))
        for dtype in (np.float32, np.float64)
    }
    assert largest[np.float32] < 5.5
    assert largest[np.float64] > 8
    assert np.abs(narrow).max() <= largest[np.float32] + 1e-6


def test_jit_adds_the_same_noise() -> None:
    value = jnp.zeros(100)
    plain = add_gaussian_noise(jax.random.key(0), value, stddev=2.0)
    compiled = jax.jit(lambda key: add_gaussian_noise(key, value, stddev=2.0))(jax.random.key(0))
    np.testing.assert_allclose(compiled, plain, rtol=1e-5)


@pytest.mark.parametrize("stddev", [-1.0, math.inf, math.nan])
def test_bad_scales_are_refused(stddev: float) -> None:
    with pytest.raises(ValueError, match="stddev"):
        add_gaussian_noise(jax.random.key(0), jnp.zeros(3), stddev=stddev)


def test_guarantee_a_private_key_comes_from_the_operating_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def urandom(size: int) -> bytes:
        asked.append(size)
        return bytes(range(len(asked), len(asked) + size))

    monkeypatch.setattr(mechanism.os, "urandom", urandom)
    first, second = private_key(), private_key()
    assert asked == [8, 8]  # 64 bits, which is all that a threefry key holds
    for key, start in ((first, 1), (second, 2)):
        words = np.frombuffer(bytes(range(start, start + 8)), np.uint32)
        np.testing.assert_array_equal(jax.random.key_data(key), words)
        assert jax.random.key_impl(key) == jax.random.key_impl(
            jax.random.key(0, impl="threefry2x32")
        )


def test_guarantee_private_keys_differ_whatever_else_is_equal() -> None:
    np.random.seed(0)
    keys = set()
    for _ in range(50):
        keys.add(np.asarray(jax.random.key_data(private_key())).tobytes())
    assert len(keys) == 50
    bits = np.unpackbits(np.frombuffer(b"".join(keys), np.uint8)).reshape(50, 64)
    assert np.all(bits.any(axis=0))  # every bit of the key is used, and takes both values
    assert not np.any(bits.all(axis=0))


def test_a_seeded_key_is_reproducible_and_does_not_ask_the_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def urandom(size: int) -> bytes:
        raise AssertionError("a seeded key must not depend on the system")

    monkeypatch.setattr(os, "urandom", urandom)
    data = [np.asarray(jax.random.key_data(private_key(seed))) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(data[0], data[1])
    assert not np.array_equal(data[0], data[2])


def test_private_keys_drive_noise_in_64_bit_mode_too() -> None:
    plain = jax.random.key_data(private_key(5))
    with precision.float64():
        np.testing.assert_array_equal(jax.random.key_data(private_key(5)), plain)
        noisy = add_gaussian_noise(private_key(), jnp.zeros(5, jnp.float64), stddev=1.0)
    assert np.all(np.asarray(noisy) != 0)


def run(**changes: Any) -> SubsampledGaussian:
    defaults: dict[str, Any] = {
        "num_examples": 1000,
        "sampling_rate": 0.05,
        "num_steps": 200,
        "clip_norm": 0.2,
        "noise_multiplier": 1.5,
    }
    return SubsampledGaussian(**{**defaults, **changes})


def test_numbers_of_a_run() -> None:
    private = run()
    assert private.is_private
    assert private.stddev == pytest.approx(1.5 * 0.2)
    assert private.expected_batch_size == pytest.approx(50.0)
    open_run = run(noise_multiplier=0.0, clip_norm=math.inf)
    assert not open_run.is_private
    assert open_run.stddev == 0.0
    assert not run(noise_multiplier=0.0).is_private
    assert run(noise_multiplier=0.0).stddev == 0.0


def test_a_run_cannot_be_changed_and_takes_no_positional_numbers() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        run().noise_multiplier = 0.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        SubsampledGaussian(1000, 0.05, 200, 0.2, 1.5)  # type: ignore[misc]
    assert run() == run()
    assert hash(run()) == hash(run())


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"num_examples": 0}, "num_examples"),
        ({"num_examples": -5}, "num_examples"),
        ({"sampling_rate": 0.0}, "sampling_rate"),
        ({"sampling_rate": 1.1}, "sampling_rate"),
        ({"sampling_rate": math.nan}, "sampling_rate"),
        ({"num_steps": 0}, "num_steps"),
        ({"clip_norm": 0.0}, "clip_norm"),
        ({"clip_norm": -1.0}, "clip_norm"),
        ({"clip_norm": math.nan}, "clip_norm"),
        ({"noise_multiplier": -0.1}, "noise_multiplier"),
        ({"noise_multiplier": math.inf}, "noise_multiplier"),
        ({"noise_multiplier": math.nan}, "noise_multiplier"),
        ({"clip_norm": math.inf}, "finite clip_norm"),
    ],
)
def test_impossible_runs_are_refused(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        run(**changes)
