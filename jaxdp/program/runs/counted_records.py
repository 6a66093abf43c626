"""More records from the counts that a run on a table has released: post-processing."""

import dataclasses
import sys
from typing import Any

import numpy as np

from jaxdp.data import Spec
from jaxdp.methods import marginals
from jaxdp.methods.made import Made
from jaxdp.methods.runner import PlainRunner
from jaxdp.methods.stored import Earlier
from jaxdp.program.errors import InputError
from jaxdp.saved.folder import SavedFolder
from jaxdp.tables.columns import SchemaError
from jaxdp.tables.schema import Schema

_MORE = 20261130  # tells the chance of these records from a run's


def draw(
    folder: SavedFolder, name: str, *, num: int, given: str | None, seed: int
) -> tuple[Made, dict[str, Any]]:
    """Return records of the model that is fitted to counts, and the certificate of the counts.

    Args:
        folder: of the run.
        name: of the file of counts in it.
        num: how many records.
        given: what holds of all of them; None for nothing.
        seed: public.

    Raises:
        InputError: the file cannot be trusted.
        SettingsError: the condition is none, or holds of too few records.
    """
    stored = folder.released(name, marginals.FORM)
    try:
        schema = Schema.from_json(stored.schema)
    except SchemaError as error:
        raise InputError(f"{folder.flag}: its counts have no schema ({error})") from error
    ledger = stored.certificate["ledger"]
    spec = Spec.table(folder.path.name, schema, ledger["num_examples"])
    most, persons = ledger["records_per_person"], stored.certificate.get("persons_declared")
    if most > 1 or persons:
        spec = spec.of_persons(most)
    # Chance of its own, or the run's records would be drawn again.
    own = int(np.random.SeedSequence((_MORE, seed)).generate_state(1, np.uint64)[0] >> np.uint64(1))
    asked = marginals.Settings(num_synthetic=num, given=given, seed=own)
    asked = dataclasses.replace(asked, steps=_steps_of(folder) or asked.steps)
    complete = marginals.complete(asked, spec)
    plan = marginals.make_plan(complete, spec, Earlier(stored=stored))
    print(
        f"fitting the model of counts again in {complete.steps} steps, about as long as the run "
        "took: a release keeps the counts, and not the model",
        file=sys.stderr,
    )
    made = plan.finish(stored.released, PlainRunner())
    return dataclasses.replace(made, released=stored.released), stored.certificate


def _steps_of(folder: SavedFolder) -> int | None:
    """Return in how many steps the run has fitted its model; None where its folder does not say."""
    steps = folder.config.get("steps")
    return steps if type(steps) is int and steps > 0 else None
