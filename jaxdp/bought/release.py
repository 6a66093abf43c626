"""The releases of a purchase: noisy counts of raw records, column by column.

    look     cells of a coarse public grid, and missing values
    texts    categories that enough records have
    sums     records below each edge of a fine grid, which follows from the look
    spikes   values that many records have, where the sums say that there are some

Each is one Gaussian release. What it counts depends on the records through what was released
before, and by nothing else; so all of them together are one.

References:
    Dong, Roth & Su (2022), "Gaussian differential privacy", corollary 3.3 (releases may depend on
        those before).
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Array, Float, Key

from jaxdp.privacy import cell_counts, ordered_counts, unknown_texts
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.tables.raw import RawColumn, RawRecords, Texts

LOOK, TEXTS, SUMS, SPIKES = (
    "missing values and scales of columns",
    "categories of columns",
    "quantiles of columns",
    "spikes of columns",
)


def look(
    key: Key[Array, ""],
    records: RawRecords,
    grids: Mapping[str, Float[np.ndarray, " k"]],
    missing: frozenset[str],
    release: GaussianRelease,
    *,
    num_records: int,
) -> dict[str, Float[np.ndarray, " _"]]:
    """Return for each column noisy counts of its cells, and of missing values, which are last.

    Args:
        key: of the noise, fresh and secret.
        records: private.
        grids: for each column the edges of its cells; none where missing values alone count.
        missing: texts that stand for a missing value.
        release: as `cell_counts.release_columns` has it.
        num_records: n, public.

    Guarantee:
        One Gaussian release, by `cell_counts.release_columns`.
    """
    each = [_cells(records[name], edges, missing) for name, edges in grids.items()]
    widths = [len(edges) + 2 for edges in grids.values()]
    parts = _counted(key, each, widths, release, num_records)
    return dict(zip(grids, parts, strict=True))


def texts(
    key: Key[Array, ""],
    records: RawRecords,
    names: Sequence[str],
    missing: frozenset[str],
    release: GaussianRelease,
    *,
    threshold_delta: float,
    records_per_person: int,
) -> dict[str, dict[str, float]]:
    """Return for each column the texts that enough records have, with noisy counts.

    Args:
        key: of the noise, fresh and secret.
        records: private.
        names: of columns of texts.
        missing: texts that stand for a missing value, and are no categories.
        release: as `unknown_texts.release_texts` has it.
        threshold_delta: likewise.
        records_per_person: likewise.

    Guarantee:
        One Gaussian release, except with a chance of `threshold_delta`, by
        `unknown_texts.release_texts`.
    """
    columns = []
    for name in names:
        column = _texts(records[name])
        gone = np.array([text in missing for text in column.texts] + [True])
        places = np.where(gone[column.places], -1, column.places)
        columns.append(unknown_texts.Texts(places, column.texts))
    found = unknown_texts.release_texts(
        key,
        columns,
        release,
        threshold_delta=threshold_delta,
        records_per_person=records_per_person,
    )
    return dict(zip(names, found, strict=True))


def sums(
    key: Key[Array, ""],
    records: RawRecords,
    leaves: Mapping[str, Float[np.ndarray, " _"]],
    release: GaussianRelease,
) -> dict[str, Float[np.ndarray, " m"]]:
    """Return for each column how many records lie below the end of each leaf, with noise.

    Numbers beyond the leaves count in the nearest one.

    Args:
        key: of the noise, fresh and secret.
        records: private.
        leaves: for each column their edges.
        release: as `ordered_counts.release_ordered` has it.

    Guarantee:
        One Gaussian release, by `ordered_counts.release_ordered`.
    """
    columns = []
    for name, edges in leaves.items():
        values, size = _numbers(records[name]), len(edges) - 1
        cells = np.searchsorted(edges[1:-1], values, side="right")
        columns.append((np.where(np.isnan(values), -1, cells), size))
    found = ordered_counts.release_ordered(key, columns, release)
    return dict(zip(leaves, found, strict=True))


def spikes(
    key: Key[Array, ""],
    records: RawRecords,
    leaves: Mapping[str, Sequence[tuple[float, float]]],
    likely: Mapping[str, Sequence[float]],
    release: GaussianRelease,
    *,
    threshold_delta: float,
    records_per_person: int,
) -> dict[str, dict[float, float]]:
    """Return for each column values within some leaves, with noisy counts.

    Those are told that are likely, and others that enough records have.

    Args:
        key: of the noise, fresh and secret.
        records: private.
        leaves: for each column, from a low end to before a high one.
        likely: for each column values within them, told in any case.
        release: as `unknown_texts.release_texts` has it.
        threshold_delta: likewise.
        records_per_person: likewise.

    Guarantee:
        One Gaussian release, except with a chance of `threshold_delta`, by
        `unknown_texts.release_texts`: a value is counted as the text that it is written as.
    """
    columns = []
    for name, own in leaves.items():
        values = _numbers(records[name])
        inside = np.zeros(len(values), bool)
        for low, high in own:
            inside |= (values >= low) & (values < high)
        distinct, at = np.unique(values[inside] + 0.0, return_inverse=True)  # -0.0 is 0.0
        places = np.full(len(values), -1)
        places[inside] = at.reshape(-1)
        known = frozenset(map(_written, likely[name]))
        columns.append(unknown_texts.Texts(places, [*map(_written, distinct)], known))
    found = unknown_texts.release_texts(
        key,
        columns,
        release,
        threshold_delta=threshold_delta,
        records_per_person=records_per_person,
    )
    return {
        name: {float(text): count for text, count in counts.items()}
        for name, counts in zip(leaves, found, strict=True)
    }


def _written(value: float) -> str:
    return repr(float(value))


def _counted(
    key: Key[Array, ""],
    cells: Sequence[np.ndarray],
    widths: Sequence[int],
    release: GaussianRelease,
    num_records: int,
) -> list[np.ndarray]:
    """Return noisy counts of each column's cells."""
    found = cell_counts.release_columns(
        key, np.column_stack(cells), widths, release, num_records=num_records
    )
    return np.split(found * num_records, np.cumsum(widths)[:-1])


def _cells(
    column: RawColumn, edges: Float[np.ndarray, " k"], missing: frozenset[str]
) -> np.ndarray:
    """Return the cell of each record: k + 1 of numbers, and one more of missing values."""
    last = len(edges) + 1
    if isinstance(column, Texts):
        gone = np.array([text in missing for text in column.texts] + [True])
        return np.where(gone[column.places], last, 0)
    cells = np.searchsorted(edges, column, side="right")
    return np.where(np.isnan(column), last, cells)


def _numbers(column: RawColumn) -> np.ndarray:
    assert not isinstance(column, Texts)  # a column of numbers, by its type
    return column


def _texts(column: RawColumn) -> Texts:
    assert isinstance(column, Texts)  # a column of categories, by its type
    return column
