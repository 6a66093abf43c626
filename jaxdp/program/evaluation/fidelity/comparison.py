"""The whole comparison of a made table with the private one, and what a file says of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxdp.program.evaluation.fidelity import associations, columns, models, queries, values
from jaxdp.program.evaluation.fidelity.resampled import Measured
from jaxdp.program.evaluation.fidelity.score import Score, score
from jaxdp.program.evaluation.fidelity.values import Records, Values
from jaxdp.tables import obeying
from jaxdp.tables.raw import RawRecords
from jaxdp.tables.rules import Sum
from jaxdp.tables.schema import Schema

NOTE = (
    "This file is computed from private records without noise. "
    "The guarantee does not cover it: do not release it."
)
MOST_COLUMNS = 60
"""So many columns are compared in pairs, targets aside: time grows with their square."""
_SIDES = ("private", "made")
_MEASURES = {
    "ks": "largest difference of the distribution functions of numbers",
    "total_variation": "half the sum of differences of shares of categories",
    "by_chance": "about what two samples of one distribution, as large as these, differ by",
    "missing": "share of records without a value; ks and total_variation are of the others",
    "wasserstein": "mean distance by which numbers are moved to make one table of the other, as a "
    "share of the largest private number less the least",
    "spikes": "values that at least 5 % of either table's records have",
    "pearson": "correlation of two numbers, of records that have both",
    "spearman": "correlation of their ranks",
    "cramers_v": "of two categories, without its bias (Bergsma 2013); a missing one is one more",
    "correlation_ratio": "eta of a category and a number",
    "rules": "records that break each rule of the schema; totals are not read of private records",
    "queries": "shares of records that answer 200 random questions about three columns",
    "models": "trained on private and on made records, tested on those held out; intervals of 95 % "
    "by bootstrap of the test records",
    "told_apart": "AUC of gradient boosting that tells private from made records: 0.5 is best",
    "score": "mean of columns (1 - ks or 1 - total_variation) and pairs (1 - |difference of "
    "pearson| / 2, or 1 - total variation of joint counts), as SDMetrics' QualityReport has it "
    "without thresholds; strong_pairs are no part of it",
}


class Broken(NamedTuple):
    """How many records break a rule of the schema; **private**.

    Attributes:
        rule: in words.
        real: private records; None where the rule is of a total, which is not read.
        made: made records.
    """

    rule: str
    real: int | None
    made: int


class Fidelity(NamedTuple):
    """A made table beside the private one; **private**.

    Attributes:
        values: of all columns, the target of classes last where labels were used.
        records: numbers of private, made and test records.
        compared: for each column how far it is apart.
        paired: places of the columns all of whose pairs are compared.
        pairs: of these.
        queries: about these, three at a time.
        trained: models for each target.
        told_apart: how well private and made records are told apart.
        score: of columns and pairs.
        rules: how many records break each.
    """

    values: list[Values]
    records: tuple[int, int, int]
    compared: list[columns.Compared]
    paired: list[int]
    pairs: list[associations.Pair]
    queries: list[queries.Query]
    trained: list[models.Trained]
    told_apart: Measured
    score: Score
    rules: list[Broken]


def compare(
    schema: Schema,
    real: Records,
    made: Records,
    test: Records,
    *,
    labelled: bool,
    as_read: tuple[RawRecords, RawRecords] | None = None,
) -> Fidelity:
    """Compare made records with the private ones.

    Args:
        schema: of the table.
        real: (n, columns) private records as stored, and (n,) their classes.
        made: the same of the made ones.
        test: the same of the test records.
        labelled: whether classes mean anything.
        as_read: private and test records as they were read, before they were stored by the schema;
            None where nobody has them. They take the place of those that are stored but in rules.
    """
    made = obeying.obey(*made, schema), made[1]  # as it is written
    private, held_out = as_read or (real, test)
    read = values.read(schema, private, made, held_out, labelled=labelled)
    targets = list(schema.judged)
    if labelled and schema.target is not None:
        targets = [schema.target.name]
    paired = _paired(read, targets)
    compared = [columns.compare(column) for column in read]
    pairs = associations.compare(read, paired)
    return Fidelity(
        values=read,
        records=(values.length(private), len(made[0]), values.length(held_out)),
        compared=compared,
        paired=paired,
        pairs=pairs,
        queries=queries.compare([read[place] for place in paired]),
        trained=models.trained(read, targets),
        told_apart=models.told_apart(read),
        score=score(compared, pairs),
        rules=_broken(schema, real, made),
    )


def _broken(schema: Schema, real: Records, made: Records) -> list[Broken]:
    """Return how many records break each rule."""
    in_made = obeying.breaking(obeying.obeyed(*made, schema), schema, made[1])
    known = tuple(rule for rule in schema.rules if not isinstance(rule, Sum))
    in_real = obeying.breaking(obeying.read(real[0], schema), schema, real[1], of=known)
    return [Broken(rule, in_real.get(rule), num) for rule, num in in_made.items()]


def figures(found: Fidelity) -> dict[str, Any]:
    """Return what a file says of a comparison, ready for JSON; **private**."""
    return {
        "computed_on_private_data": True,
        "note": NOTE,
        "records": dict(zip((*_SIDES, "test"), found.records, strict=True)),
        "sampled": _sampled(found),
        "compared_in_pairs": in_pairs(found),
        "measures": _MEASURES,
        "score": found.score._asdict(),
        "told_apart": found.told_apart._asdict(),
        "rules": [
            {"rule": rule, "private": real, "made": made} for rule, real, made in found.rules
        ],
        "queries": _queries(found.queries),
        "models": [_trained(each) for each in found.trained],
        "columns": {each.name: columns.figures(each) for each in found.compared},
        "associations": {
            "differences": associations.differences(found.pairs),
            "pairs": [_pair(found, pair) for pair in found.pairs],
        },
    }


def in_pairs(found: Fidelity) -> str:
    """Return which columns are compared in pairs."""
    num = len(found.values)
    if len(found.paired) == num:
        return f"all {num} columns"
    return f"{len(found.paired)} of {num} columns: the first {MOST_COLUMNS}, and targets"


def mean_error(asked: Sequence[queries.Query]) -> tuple[float, float, float]:
    """Return the mean and the largest error of questions, and the mean by chance."""
    errors = [query.error for query in asked]
    chance = [query.by_chance for query in asked]
    return float(np.mean(errors)), max(errors), float(np.mean(chance))


def _paired(read: list[Values], targets: list[str]) -> list[int]:
    first = set(range(MOST_COLUMNS))
    return [place for place, column in enumerate(read) if place in first or column.name in targets]


def _sampled(found: Fidelity) -> str:
    real, made, test = found.records
    said = []
    for name, num, most in (
        ("private", real, values.MOST_RECORDS),
        ("made", made, values.MOST_RECORDS),
        ("test", test, values.MOST_TEST_RECORDS),
    ):
        if num > most:
            said.append(f"{most} of {num} {name} records")
    trained = f"models are trained on {models.MOST_TRAINING} at most"
    return f"{', '.join(said) or 'all records'} were compared; {trained}"


def _queries(asked: Sequence[queries.Query]) -> dict[str, Any]:
    mean, largest, chance = mean_error(asked)
    each = [
        {"query": query.text, "private": query.real, "made": query.made}
        for query in sorted(asked, key=lambda query: -query.error)
    ]
    return {"mean_error": mean, "by_chance": chance, "largest_error": largest, "all": each}


def _trained(of: models.Trained) -> dict[str, Any]:
    sides = {
        f"trained_on_{name}": None if each is None else each._asdict()
        for name, each in zip(_SIDES, (of.real, of.made), strict=True)
    }
    return {"target": of.target, "model": of.model, "measure": of.measure, **sides}


def _pair(found: Fidelity, pair: associations.Pair) -> dict[str, Any]:
    said: dict[str, Any] = {
        "columns": [found.values[place].name for place in pair.columns],
        pair.kind: dict(zip(_SIDES, (pair.real, pair.made), strict=True)),
    }
    if pair.ranks is not None:
        said[associations.SPEARMAN] = dict(zip(_SIDES, pair.ranks, strict=True))
    return said | {"similarity": pair.similarity}
