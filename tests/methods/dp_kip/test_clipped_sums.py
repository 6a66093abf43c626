"""The exact clipped gradient sums against per-example gradients by automatic differentiation.

Inputs are float32, the oracle is float64 throughout. Where several gradient terms cancel the
error is stated relative to their `magnitude`, what the norm would be if they did not.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp import kernels
from jaxdp.kernels import krr
from jaxdp.methods.dp_kip.clipped import norms as kip_norms
from jaxdp.methods.dp_kip.clipped import sums as kip_grads
from jaxdp.methods.dp_kip.clipped import terms as kip_terms
from jaxdp.privacy import clipping

KERNELS = {
    "ntk": kernels.fc_ntk(),
    "ntk without bias": kernels.fc_ntk(bias_std=0.0),
    "ntk of depth 2": kernels.fc_ntk(depth=2),
    "ntk of depth 3": kernels.fc_ntk(depth=3, weight_std=1.1, bias_std=0.5),
    "nngp": kernels.fc_nngp(depth=1),
}
RIDGES = (1e-8, 1e-4, 1.0)
WAYS = (False, True)  # to norms: from each target's own matrix, or from matrices all share
S, D, N, C = 6, 10, 8, 2
BATCH = 12
EPS = float(np.finfo(np.float64).eps)
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}

wide = pytest.mark.usefixtures("float64")


class Problem(NamedTuple):
    """A support set and targets, in float32."""

    x_s: np.ndarray
    y_s: np.ndarray
    x_t: np.ndarray
    y_t: np.ndarray


def problem(case: str = "random", *, seed: int = 0, s: int = S, d: int = D, n: int = N) -> Problem:
    rng = np.random.default_rng(seed)
    x_s, x_t = rng.normal(size=(s, d)), rng.normal(size=(n, d))
    y_s, y_t = rng.normal(size=(s, C)), rng.normal(size=(n, C))
    one = rng.normal(size=(1, d))
    if case == "nearly collinear":  # angles of about 1e-2
        x_s, x_t = one + 1e-2 * x_s, one + 1e-2 * x_t
    elif case == "nearly antipodal":
        signs = rng.choice([-1, 1], size=(s + n, 1))
        x_s, x_t = (one + 1e-2 * x_s) * signs[:s], (one + 1e-2 * x_t) * signs[s:]
    elif case == "collinear":
        x_s = one * rng.uniform(0.5, 2, size=(s, 1))
    elif case == "duplicated":
        x_s = x_s[[0, 0, 0, 1, 1, *range(2, s - 3)]]
    elif case == "all equal":
        x_s, y_s = np.repeat(one, s, axis=0), np.repeat(y_s[:1], s, axis=0)
    elif case == "targets equal support":
        x_t = x_s[rng.integers(0, s, size=n)]
    elif case == "zero rows":
        x_s[::2], x_t[:3] = 0, 0
    elif case == "zero targets":
        x_t[:] = 0
    elif case == "tiny":
        x_s, x_t = 1e-6 * x_s, 1e-6 * x_t
    elif case == "huge":
        x_s, x_t = 1e4 * x_s, 1e4 * x_t
    elif case == "mixed":  # from 1e-6 to 1e4 in one support
        x_s = x_s * np.logspace(-6, 4, s)[:, None]
        x_t = x_t * np.logspace(4, -6, n)[:, None]
    elif case != "random":
        raise ValueError(case)
    return Problem(*(np.asarray(z, np.float32) for z in (x_s, y_s, x_t, y_t)))


CASES = [
    "random",
    "nearly collinear",
    "nearly antipodal",
    "collinear",
    "duplicated",
    "all equal",
    "targets equal support",
    "zero rows",
    "zero targets",
    "tiny",
    "huge",
    "mixed",
]


def loss(kernel: kernels.Kernel, y_s: Any, ridge: Any, x_s: Any, target: Any) -> Any:
    """Return `|K_ts (K_ss + ridge tr(K_ss)/s I)^-1 y_s - y_t|^2 / (2 c)` for one target."""
    t, y = target
    alpha = krr.fit(kernel.symmetric(x_s), y_s, ridge=ridge)
    residual = krr.predict(kernel.cross(t[None], x_s), alpha)[0] - y
    return jnp.sum(residual**2) / (2 * y.shape[0])


def stack(problems: list[Problem]) -> list[Any]:
    """Stack to a batch of fixed size, so that everything below compiles once."""
    assert len(problems) <= BATCH
    padded = problems + [problems[-1]] * (BATCH - len(problems))
    return [jnp.asarray(np.stack(part)) for part in zip(*padded, strict=True)]


@functools.cache
def _oracle(kernel: kernels.Kernel, ridge: float) -> Any:
    def one(x_s: Any, y_s: Any, x_t: Any, y_t: Any) -> Any:
        gradient = jax.grad(functools.partial(loss, kernel, y_s, ridge))
        return jax.vmap(gradient, (None, 0))(x_s, (x_t, y_t))

    return jax.jit(jax.vmap(one), compiler_options=QUICK)


def gradients(kernel: kernels.Kernel, problems: list[Problem], ridge: float) -> np.ndarray:
    """Return every target's gradient (.., n, s, d) by automatic differentiation in float64."""
    assert jnp.zeros(()).dtype == jnp.float64
    inputs = [z.astype(jnp.float64) for z in stack(problems)]
    return np.asarray(_oracle(kernel, ridge)(*inputs))[: len(problems)]


