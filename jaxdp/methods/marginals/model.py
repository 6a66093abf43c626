"""The model of records: the one of largest entropy that fits the noisy counts.

    p(x) ~ exp(sum_j b_j(x_j) + sum_{j<k} F_j(x_j) C_jk F_k(x_k)^T)

`F_j` are the features of column j's cells (`jaxdp.tables.domain`). The coefficients have a normal
prior whose variance the counts themselves tell (`estimates`), and are 0 for columns that do not
depend on each other beyond doubt. Each step draws every column of some thousand records anew, given
the others, and moves the coefficients to where the drawn records fit the counts better: by the
gradient of the posterior, scaled by its curvature. Columns that depend on no other have no part in
that, and are drawn by their shares.

References:
    Geman & Geman (1984), "Stochastic relaxation, Gibbs distributions, and the Bayesian restoration
        of images" (drawing a column given the others).
    Tieleman (2008), "Training restricted Boltzmann machines using approximations to the likelihood
        gradient" (records are kept from step to step).
"""

import functools
import itertools
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxdp.methods.marginals.apart import ApartTraining, apart_model
from jaxdp.methods.marginals.estimates import Counts
from jaxdp.methods.marginals.points import Chance, drawn_chance, spread_points
from jaxdp.methods.marginals.settings import NUM_CHAINS, steps_before
from jaxdp.methods.steps import Watch, unwatched

_RATE, _LEAST_RATE = 0.5, 0.05
_LEAST = 1e-6


class Coefficients(NamedTuple):
    """The numbers of a model.

    Attributes:
        single: b, for each cell of all columns.
        pairs: C, symmetric, with zeros for a column with itself.
    """

    single: Float[Array, " d"]
    pairs: Float[Array, "d d"]


class ModelState(NamedTuple):
    """A model in training, with the records that are drawn of it."""

    step: Int[Array, ""]
    coefficients: Coefficients
    cells: Int[Array, "m q"]


class ColumnTables(NamedTuple):
    """What drawing a column needs.

    Attributes:
        column: its number.
        start: of its cells in a row of all cells.
        features: of each cell.
        partner: the column on which it depends most; itself for none.
    """

    column: Int[Array, ""]
    start: Int[Array, ""]
    features: Float[Array, "w w"]
    partner: Int[Array, ""]


class Training(NamedTuple):
    """The fitting of a model as pure functions, and how many steps it takes.

    Attributes:
        num_steps: how many.
        init: makes the first state.
        update: takes a step, and tells the misfit.
        records: cells of all columns, of a state.
    """

    num_steps: int
    init: Callable[[Key[Array, ""]], ModelState]
    update: Callable[[ModelState, Key[Array, ""]], tuple[ModelState, Float[Array, ""]]]
    records: Callable[[ModelState, Key[Array, ""]], Int[Array, "m q"]]


def train_model(counts: Counts, num_steps: int) -> Training | ApartTraining:
    """Return how a model is fitted to noisy counts.

    Args:
        counts: what was released, and its noise.
        num_steps: of the whole training, where there is something to fit.

    Guarantee:
        Post-processing: no function here takes private data, so training costs no privacy.
    """
    if counts.is_apart:
        return apart_model(counts)
    domain, tables = counts.domain, column_tables(counts)
    target = _target(counts)
    shares = jnp.asarray(np.concatenate(counts.shares), jnp.float32)

    every, total = frozenset(range(len(tables))), jnp.asarray(num_steps)
    fitted = frozenset(itertools.chain.from_iterable(counts.dependences))

    def init(key: Key[Array, ""]) -> ModelState:
        start = Coefficients(jnp.log(shares), jnp.zeros((domain.dim, domain.dim)))
        nothing = jnp.zeros((NUM_CHAINS, len(tables)), jnp.int32)
        state = ModelState(jnp.zeros((), jnp.int32), start, nothing)
        # Of such coefficients a column does not depend on the others.
        return state._replace(cells=_redrawn(key, state, tables, every).cells)

    def update(state: ModelState, key: Key[Array, ""]) -> tuple[ModelState, Float[Array, ""]]:
        return _moved(state, _redrawn(key, state, tables, fitted), target, shares, total)

    def records(state: ModelState, key: Key[Array, ""]) -> Int[Array, "m q"]:
        alone = every - fitted
        return _redrawn(key, state, tables, alone).cells if alone else state.cells

    return Training(num_steps, init, update, records)


