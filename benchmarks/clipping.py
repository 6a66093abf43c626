"""Exact clipped gradient sums of `jaxdp.methods.dp_kip.clipped.sums` beside vmap of grad.

    python benchmarks/clipping.py [--quick] [--out=FILE]

The baseline is the general form, `jaxdp.privacy.clipping.sum_clipped_grads` of the KIP loss in
float32, all examples at once. It is null where its arrays would not fit into memory.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _harness import (
    Measurement,
    argument_parser,
    fits_in_memory,
    isolated,
    measure,
    record,
    report,
)

from jaxdp import kernels, numerics
from jaxdp.kernels import preprocess
from jaxdp.kernels.kip import SupportSet, loss
from jaxdp.methods.dp_kip.clipped import sums as kip_grads
from jaxdp.methods.dp_kip.clipped import terms as kip_terms
from jaxdp.privacy import clipping

_KERNELS = {"FC-NTK": kernels.fc_ntk, "features": kernels.linear}
# (kernel, s, d, batch)
_CASES = (
    ("FC-NTK", 10, 784, 500),
    ("FC-NTK", 100, 784, 500),
    ("FC-NTK", 100, 3072, 500),
    ("FC-NTK", 500, 784, 200),
    ("FC-NTK", 500, 3072, 50),
    ("FC-NTK", 500, 3072, 500),
    ("features", 100, 3969, 500),
    ("features", 500, 3969, 200),
)
_QUICK_CASES = (("FC-NTK", 10, 12, 7), ("features", 10, 12, 7))
_COLUMNS = (
    "seconds",
    "baseline_seconds",
    "ratio",
    "peak_mb",
    "baseline_peak_mb",
    "relative_difference",
)
_NUM_CLASSES = 10
_RIDGE = 1e-6
# Below every gradient's norm here, so that an error of any norm would show in the difference.
_CLIP_NORM = 1e-3
_TOLERANCE = 1e-3

Arrays = tuple[jax.Array, ...]


def exact(kernel: kernels.Kernel, x_s: Any, y_s: Any, x_t: Any, y_t: Any, mask: Any) -> jax.Array:
    """Return the clipped sum without per-example gradients."""
    assert kernel.dot_product is not None
    terms = kip_terms.support_terms(kernel.dot_product, x_s, y_s, _RIDGE, num_targets=len(x_t))
    moments = kip_grads.clipped_moments(kernel.dot_product, terms, x_t, y_t, mask, _CLIP_NORM)
    return kip_grads.assemble(terms, moments)


def general(kernel: kernels.Kernel, x_s: Any, y_s: Any, x_t: Any, y_t: Any, mask: Any) -> jax.Array:
    """Return the clipped sum by vmap of grad."""

    def target_loss(x: jax.Array, target: tuple[jax.Array, jax.Array]) -> jax.Array:
        return loss(kernel, SupportSet(x, y_s), *target, ridge=_RIDGE)

    return clipping.sum_clipped_grads(target_loss, x_s, (x_t, y_t), mask, clip_norm=_CLIP_NORM)


def inputs(s: int, d: int, batch: int) -> Arrays:
    """Return random support points, targets, labels and a mask that keeps all but one."""
    rng = np.random.default_rng(0)
    x_s, x_t = (jnp.asarray(rng.standard_normal((n, d), np.float32)) for n in (s, batch))
    y_s, y_t = (
        preprocess.centred_one_hot(jnp.arange(n) % _NUM_CLASSES, _NUM_CLASSES) for n in (s, batch)
    )
    return x_s, y_s, x_t, y_t, jnp.arange(batch) > 0


def run(
    clipped_sum: Callable[..., jax.Array], kernel: str, size: tuple[int, int, int], wide: bool
) -> tuple[Measurement, np.ndarray] | None:
    """Measure one form at one size; None if it does not fit into memory."""
    args = inputs(*size)
    function = jax.jit(functools.partial(clipped_sum, _KERNELS[kernel]()))
    with numerics.float64() if wide else contextlib.nullcontext():
        measured = measure(function, *args, fits=fits_in_memory)
    return measured and (measured[0], np.asarray(measured[1]))


def records(cases: tuple[tuple[str, int, int, int], ...]) -> Iterator[dict[str, Any]]:
    """Measure both forms at every size and compare their results.

    The float32 form clips every norm by a margin for its rounding, the same for all records here,
    so directions are compared.
    """
    for kernel, *size in cases:
        ours, result = isolated(run, exact, kernel, size, True)
        baseline, expected = isolated(run, general, kernel, size, False) or (None, None)
        difference = None if expected is None else difference_of_directions(result, expected)
        if difference is not None and not difference < _TOLERANCE:
            raise RuntimeError(f"the two forms differ by {difference:.1e} at {kernel}, {size}")
        s, d, batch = size
        case = f"{kernel} s={s} d={d} batch={batch}"
        yield record(case, ours, baseline, relative_difference=difference)


def difference_of_directions(x: np.ndarray, expected: np.ndarray) -> float:
    """Return `|x / |x| - expected / |expected||`, Euclidean."""
    return float(np.linalg.norm(x / np.linalg.norm(x) - expected / np.linalg.norm(expected)))


def main() -> None:
    """Run the benchmark."""
    args = argument_parser(__doc__.splitlines()[0]).parse_args()
    report(records(_QUICK_CASES if args.quick else _CASES), columns=_COLUMNS, out=args.out)


if __name__ == "__main__":
    main()
