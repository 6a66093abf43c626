"""Per-example clipping against a plain NumPy loop, and its guarantee."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.privacy import clipping


def loss(params: dict[str, Any], example: tuple[Any, Any]) -> Any:
    """Return a logistic loss with a quadratic part; its gradient is written out below."""
    x, y = example
    score = x @ params["w"] + params["b"]
    return jnp.logaddexp(0.0, -y * score) + 0.5 * params["b"] ** 2


def numpy_gradient(w: np.ndarray, b: float, x: np.ndarray, y: float) -> np.ndarray:
    slope = -y / (1 + np.exp(y * (x @ w + b)))
    return np.append(slope * x, slope + b)


def numpy_clipped_sum(
    w: np.ndarray, b: float, x: np.ndarray, y: np.ndarray, mask: np.ndarray, clip_norm: float
) -> np.ndarray:
    total = np.zeros(len(w) + 1)
    for x_i, y_i, keep in zip(x, y, mask, strict=True):
        if keep:
            g = numpy_gradient(w, b, x_i, y_i)
            total += g * min(1.0, clip_norm / np.linalg.norm(g))
    return total


def problem(n: int, seed: int = 0) -> tuple[np.ndarray, float, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6)) * np.exp(rng.normal(size=(n, 1)))
    return rng.normal(size=6), 0.3, x, rng.choice([-1.0, 1.0], size=n), rng.random(n) < 0.7


@functools.partial(jax.jit, static_argnames=("loss_fn", "clip_norm", "size"))
def compiled_sum(
    loss_fn: Any, params: Any, batch: Any, mask: Any, *, clip_norm: float, size: int | None
) -> Any:
    return clipping.sum_clipped_grads(
        loss_fn, params, batch, mask, clip_norm=clip_norm, microbatch_size=size
    )


def clipped_sum(
    w: Any, b: Any, x: Any, y: Any, mask: Any, clip_norm: float, size: int | None = None
) -> np.ndarray:
    params = {"w": jnp.asarray(w), "b": jnp.asarray(b)}
    batch = (jnp.asarray(x, params["w"].dtype), jnp.asarray(y, params["w"].dtype))
    total = compiled_sum(loss, params, batch, jnp.asarray(mask), clip_norm=clip_norm, size=size)
    assert jax.tree.structure(total) == jax.tree.structure(params)
    return np.append(total["w"], total["b"])


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("clip_norm", [1e-3, 0.7, 1e3, math.inf])
def test_matches_a_plain_loop(clip_norm: float) -> None:
    w, b, x, y, mask = problem(23)
    want = numpy_clipped_sum(w, b, x, y, mask, clip_norm)
    ours = clipped_sum(w, b, x, y, mask, clip_norm)
    np.testing.assert_allclose(ours, want, rtol=1e-12)


def test_matches_a_plain_loop_in_float32() -> None:
    w, b, x, y, mask = problem(23)
    w32, b32, x32 = w.astype(np.float32), np.float32(b), x.astype(np.float32)
    want = numpy_clipped_sum(w32.astype(float), float(b32), x32.astype(float), y, mask, 0.7)
    ours = clipped_sum(w32, b32, x32, y, mask, 0.7)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("size", [1, 4, 5, 10, 11, 20, 21, 1000])
def test_microbatches_of_any_size_give_the_same_sum(size: int) -> None:
    w, b, x, y, mask = problem(20)
    want = numpy_clipped_sum(w, b, x, y, mask, 0.7)
    np.testing.assert_allclose(clipped_sum(w, b, x, y, mask, 0.7, size), want, rtol=1e-12)


def test_microbatches_hold_no_more_gradients_than_asked() -> None:
    seen = []

    def spy(params: Any, example: Any) -> Any:
        seen.append(example.shape)  # shapes inside vmap are those of one example
        return jnp.sum(params * example)

    text = str(
        jax.make_jaxpr(
            lambda p, z, m: clipping.sum_clipped_grads(
                spy, p, z, m, clip_norm=1.0, microbatch_size=4
            )
        )(jnp.ones(3), jnp.ones((22, 3)), jnp.ones(22, bool))
    )
    assert set(seen) == {(3,)}
    assert "f32[4,3]" in text
    assert "length=5" in text


def test_clip_norm_inf_is_the_plain_gradient() -> None:
    w, b, x, y, _ = problem(12)
    params = {"w": jnp.asarray(w, jnp.float32), "b": jnp.float32(b)}
    batch = jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)
    plain = jax.grad(lambda p: jnp.sum(jax.vmap(loss, (None, 0))(p, batch)))(params)
    ours = clipped_sum(params["w"], params["b"], x, y, np.ones(12, bool), math.inf)
    np.testing.assert_allclose(ours, np.append(plain["w"], plain["b"]), rtol=1e-5)


def linear(params: Any, example: Any) -> Any:
    """Return a loss whose gradient is the example itself."""
    return jnp.sum(params * example)


def linear_sum(
    examples: Any, mask: Any, clip_norm: float = 1.0, size: int | None = None
) -> np.ndarray:
    examples, mask = jnp.asarray(examples, jnp.float32), jnp.asarray(mask)
    zero = jnp.zeros(examples.shape[1])
    total = compiled_sum(linear, zero, examples, mask, clip_norm=clip_norm, size=size)
    return np.asarray(total)


@pytest.mark.parametrize("clip_norm", [0.5, math.inf])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_guarantee_non_finite_and_masked_records_contribute_exactly_zero(
    clip_norm: float, bad: float
) -> None:
    good = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    without = np.where(np.arange(7)[:, None] < 5, good, 0)
    everyone, first = np.ones(7, bool), np.arange(7) < 5
    poisoned = good.copy()
    poisoned[5:, 1] = bad
    for size in (None, 3):
        want = linear_sum(without, everyone, clip_norm, size)
        assert np.all(want != 0)
        for mask in (first, everyone, np.arange(7) != 6):
            np.testing.assert_array_equal(linear_sum(poisoned, mask, clip_norm, size), want)
        np.testing.assert_array_equal(linear_sum(good, first, clip_norm, size), want)
    alone = linear_sum(np.repeat(poisoned[5:6], 7, axis=0), everyone, clip_norm)
    np.testing.assert_array_equal(alone, np.zeros(3))


def test_guarantee_a_finite_record_with_an_infinite_gradient_contributes_exactly_zero() -> None:
    def root(params: Any, example: Any) -> Any:
        return jnp.sum(jnp.sqrt(params * example + (example > 1)))

    zero, record, other = jnp.zeros(2), jnp.array([1.0, 0.5]), jnp.array([4.0, 9.0])
    assert np.all(np.isinf(jax.grad(root)(zero, record)))
    want = compiled_sum(root, zero, other[None], jnp.ones(1, bool), clip_norm=1.0, size=None)
    both = jnp.stack([other, record])
    ours = compiled_sum(root, zero, both, jnp.ones(2, bool), clip_norm=1.0, size=None)
    np.testing.assert_array_equal(ours, want)
    assert 1 - 1e-5 < np.linalg.norm(want) <= 1


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("clip_norm", [1e-6, 0.3, 100.0])
def test_guarantee_one_record_moves_the_sum_by_at_most_clip_norm(clip_norm: float) -> None:
    w, b, x, y, _ = problem(30)
    x[::3] *= 1e3
    everyone = np.ones(30, bool)
    total = clipped_sum(w, b, x, y, everyone, clip_norm)
    distances = []
    for i in range(30):
        without = everyone.copy()
        without[i] = False
        distances.append(np.linalg.norm(total - clipped_sum(w, b, x, y, without, clip_norm)))
    assert max(distances) <= clip_norm * (1 + 1e-9)
    assert max(distances) >= 0.99 * min(clip_norm, 300)  # and so the bound is attained


def test_guarantee_no_rounding_exceeds_the_clip_norm_and_the_bound_is_attained() -> None:
    """The true norm, in exact arithmetic on the float32 result, of gradients of many directions."""
    directions = np.random.default_rng(0).normal(size=(300, 3)) * 2.0**20
    for direction in directions:
        norm = np.linalg.norm(linear_sum([direction], [True], 0.25).astype(np.longdouble))
        assert 0.25 * (1 - 1e-5) < norm <= 0.25


@pytest.mark.usefixtures("float64")
def test_guarantee_sums_over_examples_are_float64() -> None:
    """A thousand addends of 1e-4 beside one of 1000: float32 would lose a tenth of each."""
    examples = np.full((1001, 1), 1e-4)
    examples[0] = 1000
    total = linear_sum(examples, np.ones(1001, bool), 1e4)
    assert total.dtype == np.float64
    expected = np.sum(examples.astype(np.float32), dtype=np.float64)
    np.testing.assert_allclose(total[0], expected, rtol=1e-14)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("size", [None, 100])
def test_guarantee_sums_of_float32_gradients_are_float64(size: int | None) -> None:
    """Where parameters are float32, too: beside 10^8 an addend of 1 has no place in 24 bits."""
    examples = jnp.ones((1001, 1), jnp.float32).at[0].set(1e8)
    total = compiled_sum(
        linear,
        jnp.zeros(1, jnp.float32),
        examples,
        jnp.ones(1001, bool),
        clip_norm=1e9,
        size=size,
    )
    assert total.dtype == np.float64
    assert float(total[0]) == 1e8 + 1000


def test_clipping_starts_exactly_at_clip_norm() -> None:
    for norm in (0.999, 1.0, 1.001, 1.5):
        ours = linear_sum([[0.6 * norm, -0.8 * norm]], [True], 1.0)
        np.testing.assert_allclose(ours, [0.6 * min(norm, 1), -0.8 * min(norm, 1)], rtol=3e-6)


@pytest.mark.parametrize("size", [1e30, 3e38, 1e-30, 1e-37, 1.0])
def test_huge_and_tiny_gradients_neither_overflow_nor_vanish(size: float) -> None:
    direction = np.array([[0.6, -0.8]])
    ours = linear_sum(size * direction, [True], 1e-3)
    want = direction[0] * min(np.float32(size), 1e-3)
    np.testing.assert_allclose(ours, want, rtol=3e-6)
    # Clipping must also be right when the bound itself is that small.
    np.testing.assert_allclose(
        linear_sum(size * direction, [True], 1e-30), direction[0] * min(size, 1e-30), rtol=3e-6
    )


def test_global_norm_and_clip() -> None:
    tree = {"a": jnp.array([3.0, 0.0]), "b": jnp.array([[4.0]])}
    assert float(clipping.global_norm(tree)) == 5.0
    assert float(clipping.global_norm({"a": jnp.zeros(3), "b": jnp.zeros((0, 2))})) == 0.0
    assert math.isnan(clipping.global_norm(jnp.array([1.0, jnp.nan])))
    assert math.isinf(clipping.global_norm(jnp.array([1.0, -jnp.inf]))) or math.isnan(
        clipping.global_norm(jnp.array([1.0, -jnp.inf]))
    )
    clipped = clipping.clip(tree, 2.5, jnp.asarray(True))
    np.testing.assert_allclose(clipped["a"], [1.5, 0.0], rtol=3e-6)
    np.testing.assert_allclose(clipped["b"], [[2.0]], rtol=3e-6)
    dropped = clipping.clip(tree, 2.5, jnp.asarray(False))
    assert float(clipping.global_norm(dropped)) == 0.0


def test_leaves_of_few_bits_are_summed_in_many() -> None:
    params = {"low": jnp.ones(3, jnp.bfloat16), "high": jnp.ones(2, jnp.float32)}

    def mixed(params: Any, example: Any) -> Any:
        return jnp.sum(params["low"].astype(jnp.float32)) * example + jnp.sum(params["high"])

    total = clipping.sum_clipped_grads(
        mixed, params, jnp.ones(5), jnp.ones(5, bool), clip_norm=1.0, microbatch_size=2
    )
    assert {v.dtype for v in total.values()} == {jnp.dtype(jnp.float32)}
    norm = np.sqrt(sum(np.sum(np.asarray(v, np.float64) ** 2) for v in total.values()))
    assert 5.0 * 0.95 < norm <= 5.0  # the margin of bfloat16 is 3 %


@pytest.mark.parametrize("size", [None, 4])
def test_jit_changes_nothing(size: int | None) -> None:
    examples = jnp.asarray(np.random.default_rng(0).normal(size=(10, 3)), jnp.float32)

    def total(examples: Any) -> Any:
        return clipping.sum_clipped_grads(
            linear,
            jnp.zeros(3),
            examples,
            jnp.ones(10, bool),
            clip_norm=0.5,
            microbatch_size=size,
        )

    np.testing.assert_allclose(jax.jit(total)(examples), total(examples), rtol=1e-6)


@pytest.mark.parametrize("clip_norm", [0.0, -1.0, math.nan])
def test_bad_clip_norm_is_refused(clip_norm: float) -> None:
    with pytest.raises(ValueError, match="clip_norm"):
        linear_sum([[1.0]], [True], clip_norm)


@pytest.mark.parametrize("size", [0, -3])
def test_bad_microbatch_size_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="microbatch_size"):
        linear_sum([[1.0]], [True], size=size)


def test_empty_batch_sums_to_zero() -> None:
    np.testing.assert_array_equal(linear_sum(np.zeros((0, 3)), np.zeros(0, bool)), np.zeros(3))


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_guarantee_numbers_of_16_bits_are_clipped_to_the_norm(dtype: Any) -> None:
    """As float16 the entries would be among its smallest numbers, 6e-8 apart."""
    grads = {"a": jnp.full(1000, 0.5, dtype), "b": jnp.full(3, 0.5, jnp.float32)}
    found = clipping.clip(grads, 1e-6, jnp.asarray(True))
    norm = math.sqrt(sum(float(np.sum(np.asarray(g, np.float64) ** 2)) for g in found.values()))
    assert 0.9e-6 < norm <= 1e-6
    assert found["b"].dtype == jnp.float32


def test_guarantee_norms_from_above_are_no_less_than_exact_ones() -> None:
    """Sums of thousands of equal squares round most, and always the same way."""
    values = np.concatenate([np.linspace(0.05, 1.5, 60), [0.1, 1 / 3, 0.7, 1.1]])
    for size in (3, 500, 4096):
        rows = np.repeat(values.astype(np.float32)[:, None], size, axis=1)
        found = np.asarray(clipping.norms_from_above(jnp.asarray(rows), terms=size), np.float64)
        exact = np.linalg.norm(rows.astype(np.float64), axis=1)
        assert (found >= exact).all()
        assert (found < exact * (1 + (size + 20) * 2**-23)).all()
