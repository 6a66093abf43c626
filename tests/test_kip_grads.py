"""Exact clipped sums against the general vmap form in float64.

Inputs are float32; the oracle sees the same numbers in float64. `Relative` is relative to the
norm of the whole sum. Where the kernel matrix has a condition number beyond 1e10 (tiny inputs, or
duplicates, at ridge 1e-8) float64 itself loses digits in the solve, of the oracle as of ours, and
the tolerance says so.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp import clipping, dp_kip, kernels, kip_grads, precision

C = 3
EPS32 = float(np.finfo(np.float32).eps)


def near(x: np.ndarray, angle: float, rng: np.random.Generator) -> np.ndarray:
    """Return points at about `angle` from the first row, of different lengths."""
    noise = rng.normal(size=x.shape)
    base = x[:1] / np.linalg.norm(x[:1])
    noise = noise / np.linalg.norm(noise, axis=1, keepdims=True)
    return (base + angle * noise) * rng.uniform(0.5, 2.0, size=(len(x), 1)) * 5


def inputs(kind: str, s: int, d: int, n: int = 9) -> tuple[np.ndarray, np.ndarray]:
    """Return support and targets of a difficult kind, in float32."""
    rng = np.random.default_rng(0)
    x, t = rng.normal(size=(s, d)), rng.normal(size=(n, d))
    if kind == "collinear":
        x = near(x, 0.03, rng)
        t = near(np.concatenate([x[:1], t[1:]]), 0.03, rng)
    elif kind == "duplicates":
        x[1::2] = x[0]
        t[:4] = x[:4]
    elif kind == "zeros":
        x[1], t[2] = 0.0, 0.0
    elif kind == "all zero":
        x, t = 0 * x, 0 * t
    elif kind == "tiny":
        x, t = 1e-6 * x, 1e-6 * t
    elif kind == "huge":
        x, t = 1e4 * x, 1e4 * t
    elif kind == "mixed":
        x *= np.logspace(-6, 4, s)[:, None]
        t *= np.logspace(4, -6, n)[:, None]
    return x.astype(np.float32), t.astype(np.float32)


def labels(count: int) -> np.ndarray:
    return (np.eye(C)[np.arange(count) % C] - 1 / C).astype(np.float32)


def oracle(kernel: kernels.Kernel, x: np.ndarray, t: np.ndarray, ridge: float) -> np.ndarray:
    """Return every target's gradient (n, s, d) by autodiff, in float64."""
    with precision.float64():
        y_s, y_t = (jnp.asarray(labels(len(z)), jnp.float64) for z in (x, t))

        @jax.jit
        @jax.vmap
        def gradient(t: jax.Array, y: jax.Array) -> jax.Array:
            def loss(x: jax.Array) -> jax.Array:
                return dp_kip.loss(kernel, dp_kip.SupportSet(x, y_s), t, y, ridge=ridge)

            return jax.grad(loss)(jnp.asarray(x, jnp.float64))

        return np.asarray(gradient(jnp.asarray(t, jnp.float64), y_t))


def exact(
    kernel: kernels.Kernel,
    x: np.ndarray,
    t: np.ndarray,
    ridge: float,
    clip_norm: float,
    mask: np.ndarray | None = None,
    num_targets: float = 1e9,
) -> tuple[np.ndarray, np.ndarray]:
    """Return our clipped sum (s, d) and norm bounds (n,)."""
    mask = np.ones(len(t), bool) if mask is None else mask

    @jax.jit
    def run(x: jax.Array, t: jax.Array, mask: jax.Array) -> tuple[jax.Array, jax.Array]:
        y_s = jnp.asarray(labels(len(x)))
        support = kip_grads.support_terms(
            kernel.dot_product, x, y_s, ridge, num_targets=num_targets
        )
        y_t = jnp.asarray(labels(len(t)))
        moments = kip_grads.clipped_moments(kernel.dot_product, support, t, y_t, mask, clip_norm)
        target = kip_grads.target_terms(kernel.dot_product, support, t, y_t)
        return kip_grads.assemble(support, moments), kip_grads.norm_bounds(support, target)

    with precision.float64():
        total, norms = run(*(jnp.asarray(z) for z in (x, t, mask)))
        return np.asarray(total), np.asarray(norms)


def norms_of(gradients: np.ndarray) -> np.ndarray:
    return np.linalg.norm(gradients.reshape(len(gradients), -1), axis=1)


