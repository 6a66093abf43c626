"""The order of a purchase: what was released so far decides what is counted next."""

import math
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from jaxdp.bought import estimates, filled, grids
from jaxdp.bought import release as releasing
from jaxdp.bought.estimates import Cuts, Leaf, Sums
from jaxdp.bought.wanted import Wanted
from jaxdp.privacy import ordered_counts
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.tables import raw
from jaxdp.tables.bought import BINS, NULLABLE
from jaxdp.tables.columns import NUMERIC, Column
from jaxdp.tables.raw import RawRecords

TOLD = 3.0
"""A count that is so many times its noise, or more, is no chance."""
_LEAST = 0.5  # of a record: without noise
_LITTLE = 2.0  # times its noise: what is left beside a spike, or less, is most likely nothing
_LEAST_SPIKE = 0.25  # of the records of a bin, where there are as many bins as can be


def facts_of(
    key: Key[Array, ""],
    records: RawRecords,
    wanted: Wanted,
    releases: Mapping[str, GaussianRelease],
    *,
    threshold_delta: float,
    records_per_person: int,
) -> dict[str, dict[str, Any]]:
    """Return for each column what is filled in, as a schema file has it.

    Args:
        key: of the noise, fresh and secret.
        records: private.
        wanted: what is open.
        releases: by name, those that may be made.
        threshold_delta: chance that a threshold fails, of texts and of numbers each.
        records_per_person: most records of one person.

    Guarantee:
        Each release is made once at most. What is returned depends on the records through these
        alone.
    """
    names = (releasing.LOOK, releasing.TEXTS, releasing.SUMS, releasing.SPIKES)
    keys = dict(zip(names, jax.random.split(key, len(names)), strict=True))
    buyer = _Buyer(records, wanted, releases, keys)
    facts: dict[str, dict[str, Any]] = {name: {} for name in wanted.opened.open}
    for name in wanted.with_open(NULLABLE):
        facts[name]["nullable"] = bool(buyer.num_missing(name) > buyer.least_missing)
    for found in (
        buyer.categories(threshold_delta, records_per_person) if wanted.texts else {},
        buyer.numbers(threshold_delta, records_per_person) if wanted.numbers else {},
    ):
        for name, own in found.items():
            facts[name] |= own
    for name in wanted.with_open(BINS):
        if wanted.has_few_values(name):
            low, end = wanted.ends(name)
            facts[name]["bins"] = int(end - low)
    filled.in_order(wanted, facts)
    return facts


