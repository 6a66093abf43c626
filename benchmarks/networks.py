"""Seconds of the image networks with our convolution and pooling on CPUs, beside XLA's own.

    python benchmarks/networks.py [--quick] [--out=FILE]

`perceptual` is the feature map of a random ResNet-18 and its VJP, `convnet` the gradient of the
ConvNet that judges distilled images, of all images at once, and a step of its training, which sees
a few at once on a CPU; its baseline sees all. `small` is the gradient of the network that judges
generated images and chooses candidates. On an accelerator both sides are the same.
"""

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from _harness import Measurement, argument_parser, isolated, measure, record, report

from jaxdp.features import perceptual
from jaxdp.networks import classifiers
from jaxdp.numerics import ByBackend
from jaxdp.program.evaluation import convnet
from jaxdp.program.evaluation.recipe import ConvNetRecipe

_SIZES = {
    "perceptual": 64,
    "perceptual, vjp": 64,
    "convnet, gradient": 100,
    "convnet, step": 250,
    "small, gradient": 100,
}
_QUICK_SIZES = {"perceptual, vjp": 2, "convnet, step": 9, "small, gradient": 2}
_SHAPES = ((28, 28, 1), (32, 32, 3))
_QUICK_SHAPES = ((8, 8, 1),)


def case(name: str, shape: tuple[int, int, int], quick: bool) -> Any:
    """Return the function of rows (n, d) that is measured."""
    if name == "convnet, step":
        return judging_step(shape, width=8 if quick else 128)
    if name.endswith(", gradient"):
        wide = functools.partial(classifiers.ConvNet, width=8 if quick else 128)
        model: Any = (classifiers.SmallCnn if name.startswith("small") else wide)(10)
        params = model.init(jax.random.key(0), jnp.zeros((1, *shape)))

        def loss(params: Any, x: jax.Array) -> jax.Array:
            logits = model.apply(params, x.reshape(-1, *shape))
            labels = jnp.arange(len(x)) % 10
            return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels))

        return jax.jit(lambda x: jax.grad(loss)(params, x))
    features = perceptual.perceptual_features(shape, width=2 if quick else 64)
    if name == "perceptual":
        return jax.jit(features)
    return jax.jit(jax.grad(lambda x: jnp.sum(features(x) ** 3)))


def judging_step(shape: tuple[int, int, int], *, width: int) -> Any:
    """Return the function of rows (n, d) that takes the ConvNet's first step."""
    network = convnet._network(ConvNetRecipe(width=width), 10, 1)
    start = network.init(jax.random.key(0), jnp.zeros((1, *shape)))

    def step(x: jax.Array) -> Any:
        targets = jax.nn.one_hot(jnp.arange(len(x)) % 10, 10)
        return network.step(jax.random.key(0), start, x.reshape(-1, *shape), targets)

    return step


def run(name: str, shape: tuple[int, int, int], n: int, quick: bool, ours: bool) -> Measurement:
    """Measure a case with our convolution and pooling or with flax's."""
    if not ours:
        # In a process of its own.
        classifiers.Conv, classifiers.max_pool = nn.Conv, nn.max_pool
        convnet._CHUNK = ByBackend(n, n)
    x = np.random.default_rng(0).random((n, int(np.prod(shape))), np.float32)
    measured = measure(case(name, shape, quick), jnp.asarray(x))
    assert measured is not None
    return measured[0]


def records(quick: bool) -> Iterator[dict[str, Any]]:
    """Measure both convolutions in every case."""
    sizes, shapes = (_QUICK_SIZES, _QUICK_SHAPES) if quick else (_SIZES, _SHAPES)
    for shape, (name, n) in itertools.product(shapes, sizes.items()):
        mine, baseline = (isolated(run, name, shape, n, quick, ours) for ours in (True, False))
        yield record(f"{name}, n={n} {'x'.join(map(str, shape))}", mine, baseline)


def main() -> None:
    """Run the benchmark."""
    args = argument_parser(__doc__.splitlines()[0]).parse_args()
    report(records(args.quick), columns=("seconds", "baseline_seconds", "ratio"), out=args.out)


if __name__ == "__main__":
    main()
