"""The least delta: what noise with ends, and what accountants round, is far below it."""

from __future__ import annotations

import math

import dp_accounting
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

from jaxdp.privacy import accounting
from jaxdp.privacy.limits import LEAST_DELTA
from jaxdp.privacy.profiles import gaussian_deltas

END = 8.29
"""Of a draw, in standard deviations; a lower one is worse."""


def test_a_draw_ends_where_the_derivation_says(float64: None) -> None:
    least = jnp.nextafter(jnp.float64(-1.0), jnp.float64(0.0))  # of uniform numbers in (-1, 1)
    last = float(-math.sqrt(2) * jax.scipy.special.erfinv(least))
    assert END < last < END + 0.01


def added(mu: float, epsilon: float) -> float:
    """Return what the ends of noise add to delta of one number that moves by `mu`."""
    ends = math.sqrt(2) * END
    z = np.linspace(-ends, ends, 1_000_001)[1:-1]

    def log_ideal(x: np.ndarray) -> np.ndarray:
        return -x * x / 2 - 0.5 * math.log(2 * math.pi)

    def log_real(x: np.ndarray) -> np.ndarray:
        beyond = ndtr(math.sqrt(2) * (x - ends)) + ndtr(math.sqrt(2) * (-x - ends))
        inside = np.abs(x) < ends
        return np.where(inside, log_ideal(x) + np.log1p(-np.where(inside, beyond, 0)), -np.inf)

    def excess(log_density: object) -> np.ndarray:
        assert callable(log_density)
        return np.maximum(np.exp(log_density(z)) - np.exp(epsilon + log_density(z - mu)), 0)

    return float(np.sum(excess(log_real) - excess(log_ideal)) * (z[1] - z[0]))


@pytest.mark.parametrize(
    ("epsilon", "mu", "most"), [(1, 0.268, 3e-20), (10, 2.0, 4e-17), (20, 3.4, 5e-13)]
)
def test_guarantee_the_ends_of_noise_add_less_than_the_least_delta(
    epsilon: float, mu: float, most: float
) -> None:
    assert 0 < added(mu, epsilon) < most < LEAST_DELTA / 100


def test_guarantee_many_numbers_add_less_than_the_least_delta() -> None:
    density = math.exp(-END * END / 2) / math.sqrt(2 * math.pi)
    assert math.sqrt(2) * density < 7e-16
    assert 7e-16 * 0.268 * math.sqrt(6e6) < LEAST_DELTA / 100


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
