"""The catalogue of planted bugs, by theme; `tests/mutants.py` plants them."""

from planted_bugs import (
    accounting,
    clipping,
    drivers,
    embedding,
    labelled,
    leaks,
    ledger,
    losses,
    noise,
    persons,
    sampling,
    second_releases,
    sharing,
    stored_files,
    tables,
)
from planted_bugs.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *noise.MUTANTS,
    *sampling.MUTANTS,
    *clipping.MUTANTS,
    *embedding.MUTANTS,
    *labelled.MUTANTS,
    *accounting.MUTANTS,
    *ledger.MUTANTS,
    *drivers.MUTANTS,
    *persons.MUTANTS,
    *second_releases.MUTANTS,
    *sharing.MUTANTS,
    *stored_files.MUTANTS,
    *leaks.MUTANTS,
    *losses.MUTANTS,
    *tables.MUTANTS,
)
