"""What is released of a table: noisy counts of its columns and of pairs of columns."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxdp.methods.stored import Form


class Released(NamedTuple):
    """What left the private data: noisy, and free to use from here on.

    Attributes:
        columns: noisy share of the records in each cell of each column, side by side.
        pairs: noisy mean of `F_j(x_j)^T F_k(x_k)` of each pair that is counted, one after another.
        chosen: the pairs that were counted again.
        again: their noisy means, one after another.
        answers: noisy share of the records that answer each query (`queries`); none of a run that
            spends nothing on them.
        moments: noisy mean of `r r^T`, where r has a record's normal scores (`factors`); empty of a
            run that spends nothing on them.
    """

    columns: Float[np.ndarray, " d"]
    pairs: Float[np.ndarray, " p"]
    chosen: Int[np.ndarray, "m 2"]
    again: Float[np.ndarray, " r"]
    answers: Float[np.ndarray, " k"] = np.empty(0)
    moments: Float[np.ndarray, "q q"] = np.empty((0, 0))

    @property
    def num_classes(self) -> int:
        """Number of classes whose records are counted apart: all are counted together."""
        return 1


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Released:
    """Return what a file holds.

    Raises:
        KeyError: it lacks something.
        ValueError: it holds something else.
    """
    needed = (name for name in Released._fields if name not in Released._field_defaults)
    more = {name: np.asarray(arrays[name]) for name in Released._field_defaults if name in arrays}
    found = Released(*(np.asarray(arrays[name]) for name in needed), **more)
    shapes = [each.ndim for each in found]
    are_pairs = found.chosen.shape[1:] == (2,) and found.chosen.dtype.kind in "iu"
    if shapes != [1, 1, 2, 1, 1, 2] or not are_pairs:
        raise ValueError(f"its arrays have shapes {[each.shape for each in found]}")
    if not all(np.all(np.isfinite(each)) for each in found):
        raise ValueError("its arrays have values that are not finite")
    return found


FORM = Form(flag="counts", what="counts that a run has released", from_arrays=from_arrays)
