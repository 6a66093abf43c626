"""Whether the first line of a CSV file names its columns, or is a record of somebody.

The names of columns go into files that may leave. So a file without a header would publish its
first record, and lose it.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from jaxdp.tables.columns import as_text
from jaxdp.tables.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

# Of the columns: so many numbers as names, or values that are there again, make a record of them.
_MANY = 0.25
_NO_HEADER = (
    "has the file no header line? Then say --no_header, and columns are called column_1, column_2"
)
_ASK = f"{_NO_HEADER}; if these are names, say --no_header=false"


def public_names(num: int) -> list[str]:
    """Return the names of the columns of a file that names none."""
    return [f"column_{number}" for number in range(1, num + 1)]


def fault_of_schema(schema: Schema) -> str | None:
    """Return why the names that a schema declares are no names; None where they may be.

    A run asks this, and looks at nothing else.

    Guarantee:
        The answer follows from the schema alone, which is public. So a run that is refused by it
        tells nothing of the records; and a file whose first line is not as the schema has it is
        refused anyway, in the same words whatever stands there.
    """
    own = sum(as_text(column.name) in column.categories for column in schema.declared)
    names = [*schema.order, *schema.dropped]
    is_record = _are_numbers(names) or own >= max(1, _MANY * len(names))
    return f"the names of its columns look like a record: {_ASK}" if is_record else None


def fault_of_table(names: list[str], records: pd.DataFrame) -> str | None:
    """Return why the first line of a file is no header; None where it may be one.

    A draft asks this. Its answer is for who holds the data, and no name is in it.
    """
    again = sum(
        name != "" and name in set(map(as_text, records.iloc[:, place]))
        for place, name in enumerate(map(as_text, names))
    )
    is_record = _are_numbers(names) or again >= max(1, _MANY * len(names))
    return f"the first line looks like a record: {_ASK}" if is_record else None


def without_names(names: list[str]) -> str | None:
    """Return which columns have no name; None where all have one."""
    places = [str(place) for place, name in enumerate(names, 1) if not name.strip()]
    if not places:
        return None
    *first, last = places
    which = f"columns {', '.join(first)} and {last} have" if first else f"column {last} has"
    return f"{which} no name: name them in the first line, or take them out of the file"


def twice(names: list[str], declared: frozenset[str], *, is_header: bool = True) -> str | None:
    """Return which names are there twice, by their places where a schema does not know them.

    Args:
        names: of the columns.
        declared: names that a schema knows, which are public.
        is_header: whether somebody has said that these are names, or the file cannot have others.
    """
    found = []
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            places = [str(place) for place, each in enumerate(names, 1) if each == name]
            found.append(
                f"column {name!r} is there twice"
                if name in declared
                else f"columns {' and '.join(places)} have the same name"
            )
    if not found:
        return None
    record = "" if is_header else f"; {_NO_HEADER}"
    return f"{'; '.join(found)}: rename all but one of them{record}"


def _are_numbers(names: list[str]) -> bool:
    """Return whether many names are numbers, and not ascending ones as years or 0, 1, 2."""
    numbers = []
    for name in names:
        try:
            numbers.append(float(name.strip().strip("'\"")))
        except ValueError:
            continue
    are_ascending = all(a < b for a, b in itertools.pairwise(numbers))
    is_row = are_ascending and all(number % 1 == 0 for number in numbers) and len(numbers) > 2
    return len(numbers) >= max(2, _MANY * len(names)) and not is_row