class _Target(NamedTuple):
    """What coefficients of pairs are fitted to.

    Attributes:
        means: noisy means of products of features.
        precision: one over the variance of their noise.
        known: 1 where columns depend on each other, 0 elsewhere.
        gain: how far a missing mean moves a coefficient in a step of rate 1.
        decay: how far its prior moves it back.
    """

    means: Float[Array, "d d"]
    precision: Float[Array, "d d"]
    known: Float[Array, "d d"]
    gain: Float[Array, "d d"]
    decay: Float[Array, "d d"]


def _target(counts: Counts) -> _Target:
    """Return what is fitted; in turned features, whose curvature is nearly diagonal."""
    places, dim = counts.domain.places, counts.domain.dim
    found = np.zeros((5, dim, dim))
    for pair, prior in counts.dependences.items():
        block = tuple(places[each] for each in pair)
        spread = np.outer(*(counts.spreads(each) for each in pair))
        precision = 1 / counts.uncertainty(pair)
        curvature = spread**2 * precision + 1 / prior
        pulls = spread * precision / curvature, 1 / prior / curvature
        for number, values in enumerate((counts.turned(pair), precision, 1.0, *pulls)):
            found[number][block] = values
    return _Target(*(jnp.asarray(each + each.T, jnp.float32) for each in found))


# The counts are arguments, so that no program that is kept depends on them.
@jax.jit
def _moved(
    state: ModelState,
    drawn: "_Drawn",
    target: _Target,
    shares: Float[Array, " d"],
    num_steps: Int[Array, ""],
) -> tuple[ModelState, Float[Array, ""]]:
    """Return a state with coefficients that fit better, and how far drawn records are off."""
    own = jnp.concatenate(drawn.shares)
    products = jnp.concatenate(drawn.means) @ drawn.rows.T / len(drawn.cells)
    missing = target.means - (products + products.T) / 2
    rate = jnp.maximum(_RATE * (1 - state.step / num_steps), _LEAST_RATE)
    pull = target.gain * missing - target.decay * state.coefficients.pairs
    now = Coefficients(
        single=state.coefficients.single + rate * (jnp.log(shares) - jnp.log(own + _LEAST)),
        pairs=state.coefficients.pairs + rate * target.known * jnp.clip(pull, -1, 1),
    )
    num_known = jnp.maximum(jnp.sum(target.known), 1.0)
    misfit = jnp.sqrt(jnp.sum(target.known * missing**2 * target.precision) / num_known)
    return ModelState(state.step + 1, now, drawn.cells), misfit


def column_tables(counts: Counts) -> tuple[ColumnTables, ...]:
    """Return what drawing needs of each column."""
    domain, strength = counts.domain, np.zeros((len(counts.domain.widths),) * 2)
    for pair in counts.dependences:
        strength[pair] = strength[pair[::-1]] = counts.strength(pair)
    partners = np.where(strength.any(axis=1), strength.argmax(axis=1), np.arange(len(strength)))
    each = zip(domain.places, counts.bases, partners, strict=True)
    return tuple(
        ColumnTables(
            jnp.asarray(column, jnp.int32),
            jnp.asarray(place.start, jnp.int32),
            jnp.asarray(basis, jnp.float32),
            jnp.asarray(partner, jnp.int32),
        )
        for column, (place, basis, partner) in enumerate(each)
    )


class _Drawn(NamedTuple):
    """Records of which columns were drawn anew, one after the other, and what is expected of them.

    Records are the last axis of features: they are many, and a processor takes many numbers of an
    axis at once.

    Attributes:
        cells: of the records.
        rows: their features.
        shares: for each column, of each cell, as expected by the other columns.
        means: for each column, of each record's features, as expected by the other columns; 0 for
            those that were not drawn.
    """

    cells: Int[Array, "m q"]
    rows: Float[Array, "d m"]
    shares: tuple[Float[Array, " w"], ...]
    means: tuple[Float[Array, "w m"], ...]


