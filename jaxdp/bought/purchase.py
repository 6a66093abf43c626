"""From a schema with open facts and raw records to a complete schema, for a part of epsilon."""

import dataclasses
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jaxdp import processes
from jaxdp.bought import release as releasing
from jaxdp.bought.buying import facts_of
from jaxdp.bought.wanted import Wanted
from jaxdp.privacy import cell_counts, relations, releases
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.mechanism import private_key
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.tables import raw
from jaxdp.tables.bought import Bought
from jaxdp.tables.columns import Column, SchemaError
from jaxdp.tables.open_schema import OpenSchema, completed
from jaxdp.tables.raw import RawRecords
from jaxdp.tables.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

# Parts of the price that releases have, as far as they are made. Held out on tables of the first
# trial (diamonds, flights, lending) and looked at on psid, churn, storms and cps91, at n = 5000 and
# epsilon 1.
_PARTS = {
    releasing.LOOK: 0.15,
    releasing.TEXTS: 0.3,
    releasing.SUMS: 0.5,
    releasing.SPIKES: 0.05,
}
# Part of delta that thresholds may take, of texts and of numbers together.
_THRESHOLD_PART = 0.1
_REST = "all else"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Purchase:
    """What a schema may cost.

    Attributes:
        epsilon: of all that is released with it, > 0; inf without privacy.
        delta: likewise, in (0, 1).
        share: part of that budget that the schema takes, in (0, 1].
        records_per_person: most records of one person.
        persons_declared: whether somebody has declared that number, even as 1.
        noise_seed: makes noise that somebody knows, for tests; None for secret noise.
        relation: which datasets are neighbours, "zero-out" or "replace".

    Raises:
        ValueError: a number is out of range, or a relation unknown.
    """

    epsilon: float
    delta: float
    share: float = 1.0
    records_per_person: int = 1
    noise_seed: int | None = None
    relation: str = relations.ZERO_OUT
    persons_declared: bool = False

    def __post_init__(self) -> None:
        relations.require(self.relation)
        if not (self.epsilon > 0 and 0 < self.delta < 1 and 0 < self.share <= 1):
            raise ValueError(f"need epsilon > 0, delta in (0, 1), share in (0, 1], got {self}")


class UncertainClassesError(SchemaError):
    """Noise leaves fewer than two classes of a target certain; all else that was bought is there.

    Attributes:
        target: the column of classes.
        schema: complete, with all that was bought, and without a target. A draft that declares the
            categories of the target is filled by it: `jaxdp.tables.OpenSchema.filled_by`.
    """

    def __init__(self, target: Column, schema: Schema) -> None:
        error = target.error(
            "is the target, and noise leaves fewer than two classes certain: declare its "
            '"categories", or raise epsilon'
        )
        super().__init__(str(error))
        self.target, self.schema = target, schema


