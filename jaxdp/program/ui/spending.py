"""What was spent on data, what the next run spends, and what that lets an attacker do.

All of it is computed as a run does, by public facts: the number of training records, epsilon,
delta, the part that a schema takes, and the ledger of the data.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxdp.bought import Planned, Purchase
from jaxdp.data import Spec
from jaxdp.methods import bought_schema
from jaxdp.methods.settings import Budget, SettingsError
from jaxdp.privacy import cell_counts, relations
from jaxdp.privacy.certificates import whole_loss
from jaxdp.privacy.ledger import Ledger, joint_epsilon
from jaxdp.program import named_data
from jaxdp.program.commands import spent
from jaxdp.program.errors import InputError
from jaxdp.program.report.values import round_up
from jaxdp.program.run_flags import RunFlags
from jaxdp.program.runs import dataset_ledgers, schema_purchase
from jaxdp.program.ui.inputs import Images, Table
from jaxdp.tables.open_schema import OpenSchema

_ALL = "all"


class Spending(NamedTuple):
    """What a run is to spend on data, by public facts.

    Attributes:
        budget: settings.
        spec: facts about the data.
        opened: their schema where something of it is still to be bought.
        share: part of the budget that this takes; None for the usual one.
        counts_cells: whether the run counts records in cells, and so buys bins.
    """

    budget: Budget
    spec: Spec
    opened: OpenSchema | None = None
    share: float | None = None
    counts_cells: bool = True

    @property
    def planned(self) -> Ledger:
        """The ledger of the whole run, as it would be for a single Gaussian release.

        Raises:
            SettingsError: nothing of the budget is left.
        """
        bought = self._purchase
        return bought_schema.joint(self.own, self.spec) if bought is None else bought

    @property
    def own(self) -> Ledger:
        """The same without what was bought before, which has an entry in the ledger of the data."""
        if self._purchase is not None:
            return self._purchase
        sensitivity = cell_counts.sensitivity(self.budget.relation)
        made = bought_schema.calibrate(self.budget, self.spec, {_ALL: sensitivity}, {_ALL: 1.0})
        return Ledger(
            num_examples=self.spec.num_examples,
            delta=self.budget.delta,
            releases=made,
            records_per_person=self.spec.records_per_person,
        )

    @property
    def _purchase(self) -> Ledger | None:
        """The ledger of a run that buys something of its schema first; None for another."""
        opened, budget = self.opened, self.budget
        flags = RunFlags(csv="table.csv", schema_share=self.share)
        buyer = schema_purchase.SchemaBuyer(flags, budget, self.counts_cells)
        if opened is None or not buyer.wants(opened):
            return None
        purchase = Purchase(
            epsilon=budget.eps,
            delta=budget.delta,
            share=schema_purchase.share_of(flags, opened),
            records_per_person=self.spec.records_per_person,
            relation=budget.relation,
        )
        return Planned(opened, purchase, self.spec.num_examples).whole


def of_next_run(
    epsilon: float, spec: Spec, opened: OpenSchema | None, more: str, *, counts_cells: bool = True
) -> Spending:
    """Return what a run spends.

    Args:
        epsilon: the budget.
        spec: facts about the data.
        opened: as for `Spending`.
        more: further flags, as typed; what cannot be read of them is refused by the run.
        counts_cells: as for `Spending`.
    """
    words = more.split()
    given = dict(word.removeprefix("--").split("=", 1) for word in words if "=" in word)
    try:
        share = float(given["schema_share"]) if "schema_share" in given else None
        budget = Budget(
            eps=epsilon,
            delta=float(given.get("delta", Budget().delta)),
            relation=given.get("relation", relations.ZERO_OUT),
        )
    except (ValueError, SettingsError):
        budget, share = Budget(eps=epsilon), None
    return Spending(budget, spec, opened, share, counts_cells)


def _ledger_of(chosen: Images | Table) -> Any:
    if isinstance(chosen, Table):
        return dataset_ledgers.of_run(RunFlags(csv=str(chosen.path)))
    return dataset_ledgers.of_run(RunFlags(**named_data.named(chosen.word)))


def has_ledger(chosen: Images | Table) -> bool:
    """Whether runs on the data are counted; those on public data are not."""
    try:
        return _ledger_of(chosen) is not None
    except InputError:  # there are several, and a run says so
        return True


def spent_before(chosen: Images | Table) -> list[str]:
    """Return lines on what the ledger of the data has; none where nothing was spent.

    Raises:
        InputError: the ledger cannot be read.
    """
    ledger = _ledger_of(chosen)
    if ledger is None or not ledger.path.exists():
        return []
    return spent.lines(str(ledger.path), None)


def ledger_stamp(chosen: Images | Table) -> tuple[int, int] | None:
    """Return what changes whenever the ledger of the data does; None where there is none."""
    try:
        ledger = _ledger_of(chosen)
        if ledger is None:
            return None
        found = ledger.path.stat()
    except (InputError, OSError):
        return None
    return found.st_mtime_ns, found.st_size


def together(chosen: Images | Table, spends: Spending) -> str:
    """Say what all runs on the data will have spent after one more; nothing if it is the first."""
    try:
        ledger = _ledger_of(chosen)
        if ledger is None or not ledger.path.exists():
            return ""
        with dataset_ledgers.in_one_line(ledger):
            before = [entry.ledger for entry in ledger.read().entries]
            if not before:
                return ""
            delta = max(each.delta for each in before)
            found = round_up(joint_epsilon([*before, spends.own], delta=delta))
    except SettingsError as error:
        return f"nobody can say: {error}"
    return f"about epsilon {found} at delta {delta:g}; the certificate of the run says it exactly"


def attack(spends: Spending) -> str:
    """Say what a run lets an attacker do at most, in a sentence."""
    try:
        return str(whole_loss((spends.planned,))["attacker"]["in_words"])
    except SettingsError as error:
        return f"nobody can say: {error}"
