"""How much of a step's arithmetic is float64, which many GPUs do at a small part of their rate.

    python benchmarks/float64_share.py [--quick] [--out=FILE]

Operations are counted in the program that jax traces: two for each multiplication of matrix
products and convolutions, the usual counts of factorisations and triangular solves, and one for
each element of anything else. A loop counts as often as it runs, once where that is not known; of
branches the longest counts.
`product_share` is the time that so many operations take as large matrix products of their type,
which is measured, as a part of the time that the step takes.
`slower_32` is how many times as long a step takes where float64 has a 32nd of float32's rate
instead of the same, if nothing but arithmetic takes time; `slower_2` the same for a half.
There is no baseline.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import clipping
import entk_embedding
import jax
import jax.numpy as jnp
import numpy as np
from _harness import argument_parser, isolated, measure, record, report
from _operations import operations

from jaxdp import kernels, numerics
from jaxdp.features import base as feature_maps
from jaxdp.methods.teacher import classifier

_COLUMNS = ("seconds", "gflops", "float64_share", "product_share", "slower_2", "slower_32")
_NUM_CLASSES = 10
_WIDTH = 800  # of the e-NTK's network

Case = tuple[str, tuple[int, ...]]
# Support, pixels, batch; features, batch; pixels, batch.
_CASES: tuple[Case, ...] = (
    ("kip", (10, 784, 500)),
    ("kip", (100, 3072, 500)),
    ("kip", (500, 3072, 500)),
    ("teacher", (3992, 4096)),
    ("generator", (784, 5000)),
)
_QUICK_CASES: tuple[Case, ...] = (("kip", (10, 12, 7)), ("teacher", (5, 7)), ("generator", (4, 20)))


def clipped_kip(s: int, d: int, batch: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the exact clipped sum of DP-KIP with the FC-NTK, and its arguments."""
    return functools.partial(clipping.exact, kernels.fc_ntk()), clipping.inputs(s, d, batch)


def clipped_teacher(p: int, batch: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the clipped sum of the private teacher, and its arguments."""
    rng = np.random.default_rng(0)
    weights = jnp.zeros((p, _NUM_CLASSES), jnp.float32)
    features = jnp.asarray(rng.standard_normal((batch, p)), jnp.float16)
    labels = jnp.arange(batch) % _NUM_CLASSES

    def clipped_sum(*args: Any) -> jax.Array:
        total = classifier.sum_clipped_grads(*args, jnp.ones(batch, bool), clip_norm=1.0)
        return total.astype(jnp.float64)

    return clipped_sum, (weights, features, labels)


def generator_step(d: int, batch: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the distance of drawn images to an embedding with its gradient, and its arguments."""
    features = entk_embedding.network(_WIDTH, d)[0]
    weights, mu = jnp.full(_NUM_CLASSES, 1 / _NUM_CLASSES), jnp.zeros((_NUM_CLASSES, features.dim))
    x = jnp.asarray(np.random.default_rng(0).random((_NUM_CLASSES, batch // _NUM_CLASSES, d)))

    def distance(x: jax.Array) -> jax.Array:
        return feature_maps.squared_distance(mu, feature_maps.block_means(features, x, weights))

    return jax.value_and_grad(distance), (x.astype(jnp.float32),)


_STEPS = {"kip": clipped_kip, "teacher": clipped_teacher, "generator": generator_step}
_FREE = ("generator",)  # nothing is clipped, so nothing needs jax's 64-bit mode
# Rows of the matrices whose product is measured: as many as keep the device busy.
_ROWS_ON_CPU, _ROWS_ON_ACCELERATOR = 2048, 8192


def product_rate(is_wide: bool, rows: int | None = None) -> float:
    """Return the operations per second of a large matrix product at full precision."""
    n = rows or (_ROWS_ON_CPU if jax.default_backend() == "cpu" else _ROWS_ON_ACCELERATOR)
    with numerics.float64():
        x = jax.random.normal(jax.random.key(0), (n, n), jnp.float64 if is_wide else jnp.float32)
        measured = measure(jax.jit(functools.partial(jnp.matmul, precision="highest")), x, x)
    assert measured is not None
    return 2 * n**3 / measured[0].seconds


def run(kind: str, size: tuple[int, ...], rates: dict[bool, float]) -> dict[str, Any]:
    """Count and measure one step."""
    with contextlib.nullcontext() if kind in _FREE else numerics.float64():
        step, args = _STEPS[kind](*size)
        counts = operations(jax.make_jaxpr(step)(*args).jaxpr)
        measured = measure(jax.jit(step), *args)
    assert measured is not None
    share = counts[True] / sum(counts.values())
    return record(
        f"{kind} {' x '.join(map(str, size))}",
        measured[0],
        None,
        gflops=sum(counts.values()) / 1e9,
        float64_share=share,
        product_share=sum(n / rates[is_wide] for is_wide, n in counts.items())
        / measured[0].seconds,
        slower_2=1 + share,
        slower_32=1 + 31 * share,
    )


def records(cases: tuple[Case, ...], rows: int | None) -> Iterator[dict[str, Any]]:
    """Count and measure all steps."""
    rates = {is_wide: isolated(product_rate, is_wide, rows) for is_wide in (False, True)}
    for case in cases:
        yield isolated(run, *case, rates)


def main() -> None:
    """Run the benchmark."""
    args = argument_parser(__doc__.splitlines()[0]).parse_args()
    cases = records(_QUICK_CASES, rows=64) if args.quick else records(_CASES, rows=None)
    report(cases, columns=_COLUMNS, out=args.out)


if __name__ == "__main__":
    main()
