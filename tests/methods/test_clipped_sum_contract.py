"""What `dp_sgd.ClippedSum` promises, for every way of every algorithm to a clipped sum."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support import products

from jaxdp import kernels
from jaxdp.methods import dp_kip
from jaxdp.methods.dp_kip import release as kip
from jaxdp.methods.teacher import classifier as teacher
from jaxdp.methods.teacher.view import View
from jaxdp.privacy import sampling
from jaxdp.privacy.dp_sgd import ClippedSum
from jaxdp.privacy.mechanism import SubsampledGaussian
from jaxdp.privacy.sums import MARGIN

N, D, P, C, CHUNK = 17, 6, 9, 3, 5
CLIP_NORM = 0.05
WEIGHTS = np.random.default_rng(5).normal(size=(D, P))
FREE = jnp.arange(D) % 3 != 0
NTK = kernels.fc_ntk()
ANY_KERNEL = dataclasses.replace(NTK, dot_product=None)


def features(rows: jax.Array) -> jax.Array:
    return jnp.tanh(jnp.matmul(rows, WEIGHTS.astype(rows.dtype), precision="highest")) + 0.1


FEATURES = kernels.from_features(features)


def mechanism(clip_norm: float) -> SubsampledGaussian:
    return SubsampledGaussian(
        num_examples=N, sampling_rate=1.0, num_steps=1, clip_norm=clip_norm, noise_multiplier=0.0
    )


Way = Callable[[jax.Array, jax.Array, float], ClippedSum]  # (x, labels, clip norm) -> sum


def of_kip(kernel: kernels.Kernel, **changes: object) -> Way:
    support = dp_kip.initial_support(jax.random.key(3), ipc=2, num_classes=C, dim=D)
    config = dp_kip.KIPConfig(ridge=1e-3, optimizer=optax.sgd(1.0), **changes)

    def clipped(x: jax.Array, labels: jax.Array, clip_norm: float) -> ClippedSum:
        return kip.clipped_sum(kernel, mechanism(clip_norm), config, support, x, labels)

    return clipped


def of_teacher(x: jax.Array, labels: jax.Array, clip_norm: float) -> ClippedSum:
    weights = jnp.asarray(0.1 * np.random.default_rng(1).normal(size=(D, C)), jnp.float32)
    config = teacher.TeacherConfig(optimizer=optax.sgd(1.0), label_smoothing=0.1)
    view = View(jnp.full(x.shape[1], 0.1), jnp.full(x.shape[1], 1.5))
    return teacher.clipped_sum(mechanism(clip_norm), config, weights, x, labels, view=view)


of_features = functools.partial(of_kip, FEATURES, target_fn=features)
WAYS = {
    "inner products": of_kip(NTK),
    "inner products, some columns": of_kip(NTK, free=FREE),
    "features, in pixels": of_features(clip_space="pixels"),
    "features, in some pixels": of_features(clip_space="pixels", free=FREE),
    "features": of_features(clip_space="features"),
    "features, some pixels afterwards": of_features(clip_space="features", free=FREE),
    "any kernel": of_kip(ANY_KERNEL),
    "any kernel, some columns": of_kip(ANY_KERNEL, free=FREE),
    "teacher": of_teacher,
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
pytestmark = pytest.mark.usefixtures("float64")


def examples() -> tuple[np.ndarray, np.ndarray]:
    """Return rows of norms from 1e-3 to 1e4."""
    rows = np.random.default_rng(0).normal(size=(N, D)) * np.logspace(-3, 4, N)[:, None]
    return rows.astype(np.float32), np.arange(N, dtype=np.int32) % C


@every_way
def test_guarantee_one_example_moves_the_sum_by_at_most_the_clip_norm(way: Way) -> None:
    """The sum is the one that noise is added to, over the chunks of a sample."""

    @jax.jit
    def total(x: jax.Array, labels: jax.Array, sample: sampling.PoissonSample) -> jax.Array:
        clipped = way(x, labels, CLIP_NORM)
        parts = sampling.sum_over_chunks(clipped.chunk, sample, chunk_size=CHUNK, zero=clipped.zero)
        return clipped.assemble(parts)

    def of(indices: np.ndarray) -> np.ndarray:
        padded = jnp.asarray(np.pad(indices, (0, N - len(indices))), jnp.int32)
        size = jnp.asarray(len(indices), jnp.int32)
        return np.asarray(total(*examples(), sampling.PoissonSample(padded, size)))

    everyone = np.arange(N)
    whole = of(everyone)
    assert whole.dtype == np.float64
    moved = [np.linalg.norm(whole - of(np.delete(everyone, i))) for i in everyone]
    margin = MARGIN if way is of_teacher else 1.0  # the teacher sums some records in float32
    assert max(moved) <= CLIP_NORM * (1 + 1e-12)
    assert max(moved) >= CLIP_NORM * (1 - 1e-4) / margin  # and the bound is attained
    np.testing.assert_array_equal(of(everyone[:0]), np.zeros_like(whole))


@every_way
@pytest.mark.parametrize(("clip_norm", "other"), [(CLIP_NORM, np.nan), (math.inf, 7.0)])
def test_guarantee_masked_and_non_finite_examples_contribute_exactly_zero(
    way: Way, clip_norm: float, other: float
) -> None:
    (x, labels), mask = examples(), np.arange(N) % 3 != 0
    changed = np.where(mask[:, None], x, np.float32(other)), np.where(mask, labels, 0)

    @jax.jit
    def part(x: jax.Array, labels: jax.Array, mask: jax.Array) -> tuple[Any, Any]:
        clipped = way(x, labels, clip_norm)
        return clipped.chunk(jnp.arange(N), mask), clipped.zero

    kept, zero = part(x, labels, mask)
    assert any(np.any(leaf != 0) for leaf in jax.tree.leaves(kept))
    chex.assert_trees_all_equal(part(*changed, mask)[0], kept)
    if not np.isfinite(other):
        chex.assert_trees_all_equal(part(*changed, np.ones(N, bool))[0], kept)
    nobody, _ = part(x, labels, np.zeros(N, bool))
    chex.assert_trees_all_equal_shapes_and_dtypes(nobody, zero)
    chex.assert_trees_all_equal(nobody, zero, jax.tree.map(jnp.zeros_like, zero))


@every_way
def test_guarantee_no_product_of_a_clipped_sum_is_rounded_as_gpus_do_by_default(way: Way) -> None:
    """Norms are of the gradients that are added: one of both rounded to 11 bits could be larger."""
    x, labels = examples()

    def sums(x: jax.Array, labels: jax.Array, mask: jax.Array) -> Any:
        clipped = way(x, labels, CLIP_NORM)
        return clipped.assemble(clipped.chunk(jnp.arange(N), mask))

    assert not products.rounded(sums, x, labels, np.ones(N, bool))
    on_gpus = products.ForCuda(sums, x, labels, np.ones(N, bool))
    assert on_gpus.products
    assert not on_gpus.rounded()
    # Loops between values and their readers: see `numerics.rounded_once`.
    one_by_one = way in (WAYS["any kernel"], WAYS["any kernel, some columns"], of_teacher)
    assert on_gpus.rounded_once == (1 if one_by_one else 6)


@every_way
def test_guarantee_only_the_parts_depend_on_the_data(way: Way) -> None:
    """What the noise is added to, and what becomes of it, is a function of the parts alone."""
    x, labels = examples()

    @jax.jit
    def part(x: jax.Array, labels: jax.Array) -> Any:
        return way(x, labels, CLIP_NORM).chunk(jnp.arange(N), jnp.ones(N, bool))

    @jax.jit
    def follows(x: jax.Array, labels: jax.Array, parts: Any) -> tuple[Any, Any, Any]:
        clipped = way(x, labels, CLIP_NORM)
        total = clipped.assemble(parts)
        return clipped.zero, total, clipped.after(total)

    parts = part(x, labels)
    of_data = follows(x, labels, parts)
    chex.assert_trees_all_equal(follows(np.full_like(x, np.nan), 0 * labels, parts), of_data)
    assert np.any(np.asarray(of_data[-1]) != 0)
    twice = follows(x, labels, jax.tree.map(lambda z: 2 * z, parts))
    chex.assert_trees_all_close(twice[1], 2 * of_data[1], rtol=1e-12)  # assembling is linear
