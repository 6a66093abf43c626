"""The curve of what is likely to be reached over epsilon, with a band that four of five sets keep.

It goes by measured public sets and by theory, and by public facts: shape, n, classes, schema.
Nothing here sees data. The band is Student's interval for one more set: of images about the mean of
sets with as many channels and about as many classes, of tables as `expected_tables` says. Images'
gains, `(accuracy - guess) / (100 - guess)`, are taken by their log odds there.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxdp.data import Spec
from jaxdp.program.runs import expectation, expected_tables
from jaxdp.program.runs.expected_tables import BAND
from jaxdp.program.runs.measured import Point

EPSILONS = tuple(float(each) for each in np.geomspace(0.1, 10, 41))
"""Those that a curve is drawn at."""
BAND_NAME = "4 of 5 such sets"
ACCURACY, OVERLAP = "test accuracy", "overlap of pairs"
OVERLAP_MEANS = (
    "The overlap is the part of the records that both tables have in common in two columns, the "
    "mean over pairs; numbers are cut into twentieths."
)
# Gains are taken as no nearer to 0 and 1, where log odds end.
_LEAST, _MOST = 0.01, 0.995
# Where the band is computed, between which it is straight; it never falls with epsilon.
_GRID = np.geomspace(0.01, 1000, 61)


def epsilons_with(chosen: float) -> tuple[float, ...]:
    """Return the epsilons of a curve, and one more in its place; infinity is none."""
    if not math.isfinite(chosen):
        return EPSILONS
    wider = np.geomspace(min(EPSILONS[0], chosen), max(EPSILONS[-1], chosen), len(EPSILONS))
    return tuple(sorted({*map(float, wider), chosen}))


class At(NamedTuple):
    """What is expected at an epsilon, in percent: the band and its middle."""

    epsilon: float
    low: float
    middle: float
    high: float

    def __str__(self) -> str:
        """Show it in words."""
        low, middle, high = (f"{each:.0f}" for each in self[1:])
        return f"epsilon {self.epsilon:g}: about {middle} %, {BAND_NAME} {low} to {high} %"


class Curve(NamedTuple):
    """What is expected over epsilon.

    Attributes:
        measure: `ACCURACY` or `OVERLAP`.
        points: by epsilon.
        ceiling: without privacy, in percent.
        guess: of who has seen no data; of tables, of columns that are made one by one.
        names: of the measured sets that it goes by.
        caution: why it may be far off; empty where sets like this have been measured.
    """

    measure: str
    points: tuple[At, ...]
    ceiling: float
    guess: float
    names: tuple[str, ...]
    caution: str

    def at(self, epsilon: float) -> At | None:
        """Return what is expected at one of the curve's epsilons; None at others."""
        return next((each for each in self.points if each.epsilon == epsilon), None)

    @property
    def guess_name(self) -> str:
        """What `guess` is called."""
        return "guessing" if self.measure == ACCURACY else "columns apart"

    @property
    def ceiling_name(self) -> str:
        """What `ceiling` is called."""
        return "without privacy"


def curve(
    spec: Spec, epsilons: Sequence[float] = EPSILONS, *, without: Collection[str] = ()
) -> Curve | None:
    """Return what the method that comes first for such data is likely to reach.

    Of images that is the accuracy of a teacher, of tables the overlap of pairs of columns in what
    `jaxdp table` makes: the part of the records that both tables have in common in two columns.

    Args:
        spec: facts about the data.
        epsilons: finite budgets, ascending.
        without: names of measured sets that are left out, to see whether they would be held.

    Returns:
        None where no measured set is like it: `why_none` says so.

    Examples:
        >>> from jaxdp.data import Spec
        >>> from jaxdp.program.runs.expected_curve import curve
        >>> spec = Spec.images("own", (3000, 28, 28, 1), class_names=["no", "yes", "maybe"])
        >>> found = curve(spec, (0.3, 3.0))
        >>> [round(each.middle) for each in found.points], found.names[0]
        ([86, 94], 'MNIST')
    """
    if why_none(spec, without=without):
        return None
    choose = spec.kind.choose(images=_of_images, rows=_of_table, table=_of_table)
    return choose(spec, epsilons, without)


