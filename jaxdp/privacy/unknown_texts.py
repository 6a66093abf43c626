"""Texts of columns whose domain nobody knows, where enough records have them.

Every text that occurs is counted, and one whose noisy count is above a threshold is released:

    { t : c_t + N(0, s^2) > T },      T = k + s z,      Phi(-z) = threshold_delta / (k q)

for q columns and persons with at most k records. A text that one person alone has is counted k
times at most, and a person has at most k q of them. So none of these passes except with a chance
of `threshold_delta`, and the rest is a Gaussian release of the counts of texts that others have.
Texts that are known beforehand are told in any case: there is nothing to hide but their counts.

References:
    Korolova, Kenthapadi, Mishra & Ntoulas (2009), "Releasing search queries and clicks privately"
        (thresholds of noisy counts).
    Wilkins, Kifer, Zhang & Karrer (2024), "Exact privacy analysis of the Gaussian sparse histogram
        mechanism" (the two events, of which we add up the chances).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Int, Key
from scipy.special import ndtri

from jaxdp.privacy import mechanism
from jaxdp.privacy.cell_counts import noisy_sums, require_sensitivity
from jaxdp.privacy.mechanism import require_records_per_person
from jaxdp.privacy.releases import GaussianRelease

_MARGIN = 1e-9


class Texts(NamedTuple):
    """A column of texts.

    Attributes:
        places: (n,) of each record's text; -1 where it has none.
        texts: all that occur, each once.
        known: those that are told whatever their count is, whether they occur or not. They do not
            depend on the records but by what was released of them before.
    """

    places: Int[np.ndarray, " n"]
    texts: Sequence[str]
    known: frozenset[str] = frozenset()


def threshold(
    stddev: float, *, threshold_delta: float, num_columns: int, records_per_person: int = 1
) -> float:
    """Return the noisy count that a text must pass, in records.

    Args:
        stddev: of the noise on a count; 0 without privacy.
        threshold_delta: in (0, 1), the chance that any text of one person alone passes.
        num_columns: q.
        records_per_person: most records k of one person.

    Examples:
        >>> from jaxdp.privacy import unknown_texts
        >>> round(unknown_texts.threshold(10.0, threshold_delta=1e-6, num_columns=1), 1)
        48.5
    """
    require_records_per_person(records_per_person)
    if not 0 < threshold_delta < 1:
        raise ValueError(f"threshold_delta must be in (0, 1), got {threshold_delta}")
    if stddev == 0:
        return 0.0
    chance = threshold_delta / (records_per_person * num_columns)
    noise = stddev * (mechanism.ROUNDED_BY - float(ndtri(chance)))
    return (records_per_person + noise) * (1 + _MARGIN)


def release_texts(
    key: Key[Array, ""],
    columns: Sequence[Texts],
    release: GaussianRelease,
    *,
    threshold_delta: float,
    records_per_person: int = 1,
) -> tuple[dict[str, float], ...]:
    """Return for each column its known texts, and those that pass the threshold, with noisy counts.

    Texts are in the order of their counts, the largest first, and those of equal counts in theirs.

    Args:
        key: of the noise, fresh and secret.
        columns: private.
        release: of the counts over the root of the number of columns.
        threshold_delta: in (0, 1), as for `threshold`.
        records_per_person: most records of one person; the release is calibrated for as many.

    Raises:
        ValueError: the release claims less than the true sensitivity, or a column has a text
            twice or a record at no text of it.

    Guarantee:
        One Gaussian release, except with a chance of `threshold_delta`: a record that becomes empty
        takes one from the count of one text in every column, and one that is replaced adds one to
        another. So all counts over the root of the number of columns move by at most 1 or sqrt(2)
        in norm, those of known texts among them. Which other texts occur at all is told of none
        that a single person alone has, except with that chance.
    """
    require_sensitivity(release)
    for column in columns:
        if len(set(column.texts)) < len(column.texts):
            raise ValueError("a text is there twice")
        if np.any(column.places < -1) or np.any(column.places >= len(column.texts)):
            raise ValueError("a record has a text that is none of its column's")
    root = math.sqrt(len(columns))
    least = threshold(
        release.stddev * root,
        threshold_delta=threshold_delta,
        num_columns=len(columns),
        records_per_person=records_per_person,
    )
    found = []
    for number, column in enumerate(columns):
        names = (*column.texts, *sorted(column.known - set(column.texts)))
        counts = np.bincount(column.places[column.places >= 0], minlength=len(names))
        noisy = noisy_sums(jax.random.fold_in(key, number), counts / root, release) * root
        is_known = np.array([name in column.known for name in names], bool)
        # Others that occur in no record have no count: nobody knows of them.
        passed = np.flatnonzero(is_known | ((counts > 0) & (noisy > least)))
        # Places of equal counts would tell which text is first in the table.
        ordered = sorted(passed, key=lambda place: (-noisy[place], names[place]))
        found.append({names[place]: float(noisy[place]) for place in ordered})
    return tuple(found)
