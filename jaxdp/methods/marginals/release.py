"""The release: noisy counts of columns, of all pairs, and of chosen pairs once more.

Which pairs are counted again follows from the noisy counts that were released before. So the choice
costs nothing beyond them, and the three Gaussian releases together are one.

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
from jaxdp.privacy import cell_counts
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.tables.domain import Domain, Pair

COLUMNS, PAIRS, AGAIN = "counts of columns", "counts of pairs", "counts of chosen pairs"
Choose = Callable[[Float[np.ndarray, " d"], Float[np.ndarray, " p"]], Sequence[Pair]]
"""`(columns, pairs) -> chosen`: which pairs are counted again, by what was released of all."""


def release(
    private: Private,
    key: Key[Array, ""],
    domain: Domain,
    releases: Mapping[str, GaussianRelease],
    *,
    pairs: Sequence[Pair],
    choose: Choose,
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
        num_records: n, public.

    Guarantee:
        At most three Gaussian releases, as `releases` describes them (`jaxdp.privacy.cell_counts`).
        The third depends on the records through what the first two released, and by itself.
        Nothing else of the records is returned.
    """
    own = processes.own_part(num_records)
    cells = domain.cells(private.x[own], private.y[own])
    column_key, pair_key, chosen_key = jax.random.split(key, 3)
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
    return Released(
        columns=columns,
        pairs=found,
        chosen=np.array(chosen, np.int32).reshape(-1, 2),
        again=again,
    )
