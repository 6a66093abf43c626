"""A private teacher: a linear softmax classifier on public features, trained by DP-SGD.

The model has weights `W` (p, c) and scores `phi(x) W`. The gradient of one example's
cross-entropy is an outer product, so its norm is exact and free:

    g_i = phi_i r_i^T,   r_i = softmax(W^T phi_i) - y_i,   |g_i| = |phi_i| |r_i|.

A step draws a Poisson sample, sums the clipped gradients, adds Gaussian noise to the sum, divides
by a public constant and hands the result to an optimiser. Before the first step, the noisy mean of
features may be released and taken off (`jaxdp.methods.teacher.feature_mean`), and after the last
one what makes probabilities of scores (`jaxdp.methods.teacher.probabilities`). The released
weights, and everything computed from them, are post-processing.

What a privacy auditor reads is `jaxdp.privacy.dp_sgd`, `clipped_sum`, `sum_clipped_grads` and these
two files.

References:
    Abadi et al. (2016), "Deep learning with differential privacy", algorithm 1.
    Goodfellow (2015), "Efficient per-example gradient computations", section 4.
    Tramer & Boneh (2021), "Differentially private learning needs better features (or much more
    data)", section 3: linear classifiers on scattering features.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int

from jaxdp.devices import StoredRows
from jaxdp.methods.teacher.feature_mean import mean_of_features
from jaxdp.methods.teacher.probabilities import Last, calibrated
from jaxdp.methods.teacher.view import View, as_they_are
from jaxdp.numerics import map_rows, rounded_once
from jaxdp.privacy import dp_sgd, sums
from jaxdp.privacy.clipping import norms_from_above
from jaxdp.privacy.dp_sgd import ClippedSum
from jaxdp.privacy.mechanism import SubsampledGaussian

_HIGHEST = jax.lax.Precision.HIGHEST


class TeacherState(NamedTuple):
    """What a run carries from step to step; all of it is free to release.

    `step` () counts finished releases, `weights` (p, c) is the current iterate and `average`
    (p, c) the mean of the last iterates (the result), both on features as `view` shows them.
    """

    step: Array
    weights: Array
    average: Array
    opt_state: Any
    view: View

    @property
    def result(self) -> Float[Array, "p c"]:
        """The result, as weights on features as they are."""
        return self.view.on_rows(self.average)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TeacherConfig:
    """Static configuration of the teacher's training.

    Attributes:
        optimizer: applied to the noisy mean gradient in units of the clip norm.
        average_fraction: share in (0, 1] of the mechanism's steps, the last ones, whose iterates
            are averaged.
        label_smoothing: share in [0, 1) of a label that is spread over all classes.
        chunk_size: how many examples are processed at once, >= 1; bounds the memory.

    Raises:
        ValueError: a value is out of range.
    """

    optimizer: optax.GradientTransformation
    average_fraction: float = 0.3
    label_smoothing: float = 0.0
    chunk_size: int = 256

    def __post_init__(self) -> None:
        if not 0 < self.average_fraction <= 1:
            raise ValueError(f"average_fraction must be in (0, 1], got {self.average_fraction}")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"label_smoothing must be in [0, 1), got {self.label_smoothing}")
        if self.chunk_size < 1:
            raise ValueError(f"chunk_size must be >= 1, got {self.chunk_size}")


class Teacher(NamedTuple):
    """The pair of functions that `dp_teacher` returns."""

    init: Callable[..., TeacherState]
    update: Callable[..., TeacherState]


def dp_teacher(
    mechanism: SubsampledGaussian,
    config: TeacherConfig,
    *,
    first: SubsampledGaussian | None = None,
    last: Last | None = None,
) -> Teacher:
    """Return `(init, update)` of a linear softmax classifier trained by DP-SGD.

    `init(num_features, num_classes) -> TeacherState` starts from zero.
    `update(state, key, features (n, p), labels (n,), num_steps) -> TeacherState` runs
    `num_steps` steps, fewer where the mechanism's last one comes first, in one compiled loop;
    `num_steps` may differ from call to call without another compilation. Step `t` takes its
    randomness from `fold_in(key, t)`, so a run may be cut into calls anywhere. Features may be
    stored in float16; a chunk at a time is converted to float32, chunks are summed and noise is
    added in float64. `update` cannot be called inside another `jit`.
    The guarantee needs a row of features to depend on its own example alone.

    Args:
        mechanism: what the steps are accounted by.
        config: how the training goes.
        first: what the mean of features is accounted by, which the call that takes the first step
            releases before it; None does without. Features then have norm 1 at most, beside a
            constant as the last one.
        last: what is released in the call that takes the last step, so that softmax of the scores
            are probabilities; None does without.

    Raises:
        ValueError: `first` or `last` is not one release of all examples; (`update`) the data does
            not have `mechanism.num_examples` rows, or labels are not classes, one for each row.

    Guarantee:
        All states together are a function of at most `mechanism.num_steps` releases of the
        Poisson-subsampled Gaussian mechanism that `mechanism` describes, and of one release each
        that `first` and `last` describe, under the zero-out relation (`jaxdp.privacy.ledger`), and
        of nothing else that depends on features and labels. Their noise is independent of that of
        steps.
    """
    chunk_size, clip_norm = config.chunk_size, mechanism.clip_norm
    look = first and mean_of_features(first, chunk_size=chunk_size)
    calibrate = last and calibrated(last, clip_norm=clip_norm, chunk_size=chunk_size)
    average_start = min(
        math.floor((1 - config.average_fraction) * mechanism.num_steps), mechanism.num_steps - 1
    )

    def init(num_features: int, num_classes: int) -> TeacherState:
        weights = jnp.zeros((num_features, num_classes), jnp.float32)
        start, view = jnp.zeros((), jnp.int32), as_they_are(num_features)
        return TeacherState(start, weights, weights, config.optimizer.init(weights), view)

    def step(state: TeacherState, key: Array, features: Any, labels: Array) -> TeacherState:
        clipped = clipped_sum(mechanism, config, state.weights, features, labels, view=state.view)
        noisy_mean = dp_sgd.noisy_mean(key, mechanism, clipped, chunk_size=chunk_size)
        grad = noisy_mean.astype(state.weights.dtype)
        updates, opt_state = config.optimizer.update(grad, state.opt_state, state.weights)
        weights = optax.apply_updates(state.weights, updates)
        # The last iterate until averaging starts, then the running mean.
        count = jnp.maximum(state.step - average_start, 0).astype(jnp.float32) + 1
        average = state.average + (weights - state.average) / count
        return TeacherState(state.step + 1, weights, average, opt_state, state.view)

    steps = dp_sgd.accounted_steps(mechanism, step)

    def update(
        state: TeacherState, key: Array, features: Any, labels: Array, num_steps: int
    ) -> TeacherState:
        dp_sgd.require_classes(labels, state.weights.shape[1])
        if not (look or calibrate):
            return steps(state, key, features, labels, num_steps)
        first_key, steps_key, last_key = jax.random.split(key, 3)
        before = int(state.step)
        if look and before == 0:
            state = state._replace(view=look(first_key, features, labels))
        state = steps(state, steps_key, features, labels, num_steps)
        if calibrate and before < mechanism.num_steps == int(state.step):
            weights = calibrate(last_key, state.average, state.view, features, labels)
            state = state._replace(average=weights)
        return state

    return Teacher(init, update)


def clipped_sum(
    mechanism: SubsampledGaussian,
    config: TeacherConfig,
    weights: Float[Array, "p c"],
    features: Float[Array, "n p"] | StoredRows,
    labels: Int[Array, " n"],
    *,
    view: View,
) -> ClippedSum:
    """Return the sum of the clipped gradients, by chunks.

    Guarantee:
        That of `ClippedSum`, for `mechanism.clip_norm`.
    """

    def chunk(indices: Array, mask: Array) -> Array:
        return sum_clipped_grads(
            weights,
            features[indices],
            labels[indices],
            mask,
            clip_norm=mechanism.clip_norm,
            label_smoothing=config.label_smoothing,
            view=view,
        ).astype(jnp.float64)

    return ClippedSum(chunk, jnp.zeros(weights.shape, jnp.float64))


def sum_clipped_grads(
    weights: Float[Array, "p c"],
    features: Float[Array, "b p"],
    labels: Int[Array, " b"],
    mask: Bool[Array, " b"],
    *,
    clip_norm: float,
    label_smoothing: float = 0.0,
    view: View | None = None,
) -> Float[Array, "p c"]:
    """Return the sum of the clipped cross-entropy gradients of the examples `mask` selects.

    `sum_i mask_i phi_i r_i^T min(1, C / (|phi_i| |r_i|))`.

    Args:
        weights: W.
        features: rows `phi_i`, of any float type that float32 holds exactly.
        labels: classes in [0, c).
        mask: which examples count.
        clip_norm: bound C on one example's contribution, > 0; `math.inf` for none.
        label_smoothing: share of a label that is spread over all classes.
        view: how `phi_i` is seen; None as it is. It does not depend on the example.

    Guarantee:
        Adding or removing one example changes the sum by at most `clip_norm` in Euclidean norm,
        its rounding included: a norm is multiplied by `1 + (p + c + 16) 2^-23` before clipping,
        more than the sums of squares and the products can lose in float32, and by `sums.MARGIN`.
        Norms and sum read one rounding of features and residuals, whose terms may cancel. Masked
        examples and those whose gradient has no finite norm contribute exactly zero.
    """
    p, c = weights.shape
    wide = features.astype(weights.dtype)
    seen = wide if view is None else view.seen(wide)
    finite = jnp.isfinite(seen)
    phi = jnp.where(finite, seen, 0.0)  # zero times NaN is not zero
    targets = optax.smooth_labels(jax.nn.one_hot(labels, c, dtype=phi.dtype), label_smoothing)
    residuals = jax.nn.softmax(jnp.matmul(phi, weights, precision=_HIGHEST)) - targets
    phi, residuals = rounded_once((phi, residuals), weights)
    of_phi, of_residuals = (norms_from_above(rows, terms=p + c) for rows in (phi, residuals))
    norms = sums.MARGIN * of_phi * of_residuals
    keep = mask & jnp.all(finite, axis=1) & jnp.isfinite(norms)
    factors = jnp.minimum(1.0, clip_norm / norms)
    scaled = jnp.where(keep[:, None], factors[:, None] * residuals, 0.0)
    # This order of the product is several times as fast on a CPU as its transpose.
    return sums.summed_products(scaled, phi).T


def scores(weights: Float[Array, "p c"], features: Float[Array, "*t p"]) -> Float[Array, "*t c"]:
    """Return the scores `phi W` in the weights' float type."""
    return jnp.matmul(features.astype(weights.dtype), weights, precision=_HIGHEST)


@functools.partial(jax.jit, static_argnames="chunk_size")
def _scores(weights: Array, features: Array, chunk_size: int) -> Array:
    return map_rows(functools.partial(scores, weights), features, at_most=chunk_size)


def predict(
    weights: Float[Array, "p c"], features: Float[Array, "t p"], *, chunk_size: int = 1000
) -> Float[Array, "t c"]:
    """Return the scores `phi W`, a chunk of rows at a time in the weights' float type."""
    return _scores(weights, features, chunk_size)
