"""Maps of rules are told by counts that were released anyway."""

from __future__ import annotations

import numpy as np
import pytest

from jaxdp.methods.marginals import maps
from jaxdp.methods.marginals.estimates import Counts
from jaxdp.tables import Domain, Schema

CITIES, LANDS = [f"c{n}" for n in range(8)], ["a", "b", "c"]


def domain_of(kind: str = "categorical", **rule: object) -> Domain:
    columns = {
        "city": {"type": "categorical", "categories": CITIES},
        "land": {"type": kind, "categories": LANDS, "other": False, "nullable": True},
    }
    determined = {"determined": "land", "by": "city", **rule}
    return Domain(Schema.from_json({"columns": columns, "rules": [determined]}))


def counts_of(domain: Domain, noise: float, *, with_pair: bool = True) -> Counts:
    """Return counts of 9000 records, of which city n lies in land n % 3."""
    rng = np.random.default_rng(0)
    city = rng.choice(9, 9000, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.03, 0.02])
    cells = np.column_stack([city, city % 3])
    columns = np.concatenate(
        [
            np.bincount(own, minlength=w) / 9000
            for own, w in zip(cells.T, domain.widths, strict=True)
        ]
    )
    rows = [features[own] for features, own in zip(domain.features, cells.T, strict=True)]
    mean = rows[0].T @ rows[1] / 9000
    mean = mean + noise * rng.standard_normal(mean.shape)
    pairs = {(0, 1): mean} if with_pair else {}
    return Counts(domain, 9000, columns, 1e-4, pairs, dict.fromkeys(pairs, max(noise, 1e-5)))


@pytest.mark.parametrize("kind", ["categorical", "ordinal"])
@pytest.mark.parametrize("noise", [0.0, 0.003])
def test_counts_tell_where_cities_lie(kind: str, noise: float) -> None:
    domain = domain_of(kind)
    (rule,) = maps.completed(domain.schema.rules, counts_of(domain, noise))
    found = dict(rule.map)
    assert set(found) == {(city,) for city in CITIES}, "and not where others do"
    expected = {(city,): LANDS[n % 3] for n, city in enumerate(CITIES)}
    wrong = sum(found[key] != expected[key] for key in expected)
    assert wrong == 0 if kind == "categorical" or noise == 0 else wrong <= 3


def test_a_map_that_is_public_comes_first() -> None:
    domain = domain_of(map={"c0": "c", "c1": None})
    (rule,) = maps.completed(domain.schema.rules, counts_of(domain, 0.0))
    found = dict(rule.map)
    assert (found["c0",], found["c1",], found["c2",]) == ("c", None, "c")
    assert len(rule.map) == len(found)


def test_cities_that_noise_hides_share_the_lands_out() -> None:
    domain = domain_of()
    counts = counts_of(domain, 10.0)
    (rule,) = maps.completed(domain.schema.rules, counts)
    shares = dict(zip(CITIES, counts.shares[0], strict=False))
    for land, expected in zip(LANDS, counts.shares[1], strict=False):
        found = sum(shares[city] for (city,), value in rule.map if value == land)
        assert abs(found - expected) < 0.1


def test_pairs_that_were_not_counted_tell_nothing() -> None:
    domain = domain_of()
    rules = maps.completed(domain.schema.rules, counts_of(domain, 0.0, with_pair=False))
    assert rules == domain.schema.rules
    two = Schema.from_json(
        {
            "columns": {name: {"type": "categorical", "categories": LANDS} for name in "xyz"},
            "rules": [{"determined": "z", "by": ["x", "y"]}],
        }
    )
    noisy = Counts(Domain(two), 10, np.full(12, 0.25), 0.1, {}, {})
    assert maps.completed(two.rules, noisy) == two.rules