def _redrawn(
    key: Key[Array, ""],
    state: ModelState,
    tables: Sequence[ColumnTables],
    columns: Container[int],
) -> _Drawn:
    """Return records of which some columns were drawn anew."""
    chance, cells, rows = _begun(key, state, tuple(table.features for table in tables))
    means, shares = [], []
    widest = max(len(table.features) for table in tables)
    for number, table in enumerate(tables):
        share, mean = _as_before(state, table)  # of all, so that all runs keep the same programs
        if number in columns:
            cells, rows, share, mean = _drawn_column(
                chance, cells, rows, state.coefficients, table, widest
            )
        means.append(mean)
        shares.append(share)
    return _Drawn(cells.T, rows, tuple(shares), tuple(means))


@jax.jit
def _as_before(
    state: ModelState, table: ColumnTables
) -> tuple[Float[Array, " w"], Float[Array, "w m"]]:
    """Return the shares of a column that is not drawn anew, and no means."""
    width = len(table.features)
    single = jax.lax.dynamic_slice(state.coefficients.single, (table.start,), (width,))
    return jnp.exp(single), jnp.zeros((width, len(state.cells)))


@jax.jit
def _begun(
    key: Key[Array, ""], state: ModelState, features: tuple[Array, ...]
) -> tuple[Chance, Int[Array, "q m"], Float[Array, "d m"]]:
    """Return a step's chance for all columns, its records' cells, and their features."""
    rows = [each[state.cells[:, column]] for column, each in enumerate(features)]
    chance = drawn_chance(jax.random.fold_in(key, state.step), *state.cells.shape)
    return chance, state.cells.T, jnp.concatenate(rows, axis=1).T


# Compiled once for each width that a column has.
@functools.partial(jax.jit, donate_argnums=(1, 2), static_argnums=5)
def _drawn_column(
    chance: Chance,
    cells: Int[Array, "q m"],
    rows: Float[Array, "d m"],
    coefficients: Coefficients,
    table: ColumnTables,
    widest: int,
) -> tuple[Int[Array, "q m"], Float[Array, "d m"], Float[Array, " w"], Float[Array, "w m"]]:
    """Return records with a column as drawn given the others, and what is expected of it."""
    features, start, width = table.features, table.start, len(table.features)
    single = jax.lax.dynamic_slice(coefficients.single, (start,), (width,))
    pairs = jax.lax.dynamic_slice(coefficients.pairs, (start, 0), (width, len(coefficients.pairs)))
    chances = jax.nn.softmax((features @ pairs) @ rows + single[:, None], axis=0)
    points = spread_points(chance.of(table.column), cells[table.partner], widest)
    # A cumulative sum, for which XLA takes longer.
    upto = jnp.matmul(jnp.tril(jnp.ones((width, width))), chances, precision="highest")
    own = jnp.sum(upto < points, axis=0)
    own = jnp.minimum(own, width - 1).astype(jnp.int32)
    cells = cells.at[table.column].set(own)
    rows = jax.lax.dynamic_update_slice(rows, features[own].T, (start, 0))
    return cells, rows, chances.mean(axis=1), features.T @ chances


def draw(
    training: Training | ApartTraining,
    state: Any,
    key: Key[Array, ""],
    count: int,
    *,
    watch: Watch = unwatched,
) -> Int[np.ndarray, "m q"]:
    """Return the cells of `count` records, as `rounds` draws them.

    Args:
        training: how the model is fitted.
        state: after all of its steps.
        key: public.
        count: how many.
        watch: sees the numbers of rounds, of which each draws some thousand.
    """
    drawn = rounds(training, state, key)
    found = [next(drawn) for _ in watch(range(-(-count // NUM_CHAINS)))]
    return np.concatenate(found)[:count]


def rounds(
    training: Training | ApartTraining, state: Any, key: Key[Array, ""]
) -> Iterator[Int[np.ndarray, "m q"]]:
    """Yield the cells of some thousand records again and again, of a model that is fitted on.

    Columns that tell each other nearly, as a code and its name, hardly change any more when each is
    drawn given the other. Fitting goes on, so that how many records hold each stays right.

    Args:
        training: how the model is fitted.
        state: after all of its steps.
        key: public.
    """
    for number in itertools.count():
        for _ in range(steps_before(number)):
            state, _ = training.update(state, key)
        yield np.asarray(training.records(state, key))
