"""What noisy counts tell, against closed forms and tables that are known."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from support.toy_tables import schema_of

from jaxdp.methods.marginals import estimates
from jaxdp.methods.marginals.estimates import Counts
from jaxdp.privacy import cell_counts
from jaxdp.tables.domain import Domain

NUMBER = {"type": "numeric", "lower": 0, "upper": 1, "bins": 8}
_LEFT_OUT = dict.fromkeys(("age", "income", "debt", "smoker", "stage", "name"))
DOMAIN = Domain(schema_of(a=NUMBER, b=NUMBER, c=NUMBER, **_LEFT_OUT))


def noisy_counts(cells: np.ndarray, noise: float, seed: int = 0) -> Counts:
    """Return counts with noise of a size, in shares of the records."""
    rng, widths, features = np.random.default_rng(seed), DOMAIN.widths, DOMAIN.features
    columns = [
        np.bincount(cells[:, column], minlength=width) / len(cells)
        for column, width in enumerate(widths)
    ]
    found = []
    for j, k in DOMAIN.pairs:
        exact = cell_counts.pair_counts(cells[:, j], cells[:, k], widths[j], widths[k])
        found.append(features[j].T @ exact @ features[k] / len(cells))
    loud = [each + noise * rng.normal(size=each.shape) for each in found]
    single = np.concatenate(columns)
    return estimates.counts_of(
        DOMAIN,
        len(cells),
        single + noise * rng.normal(size=single.shape),
        noise,
        [(DOMAIN.pairs, loud, noise)],
    )


def cells_of(num: int, seed: int = 0) -> np.ndarray:
    """Return records whose last number is nearly their first one's, and nothing else depends."""
    rng = np.random.default_rng(seed)
    cells = np.column_stack([rng.integers(0, width, num) for width in DOMAIN.widths])
    names = [column.name for column in DOMAIN.columns]
    a, c = names.index("a"), names.index("c")
    cells[:, c] = np.clip(cells[:, a] + rng.integers(-1, 2, num), 0, 7)
    return cells


def test_two_values_are_put_together_by_their_noise() -> None:
    mean, noise = estimates.together(np.array([1.0]), 1.0, np.array([4.0]), 2.0)
    assert mean[0] == pytest.approx(1.6)  # (1 * 1 + 4 / 4) / (1 + 1 / 4)
    assert noise == pytest.approx(math.sqrt(0.8))


def test_shares_are_those_of_the_records_where_noise_is_small() -> None:
    cells = cells_of(4000)
    counts = noisy_counts(cells, 1e-5)
    for column, (width, shares) in enumerate(zip(DOMAIN.widths, counts.shares, strict=True)):
        exact = np.bincount(cells[:, column], minlength=width) / len(cells)
        np.testing.assert_allclose(shares, exact, atol=2e-3)
        assert shares.sum() == pytest.approx(1)
        assert shares.min() > 0


def test_shares_are_nearer_than_counts_of_columns_alone() -> None:
    """Pairs tell them, too; and numbers have equal cells where nothing says otherwise."""
    cells, off, alone = cells_of(2000), 0.0, 0.0
    for seed in range(5):
        counts = noisy_counts(cells, 0.03, seed)
        for column, place in enumerate(DOMAIN.places):
            exact = np.bincount(cells[:, column], minlength=DOMAIN.widths[column]) / len(cells)
            off += np.sum((counts.shares[column] - exact) ** 2)
            alone += np.sum((counts.columns[place] - exact) ** 2)
    assert off < 0.5 * alone


def test_turned_features_are_uncorrelated_under_the_shares() -> None:
    counts = noisy_counts(cells_of(500), 0.01)
    for column, shares in enumerate(counts.shares):
        basis = counts.bases[column]
        covariance = (basis * shares[:, None]).T @ basis
        covariance -= np.outer(shares @ basis, shares @ basis)
        np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-9)
        np.testing.assert_allclose(
            counts.spreads(column), np.maximum(np.diag(covariance), 1e-9), atol=1e-9
        )


@pytest.mark.parametrize("noise", [0.003, 0.01])
def test_the_pair_that_depends_is_found_and_others_are_not(noise: float) -> None:
    names = [column.name for column in DOMAIN.columns]
    pair = tuple(sorted((names.index("a"), names.index("c"))))
    found = [noisy_counts(cells_of(5000, seed), noise, seed).dependences for seed in range(4)]
    assert all(pair in each for each in found)
    assert sum(len(each) - 1 for each in found) <= 1


def test_the_strongest_pairs_come_first_and_those_of_a_column_before_them() -> None:
    names = [column.name for column in DOMAIN.columns]
    pair = tuple(sorted((names.index("a"), names.index("c"))))
    counts, last = noisy_counts(cells_of(5000), 0.005), len(names) - 1
    assert counts.strongest(1, always=None) == (pair,)
    with_target = {each for each in DOMAIN.pairs if last in each}
    assert set(counts.strongest(len(with_target) + 1, always=last)) == with_target | {pair}


def test_a_pair_that_was_counted_twice_has_less_noise() -> None:
    cells = cells_of(100)
    one, two = noisy_counts(cells, 0.02, 1), noisy_counts(cells, 0.02, 2)
    both = estimates.counts_of(
        DOMAIN,
        100,
        one.columns,
        0.02,
        [
            (DOMAIN.pairs, [one.pairs[pair] for pair in DOMAIN.pairs], 0.02),
            (DOMAIN.pairs[:1], [two.pairs[DOMAIN.pairs[0]]], 0.02),
        ],
    )
    first, second = DOMAIN.pairs[:2]
    assert both.pair_stddev[first] == pytest.approx(0.02 / math.sqrt(2))
    assert both.pair_stddev[second] == 0.02
    np.testing.assert_allclose(both.pairs[first], (one.pairs[first] + two.pairs[first]) / 2)


def test_pairs_of_either_order_are_one() -> None:
    counts = noisy_counts(cells_of(100), 0.02)
    for j, k in itertools.permutations(range(3), 2):
        np.testing.assert_array_equal(counts.of(j, k)[0], counts.of(k, j)[0].T)
        assert counts.has(j, k)
