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

from jaxdp.privacy import mechanism
from jaxdp.privacy.mechanism import SubsampledGaussian, add_gaussian_noise, private_key

DRAWS = 40_000


# Noise is float64, and needs jax to keep it.
pytestmark = pytest.mark.usefixtures("float64")


def noise(stddev: float, *, seed: int = 0) -> np.ndarray:
    """Return what is added to a value far from zero."""
    noisy = add_gaussian_noise(private_key(seed), jnp.full(DRAWS, 3.0), stddev=stddev)
    assert noisy.dtype == np.float64
    return np.asarray(noisy) - 3.0


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
    for seed in range(5):
        drawn = noise(stddev, seed=seed)
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
        for leaf in jax.tree.leaves(add_gaussian_noise(private_key(seed), tree, stddev=1.0))
    ]
    assert len(leaves) == 6
    for i, one in enumerate(leaves):
        assert accepts(one, 1.0)
        pairs = one.reshape(-1, 2)  # rounded noise meets a place more than once
        assert len(np.unique(pairs, axis=0)) > 0.99 * len(pairs)
        assert abs(np.mean(one[1:] * one[:-1])) < 5 / math.sqrt(DRAWS)
        for other in leaves[:i]:
            assert abs(np.mean(one * other)) < 5 / math.sqrt(DRAWS)


def test_equal_keys_give_equal_noise() -> None:
    np.testing.assert_array_equal(noise(1.0, seed=3), noise(1.0, seed=3))


def test_the_structure_of_the_tree_is_kept() -> None:
    tree = ({"x": jnp.ones((2, 3))}, [jnp.ones(())])
    noisy = add_gaussian_noise(private_key(0), tree, stddev=1.0)
    assert jax.tree.structure(noisy) == jax.tree.structure(tree)
    assert [leaf.shape for leaf in jax.tree.leaves(noisy)] == [(2, 3), ()]


def test_zero_noise_returns_the_tree_unchanged() -> None:
    tree = {"x": jnp.asarray([1.5, -2.0])}
    same = add_gaussian_noise(private_key(0), tree, stddev=0.0)
    np.testing.assert_array_equal(same["x"], tree["x"])


def test_guarantee_noise_is_float64_whatever_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it is rounded to a grid its last bits are used."""
    monkeypatch.setattr(mechanism, "_rounded", lambda noisy, stddev: noisy)
    drawn = noise(1.0)
    assert np.mean(drawn == drawn.astype(np.float32)) < 1e-3
    assert len(np.unique(drawn)) == drawn.size
    for value in (jnp.zeros(3, jnp.float32), jnp.zeros(3, jnp.bfloat16)):
        with pytest.raises(TypeError, match="float64"):
            add_gaussian_noise(private_key(0), value, stddev=1.0)


def test_guarantee_a_sample_is_the_sum_of_two_draws() -> None:
    """Neither draw alone, however scaled, is the noise: subtracting either leaves the other."""
    key = jax.random.fold_in(private_key(0), 0)
    draws = np.asarray(jax.random.normal(key, (2, DRAWS), jnp.float64))
    np.testing.assert_allclose(noise(1.0), draws.sum(axis=0) / math.sqrt(2), atol=2**-11 + 1e-12)
    for draw in draws:
        assert accepts(noise(1.0) - draw / math.sqrt(2), math.sqrt(0.5))


@pytest.mark.parametrize("key", [jax.random.key(0), jax.random.key(0, impl="rbg")])
def test_guarantee_a_key_that_can_be_guessed_is_refused(key: jax.Array) -> None:
    with pytest.raises(TypeError, match="private_key"):
        add_gaussian_noise(key, jnp.zeros(3), stddev=1.0)
    for derived in (jax.random.split(private_key(1))[0], jax.random.fold_in(private_key(1), 7)):
        mechanism.require_private(derived)


@pytest.mark.parametrize("stddev", [1e-31, 4e-45, 1e-300])
def test_guarantee_noise_too_small_to_be_noise_is_refused(stddev: float) -> None:
    """The product of a clip norm of 3e-38 and a multiplier is flushed to zero in float32."""
    with pytest.raises(ValueError, match="at least 1e-30"):
        add_gaussian_noise(private_key(0), jnp.zeros(3), stddev=stddev)
    with pytest.raises(ValueError, match="at least 1e-30"):
        run(clip_norm=stddev, noise_multiplier=1.0)


def test_jit_adds_the_same_noise() -> None:
    value = jnp.zeros(100)
    plain = add_gaussian_noise(private_key(0), value, stddev=2.0)
    compiled = jax.jit(lambda key: add_gaussian_noise(key, value, stddev=2.0))(private_key(0))
    np.testing.assert_allclose(compiled, plain, rtol=1e-5)


@pytest.mark.parametrize("stddev", [-1.0, math.inf, math.nan])
def test_bad_scales_are_refused(stddev: float) -> None:
    with pytest.raises(ValueError, match="stddev"):
        add_gaussian_noise(private_key(0), jnp.zeros(3), stddev=stddev)


def test_guarantee_a_private_key_comes_from_the_operating_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def urandom(size: int) -> bytes:
        asked.append(size)
        return bytes(range(len(asked), len(asked) + size))

    monkeypatch.setattr(mechanism.os, "urandom", urandom)
    first, second = private_key(), private_key()
    assert asked == [32, 32]  # 256 bits
    for key, start in ((first, 1), (second, 2)):
        words = np.frombuffer(bytes(range(start, start + 32)), np.uint32)
        np.testing.assert_array_equal(jax.random.key_data(key), words)
        mechanism.require_private(key)


def test_guarantee_no_compiled_program_keeps_a_private_key() -> None:
    """It would be drawn once, where the program is traced, and used again by every call."""

    def word(x: jax.Array) -> jax.Array:
        return x + jax.random.bits(private_key())

    traced = (
        jax.jit(word),
        lambda x: jax.vmap(word)(x[None]),
        lambda x: jax.lax.map(word, x[None]),
    )
    for call in traced:
        with pytest.raises(RuntimeError, match="call it outside"):
            call(jnp.zeros((), jnp.uint32))
    assert word(jnp.zeros((), jnp.uint32)) != word(jnp.zeros((), jnp.uint32))
    handed_over = jax.jit(lambda key: jax.random.bits(key))
    assert handed_over(private_key()) != handed_over(private_key())


def test_guarantee_private_keys_differ_whatever_else_is_equal() -> None:
    np.random.seed(0)
    keys = set()
    for _ in range(50):
        keys.add(np.asarray(jax.random.key_data(private_key())).tobytes())
    assert len(keys) == 50
    bits = np.unpackbits(np.frombuffer(b"".join(keys), np.uint8)).reshape(50, 256)
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


def test_seeds_of_any_size_give_keys_of_their_own() -> None:
    seeds = (0, 1, 2**31, 2**32, 2**63 - 1, 2**256 - 1)
    data = [np.asarray(jax.random.key_data(private_key(seed))) for seed in seeds]
    assert len({words.tobytes() for words in data}) == len(seeds)
    for bad in (-1, 2**256):
        with pytest.raises(ValueError, match="noise_seed"):
            private_key(bad)


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
