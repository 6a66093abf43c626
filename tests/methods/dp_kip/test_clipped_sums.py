"""The exact clipped gradient sums against per-example gradients by automatic differentiation."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from clipped_problems import (
    CASES,
    CUSTOM,
    EPS,
    KERNELS,
    QUICK,
    RIDGES,
    WAYS,
    D,
    N,
    Problem,
    S,
    clip,
    clipping_levels,
    custom_moments,
    custom_sum,
    custom_terms,
    gradients,
    loss,
    norms_of,
    problem,
    run,
    wide,
)

from jaxdp import kernels
from jaxdp.methods.dp_kip.clipped import sums as kip_grads
from jaxdp.methods.dp_kip.clipped import terms as kip_terms
from jaxdp.privacy import clipping


def assert_sums_match(
    kernel: kernels.Kernel, p: Problem, ridge: float, ways: tuple[bool, ...] = WAYS
) -> None:
    """Compare clipped and plain sums, at every clipping level.

    Errors are of order 1e-15, times the inverse ridge where support points coincide: two
    computations in float64, the oracle's and the module's, then differ by 1e-8.
    """
    problems = clipping_levels(kernel, p, ridge)
    g = gradients(kernel, problems, ridge)
    fractions = np.mean(norms_of(g) > 1, axis=1)
    assert fractions[0] >= 0.5
    assert fractions[-1] == 0
    for shared in ways:
        ours = run(kernel, problems, ridge, shared=shared)
        assert ours.total.dtype == np.float64
        for result, want in ((ours.total, clip(g)), (ours.plain_total, g)):
            total = np.sum(want, axis=1)
            error = np.linalg.norm(result - total, axis=(1, 2)) / np.linalg.norm(total, axis=(1, 2))
            assert np.all(error <= 1e-7), (shared, error)


@wide
@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("case", CASES)
def test_clipped_sum_equals_the_oracle(case: str, ridge: float) -> None:
    ways = WAYS if ridge == RIDGES[0] else (ridge == RIDGES[1],)
    assert_sums_match(KERNELS["ntk"], problem(case), ridge, ways)


@wide
@pytest.mark.parametrize("name", [name for name in KERNELS if name != "ntk"])
def test_clipped_sum_equals_the_oracle_for_other_kernels(name: str) -> None:
    for case in ("random", "nearly collinear", "targets equal support", "mixed"):
        assert_sums_match(
            KERNELS[name], problem(case), 1e-6, ways=(name not in ("nngp", "linear"),)
        )


@wide
def test_clipped_sum_equals_the_oracle_with_more_rows_than_columns() -> None:
    for case in ("random", "nearly collinear", "duplicated", "mixed"):
        assert_sums_match(KERNELS["ntk"], problem(case, s=9, d=4), 1e-6, ways=(False,))


@wide
def test_the_oracle_is_sum_clipped_grads() -> None:
    """What this file compares with is what `jaxdp.privacy.clipping` sums."""
    p = clipping_levels(KERNELS["ntk"], problem(), RIDGES[0])[1]
    x_s, y_s, x_t, y_t = (jnp.asarray(z, jnp.float64) for z in p)

    def slow(x_s: Any, x_t: Any, y_t: Any) -> Any:
        one = functools.partial(loss, KERNELS["ntk"], y_s, RIDGES[0])
        everyone = jnp.ones(N, bool)
        return clipping.sum_clipped_grads(one, x_s, (x_t, y_t), everyone, clip_norm=1.0)

    want = jax.jit(slow, compiler_options=QUICK)(x_s, x_t, y_t)
    ours = run(KERNELS["ntk"], [p], RIDGES[0]).total[0]
    np.testing.assert_allclose(ours, want, rtol=1e-9, atol=1e-9)


def at_angle(angle: float) -> Problem:
    one, p = np.random.default_rng(0).normal(size=(1, D)), problem()
    return p._replace(
        x_s=np.float32(one + angle * p.x_s),
        x_t=np.float32(one + angle * p.x_t),
    )


@wide
def test_error_of_nearly_collinear_points_grows_slowly() -> None:
    """The sum is off by about 1e-15 / angle; the bound exceeds the norm by 1e-13 / angle^2.

    The second is the margin: terms of size `norm / angle` cancel. So below an angle of 1e-5
    records are clipped to visibly less than the clip norm, which is on the safe side. Below
    1e-7 float64 sees no angle any more.
    """
    kernel, ridge = KERNELS["ntk"], RIDGES[0]
    angles = np.array([1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
    problems = [at_angle(angle) for angle in angles]
    g, ours = gradients(kernel, problems, ridge), run(kernel, problems, ridge)
    errors = np.max(norms_of(ours.plain_each - g) / norms_of(g), axis=1)
    assert np.all(errors[:-1] <= 1e-13 / angles[:-1] ** 1.5)
    excess = ours.bound / norms_of(ours.plain_each) - 1
    assert np.all(excess > 0)
    assert np.all(np.max(excess, axis=1) <= 2e-12 / angles**2)
    assert np.max(excess[1]) <= 1e-5


@wide
def test_an_asymmetric_product_does_not_cost_the_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some matrix products round `x_i . x_j` and `x_j . x_i` differently, by one unit here."""
    exact = kip_terms.dot

    def uneven(x: Any, y: Any) -> Any:
        z = exact(x, y)
        is_gram = x.shape == (S, D) and y.shape == (D, S)
        return z * (1 + EPS * jnp.triu(jnp.ones_like(z), 1)) if is_gram else z

    monkeypatch.setattr(kip_terms, "dot", uneven)
    kernel, ridge, p = KERNELS["ntk"], RIDGES[0], at_angle(1e-4)
    x_s, y_s, x_t, y_t = (jnp.asarray(z) for z in p)
    terms = kip_terms.support_terms(kernel.dot_product, x_s, y_s, ridge, num_targets=float(N))
    moments = kip_grads.clipped_moments(
        kernel.dot_product, terms, x_t, y_t, jnp.ones(N, bool), math.inf
    )
    expected = gradients(kernel, [p], ridge)[0].sum(axis=0)
    error = np.linalg.norm(kip_grads.assemble(terms, moments) - expected)
    assert error <= 1e-6 * np.linalg.norm(expected)