def of_run(method: str, settings: Any, spec: Spec) -> Curve | None:
    """Return the curve of a run's method, its epsilon among the others; None where nobody can say.

    Args:
        method: of `jaxdp.methods`.
        settings: complete.
        spec: facts about the data.
    """
    is_table = spec.kind.choose(images=False, rows=True, table=True)
    measured = method == ("marginals" if is_table else "teacher")
    if not measured or getattr(settings, "match", "teacher") != "teacher":
        return None
    return curve(with_all_noise(spec, settings.contributions), epsilons_with(settings.eps))


def with_all_noise(spec: Spec, contributions: int) -> Spec:
    """Return the facts of data where a person has as many records as a neighbour of a run moves.

    Measured runs are of zero-out. Where records are replaced, noise is as large as that of two
    records of a person; that of a table's counts is less, by the square root of two.

    Args:
        spec: facts about the data.
        contributions: as `jaxdp.privacy.relations.contributions` of the run's relation.
    """
    return dataclasses.replace(spec, records_per_person=spec.records_per_person * contributions)


def why_none(spec: Spec, *, without: Collection[str] = ()) -> str:
    """Return why there is no curve; empty where there is one."""
    if spec.kind.choose(images=False, rows=True, table=True):
        return expected_tables.can_tell(spec)
    if not expectation.like(spec, without=without):
        return "no measured set of images has about so many classes"
    return ""


def _of_images(spec: Spec, epsilons: Sequence[float], without: Collection[str]) -> Curve:
    sets = expectation.like(spec, without=without)
    guess = 100 / spec.num_classes
    found = np.array([_band(sets, spec, epsilon) for epsilon in _GRID])
    # What can be reached never falls with epsilon, so neither does where it is likely to be.
    low, middle = np.maximum.accumulate(found[:, :2]).T
    high = np.minimum.accumulate(found[::-1, 2])[::-1]
    rising = guess + (100 - guess) * np.stack([low, middle, np.maximum(high, middle)], axis=1)
    places = np.log(_GRID)
    bands = np.stack([np.interp(np.log(epsilons), places, each) for each in rising.T], axis=1)
    caution = ""
    if len(sets) == 1:
        caution = "one measured set alone is like yours: there is no band"
    elif not expectation.is_as_small(spec):
        caution = "measured images are smaller than yours"
    return Curve(
        ACCURACY,
        tuple(At(e, *map(float, band)) for e, band in zip(epsilons, bands, strict=True)),
        guess + (100 - guess) * max(_band(sets, spec, math.inf)[1], float(found[-1, 1])),
        guess,
        tuple(sets),
        caution,
    )


def _band(
    sets: Mapping[str, Sequence[Point]], spec: Spec, epsilon: float
) -> tuple[float, float, float]:
    """Return the gains at the low end of the band, at its middle and at its high end."""
    guess = 100 / spec.num_classes
    gains = (expectation.scores_of(sets, spec, epsilon) - guess) / (100 - guess)
    gains = np.clip(gains, _LEAST, _MOST)
    odds = np.log(gains / (1 - gains))
    middle = float(odds.mean())
    if len(sets) == 1:
        return 0.0, _gain(middle), 1.0
    from scipy.stats import t as student  # takes a while

    half = float(student.ppf((1 + BAND) / 2, len(sets) - 1)) * float(odds.std(ddof=1))
    half *= math.sqrt(1 + 1 / len(sets))
    return _gain(middle - half), _gain(middle), _gain(middle + half)


def _gain(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def _of_table(spec: Spec, epsilons: Sequence[float], without: Collection[str]) -> Curve:
    found = expected_tables.overlaps(spec, epsilons, without=without)
    guess, ceiling = expected_tables.ends(spec, without=without)
    unlike = [each for each in epsilons if not expected_tables.is_like(spec, each)]
    caution = ""
    if len(unlike) > len(epsilons) / 2:
        caution = "no measured table is like yours in records, columns and their values"
    return Curve(
        OVERLAP,
        tuple(At(e, *overlap) for e, overlap in zip(epsilons, found, strict=True)),
        ceiling,
        guess,
        expected_tables.names(without=without),
        caution,
    )
