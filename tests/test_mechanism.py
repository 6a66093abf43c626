"""The Gaussian mechanism: scale, independence, and where its key comes from."""

import math
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxdp import mechanism

N = 40000  # the 5 % checks below have power above 0.999 at this size


def p_value(noise: np.ndarray, stddev: float) -> float:
    statistic = np.sum((noise / stddev) ** 2)
    lower = stats.chi2.cdf(statistic, noise.size)
    return 2 * min(lower, 1 - lower)


def noise(seed: int, stddev: float) -> np.ndarray:
    tree = {"a": jnp.zeros(N), "b": jnp.zeros((N // 2, 2))}
    noisy = mechanism.add_gaussian_noise(jax.random.key(seed), tree, stddev=stddev)
    return np.stack([np.asarray(leaf, np.float64).ravel() for leaf in noisy.values()])


def test_guarantee_right_scale_is_accepted_and_wrong_scales_are_rejected() -> None:
    drawn = noise(0, 2.5).ravel()
    assert p_value(drawn, 2.5) > 1e-3
    for wrong in (2.5 * 1.05, 2.5 / 1.05, 2.5**2, 1.0):
        assert p_value(drawn, wrong) < 1e-6
    assert stats.kstest(drawn / 2.5, "norm").pvalue > 1e-3


def test_leaves_and_keys_get_independent_noise() -> None:
    rows = np.concatenate([noise(0, 1.0), noise(1, 1.0)])
    correlation = np.corrcoef(rows) - np.eye(4)
    assert np.abs(correlation).max() < 5 / math.sqrt(N)


def test_noise_is_added_to_the_value() -> None:
    key = jax.random.key(3)
    zero, value = jnp.zeros(5), jnp.arange(5.0)
    difference = mechanism.add_gaussian_noise(
        key, value, stddev=0.5
    ) - mechanism.add_gaussian_noise(key, zero, stddev=0.5)
    np.testing.assert_allclose(difference, value, atol=1e-6)


def test_zero_noise_changes_nothing_and_negative_is_an_error() -> None:
    tree = {"a": jnp.arange(3.0)}
    same = mechanism.add_gaussian_noise(jax.random.key(0), tree, stddev=0.0)
    np.testing.assert_array_equal(same["a"], tree["a"])
    for stddev in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="stddev must be"):
            mechanism.add_gaussian_noise(jax.random.key(0), tree, stddev=stddev)


@pytest.mark.usefixtures("float64")
def test_float64_leaves_get_float64_noise() -> None:
    value = mechanism.add_gaussian_noise(
        jax.random.key(0), jnp.zeros(1000, jnp.float64), stddev=1.0
    )
    assert value.dtype == jnp.float64
    assert np.mean(np.asarray(value, np.float32) == np.asarray(value)) < 0.01


def test_guarantee_keys_come_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (jax.random.key_data(mechanism.private_key()) for _ in range(2))
    assert np.any(np.asarray(first) != np.asarray(second))
    asked = []

    def urandom(size: int) -> bytes:
        asked.append(size)
        return bytes(range(size))

    monkeypatch.setattr(os, "urandom", urandom)
    data = np.asarray(jax.random.key_data(mechanism.private_key()))
    np.testing.assert_array_equal(data, np.frombuffer(bytes(range(8)), np.uint32))
    assert asked == [8]


def test_a_noise_seed_makes_the_key_reproducible() -> None:
    keys = [jax.random.key_data(mechanism.private_key(seed)) for seed in (5, 5, 6)]
    np.testing.assert_array_equal(keys[0], keys[1])
    assert np.any(np.asarray(keys[0]) != np.asarray(keys[2]))


GOOD = {
    "num_examples": 100,
    "sampling_rate": 0.1,
    "num_steps": 3,
    "clip_norm": 0.5,
    "noise_multiplier": 2.0,
}


def test_subsampled_gaussian_derives_what_the_run_needs() -> None:
    m = mechanism.SubsampledGaussian(**GOOD)
    assert m.is_private
    assert m.stddev == 1.0
    assert m.expected_batch_size == 10
    without = mechanism.SubsampledGaussian(
        **(GOOD | {"clip_norm": math.inf, "noise_multiplier": 0.0})
    )
    assert not without.is_private
    assert without.stddev == 0.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_examples", 0),
        ("sampling_rate", 0.0),
        ("sampling_rate", 1.1),
        ("num_steps", 0),
        ("clip_norm", 0.0),
        ("clip_norm", math.nan),
        ("clip_norm", math.inf),
        ("noise_multiplier", -1.0),
        ("noise_multiplier", math.nan),
    ],
)
def test_subsampled_gaussian_checks_its_numbers(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        mechanism.SubsampledGaussian(**(GOOD | {name: value}))
