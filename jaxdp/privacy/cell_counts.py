"""Noisy counts of a table's cells: of columns, of pairs of columns, and of answers to queries.

    a_j = sum_i e(x_ij) + N(0, s^2)                                     for every column j
    b_jk = sum_i F_j(x_ij)^T F_k(x_ik) / sqrt(m) + N(0, s^2)            for m pairs of columns j, k
    c_l = sum_i [x_ij in S_lj for all j of l] / sqrt(m) + N(0, s^2)     for m queries l

`e` is one-hot, and `F_j` has a row of norm at most 1 for each cell of column j, with no negative
inner products (`jaxdp.tables.domain`). Counts are whole numbers, so they are exact; what is
computed of them before noise is added is of float64.

References:
    McKenna, Miklau & Sheldon (2021), "Winning the NIST contest: a scalable and general approach to
        differentially private synthetic data" (measured marginals).
    Xiao, He, Zhang & Kifer (2023), "An optimal and scalable matrix mechanism for noisy marginals
        under convex loss functions" (noise on linear maps of marginals).
"""

import math
from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxdp import numerics, processes
from jaxdp.privacy import mechanism, relations
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.tables.domain import Pair, Query, answers

_BLOCK = 2**13


SENSITIVITY_OF_ANSWERS = 1.0
"""Most that a record moves answers to queries, under either relation."""


def sensitivity(relation: str) -> float:
    """Return the most that a record moves each of both: its vector has norm 1 at most.

    Where it is replaced, one vector goes and another one comes, with no negative inner product.
    """
    return math.sqrt(relations.contributions(relation))


def require_sensitivity(release: GaussianRelease) -> None:
    """Raise a `ValueError` where a release claims less than the true sensitivity."""
    _require_claim(release, sensitivity(release.relation))


def release_columns(
    key: Key[Array, ""],
    cells: Int[np.ndarray, "n q"],
    widths: Sequence[int],
    release: GaussianRelease,
    *,
    num_records: int,
) -> Float[np.ndarray, " d"]:
    """Return the noisy share of records in every cell of every column, the columns side by side.

    Args:
        key: of the noise, fresh and secret.
        cells: private; the cell of every record in every column.
        widths: number of cells of each column.
        release: of the counts over the root of q.
        num_records: n, public.

    Raises:
        ValueError: the release claims less than the true sensitivity, or cells are out of range.

    Guarantee:
        One Gaussian release: a record moves all counts over the root of q by at most 1 in norm
        where it becomes empty, and by sqrt(2) where it is replaced. Independent noise of the
        release's standard deviation is on each.
    """
    _require(release, cells, widths)
    counts = [np.bincount(cells[:, column], minlength=width) for column, width in enumerate(widths)]
    exact = processes.summed(np.concatenate(counts))
    root = math.sqrt(len(widths))
    return noisy_sums(key, np.asarray(exact) / root, release) * (root / num_records)


def release_pairs(
    key: Key[Array, ""],
    cells: Int[np.ndarray, "n q"],
    features: Sequence[Float[np.ndarray, "_ _"]],
    pairs: Sequence[Pair],
    release: GaussianRelease,
    *,
    num_records: int,
) -> Float[np.ndarray, " p"]:
    """Return for every pair of columns the noisy mean of F_j(x_j)^T F_k(x_k) over all records.

    The matrices of pairs lie one after another, row by row.

    Args:
        key: of the noise, fresh and secret.
        cells: private; the cell of every record in every column.
        features: of each column's cells.
        pairs: of columns, chosen without the records, or by what was released of them.
        release: of the sums over the root of the number of pairs.
        num_records: n, public.

    Raises:
        ValueError: the release claims less than the true sensitivity, features are longer than 1 or
            have negative inner products, a pair is there twice, or cells are out of range.

    Guarantee:
        One Gaussian release: a record gives each pair a matrix of norm at most 1, and no two
        records' matrices have a negative inner product. So all sums over the root of the number of
        pairs move by at most 1 in norm where a record becomes empty, and by sqrt(2) where it is
        replaced. Independent noise of the release's standard deviation is on each entry.
    """
    _require(release, cells, [len(each) for each in features])
    for each in features:
        _require_features(each)
    if len(set(pairs)) < len(pairs):
        raise ValueError("a pair is there twice")
    root, sums = math.sqrt(len(pairs)), []
    for j, k in pairs:
        counts = pair_counts(cells[:, j], cells[:, k], len(features[j]), len(features[k]))
        exact = np.asarray(processes.summed(counts))
        sums.append((features[j].T @ exact @ features[k] / root).ravel())
    return noisy_sums(key, np.concatenate(sums), release) * (root / num_records)


