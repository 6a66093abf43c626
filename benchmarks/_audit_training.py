"""Attacks on what DP-SGD releases: the noisy sums behind every checkpoint, or the result alone.

The attacker of differential privacy knows all but the coins: every record, which of them are
canaries, the start, the optimiser. Here the learning rate is so small that parameters hardly move,
so the clipped contribution `g_j` of record j is the same at every step, and is found by training on
that record alone without noise. Iterates under SGD with momentum give back every noisy sum

    s_t = sum_j b_jt g_j + sigma N(0, I),    b_jt ~ Bernoulli(q) for records that are in,

in units of the clip norm. Canary i is seen through the minimum-variance filter of `g_i` against
noise, the draws of the rest and the other canaries; its score is the likelihood ratio over steps.
Canaries are of three kinds, fully clipped: a row along an axis of its own, a poisoned row (random
signs, a thousand times too large) and a row of one class with the label of another.

A canary that is out is an empty record, a row of NaN, which contributes exactly zero: n and all
that follows from it stay the same ("zero-out").

References:
    Nasr et al. (2023), "Tight auditing of differentially private machine learning" (canary
        gradients).
    Steinke, Nasr & Jagielski (2023), section 6 (many canaries in one run).
    Verdu (1998), "Multiuser detection", section 6.2 (minimum-variance filter).
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import _audit_bounds as bounds
import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxdp import kernels, numerics
from jaxdp.kernels.kip import initial_support
from jaxdp.methods import dp_kip, teacher
from jaxdp.privacy.mechanism import SubsampledGaussian, private_key

KINDS = ("orthogonal", "poisoned", "mislabelled")
NUM_CLASSES = 2
# Below every gradient's norm here, so that all are clipped.
_CLIP_NORM = 1e-4
# Of an attack on no noise at all, for finite likelihoods; above what float32 rounds.
_LEAST_NOISE = 1e-3


class Trainer(NamedTuple):
    """A training mechanism as the attacker sees it.

    Attributes:
        mechanism: what is accounted.
        start: the first state, public.
        step: `((states, keys), x, labels) -> states`, one step of every run, compiled.
        iterate: `state -> parameters`.
        result: `state -> parameters` that are released at the end.
        learning_rate, momentum: of the optimiser.
    """

    mechanism: SubsampledGaussian
    start: Any
    step: Callable[..., Any]
    iterate: Callable[[Any], jax.Array]
    result: Callable[[Any], jax.Array]
    learning_rate: float
    momentum: float


class Audited(NamedTuple):
    """Records under audit: rows, labels, and how many of them, the first ones, are canaries."""

    x: np.ndarray
    labels: np.ndarray
    canaries: int

    def with_canaries(self, included: np.ndarray) -> np.ndarray:
        """Return the rows, those of canaries that are out emptied."""
        x = self.x.copy()
        x[: self.canaries][~included] = np.nan
        return x


def _each(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a compiled loop of a function that may enter 64-bit mode over leading axes.

    One after the other: many small matrices at once have deadlocked XLA on two cores.
    """
    loop = jax.jit(lambda items, *others: jax.lax.map(lambda item: function(*item, *others), items))

    def over(items: Any, *others: Any) -> Any:
        with numerics.float64():
            return loop(items, *others)

    return over


def _one_step(update: Callable[..., Any]) -> Callable[..., Any]:
    return _each(lambda state, key, x, labels: update(state, key, x, labels, 1))


def _teacher(mechanism: SubsampledGaussian, width: int) -> Trainer:
    """Return the teacher with the momentum that it has by default."""
    rate, momentum = 1e-3, 0.9
    config = teacher.TeacherConfig(optimizer=optax.sgd(rate, momentum=momentum))
    init, update = teacher.dp_teacher(mechanism, config)
    return Trainer(
        mechanism,
        init(width, NUM_CLASSES),
        _one_step(update),
        lambda state: state.weights,
        lambda state: state.average,
        rate,
        momentum,
    )


