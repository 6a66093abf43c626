"""Distances of single columns, by their values: numbers by distribution functions and quantiles."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from jaxdp.program.evaluation.fidelity.shares import Distance, total_variation
from jaxdp.program.evaluation.fidelity.values import Values

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
SPIKE = 0.05
"""A value that holds such a share of either table's records is told by itself."""
_MOST_SPIKES = 20


class Spike(NamedTuple):
    """A value that many records have.

    Attributes:
        value: as it is written.
        real: its share of private records.
        made: its share of made records.
    """

    value: float | str
    real: float
    made: float


class Numbers(NamedTuple):
    """What is told of numbers alone.

    Attributes:
        wasserstein: mean distance that values are moved by to make one table of the other, as a
            share of the largest private value less the least; None where these are the same and
            made values are not.
        quantiles: by their shares: of private, of made values; those that occur.
        spikes: the values of most records first.
    """

    wasserstein: float | None
    quantiles: dict[str, tuple[float | str, float | str]]
    spikes: list[Spike]


class Compared(NamedTuple):
    """A column of both tables.

    Attributes:
        name: of the column.
        measure: "ks", the largest difference of the distribution functions of numbers, or
            "total_variation" of categories; both of values that are there.
        apart: by that measure; 1 where one table alone has values, None where neither has.
        missing: shares of records without a value: private, made.
        numbers: None for categories, and where a table has no values.
    """

    name: str
    measure: str
    apart: Distance | None
    missing: tuple[float, float]
    numbers: Numbers | None


def compare(column: Values) -> Compared:
    """Compare a column."""
    measure = "ks" if column.is_number else "total_variation"
    sides = (column.real, column.made)
    gone = [np.isnan(side) if column.is_number else side < 0 for side in sides]
    missing = float(gone[0].mean()), float(gone[1].mean())
    real, made = (side[~away] for side, away in zip(sides, gone, strict=True))
    if not (len(real) and len(made)):
        apart = Distance(1.0, None) if len(real) or len(made) else None
        return Compared(column.name, measure, apart, missing, None)
    if column.is_number:
        return Compared(column.name, measure, ks(real, made), missing, _numbers(column, real, made))
    size = len(column.names)
    counts = np.stack([np.bincount(side, minlength=size) for side in (real, made)])
    return Compared(column.name, measure, total_variation(counts), missing, None)


def ks(real: np.ndarray, made: np.ndarray) -> Distance:
    """Return the Kolmogorov-Smirnov statistic of two samples.

    By chance: the mean of Kolmogorov's distribution, sqrt(pi / 2) log 2, over the root of
    n m / (n + m). Where values repeat, chance makes less than that.
    """
    at = np.concatenate([real, made])
    below = [np.searchsorted(np.sort(side), at, side="right") / len(side) for side in (real, made)]
    found = float(np.abs(below[0] - below[1]).max())
    chance = math.sqrt(math.pi / 2) * math.log(2) * math.sqrt(1 / len(real) + 1 / len(made))
    return Distance(found, min(chance, 1.0))


def figures(found: Compared) -> dict[str, Any]:
    """Return what a file says of a column."""
    apart = (None, None) if found.apart is None else found.apart
    said: dict[str, Any] = {found.measure: apart[0], "by_chance": apart[1]}
    said["missing"] = dict(zip(("private", "made"), found.missing, strict=True))
    if found.numbers is None:
        return said
    spikes = [{"value": v, "private": real, "made": made} for v, real, made in found.numbers.spikes]
    quantiles = {
        share: {"private": real, "made": made}
        for share, (real, made) in found.numbers.quantiles.items()
    }
    wasserstein = found.numbers.wasserstein
    return said | {"wasserstein": wasserstein, "quantiles": quantiles, "spikes": spikes}


def _numbers(column: Values, real: np.ndarray, made: np.ndarray) -> Numbers:
    from scipy.stats import wasserstein_distance

    moved, width = float(wasserstein_distance(real, made)), float(real.max() - real.min())
    sides = [np.quantile(side, QUANTILES, method="inverted_cdf") for side in (real, made)]
    pairs = [(column.told(a), column.told(b)) for a, b in zip(*sides, strict=True)]
    shares = [f"{100 * share:g} %" for share in QUANTILES]
    wasserstein = moved / width if width else 0.0 if moved == 0 else None
    return Numbers(wasserstein, dict(zip(shares, pairs, strict=True)), _spikes(column, real, made))


def _spikes(column: Values, real: np.ndarray, made: np.ndarray) -> list[Spike]:
    values, places = np.unique(np.concatenate([real, made]), return_inverse=True)
    parts = np.split(places.reshape(-1), [len(real)])
    records = (len(column.real), len(column.made))
    shares = np.stack(
        [np.bincount(p, minlength=len(values)) / n for p, n in zip(parts, records, strict=True)]
    )
    order = np.argsort(-shares.max(axis=0), kind="stable")[:_MOST_SPIKES]
    return [
        Spike(column.told(values[at]), float(shares[0, at]), float(shares[1, at]))
        for at in order
        if shares[:, at].max() >= SPIKE
    ]