@wide
def test_any_kernel_of_inner_products_will_do_with_jit_and_without() -> None:
    p = problem()
    g = gradients(kernels.from_dot_product(CUSTOM), [p], 1e-3)[0]
    norms = norms_of(g)
    clip_norm = float(np.median(norms))
    want = np.sum(g * np.minimum(1, clip_norm / norms)[:, None, None], axis=0)

    def clipped(x_s: Any, y_s: Any, x_t: Any, y_t: Any) -> Any:
        support = kip_terms.support_terms(CUSTOM, x_s, y_s, 1e-3, num_targets=1e-9)
        everyone = jnp.ones(x_t.shape[0], bool)
        moments = kip_grads.clipped_moments(CUSTOM, support, x_t, y_t, everyone, clip_norm)
        return kip_grads.assemble(support, moments)

    plain = clipped(*map(jnp.asarray, p))
    np.testing.assert_allclose(plain, want, rtol=1e-9, atol=1e-12)
    compiled = jax.jit(clipped)
    np.testing.assert_allclose(compiled(*map(jnp.asarray, p)), plain, rtol=1e-9, atol=1e-12)


@wide
def test_moments_add_over_chunks() -> None:
    p = problem()
    chunks = [p._replace(x_t=p.x_t[i : i + 4], y_t=p.y_t[i : i + 4]) for i in (0, 4)]
    total = kip_grads.zero_moments(custom_terms(p))
    for chunk in chunks:
        total = jax.tree.map(jnp.add, total, custom_moments(chunk))
    ours = kip_grads.assemble(custom_terms(p), total)
    np.testing.assert_allclose(ours, custom_sum(p), rtol=1e-12, atol=1e-14)


@wide
def test_a_singular_support_gives_zero_and_not_nan() -> None:
    """All-zero support points and no bias: the kernel matrix is zero, nothing can be learnt."""
    p = problem()._replace(x_s=np.zeros((S, D), np.float32))
    ours = run(KERNELS["ntk without bias"], [p], 1e-6, shared=True)
    np.testing.assert_array_equal(ours.total, np.zeros((1, S, D)))
    np.testing.assert_array_equal(ours.plain_total, np.zeros((1, S, D)))


def test_without_64_bit_mode_there_is_a_clear_error() -> None:
    assert jnp.zeros(()).dtype == jnp.float32
    with pytest.raises(RuntimeError, match=r"jaxdp\.numerics\.float64"):
        custom_terms(problem())
    p = problem()
    with pytest.raises(RuntimeError, match="64-bit"):
        jax.jit(lambda x, y: kip_terms.support_terms(CUSTOM, x, y, 1e-3, num_targets=1.0))(
            p.x_s, p.y_s
        )
