"""What nobody knows of a table's schema is bought before a run, once, and kept beside the table.

The file NAME.bought.json holds the complete schema. Its facts may be released with whatever the
certificate of a run covers. Later runs on the table use it again and pay nothing for it.
"""

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxdp import new_files, processes
from jaxdp.bought import Planned, Purchase, UncertainClassesError
from jaxdp.data import Spec
from jaxdp.methods.marginals.settings import MOST_PAIRED
from jaxdp.privacy.certificates import Terms, certify
from jaxdp.privacy.dataset_ledger import SCHEMA, DatasetLedger
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.ledger_file import TotalBudget
from jaxdp.privacy.wording import rounded_up
from jaxdp.program.data import schema_files
from jaxdp.program.data.load import AsIfComplete
from jaxdp.program.data.outside_files import schema_file, table_name, user_path
from jaxdp.program.errors import InputError
from jaxdp.program.runs import dataset_ledgers, purchase_lock
from jaxdp.tables import raw
from jaxdp.tables.bought import BINS
from jaxdp.tables.columns import SchemaError
from jaxdp.tables.open_schema import OpenSchema
from jaxdp.tables.raw import RawRecords
from jaxdp.tables.schema import Schema, read_schema

SHARE, SHARE_OF_BINS = 0.2, 0.1
"""Part of the budget for a schema that cannot be used without, and for bins alone."""
ENDING = ".bought.json"
REUSED = ("teacher", "embedding", "counts")
"""Flags of an earlier release that a run uses again."""


@dataclasses.dataclass(frozen=True)
class SchemaBuyer:
    """Buys what is open of a schema for a run.

    Attributes:
        run_flags: of the run.
        budget: its settings, or those of its budget alone.
        counts_cells: whether the run counts records in cells, for which quantiles are good.
        reused: flag of an earlier release that the run uses again, and that has its own schema.
        complete_settings: `(settings, spec) -> settings` of the run's method, which refuses what
            does not do for so many records and classes; None where nobody knows the method.
    """

    run_flags: Any
    budget: Any
    counts_cells: bool
    reused: str | None = None
    complete_settings: Callable[[Any, Spec], Any] | None = None

    def wants(self, opened: OpenSchema) -> bool:
        """Whether something is to be bought, or was bought before.

        Raises:
            InputError: a schema is needed, and none is to be bought.
        """
        if opened.stored.get("bought") is not None:
            return False
        share = self.run_flags.schema_share
        if share == 0 or self.reused:
            if self.reused and file_of(self.run_flags).exists():
                return bool(opened.open)
            if not opened.must_be_bought:
                return False
            flag = f"--{self.reused}" if self.reused else "--schema_share=0"
            facts = "; ".join(f"{name}: {', '.join(own)}" for name, own in _open(opened).items())
            raise InputError(f"{flag}: nothing is bought, and the schema leaves open {facts}")
        few = len(opened.schema.declared) <= MOST_PAIRED
        has_bins = any(BINS in facts for facts in opened.open.values())
        return opened.must_be_bought or (
            has_bins and ((self.counts_cells and few) or share is not None)
        )

    def complete(self, opened: OpenSchema, records: RawRecords) -> Schema:
        """Return the schema: that of an earlier purchase, or of one that is made now.

        Raises:
            InputError: there is another schema in the file's place, it cannot be written, or the
                budget of the dataset does not suffice.

        Guarantee:
            The purchase is in the ledger of the dataset before it draws noise, and on disk before
            anything is made of it. Of runs that need it at once, one makes it; the others wait.
        """
        path = file_of(self.run_flags)
        if path.exists():
            return self._again(path, opened, raw.length(records))
        self._require_new_run(path)
        self._require_terms(raw.length(records))
        self._require_settings(opened, raw.length(records))
        if processes.are_several():
            raise InputError(
                "--num_processes: each process would buy a schema of its own; buy it by a run in "
                f"one process first, then {path} is used again by all of them"
            )
        purchase = Purchase(
            epsilon=self.budget.eps,
            delta=self.budget.delta,
            share=share_of(self.run_flags, opened),
            records_per_person=self.run_flags.records_per_person or 1,
            noise_seed=self.budget.noise_seed,
            relation=self.budget.relation,
            persons_declared=self.run_flags.records_per_person is not None,
        )
        with purchase_lock.held(path):
            if path.exists():  # bought since
                return self._again(path, opened, raw.length(records))
            terms = Terms(
                covers=(),
                target_epsilon=self.budget.eps,
                allow_delta=self.budget.allow_delta,
                allow_epsilon=self.budget.allow_epsilon,
            )
            return bought(self.run_flags, opened, purchase, records, path, terms)

    def _require_new_run(self, path: Path) -> None:
        """Raise an `InputError` where a run is resumed whose schema is gone, which costs again."""
        out = self.run_flags.out_dir
        begun = out is None or (user_path(out, "out_dir") / "config.json").exists()
        if self.run_flags.resume and begun:
            raise InputError(
                f"--resume: {path} is gone, which the run was begun with; put it back, or start a "
                "new run"
            )

    def _require_terms(self, num_records: int) -> None:
        """Raise an `InputError` where what the run releases would not be, or of fewer records."""
        if self.run_flags.subset is not None:
            raise InputError(
                f"--subset={self.run_flags.subset}: a schema is bought of all records; buy it by a "
                "run without --subset first"
            )
        if self.budget.delta >= 1 / num_records and not self.budget.allow_delta:
            raise InputError(
                f"--delta={self.budget.delta:g}: is not below 1/n = {1 / num_records:g}: nothing "
                "may leave, and the schema would be bought in vain; lower it, as "
                f"--delta={0.1 / num_records:.0e}, or say --allow_delta"
            )

    def _require_settings(self, opened: OpenSchema, num_records: int) -> None:
        """Raise a `SettingsError` where the method would refuse the run, whatever is bought."""
        if self.complete_settings is not None:
            schema = AsIfComplete().complete(opened)
            self.complete_settings(self.budget, Spec.table("table", schema, num_records))

    def _again(self, path: Path, opened: OpenSchema, num_records: int) -> Schema:
        """Return the schema of an earlier purchase.

        Raises:
            InputError: it is of another draft, or a share is asked for.
        """
        found = _filled(path, opened, self.run_flags.no_header)
        if self.run_flags.schema_share is not None and not self.run_flags.resume:
            raise InputError(
                f"--schema_share={self.run_flags.schema_share:g}: {path} was bought before; leave "
                "the flag out to use it again, or remove the file to buy it anew"
            )
        if found is None:
            raise _of_another(path, f"--schema={self.run_flags.schema}")
        assert found.bought is not None
        before = found.bought.ledger.get("num_examples")
        other = f" (of {before} records, and here are {num_records})"
        print(
            f"{path}: bought before{other if before != num_records else ''}, and used again at no "
            "cost",
            file=sys.stderr,
        )
        return found