def release_queries(
    key: Key[Array, ""],
    cells: Int[np.ndarray, "n q"],
    widths: Sequence[int],
    queries: Sequence[Query],
    release: GaussianRelease,
    *,
    num_records: int,
) -> Float[np.ndarray, " m"]:
    """Return for every query the noisy share of records that answer it.

    Args:
        key: of the noise, fresh and secret.
        cells: private; the cell of every record in every column.
        widths: number of cells of each column.
        queries: chosen without the records, or by what was released of them.
        release: of the counts over the root of the number of queries.
        num_records: n, public.

    Raises:
        ValueError: the release claims less than the true sensitivity, or cells are out of range.

    Guarantee:
        One Gaussian release: a record answers each query or does not. So all counts over the root
        of the number of queries move by at most `SENSITIVITY_OF_ANSWERS` in norm, whether a record
        becomes empty or is replaced. Independent noise of the release's standard deviation is on
        each.
    """
    _require_claim(release, SENSITIVITY_OF_ANSWERS)
    _require_cells(cells, widths)
    counts = [np.count_nonzero(answers(cells, query)) for query in queries]
    exact = np.asarray(processes.summed(np.array(counts)))
    root = math.sqrt(len(queries))
    return noisy_sums(key, exact / root, release) * (root / num_records)


def pair_counts(
    first: Int[np.ndarray, " n"], second: Int[np.ndarray, " n"], width: int, other_width: int
) -> Int[np.ndarray, "width other_width"]:
    """Return how many records lie in each cell of two columns."""
    together = first.astype(np.int64) * other_width + second
    counts = np.bincount(together, minlength=width * other_width)
    return counts.reshape(width, other_width)


def noisy_sums(
    key: Key[Array, ""], exact: Float[np.ndarray, " p"], release: GaussianRelease
) -> Float[np.ndarray, " p"]:
    """Return sums with noise, a block at a time: programs are compiled for one length."""
    num_blocks = -(-len(exact) // _BLOCK)
    filled = np.zeros((num_blocks, _BLOCK))
    filled.ravel()[: len(exact)] = exact
    with numerics.float64():
        for number in range(num_blocks):
            noisy = mechanism.add_gaussian_noise(
                jax.random.fold_in(key, number),
                jax.numpy.asarray(filled[number]),
                stddev=release.stddev,
            )
            filled[number] = np.asarray(noisy)
    return filled.ravel()[: len(exact)]


def _require(release: GaussianRelease, cells: np.ndarray, widths: Sequence[int]) -> None:
    require_sensitivity(release)
    _require_cells(cells, widths)


def _require_claim(release: GaussianRelease, least: float) -> None:
    if release.sensitivity < least * (1 - 1e-12):
        raise ValueError(f"{release.name}: sensitivity is {least}, not {release.sensitivity}")


def _require_cells(cells: np.ndarray, widths: Sequence[int]) -> None:
    if cells.shape[1:] != (len(widths),):
        raise ValueError(f"cells have shape {cells.shape}, and there are {len(widths)} columns")
    if len(cells) and (np.any(cells < 0) or np.any(cells >= np.asarray(widths))):
        raise ValueError("a record lies in no cell of its column")


def _require_features(features: np.ndarray) -> None:
    products = features @ features.T
    if np.max(np.diag(products)) > 1 or np.min(products) < -1e-12:
        raise ValueError("features must have norm 1 at most, and no negative inner products")
