"""Kernels of features in DP-KIP: clipping in pixels and in feature space against autodiff."""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxdp import kernels, numerics
from jaxdp.kernels import krr, preprocess
from jaxdp.methods import dp_kip
from jaxdp.methods.dp_kip import release
from jaxdp.privacy import clipping
from jaxdp.privacy.mechanism import SubsampledGaussian, add_gaussian_noise, private_key

N, D, P, C, IPC = 20, 6, 15, 3, 2
RIDGE = 1e-3
WEIGHTS = np.random.default_rng(5).normal(size=(D, P))


def features(rows: jax.Array) -> jax.Array:
    return jnp.tanh(rows @ jnp.asarray(WEIGHTS, rows.dtype)) + 0.1


KERNEL = kernels.from_features(features)


@pytest.fixture
def data() -> tuple[jax.Array, jax.Array]:
    rng = np.random.default_rng(0)
    labels = np.arange(N) % C
    x = rng.normal(size=(C, D))[labels] + 0.3 * rng.normal(size=(N, D))
    return jnp.asarray(x, jnp.float32), jnp.asarray(labels, jnp.int32)


@pytest.fixture
def support() -> dp_kip.SupportSet:
    return dp_kip.initial_support(jax.random.key(3), ipc=IPC, num_classes=C, dim=D)


def mechanism(clip_norm: float, noise_multiplier: float = 0.0) -> SubsampledGaussian:
    return SubsampledGaussian(
        num_examples=N,
        sampling_rate=1.0,
        num_steps=3,
        clip_norm=clip_norm,
        noise_multiplier=noise_multiplier,
    )


def config(space: str, free: jax.Array | None = None) -> dp_kip.KIPConfig:
    return dp_kip.KIPConfig(
        ridge=RIDGE,
        optimizer=optax.sgd(1.0),
        chunk_size=7,
        target_fn=features,
        clip_space=space,
        free=free,
    )


def released(
    space: str,
    support: dp_kip.SupportSet,
    x: jax.Array,
    labels: jax.Array,
    m: SubsampledGaussian,
    free: jax.Array | None = None,
) -> np.ndarray:
    """Return what a step subtracts from the pixels, without the public constants."""
    kip = dp_kip.dp_kip(KERNEL, m, config(space, free))
    after = kip.update(kip.init(support), private_key(0), x, labels, 1)
    unit = m.clip_norm if math.isfinite(m.clip_norm) else 1.0
    return np.asarray(support.x - after.support.x, np.float64) * N * unit


def target_rows(x: jax.Array, labels: jax.Array) -> tuple[jax.Array, jax.Array]:
    return x.astype(jnp.float64), preprocess.centred_one_hot(labels, C).astype(jnp.float64)


def clipped_sum(loss: Callable[..., Any], at: jax.Array, targets: tuple, clip: float) -> jax.Array:
    """Return the oracle's sum; its many small operations are compiled as one."""
    whole = functools.partial(clipping.sum_clipped_grads, loss, clip_norm=clip)
    return jax.jit(whole)(at, targets, jnp.ones(N, bool))


def pixel_oracle(
    support: dp_kip.SupportSet,
    data: tuple,
    clip_norm: float,
    free: np.ndarray | None = None,
) -> np.ndarray:
    """Autodiff through the kernel, clipped in pixels."""
    columns = np.ones(D, bool) if free is None else np.asarray(free)
    with numerics.float64():
        x, y = support.x.astype(jnp.float64), support.y.astype(jnp.float64)

        def loss(part: jax.Array, target: tuple) -> jax.Array:
            whole = dp_kip.SupportSet(x.at[:, columns].set(part), y)
            return dp_kip.loss(KERNEL, whole, *target, ridge=RIDGE)

        total = clipped_sum(loss, x[:, columns], target_rows(*data), clip_norm)
        return np.asarray(jnp.zeros_like(x).at[:, columns].set(total))


