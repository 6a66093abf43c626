"""A model in which columns depend on the target alone, from counts of pairs with it.

    p(x) = p(t) prod_j p(x_j | t)

or one in which they move together, too, by a few factors (`factors`). It is what is told where all
pairs are too many for the records. There is nothing to fit: the pair of a column and the target
says its part of the model. How a column departs from being independent
is estimated by itself or, where that is likelier, together with columns that are alike (`alike`).

A departure is taken from the margin of the pair itself. The share of a cell that is a little wrong
would otherwise be taken for a dependence wherever the target is uneven.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxdp.methods.marginals import alike, factors
from jaxdp.methods.marginals.estimates import Counts, likeliest_strength, turn_of
from jaxdp.methods.marginals.points import drawn_chance, sorted_points, spread_points
from jaxdp.methods.marginals.settings import NUM_CHAINS

# Looking at columns together has to tell so many times as much, as a few may depend far more.
_LEAST_RATIO = 1.3
# What two settings of each column have to gain, and all columns beyond that by chance, in
# logarithms of likelihoods.
_SETTINGS, _CHANCE = 2.0, 1.0
_LEAST = 1e-3


class Departures(NamedTuple):
    """How columns that are alike depend on the target.

    Attributes:
        columns: their numbers.
        means: of each column, `P(x_j, t) - P(x_j) P(t)` by cells, as is likely.
        misfits: squares of how far counts are from it, in variances of their noise.
    """

    columns: Sequence[int]
    means: Float[np.ndarray, "g w c"]
    misfits: Float[np.ndarray, "g w c"]


class ApartState(NamedTuple):
    """Records that were drawn."""

    step: Int[Array, ""]
    cells: Int[Array, "m q"]


class _Group(NamedTuple):
    """Columns of one width.

    Attributes:
        columns: their numbers.
        upto: probability of all cells up to each, given the target's cell.
        loadings: how much of each factor is in each column.
    """

    columns: tuple[int, ...]
    upto: Float[Array, "g c w"]
    loadings: Float[Array, "g f"]


def shares_given_target(counts: Counts) -> tuple[dict[int, Float[np.ndarray, "_ _"]], float]:
    """Return each column's shares (w, c) given the target's cell, and the misfit of all.

    The misfit is the root of the mean square, in standard deviations of noise.
    """
    target, found, misfits = counts.domain.target, dict[int, np.ndarray](), [np.zeros(1)]
    paired = [column for column in range(len(counts.shares)) if counts.has_target(column)]
    for group in alike.groups(counts.domain, paired):
        departures = departures_of(counts, group)
        misfits.append(departures.misfits.ravel())
        for column, away in zip(group, departures.means, strict=True):
            assert target is not None
            even = np.outer(counts.shares[column], counts.shares[target])
            table = np.maximum(even + away, _LEAST * even)
            found[column] = table / table.sum(axis=0)
    return found, float(np.sqrt(np.mean(np.concatenate(misfits))))


def departures_of(counts: Counts, group: Sequence[int]) -> Departures:
    """Return how columns with the same features depend on the target."""
    target, domain = counts.domain.target, counts.domain
    assert target is not None
    features, theirs = domain.features[group[0]], domain.features[target]
    shares = np.stack([counts.shares[column] for column in group])
    turn = turn_of(features, shares.mean(axis=0))
    turned = features @ turn
    # Of every column of a pair's means, less what the pair's own margin says of it.
    ones = np.linalg.solve(theirs, np.ones(len(theirs)))
    own = counts.turns[target] - np.outer(ones, counts.shares[target] @ counts.bases[target])
    pairs = [counts.of(column, target) for column in group]
    away = np.stack([turn.T @ means @ own for means, _ in pairs])
    spread = np.maximum(shares @ turned**2 - (shares @ turned) ** 2, 1e-9)
    spread = spread[:, :, None] * counts.spreads(target)
    noise = np.array([stddev**2 for _, stddev in pairs])[:, None, None] * np.sum(own**2, axis=0)
    variance = noise + spread / counts.num_records
    likely = _likely(away, variance, spread, np.array(group))
    back = np.linalg.solve(features.T, turn @ likely @ counts.turns[target].T)
    misfits = (away - likely) ** 2 / variance
    return Departures(group, back @ np.linalg.inv(theirs), misfits)


def _likely(
    away: np.ndarray, variance: np.ndarray, spread: np.ndarray, places: np.ndarray
) -> Float[np.ndarray, "g w c"]:
    """Return what is likely of noisy departures: of each by itself, or of all together."""
    found, gain = np.zeros(away.shape), -_CHANCE
    for number, (own, noise, size) in enumerate(zip(away, variance, spread, strict=True)):
        strength, own_gain = likeliest_strength(own**2, noise, size)
        prior = strength * size**2
        found[number] = own * prior / (prior + noise)
        gain += max(own_gain - _SETTINGS, 0.0)
    if len(away) < alike.LEAST_ALIKE:
        return found
    flat = away.reshape(len(away), -1)
    together = alike.likeliest(flat, variance.mean(axis=0).ravel(), places)
    # Where neither tells anything, both gains are 0, and there are no departures.
    return (
        together.means.reshape(away.shape)
        if together.gain >= _LEAST_RATIO * max(gain, 0.0)
        else found
    )


class ApartTraining(NamedTuple):
    """A model that is there at once, in the form of one that is fitted."""

    num_steps: int
    groups: tuple[_Group, ...]
    target: int | None
    target_upto: Float[Array, " c"]
    misfit: float

    def init(self, key: Key[Array, ""]) -> ApartState:
        """Return the first records."""
        return ApartState(jnp.zeros((), jnp.int32), self._drawn(key))

    def update(self, state: ApartState, key: Key[Array, ""]) -> tuple[ApartState, Float[Array, ""]]:
        """Return other records, and the misfit of the model."""
        own = jax.random.fold_in(key, state.step)
        return ApartState(state.step + 1, self._drawn(own)), jnp.asarray(self.misfit)

    def records(self, state: ApartState, key: Key[Array, ""]) -> Int[Array, "m q"]:
        """Return the records of a state."""
        del key
        return state.cells

    def _drawn(self, key: Key[Array, ""]) -> Int[Array, "m q"]:
        first, rest = jax.random.split(key)
        classes = jnp.zeros(NUM_CHAINS, jnp.int32)
        columns: dict[int, Array] = {}
        if self.target is not None:
            chance = drawn_chance(first, NUM_CHAINS, 1).of(0)
            classes = _cells_at(spread_points(chance, classes, 1), self.target_upto)
            columns[self.target] = classes
        shared, rest = jax.random.split(rest)
        for number, group in enumerate(self.groups):
            keys = jax.random.split(jax.random.fold_in(rest, number), len(group.columns))
            moved = jax.random.normal(shared, (NUM_CHAINS, group.loadings.shape[1]))
            drawn = _drawn_group(keys, classes, group.upto, group.loadings, moved)
            columns |= zip(group.columns, drawn, strict=True)
        return jnp.stack([columns[column] for column in range(len(columns))], axis=1)


def apart_model(counts: Counts) -> ApartTraining:
    """Return the model of counts that pair columns with the target alone, or not at all.

    Guarantee:
        Post-processing: no function here takes private data.
    """
    tables, misfit = _tables(counts)
    by_width = dict[int, list[int]]()
    for column in tables:
        by_width.setdefault(counts.domain.widths[column], []).append(column)
    loadings = dict(zip(tables, _loadings(counts, tables), strict=True))

    def group(columns: Sequence[int]) -> _Group:
        upto = np.stack([np.cumsum(tables[each].T, axis=1) for each in columns])
        own = np.stack([loadings[each] for each in columns])
        return _Group(tuple(columns), *(jnp.asarray(each, jnp.float32) for each in (upto, own)))

    groups = tuple(map(group, by_width.values()))
    target_upto = jnp.asarray(np.cumsum(_classes(counts)), jnp.float32)
    return ApartTraining(1, groups, counts.domain.target, target_upto, misfit)


def scores_of(counts: Counts) -> factors.Scores:
    """Return the normal scores of all columns' cells but the target's, given the target's cell."""
    tables, _ = _tables(counts)
    return factors.scores_of(list(tables.values()), _classes(counts))