class Planned:
    """A purchase that is planned: its releases and their noise, by public facts alone.

    Attributes:
        name: 32 hexadecimal digits, drawn for this purchase alone.
        ledger: of all releases that it may make; None where nothing is open.
        whole: what the purchase and all else that the budget is for come to together.
    """

    def __init__(self, opened: OpenSchema, purchase: Purchase, num_records: int) -> None:
        """Share the budget out.

        Args:
            opened: the schema.
            purchase: what it may cost.
            num_records: n, public.
        """
        self._wanted, self._purchase, self._num = Wanted(opened), purchase, num_records
        self._thresholds = sum(map(bool, (self._wanted.texts, self._wanted.numbers)))
        self._threshold_delta = _THRESHOLD_PART * purchase.delta if self._thresholds else 0.0
        self._releases = self._calibrated()
        self.name = secrets.token_hex(16)
        self.ledger = self._ledger(tuple(self._releases.values())) if self._releases else None
        self.whole = self._ledger(self._calibrated_to({_REST: 1.0}))

    def buy(self, records: RawRecords) -> Schema:
        """Return the complete schema, what is open of it released with noise.

        Args:
            records: private, as `jaxdp.tables.raw.read` returns them.

        Raises:
            UncertainClassesError: a target has fewer than two classes that are certain.
            ValueError: there are other records than planned, or several processes.

        Guarantee:
            (epsilon, delta)-DP for the share of that budget, under the purchase's relation: at most
            four Gaussian releases, as the ledger has them (`jaxdp.bought.release`), and texts and
            numbers above a threshold each. Nothing else of the records is in the schema.
        """
        opened = self._wanted.opened
        if processes.are_several():
            # Counts are added up over processes, of which each has all records here.
            raise ValueError("a schema is bought by one process")
        if raw.length(records) != self._num:
            raise ValueError(f"{self._num} records were planned, got {raw.length(records)}")
        facts = facts_of(
            private_key(self._purchase.noise_seed),
            records,
            self._wanted,
            self._releases,
            threshold_delta=self._threshold_delta / max(self._thresholds, 1),
            records_per_person=self._purchase.records_per_person,
        )
        stored = completed(opened.stored, facts)
        if self.ledger is not None:
            facts_open, persons = dict(opened.open), self._purchase.persons_declared
            own = Bought(self.name, facts_open, self.ledger.to_json(), persons)
            stored |= {"bought": own.to_json()}
        target = opened.schema.target
        if target is not None and len(facts.get(target.name, {}).get("categories", "??")) < 2:
            del stored["columns"][target.name]["target"]
            raise UncertainClassesError(target, Schema.from_json(stored))
        return Schema.from_json(stored)

    def _calibrated(self) -> dict[str, GaussianRelease]:
        """Return the releases that may be made, with their noise."""
        wanted, purchase = self._wanted, self._purchase
        made = {
            releasing.LOOK: bool(wanted.first_grids),
            releasing.TEXTS: bool(wanted.texts),
            releasing.SUMS: bool(wanted.numbers),
            releasing.SPIKES: bool(wanted.numbers),
        }
        parts = {name: part for name, part in _PARTS.items() if made[name]}
        if not parts:
            return {}
        total = sum(parts.values())
        shares = {name: purchase.share * part / total for name, part in parts.items()}
        if purchase.share < 1:
            shares[_REST] = 1 - purchase.share
        found = self._calibrated_to(shares)
        return {release.name: release for release in found if release.name != _REST}

    def _calibrated_to(self, shares: Mapping[str, float]) -> tuple[GaussianRelease, ...]:
        """Return releases that share the whole budget."""
        purchase = self._purchase
        return releases.calibrate(
            dict.fromkeys(shares, cell_counts.sensitivity(purchase.relation)),
            target_epsilon=purchase.epsilon,
            delta=purchase.delta - self._threshold_delta,
            shares=shares,
            records_per_person=purchase.records_per_person,
            relation=purchase.relation,
        )

    def _ledger(self, made: tuple[GaussianRelease, ...]) -> Ledger:
        return Ledger(
            num_examples=self._num,
            delta=self._purchase.delta,
            releases=made,
            seeded_noise=self._purchase.noise_seed is not None,
            records_per_person=self._purchase.records_per_person,
            threshold_delta=self._threshold_delta,
        )


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
        The schema; its `bought` has the ledger of what was released, and is None where nothing was.

    Raises:
        SchemaError: the draft or the records cannot be read.
        UncertainClassesError: a target has fewer than two classes that are certain; the error has
            all else that was bought.

    Guarantee:
        As `Planned.buy`.

    Examples:
        >>> import numpy as np
        >>> import pandas as pd
        >>> import jaxdp
        >>> frame = pd.DataFrame({"age": np.random.default_rng(0).integers(18, 90, 5000)})
        >>> age = {"type": "numeric", "integer": True, "lower": None, "upper": None}
        >>> price = jaxdp.bought.Purchase(epsilon=1.0, delta=1e-6)
        >>> schema = jaxdp.bought.buy_schema(frame, {"columns": {"age": age}}, price)
        >>> low, high = schema.columns[0].bounds
        >>> low < 22, high > 85, schema.bought.facts
        (True, True, {'age': ('bounds', 'bins')})
    """
    opened = draft if isinstance(draft, OpenSchema) else OpenSchema.from_json(draft)
    if not isinstance(records, Mapping):
        records = raw.read(records, opened.schema)
    return Planned(opened, purchase, raw.length(records)).buy(records)