def feature_oracle(support: dp_kip.SupportSet, data: tuple, clip_norm: float) -> np.ndarray:
    """Autodiff with respect to the features, clipped there."""
    with numerics.float64():
        phi, y = features(support.x.astype(jnp.float64)), support.y.astype(jnp.float64)

        def loss(phi: jax.Array, target: tuple) -> jax.Array:
            row, label = target
            alpha = krr.fit(phi @ phi.T, y, ridge=RIDGE)
            return jnp.mean((features(row[None])[0] @ phi.T @ alpha - label) ** 2) / 2

        return np.asarray(clipped_sum(loss, phi, target_rows(*data), clip_norm))


def to_pixels(support: dp_kip.SupportSet, cotangent: np.ndarray) -> np.ndarray:
    with numerics.float64():
        _, pullback = jax.vjp(features, support.x.astype(jnp.float64))
        return np.asarray(pullback(jnp.asarray(cotangent, jnp.float64))[0])


@pytest.mark.parametrize("clip_norm", [1e-3, 3e-2, math.inf])
def test_clipping_in_pixels_equals_autodiff(
    data: tuple, support: dp_kip.SupportSet, clip_norm: float
) -> None:
    ours = released("pixels", support, *data, mechanism(clip_norm))
    expected = pixel_oracle(support, data, clip_norm)
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("clip_norm", [1e-3, 3e-2, math.inf])
def test_clipping_in_feature_space_equals_autodiff(
    data: tuple, support: dp_kip.SupportSet, clip_norm: float
) -> None:
    ours = released("features", support, *data, mechanism(clip_norm))
    expected = to_pixels(support, feature_oracle(support, data, clip_norm))
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def test_some_of_the_clip_norms_above_bite_and_some_do_not(
    data: tuple, support: dp_kip.SupportSet
) -> None:
    free = pixel_oracle(support, data, math.inf)
    assert np.linalg.norm(pixel_oracle(support, data, 3e-2) - free) > 1e-3
    assert np.linalg.norm(pixel_oracle(support, data, 1e-3)) <= N * 1e-3