def _classes(counts: Counts) -> Float[np.ndarray, " c"]:
    """Return the share of each cell of the target; of no target, that of all records."""
    target = counts.domain.target
    return np.ones(1) if target is None else counts.shares[target]


def _tables(counts: Counts) -> tuple[dict[int, Float[np.ndarray, "_ _"]], float]:
    """Return each column's shares (w, c) given the target's cell, and the misfit of all."""
    given, misfit = shares_given_target(counts)
    found, classes = dict[int, np.ndarray](), len(_classes(counts))
    for column, own in enumerate(counts.shares):
        if column != counts.domain.target:
            found[column] = given.get(column, np.repeat(own[:, None], classes, axis=1))
    return found, misfit


def _loadings(counts: Counts, tables: dict[int, np.ndarray]) -> Float[np.ndarray, "q f"]:
    """Return how much of each factor is in each column; none of a run that released no moments."""
    if not len(counts.moments):
        return np.zeros((len(tables), 0))
    scores = factors.scores_of(list(tables.values()), _classes(counts))
    return factors.loadings(counts.moments, counts.moment_stddev, counts.num_records, scores)


def _cells_at(points: Float[Array, " m"], upto: Float[Array, "..."]) -> Int[Array, " m"]:
    """Return the cell in which each point of the unit interval lies."""
    found = jnp.sum(upto < points[:, None], axis=-1)
    return jnp.minimum(found, upto.shape[-1] - 1).astype(jnp.int32)


@jax.jit
def _drawn_group(
    keys: Key[Array, " g"],
    classes: Int[Array, " m"],
    upto: Float[Array, "g c w"],
    loadings: Float[Array, "g f"],
    moved: Float[Array, "m f"],
) -> Int[Array, "g m"]:
    """Return cells of columns, even within each of the target's cells, that factors move."""

    def drawn(key: Key[Array, ""], own: Float[Array, "c w"], part: Float[Array, " f"]) -> Array:
        left = jnp.sqrt(1 - jnp.sum(part**2))
        z = moved @ part + left * jax.random.normal(key, classes.shape)
        points = sorted_points(classes, jax.scipy.special.ndtr(z), len(own))
        return _cells_at(points, own[classes])

    return jax.lax.map(lambda each: drawn(*each), (keys, upto, loadings))
