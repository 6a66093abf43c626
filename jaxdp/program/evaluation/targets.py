"""What made records teach of columns that are to be predicted, where these are no classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jaxdp.escapes import for_terminal
from jaxdp.program.evaluation.fidelity import models, values
from jaxdp.program.evaluation.fidelity.values import Records
from jaxdp.tables.schema import Schema

KEY = "targets"
"""Of metrics.json."""
_IN_WORDS = {"r2": "R2", "auc": "AUC", "accuracy": "accuracy"}


def judge(schema: Schema, made: Records, test: Records) -> dict[str, dict[str, Any]]:
    """Train gradient boosting on made records for each target, and test it on the test records.

    Args:
        schema: of the table; its `judged` are the targets.
        made: (n, columns) made records as stored, and (n,) their classes.
        test: the same of the test records.

    Returns:
        By target the figures by name, each with its interval of 95 %, ready for JSON.
    """
    read = values.read(schema, made, made, test, labelled=False)
    return {
        name: {measure: found._asdict() for measure, found in models.boosted(read, name).items()}
        for name in schema.judged
    }


def as_lines(metrics: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each target in the content of metrics.json."""
    for target, figures in metrics.get(KEY, {}).items():
        said = [
            f"{_IN_WORDS[measure]} {found['value']:.3f} "
            f"({found['interval'][0]:.3f} to {found['interval'][1]:.3f})"
            for measure, found in figures.items()
            if found["value"] is not None
        ]
        told = "; ".join(said) or "nothing, as test records tell none"
        yield f"{for_terminal(target)}, predicted in the test records: {told}"
