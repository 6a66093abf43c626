"""How many cells a pair of a table's columns has, by its schema alone.

The overlap of a pair of columns is the part of the records that a made and a private table have in
common: `sum_k min(p_k, q_k)` over the cells k of the pair, which is 1 less their total variation.
Numbers are cut into twentieths of the private ones there, so a pair of numbers has 400 cells.
"""

from itertools import combinations

from jaxdp.tables.columns import Column
from jaxdp.tables.schema import Schema

_NUMBERS = 20


def pair_cells(schema: Schema) -> float:
    """Return K, the mean number of cells of a pair of columns; 0 where there is one column.

    Examples:
        >>> import jaxdp
        >>> from jaxdp.program.runs.pair_cells import pair_cells
        >>> age = {"type": "numeric", "lower": 0, "upper": 120}
        >>> ill = {"type": "categorical", "categories": ["no", "yes"], "other": False}
        >>> pair_cells(jaxdp.tables.Schema.from_json({"columns": {"age": age, "ill": ill}}))
        40.0
    """
    numbers = [_cells(column) for column in schema.declared]
    pairs = [a * b for a, b in combinations(numbers, 2)]
    return sum(pairs) / len(pairs) if pairs else 0.0


def _cells(column: Column) -> int:
    """Return the most cells of a column, one for missing values included."""
    found = len(column.values)
    if column.is_numeric:
        low, high = column.bounds
        found = min(_NUMBERS, int(high - low) + 1) if column.is_whole else _NUMBERS
    return found + column.nullable