def _kip(mechanism: SubsampledGaussian, width: int, *, general: bool) -> Trainer:
    """Return DP-KIP with one image per class, by either way to clip."""
    rate, kernel = 0.03, kernels.linear()
    if general:  # without its elementwise form gradients are formed one by one
        kernel = kernels.Kernel(cross=kernel.cross, symmetric=kernel.symmetric)
    config = dp_kip.KIPConfig(
        ridge=1e-2, optimizer=optax.sgd(rate), average_decay=0.9, chunk_size=64
    )
    init, update = dp_kip.dp_kip(kernel, mechanism, config)
    support = initial_support(
        jax.random.key(0), ipc=1, num_classes=NUM_CLASSES, dim=width, init_scale=1.0
    )
    return Trainer(
        mechanism,
        init(support),
        _one_step(update),
        lambda state: state.support.x,
        lambda state: state.average,
        rate,
        0.0,
    )


_TRAINERS: dict[str, Callable[[SubsampledGaussian, int], Trainer]] = {
    "DP-KIP, fast path": functools.partial(_kip, general=False),
    "DP-KIP, general path": functools.partial(_kip, general=True),
    "teacher": _teacher,
}
NAMES = tuple(_TRAINERS)


@functools.cache
def trainer(name: str, mechanism: SubsampledGaussian, width: int) -> Trainer:
    """Return a training mechanism of `NAMES` on rows of so many values; compiled once."""
    return _TRAINERS[name](mechanism, width)


def records(kind: str, *, canaries: int, rest: int, width: int) -> Audited:
    """Return canaries of one kind and ordinary records beside them, from a public seed."""
    rng = np.random.default_rng(0)
    labels = np.arange(canaries + rest, dtype=np.int32) % NUM_CLASSES
    centres = rng.standard_normal((NUM_CLASSES, width)) / math.sqrt(width)
    x = centres[labels] + rng.standard_normal((len(labels), width)) / math.sqrt(width)
    if kind == "orthogonal":
        x[:canaries] = 10 * np.eye(canaries, width)
    elif kind == "poisoned":
        x[:canaries] = 1e3 / math.sqrt(width) * rng.choice([-1.0, 1.0], (canaries, width))
    else:
        labels[:canaries] = (labels[:canaries] + 1) % NUM_CLASSES
    return Audited(x.astype(np.float32), labels, canaries)


def mechanism_for(audited: Audited, *, rate: float, steps: int, noise: float) -> SubsampledGaussian:
    """Return the mechanism of a run on these records."""
    return SubsampledGaussian(
        num_examples=len(audited.x),
        sampling_rate=rate,
        num_steps=steps,
        clip_norm=_CLIP_NORM,
        noise_multiplier=noise,
    )


def contributions(name: str, audited: Audited) -> np.ndarray:
    """Return what every record adds to a sum, in units of the clip norm: (records, parameters).

    Raises:
        RuntimeError: a record is not clipped.
    """
    start = trainer(name, _ALONE, audited.x.shape[1])
    moved = _moves(name, audited.x.shape[1])((audited.x, audited.labels))
    found = np.asarray(moved, np.float64) * _ALONE.num_examples / start.learning_rate
    norms = np.linalg.norm(found, axis=1)
    if not np.all((norms > 0.99) & (norms < 1.001)):
        raise RuntimeError(f"contributions have norms from {norms.min():.3f} to {norms.max():.3f}")
    return found


# One record beside an empty one: XLA on CPUs (jax 0.10.2) folds a loop over one record away.
_ALONE = SubsampledGaussian(
    num_examples=2, sampling_rate=1.0, num_steps=1, clip_norm=_CLIP_NORM, noise_multiplier=0.0
)


@functools.cache
def _moves(name: str, width: int) -> Callable[..., Any]:
    """Return the compiled loop of how far each record alone moves the start."""
    alone = trainer(name, _ALONE, width)
    states = jax.tree.map(lambda leaf: leaf[None], alone.start)
    keys = jax.random.split(private_key(0), 1)

    def one(row: jax.Array, label: jax.Array) -> jax.Array:
        rows = jnp.stack([row, jnp.full_like(row, jnp.nan)])
        state = alone.step((states, keys), rows, jnp.stack([label, label]))
        return (alone.iterate(alone.start) - jax.vmap(alone.iterate)(state)[0]).reshape(-1)

    return _each(one)


