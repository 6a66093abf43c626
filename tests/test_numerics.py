"""Work in chunks: two at once on a CPU, the same results in the same order."""

import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp import numerics
from jaxdp.features import scattering
from jaxdp.numerics import ByBackend


def test_parts_come_in_order_and_two_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numerics, "_num_threads", lambda: 4)
    running, most, lock = 0, 0, threading.Lock()
    both = threading.Barrier(2, timeout=60)

    def compute(part: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        both.wait()  # passes where two are computed at once, and fails where one is
        time.sleep(0.01 * (part % 3))
        with lock:
            running -= 1
        return part**2

    assert list(numerics.side_by_side(compute, range(10))) == [part**2 for part in range(10)]
    assert most == 2


def test_one_part_at_a_time_where_two_would_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """On two cores jax 0.11.2 was seen to hang; not 0.10.2, 0.12.0, or one or three threads."""
    hangs = numerics._two_programs_hang
    assert [hangs((0, 11, minor), 2) for minor in (0, 2)] == [True, True]
    assert not hangs((0, 10, 2), 2)
    assert not hangs((0, 12, 0), 2)
    assert [hangs((0, 11, 2), threads) for threads in (1, 3, 8)] == [False] * 3
    monkeypatch.setattr(jax, "__version_info__", (0, 11, 2))
    monkeypatch.setenv("NPROC", "2")
    found = numerics.side_by_side(lambda part: (part, threading.get_ident()), range(3))
    assert [*found] == [(part, threading.get_ident()) for part in range(3)]


def test_parts_are_taken_as_they_are_needed() -> None:
    taken = []

    def parts() -> object:
        for part in range(100):
            taken.append(part)
            yield part

    found = numerics.side_by_side(lambda part: part, parts())
    assert next(found) == 0
    assert len(taken) <= 2
    found.close()
    assert len(taken) <= 2


def test_an_error_of_a_part_is_raised_in_its_turn() -> None:
    def compute(part: int) -> float:
        if part == 2:
            raise ValueError("part 2")
        return float(jnp.sqrt(part))

    found = numerics.side_by_side(compute, range(5))
    assert [next(found), next(found)] == [0.0, 1.0]
    with pytest.raises(ValueError, match="part 2"):
        next(found)


def test_threads_keep_float64_where_the_caller_does() -> None:
    def compute(part: int) -> str:
        return str(jax.jit(lambda x: x / 3)(np.float64(part)).dtype)

    with numerics.float64():
        assert set(numerics.side_by_side(compute, range(4))) == {"float64"}
    assert set(numerics.side_by_side(compute, range(4))) == {"float32"}


def test_an_accelerator_takes_one_part_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numerics, "_AT_ONCE", ByBackend(cpu=1, accelerator=1))
    here = threading.get_ident()
    found = numerics.side_by_side(lambda part: (part, threading.get_ident()), range(3))
    np.testing.assert_array_equal(list(found), [(part, here) for part in range(3)])


@pytest.mark.parametrize("off", [False, True])
def test_quick_compilation_gives_the_same_bits(off: bool) -> None:
    """Stored teachers are of public arrays: how these are compiled may not change them."""
    rows = jax.random.uniform(jax.random.key(0), (7, 64))
    phi = scattering.scatter_features((8, 8, 1), max_scale=1, num_angles=2)
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", off)
    try:
        options = numerics.quick_compilation()
        assert (options is None) == (off or jax.default_backend() != "cpu")
        lowered = jax.jit(phi).lower(rows)
        usual, quick = lowered.compile(), lowered.compile(compiler_options=options)
        np.testing.assert_array_equal(quick(rows), usual(rows))
    finally:
        jax.config.update("jax_disable_most_optimizations", before)


@pytest.mark.parametrize("count", [0, 1, 4, 5, 6, 7, 12])
def test_mapped_rows_are_those_of_one_by_one(count: int) -> None:
    x = jax.random.normal(jax.random.key(0), (count, 3))
    rows = {"x": x, "w": jnp.arange(count, dtype=jnp.float32)}

    def one(row: dict[str, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return row["w"] * jnp.sin(row["x"]), jnp.sum(row["x"])

    found = numerics.map_rows(one, rows, at_most=4)
    expected = jax.vmap(one)(rows)
    for each, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(each, other, rtol=1e-6)


def test_mapped_rows_have_the_gradient_of_one_by_one() -> None:
    """What fills up the last chunk adds nothing, to shared values neither."""
    x = jax.random.normal(jax.random.key(0), (7, 3))

    def loss(x: jax.Array, shared: jax.Array, at_most: int) -> jax.Array:
        found = numerics.map_rows(lambda row: jnp.log(row @ shared), x, at_most=at_most)
        return jnp.sum(found**2)

    x, shared = jnp.abs(x), jnp.arange(1.0, 4.0)  # rows of zeros would have no logarithm
    for argument in (0, 1):
        few, all_at_once = (jax.grad(loss, argument)(x, shared, most) for most in (3, 7))
        np.testing.assert_allclose(few, all_at_once, rtol=1e-5)


def test_mapped_rows_are_one_program_whatever_their_number() -> None:
    def one(row: jax.Array) -> jax.Array:
        return jnp.sin(row)

    for count in (64, 65, 90):
        program = str(
            jax.make_jaxpr(lambda x: numerics.map_rows(one, x, at_most=16))(np.ones(count))
        )
        assert program.count(" sin ") == 1, program