def share_of(run_flags: Any, opened: OpenSchema) -> float:
    """Return the part of the budget that a purchase takes."""
    return run_flags.schema_share or (SHARE if opened.must_be_bought else SHARE_OF_BINS)


def earlier(path: Path, opened: OpenSchema) -> Schema:
    """Return an open schema that an earlier purchase completes, as a run uses it again.

    Args:
        path: file of the purchase.
        opened: the schema.

    Raises:
        InputError: the file is no schema, or of another one.
    """
    header = opened.schema.csv.header
    found = _filled(path, opened, None if header is None else not header)
    if found is None:
        raise _of_another(path, "what is said of the columns now")
    return found


def _filled(path: Path, opened: OpenSchema, no_header: bool | None) -> Schema | None:
    """Return the schema with what a file has of its open facts; None where that is of another.

    Raises:
        InputError: the file is no schema.
    """
    try:
        stored = read_schema(path)
        if no_header is not None:
            dialect = dataclasses.replace(stored.csv, header=not no_header)
            stored = dataclasses.replace(stored, csv=dialect)
        return opened.filled_by(stored)
    except SchemaError as error:
        raise InputError(
            f"{error}; declare it otherwise in the schema of the run, or remove {path} to buy it "
            "anew"
        ) from error


def _of_another(path: Path, schema: str) -> InputError:
    return InputError(
        f"{path}: was bought for another schema than {schema}: take back what was changed there, "
        "or give this file by --schema. Who removes it buys anew, which spends budget again"
    )


