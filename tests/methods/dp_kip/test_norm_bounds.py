"""The norms that clipping uses: never below the true ones, and hardly above."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from clipped_problems import (
    BATCH,
    CASES,
    CUSTOM,
    EPS,
    KERNELS,
    RIDGES,
    WAYS,
    D,
    N,
    Result,
    S,
    custom_terms,
    gradients,
    norms_of,
    problem,
    run,
    scaled,
    wide,
)

from jaxdp import kernels, numerics
from jaxdp.methods.dp_kip.clipped import norms as kip_norms
from jaxdp.methods.dp_kip.clipped import terms as kip_terms
from jaxdp.numerics import ByBackend


def assert_bounds_hold(ours: Result, margin: float) -> float:
    """Return the largest part of its margin that a bound has needed."""
    norms = norms_of(ours.plain_each)
    assert np.all(np.isfinite(ours.bound))
    assert np.all(ours.bound >= norms * (1 - 1e-12))
    linear = margin * ours.diagonal
    square = margin * ours.magnitude**2
    bare = (ours.bound - linear) ** 2 - square
    needed = np.maximum(norms - linear, 0) ** 2 - bare
    return float(np.max(np.where(square > 0, needed / np.where(square > 0, square, 1), 0)))


@wide
@pytest.mark.parametrize(("name", "shared"), [*(("ntk", way) for way in WAYS), ("linear", False)])
def test_norm_bounds_are_never_below_the_norm(name: str, shared: bool) -> None:
    """Against what is released, for every case under many seeds and scales of the labels.

    The margin has four times the room that rounding was seen to take (0.2 of it, here).
    """
    kernel, ridge = KERNELS[name], RIDGES[0]
    needed, smallest = 0.0, math.inf
    for seed in range(60):
        rng = np.random.default_rng(seed)
        problems = [scaled(problem(case, seed=seed), 10 ** rng.uniform(-6, 6)) for case in CASES]
        ours = run(kernel, problems, ridge, shared=shared)
        needed = max(needed, assert_bounds_hold(ours, 4 * (S + D + 4) * EPS))
        there = ours.magnitude > 0  # a target of zeros has no gradient where kernels are linear
        part = norms_of(ours.plain_each)[there] / ours.magnitude[there]
        smallest = min(smallest, float(np.min(part)))
    assert needed <= 0.25
    assert smallest < 1e-3  # the search has met cancellation


@wide
@pytest.mark.parametrize("name", ["ntk without bias", "ntk of depth 3", "nngp"])
def test_norm_bounds_hold_for_other_kernels(name: str) -> None:
    for seed in range(10):
        problems = [problem(case, seed=seed) for case in CASES]
        ours = run(KERNELS[name], problems, 1e-6, shared=name != "nngp")
        assert assert_bounds_hold(ours, 4 * (S + D + 4) * EPS) <= 0.25


@wide
def test_norm_bounds_with_records_that_cancel_on_the_diagonal() -> None:
    """Antipodal support points and NNGP without bias: `m` loses up to seven digits itself.

    Where that leaves no number at all, records count as nothing.
    """
    kernel = kernels.fc_nngp(depth=2, bias_std=0.0)
    worst, num_lost = math.inf, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        one = rng.normal(size=(1, D))
        problems = []
        for angle in 10 ** rng.uniform(-9, -1, size=BATCH):
            p = problem(seed=int(rng.integers(2**31)))
            signs = rng.choice([-1, 1], size=(S + N, 1))
            problems.append(
                p._replace(
                    x_s=np.float32((one + angle * p.x_s) * signs[:S]),
                    x_t=np.float32((one + angle * p.x_t) * signs[S:]),
                )
            )
        ours = run(kernel, problems, 1e-6, shared=True)
        lost = np.isnan(ours.bound).all(axis=1)
        assert np.all(ours.total[lost] == 0)
        num_lost += int(lost.sum())
        ours = Result(*(part[~lost] for part in ours))
        norms = norms_of(ours.plain_each)
        worst = min(worst, float(np.min(ours.bound / norms)))
        assert_bounds_hold(ours, 4 * (S + D + 4) * EPS)
    assert worst >= 1 - 1e-12
    assert num_lost < 40 * BATCH / 100


@wide
@pytest.mark.parametrize("shared", WAYS)
def test_norm_bounds_match_the_oracle_and_are_tight(shared: bool) -> None:
    """Where the oracle itself is accurate, and nowhere below it by more than its own error."""
    kernel, ridge = KERNELS["ntk"], RIDGES[0]
    problems = [problem(case) for case in CASES]
    ours, true = (
        run(kernel, problems, ridge, shared=shared),
        norms_of(gradients(kernel, problems, ridge)),
    )
    assert np.all(ours.bound >= true * (1 - 1e-8))
    well = [CASES.index(c) for c in ("random", "targets equal support", "huge", "mixed")]
    assert np.all(ours.bound[well] >= true[well] * (1 - 1e-12))
    assert np.all(ours.bound[well] <= true[well] * (1 + 1e-11))
    assert np.all(ours.bound <= true * (1 + 1e-7))  # with angles of 1e-2 and equal points too


@wide
def test_linear_norm_bounds_are_those_of_the_general_formula_and_tight() -> None:
    """The same kernel is told from `LINEAR` by being another object."""
    linear = kernels.LINEAR
    other = kernels.DotProduct(cross=linear.cross, diagonal=linear.diagonal)
    problems = [problem(case) for case in CASES]
    ours = run(KERNELS["linear"], problems, 1e-3)
    general = run(_kernel_of(other), problems, 1e-3)
    np.testing.assert_allclose(ours.bound, general.bound, rtol=1e-7)
    true = norms_of(gradients(KERNELS["linear"], problems, 1e-3))
    assert np.all(ours.bound >= true * (1 - 1e-8))
    assert np.all(ours.bound <= true * (1 + 1e-6) + 1e-12)


@functools.cache
def _kernel_of(dot_product: kernels.DotProduct) -> kernels.Kernel:
    return kernels.from_dot_product(dot_product)


@wide
@pytest.mark.parametrize("at_once", [1, 3, 7, 8, 100])
def test_norms_do_not_depend_on_how_many_are_computed_at_once(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = problem()
    support = custom_terms(p)
    target = kip_terms.target_terms(CUSTOM, support, jnp.asarray(p.x_t), jnp.asarray(p.y_t))
    want = kip_norms.norm_bounds(support, target)
    size = at_once * 8 * S * S
    monkeypatch.setattr(kip_norms, "_MATRIX_BYTES", ByBackend(size, size))
    limits = []

    def spy(fn: Any, rows: Any, *, at_most: int) -> Any:
        limits.append(at_most)
        return numerics.map_rows(fn, rows, at_most=at_most)

    monkeypatch.setattr(kip_norms, "map_rows", spy)
    np.testing.assert_allclose(kip_norms.norm_bounds(support, target), want, rtol=1e-13)
    assert limits == [at_once]
