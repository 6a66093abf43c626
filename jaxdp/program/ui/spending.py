"""What was spent on data, what the next run spends, and what that lets an attacker do.

All of it is computed as a run does, by public facts: the number of training records, epsilon,
delta, the part that a schema takes, and the ledger of the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from jaxdp.bought import Planned, Purchase
from jaxdp.data import Spec
from jaxdp.methods import bought_schema
from jaxdp.methods.settings import Budget, SettingsError
from jaxdp.privacy import cell_counts, relations
from jaxdp.privacy.certificates import whole_loss, why_void
from jaxdp.privacy.dataset_ledger import DatasetLedger
from jaxdp.privacy.ledger import Ledger, joint_epsilon
from jaxdp.program import named_data
from jaxdp.program.commands import spent
from jaxdp.program.errors import InputError
from jaxdp.program.report.values import round_up
from jaxdp.program.run_flags import RunFlags
from jaxdp.program.runs import dataset_ledgers, schema_purchase
from jaxdp.program.ui import typed_words
from jaxdp.program.ui.inputs import Images, Table
from jaxdp.tables.open_schema import OpenSchema

_ALL = "all"
_NOTHING = "Nothing, by their ledger."
_PUBLIC = "These data are public: no ledger counts runs on them."
_UNCOUNTED = "Nobody can say: with --ledger=none, no ledger counts the next run."


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
    def buys(self) -> bool:
        """Whether the run buys something of its schema first.

        Raises:
            InputError: something has to be bought, and nothing is to be.
        """
        buyer = schema_purchase.SchemaBuyer(self._flags, self.budget, self.counts_cells)
        return self.opened is not None and buyer.wants(self.opened)

    @property
    def _flags(self) -> RunFlags:
        return RunFlags(csv="table.csv", schema_share=self.share)

    @property
    def _purchase(self) -> Ledger | None:
        """The ledger of a run that buys something of its schema first; None for another."""
        opened, budget = self.opened, self.budget
        if opened is None or not self.buys:
            return None
        flags = self._flags
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
        more: further flags, as typed.
        counts_cells: as for `Spending`.

    Raises:
        SettingsError: a flag cannot be read, or has a value that it may not have.
    """
    given = typed_words.values_of(more)
    share, delta = _number(given, "schema_share"), _number(given, "delta")
    seed = _number(given, "noise_seed")
    budget = Budget(
        eps=epsilon,
        delta=Budget().delta if delta is None else delta,
        relation=given.get("relation", relations.ZERO_OUT),
        noise_seed=None if seed is None else int(seed),
    )
    return Spending(budget, spec, opened, share, counts_cells)


def _number(given: Mapping[str, str], name: str) -> float | None:
    try:
        return float(given[name]) if name in given else None
    except ValueError as error:
        raise InputError(f"--{name}={given[name]}: is no number") from error


def _ledger_of(chosen: Images | Table, more: str) -> DatasetLedger | None:
    own = typed_words.values_of(more).get("ledger")
    if isinstance(chosen, Table):
        return dataset_ledgers.of_run(RunFlags(csv=str(chosen.path), ledger=own))
    return dataset_ledgers.of_run(RunFlags(**named_data.named(chosen.word), ledger=own))


def has_ledger(chosen: Images | Table) -> bool:
    """Whether runs on the data are counted by themselves; those on public data are not."""
    try:
        return _ledger_of(chosen, "") is not None
    except InputError:  # there are several, and a run says so
        return True


def spent_before(chosen: Images | Table, more: str = "") -> str:
    """Say what the ledger of the data has, or why nobody can say.

    Args:
        chosen: data.
        more: further flags, as typed, which may name another ledger.
    """
    try:
        ledger = _ledger_of(chosen, more)
        if ledger is None:
            return _UNCOUNTED if has_ledger(chosen) else _PUBLIC
        if not _is_there(ledger):
            return _NOTHING
        with dataset_ledgers.in_one_line(ledger):
            is_empty = not ledger.read().entries
        return _NOTHING if is_empty else "\n".join(spent.lines(str(ledger.path), None))
    except SettingsError as error:
        return f"Nobody can say: {error}"


def _is_there(ledger: DatasetLedger) -> bool:
    return ledger.path.exists() or ledger.path.is_symlink()


def ledger_stamp(chosen: Images | Table, more: str = "") -> tuple[int, int] | str | None:
    """Return what changes whenever the ledger of the data does; None where there is none."""
    try:
        ledger = _ledger_of(chosen, more)
        if ledger is None:
            return None
        found = ledger.path.stat()
    except SettingsError as error:
        return str(error)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def together(chosen: Images | Table, spends: Spending, more: str = "") -> str:
    """Say what all runs on the data will have spent after one more; nothing if it is the first."""
    try:
        ledger = _ledger_of(chosen, more)
        if ledger is None or not _is_there(ledger):
            return ""
        with dataset_ledgers.in_one_line(ledger):
            before = [entry.ledger for entry in ledger.read().entries]
            if not before:
                return ""
            if any(map(why_void, before)):
                return "no epsilon holds: noise of an earlier run promises nothing"
            delta = max(each.delta for each in before)
            found = round_up(joint_epsilon([*before, spends.own], delta=delta))
    except SettingsError as error:
        return f"nobody can say: {error}"
    return f"about epsilon {found} at delta {delta:g}; the certificate of the run says it exactly"


def attack(spends: Spending) -> str:
    """Say what a run lets an attacker do at most, in a sentence."""
    if spends.budget.noise_seed is not None:
        return "nothing is guaranteed: who knows --noise_seed knows the noise, and can take it away"
    try:
        return str(whole_loss((spends.planned,))["attacker"]["in_words"])
    except SettingsError as error:
        return f"nobody can say: {error}"
