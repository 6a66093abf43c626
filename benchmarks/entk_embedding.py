"""Seconds of a mean embedding under e-NTK features, and of a generator step, beside the obvious.

    python benchmarks/entk_embedding.py [--quick] [--out=FILE]

Baselines form every gradient: one by one, as the published code does (compiled here), and
in chunks by `vmap(grad)`. They run on a few examples and are multiplied up to all of them, which
`measured_examples` counts. `relative_difference` compares ours with `vmap(grad)` on those.
"""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _harness import (
    Measurement,
    argument_parser,
    isolated,
    measure,
    measurement,
    record,
    report,
    start_memory_mb,
    timed,
)

from jaxdp.features import base as feature_maps
from jaxdp.features.base import FeatureMap
from jaxdp.features.tangent import entk_map
from jaxdp.networks import tangent
from jaxdp.privacy import class_sums

_CLASSES = 10
# n embedded, batch of a generator step, width, chunk of vmap(grad), examples of the baselines
_SIZES = ((60000, 5000, 800, 100, 200),)
_QUICK_SIZES = ((60, 40, 8, 10, 20),)
_DIM = 784
_COLUMNS = ("seconds", "baseline_seconds", "ratio", "peak_mb", "baseline_peak_mb")
Size = tuple[int, int, int, int, int]


def network(width: int, dim: int = _DIM) -> tuple[FeatureMap, Callable[[jax.Array], jax.Array]]:
    """Return the map of `fc_1l`, and the unit-norm gradient of one example formed as a vector."""
    module = tangent.FullyConnected1(width, _CLASSES)
    params = jax.jit(module.init)(jax.random.key(0), jnp.zeros((1, dim)))

    def phi(row: jax.Array) -> jax.Array:
        gradient = jax.grad(lambda theta: module.apply(theta, row[None])[0])(params)
        flat = jnp.concatenate([leaf.reshape(-1) for leaf in jax.tree.leaves(gradient)])
        return flat / jnp.linalg.norm(flat)

    return entk_map(module.apply, params, dim), phi


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in [0, 1] and balanced labels."""
    rng = np.random.default_rng(0)
    return rng.random((n, _DIM), np.float32), np.arange(n) % _CLASSES


def ours(size: Size, generate: bool) -> Measurement:
    """Measure our embedding, or our generator step's distance and gradient."""
    n, batch, width, *_ = size
    features, _ = network(width)
    x, y = data(batch if generate else n)
    if not generate:
        chunks = class_sums.labelled_chunks(
            x, y, num_classes=_CLASSES, chunk_size=min(4096, len(x))
        )
        found = measure(lambda c: class_sums.class_sums(features, c, num_classes=_CLASSES), chunks)
    else:
        blocks = jnp.asarray(x.reshape(_CLASSES, -1, _DIM))
        weights, mu = jnp.full(_CLASSES, 1 / _CLASSES), jnp.zeros((_CLASSES, features.dim))

        def distance(x: jax.Array, mu: jax.Array) -> jax.Array:
            return feature_maps.squared_distance(mu, feature_maps.block_means(features, x, weights))

        found = measure(jax.jit(jax.value_and_grad(distance)), blocks, mu)
    assert found is not None
    return found[0]


def one_by_one(size: Size, generate: bool) -> Measurement:
    """Measure a loop over examples: their gradients, or those and their derivatives by x."""
    n, batch, width, _, count = size
    _, phi = network(width)
    x, y = data(count)
    mu = jnp.zeros((_CLASSES, phi(jnp.asarray(x[0])).size))
    add = jax.jit(lambda mu, row, label: mu.at[label].add(phi(row)), donate_argnums=0)
    pull = jax.jit(jax.grad(lambda row, residual: phi(row) @ residual))

    def embed() -> jax.Array:
        total = jnp.zeros_like(mu)
        for row, label in zip(x, y, strict=True):
            total = add(total, row, label)
        return total

    def step() -> list[jax.Array]:
        residual = embed() - mu
        return [pull(row, residual[label]) for row, label in zip(x, y, strict=True)]

    run = step if generate else embed
    before = start_memory_mb(mu)
    compile_seconds, _ = timed(run)
    seconds = min(timed(run)[0] for _ in range(3))
    total = batch if generate else n
    return measurement(seconds * total / count, compile_seconds, before)


def in_chunks(size: Size) -> tuple[Measurement, float]:
    """Measure `vmap(grad)` by chunks; return also how far ours is from it."""
    n, _, width, chunk, count = size
    features, phi = network(width)
    x, y = data(count)

    def embed(x: jax.Array, y: jax.Array) -> jax.Array:
        def add(total: jax.Array, part: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
            rows, classes = part
            return total + jax.nn.one_hot(classes, _CLASSES).T @ jax.vmap(phi)(rows), None

        parts = (x.reshape(-1, chunk, _DIM), y.reshape(-1, chunk))
        return jax.lax.scan(add, jnp.zeros((_CLASSES, features.dim)), parts)[0]

    found = measure(jax.jit(embed), jnp.asarray(x), jnp.asarray(y))
    assert found is not None
    measured, expected = found
    chunks = class_sums.labelled_chunks(x, y, num_classes=_CLASSES, chunk_size=chunk)
    mine = class_sums.class_sums(features, chunks, num_classes=_CLASSES)
    difference = float(jnp.linalg.norm(mine - expected) / jnp.linalg.norm(expected))
    scaled = measured.seconds * n / count
    return Measurement(**(vars(measured) | {"seconds": scaled})), difference


def records(sizes: tuple[Size, ...]) -> Iterator[dict[str, Any]]:
    """Measure every size."""
    for size in sizes:
        n, batch, width, chunk, count = size
        mine = isolated(ours, size, False)
        loop = isolated(one_by_one, size, False)
        name = f"fc_1l {width}, embedding n={n}"
        yield record(f"{name} / one by one", mine, loop, measured_examples=count)
        chunked, difference = isolated(in_chunks, size)
        yield record(
            f"{name} / vmap(grad) by {chunk}",
            mine,
            chunked,
            measured_examples=count,
            relative_difference=difference,
        )
        yield record(
            f"fc_1l {width}, generator step b={batch} / one by one",
            isolated(ours, size, True),
            isolated(one_by_one, size, True),
            measured_examples=count,
        )


def main() -> None:
    """Run the benchmark."""
    args = argument_parser(__doc__.splitlines()[0]).parse_args()
    report(records(_QUICK_SIZES if args.quick else _SIZES), columns=_COLUMNS, out=args.out)


if __name__ == "__main__":
    main()
