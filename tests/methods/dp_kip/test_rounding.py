"""No record adds more than the clip norm, however a compiler rounds and whatever it recomputes."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from clipped_problems import Problem, wide
from support import unlucky_compiler

from jaxdp import kernels
from jaxdp.methods.dp_kip.clipped import norms as kip_norms
from jaxdp.methods.dp_kip.clipped import pixels as kip_pixels
from jaxdp.methods.dp_kip.clipped import sums as kip_grads
from jaxdp.methods.dp_kip.clipped import terms as kip_terms

S, D, C = 6, 10, 2
CLIP_NORM = 1e-3
ROUNDING = 1e-6  # of a sum, relative to the clip norm
KERNELS = {
    "ntk": kernels.fc_ntk(),
    "ntk of depth 2": kernels.fc_ntk(depth=2),
    "nngp of depth 2": kernels.fc_nngp(depth=2),
    "linear": kernels.linear(),
}
SUPPORTS = ("twins", "nearly twins", "scaled twins", "one direction", "random")
RIDGES = (1e-15, 1e-6, 1e-2)
every_kernel = pytest.mark.parametrize("name", KERNELS)


def problem(support: str, seed: int, n: int = 1) -> Problem:
    """Return targets at a distance of 1e-8 to 1 of a support whose kernel matrix is singular."""
    rng = np.random.default_rng(seed)
    x_s, half = rng.normal(size=(S, D)), S // 2
    if support == "twins":
        x_s[half:] = x_s[:half]
    elif support == "nearly twins":
        x_s[half:] = x_s[:half] + 10.0 ** rng.uniform(-7, -3, (half, 1)) * x_s[half:]
    elif support == "scaled twins":
        x_s[half:] = x_s[:half] * rng.uniform(0.5, 2, (half, 1))
    elif support == "one direction":
        x_s = x_s[:1] * rng.uniform(0.5, 2, (S, 1))
    near = 10.0 ** rng.uniform(-8, 0, (n, 1)) * rng.normal(size=(n, D))
    x_t = x_s[rng.integers(0, S, n)] * rng.uniform(0.5, 2, (n, 1)) + near
    labels = rng.normal(size=(S, C)), rng.normal(size=(n, C))
    return Problem(*(np.float32(z) for z in (x_s, labels[0], x_t, labels[1])))


def addend(
    name: str, ridge: float, shared: bool, x_s: Any, y_s: Any, x_t: Any, y_t: Any, mask: Any
) -> jax.Array:
    """Return what the targets add to the sum, by the functions of a step."""
    dot_product = KERNELS[name].dot_product
    assert dot_product is not None
    num_targets = 1e9 if shared else 1e-9
    support = kip_terms.support_terms(dot_product, x_s, y_s, ridge, num_targets=num_targets)
    moments = kip_grads.clipped_moments(dot_product, support, x_t, y_t, mask, CLIP_NORM)
    return kip_grads.assemble(support, moments)


def moved(fn: Callable[..., Any], p: tuple[Any, ...], seed: int) -> float:
    """Return how far one record moves a sum in clip norms, with an unlucky compiler."""
    (found,) = unlucky_compiler.computed(fn, *p, np.ones(1, bool), seed=seed)
    return float(np.linalg.norm(found)) / CLIP_NORM


@wide
@every_kernel
def test_guarantee_a_record_adds_at_most_the_clip_norm_under_any_compilation(name: str) -> None:
    reached = 0.0
    # One object for each choice is one program: jax knows a function again by its identity.
    programs = {
        choice: functools.partial(addend, name, *choice)
        for choice in itertools.product(RIDGES, (False, True))
    }
    for seed, (support, ridge) in enumerate(itertools.product(SUPPORTS, RIDGES)):
        fn = programs[ridge, seed % 2 == 0]
        found = moved(fn, problem(support, seed), seed)
        assert found <= 1 + ROUNDING, (support, ridge)
        reached = max(reached, found)
    assert reached > 1 - 1e-6


@wide
@pytest.mark.parametrize("name", ["ntk", "nngp of depth 2", "linear"])
def test_guarantee_targets_that_are_computed_add_at_most_the_clip_norm(name: str) -> None:
    """Their features are float32, and what is left of them has few digits."""

    def of_computed(x_s: Any, y_s: Any, x_t: Any, y_t: Any, mask: Any) -> jax.Array:
        x_s, x_t = (jnp.sin(x) - jnp.sin(x * (1 + 1e-5)) for x in (x_s, x_t))
        return addend(name, 1e-6, True, x_s, y_s, x_t, y_t, mask)

    for support in ("random", "nearly twins"):
        for seed in range(3):
            assert moved(of_computed, problem(support, seed), seed) <= 1 + ROUNDING


@wide
def test_guarantee_clipping_in_pixels_holds_under_any_compilation() -> None:
    weights = np.random.default_rng(1).normal(size=(D, 4))

    def features(rows: Any) -> Any:
        return jnp.tanh(jnp.matmul(rows, jnp.asarray(weights, rows.dtype), precision="highest"))

    def of_pixels(x_s: Any, y_s: Any, x_t: Any, y_t: Any, mask: Any) -> jax.Array:
        x_s = x_s.astype(jnp.float64)
        phi, pullback = jax.vjp(features, x_s)
        support = kip_terms.support_terms(kernels.LINEAR, phi, y_s, 1e-14, num_targets=1.0)
        norms_fn = functools.partial(kip_pixels.pixel_norms, features, x_s)
        moments = kip_grads.clipped_moments(
            kernels.LINEAR, support, features(x_t), y_t, mask, CLIP_NORM, norms_fn=norms_fn
        )
        return pullback(kip_grads.assemble(support, moments))[0]

    for seed, support in enumerate(SUPPORTS):
        assert moved(of_pixels, problem(support, seed), seed) <= 1 + ROUNDING


@wide
@pytest.mark.parametrize("shape", ["chunks of one in a loop", "vmap", "chunks of four"])
@pytest.mark.parametrize("fused", [False, True])
def test_guarantee_a_record_adds_at_most_the_clip_norm_as_xla_compiles_it(
    shape: str, fused: bool
) -> None:
    """With the emitters of this version or, where there is a choice, those of earlier ones."""
    n = 12

    def each(x_s: Any, y_s: Any, x_t: Any, y_t: Any) -> jax.Array:
        of = functools.partial(addend, "nngp of depth 2", 1e-15, False, x_s, y_s)
        one = jnp.ones(1, bool)
        if shape == "vmap":
            return jax.vmap(lambda t, y: of(t[None], y[None], one))(x_t, y_t)
        if shape == "chunks of four":
            masks = jnp.eye(4, dtype=bool)
            chunks = x_t.reshape(-1, 4, D), y_t.reshape(-1, 4, C)
            return jax.lax.map(lambda c: jax.vmap(lambda m: of(*c, m))(masks), chunks)
        return jax.lax.map(lambda c: of(c[0][None], c[1][None], one), (x_t, y_t))

    old = jax.__version_info__[:2] == (0, 10)
    options = {"xla_cpu_use_fusion_emitters": fused} if old else None
    compiled = jax.jit(each, compiler_options=options)
    for support in SUPPORTS:
        found = np.asarray(compiled(*problem(support, 0, n))).reshape(n, S, D)
        assert np.max(np.linalg.norm(found, axis=(1, 2))) <= CLIP_NORM * (1 + ROUNDING)


def exact_norm(support: kip_terms.SupportTerms, target: kip_terms.TargetTerms) -> float:
    """Return the norm of what the terms of one target stand for, in 80 bits."""
    x, a, b = (np.asarray(z, np.longdouble) for z in (support.x, support.a, support.b))
    fields = "t", "u", "v", "p", "ub"
    t, u, v, p, ub = (np.asarray(getattr(target, z)[0], np.longdouble) for z in fields)
    tau = np.longdouble(target.tau[0])
    cotangent = -(np.outer(v, u) + np.outer(u, v))
    diagonal = ub + (cotangent * b).sum(axis=1) + 2 * tau * np.diagonal(b)
    grad = np.outer(p, t) + (cotangent * a) @ x + diagonal[:, None] * x
    return float(np.sqrt((grad**2).sum()))


@wide
@pytest.mark.parametrize("name", ["ntk", "nngp of depth 2", "linear"])
def test_guarantee_norms_are_from_above_by_what_rounding_may_take(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where terms cancel, a norm without its margin is below the true one, in higher precision."""
    dot_product = KERNELS[name].dot_product
    assert dot_product is not None
    of_terms = kip_norms.linear_norm_bounds if name == "linear" else kip_norms.norm_bounds

    @jax.jit
    def terms(x_s: Any, y_s: Any, x_t: Any, y_t: Any) -> tuple[Any, Any]:
        support = kip_terms.support_terms(dot_product, x_s, y_s, 1e-9, num_targets=1.0)
        return support, kip_terms.target_terms(dot_product, support, x_t, y_t)

    def bounds() -> Callable[[Any, Any], Any]:
        return jax.jit(lambda *both: of_terms(*both)[0])  # traced anew, with the margin or without

    of_all = [terms(*problem(name, seed)) for name in SUPPORTS for seed in range(8)]
    true = np.array([exact_norm(*both) for both in of_all])
    with_margin = bounds()
    assert np.all(np.array([with_margin(*both) for both in of_all]) >= true * (1 - 1e-14))
    monkeypatch.setattr(kip_norms, "_rounding", lambda support: 0.0)
    without = bounds()
    assert np.sum(np.array([without(*both) for both in of_all]) < true * (1 - 1e-9)) >= 5
