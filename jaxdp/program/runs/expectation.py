"""What a private teacher of images is likely to reach, before anything is spent.

Measured sets of the same number of channels say so, each at the same number of examples and
epsilon, between which it was measured. Beyond them it counts that noise goes by n epsilon: more
examples than any measured set has are taken for as many as it has with more of epsilon. All of it
is public: nothing here sees data.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxdp.data import Spec
from jaxdp.program.runs.measured import POINTS, Point

# How far the classes and the sides of a measured set may be to be like others.
_ALIKE_CLASSES, _LARGEST = 4.0, 32
# Part of what could be learnt without privacy that makes an epsilon worth it; epsilons tried.
_WORTH, _TRIED = 0.75, (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)


class Range(NamedTuple):
    """Where measured sets lie, in percent."""

    low: float
    high: float

    def __str__(self) -> str:
        """Show it, in words that begin in the middle of a line."""
        low, high = round(self.low), round(self.high)
        return f"about {low} %" if high - low < 2 else f"{low} to {high} %"


class Expectation(NamedTuple):
    """What a teacher's accuracy is likely to be.

    Attributes:
        accuracy: at this epsilon.
        ceiling: without privacy, of as many examples.
        guess: who always names one of classes that are equally common, in percent.
        worth_from: the least epsilon that gives three quarters of what can be learnt; None where
            none up to 10 does.
        names: of the measured sets.
        is_like: whether their images are about as large as those in question.
    """

    accuracy: Range
    ceiling: Range
    guess: float
    worth_from: float | None
    names: tuple[str, ...]
    is_like: bool

    def __str__(self) -> str:
        """Show it in a line."""
        like = "" if self.is_like else ", whose images are smaller"
        parts = [
            f"accuracy of {self.accuracy} (measured on {', '.join(self.names)}{like})",
            f"without privacy {self.ceiling}",
            f"guessing {self.guess:.0f} %",
        ]
        if self.worth_from is None:
            parts.append("no epsilon up to 10 is worth it")
        else:
            parts.append(f"worth it from epsilon {self.worth_from:g} on")
        return "; ".join(parts)


def of_teacher(spec: Spec, epsilon: float) -> Expectation | None:
    """Return what a teacher of images is likely to reach; None where no set has about the classes.

    Args:
        spec: facts about the images.
        epsilon: the budget; infinity for none.
    """
    sets = like(spec)
    if not sets:
        return None
    guess = 100 / spec.num_classes

    def scores(tried: float) -> np.ndarray:
        return scores_of(sets, spec, tried)

    gains = {
        tried: np.mean((scores(tried) - guess) / (scores(math.inf) - guess + 1e-9))
        for tried in _TRIED
    }
    return Expectation(
        Range(*_ends(scores(epsilon))),
        Range(*_ends(scores(math.inf))),
        guess,
        next((tried for tried in _TRIED if gains[tried] >= _WORTH), None),
        tuple(sets),
        is_as_small(spec),
    )


def like(spec: Spec, *, without: Collection[str] = ()) -> dict[str, list[Point]]:
    """Return the points of measured sets with as many channels and about as many classes.

    Args:
        spec: facts about the images.
        without: names of sets that are left out.
    """
    colour = "grey" if spec.shape[-1] == 1 else "colour"
    sets: dict[str, list[Point]] = {}
    for point in POINTS:
        is_of = point.method == "teacher" and point.kind == colour and point.data not in without
        if is_of and 1 / _ALIKE_CLASSES <= point.num_classes / spec.num_classes <= _ALIKE_CLASSES:
            sets.setdefault(point.data, []).append(point)
    return sets


def is_as_small(spec: Spec) -> bool:
    """Whether images are no larger than measured ones."""
    return max(spec.shape[:2]) <= _LARGEST


def scores_of(sets: Mapping[str, Sequence[Point]], spec: Spec, epsilon: float) -> np.ndarray:
    """Return what each set reaches with the examples and classes of a spec, in percent.

    Args:
        sets: points of each, as `like` returns them.
        spec: facts about the images.
        epsilon: infinity for none. Noise is as many times larger as a person has records, so
            measured sets, where a record is a person, are looked up at a part of it.
    """
    guess = 100 / spec.num_classes
    of_record = epsilon / spec.records_per_person
    found = [
        _of_other_classes(each, at(each, spec.num_examples, of_record), guess)
        for each in sets.values()
    ]
    return np.maximum(found, guess)


def _of_other_classes(points: Sequence[Point], score: float, guess: float) -> float:
    """Return a set's score in a scale that has another guess, and 100 at its top as well."""
    own = 100 / points[0].num_classes
    return 100 - (100 - score) * (100 - guess) / (100 - own)


def _ends(scores: np.ndarray) -> tuple[float, float]:
    return float(np.min(scores)), float(np.max(scores))


def at(points: Sequence[Point], n: int, epsilon: float) -> float:
    """Return the accuracy of a set at a number of examples and an epsilon, in percent.

    Args:
        points: of one set.
        n: number of examples.
        epsilon: infinity for none.
    """
    by_epsilon: dict[float, dict[int, float]] = {}
    for point in points:
        by_epsilon.setdefault(point.epsilon, {})[point.num_examples] = point.score
    without = _at_size(by_epsilon[math.inf], n) if math.inf in by_epsilon else None
    known = sorted(each for each in by_epsilon if each < math.inf)
    if math.isinf(epsilon) and without is not None:
        return max(without, *(_at_size(by_epsilon[each], n) for each in known))
    # Each epsilon where it was measured on so many; on fewer, as if n epsilon were the same.
    places, scores = [], []
    for each in known:
        sizes = by_epsilon[each]
        nearest = min(max(n, min(sizes)), max(sizes))
        places.append(math.log(each * nearest / n))
        scores.append(_at_size(sizes, nearest))
    order = np.argsort(places)
    places, scores = [places[place] for place in order], [scores[place] for place in order]
    place = math.log(epsilon)
    if place < places[0]:
        # With little of epsilon what is gained over a guess goes by n epsilon: on 300 of MNIST 12
        # of 100 at epsilon 0.3 and 40 at 1.
        guess = 100 / points[0].num_classes
        return min(scores[0], guess + (scores[0] - guess) * math.exp(place - places[0]))
    if place > places[-1] and without is not None:
        # Half of what is missing at twice the epsilon.
        missing = max(0.0, without - scores[-1]) * math.exp(places[-1] - place)
        return max(without, scores[-1]) - missing
    return float(np.interp(place, places, scores))


def _at_size(by_size: dict[int, float], n: int) -> float:
    sizes = sorted(by_size)
    return float(np.interp(math.log(n), np.log(sizes), [by_size[size] for size in sizes]))