class Result(NamedTuple):
    """What the module makes of a batch of problems, at clip norms 1 and infinity.

    `total` is the sum over targets and `each` (.., n, s, d) what every target alone adds to it.
    `bound` are the norms that clipping uses, `magnitude` and `diagonal` what their margins are
    in proportion to.
    """

    total: np.ndarray
    each: np.ndarray
    plain_total: np.ndarray
    plain_each: np.ndarray
    bound: np.ndarray
    magnitude: np.ndarray
    diagonal: np.ndarray


@functools.cache
def _module(kernel: kernels.Kernel, ridge: float, shared: bool) -> Any:
    dot_product = kernel.dot_product
    assert dot_product is not None

    def one(x_s: Any, y_s: Any, x_t: Any, y_t: Any) -> tuple[Any, ...]:
        support = kip_terms.support_terms(
            dot_product, x_s, y_s, ridge, num_targets=1e9 if shared else 1e-9
        )
        assert (support.pairs is not None) == shared

        n = x_t.shape[0]
        masks = jnp.concatenate([jnp.ones((1, n), bool), jnp.eye(n, dtype=bool)])

        def assembled(clip_norm: float) -> Any:
            def with_mask(mask: Any) -> Any:
                moments = kip_grads.clipped_moments(dot_product, support, x_t, y_t, mask, clip_norm)
                return kip_grads.assemble(support, moments)

            sums = jax.vmap(with_mask)(masks)
            return sums[0], sums[1:]

        target = kip_terms.target_terms(dot_product, support, x_t, y_t)
        return (
            *assembled(1.0),
            *assembled(math.inf),
            kip_norms.norm_bounds(support, target),
            jnp.sqrt(kip_norms._magnitude_square(support, target)),
            kip_norms._diagonal_magnitude(support, target),
        )

    # Most of the time here is compilation; one kernel and ridge gets all of it.
    options = None if kernel is KERNELS["ntk"] and ridge == RIDGES[0] else QUICK
    return jax.jit(jax.vmap(one), compiler_options=options)


def run(
    kernel: kernels.Kernel, problems: list[Problem], ridge: float, *, shared: bool = False
) -> Result:
    """Run the module, at clip norm 1, on float32 inputs."""
    results = _module(kernel, ridge, shared)(*stack(problems))
    return Result(*(np.asarray(z)[: len(problems)] for z in results))


def norms_of(g: np.ndarray) -> np.ndarray:
    return np.sqrt(np.sum(np.square(g), axis=(-2, -1)))


def clip(g: np.ndarray) -> np.ndarray:
    """Clip to norm 1."""
    return g / np.maximum(norms_of(g), 1.0)[..., None, None]


def scaled(p: Problem, factor: float) -> Problem:
    """Scale all labels, and so gradients by the square of the factor."""
    return p._replace(y_s=np.float32(factor) * p.y_s, y_t=np.float32(factor) * p.y_t)


