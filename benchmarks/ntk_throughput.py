"""Entries per second of the closed-form NTK, forward and with its VJP.

    python benchmarks/ntk_throughput.py [--quick] [--out=FILE]

Beside it, at the same shape and in float32: neural-tangents, null where it does not import, and
the matrix product of the inputs, the limit. The baseline of `ratio` is neural-tangents where
there is one, else the matrix product.
"""

import importlib.util
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _harness import Measurement, argument_parser, isolated, measure, record, report

from jaxdp import kernels

_SIZES = tuple(itertools.product((500, 2000), (784, 3072), (1, 3)))  # (n, d, depth)
_QUICK_SIZES = ((8, 12, 1),)
_COLUMNS = (
    "seconds",
    "entries_per_second",
    "neural_tangents_ratio",
    "matrix_product_ratio",
    "peak_mb",
    "baseline_peak_mb",
)

Gram = Callable[[jax.Array, jax.Array], jax.Array]


def ours(depth: int) -> Gram:
    """Return our kernel between two sets."""
    return kernels.fc_ntk(depth=depth).cross


def neural_tangents(depth: int) -> Gram:
    """Return the kernel of the same network by neural-tangents."""
    from neural_tangents import stax

    def dense() -> Any:
        return stax.Dense(1, W_std=2**0.5, b_std=0.1)

    hidden = [layer for _ in range(depth) for layer in (dense(), stax.Relu())]
    kernel_fn = stax.serial(*hidden, dense())[2]
    return kernels.from_neural_tangents(kernel_fn).cross


def matrix_product(depth: int) -> Gram:
    """Return the inner products, which any kernel of them needs first."""
    del depth
    return kernels.inner_products


def with_vjp(gram: Gram) -> Callable[..., Any]:
    """Return a function that computes the Gram matrix and pulls a cotangent back to both sets."""

    def value_and_vjp(x: jax.Array, z: jax.Array, cotangent: jax.Array) -> Any:
        value, pull_back = jax.vjp(gram, x, z)
        return value, pull_back(cotangent)

    return value_and_vjp


def run(
    make_gram: Callable[[int], Gram], size: tuple[int, int, int], vjp: bool
) -> Measurement | None:
    """Measure one kernel at one size; None if it needs a package that does not import."""
    try:
        gram = make_gram(size[2])
    except (ImportError, AttributeError):  # neural-tangents looks names up that jax dropped
        return None
    n, d, _ = size
    rng = np.random.default_rng(0)
    x, z = (jnp.asarray(rng.standard_normal((n, d), np.float32)) for _ in range(2))
    if not vjp:
        return _measured(gram, x, z)
    cotangent = jnp.asarray(rng.standard_normal((n, n), np.float32))
    return _measured(with_vjp(gram), x, z, cotangent)


def _measured(function: Callable[..., Any], *args: jax.Array) -> Measurement:
    measured = measure(jax.jit(function), *args)
    assert measured is not None
    return measured[0]


def records(sizes: tuple[tuple[int, int, int], ...]) -> Iterator[dict[str, Any]]:
    """Measure all three at every size, forward and with VJP."""
    installed = importlib.util.find_spec("neural_tangents") is not None
    for size, vjp in itertools.product(sizes, (False, True)):
        mine = isolated(run, ours, size, vjp)
        reference = isolated(run, neural_tangents, size, vjp) if installed else None
        limit = isolated(run, matrix_product, size, vjp)
        n, d, depth = size
        yield record(
            f"n={n} d={d} depth={depth} {'vjp' if vjp else 'forward'}",
            mine,
            reference or limit,
            baseline="neural-tangents" if reference else "matrix product",
            entries_per_second=n * n / mine.seconds,
            neural_tangents_seconds=reference and reference.seconds,
            neural_tangents_ratio=reference and reference.seconds / mine.seconds,
            matrix_product_seconds=limit.seconds,
            matrix_product_ratio=limit.seconds / mine.seconds,
        )


def main() -> None:
    """Run the benchmark."""
    args = argument_parser(__doc__.splitlines()[0]).parse_args()
    report(records(_QUICK_SIZES if args.quick else _SIZES), columns=_COLUMNS, out=args.out)


if __name__ == "__main__":
    main()
