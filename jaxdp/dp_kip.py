"""DP-KIP: kernel inducing points distilled with DP-SGD, or plain KIP without noise.

A step draws a Poisson sample of the private data, sums the clipped per-example gradients of the
kernel ridge regression loss with respect to the support images, adds Gaussian noise to the sum,
divides by a public constant and hands the result to an optimiser. Everything after the noise,
the support set included, is post-processing.

What a privacy auditor reads is `_noisy_gradient`.

References:
    Nguyen, Chen & Lee (2021), "Dataset meta-learning from kernel ridge-regression" (KIP).
    Vinaroz & Park (2024), "Differentially private kernel inducing points using features from
    ScatterNets (DP-KIP-ScatterNet) for privacy preserving data distillation", algorithm 1.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key, Num

from jaxdp import clipping, feature_grads, kernels, kip_grads, precision, preprocess, sampling
from jaxdp.kernels import DotProduct, Kernel
from jaxdp.kip import SupportSet, initial_support, loss, predict, total_loss
from jaxdp.mechanism import SubsampledGaussian, add_gaussian_noise

__all__ = [
    "CLIP_SPACES",
    "KIP",
    "KIPConfig",
    "KIPState",
    "SupportSet",
    "dp_kip",
    "initial_support",
    "loss",
    "predict",
    "total_loss",
]

CLIP_SPACES = ("pixels", "features")


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
            Applied to a chunk at a time so that the data stay small in memory.
        clip_space: for kernels with `features`, whether gradients are clipped and noised with
            respect to `"pixels"` or to `"features"`; see `jaxdp.feature_grads`.
        free: columns of the support that are distilled, `(d,)` booleans drawn independently of
            the data; the others keep their initial values. All by default.

    Raises:
        ValueError: a value is out of range.
    """

    ridge: float
    optimizer: optax.GradientTransformation
    average_decay: float = 0.0
    chunk_size: int = 128
    target_fn: Callable[[Array], Array] = lambda rows: rows
    clip_space: str = "pixels"
    free: Bool[Array, " d"] | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.ridge < float("inf"):
            raise ValueError(f"ridge must be >= 0 and finite, got {self.ridge}")
        if not 0 <= self.average_decay < 1:
            raise ValueError(f"average_decay must be in [0, 1), got {self.average_decay}")
        if self.chunk_size < 1:
            raise ValueError(f"chunk_size must be >= 1, got {self.chunk_size}")
        if self.clip_space not in CLIP_SPACES:
            raise ValueError(f"clip_space must be one of {CLIP_SPACES}, got {self.clip_space!r}")


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
    64-bit mode (see `jaxdp.kip_grads`) and cannot be called inside another `jit`.

    Raises:
        ValueError: (`update`) the data does not have `mechanism.num_examples` rows.

    Guarantee:
        All states together are a function of at most `mechanism.num_steps` releases of the
        Poisson-subsampled Gaussian mechanism that `mechanism` describes, under adding or
        removing one example, and of nothing else that depends on `x_t` and `labels`.
    """

    def init(support: SupportSet) -> KIPState:
        return KIPState(
            step=jnp.zeros((), jnp.int32),
            support=support,
            average=support.x,
            opt_state=config.optimizer.init(support.x),
        )

    def step(state: KIPState, key: Array, x_t: Array, labels: Array) -> KIPState:
        grad = _noisy_gradient(
            jax.random.fold_in(key, state.step),
            kernel,
            mechanism,
            config,
            state.support,
            x_t,
            labels,
        )
        updates, opt_state = config.optimizer.update(grad, state.opt_state, state.support.x)
        x = optax.apply_updates(state.support.x, updates)
        if config.free is not None:  # an optimiser may spread updates over columns
            x = jnp.where(config.free, x, state.support.x)
        # A warm-up keeps the random start out of the average.
        count = state.step.astype(jnp.float32) + 1
        decay = jnp.minimum(config.average_decay, (count - 1) / count).astype(jnp.float32)
        average = decay * state.average + (1 - decay) * x
        if config.free is not None:
            average = jnp.where(config.free, average, x)
        return KIPState(state.step + 1, SupportSet(x, state.support.y), average, opt_state)

    @jax.jit
    def run(
        state: KIPState,
        key: Key[Array, ""],
        x_t: Num[Array, "n k"],
        labels: Int[Array, " n"],
        num_steps: Int[Array, ""],
    ) -> KIPState:
        stop = jnp.minimum(state.step + num_steps, mechanism.num_steps)
        return jax.lax.while_loop(
            lambda state: state.step < stop, lambda state: step(state, key, x_t, labels), state
        )

    def update(
        state: KIPState,
        key: Key[Array, ""],
        x_t: Num[Array, "n k"],
        labels: Int[Array, " n"],
        num_steps: int,
    ) -> KIPState:
        if x_t.shape[0] != mechanism.num_examples:
            raise ValueError(
                f"the mechanism is for {mechanism.num_examples} examples, got {x_t.shape[0]}"
            )
        with precision.float64():
            return run(state, key, x_t, labels, jnp.asarray(num_steps, jnp.int32))

    return KIP(init, update)


def _noisy_gradient(
    key: Key[Array, ""],
    kernel: Kernel,
    mechanism: SubsampledGaussian,
    config: KIPConfig,
    support: SupportSet,
    x_t: Num[Array, "n k"],
    labels: Int[Array, " n"],
) -> Float[Array, "s d"]:
    """Clip, mask, sum, add noise, then divide by a public constant; nothing in between.

    The sum may be in feature space; the way from there to pixels is post-processing.
    """
    sample_key, noise_key = jax.random.split(key)
    sample = sampling.poisson_sample(
        sample_key,
        num_examples=mechanism.num_examples,
        sampling_rate=mechanism.sampling_rate,
    )
    clipped_sum, to_pixels = _clipped_sum(kernel, mechanism, config, support, x_t, labels, sample)
    noisy_sum = add_gaussian_noise(noise_key, clipped_sum, stddev=mechanism.stddev)
    # In units of the clip norm, so that neither the learning rate nor Adam's epsilon depends
    # on it.
    unit = mechanism.clip_norm if mechanism.clip_norm < float("inf") else 1.0
    return to_pixels(noisy_sum / (mechanism.expected_batch_size * unit)).astype(support.x.dtype)


def _clipped_sum(
    kernel: Kernel,
    mechanism: SubsampledGaussian,
    config: KIPConfig,
    support: SupportSet,
    x_t: Num[Array, "n k"],
    labels: Int[Array, " n"],
    sample: sampling.PoissonSample,
) -> tuple[Array, Callable[[Array], Array]]:
    """Sum the clipped gradients of the sampled targets, in the form the kernel allows.

    Returns:
        The sum, whose sensitivity is the clip norm, and the linear map, independent of the
        targets, that takes it to the support's pixels.
    """
    num_classes = support.y.shape[1]

    def chunk(indices: Array) -> tuple[Array, Array]:
        return config.target_fn(x_t[indices]), preprocess.centred_one_hot(
            labels[indices], num_classes
        )

    def sum_over(chunk_fn: Callable[[Array, Array], Any], zero: Any) -> Any:
        return sampling.sum_over_chunks(chunk_fn, sample, chunk_size=config.chunk_size, zero=zero)

    def dot_product_sum(
        dot_product: DotProduct, x_s: Array, free: Array | None, **norms: Any
    ) -> Array:
        terms = kip_grads.support_terms(
            dot_product,
            x_s,
            support.y,
            config.ridge,
            num_targets=mechanism.expected_batch_size,
            free=free,
        )
        moments = sum_over(
            lambda indices, mask: kip_grads.clipped_moments(
                dot_product, terms, *chunk(indices), mask, mechanism.clip_norm, **norms
            ),
            kip_grads.zero_moments(terms),
        )
        return kip_grads.assemble(terms, moments)

    if kernel.dot_product is not None:
        return dot_product_sum(kernel.dot_product, support.x, config.free), lambda grad: grad

    if kernel.features is not None:
        return _feature_sum(kernel.features, config, support.x, dot_product_sum)

    def at(x: Array) -> SupportSet:
        fixed = jax.lax.stop_gradient(x)
        return SupportSet(x if config.free is None else jnp.where(config.free, x, fixed), support.y)

    def target_loss(x: Array, target: tuple[Array, Array]) -> Array:
        return loss(kernel, at(x), *target, ridge=config.ridge)

    def chunk_sum(indices: Array, mask: Array) -> Array:
        targets = chunk(indices)
        if mechanism.clip_norm == float("inf"):  # one gradient instead of one per target
            return jax.grad(
                lambda x: total_loss(kernel, at(x), *targets, mask, ridge=config.ridge)
            )(support.x)
        return clipping.sum_clipped_grads(
            target_loss, support.x, targets, mask, clip_norm=mechanism.clip_norm
        )

    total = sum_over(chunk_sum, jnp.zeros_like(support.x))
    return total, lambda grad: grad


def _feature_sum(
    feature_fn: Callable[[Array], Array],
    config: KIPConfig,
    x_s: Float[Array, "s d"],
    dot_product_sum: Callable[..., Array],
) -> tuple[Array, Callable[[Array], Array]]:
    """Sum the clipped gradients of a kernel of features, in either space."""

    def free_only(grad: Array) -> Array:
        return grad if config.free is None else jnp.where(config.free, grad, 0.0)

    if config.clip_space == "features":
        phi, pullback = jax.vjp(feature_fn, x_s)
        total = dot_product_sum(kernels.LINEAR, phi, None)
        return total, lambda grad: free_only(pullback(grad.astype(phi.dtype))[0])

    wide = x_s.astype(jnp.float64)
    phi, pullback = jax.vjp(feature_fn, wide)
    total = dot_product_sum(
        kernels.LINEAR,
        phi,
        None,
        norms_fn=functools.partial(feature_grads.pixel_norms, feature_fn, wide, free=config.free),
    )
    return free_only(pullback(total)[0]), lambda grad: grad
