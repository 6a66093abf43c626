"""DP-KIP: kernel inducing points distilled with DP-SGD, or plain KIP without noise.

A step draws a Poisson sample of the private data, sums the clipped per-example gradients of the
kernel ridge regression loss with respect to the support images, adds Gaussian noise to the sum,
divides by a public constant and hands the result to an optimiser. Everything after the noise,
the support set included, is post-processing.

What a privacy auditor reads is `jaxdp.privacy.dp_sgd`, and `clipped_sum` with what follows it here.

References:
    Nguyen, Chen & Lee (2021), "Dataset meta-learning from kernel ridge-regression" (KIP).
    Vinaroz & Park (2024), "Differentially private kernel inducing points using features from
    ScatterNets (DP-KIP-ScatterNet) for privacy preserving data distillation", algorithm 1.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Int, Key, Num

from jaxdp import devices, kernels, processes
from jaxdp.data import Private
from jaxdp.devices import StoredRows
from jaxdp.kernels import DotProduct, Kernel, preprocess
from jaxdp.kernels.kip import SupportSet, loss, total_loss
from jaxdp.methods.dp_kip.clipped import pixels as feature_grads
from jaxdp.methods.dp_kip.clipped import sums as kip_grads
from jaxdp.methods.dp_kip.clipped import terms as kip_terms
from jaxdp.methods.dp_kip.settings import CLIP_SPACES
from jaxdp.methods.steps import RowMap, Runner, Steps
from jaxdp.privacy import clipping, dp_sgd
from jaxdp.privacy.dp_sgd import ClippedSum
from jaxdp.privacy.mechanism import SubsampledGaussian
from jaxdp.rows import require_rows


class KIPState(NamedTuple):
    """What a run carries from step to step; all of it is free to release.

    `step` () counts finished releases, `support` is the current iterate and `average` (s, d)
    the exponential moving average of its rows (the result).
    """

    step: Array
    support: SupportSet
    average: Array
    opt_state: Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class KIPConfig:
    """Static configuration of (DP-)KIP.

    Attributes:
        ridge: relative ridge of the regression, >= 0.
        optimizer: applied to the noisy mean gradient in units of the clip norm.
        average_decay: decay of the moving average of iterates in [0, 1); 0 keeps the last one.
        chunk_size: how many targets are processed at once, >= 1; bounds the memory.
        target_fn: public map from rows as stored (e.g. uint8) to what the support is compared
            with, row by row: scaled rows, or rows of features where the kernel has `features`.
            The guarantee needs a row's result to depend on that row alone.
            Applied to a chunk at a time so that the data stay small in memory. None takes rows,
            scaled like the support's, as they are, or the kernel's features of them.
        clip_space: for kernels with `features`, whether gradients are clipped and noised with
            respect to `"pixels"` or to `"features"`; see `jaxdp.methods.dp_kip.clipped.pixels`.
        free: columns of the support that are distilled, `(d,)` booleans drawn independently of
            the data; the others keep their initial values. All by default.
        bounds: public values that distilled pixels are kept between after every step, such as
            those of the data's range; None for no bounds. Noise has less room then.

    Raises:
        ValueError: a value is out of range.
    """

    ridge: float
    optimizer: optax.GradientTransformation
    average_decay: float = 0.0
    chunk_size: int = 128
    target_fn: Callable[[Array], Array] | None = None
    clip_space: str = "pixels"
    free: Bool[Array, " d"] | None = None
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.ridge < float("inf"):
            raise ValueError(f"ridge must be >= 0 and finite, got {self.ridge}")
        if not 0 <= self.average_decay < 1:
            raise ValueError(f"average_decay must be in [0, 1), got {self.average_decay}")
        if self.chunk_size < 1:
            raise ValueError(f"chunk_size must be >= 1, got {self.chunk_size}")
        if self.clip_space not in CLIP_SPACES:
            raise ValueError(f"clip_space must be one of {CLIP_SPACES}, got {self.clip_space!r}")
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise ValueError(f"bounds must be (low, high) with low < high, got {self.bounds}")


class KIP(NamedTuple):
    """The pair of functions that `dp_kip` returns."""

    init: Callable[..., KIPState]
    update: Callable[..., KIPState]


def dp_kip(kernel: Kernel, mechanism: SubsampledGaussian, config: KIPConfig) -> KIP:
    """Return `(init, update)` of DP-KIP; without noise and clipping it is KIP.

    `init(support) -> KIPState`.
    `update(state, key, x_t (n, k), labels (n,), num_steps) -> KIPState` runs `num_steps` steps,
    fewer where the mechanism's last one comes first, in one compiled loop; `num_steps` may
    differ from call to call without another compilation. Step `t` takes its randomness from
    `fold_in(key, t)`, so a run may be cut into calls anywhere. `update` computes in jax's
    64-bit mode (see `jaxdp.methods.dp_kip.clipped.sums`) and cannot be called inside another `jit`.

    A row that is not finite counts as an empty record. No error tells of it: that there is one
    would be told of a single record.

    Raises:
        ValueError: gradients are to be clipped in features, and the kernel has none; (`update`) the
            data does not have `mechanism.num_examples` rows, labels are not classes of the support,
            one for each row, or `target_fn` gives other than one row for each, as wide as what it
            is compared with.
        TypeError: (`update`) rows are not of floats where the kernel's features are taken of them.

    Guarantee:
        All states together are a function of at most `mechanism.num_steps` releases of the
        Poisson-subsampled Gaussian mechanism that `mechanism` describes, under the
        zero-out relation (`jaxdp.privacy.ledger`), and of nothing else that depends on `x_t` and
        `labels`.
    """

    if config.clip_space == "features" and not _takes_features(kernel):
        raise ValueError(
            'clip_space="features" needs a kernel of features, as kernels.from_features makes; '
            "gradients of this one are clipped in pixels"
        )

    def init(support: SupportSet) -> KIPState:
        return KIPState(
            step=jnp.zeros((), jnp.int32),
            support=support,
            average=support.x,
            opt_state=config.optimizer.init(support.x),
        )

    def step(state: KIPState, key: Array, x_t: Array | StoredRows, labels: Array) -> KIPState:
        clipped = clipped_sum(kernel, mechanism, config, state.support, x_t, labels)
        noisy_mean = dp_sgd.noisy_mean(key, mechanism, clipped, chunk_size=config.chunk_size)
        grad = noisy_mean.astype(state.support.x.dtype)
        updates, opt_state = config.optimizer.update(grad, state.opt_state, state.support.x)
        x = optax.apply_updates(state.support.x, updates)
        if config.bounds is not None:
            x = jnp.clip(x, *config.bounds)
        if config.free is not None:  # an optimiser may spread updates over columns
            x = jnp.where(config.free, x, state.support.x)
        # A warm-up keeps the random start out of the average.
        count = state.step.astype(jnp.float32) + 1
        decay = jnp.minimum(config.average_decay, (count - 1) / count).astype(jnp.float32)
        average = decay * state.average + (1 - decay) * x
        if config.free is not None:
            average = jnp.where(config.free, average, x)
        return KIPState(state.step + 1, SupportSet(x, state.support.y), average, opt_state)

    steps = dp_sgd.accounted_steps(mechanism, step)

    def update(
        state: KIPState, key: Array, x_t: Array | StoredRows, labels: Array, num_steps: int
    ) -> KIPState:
        dp_sgd.require_classes(labels, state.support.y.shape[1])
        return steps(state, key, x_t, labels, num_steps)

    return KIP(init, update)


def release(
    private: Private,
    key: Key[Array, ""],
    runner: Runner,
    *,
    row_map: RowMap | None,
    kip: KIP,
    state: KIPState,
    num_steps: int,
) -> SupportSet:
    """Return the support set that all steps lead to.

    Args:
        private: the data.
        key: of samples and noise, fresh and secret.
        runner: takes the steps; it may show every state.
        row_map: makes of stored rows what `KIPConfig.target_fn` takes; None where that takes them.
        kip: the algorithm.
        state: before the first step.
        num_steps: of the mechanism that it is accounted by.

    Raises:
        TypeError: the key is not of `mechanism.private_key`.

    Guarantee:
        As `dp_kip`: the states, of which the result is the last one's average, are what the
        mechanism accounts for, and nothing else that depends on the private data is returned.
    """
    n = len(private.y)
    own, what = processes.own_part(n), "features of the training split"
    stored = private.rows[own]
    mapped = stored if row_map is None else runner.rows(row_map, stored, what=what)
    rows, labels = devices.by_rows(mapped, n), devices.by_rows(private.y[own], n)

    def from_result(arrays: Mapping[str, np.ndarray]) -> KIPState:
        average = jnp.asarray(arrays["x"].reshape(state.average.shape))
        return state._replace(step=jnp.full_like(state.step, num_steps), average=average)

    last = runner.loop(
        Steps(
            name="distilling",
            state=state,
            advance=lambda now, count: (kip.update(now, key, rows, labels, count), None),
            num_steps=num_steps,
            free=False,
            every=math.ceil(num_steps / 10),
            shown=lambda now: SupportSet(now.average, now.support.y),
            from_result=from_result,
        )
    )
    return SupportSet(last.average, last.support.y)


_Examples = Callable[[Array], tuple[Array, Array]]


def clipped_sum(
    kernel: Kernel,
    mechanism: SubsampledGaussian,
    config: KIPConfig,
    support: SupportSet,
    x_t: Num[Array, "n k"] | StoredRows,
    labels: Int[Array, " n"],
) -> ClippedSum:
    """Return the sum of clipped gradients in the form that the kernel allows.

    Private data are read here alone, a chunk at a time.

    Raises:
        TypeError, ValueError: see `dp_kip`.

    Guarantee:
        That of `ClippedSum`, for `mechanism.clip_norm`.
    """
    target_fn = config.target_fn or _usual_targets(kernel, support.x.shape[1])

    def examples(indices: Array) -> tuple[Array, Array]:
        y_t = preprocess.centred_one_hot(labels[indices], support.y.shape[1])
        rows = target_fn(x_t[indices])
        # A label is spread over several rows of one record: each would be clipped by itself.
        if len(rows) != len(y_t):
            raise ValueError(f"target_fn gives {len(rows)} rows for {len(y_t)} examples")
        return rows, y_t

    if kernel.dot_product is not None:
        return _of_inner_products(
            kernel.dot_product, mechanism, config, support, examples, free=config.free
        )
    if kernel.features is not None:
        return _of_features(kernel.features, mechanism, config, support, examples)
    return _of_any_kernel(kernel, mechanism, config, support, examples)


def _takes_features(kernel: Kernel) -> bool:
    """Return whether targets are rows of features; inner products of rows come first."""
    return kernel.features is not None and kernel.dot_product is None


def _usual_targets(kernel: Kernel, dim: int) -> Callable[[Array], Array]:
    """Return what `KIPConfig.target_fn` is by default, for supports of width `dim`."""
    feature_fn = kernel.features
    if feature_fn is None or not _takes_features(kernel):
        return lambda rows: rows

    def features(rows: Array) -> Array:
        require_rows(rows, dim)
        return feature_fn(rows)

    return features


def _of_inner_products(
    dot_product: DotProduct,
    mechanism: SubsampledGaussian,
    config: KIPConfig,
    support: SupportSet,
    examples: _Examples,
    *,
    free: Bool[Array, " d"] | None = None,
    norms_fn: Callable[..., Array] | None = None,
) -> ClippedSum:
    """Sum exactly clipped gradients without forming any one of them."""
    terms = kip_terms.support_terms(
        dot_product,
        support.x,
        support.y,
        config.ridge,
        num_targets=mechanism.expected_batch_size,
        free=free,
    )

    def chunk(indices: Array, mask: Array) -> kip_grads.Moments:
        rows, y_t = examples(indices)
        if rows.shape[1:] != support.x.shape[1:]:
            raise ValueError(
                f"target_fn gives rows of shape {rows.shape[1:]}, and what they are compared with "
                f"has rows of shape {support.x.shape[1:]}"
            )
        return kip_grads.clipped_moments(
            dot_product, terms, rows, y_t, mask, mechanism.clip_norm, norms_fn=norms_fn
        )

    assemble = functools.partial(kip_grads.assemble, terms)
    return ClippedSum(chunk, kip_grads.zero_moments(terms), assemble)


def _of_features(
    feature_fn: Callable[[Array], Array],
    mechanism: SubsampledGaussian,
    config: KIPConfig,
    support: SupportSet,
    examples: _Examples,
) -> ClippedSum:
    """Sum gradients of a kernel that is linear in features, clipped in either space."""
    in_features = config.clip_space == "features"
    x_s = support.x if in_features else support.x.astype(jnp.float64)
    phi, pullback = jax.vjp(feature_fn, x_s)
    features = SupportSet(phi, support.y)
    linear = functools.partial(
        _of_inner_products, kernels.LINEAR, mechanism, config, features, examples
    )

    def to_pixels(grad: Array) -> Array:
        pixels = pullback(grad.astype(phi.dtype))[0]
        return pixels if config.free is None else jnp.where(config.free, pixels, 0.0)

    if in_features:
        return linear()._replace(after=to_pixels)
    norms_fn = functools.partial(feature_grads.pixel_norms, feature_fn, x_s, free=config.free)
    clipped = linear(norms_fn=norms_fn)
    return clipped._replace(assemble=lambda parts: to_pixels(clipped.assemble(parts)))


def _of_any_kernel(
    kernel: Kernel,
    mechanism: SubsampledGaussian,
    config: KIPConfig,
    support: SupportSet,
    examples: _Examples,
) -> ClippedSum:
    """Sum gradients that are formed one by one."""

    def at(x: Array) -> SupportSet:
        fixed = jax.lax.stop_gradient(x)
        return SupportSet(x if config.free is None else jnp.where(config.free, x, fixed), support.y)

    def target_loss(x: Array, target: tuple[Array, Array]) -> Array:
        return loss(kernel, at(x), *target, ridge=config.ridge)

    def chunk(indices: Array, mask: Array) -> Array:
        rows, y_t = examples(indices)
        if mechanism.clip_norm == float("inf"):  # one gradient instead of one per target
            return jax.grad(
                lambda x: total_loss(kernel, at(x), rows, y_t, mask, ridge=config.ridge)
            )(support.x).astype(jnp.float64)
        return clipping.sum_clipped_grads(
            target_loss, support.x, (rows, y_t), mask, clip_norm=mechanism.clip_norm
        )

    return ClippedSum(chunk, jnp.zeros(support.x.shape, jnp.float64))
