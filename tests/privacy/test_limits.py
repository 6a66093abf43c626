"""The least delta: what noise with ends, and what accountants round, is far below it."""

from __future__ import annotations

import math

import dp_accounting
import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

from jaxdp.privacy import accounting
from jaxdp.privacy.limits import LEAST_DELTA
from jaxdp.privacy.profiles import gaussian_deltas

ABOVE, BELOW = 8.16, 8.29
"""Where draws end, in standard deviations; lower ends are worse."""


def _always(bits: int) -> jax.Array:
    """Return a key of which all random bits are 0, or all 1."""
    made = jax.extend.random.define_prng_impl(
        key_shape=(1,),
        seed=lambda seed: jnp.zeros(1, jnp.uint32),
        split=lambda key, shape: jnp.zeros((*shape, 1), jnp.uint32),
        random_bits=lambda key, width, shape: jnp.full(shape, bits, jnp.uint64),
        fold_in=lambda key, data: key,
        name=f"always {bits}",
        tag="all",
    )
    return jax.random.wrap_key_data(jnp.zeros(1, jnp.uint32), impl=made)


@pytest.mark.parametrize(("bits", "end"), [(0, -BELOW), (2**64 - 1, ABOVE)])
def test_a_draw_ends_where_the_derivation_says(float64: None, bits: int, end: float) -> None:
    last = float(jax.random.normal(_always(bits), (), jnp.float64))
    assert 0 < (last - end) * math.copysign(1, end) < 0.01


def added(mu: float, epsilon: float) -> float:
    """Return what the ends of noise add to delta of one number that moves by `mu` or `-mu`."""
    return max(_added(move, epsilon) for move in (mu, -mu))


def _added(mu: float, epsilon: float) -> float:
    low, high = -math.sqrt(2) * BELOW, math.sqrt(2) * ABOVE
    z = np.linspace(low, high, 1_000_001)[1:-1]

    def log_ideal(x: np.ndarray) -> np.ndarray:
        return -x * x / 2 - 0.5 * math.log(2 * math.pi)

    def log_real(x: np.ndarray) -> np.ndarray:
        beyond = ndtr(math.sqrt(2) * (x - high)) + ndtr(math.sqrt(2) * (low - x))
        inside = (low < x) & (x < high)
        return np.where(inside, log_ideal(x) + np.log1p(-np.where(inside, beyond, 0)), -np.inf)

    def excess(log_density: object) -> np.ndarray:
        assert callable(log_density)
        return np.maximum(np.exp(log_density(z)) - np.exp(epsilon + log_density(z - mu)), 0)

    return float(np.sum(excess(log_real) - excess(log_ideal)) * (z[1] - z[0]))


@pytest.mark.parametrize(
    ("epsilon", "mu", "most"), [(1, 0.268, 4e-21), (10, 2.0, 5e-17), (20, 3.4, 7e-13)]
)
def test_guarantee_the_ends_of_noise_add_less_than_the_least_delta(
    epsilon: float, mu: float, most: float
) -> None:
    assert 0 < added(mu, epsilon) < most < LEAST_DELTA / 100


def test_guarantee_many_numbers_add_less_than_the_least_delta() -> None:
    density = math.exp(-ABOVE * ABOVE / 2) / math.sqrt(2 * math.pi)
    assert math.sqrt(2) * density < 2e-15
    for mu, part in ((0.268, 50), (3.4, 5)):
        assert 2e-15 * mu * math.sqrt(6e6) < LEAST_DELTA / part


@pytest.mark.parametrize(("sigma", "steps"), [(37.3, 100), (16.0, 1024)])
def test_guarantee_the_accountant_is_an_upper_bound_at_the_least_delta(
    sigma: float, steps: int
) -> None:
    """Against the exact profile; a mixture keeps the library from its own exact formula."""
    nearly_all = dp_accounting.dp_event.MixtureOfGaussiansDpEvent(sigma, [0, 1], [1e-12, 1 - 1e-12])
    event = dp_accounting.SelfComposedDpEvent(nearly_all, steps)
    mu = math.sqrt(steps) / sigma
    neighbours = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    epsilon = accounting._accountant(event, neighbours, 1e-3).get_epsilon(LEAST_DELTA)
    true = gaussian_deltas(mu, np.array([epsilon]))[0]
    assert 0.98 * LEAST_DELTA < true <= LEAST_DELTA


def test_the_exact_profile_is_right_at_the_least_delta() -> None:
    mu, epsilon = 0.268, 1.6
    first, second = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    by_hand = math.exp(first) - math.exp(second)
    assert gaussian_deltas(mu, np.array([epsilon]))[0] == pytest.approx(by_hand, rel=1e-6)