def bought(
    run_flags: Any,
    opened: OpenSchema,
    purchase: Purchase,
    records: RawRecords,
    path: Path,
    terms: Terms,
) -> Schema:
    """Buy a schema, enter that into the ledger of the dataset, and write the file.

    Args:
        run_flags: of the run that needs it.
        opened: what is open.
        purchase: what it may cost.
        records: private.
        path: of the file.
        terms: of what the run will release, earlier runs aside.

    Raises:
        InputError: as `SchemaBuyer.complete`; or earlier runs would keep the result of the run from
            leaving.
    """
    planned = Planned(opened, purchase, raw.length(records))
    ledger = planned.ledger
    counts = ledger is not None and ledger.is_private and not ledger.seeded_noise
    file = dataset_ledgers.of_run(run_flags) if counts else None
    if file is not None and ledger is not None:
        budget = run_flags.budget and TotalBudget(run_flags.budget, purchase.delta)
        with dataset_ledgers.in_one_line(file):
            file.path.parent.mkdir(parents=True, exist_ok=True)
            persons = run_flags.records_per_person is not None
            # The run that follows is to have room, too.
            file.require_room(planned.whole, budget=budget, persons=persons)
            _require_releasable(planned.whole, file, terms)
            file.enter(planned.name, SCHEMA, ledger, budget=budget, persons=persons)
            file.finish(planned.name, {})
    try:
        found = planned.buy(records)
    except UncertainClassesError as error:
        write(path, error.schema)
        raise InputError(
            f"--schema: column {error.target.name!r} is the target, and noise leaves fewer than "
            f'two classes certain. All else is bought and in {path}: declare the "categories" of '
            "the target in the schema, and run again at no further cost"
        ) from error
    except SchemaError as error:
        lost = (
            ""
            if ledger is None
            else f"; epsilon {rounded_up(ledger.epsilon())} is spent all the same"
        )
        raise InputError(f"--schema: {error}{lost}") from error
    write(path, found)
    spent = "" if ledger is None else f" {_price(purchase, ledger)}"
    is_hidden = counts or ledger is None
    leaves = "may leave with the run's result" if is_hidden else "must stay: no noise hides them"
    print(
        f"bought of {raw.length(records)} records{spent}: {_told(opened)}\n"
        f"  the complete schema is in {path}; its facts {leaves}",
        file=sys.stderr,
    )
    return found


def _require_releasable(whole: Ledger, file: DatasetLedger, terms: Terms) -> None:
    """Raise an `InputError` where earlier runs would keep what could be released from leaving."""
    earlier = tuple(entry.ledger for entry in file.read().entries)
    alone, together = (
        certify(whole, dataclasses.replace(terms, earlier=before)) for before in (None, earlier)
    )
    if earlier and alone["releasable"] and not together["releasable"]:
        raise InputError(f"--ledger={file.path}: {together['not_releasable_reason']}")


def _price(purchase: Purchase, ledger: Ledger) -> str:
    """Say which part of the budget was paid, and that it is not as much of epsilon."""
    if not ledger.is_private:
        return "without noise"
    return (
        f"with a share of {purchase.share:g} of the budget (--schema_share; by itself that would "
        f"be epsilon {rounded_up(ledger.epsilon())})"
    )


def file_of(run_flags: Any) -> Path:
    """Return the file of a table's schema that was bought."""
    if run_flags.schema_out is not None:
        return user_path(run_flags.schema_out, "schema_out")
    data = user_path(run_flags.csv, "csv")
    return data.with_name(f"{table_name(data)}{ENDING}")


def found_beside(run_flags: Any) -> Path | None:
    """Return the file of a table's schema that is there already; None where there is none.

    The draft comes before what was bought, so that a run and its resumption name the same one.

    Raises:
        InputError: what is there is no plain file.
    """
    data = user_path(run_flags.csv, "csv")
    places = (schema_file(data), file_of(run_flags))
    found = next((path for path in places if path.exists()), None)
    if found is not None and not found.is_file():  # nobody has named it, and it may never end
        raise InputError(f"{found}: is no plain file, and stands where a schema of the table is")
    return found


def write(path: Path, schema: Schema) -> None:
    """Write a schema file, one column a line.

    Raises:
        InputError: it cannot be written.
    """
    try:
        new_files.write(path, schema_files.as_text(schema.to_json()).encode())
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error


def _open(opened: OpenSchema) -> dict[str, tuple[str, ...]]:
    """Return the facts that a run cannot do without."""
    left = {name: tuple(f for f in facts if f != BINS) for name, facts in opened.open.items()}
    return {name: facts for name, facts in left.items() if facts}


def _told(opened: OpenSchema) -> str:
    """Say what was bought, in a line."""
    facts = [fact for own in opened.open.values() for fact in own]
    counts = {fact: facts.count(fact) for fact in dict.fromkeys(facts)}
    return ", ".join(f"{fact} of {num} column{'s' * (num > 1)}" for fact, num in counts.items())
