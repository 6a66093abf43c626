"""What depends on jax's settings, compiler and devices: 64 bit, rounding, sizes, two at once."""

import collections
import contextlib
import importlib
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

Part = TypeVar("Part")
Result = TypeVar("Result")


def float64() -> contextlib.AbstractContextManager[None]:
    """Return a context in which jax keeps float64, without changing the caller's setting.

    Enter it around the call of a jitted function, not inside one: constants of a function that
    is traced without 64-bit mode are truncated when it is compiled.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import numerics
        >>> with numerics.float64():
        ...     third = jnp.asarray(1.0) / 3
        >>> third.dtype, (jnp.asarray(1.0) / 3).dtype
        (dtype('float64'), dtype('float32'))
    """
    return _keeps_float64(True)


def float32() -> contextlib.AbstractContextManager[None]:
    """Return a context in which jax makes float32, so that public arrays are the same for all.

    In 64-bit mode jax draws other numbers where no type is named, and rounds others.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import numerics
        >>> with numerics.float64(), numerics.float32():
        ...     third = jnp.asarray(1.0) / 3
        >>> third.dtype
        dtype('float32')
    """
    return _keeps_float64(False)


def _keeps_float64(on: bool) -> contextlib.AbstractContextManager[None]:
    enable_x64: Any = getattr(jax, "enable_x64", None)
    if enable_x64 is None:  # jax < 0.8
        enable_x64 = importlib.import_module("jax.experimental").enable_x64
    return enable_x64(on)


def has_float64() -> bool:
    """Return whether jax keeps float64 here.

    Examples:
        >>> from jaxdp import numerics
        >>> with numerics.float64():
        ...     print(numerics.has_float64())
        True
    """
    return jax.dtypes.canonicalize_dtype(jnp.float64) == jnp.float64


def is_traced() -> bool:
    """Return whether jax traces a function here, which then is called once for many results.

    Examples:
        >>> import jax
        >>> from jaxdp import numerics
        >>> numerics.is_traced(), bool(jax.jit(numerics.is_traced)())
        (False, True)
    """
    core = importlib.import_module("jax._src.core")
    is_clean: Any = getattr(core, "trace_state_clean", None)
    # A jax that has no such function still shows what it compiles, but not what it maps.
    return isinstance(jnp.zeros(()), jax.core.Tracer) if is_clean is None else not is_clean()


@jax.custom_jvp
def rounded_once(values: PyTree, unknown: Array) -> PyTree:
    """Return the values, the same to the last bit for all that reads them in a compiled program.

    A compiler may compute a value again for each of its readers, and round it differently each
    time. Where terms cancel that is another number: a norm does not bound a sum that reads other
    values than the norm did. `jax.lax.optimization_barrier` does not prevent it, as XLA removes
    barriers on a CPU before it fuses operations.

    What is returned is the result of a loop that copies the values. XLA does not look into a loop
    that takes a number of rounds that it cannot know: one here, and two where the first entry of
    `unknown` is not a number.

    Args:
        values: arrays.
        unknown: floats that a program learns when it runs, and that are not private.

    Guarantee:
        All readers of the result read one rounding of the values. Where derivatives are taken, and
        there alone, the result is the values as they are.
    """
    return _through_a_loop(values, unknown)


@rounded_once.defjvp
def _rounded_once_jvp(primals: Any, tangents: Any) -> tuple[PyTree, PyTree]:
    return primals[0], tangents[0]


@jax.custom_batching.custom_vmap
def _through_a_loop(values: PyTree, unknown: Array) -> PyTree:
    rounds = 1 + jnp.any(jnp.isnan(unknown.reshape(-1)[:1])).astype(jnp.int32)
    start = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), values)
    return jax.lax.while_loop(
        lambda carry: carry[0] < rounds,
        lambda carry: (carry[0] + 1, values),
        (jnp.zeros((), jnp.int32), start),
    )[1]


