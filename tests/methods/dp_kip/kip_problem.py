"""What tests of DP-KIP share: a small problem, and what a step of it draws and sums."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxdp import kernels, numerics
from jaxdp.kernels import preprocess
from jaxdp.methods import dp_kip
from jaxdp.privacy import clipping, sampling
from jaxdp.privacy.mechanism import SubsampledGaussian

N, D, C, IPC = 40, 12, 3, 2
RIDGE = 1e-3


def mechanism(**changes: float) -> SubsampledGaussian:
    values = {
        "num_examples": N,
        "sampling_rate": 0.5,
        "num_steps": 20,
        "clip_norm": math.inf,
        "noise_multiplier": 0.0,
    }
    return SubsampledGaussian(**(values | changes))


def config(**changes: object) -> dp_kip.KIPConfig:
    values = {"ridge": RIDGE, "optimizer": optax.sgd(1.0), "chunk_size": 7}
    return dp_kip.KIPConfig(**(values | changes))


def oracle_sum(
    kernel: kernels.Kernel,
    support: dp_kip.SupportSet,
    x: jax.Array,
    labels: jax.Array,
    clip_norm: float,
) -> np.ndarray:
    """Sum of clipped gradients by autodiff, in float64."""

    @jax.jit  # its many small operations would be compiled one by one
    def clipped_sum(x_s: jax.Array, targets: tuple) -> jax.Array:
        return clipping.sum_clipped_grads(
            lambda x_s, t: dp_kip.loss(kernel, dp_kip.SupportSet(x_s, y_s), *t, ridge=RIDGE),
            x_s,
            targets,
            jnp.ones(len(x), bool),
            clip_norm=clip_norm,
        )

    with numerics.float64():
        y_s = jnp.asarray(support.y, jnp.float64)
        y = preprocess.centred_one_hot(labels, C).astype(jnp.float64)
        wide = jnp.asarray(support.x, jnp.float64)
        return np.asarray(clipped_sum(wide, (jnp.asarray(x, jnp.float64), y)))


def drawn(key: jax.Array, step: int, rate: float) -> np.ndarray:
    """Return the examples that step `step` of a run with `key` draws."""
    sample_key, _ = jax.random.split(jax.random.fold_in(key, step))
    sample = sampling.poisson_sample(sample_key, num_examples=N, sampling_rate=rate)
    return np.asarray(sample.indices[: int(sample.size)])
