"""Whether a result tells classes apart better than a guess, by its figures on the test split.

Accuracy does not say so where classes have different sizes: who always names the commonest class is
right as often as there is one. Balanced accuracy, the mean of the classes' sensitivities, is 1/c
for whatever does not look at an example.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

# Standard deviations above chance that a guess reaches once in forty times.
_DEVIATIONS = 2.0
# So few test examples of a class may all be told wrong by what knows it.
_LEAST_OF_A_CLASS = 5


class Judged(NamedTuple):
    """A classifier that was tested.

    Attributes:
        name: of it, in words.
        accuracy: a fraction.
        confusion: (c, c) counts, true classes in rows, over one or several trainings; None where
            they were not kept, as of many classes.
        auc: of two classes; None of more.
        balanced: balanced accuracy, a fraction; None where it was not kept.
        commonest: share of the commonest class of the test split; None where it was not kept.
    """

    name: str
    accuracy: float
    confusion: np.ndarray | None
    auc: float | None
    balanced: float | None = None
    commonest: float | None = None

    @property
    def sensitivities(self) -> np.ndarray:
        """Of the classes in the test split (k,)."""
        assert self.confusion is not None
        rows = self.confusion.sum(axis=1)
        return np.diag(self.confusion)[rows > 0] / rows[rows > 0]


def judged(metrics: Mapping[str, Any]) -> Iterator[Judged]:
    """Yield those in metrics.json that what was made has taught, where they were tested."""
    accuracy = metrics.get("krr_test_accuracy")
    if accuracy is not None:
        yield _of("kernel ridge regression", accuracy, metrics.get("figures", {}).get("krr", {}))
    for name, found in metrics.get("accuracy", {}).items():
        if found.get("mean") is not None:
            yield _of(name, found["mean"], found.get("figures", {}))


def _of(name: str, accuracy: float, figures: Mapping[str, Any]) -> Judged:
    counts = figures.get("confusion")
    confusion = None if counts is None else np.asarray(counts)
    two = confusion is not None and len(confusion) == 2
    auc = figures.get("auc") if two else None
    balanced, commonest = (figures.get(each) for each in ("balanced_accuracy", "commonest_share"))
    return Judged(name, accuracy, confusion, auc, balanced, commonest)


class Guess(NamedTuple):
    """How often one is right who looks at no example.

    Attributes:
        any_class: naming each of c classes as often as any other, 1/c.
        commonest: always naming the commonest class of the test split.
    """

    any_class: float
    commonest: float

    @property
    def is_uneven(self) -> bool:
        """Whether a class of the test split is larger than others."""
        return self.commonest > self.any_class + 0.0005

    def __str__(self) -> str:
        """Show it in words."""
        said = f"guessing {self.any_class:.1%}"
        if self.is_uneven:
            said += f", always the commonest class {self.commonest:.1%}"
        return said


def guess(metrics: Mapping[str, Any]) -> Guess | None:
    """Return what a guess reaches on the test split; None where no figures were kept."""
    figures = [*metrics.get("figures", {}).values()]  # a teacher's, too: it saw the same split
    figures += [each.get("figures", {}) for each in metrics.get("accuracy", {}).values()]
    for each in figures:
        if not isinstance(each, Mapping):
            continue
        counts, sensitivity = each.get("confusion"), each.get("sensitivity") or ()
        if counts is not None and len(counts) > 1:
            sizes = np.asarray(counts).sum(axis=1)
            return Guess(1 / len(sizes), float(sizes.max() / sizes.sum()))
        if each.get("commonest_share") is not None and len(sensitivity) > 1:
            return Guess(1 / len(sensitivity), each["commonest_share"])
    return None


class NotAbove(NamedTuple):
    """The best accuracy, where always naming the commonest class would be right as often.

    Attributes:
        judged: whose it is.
        share: of the commonest class of the test split.
        balanced: its balanced accuracy, a fraction; None where it was not kept.
        label: of the commonest class; None where no confusion was kept.
    """

    judged: Judged
    share: float
    balanced: float | None
    label: int | None

    def commonest(self, class_names: Sequence[str]) -> str:
        """Return the name of the commonest class; empty where nobody knows which it is."""
        known = self.label is not None and self.label < len(class_names)
        return class_names[self.label or 0] if known else ""

    def in_words(self, commonest: str) -> str:
        """Say so, by the name of the commonest class; an empty one is left out."""
        named = f"{commonest}, " if commonest else ""
        beside = "" if self.balanced is None else f"; its balanced accuracy is {self.balanced:.2%}"
        return (
            f"the test accuracy of {self.judged.name}, {self.judged.accuracy:.2%}, is not above "
            f"the {self.share:.2%} of always naming {named}the commonest class of the test split"
            f"{beside}"
        )


def not_above_one_class(metrics: Mapping[str, Any]) -> NotAbove | None:
    """Return the best accuracy where it is no more than one class's share; None elsewhere."""
    return _not_above(list(judged(metrics)))


def _not_above(found: Sequence[Judged]) -> NotAbove | None:
    best = max(found, key=lambda each: each.accuracy, default=None)
    if best is None:
        return None
    share, balanced, label = best.commonest, best.balanced, None
    if best.confusion is not None:
        if len(best.confusion) < 2:
            return None
        shares = best.confusion.sum(axis=1) / best.confusion.sum()
        label = int(shares.argmax())
        share, balanced = float(shares[label]), float(best.sensitivities.mean())
    if share is None or best.accuracy > share:
        return None
    return NotAbove(best, share, balanced, label)