def run(
    trained: Trainer, audited: Audited, included: np.ndarray, keys: jax.Array
) -> tuple[np.ndarray, np.ndarray]:
    """Train once for every key; return noisy sums (runs, steps, parameters) and results.

    Both are in units of the clip norm, results as how far they are from the start.
    """
    m, runs = trained.mechanism, len(keys)
    x, labels = audited.with_canaries(included), audited.labels
    states = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (runs, *leaf.shape)), trained.start)
    iterates = [np.asarray(jax.vmap(trained.iterate)(states), np.float64)]
    for _ in range(m.num_steps):
        states = trained.step((states, keys), x, labels)
        iterates.append(np.asarray(jax.vmap(trained.iterate)(states), np.float64))
    velocities = -np.diff(np.stack(iterates, axis=1), axis=1)
    means = velocities.copy()
    means[:, 1:] -= trained.momentum * velocities[:, :-1]
    moved = iterates[0] - np.asarray(jax.vmap(trained.result)(states), np.float64)
    scale = m.expected_batch_size / trained.learning_rate
    return scale * means.reshape(runs, m.num_steps, -1), scale * moved.reshape(runs, -1)


def result_weights(trained: Trainer, audited: Audited, runs: int) -> np.ndarray:
    """Return `w_t` with `result = sum_t w_t s_t`, from a run of the attacker's own."""
    everyone = np.ones(audited.canaries, bool)
    sums, results = run(trained, audited, everyone, jax.random.split(private_key(1), runs))
    return np.linalg.lstsq(sums[0].T, results[0], rcond=None)[0]


def scores_of_sums(
    mechanism: SubsampledGaussian, sums: np.ndarray, known: np.ndarray, m: int
) -> np.ndarray:
    """Return the scores (runs, canaries) of an attacker who sees every noisy sum.

    Args:
        mechanism: rate and noise.
        sums: (runs, steps, parameters).
        known: what every record contributes (records, parameters), canaries first.
        m: number of canaries.
    """
    q, noise = mechanism.sampling_rate, max(mechanism.noise_multiplier, _LEAST_NOISE)
    means = np.where(np.arange(len(known)) < m, q / 2, q)
    estimates, inverse = _unmixed(sums, known, means, means * (1 - means), noise)
    return bounds.log_likelihood_ratio(
        np.swapaxes(estimates, -1, -2)[:, :m], precision=inverse[:m, None], rate=q
    )


def scores_of_results(
    mechanism: SubsampledGaussian,
    weights: np.ndarray,
    results: np.ndarray,
    known: np.ndarray,
    m: int,
) -> np.ndarray:
    """Return the scores (runs, canaries) of an attacker who sees what is released at the end.

    `sum_t w_t s_t`, with the optimiser's own weights, is taken for one Gaussian sum.
    """
    share = float(np.sum(weights**2) / np.sum(weights) ** 2)
    q = mechanism.sampling_rate
    noise = max(mechanism.noise_multiplier, _LEAST_NOISE) * share**0.5
    canary = np.arange(len(known)) < m
    means, spread = np.where(canary, q / 2, q), q * (1 - q) * share
    variances = np.where(canary, q**2 / 4 + spread / 2, spread)
    estimates, inverse = _unmixed(results / np.sum(weights), known, means, variances, noise)
    z, outside = estimates[:, :m], 1 / inverse[:m]
    inside = outside + spread  # how often it was drawn varies, too
    return (np.log(outside / inside) + z**2 / outside - (z - q) ** 2 / inside) / 2


def _unmixed(
    observed: np.ndarray, known: np.ndarray, means: np.ndarray, variances: np.ndarray, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return unbiased estimates of every record's coefficient, and their inverse variances.

    With `S = G^T V G + noise^2 I` and `f_j = S^-1 g_j` (by `G S^-1 = (G G^T V + noise^2 I)^-1 G`)
    the filter `f_j / (f_j . g_j)` lets record j through and as little of all else as possible;
    what else remains has variance `1 / (f_j . g_j) - V_jj`.
    """
    gram = known @ known.T
    left = gram * variances + noise**2 * np.eye(len(known))
    centred = (observed - means @ known) @ known.T
    filtered = np.linalg.solve(left, centred.reshape(-1, len(known)).T).T.reshape(centred.shape)
    gain = np.diagonal(np.linalg.solve(left, gram))
    return filtered / gain + means, gain / np.maximum(1 - variances * gain, 1e-9)
