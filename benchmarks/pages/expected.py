"""The curve that `jaxdp recommend` draws, and whether its band holds sets that it has not seen."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

from benchmarks.pages.text import table
from jaxdp.data import Spec
from jaxdp.program.report import curve_text
from jaxdp.program.runs import expected_curve, expected_tables, recommendation
from jaxdp.program.runs.measured import POINTS, TABLES

_KINDS = {"grey": 1, "colour": 3}


class Held(NamedTuple):
    """A measured set, and how many of its figures the others' band has."""

    name: str
    kind: str
    inside: int
    number: int


def held(kind: str) -> list[Held]:
    """Return how many figures of each set are in the band without it; of images or of tables."""
    found: dict[tuple[str, str], list[bool]] = {}
    for name, of, inside in _images() if kind == "images" else _tables():
        found.setdefault((name, of), []).append(inside)
    return [Held(*key, sum(each), len(each)) for key, each in found.items()]


def _images() -> Iterator[tuple[str, str, bool]]:
    for point in POINTS:
        if point.method != "teacher" or point.kind not in _KINDS or math.isinf(point.epsilon):
            continue
        names = [str(label) for label in range(point.num_classes)]
        shape = (point.num_examples, 28, 28, _KINDS[point.kind])
        spec = Spec.images("out", shape, class_names=names)
        curve = expected_curve.curve(spec, (point.epsilon,), without=(point.data,))
        if curve is not None:
            (at,) = curve.points
            yield point.data, f"{point.kind} images", at.low <= point.score <= at.high


def _tables() -> Iterator[tuple[str, str, bool]]:
    for made in TABLES:
        if made.method == "model":
            at = expected_tables.again(made, without=expected_tables.held_out(made.data))
            yield made.data, "table", at.low <= made.overlap <= at.high


def share(sets: list[Held]) -> float:
    """Return the part of the figures of some sets that is inside."""
    return sum(each.inside for each in sets) / sum(each.number for each in sets)


def left_out() -> str:
    """Return how many figures of each set are in the band without it, and the parts of all."""
    images, tables = held("images"), held("tables")
    rows = [(s.name, s.kind, f"{s.inside} of {s.number}") for s in (*images, *tables)]
    rows += [
        (f"all {name}", "", f"{100 * share(some):.0f} %")
        for name, some in (("images", images), ("tables", tables))
    ]
    headings = ("set that was left out", "kind", "in the band of the others")
    return table(rows, {name: itemgetter(i) for i, name in enumerate(headings)})


def curve_of_images() -> str:
    """Return the curve of 540 grey images of three classes, at epsilon 2."""
    spec = recommendation.spec_of((32, 32, 1), 540, 3)
    return _shown(spec, 2.0)


def curve_of_a_table() -> str:
    """Return the curve of a table of 3000 records and 12 columns, at epsilon 1."""
    return _shown(recommendation.spec_of((11,), 3000, 2), 1.0)


def _shown(spec: Spec, epsilon: float) -> str:
    curve = expected_curve.curve(spec, expected_curve.epsilons_with(epsilon))
    assert curve is not None
    return textwrap.indent(curve_text.text(curve, chosen=epsilon), " " * 4)
