"""What users of the library are warned of, by public facts and by what was made.

Private data are not looked at. What was made is post-processing of what was released, so a look at
it costs nothing. The command line shows the same lines, and more by its test split.
"""

import math
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from jaxdp.data import Spec
from jaxdp.escapes import one_line
from jaxdp.methods import misfits, words

LEAST_STRENGTH, _ENOUGH_STRENGTH = 30.0, 90.0
_FEW_EXAMPLES = 20
_LISTED = 5
# Part of its share below which a class of a made set is hardly learnt.
_LEAST_PART = 0.1


class JaxdpWarning(UserWarning):
    """Warn of a result that may be worth less than it looks, or promise less than is meant.

    `jaxdp.run` warns of each thing once: before the release by public facts, and after it by the
    certificate and by what was made. Filter it by its class.

    Examples:
        >>> import warnings
        >>> import jaxdp
        >>> warnings.simplefilter("ignore", jaxdp.JaxdpWarning)
    """


def warn(lines: Iterable[str], *, said: set[str], stacklevel: int) -> None:
    """Warn of each line that was not said before.

    Args:
        lines: with flags, as the command line has them.
        said: the lines that were said; the new ones are added.
        stacklevel: as for `warnings.warn`, of who calls this.
    """
    for line in lines:
        if line not in said:
            said.add(line)
            warnings.warn(one_line(words.said(line)), JaxdpWarning, stacklevel=stacklevel + 1)


def before_work(settings: Any, spec: Spec, epsilon: float | int) -> Iterator[str]:
    """Yield what is odd about settings for such data.

    Args:
        settings: complete.
        spec: facts about the data.
        epsilon: the budget; inf without privacy.
    """
    yield from odd_numbers(settings, spec)
    lack = too_weak(spec, epsilon, contributions=getattr(settings, "contributions", 1))
    if lack is not None:
        yield lack
    yield from misfits.few_bins(settings, spec)


def of_new(x: Any, spec: Spec) -> list[str]:
    """Return what new records of a data frame hold that the schema does not list.

    Args:
        x: the frame, or an array, of which nothing is said.
        spec: facts about the records that a classifier learnt from.
    """
    if spec.schema is None or not hasattr(x, "columns"):
        return []
    from jaxdp.tables import unlike  # pandas takes a while

    return unlike.lines(unlike.counts(x, spec.schema), spec.schema, len(x))


def of_made(made: Any) -> tuple[str, ...]:
    """Return what is odd about a made set."""
    return (*lost_classes(made), *misfits.warnings(made))


def odd_numbers(settings: Any, spec: Spec) -> Iterator[str]:
    """Yield lines where there are few examples, more are to be distilled, or what else is odd.

    Args:
        settings: complete.
        spec: facts about the data.
    """
    if spec.num_examples < _FEW_EXAMPLES:
        yield (
            f"there are {spec.num_examples} training examples: what is made of fewer than "
            f"{_FEW_EXAMPLES} is noise, or at a large epsilon it tells of single ones"
        )
    made = getattr(settings, "ipc", 0) * spec.num_classes
    if made > spec.num_examples:
        yield f"{made} examples are to be distilled from {spec.num_examples}; lower --ipc"
    else:
        yield from getattr(settings, "odd", _nothing)(spec)


def _nothing(spec: Spec) -> Iterator[str]:
    del spec
    return iter(())


def strength(spec: Spec, epsilon: float | int) -> float:
    """Return epsilon times the examples of a class, by the records of a person.

    Noise is as many times larger as a person has records.
    """
    return epsilon * spec.num_examples / (spec.num_classes * spec.records_per_person)


def too_weak(spec: Spec, epsilon: float | int, *, contributions: int = 1) -> str | None:
    """Return a line where noise leaves little of the data, whatever the method.

    Args:
        spec: facts about the data.
        epsilon: the budget; inf without privacy.
        contributions: as `jaxdp.privacy.relations.contributions` of the run's relation.
    """
    found = strength(spec, epsilon) / contributions
    if found >= LEAST_STRENGTH:
        return None
    enough = math.ceil(10 * _ENOUGH_STRENGTH * contributions / strength(spec, 1)) / 10
    most = spec.records_per_person
    divided, fewer = [], "more examples or fewer classes"
    if most > 1:
        divided.append(f"by {most} records of a person")
        fewer = "more examples, fewer classes or a smaller --records_per_person"
    if contributions > 1:
        divided.append(f"by {contributions}, as records are replaced")
    by = f", divided {' and '.join(divided)}," if divided else ""
    return (
        f"epsilon times the examples of a class{by} is {found:.3g}; below "
        f"{LEAST_STRENGTH:g} noise hides most, whatever the method: --eps={enough:g}, {fewer} "
        "change that"
    )


def lost_classes(made: Any) -> tuple[str, ...]:
    """Return a line where a made set has no example of a class, or hardly any.

    That is less than a tenth of the share in which classes are drawn, which comes from what was
    released, or of an even share where nothing tells shares. So the line is post-processing, too.
    """
    c, m = len(made.class_names), len(made.y)
    if c < 2:
        return ()
    shares = getattr(made.generator, "class_weights", None)
    expected = np.full(c, m / c) if shares is None else m * np.asarray(shares) / np.sum(shares)
    counts = np.bincount(made.y, minlength=c)
    lost = np.flatnonzero((counts == 0) | (counts < _LEAST_PART * expected))
    if len(lost) == 0:
        return ()
    named = [
        f"{ascii(made.class_names[label])[1:-1]} ({counts[label]}, {expected[label]:.0f} by share)"
        for label in lost[:_LISTED]
    ]
    more = f" and {len(lost) - _LISTED} more" if len(lost) > _LISTED else ""
    return (
        f"of {m} made examples hardly any is of class {', '.join(named)}{more}: what learns from "
        "them will not find that class, however high its accuracy",
    )