@_through_a_loop.def_vmap
def _through_one_loop(
    axis_size: int, batched: Any, values: PyTree, unknown: Array
) -> tuple[PyTree, PyTree]:
    """Take all examples through one loop, also where `unknown` differs between them."""
    return _through_a_loop(values, unknown), batched[0]


def map_rows(fn: Callable[[Any], Any], rows: PyTree, *, at_most: int) -> PyTree:
    """Return `fn` of every row of a tree of arrays, `at_most` rows at once.

    All chunks are of one size, and the last row fills the last one up. A smaller rest would be a
    second program, which takes as long to compile.

    Args:
        fn: of one row of each array; a gradient computes it again, and so keeps nothing of it.
        rows: arrays of n rows each.
        at_most: >= 1.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import numerics
        >>> numerics.map_rows(lambda row: 2 * row, jnp.arange(5), at_most=2).tolist()
        [0, 2, 4, 6, 8]
    """
    count = len(jax.tree.leaves(rows)[0])
    if count <= at_most:
        return jax.vmap(fn)(rows)
    chunks = -(-count // at_most)
    size = -(-count // chunks)

    def filled(x: Array) -> Array:
        return jnp.pad(x, [(0, chunks * size - count)] + [(0, 0)] * (x.ndim - 1), mode="edge")

    found = jax.lax.map(jax.checkpoint(fn), jax.tree.map(filled, rows), batch_size=size)
    return jax.tree.map(lambda each: each[:count], found)


class ByBackend(NamedTuple):
    """A size that fits the device: what a CPU's cache holds, what fills an accelerator."""

    cpu: int
    accelerator: int

    @property
    def here(self) -> int:
        """The size for jax's default device."""
        return self.cpu if jax.default_backend() == "cpu" else self.accelerator


def quick_compilation() -> dict[str, Any] | None:
    """Return options of jax.jit for a program that runs for less time than it compiles for.

    On a CPU they leave out most of LLVM's optimisations, which takes half of the time. A test sees
    that what is computed has the same bits; without any optimisation it would not.
    """
    if jax.default_backend() != "cpu" or jax.config.read("jax_disable_most_optimizations"):
        return None  # on accelerators the option says something else
    return {"xla_backend_optimization_level": 1}


_AT_ONCE = ByBackend(cpu=2, accelerator=1)
# Its threads, as many as cores, wait inside a program for one another: two programs take both of
# two, and wait for ever. No program takes the only thread of one core.
_JAX_THAT_HANGS = (0, 11)


def side_by_side(compute: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
    """Yield `compute(part)` of every part, in order; on a CPU two parts are computed at once.

    XLA's loops, such as those of scattering, take one core of a CPU, whatever there is.
    On two cores jax 0.11 computes one part at a time: two programs at once would never end.

    Args:
        compute: called in other threads, which keep float64 where the caller does; other scopes of
            jax do not reach there. No more than two results are held.
        parts: taken one by one.

    Examples:
        >>> from jaxdp import numerics
        >>> list(numerics.side_by_side(lambda part: part**2, range(4)))
        [0, 1, 4, 9]
    """
    if _AT_ONCE.here == 1 or _two_programs_hang(jax.__version_info__, _num_threads()):
        yield from map(compute, parts)
        return

    keeps = has_float64()

    def ready(part: Part) -> Result:
        with _keeps_float64(keeps):
            return jax.block_until_ready(compute(part))

    with ThreadPoolExecutor(_AT_ONCE.here) as pool:
        pending: collections.deque[Future[Result]] = collections.deque()
        for part in parts:
            pending.append(pool.submit(ready, part))
            if len(pending) == _AT_ONCE.here:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _two_programs_hang(version: tuple[int, ...], num_threads: int) -> bool:
    return version[:2] == _JAX_THAT_HANGS and num_threads == 2


def _num_threads() -> int:
    """Return how many threads XLA has on a CPU."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return int(os.environ.get("NPROC") or cores)
