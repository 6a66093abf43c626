"""What one record does to an exact clipped sum, an extreme, masked or non-finite one included."""

from __future__ import annotations

import math

import numpy as np
import pytest
from clipped_problems import (
    CASES,
    KERNELS,
    RIDGES,
    WAYS,
    D,
    N,
    S,
    custom_moments,
    custom_terms,
    norms_of,
    problem,
    run,
    scaled,
    wide,
)

from jaxdp.methods.dp_kip.clipped import sums as kip_grads

EACH_NORM = [*(("ntk", way) for way in WAYS), ("linear", False)]
"""Every way to bound norms."""


@wide
@pytest.mark.parametrize(("name", "shared"), EACH_NORM)
def test_guarantee_one_record_moves_the_sum_by_at_most_clip_norm(name: str, shared: bool) -> None:
    kernel, ridge = KERNELS[name], RIDGES[0]
    for seed in range(20):
        problems = [
            scaled(problem(case, seed=seed), 10.0**exponent)
            for case, exponent in zip(CASES, [8, 3, 0, 1] * 3, strict=True)
        ]
        ours = run(kernel, problems, ridge, shared=shared)
        moved = norms_of(ours.each)
        assert np.all(moved <= 1 + 1e-12)
        large = norms_of(ours.plain_each) > 2
        assert np.sum(large) > 40
        well = large & (norms_of(ours.plain_each) > 1e-3 * ours.magnitude)
        assert np.all(moved[well] >= 1 - 1e-6)  # and so the bound is attained
        np.testing.assert_allclose(np.sum(ours.each, axis=1), ours.total, rtol=1e-6, atol=1e-9)


@wide
def test_guarantee_extreme_records_are_clipped_too() -> None:
    """The largest finite float32 as a private record, and the smallest."""
    p = problem()
    extremes = np.float32([3e38, 1e30, 1e10, 1, 1e-10, 1e-30, 1e-38, 0])
    big = p._replace(x_t=extremes[:, None] * np.sign(p.x_t))
    labels = p._replace(y_t=extremes[:, None] * np.sign(p.y_t))
    for name, shared in EACH_NORM:
        problems = [big, labels, scaled(big, 1e15)]
        result = run(KERNELS[name], problems, RIDGES[0], shared=shared)
        moved = norms_of(result.each)
        assert np.all(np.isfinite(moved))
        assert np.all(moved <= 1 + 1e-12)
        assert np.all(moved[:, 0] > 0.999)


@wide
@pytest.mark.parametrize("clip_norm", [0.1, math.inf])
@pytest.mark.parametrize("where", ["x_t", "y_t"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_guarantee_non_finite_and_masked_records_contribute_exactly_zero(
    clip_norm: float, where: str, bad: float
) -> None:
    p = problem()
    mask = np.arange(N) % 3 != 1
    want = custom_moments(p, mask, clip_norm=clip_norm)
    values = getattr(p, where).copy()
    values[~mask, 0] = bad
    poisoned = p._replace(**{where: values})
    for also_masked in (mask, np.ones(N, bool)):
        ours = custom_moments(poisoned, also_masked, clip_norm=clip_norm)
        for ours_part, want_part in zip(ours, want, strict=True):
            np.testing.assert_array_equal(ours_part, want_part)
    assert all(np.any(np.asarray(part) != 0) for part in want)
    # What a masked record holds does not matter at all.
    other = custom_moments(
        p._replace(x_t=np.where(mask[:, None], p.x_t, 7)), mask, clip_norm=clip_norm
    )
    for other_part, want_part in zip(other, want, strict=True):
        np.testing.assert_array_equal(other_part, want_part)


@wide
@pytest.mark.parametrize("clip_norm", [0.1, math.inf])
@pytest.mark.parametrize("shared", WAYS)
def test_guarantee_nobody_contributes_exactly_nothing(clip_norm: float, shared: bool) -> None:
    p = problem()
    moments = custom_moments(p, np.zeros(N, bool), clip_norm=clip_norm, shared=shared)
    zero = kip_grads.zero_moments(custom_terms(p))
    for part, zero_part in zip(moments, zero, strict=True):
        assert part.shape == zero_part.shape
        assert part.dtype == zero_part.dtype
        np.testing.assert_array_equal(part, np.zeros(part.shape))
    total = kip_grads.assemble(custom_terms(p), moments)
    np.testing.assert_array_equal(total, np.zeros((S, D)))
