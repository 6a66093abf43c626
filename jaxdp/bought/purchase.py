"""From a schema with open facts and raw records to a complete schema, for a part of epsilon."""

import dataclasses
import math
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jaxdp.bought import estimates, grids
from jaxdp.bought import release as releasing
from jaxdp.bought.estimates import Cuts, Sums
from jaxdp.privacy import ordered_counts, releases
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.mechanism import private_key
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.tables import bought, cells, raw
from jaxdp.tables.bought import BINS, BOUNDS, CATEGORIES, NULLABLE, Bought
from jaxdp.tables.columns import MOST_CATEGORIES, NUMERIC, OTHER, Column, SchemaError
from jaxdp.tables.moments import TIME
from jaxdp.tables.open_schema import OpenSchema, completed
from jaxdp.tables.raw import RawRecords
from jaxdp.tables.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

# Parts of the price that releases have, as far as they are made.
_PARTS = {
    releasing.LOOK: 0.15,
    releasing.TEXTS: 0.3,
    releasing.SUMS: 0.5,
    releasing.SPIKES: 0.05,
}
# Part of delta that thresholds may take.
_THRESHOLD_PART = 0.1
# A count that is so many times its noise is no chance.
_TOLD = 3.0
# Of a leaf that many records lie in, so large a part must have its one value.
_MOST_OF_LEAF = 0.5


@dataclasses.dataclass(frozen=True, kw_only=True)
class Purchase:
    """What a schema may cost.

    Attributes:
        epsilon: of all that is released with it, > 0; inf without privacy.
        delta: likewise, in (0, 1).
        share: part of that budget that the schema takes, in (0, 1].
        records_per_person: most records of one person.
        noise_seed: makes noise that somebody knows, for tests; None for secret noise.

    Raises:
        ValueError: a number is out of range.
    """

    epsilon: float
    delta: float
    share: float = 1.0
    records_per_person: int = 1
    noise_seed: int | None = None

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and 0 < self.delta < 1 and 0 < self.share <= 1):
            raise ValueError(f"need epsilon > 0, delta in (0, 1), share in (0, 1], got {self}")


def buy_schema(
    records: "pd.DataFrame | RawRecords", draft: OpenSchema | Mapping[str, Any], purchase: Purchase
) -> Schema:
    """Return a complete schema, its open facts released with noise.

    Bounds, bins, categories and whether values can be missing are bought where a draft leaves them
    open. Everything else of it is public.

    Args:
        records: private: a frame, or records as `jaxdp.tables.raw.read` returns them.
        draft: as a file holds it, with null for what is open.
        purchase: what it may cost.

    Returns:
        The schema; its `bought` has the ledger of what was released, nothing where nothing was
        open.

    Raises:
        SchemaError: the draft or the records cannot be read, or nothing of a column is certain.

    Guarantee:
        (epsilon, delta)-DP for the share of that budget, under replacing one record: at most four
        Gaussian releases, as the ledger has them (`jaxdp.bought.release`), and texts above a
        threshold. Nothing else of the records is in the schema.

    Examples:
        >>> import numpy as np
        >>> import pandas as pd
        >>> import jaxdp
        >>> frame = pd.DataFrame({"age": np.random.default_rng(0).integers(18, 90, 5000)})
        >>> age = {"type": "numeric", "integer": True, "lower": None, "upper": None}
        >>> price = jaxdp.bought.Purchase(epsilon=1.0, delta=1e-6)
        >>> schema = jaxdp.bought.buy_schema(frame, {"columns": {"age": age}}, price)
        >>> low, high = schema.columns[0].bounds
        >>> low < 22, high > 85, [each.name for each in jaxdp.bought.purchase.releases_of(schema)]
        (True, True, ['missing values and scales of columns', 'quantiles of columns'])
    """
    opened = draft if isinstance(draft, OpenSchema) else OpenSchema.from_json(draft)
    if not opened.open:
        return Schema.from_json(opened.stored)
    if not isinstance(records, Mapping):
        records = raw.read(records, opened.schema)
    return _Buyer(records, opened, purchase).buy()