def clipped(gradients: np.ndarray, clip_norm: float) -> np.ndarray:
    factors = np.minimum(1.0, clip_norm / np.maximum(norms_of(gradients), 1e-300))
    return np.tensordot(factors, gradients, axes=1)


def assert_equal(
    kernel: kernels.Kernel, x: np.ndarray, t: np.ndarray, ridge: float, tolerance: float = 1e-5
) -> None:
    gradients = oracle(kernel, x, t, ridge)
    true = norms_of(gradients)
    for clip_norm in (math.inf, float(np.median(true)) or 1.0)[-1 if ridge != 1e-4 else 0 :]:
        ours, bounds = exact(kernel, x, t, ridge, clip_norm)
        expected = clipped(gradients, clip_norm)
        scale = max(np.linalg.norm(expected), 1e-3 * min(clip_norm, true.max()), 1e-30)
        assert np.linalg.norm(ours - expected) <= tolerance * scale
        # What the guarantee rests on: a clipped norm is never above the clip norm.
        assert (bounds >= true * (1 - tolerance * 1e-3)).all()
        # Next to nothing left of large terms is known to 1e-6 of these only.
        assert (bounds <= true * (1 + tolerance) + 1e-6 * true.max() + 1e-30).all()


KINDS = ("random", "collinear", "duplicates", "zeros", "all zero", "tiny", "huge", "mixed")


@pytest.mark.parametrize("ridge", [1e-8, 1e-4, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_float64_oracle(kind: str, ridge: float) -> None:
    x, t = inputs(kind, s=6, d=11)
    ill_conditioned = ridge == 1e-8 and kind in ("tiny", "duplicates", "mixed", "all zero")
    assert_equal(kernels.fc_ntk(), x, t, ridge, tolerance=1e-3 if ill_conditioned else 1e-5)


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.fc_ntk(depth=0),
        kernels.fc_ntk(depth=3),
        kernels.fc_ntk(depth=2, bias_std=0.0),
        kernels.fc_nngp(depth=2),
    ],
)
@pytest.mark.parametrize(("s", "d"), [(6, 11), (9, 4)])
def test_every_dot_product_kernel_and_both_shapes(kernel: kernels.Kernel, s: int, d: int) -> None:
    assert_equal(kernel, *inputs("random", s, d), ridge=1e-3)


@pytest.mark.parametrize("kind", ["random", "collinear", "duplicates", "mixed"])
def test_both_ways_to_norms_agree(kind: str) -> None:
    x, t = inputs(kind, s=30, d=40)
    assert kip_grads._sharing_pays(30, C, 1e9)
    assert not kip_grads._sharing_pays(30, C, 2.0)
    _, shared = exact(kernels.fc_ntk(), x, t, 1e-4, 1.0, num_targets=1e9)
    _, direct = exact(kernels.fc_ntk(), x, t, 1e-4, 1.0, num_targets=2.0)
    true = norms_of(oracle(kernels.fc_ntk(), x, t, 1e-4))
    for bounds in (shared, direct):
        assert (bounds >= true * (1 - 1e-9)).all()
        assert (bounds <= true * (1 + 1e-7) + 1e-6 * true.max()).all()


@pytest.mark.parametrize("angle", [1e-2, 1e-4])
@pytest.mark.parametrize("s", [6, 40])
def test_guarantee_bound_holds_however_close_points_are(angle: float, s: int) -> None:
    rng = np.random.default_rng(1)
    x = near(rng.normal(size=(s, 80)), angle, rng).astype(np.float32)
    t = near(np.concatenate([x[:1], rng.normal(size=(8, 80))]), angle, rng).astype(np.float32)
    true = norms_of(oracle(kernels.fc_ntk(), x, t, 1e-6))
    _, bounds = exact(kernels.fc_ntk(), x, t, 1e-6, 1.0)
    assert (bounds >= true * (1 - 1e-7)).all()


def test_guarantee_one_record_moves_the_sum_by_at_most_clip_norm_and_attains_it() -> None:
    x, t = inputs("random", s=6, d=11)
    clip_norm = float(np.min(norms_of(oracle(kernels.fc_ntk(), x, t, 1e-4)))) / 2
    whole, _ = exact(kernels.fc_ntk(), x, t, 1e-4, clip_norm)
    for i in range(len(t)):
        mask = np.arange(len(t)) != i
        without, _ = exact(kernels.fc_ntk(), x, t, 1e-4, clip_norm, mask)
        moved = np.linalg.norm(whole - without)
        assert clip_norm * (1 - 1e-5) < moved <= clip_norm * (1 + 1e-12)


