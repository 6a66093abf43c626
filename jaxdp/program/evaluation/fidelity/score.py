"""One score of a comparison, from 0 to 1: the mean of what SDMetrics calls shapes and trends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxdp.program.evaluation.fidelity.associations import PEARSON, Pair
from jaxdp.program.evaluation.fidelity.columns import Compared

_STRONG_CORRELATION, _STRONG = 0.5, 0.3


class Score(NamedTuple):
    """A score; parts that are not defined are None, and count for nothing.

    The definition is that of SDMetrics' `QualityReport` without thresholds: DataCebo,
    "Synthetic Data Metrics", https://docs.sdv.dev/sdmetrics.

    Attributes:
        score: mean of `columns` and `pairs`.
        columns: mean over columns of 1 less the KS statistic or the total variation.
        pairs: mean over pairs of their `similarity`.
        strong_pairs: the same over pairs that go together in the private table: by a correlation
            beyond 0.5, or by Cramer's V, of numbers cut into bins, beyond 0.3. SDMetrics 0.32
            counts these alone, unless it is told otherwise. No part of the score.
    """

    score: float | None
    columns: float | None
    pairs: float | None
    strong_pairs: float | None


def score(columns: Sequence[Compared], pairs: Sequence[Pair]) -> Score:
    """Return the score of columns and pairs."""
    shapes = _mean([1 - each.apart.distance for each in columns if each.apart is not None])
    known = [(pair, pair.similarity) for pair in pairs if pair.similarity is not None]
    trends = _mean([similarity for _, similarity in known])
    strong = _mean([similarity for pair, similarity in known if _is_strong(pair)])
    parts = [part for part in (shapes, trends) if part is not None]
    return Score(_mean(parts), shapes, trends, strong)


def _is_strong(pair: Pair) -> bool:
    return pair.strength > (_STRONG_CORRELATION if pair.kind == PEARSON else _STRONG)


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