def warnings(
    metrics: Mapping[str, Any],
    *,
    class_names: Sequence[str],
    num_test: int,
    instead: str,
    missed: str,
) -> tuple[str, ...]:
    """Return lines on a result that is, or may hide, a guess.

    Args:
        metrics: of the run.
        class_names: of the c classes that it tells apart.
        num_test: m, test examples.
        instead: what would do better than a guess.
        missed: what would find more of a class that is missed.
    """
    found = list(judged(metrics))
    if not found or len(class_names) < 2:
        return ()
    found = [each for each in found if each.confusion is not None] or found
    if all(each.confusion is not None and len(each.sensitivities) < 2 for each in found):
        return ()  # a test split of one class tells nothing apart
    lines = at_chance(found, num_classes=len(class_names), num_test=num_test, instead=instead)
    if lines:
        return lines
    lines = (*_never_named(found, class_names, num_test), *_no_more_than_one(found, class_names))
    return (*lines[:-1], f"{lines[-1]}; {missed}") if lines else ()


def at_chance(
    found: Sequence[Judged], *, num_classes: int, num_test: int, instead: str
) -> tuple[str, ...]:
    """Return a line where no classifier tells classes apart better than a guess does.

    A guess names class k with probability q_k, whatever the example. Its balanced accuracy over c
    classes with m_k test examples is `1/c` with variance `sum_k q_k (1 - q_k) / m_k / c^2`; a
    result up to two deviations above is not told from it. Where no confusion was kept, classes are
    taken for alike in number, and where not even balanced accuracy was, accuracy for it.

    Args:
        found: what was tested, at least one.
        num_classes: c.
        num_test: m.
        instead: what would do better.
    """
    told = [_told(each, num_classes, num_test) for each in found]
    if any(value > chance + _DEVIATIONS * deviation for _, value, chance, deviation in told):
        return ()
    if any(_ranks(each, num_test) for each in found):
        return ()
    name, value, chance, _ = max(told, key=lambda each: each[1])
    return (
        f"the {name}, {value:.2%}, cannot be told from chance, {chance:.2%} for "
        f"{num_classes} classes, on {num_test} test examples; {instead}",
    )


def are_guesses(found: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether classifiers tell classes apart no better than a guess, as `at_chance` has it.

    Args:
        found: by name, as `evaluation` of metrics.json has them; at least one.
    """
    each = [_of(name, told["mean"], told.get("figures", {})) for name, told in found.items()]
    first = next(iter(found.values())).get("figures", {})
    num_test, classes = first.get("num_test"), len(first.get("confusion") or ())
    classes = classes or len(first.get("sensitivity") or ())  # of many no confusion is kept
    if num_test is None or not classes:
        return False
    return bool(at_chance(each, num_classes=classes, num_test=num_test, instead=""))


def _told(each: Judged, num_classes: int, num_test: int) -> tuple[str, float, float, float]:
    """Return whose figure it is, the figure, chance, and the deviation of a guess."""
    if each.confusion is None:
        p = 1 / num_classes
        deviation = math.sqrt(p * (1 - p) / num_test)
        if each.balanced is None:
            return f"test accuracy of {each.name}", each.accuracy, p, deviation
        return f"balanced test accuracy of {each.name}", each.balanced, p, deviation
    there, total = each.confusion.sum(axis=1), each.confusion.sum()
    named = each.confusion.sum(axis=0)[there > 0] / total
    numbers = there[there > 0] * num_test / total  # several trainings see the same examples
    deviation = math.sqrt(float(np.sum(named * (1 - named) / numbers))) / len(numbers)
    value = float(each.sensitivities.mean())
    return f"balanced test accuracy of {each.name}", value, 1 / len(numbers), deviation


def _ranks(each: Judged, num_test: int) -> bool:
    """Whether scores of two classes are in a better order than a guess's (Mann & Whitney 1947)."""
    if each.auc is None or each.confusion is None:
        return False
    one, other = each.confusion.sum(axis=1) * num_test / each.confusion.sum()
    deviation = math.sqrt((one + other + 1) / (12 * one * other)) if one * other else math.inf
    return each.auc > 0.5 + _DEVIATIONS * deviation


def _never_named(
    found: Sequence[Judged], class_names: Sequence[str], num_test: int
) -> Iterator[str]:
    """Yield a line for a class none of whose test examples any classifier has known."""
    kept = [each.confusion for each in found if each.confusion is not None]
    if not kept:
        return
    for label, name in enumerate(class_names):
        number = round(kept[0][label].sum() * num_test / kept[0].sum())
        if number >= _LEAST_OF_A_CLASS and not any(each[label, label] for each in kept):
            yield f"none of the {number} test examples of {ascii(name)[1:-1]} is told to be one"


def _no_more_than_one(found: Sequence[Judged], class_names: Sequence[str]) -> Iterator[str]:
    """Yield a line where always naming the commonest class would be right as often."""
    below = _not_above(found)
    if below is not None:
        yield below.in_words(ascii(below.commonest(class_names))[1:-1])