def test_without_clipping_both_spaces_agree(data: tuple, support: dp_kip.SupportSet) -> None:
    in_pixels, in_features = (
        released(space, support, *data, mechanism(math.inf)) for space in dp_kip.CLIP_SPACES
    )
    np.testing.assert_allclose(in_pixels, in_features, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("space", dp_kip.CLIP_SPACES)
def test_guarantee_one_record_moves_the_clipped_sum_by_at_most_the_clip_norm(
    support: dp_kip.SupportSet, space: str
) -> None:
    """The sum itself, before noise; in feature space that is not yet a gradient of pixels."""
    clip_norm = 1e-2
    rng = np.random.default_rng(1)

    @jax.jit
    def clipped_sum(row: jax.Array, label: jax.Array, keep: jax.Array) -> jax.Array:
        data = row[None], label[None]
        clipped = release.clipped_sum(KERNEL, mechanism(clip_norm), config(space), support, *data)
        return clipped.assemble(clipped.chunk(jnp.zeros(1, int), keep[None]))

    with numerics.float64():
        moved = []
        for scale in (1e-3, 0.1, 1.0, 10.0, 1e4):
            row = scale * rng.normal(size=D)
            moved.append(np.linalg.norm(clipped_sum(row, 1, True)))
            np.testing.assert_array_equal(clipped_sum(row, 1, False), 0.0)
        np.testing.assert_array_equal(clipped_sum(np.full(D, np.nan), 0, True), 0.0)
    assert max(moved) <= clip_norm * (1 + 1e-12)
    assert max(moved) >= clip_norm * (1 - 1e-6)  # attained: the noise is not too large either


def test_noise_enters_in_feature_space_and_reaches_pixels_through_the_jacobian(
    data: tuple, support: dp_kip.SupportSet
) -> None:
    m = mechanism(1e-2, noise_multiplier=3.0)
    ours = released("features", support, *data, m)
    with numerics.float64():
        _, noise_key = jax.random.split(jax.random.fold_in(private_key(0), 0))
        noisy = add_gaussian_noise(
            noise_key, jnp.asarray(feature_oracle(support, data, 1e-2)), stddev=m.stddev
        )
    expected = to_pixels(support, np.asarray(noisy))
    np.testing.assert_allclose(ours, expected, rtol=1e-3, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("ridge", [1e-6, 1e-14])
@pytest.mark.parametrize("last", [0.2, 20.0])
def test_guarantee_a_nearly_singular_kernel_moves_no_sum_further(ridge: float, last: float) -> None:
    """More images than features: terms cancel, and rounding made nine clip norms of one.

    The features of a large last row hardly change with its pixels, those of the others do.
    """
    n, s, clip_norm = 300, 40, 1e-2
    rng = np.random.default_rng(5)
    x = jnp.asarray(rng.uniform(-1, 1, (n, 4)), jnp.float32)
    labels = jnp.asarray(rng.integers(0, 2, n), jnp.int32)
    to_six = rng.normal(size=(4, 6))

    def few(rows: jax.Array) -> jax.Array:
        return jnp.tanh(rows @ jnp.asarray(to_six, rows.dtype))

    of_few = dataclasses.replace(config("pixels"), ridge=ridge, target_fn=few)
    m = dataclasses.replace(mechanism(clip_norm), num_examples=n)
    with numerics.float64():
        rows = 0.2 * rng.normal(size=(s, 4))
        rows[-1] *= last / 0.2
        start = dp_kip.SupportSet(
            jnp.asarray(rows, jnp.float32),
            preprocess.centred_one_hot(jnp.arange(s) % 2, 2),
        )
        clipped = release.clipped_sum(kernels.from_features(few), m, of_few, start, x, labels)
        total = jax.jit(lambda mask: clipped.assemble(clipped.chunk(jnp.arange(n), mask)))
        everyone = jnp.ones(n, bool)
        moved = [total(everyone) - total(everyone.at[i].set(False)) for i in range(6)]
        assert max(map(float, map(jnp.linalg.norm, moved))) <= clip_norm * (1 + 1e-9)


def test_noise_enters_in_pixels_when_clipping_there(
    data: tuple, support: dp_kip.SupportSet
) -> None:
    m = mechanism(1e-2, noise_multiplier=3.0)
    ours = released("pixels", support, *data, m)
    with numerics.float64():
        _, noise_key = jax.random.split(jax.random.fold_in(private_key(0), 0))
        noisy = add_gaussian_noise(
            noise_key, jnp.asarray(pixel_oracle(support, data, 1e-2)), stddev=m.stddev
        )
    np.testing.assert_allclose(ours, noisy, rtol=1e-3, atol=1e-5 * np.abs(noisy).max())


def test_fixed_pixels_have_no_gradient_and_no_share_of_the_norm(
    data: tuple, support: dp_kip.SupportSet
) -> None:
    free = jnp.arange(D) % 2 == 0
    ours = released("pixels", support, *data, mechanism(1e-2), free)
    expected = pixel_oracle(support, data, 1e-2, np.asarray(free))
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
    in_features = released("features", support, *data, mechanism(1e-2), free)
    np.testing.assert_array_equal(in_features[:, ~np.asarray(free)], 0.0)
    assert np.all(in_features[:, np.asarray(free)] != 0)


def test_pixel_norms_refuse_features_without_float64(support: dp_kip.SupportSet) -> None:
    def coarse(rows: jax.Array) -> jax.Array:
        return features(rows).astype(jnp.float32)

    in_float32 = dataclasses.replace(config("pixels"), target_fn=coarse)
    kip = dp_kip.dp_kip(kernels.from_features(coarse), mechanism(1.0), in_float32)
    with pytest.raises(TypeError, match="float64"):
        kip.update(kip.init(support), private_key(0), jnp.ones((N, D)), jnp.zeros(N, jnp.int32), 1)


def test_unknown_clip_space() -> None:
    with pytest.raises(ValueError, match="clip_space"):
        config("pixel")


@pytest.mark.parametrize("space", ["pixels", "features"])
def test_the_usual_targets_of_a_kernel_of_features_are_features(
    space: str, data: tuple, support: dp_kip.SupportSet
) -> None:
    """Rows as they are would be taken for features, where both have one width in silence."""
    named = config(space)
    usual = dataclasses.replace(named, target_fn=None)
    runs = [dp_kip.dp_kip(KERNEL, mechanism(1e-2), each) for each in (named, usual)]
    after = [kip.update(kip.init(support), private_key(0), *data, 1) for kip in runs]
    np.testing.assert_array_equal(after[0].support.x, after[1].support.x)


@pytest.mark.parametrize(
    ("kernel", "target_fn", "said"),
    [
        (KERNEL, lambda rows: rows, r"rows of shape \(6,\), .* has rows of shape \(15,\)"),
        (kernels.fc_ntk(), features, r"rows of shape \(15,\), .* has rows of shape \(6,\)"),
        (kernels.fc_ntk(), lambda rows: rows[:, 0], r"rows of shape \(\)"),
    ],
    ids=["no features", "features", "numbers"],
)
def test_targets_of_another_width_than_what_they_are_compared_with_are_refused(
    kernel: kernels.Kernel,
    target_fn: Any,
    said: str,
    data: tuple,
    support: dp_kip.SupportSet,
) -> None:
    of_others = dataclasses.replace(config("pixels"), target_fn=target_fn)
    kip = dp_kip.dp_kip(kernel, mechanism(1e-2), of_others)
    with pytest.raises(ValueError, match=said):
        kip.update(kip.init(support), private_key(0), *data, 1)


def test_rows_of_which_usual_features_cannot_be_taken_are_refused(
    data: tuple, support: dp_kip.SupportSet
) -> None:
    x, labels = data
    usual = dataclasses.replace(config("features"), target_fn=None)
    kip = dp_kip.dp_kip(KERNEL, mechanism(1e-2), usual)
    with pytest.raises(ValueError, match="need rows of width 6, got 4"):
        kip.update(kip.init(support), private_key(0), x[:, :4], labels, 1)
    with pytest.raises(TypeError, match="rows must be of floats, got uint8"):
        kip.update(kip.init(support), private_key(0), x.astype(jnp.uint8), labels, 1)


@pytest.mark.parametrize("chunk_size", [1, 7])
@pytest.mark.parametrize("kernel", [kernels.linear(), kernels.fc_ntk(), KERNEL])
def test_guarantee_a_record_is_one_target(
    kernel: kernels.Kernel, chunk_size: int, data: tuple, support: dp_kip.SupportSet
) -> None:
    """One label is spread over several rows, each of which would be clipped by itself.

    So a record of two rows, as images are that are read as smaller ones, moved a sum by two norms.
    """

    def two_rows(rows: jax.Array) -> jax.Array:
        return jnp.repeat(rows if kernel is not KERNEL else features(rows), 2, axis=0)

    of_two = dataclasses.replace(config("pixels"), target_fn=two_rows, chunk_size=chunk_size)
    kip = dp_kip.dp_kip(kernel, mechanism(1e-2), of_two)
    with pytest.raises(ValueError, match=f"gives {2 * chunk_size} rows for {chunk_size} examples"):
        kip.update(kip.init(support), private_key(0), *data, 1)


def test_kernels_without_features_are_not_clipped_in_them() -> None:
    general = kernels.Kernel(cross=KERNEL.cross, symmetric=KERNEL.symmetric)
    both = dataclasses.replace(kernels.linear(), features=features)
    for kernel in (kernels.fc_ntk(), general, both):
        with pytest.raises(ValueError, match="needs a kernel of features"):
            dp_kip.dp_kip(kernel, mechanism(1.0), config("features"))