def clipping_levels(kernel: kernels.Kernel, p: Problem, ridge: float) -> list[Problem]:
    """Return the problem scaled so that norm 1 clips all of its targets, half, and none."""
    norms = np.sort(norms_of(gradients(kernel, [p], ridge)[0]))
    assert norms[-1] > 0
    levels = norms[norms > 0][0] / 10, math.sqrt(norms[N // 2 - 1] * norms[N // 2]), 2 * norms[-1]
    return [scaled(p, level**-0.5) for level in levels if level > 0]


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
        assert_sums_match(KERNELS[name], problem(case), 1e-6, ways=(name != "nngp",))


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
@pytest.mark.parametrize("shared", WAYS)
def test_norm_bounds_are_never_below_the_norm(shared: bool) -> None:
    """Against what is released, for every case under many seeds and scales of the labels.

    The margin has four times the room that rounding was seen to take (0.2 of it, here).
    """
    kernel, ridge = KERNELS["ntk"], RIDGES[0]
    needed, smallest = 0.0, math.inf
    for seed in range(60):
        rng = np.random.default_rng(seed)
        problems = [scaled(problem(case, seed=seed), 10 ** rng.uniform(-6, 6)) for case in CASES]
        ours = run(kernel, problems, ridge, shared=shared)
        needed = max(needed, assert_bounds_hold(ours, 4 * (S + D + 4) * EPS))
        smallest = min(smallest, float(np.min(norms_of(ours.plain_each) / ours.magnitude)))
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
    """Antipodal support points and NNGP without bias: `m` loses up to seven digits itself."""
    kernel = kernels.fc_nngp(depth=2, bias_std=0.0)
    worst = math.inf
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
        norms = norms_of(ours.plain_each)
        worst = min(worst, float(np.min(ours.bound / norms)))
        assert_bounds_hold(ours, 4 * (S + D + 4) * EPS)
    assert worst >= 1 - 1e-12


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
@pytest.mark.parametrize("shared", WAYS)
def test_guarantee_one_record_moves_the_sum_by_at_most_clip_norm(shared: bool) -> None:
    kernel, ridge = KERNELS["ntk"], RIDGES[0]
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
    kernel, ridge = KERNELS["ntk"], RIDGES[0]
    p = problem()
    extremes = np.float32([3e38, 1e30, 1e10, 1, 1e-10, 1e-30, 1e-38, 0])
    big = p._replace(x_t=extremes[:, None] * np.sign(p.x_t))
    labels = p._replace(y_t=extremes[:, None] * np.sign(p.y_t))
    for result in (run(kernel, [big, labels, scaled(big, 1e15)], ridge, shared=s) for s in WAYS):
        moved = norms_of(result.each)
        assert np.all(np.isfinite(moved))
        assert np.all(moved <= 1 + 1e-12)
        assert np.all(moved[:, 0] > 0.999)


def quadratic(xz: Any, xx: Any, zz: Any, d: int) -> Any:
    return (xz / d + 0.3) ** 2 + 0.1 * jnp.sqrt(1 + xx) * jnp.sqrt(1 + zz)


# Cheap to run without jit, and not one of ours: anything with these two functions will do.
CUSTOM = kernels.DotProduct(cross=quadratic, diagonal=lambda xx, d: quadratic(xx, xx, xx, d))


def custom_terms(p: Problem, *, shared: bool = False) -> Any:
    return kip_terms.support_terms(
        CUSTOM, jnp.asarray(p.x_s), jnp.asarray(p.y_s), 1e-3, num_targets=1e9 if shared else 1e-9
    )


def custom_moments(
    p: Problem, mask: Any = None, *, clip_norm: float = 0.1, shared: bool = False
) -> kip_grads.Moments:
    mask = jnp.ones(len(p.x_t), bool) if mask is None else jnp.asarray(mask)
    support = custom_terms(p, shared=shared)
    targets = jnp.asarray(p.x_t), jnp.asarray(p.y_t)
    return kip_grads.clipped_moments(CUSTOM, support, *targets, mask, clip_norm)


def custom_sum(p: Problem, mask: Any = None, **options: Any) -> np.ndarray:
    return np.asarray(kip_grads.assemble(custom_terms(p), custom_moments(p, mask, **options)))


@wide
def test_any_kernel_of_inner_products_will_do_with_jit_and_without() -> None:
    p = problem()
    g = gradients(kernels.from_dot_product(CUSTOM), [p], 1e-3)[0]
    norms = norms_of(g)
    clip_norm = float(np.median(norms))
    want = np.sum(g * np.minimum(1, clip_norm / norms)[:, None, None], axis=0)
    plain = custom_sum(p, clip_norm=clip_norm)
    np.testing.assert_allclose(plain, want, rtol=1e-9, atol=1e-12)

    @jax.jit
    def compiled(x_s: Any, y_s: Any, x_t: Any, y_t: Any) -> Any:
        support = kip_terms.support_terms(CUSTOM, x_s, y_s, 1e-3, num_targets=1e-9)
        everyone = jnp.ones(x_t.shape[0], bool)
        moments = kip_grads.clipped_moments(CUSTOM, support, x_t, y_t, everyone, clip_norm)
        return kip_grads.assemble(support, moments)

    np.testing.assert_allclose(compiled(*map(jnp.asarray, p)), plain, rtol=1e-9, atol=1e-12)


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
@pytest.mark.parametrize("at_once", [1, 3, 7, 8, 100])
def test_norms_do_not_depend_on_how_many_are_computed_at_once(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = problem()
    support = custom_terms(p)
    target = kip_terms.target_terms(CUSTOM, support, jnp.asarray(p.x_t), jnp.asarray(p.y_t))
    want = kip_norms.norm_bounds(support, target)
    size = at_once * 8 * S * S
    monkeypatch.setattr(kip_norms, "_MATRIX_BYTES", {})
    monkeypatch.setattr(kip_norms, "_MATRIX_BYTES_ACCELERATOR", size)
    batches = []
    plain_map = jax.lax.map

    def spy(f: Any, xs: Any, *, batch_size: int) -> Any:
        batches.append(batch_size)
        return plain_map(f, xs, batch_size=batch_size)

    monkeypatch.setattr(jax.lax, "map", spy)
    np.testing.assert_allclose(kip_norms.norm_bounds(support, target), want, rtol=1e-13)
    assert batches == [at_once]


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