@pytest.mark.parametrize("poison", [np.nan, np.inf, 1e38])
@pytest.mark.parametrize("clip_norm", [1e-3, math.inf])
def test_guarantee_masked_and_non_finite_records_contribute_exactly_zero(
    poison: float, clip_norm: float
) -> None:
    x, t = inputs("random", s=6, d=11)
    bad = t.copy()
    bad[4] = poison
    kernel = kernels.fc_ntk()
    mask = np.arange(len(t)) != 4
    masked, _ = exact(kernel, x, bad, 1e-4, clip_norm, mask)
    clean, _ = exact(kernel, x, t, 1e-4, clip_norm, mask)
    np.testing.assert_array_equal(masked, clean)
    nobody, _ = exact(kernel, x, bad, 1e-4, clip_norm, np.zeros(len(t), bool))
    assert not np.any(nobody)
    if not math.isfinite(poison):
        counted, _ = exact(kernel, x, bad, 1e-4, clip_norm)
        np.testing.assert_array_equal(counted, clean)


def test_moments_add_over_chunks() -> None:
    x, t = inputs("random", s=6, d=11)
    kernel = kernels.fc_ntk()
    whole, _ = exact(kernel, x, t, 1e-4, 0.01)
    with precision.float64():
        support = kip_grads.support_terms(
            kernel.dot_product, jnp.asarray(x), jnp.asarray(labels(6)), 1e-4, num_targets=9.0
        )
        total = kip_grads.zero_moments(support)
        for rows in (slice(0, 5), slice(5, 9)):
            part = kip_grads.clipped_moments(
                kernel.dot_product,
                support,
                jnp.asarray(t[rows]),
                jnp.asarray(labels(len(t))[rows]),
                jnp.ones(len(t[rows]), bool),
                0.01,
            )
            total = jax.tree.map(jnp.add, total, part)
        summed = np.asarray(kip_grads.assemble(support, total))
    np.testing.assert_allclose(summed, whole, rtol=1e-9, atol=1e-12)


def test_memory_limit_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x, t = inputs("random", s=6, d=11)
    _, at_once = exact(kernels.fc_ntk(), x, t, 1e-4, 0.01, num_targets=1.0)
    four_at_a_time = 4 * 8 * 6 * 6  # nine targets: two chunks and a remainder
    monkeypatch.setattr(kip_grads, "_MATRIX_BYTES", {"cpu": four_at_a_time})
    monkeypatch.setattr(kip_grads, "_MATRIX_BYTES_ACCELERATOR", four_at_a_time)
    _, chunked = exact(kernels.fc_ntk(), x, t, 1e-4, 0.01, num_targets=1.0)
    np.testing.assert_allclose(chunked, at_once, rtol=1e-12)


def test_equals_the_general_form() -> None:
    """The fallback of `dp_kip` and the fast path are the same function."""
    x, t = inputs("random", s=6, d=11)
    kernel = kernels.fc_ntk()
    clip_norm = 0.01
    with precision.float64():
        y_s = jnp.asarray(labels(6), jnp.float64)
        general = clipping.sum_clipped_grads(
            lambda x, t: dp_kip.loss(kernel, dp_kip.SupportSet(x, y_s), *t, ridge=1e-4),
            jnp.asarray(x, jnp.float64),
            (jnp.asarray(t, jnp.float64), jnp.asarray(labels(len(t)), jnp.float64)),
            jnp.ones(len(t), bool),
            clip_norm=clip_norm,
        )
    ours, _ = exact(kernel, x, t, 1e-4, clip_norm)
    np.testing.assert_allclose(ours, general, rtol=1e-5, atol=1e-7)


def test_needs_64_bit_mode() -> None:
    x, _ = inputs("random", s=6, d=11)
    with pytest.raises(RuntimeError, match=r"precision\.float64"):
        kip_grads.support_terms(
            kernels.fc_ntk().dot_product,
            jnp.asarray(x),
            jnp.asarray(labels(6)),
            1e-4,
            num_targets=9.0,
        )
