"""Warnings about a run that its certificate does not know: odd data or sets, doubtful results.

They come from public facts, the made set and the test split. As test scores, which no guarantee
covers, they go to the terminal and into metrics.json, and not into the certificate.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxdp.data import Spec
from jaxdp.methods import certified, misfits, warned
from jaxdp.methods.base import Plan
from jaxdp.methods.made import Made
from jaxdp.methods.settings import DATA_PRIORS
from jaxdp.methods.teacher import schedule
from jaxdp.program.data.dataset import HeldOut
from jaxdp.program.runs import chance, recommendation
from jaxdp.program.runs.judging import num_classes

_LISTED = 5
# Beyond it a value is hardly of a column that was scaled to about [-1, 1].
_LARGEST_SCALED = 10.0
# Of test examples of a class; with fewer a sensitivity says little.
_FEW = 10
# Of the noise of one release of the whole budget: so many examples of a class are hardly learnt.
_HARDLY_LEARNT = 10.0
# Below balanced accuracy by how much of accuracy, and of which part of a class that is found.
_UNBALANCED, _SELDOM_FOUND = 0.05, 0.6


def before_work(
    settings: Any, spec: Spec, test: HeldOut, *, reused: bool = False
) -> tuple[str, ...]:
    """Return what is odd about the data and the settings.

    Args:
        settings: complete.
        spec: facts about the data.
        test: the test split.
        reused: whether the run takes what an earlier one has released, by another budget.
    """
    found = [*warned.odd_numbers(settings, spec)]
    missing = sorted(set(range(spec.num_classes)) - set(np.unique(test.y).tolist()))
    if missing and not getattr(settings, "unconditional", False):
        names = [ascii(spec.class_names[label])[1:-1] for label in missing[:_LISTED]]
        more = f" and {len(missing) - _LISTED} more" if len(missing) > _LISTED else ""
        found.append(
            f"the test split has no example of {', '.join(names)}{more}: test scores say "
            f"nothing about that{'' if reused else _perhaps_too_rare(settings, spec)}"
        )
    if not getattr(settings, "unconditional", False):
        found += _rare(spec, test.y)
        found += [] if reused else _hardly_learnt(settings, spec, test.y)
    odd = spec.kind.choose(images=_of_others, rows=_of_rows, table=_of_others)(settings, test.x)
    return (*found, *odd, *misfits.few_bins(settings, spec))


def _of_others(settings: Any, x_test: np.ndarray) -> Iterator[str]:
    del settings, x_test
    return iter(())


def _of_rows(settings: Any, x_test: np.ndarray) -> Iterator[str]:
    """Yield what is odd about rows without a schema."""
    if np.abs(x_test).max() > _LARGEST_SCALED:
        yield (
            f"test rows hold values beyond {_LARGEST_SCALED:g} in size, and rows are taken as "
            "scaled to about [-1, 1]; divide the columns by public constants"
        )
    if hasattr(settings, "num_synthetic"):
        yield (
            "rows without a schema: values that are drawn may be beyond all real ones; a table by "
            "--csv and --schema has valid records, and better ones"
        )


def _rare(spec: Spec, y_test: np.ndarray) -> list[str]:
    """Return a line where a class has few test examples, and as many of each would be enough."""
    counts = np.bincount(y_test, minlength=spec.num_classes)
    if len(y_test) < _FEW * len(counts):
        return []
    rare = [
        f"{ascii(name)[1:-1]} ({number})"
        for name, number in zip(spec.class_names, counts, strict=True)
        if 0 < number < _FEW
    ][:_LISTED]
    return [f"the test split has few examples of {', '.join(rare)}"] if rare else []


def _hardly_learnt(settings: Any, spec: Spec, y_test: np.ndarray) -> Iterator[str]:
    """Yield a line on classes that are too rare for a budget, by their shares of the test split.

    Measured on four sets: of so many examples an AUC of .55 to .89 is left, and with the priors of
    the data nobody is told to be of the class.
    """
    if not getattr(settings, "is_private", False):
        return
    needed = _needed(settings, spec)
    numbers = np.bincount(y_test, minlength=spec.num_classes) * spec.num_examples / len(y_test)
    rare = np.flatnonzero((numbers > 0) & (numbers < needed))
    named = [
        f"{ascii(spec.class_names[label])[1:-1]} (about {max(1, round(numbers[label]))})"
        for label in rare[:_LISTED]
    ]
    if named:
        more = f" and {len(rare) - _LISTED} more" if len(rare) > _LISTED else ""
        yield (
            f"at epsilon {settings.eps:g} little is learnt of a class with fewer than "
            f"{math.ceil(needed)} training examples: expect chance, or hardly "
            f"better, for {', '.join(named)}{more}, by their shares of the test split"
        )


def _needed(settings: Any, spec: Spec) -> float:
    """Return of how many training examples of a class more than hardly anything is learnt."""
    moved = spec.records_per_person * settings.contributions
    return _HARDLY_LEARNT * schedule.single_release(settings.eps, settings.delta) * moved


def _perhaps_too_rare(settings: Any, spec: Spec) -> str:
    """Say what a class needs of which the test split has none.

    How many it has is private, and its share of the test split tells nothing; its holder can count.
    """
    if not getattr(settings, "is_private", False):
        return ""
    return (
        "; count its training examples before anything is spent: at epsilon "
        f"{settings.eps:g} little is learnt of a class with fewer than "
        f"{math.ceil(_needed(settings, spec))}, so put such a class into another, or leave it out"
    )


def of_run(
    method: str,
    plan: Plan[Any],
    run_flags: Any,
    test: HeldOut,
    metrics: Mapping[str, Any],
    made: Made,
) -> list[str]:
    """Return all warnings of a finished run.

    Args:
        method: of `jaxdp.methods`.
        plan: of the run.
        run_flags: that name the data.
        test: the test split.
        metrics: of the run.
        made: what the run has made.
    """
    spec = plan.spec
    instead = recommendation.better(
        spec,
        certified.epsilon(plan),
        method=method,
        settings=plan.settings,
        source=recommendation.source_of(run_flags),
    )
    names = spec.class_names[: num_classes(plan)]
    guesses = chance.warnings(
        metrics,
        class_names=names,
        num_test=len(test.y),
        instead=instead,
        missed=_for_rare_classes(plan.settings),
    )
    of_made = warned.of_made(made)
    reused = plan.earlier.stored is not None
    missed = () if guesses or reused else _missed(plan.settings, metrics, names)
    before = before_work(plan.settings, spec, test, reused=reused)
    return [*before, *of_made, *guesses, *missed]


def _for_rare_classes(settings: Any) -> str:
    """Say what finds more of a class that is missed."""
    if getattr(settings, "priors", None) == DATA_PRIORS:
        return "--priors=equal finds more of rare classes; so do more examples, or a larger --eps"
    return "more examples of rare classes or a larger --eps find more of them"


def _missed(settings: Any, metrics: Mapping[str, Any], names: Sequence[str]) -> Iterator[str]:
    """Yield a line where a classifier finds a rare class seldom, and could find it oftener."""
    if getattr(settings, "priors", None) != DATA_PRIORS:
        return
    for judged in chance.judged(metrics):
        if judged.confusion is None or len(names) < len(judged.confusion):
            continue
        parts = judged.sensitivities
        there = np.flatnonzero(judged.confusion.sum(axis=1))
        worst = int(parts.argmin())
        unbalanced = judged.accuracy - parts.mean() > _UNBALANCED
        if unbalanced and parts[worst] < _SELDOM_FOUND:
            yield (
                f"{judged.name} finds {parts[worst]:.1%} of {ascii(names[there[worst]])[1:-1]}: "
                "--priors=equal finds more of rare classes, and takes more of others for them"
            )
            return
