"""Images per second of the scattering transform, forward and VJP, beside kymatio's.

    python benchmarks/scattering.py [--quick] [--out=FILE]

The baseline is kymatio's JAX backend under jit on the same images. On an accelerator,
`bandwidth_fraction` compares the bytes of the images and coefficients, which have to be moved
whatever the algorithm, with those that a plain copy moves in the same time.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _harness import Measurement, argument_parser, isolated, measure, record, report

from jaxdp.features import scattering

_SIZES = ((256, 28), (768, 32))  # MNIST; 256 colour images of CIFAR-10
_QUICK_SIZES = ((3, 8),)
_COPY_FLOATS = 2**26
_COLUMNS = ("seconds", "baseline_seconds", "ratio", "images_per_second", "bandwidth_fraction")

Transform = Callable[[jax.Array], jax.Array]


def ours(side: int) -> Transform:
    """Return our transform."""
    del side
    return scattering.scattering


def kymatio(side: int) -> Transform:
    """Return the transform of kymatio's JAX backend, without its 3-D part."""
    from kymatio.scattering2d.frontend.jax_frontend import ScatteringJax2D

    return ScatteringJax2D(2, (side, side))


def pull_back(transform: Transform) -> Callable[[jax.Array, jax.Array], jax.Array]:
    """Return the VJP of a transform as a function of images and cotangents."""
    return lambda x, cotangent: jax.vjp(transform, x)[1](cotangent)[0]


def run(
    make: Callable[[int], Transform], size: tuple[int, int], vjp: bool
) -> tuple[Measurement, int]:
    """Measure one transform at one size; return also the bytes it has to move."""
    n, side = size
    rng = np.random.default_rng(0)
    transform = make(side)
    x = jnp.asarray(rng.random((n, side, side), np.float32))
    shape = jax.eval_shape(transform, x).shape
    arguments: tuple[jax.Array, ...] = (x,)
    if vjp:
        arguments = (x, jnp.asarray(rng.standard_normal(shape, np.float32)))
    function: Any = pull_back(transform) if vjp else transform
    measured = measure(jax.jit(lambda *args: function(*args)), *arguments)
    assert measured is not None
    return measured[0], 4 * (x.size * (2 if vjp else 1) + int(np.prod(shape)))


def copy_bytes_per_second() -> float | None:
    """Return what a large copy reads and writes per second; None on a CPU."""
    if jax.default_backend() == "cpu":
        return None
    measured = measure(jax.jit(lambda x: x + 1), jnp.zeros(_COPY_FLOATS, jnp.float32))
    assert measured is not None
    return 2 * 4 * _COPY_FLOATS / measured[0].seconds


def records(sizes: tuple[tuple[int, int], ...]) -> Iterator[dict[str, Any]]:
    """Measure both transforms at every size, forward and VJP."""
    bandwidth = isolated(copy_bytes_per_second)
    for (n, side), vjp in itertools.product(sizes, (False, True)):
        mine, moved = isolated(run, ours, (n, side), vjp)
        baseline, _ = isolated(run, kymatio, (n, side), vjp)
        yield record(
            f"n={n} {side}x{side} {'vjp' if vjp else 'forward'}",
            mine,
            baseline,
            images_per_second=n / mine.seconds,
            baseline_compile_seconds=baseline.compile_seconds,
            bandwidth_fraction=bandwidth and moved / mine.seconds / bandwidth,
        )


def main() -> None:
    """Run the benchmark."""
    args = argument_parser(__doc__.splitlines()[0]).parse_args()
    report(records(_QUICK_SIZES if args.quick else _SIZES), columns=_COLUMNS, out=args.out)


if __name__ == "__main__":
    main()