def releases_of(schema: Schema) -> tuple[GaussianRelease, ...]:
    """Return what was released for a schema; nothing where nothing was bought."""
    return () if schema.bought is None else Ledger.from_json(schema.bought.ledger).releases


class _Buyer:
    """A purchase in progress: what is open, what it may cost, what was released so far."""

    def __init__(self, records: RawRecords, opened: OpenSchema, purchase: Purchase) -> None:
        self._records, self._opened, self._purchase = records, opened, purchase
        self._num = raw.length(records)
        self._columns = {column.name: column for column in opened.schema.declared}
        self._missing = cells.missing_texts(opened.schema)
        self._made: list[GaussianRelease] = []
        names = (releasing.LOOK, releasing.TEXTS, releasing.SUMS, releasing.SPIKES)
        self._keys = dict(
            zip(names, jax.random.split(private_key(purchase.noise_seed), 4), strict=True)
        )
        self._threshold_delta = _THRESHOLD_PART * purchase.delta if self._with(CATEGORIES) else 0.0
        self._releases = self._calibrated()

    def _with(self, *facts: str) -> list[str]:
        """Return the columns of which one of some facts is open."""
        return [name for name, own in self._opened.open.items() if set(own) & set(facts)]

    def _numbers(self) -> list[str]:
        """Return the columns whose quantiles are counted."""
        return [name for name in self._with(BOUNDS, BINS) if not self._has_few_values(name)]

    def _has_few_values(self, name: str) -> bool:
        """Whether a column has a cell for each of its values, whatever the records are."""
        column = self._columns[name]
        low, high = column.bounds
        is_public = BOUNDS not in self._opened.open[name]
        return is_public and column.is_whole and high - low < estimates.MOST_BINS

    def _grids(self) -> dict[str, np.ndarray]:
        """Return the edges of a first look; none where missing values alone are to be told."""
        found = {name: np.empty(0) for name in self._with(NULLABLE)}
        for name in self._numbers():
            column = self._columns[name]
            edges = grids.scales(column)
            if BOUNDS not in self._opened.open[name]:
                low, high = column.bounds
                high += column.is_whole
                if column.type == TIME or (column.is_whole and high - low <= grids.NUM_LEAVES):
                    continue
                edges = np.array([low, *edges[(edges > low) & (edges < high)], high])
            found[name] = edges
        return found

    def _calibrated(self) -> dict[str, GaussianRelease]:
        """Return the releases that may be made, with their noise."""
        made = {
            releasing.LOOK: bool(self._grids()),
            releasing.TEXTS: bool(self._with(CATEGORIES)),
            releasing.SUMS: bool(self._numbers()),
            releasing.SPIKES: bool(self._numbers()),
        }
        parts = {name: part for name, part in _PARTS.items() if made[name]}
        share, total = self._purchase.share, sum(parts.values())
        shares = {name: share * part / total for name, part in parts.items()}
        rest = {} if share == 1 else {"all else": 1 - share}
        found = releases.calibrate(
            dict.fromkeys([*shares, *rest], releasing.SENSITIVITY),
            target_epsilon=self._purchase.epsilon,
            delta=self._purchase.delta - self._threshold_delta,
            shares=shares | rest,
            records_per_person=self._purchase.records_per_person,
        )
        return {release.name: release for release in found}

    def _use(self, name: str, num_columns: int) -> tuple[Any, GaussianRelease, float]:
        """Return key, release and standard deviation of a count, and note the release."""
        release = self._releases[name]
        self._made.append(release)
        return self._keys[name], release, release.stddev * math.sqrt(num_columns)

    def buy(self) -> Schema:
        """Make the releases, each by what was released before, and fill in what they tell."""
        facts: dict[str, dict[str, Any]] = {name: {} for name in self._opened.open}
        looked, look_stddev = self._look()
        for name in self._with(NULLABLE):
            facts[name]["nullable"] = bool(looked[name][-1] > max(_TOLD * look_stddev, 0.5))
        for name, own in self._texts(facts, looked).items():
            facts[name] |= own
        for name, own in self._cuts(looked, look_stddev).items():
            facts[name] |= own
        for name in set(self._with(BINS)) - set(self._numbers()):
            low, high = self._columns[name].bounds
            facts[name]["bins"] = int(high - low) + 1
        return self._completed(facts)

    def _look(self) -> tuple[dict[str, np.ndarray], float]:
        edges = self._grids()
        if not edges:
            return {}, 0.0
        key, release, stddev = self._use(releasing.LOOK, len(edges))
        found = releasing.look(
            key, self._records, edges, self._missing, release, num_records=self._num
        )
        return found, stddev

    def _texts(
        self, facts: Mapping[str, Mapping[str, Any]], looked: Mapping[str, np.ndarray]
    ) -> dict[str, dict[str, Any]]:
        """Return the categories of columns, and whether there are others."""
        names = self._with(CATEGORIES)
        if not names:
            return {}
        key, release, stddev = self._use(releasing.TEXTS, len(names))
        found = releasing.texts(
            key,
            self._records,
            names,
            self._missing,
            release,
            threshold_delta=self._threshold_delta,
            records_per_person=self._purchase.records_per_person,
        )
        return {
            name: self._categories(name, own, stddev, self._num_there(name, looked))
            for name, own in found.items()
        }

    def _num_there(self, name: str, looked: Mapping[str, np.ndarray]) -> float:
        """Return about how many records have a value in a column."""
        gone = max(float(looked[name][-1]), 0.0) if name in looked else 0.0
        return max(self._num - gone, 1.0)

    def _categories(
        self, name: str, found: Mapping[str, float], stddev: float, num_there: float
    ) -> dict[str, Any]:
        kept = list(found)[: MOST_CATEGORIES - 1]
        left = num_there - sum(found[text] for text in kept)
        is_target = self._opened.schema.target is self._columns[name]
        has_other = left > max(_TOLD * stddev * math.sqrt(len(kept) + 1), 0.5) or not kept
        if is_target and has_other and OTHER not in kept:
            kept.append(OTHER)
        if is_target and len(kept) < 2:
            raise self._columns[name].error(
                "is the target, and noise leaves fewer than two classes certain: declare its "
                '"categories", or raise epsilon'
            )
        if not kept:
            kept, has_other = [OTHER], False
        # A text that would run as a formula cannot stand in a table made.
        safe = [text for text in kept if _is_category(text)]
        return {"categories": safe or [OTHER], "other": bool(has_other or len(safe) < len(kept))}

    def _cuts(
        self, looked: Mapping[str, np.ndarray], look_stddev: float
    ) -> dict[str, dict[str, Any]]:
        """Return bounds, bins and spikes of columns of numbers."""
        names = self._numbers()
        if not names:
            return {}
        leaves = {name: self._leaves(name, looked, look_stddev) for name in names}
        key, release, stddev = self._use(releasing.SUMS, len(names))
        counted = releasing.sums(key, self._records, leaves, release)
        cuts = {
            name: estimates.cuts_of(
                _sums(leaves[name], counted[name], self._num_there(name, looked), stddev)
            )
            for name in names
        }
        told = self._spikes(cuts)
        return {name: self._facts_of(name, cuts[name], told.get(name, ())) for name in names}

    def _leaves(
        self, name: str, looked: Mapping[str, np.ndarray], look_stddev: float
    ) -> np.ndarray:
        column, edges = self._columns[name], self._grids().get(name)
        if edges is None:
            low, high = column.bounds
            return grids.leaves(np.array([low, high + column.is_whole]), np.ones(1), column)
        part = estimates.range_of(looked[name][:-1], look_stddev, edges)
        return grids.leaves(part.edges, part.shares, column)

    def _spikes(self, cuts: Mapping[str, Cuts]) -> dict[str, tuple[float, ...]]:
        """Return the values that many records have, for each column with any."""
        found = {name: estimates.candidates(own, self._columns[name]) for name, own in cuts.items()}
        wide = {
            name: [v for v, leaf in zip(found[name], own.heavy, strict=True) if self._wide(name, leaf)]
            for name, own in cuts.items()
        }
        asked = {name: values for name, values in wide.items() if values}
        told: dict[str, Any] = {}
        if asked:
            key, release, stddev = self._use(releasing.SPIKES, len(asked))
            told = releasing.spikes(key, self._records, asked, release, num_records=self._num)
            told = {
                name: {v for v, count in zip(asked[name], told[name], strict=True)
                       if count > max(_TOLD * stddev, 0.5)}
                for name in asked
            }  # fmt: skip
        return {
            name: tuple(
                value
                for value, leaf in zip(found[name], own.heavy, strict=True)
                if not self._wide(name, leaf) or value in told.get(name, ())
            )
            for name, own in cuts.items()
        }

    def _wide(self, name: str, leaf: tuple[float, float]) -> bool:
        """Whether a leaf has more than one value, as a column writes them."""
        return leaf[1] - leaf[0] > 1.5 * grids.finest(self._columns[name])

    def _facts_of(self, name: str, cuts: Cuts, spikes: tuple[float, ...]) -> dict[str, Any]:
        """Return what a schema says of a column's numbers."""
        column, facts = self._columns[name], {}
        low, high, inner = cuts.low, cuts.high, set(cuts.inner)
        if BOUNDS in self._opened.open[name]:
            high = max(high, low + (grids.finest(column) or (high - low) or 1.0))
            if not column.is_whole and high in spikes:
                high += cuts.high - (cuts.inner or (cuts.low,))[-1]
            facts |= {"lower": low, "upper": high - column.is_whole}
            if column.is_whole and facts["upper"] <= low:
                facts["upper"] = low + 1
        else:
            inner |= {low, high}
            low, high = column.bounds
            high += column.is_whole
        if BINS not in self._opened.open[name]:
            return {key: _written(column, value) for key, value in facts.items()}
        if column.is_whole and high - low <= estimates.MOST_BINS:
            return {key: _written(column, value) for key, value in facts.items()} | {
                "bins": max(int(high - low), 2)
            }
        edges = sorted(edge for edge in inner if low < edge < high)
        kept = [value for value in spikes if low <= value < high]
        return {key: _written(column, value) for key, value in facts.items()} | {
            "bins": [_written(column, edge) for edge in edges],
            "spikes": [_written(column, value) for value in sorted(kept)],
        }

    def _completed(self, facts: Mapping[str, Mapping[str, Any]]) -> Schema:
        purchase = self._purchase
        stored = completed(self._opened.stored, facts)
        if not self._made:
            return Schema.from_json(stored)
        ledger = Ledger(
            num_examples=self._num,
            delta=purchase.delta,
            releases=tuple(self._made),
            seeded_noise=purchase.noise_seed is not None,
            records_per_person=purchase.records_per_person,
            threshold_delta=self._threshold_delta,
        )
        own = Bought(secrets.token_hex(16), dict(self._opened.open), ledger.to_json())
        return Schema.from_json(stored | {"bought": own.to_json()})


def _sums(leaves: np.ndarray, counted: np.ndarray, num_there: float, stddev: float) -> Sums:
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


def _is_category(text: str) -> bool:
    try:
        Column(name="x", type="categorical", categories=(text,))
    except SchemaError:
        return False
    return bool(text)


def _written(column: Column, value: float) -> Any:
    """Return a number as a schema file has it."""
    if column.type != NUMERIC:
        return column.moment.write(round(value))
    if column.integer:
        return round(value)
    return float(value) if column.decimals is None else round(float(value), column.decimals)


__all__ = ["Purchase", "bought", "buy_schema", "releases_of"]
