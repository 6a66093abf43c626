"""Unequal classes of images: what a small network learns from what was drawn, of all classes alike.

    python benchmarks/unequal_classes.py --data_dir=FOLDER [--largest=4500] [--ratio=10]
        [--epsilons=0.5,5] [--seeds=1] [--out=FILE]

The largest class of Fashion-MNIST has as many training images as asked for, the smallest one a
`ratio`th of them, the others between; which one is large depends on the seed. A generator is
trained for 600 steps, those of `--preset=fast`, on one noisy embedding of them, which has all of
epsilon: `equal` as if classes were equal, `told` on the shares that the embedding tells, `evened`
as a run does, which gives rare classes their weight, too. 20,000 images are drawn, as many of each
class. `balanced` is the accuracy of a small network that learns their classes, in percent of 10,000
other training images, as a mean over classes.
"""

import argparse
import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from _harness import argument_parser, isolated, record, report, seconds_alone, timed

import jaxdp
from jaxdp.methods import dp_ntk
from jaxdp.methods.dp_ntk import finish, shares
from jaxdp.program.evaluation.cnn import cnn
from jaxdp.program.evaluation.problem import Problem
from jaxdp.program.evaluation.recipe import GENERATED

_WAYS = ("equal", "told", "evened")
_NUM_TEST, _NUM_MADE = 10_000, 20_000
_FAST = {"preset": "fast", "features": "scatter_rbf"}
_QUICK = {"steps": 2, "batch_size": 20, "features": "rff"}


def images(args: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    """Return training images uint8 (n, h, w, 1) and their classes."""
    if args.quick:
        from sklearn.datasets import load_digits

        digits = load_digits()
        return (16 * digits.images[..., None]).clip(0, 255).astype(np.uint8), digits.target
    with np.load(args.data_dir / "fashion_mnist.npz") as arrays:
        return arrays["x_train"].reshape(-1, 28, 28, 1), arrays["y_train"].ravel()


def unequal(y: np.ndarray, largest: int, ratio: float, seed: int) -> np.ndarray:
    """Return places of examples of which classes have sizes from `largest` down to a `ratio`th."""
    rng, num_classes = np.random.default_rng(seed), int(y.max()) + 1
    ranks = rng.permutation(num_classes) / (num_classes - 1)
    sizes = np.round(largest * ratio**-ranks).astype(int)
    places = [rng.permutation(np.flatnonzero(y == k))[:size] for k, size in enumerate(sizes)]
    return rng.permutation(np.concatenate(places))


def balanced(way: str, args: argparse.Namespace, eps: float, seed: int) -> dict[str, Any]:
    """Return how many examples there were, and what a network learns of their generator."""
    x, y = images(args)
    order = np.random.default_rng(0).permutation(len(x))
    num_test = 200 if args.quick else _NUM_TEST
    test, rest = order[:num_test], order[num_test:]
    kept = rest[unequal(y[rest], 50 if args.quick else args.largest, args.ratio, seed)]
    spec = jaxdp.Spec.images("unequal", x[kept].shape, class_names=list("0123456789"))
    more: dict[str, Any] = _QUICK if args.quick else _FAST
    asked = dp_ntk.Settings(
        eps=eps, seed=seed, noise_seed=seed, num_synthetic=60 if args.quick else _NUM_MADE, **more
    )
    with _trained(way):
        made, _ = jaxdp.run(
            dp_ntk, asked, spec, jaxdp.Private(x[kept], y[kept].astype(np.int32)), progress=False
        )
    problem = Problem(
        x=made.x / 255,
        y=made.y,
        x_test=x[test] / 255,
        y_test=y[test],
        num_classes=len(spec.class_names),
        recipe=GENERATED,
    )
    return {"n": len(kept), "balanced": 100 * cnn(problem)["figures"]["balanced_accuracy"]}


def _trained(way: str) -> contextlib.AbstractContextManager[Any]:
    """Return a scope in which generators are trained in this way."""
    scope = contextlib.ExitStack()
    if way == "equal":
        scope.enter_context(
            mock.patch.object(shares, "with_shares", lambda released, *_, **__: released)
        )
    if way != "evened":
        scope.enter_context(mock.patch.object(finish, "evened", lambda released, **_: released))
    return scope


def run(way: str, args: argparse.Namespace, eps: float, seed: int) -> dict[str, Any]:
    """Return the record of one way and seed."""
    seconds, found = timed(lambda: balanced(way, args, eps, seed))
    name = f"eps={eps:g} seed={seed} {way}"
    return record(name, seconds_alone(seconds), None, **found)


def records(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure every way."""
    epsilons = ["1"] if args.quick else args.epsilons.split(",")
    for eps, seed, way in itertools.product(epsilons, range(args.seeds), _WAYS):
        yield isolated(run, way, args, float(eps), seed)


def main() -> None:
    """Run the benchmark."""
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--data_dir", type=Path, default=Path("data"), help="has fashion_mnist.npz")
    parser.add_argument("--largest", type=int, default=4500, help="images of the largest class")
    parser.add_argument("--ratio", type=float, default=10.0, help="largest over smallest class")
    parser.add_argument("--epsilons", default="0.5,5", help="numbers, by commas")
    parser.add_argument("--seeds", type=int, default=1)
    args = parser.parse_args()
    report(records(args), columns=("n", "balanced", "seconds"), out=args.out)


if __name__ == "__main__":
    main()
