"""The release: noisy counts of columns, of pairs, of chosen pairs once more, moments, and answers.

Which pairs are counted again, how cells are scored, and which queries are answered, follows from
the noisy counts that were released before. So the choice costs nothing beyond them, and all
Gaussian releases together are one.

References:
    Dong, Roth & Su (2022), "Gaussian differential privacy", corollary 3.3 (releases may depend on
        those before).
    McKenna, Mullins, Sheldon & Miklau (2022), "AIM: an adaptive and iterative mechanism for
        differentially private synthetic data" (to count what a model is worst at).
"""

from collections.abc import Callable, Mapping, Sequence

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from jaxdp import processes
from jaxdp.data import Private
from jaxdp.methods.marginals.released import Released
from jaxdp.privacy import cell_counts, second_moments
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.tables.domain import Domain, Pair, Query

COLUMNS, PAIRS, AGAIN = "counts of columns", "counts of pairs", "counts of chosen pairs"
MOMENTS, ANSWERS = "second moments", "answers to queries"
Choose = Callable[[Float[np.ndarray, " d"], Float[np.ndarray, " p"]], Sequence[Pair]]
"""`(columns, pairs) -> chosen`: which pairs are counted again, by what was released of all."""
Score = Callable[
    [Float[np.ndarray, " d"], Float[np.ndarray, " p"]], Sequence[Float[np.ndarray, "_ _"]]
]
"""`(columns, pairs) -> scores`: of all columns' cells but the target's, given the target's cell."""
Ask = Callable[[Float[np.ndarray, " d"]], Sequence[Query]]
"""`columns -> queries`: which are answered, by what was released of columns."""


def release(
    private: Private,
    key: Key[Array, ""],
    domain: Domain,
    releases: Mapping[str, GaussianRelease],
    *,
    pairs: Sequence[Pair],
    choose: Choose,
    score: Score,
    ask: Ask,
    num_records: int,
) -> Released:
    """Return noisy counts of private records.

    Args:
        private: the records.
        key: of the noise, fresh and secret.
        domain: the cells of their columns.
        releases: by name; those of pairs where pairs are counted.
        pairs: that are counted.
        choose: those that are counted again; it is told what was released alone.
        score: how cells are scored, where a release is for second moments; likewise.
        ask: the queries that are answered, where a release is for them; likewise.
        num_records: n, public.

    Guarantee:
        At most five Gaussian releases, as `releases` describes them (`jaxdp.privacy.cell_counts`,
        `jaxdp.privacy.second_moments`). The last three depend on the records through what those
        before them released, and by themselves. Nothing else of the records is returned.
    """
    own = processes.own_part(num_records)
    cells = domain.cells(private.x[own], private.y[own])
    column_key, pair_key, chosen_key, moment_key, answer_key = jax.random.split(key, 5)
    columns = cell_counts.release_columns(
        column_key, cells, domain.widths, releases[COLUMNS], num_records=num_records
    )

    def counted(own_key: Key[Array, ""], which: Sequence[Pair], name: str) -> np.ndarray:
        if name not in releases:
            return np.empty(0)
        return cell_counts.release_pairs(
            own_key, cells, domain.features, which, releases[name], num_records=num_records
        )

    found = counted(pair_key, pairs, PAIRS)
    chosen = list(choose(columns, found)) if AGAIN in releases else []
    # Processes round as their machines do, and all have to count the same pairs.
    chosen = [(int(j), int(k)) for j, k in processes.told(np.array(chosen, np.int32))]
    again = counted(chosen_key, chosen, AGAIN)
    moments, answers = np.empty((0, 0)), np.empty(0)
    if MOMENTS in releases:
        moments = _moments(
            moment_key,
            cells,
            domain,
            processes.told(list(score(columns, found))),
            releases[MOMENTS],
            num_records=num_records,
        )
    if ANSWERS in releases:
        answers = cell_counts.release_queries(
            answer_key,
            cells,
            domain.widths,
            ask(processes.told(columns)),
            releases[ANSWERS],
            num_records=num_records,
        )
    return Released(
        columns=columns,
        pairs=found,
        chosen=np.array(chosen, np.int32).reshape(-1, 2),
        again=again,
        answers=answers,
        moments=moments,
    )


def _moments(
    key: Key[Array, ""],
    cells: np.ndarray,
    domain: Domain,
    scores: Sequence[np.ndarray],
    release: GaussianRelease,
    *,
    num_records: int,
) -> Float[np.ndarray, "q q"]:
    """Return noisy second moments of the scores of all columns but the target, and a constant."""
    classes = np.zeros(len(cells), np.int32)
    if domain.target is not None:
        classes = cells[:, domain.target]
        cells = np.delete(cells, domain.target, axis=1)
    cells = np.column_stack([cells, np.zeros_like(classes)])
    return second_moments.release_moments(
        key, cells, scores, classes, release, num_records=num_records
    )
