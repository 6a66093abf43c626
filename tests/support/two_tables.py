"""Columns of a private and a made table, for tests of their comparison."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxdp.program.evaluation.fidelity.values import Values
from jaxdp.tables.columns import Column


def numbers(real: Any, made: Any, test: Any = (), *, name: str = "n", **more: Any) -> Values:
    """Return a column of numbers; NaN is missing."""
    facts = {"type": "numeric", "lower": -(10**6), "upper": 10**6, "nullable": True} | more
    sides = (np.asarray(side, np.float64) for side in (real, made, test))
    return Values(Column(name=name, **facts), (), *sides)


def categories(
    real: Any, made: Any, test: Any = (), *, name: str = "c", names: str = "abcdefgh"
) -> Values:
    """Return a column of places of categories; -1 is missing."""
    declared = Column(name=name, type="categorical", categories=tuple(names), other=False)
    sides = (np.asarray(side, np.int64) for side in (real, made, test))
    return Values(declared, tuple(names), *sides)