class _Buyer:
    """Records, what is wanted of them, and what was released first."""

    def __init__(
        self,
        records: RawRecords,
        wanted: Wanted,
        releases: Mapping[str, GaussianRelease],
        keys: Mapping[str, Key[Array, ""]],
    ) -> None:
        self._records, self._wanted = records, wanted
        self._releases, self._keys = releases, keys
        self._num = raw.length(records)
        self._looked: dict[str, Float[np.ndarray, " k"]] = {}
        self._look_stddev = 0.0
        if wanted.first_grids:
            release, self._look_stddev = self._release(releasing.LOOK, len(wanted.first_grids))
            self._looked = releasing.look(
                keys[releasing.LOOK],
                records,
                wanted.first_grids,
                wanted.missing,
                release,
                num_records=self._num,
            )

    def _release(self, name: str, num_columns: int) -> tuple[GaussianRelease, float]:
        """Return a release, and the standard deviation of one of its counts."""
        release = self._releases[name]
        return release, release.stddev * math.sqrt(num_columns)

    def num_missing(self, name: str) -> float:
        """Return about how many records have no value in a column."""
        return float(self._looked[name][-1]) if name in self._looked else 0.0

    @property
    def least_missing(self) -> float:
        """How many there are where that is no chance."""
        return max(TOLD * self._look_stddev, _LEAST)

    def _num_there(self, name: str) -> float:
        return max(self._num - max(self.num_missing(name), 0.0), 1.0)

    def categories(
        self, threshold_delta: float, records_per_person: int
    ) -> dict[str, dict[str, Any]]:
        """Return the categories of columns, and whether there are others."""
        names = self._wanted.texts
        release, stddev = self._release(releasing.TEXTS, len(names))
        found = releasing.texts(
            self._keys[releasing.TEXTS],
            self._records,
            names,
            self._wanted.missing,
            release,
            threshold_delta=threshold_delta,
            records_per_person=records_per_person,
        )
        target = self._wanted.opened.schema.target
        facts = {}
        for name, counts in found.items():
            left = self._num_there(name) - sum(counts.values())
            has_other = left > max(TOLD * stddev * math.sqrt(len(counts) + 1), _LEAST)
            of_classes = target is not None and name == target.name
            facts[name] = filled.categories(list(counts), has_other, of_classes)
        return facts

    def numbers(self, threshold_delta: float, records_per_person: int) -> dict[str, dict[str, Any]]:
        """Return the bounds, bins and spikes of columns of numbers."""
        names = self._wanted.numbers
        release, stddev = self._release(releasing.SUMS, len(names))
        leaves = {name: self._leaves(name) for name in names}
        counted = releasing.sums(self._keys[releasing.SUMS], self._records, leaves, release)
        sums = {
            name: _sums(leaves[name], counted[name], self._num_there(name), stddev)
            for name in names
        }
        types = {name: self._wanted.columns[name].type for name in names}
        cuts = {
            name: estimates.cuts_of(sums[name], zero_is_least=types[name] == NUMERIC)
            for name in names
        }
        spikes, noise = self._spikes(cuts, threshold_delta, records_per_person)
        found = {}
        for name, own in cuts.items():
            empty = _emptied(own, spikes[name], math.hypot(sums[name].leaf_stddev, noise))
            found[name] = filled.numbers(self._wanted, name, own.without(empty), [*spikes[name]])
        return found

    def _leaves(self, name: str) -> Float[np.ndarray, " m"]:
        column = self._wanted.columns[name]
        edges = self._wanted.first_grids.get(name)
        if edges is None or not len(edges):
            return grids.leaves(np.array(self._wanted.ends(name)), np.ones(1), column)
        likely = grids.likely(column, edges)
        part = estimates.range_of(self._looked[name][:-1], self._look_stddev, edges, likely)
        return grids.leaves(part.edges, part.shares, column)

    def _spikes(
        self, cuts: Mapping[str, Cuts], threshold_delta: float, records_per_person: int
    ) -> tuple[dict[str, dict[float, float]], float]:
        """Return for each column the values that many records have, with counts, and their noise.

        A heavy leaf of one value has it. In others the roundest is counted, and what enough records
        have, in one release.
        """
        known: dict[str, dict[float, float]] = {}
        wide: dict[str, list[Leaf]] = {}
        for name, own in cuts.items():
            column = self._wanted.columns[name]
            known[name] = {}
            for leaf in own.heavy:
                value = _only_value(column, own, leaf)
                if value is None:
                    wide.setdefault(name, []).append(leaf)
                else:
                    known[name][value] = leaf.num_records
        if not wide:
            return known, 0.0
        release, stddev = self._release(releasing.SPIKES, len(wide))
        found = releasing.spikes(
            self._keys[releasing.SPIKES],
            self._records,
            {name: [(leaf.low, leaf.high) for leaf in own] for name, own in wide.items()},
            {
                name: [grids.roundest(leaf.low, leaf.high) for leaf in own]
                for name, own in wide.items()
            },
            release,
            threshold_delta=threshold_delta,
            records_per_person=records_per_person,
        )
        for name, counts in found.items():
            few = self._num_there(name) * _LEAST_SPIKE / estimates.MOST_BINS
            least = max(TOLD * stddev, few, _LEAST)
            told = [each for each in counts.items() if each[1] > least]
            known[name] |= told[: estimates.MOST_SPIKES]
        return known, stddev


def _only_value(column: Column, cuts: Cuts, leaf: Leaf) -> float | None:
    """Return the value that a leaf has if it has one alone."""
    if grids.is_one_value(column, leaf.low, leaf.high):
        return leaf.low
    return grids.roundest(leaf.low, leaf.high) if cuts.is_short(leaf) else None


def _emptied(cuts: Cuts, spikes: Mapping[float, float], stddev: float) -> list[Leaf]:
    """Return the leaves whose spikes leave nothing that is more than noise, or no length."""
    found = []
    for leaf in cuts.heavy:
        own = [count for value, count in spikes.items() if leaf.low <= value < leaf.high]
        most = max(_LITTLE * stddev * math.sqrt(len(own)), _LEAST)
        if own and (cuts.is_short(leaf) or leaf.num_records - sum(own) <= most):
            found.append(leaf)
    return found


def _sums(
    leaves: Float[np.ndarray, " _"],
    counted: Float[np.ndarray, " m"],
    num_there: float,
    stddev: float,
) -> Sums:
    """Return sums that end at the number of records, with the noise that they have."""
    size = len(counted)
    r = ordered_counts.root(size)
    norm, together = float(np.linalg.norm(r)), ordered_counts.covariance_with_last(size)
    sums = counted + together / together[-1] * (num_there - counted[-1])
    variances = np.cumsum(r**2) - together**2 / together[-1]
    return Sums(
        leaves=leaves,
        sums=sums,
        num_records=num_there,
        stddevs=stddev * norm * np.sqrt(np.maximum(variances, 0.0)),
        leaf_stddev=stddev * norm * ordered_counts.DIFFERENCE,
    )
