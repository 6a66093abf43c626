"""Perceptual features: layout, normalisation, independence of records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxdp import numerics
from jaxdp.features import perceptual
from jaxdp.networks import classifiers
from jaxdp.numerics import ByBackend

SHAPE = (8, 8, 3)
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


class TinyTrunk(nn.Module):
    """Stands in for the ResNet-18, most of which is compilation."""

    width: int

    @nn.compact
    def __call__(self, x: jax.Array) -> tuple[jax.Array, ...]:
        x = nn.Conv(self.width, (3, 3), use_bias=False, dtype=x.dtype)(x)
        return x, jnp.mean(nn.GroupNorm(2, dtype=x.dtype)(x), axis=(1, 2))


def tiny(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int, int]) -> Callable[[Any], Any]:
    monkeypatch.setattr(perceptual, "ResNet18Trunk", TinyTrunk)
    features = perceptual.perceptual_features(shape, normalisation="none", width=8)
    return jax.jit(features, compiler_options=QUICK)


@pytest.fixture(scope="module")
def features() -> Callable[[Any], Any]:
    """Of the real network, narrow; compiled once."""
    make = perceptual.perceptual_features(SHAPE, normalisation="none", width=8)
    return jax.jit(make, compiler_options=QUICK)


@pytest.fixture(scope="module")
def rows() -> jax.Array:
    return jnp.asarray(np.random.default_rng(0).normal(size=(3, 192)), jnp.float32)


@pytest.mark.parametrize(
    ("shape", "size"), [((28, 28, 1), 29_120), ((32, 32, 3), 35_840), ((8, 8, 1), 3_584)]
)
def test_number_of_features(shape: tuple[int, int, int], size: int) -> None:
    row = jax.ShapeDtypeStruct((2, int(np.prod(shape))), jnp.float32)
    phi = jax.eval_shape(
        lambda x: perceptual.perceptual_features(shape, normalisation="group")(x), row
    )
    assert phi.shape == (2, size)


def test_features_are_all_activations_from_stem_to_average(
    features: Callable[[Any], Any], rows: jax.Array
) -> None:
    """The stem has no ReLU before it, the blocks' inputs and the average have one."""
    phi = np.asarray(features(rows))
    # 8 channels of 4x4 pixels; 8, 8, 8 of 2x2, then 16, 16, 32, 32, 64 of one; all 64.
    stem, blocks, average = np.split(phi, [128, 128 + 256], axis=1)
    assert average.shape == (3, 64)
    assert phi.shape == (3, 448)
    assert stem.min() < 0
    assert min(blocks.min(), average.min()) == 0
    # Nothing of a network that has never been trained is constant.
    assert np.mean(np.ptp(phi, axis=0) > 0) > 0.8


def test_weights_are_normal_with_a_variance_of_one_per_input() -> None:
    trunk = classifiers.ResNet18Trunk(8)
    params = jax.eval_shape(trunk.init, jax.random.key(0), jnp.zeros((1, *SHAPE), jnp.float32))
    first, other = (
        perceptual.random_weights(params, jax.random.key(seed))["params"] for seed in (0, 1)
    )
    kernels = [leaf for leaf in jax.tree.leaves(first) if leaf.ndim == 4]
    assert len(kernels) == 20
    draws = np.concatenate([np.ravel(k) * np.prod(k.shape[:3]) ** 0.5 for k in kernels])
    assert stats.kstest(draws[:50_000], "norm").pvalue > 1e-3
    np.testing.assert_array_equal(first["GroupNorm_0"]["scale"], 1)
    np.testing.assert_array_equal(first["GroupNorm_0"]["bias"], 0)
    assert float(jnp.min(jnp.abs(first["Conv_0"]["kernel"] - other["Conv_0"]["kernel"]))) > 0


def test_a_records_features_do_not_depend_on_other_records(
    features: Callable[[Any], Any], rows: jax.Array
) -> None:
    phi = features(rows)
    assert float(jnp.max(jnp.abs(phi[0] - phi[1]))) > 0.1
    others = rows.at[1].set(1e6).at[2].set(jnp.nan)
    np.testing.assert_array_equal(features(others)[0], phi[0])


def test_chunks_and_float64(rows: jax.Array, monkeypatch: pytest.MonkeyPatch) -> None:
    features = tiny(monkeypatch, SHAPE)
    phi = features(rows)
    monkeypatch.setattr(perceptual, "_CHUNK", ByBackend(2, 2))
    with numerics.float64():
        chunked = tiny(monkeypatch, SHAPE)(rows.astype(jnp.float64))
    assert (phi.dtype, chunked.dtype) == (jnp.float32, jnp.float64)
    np.testing.assert_allclose(phi, chunked, rtol=1e-4, atol=1e-5)


def test_grey_images_are_repeated_and_every_colour_counts(
    rows: jax.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    grey = rows[:, :64].reshape(3, 8, 8, 1)
    colour = jnp.repeat(grey, 3, axis=3)
    features = tiny(monkeypatch, SHAPE)
    want = features(colour.reshape(3, -1))
    of_grey = tiny(monkeypatch, (8, 8, 1))(grey.reshape(3, -1))
    np.testing.assert_allclose(of_grey, want, rtol=1e-5, atol=1e-6)
    for channel in range(3):
        changed = features(colour.at[..., channel].set(0).reshape(3, -1))
        assert float(jnp.max(jnp.abs(changed - want))) > 0.1


def test_normalisations(rows: jax.Array) -> None:
    phi = jnp.asarray(10 + rows[0])
    np.testing.assert_array_equal(perceptual.normalise(phi, "none"), phi)
    unit = perceptual.normalise(phi, "unit")
    np.testing.assert_allclose(unit, phi / jnp.linalg.norm(phi), rtol=1e-6)
    groups = np.asarray(perceptual.normalise(phi, "group")).reshape(32, 6)
    np.testing.assert_allclose(groups.mean(axis=1), 0, atol=1e-5)
    np.testing.assert_allclose(groups.std(axis=1), 1, atol=1e-3)
    assert all(
        np.corrcoef(a, b)[0, 1] > 0.999
        for a, b in zip(groups, np.asarray(phi).reshape(32, 6), strict=True)
    )
    # A black image has no features and no direction: 0, with finite gradients.
    for kind in perceptual.NORMALISATIONS:
        zero = jnp.zeros(64)
        np.testing.assert_array_equal(perceptual.normalise(zero, kind), 0)
        grad = jax.jit(jax.grad(lambda p, kind=kind: jnp.sum(perceptual.normalise(p, kind))))
        assert bool(jnp.all(jnp.isfinite(grad(zero))))


def test_unknown_arguments_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="1 or 3 channels, got 2"):
        perceptual.perceptual_features((8, 8, 2))
    with pytest.raises(ValueError, match="'batch'"):
        perceptual.perceptual_features(SHAPE, normalisation="batch")
    with pytest.raises(ValueError, match="even and at least 2 channels, got 7"):
        perceptual.perceptual_features(SHAPE, width=7)
    with pytest.raises(ValueError, match="112 features do not divide into 32 groups"):
        perceptual.perceptual_features(SHAPE, normalisation="group", width=2)
