"""What every method makes by default of image sets that no default was chosen on.

    python benchmarks/untuned_sets.py --data_dir=FOLDER [--sets=...] [--methods=...] [--out=FILE]

The sets are in `_untuned`: scikit-learn's digits as 16 x 16 in colour, MNIST averaged down to
16 x 16 like USPS (from `FOLDER/mnist.npz`), and drawings like stained tissue. Methods run by
`jaxdp.run` with their defaults: the private teacher and DP-KIP with each kernel at one image per
class, judged by the classifier that they release, and generation with `--preset=fast` from each
feature map, judged by logistic regression on what it draws. `accuracy` is in percent of 500 test
images, fewer where a set has fewer; `chance` is 100 over the number of classes.
"""

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _harness import argument_parser, isolated, measurement, record, report, start_memory_mb, timed
from _untuned import SETS, Set

import jaxdp

KERNELS = ("fc_ntk", "fc_nngp", "scatter", "perceptual", "entk")
FEATURES = ("entk", "rff", "hermite", "scatter", "scatter_rbf")
METHODS = ("teacher", *(f"kernel:{name}" for name in KERNELS), *(f"maps:{n}" for n in FEATURES))
# Generated images that logistic regression learns from.
_NUM_MADE = 3000
_QUICK = {"steps": 2, "batch_size": 20}


def accuracy(method: str, images: Set, *, eps: float, quick: bool) -> float:
    """Return the test accuracy in percent of what a method makes by default."""
    names = [str(k) for k in range(images.num_classes)]
    spec = jaxdp.Spec.images("untuned", images.x.shape, class_names=names)
    private = jaxdp.Private(images.x, images.y)
    kind, _, name = method.partition(":")
    asked: dict[str, Any] = {"eps": eps} | (_QUICK if quick else {})
    package = {
        "teacher": jaxdp.methods.teacher,
        "kernel": jaxdp.methods.dp_kip,
        "maps": jaxdp.methods.dp_ntk,
    }[kind]
    if kind == "kernel":
        asked |= {"kernel": name}
    if kind == "maps":
        asked |= {"features": name, "preset": "fast", "num_synthetic": _NUM_MADE}
    made, _ = jaxdp.run(package, package.Settings(**asked), spec, private, progress=False)
    if kind == "maps":
        found = _logistic(made.x, made.y, images.x_test, iterations=5 if quick else 1000)
    else:
        found = made.classifier.predict(images.x_test)
    return 100 * float(np.mean(found == images.y_test))


def _logistic(x: np.ndarray, y: np.ndarray, x_test: np.ndarray, *, iterations: int) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=iterations)
    model.fit(x.reshape(len(x), -1) / 255, y)
    return model.predict(x_test.reshape(len(x_test), -1) / 255)


def run(
    name: str, size: int, method: str, eps: float, args: argparse.Namespace
) -> dict[str, Any] | None:
    """Return the record of one case; None where the set is not there in that size."""
    images = SETS[name](size, args.data_dir)
    if images is None:
        return None
    before = start_memory_mb(images.x)
    seconds, found = timed(lambda: accuracy(method, images, eps=eps, quick=args.quick))
    chance = 100 / images.num_classes
    return record(
        f"{name} n={size} eps={eps:g} {method}",
        measurement(seconds, 0.0, before),
        None,
        accuracy=found,
        chance=chance,
    )


def records(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure every case."""
    names, sizes, epsilons = args.sets.split(","), args.sizes.split(","), args.epsilons.split(",")
    methods = args.methods.split(",")
    if args.quick:
        names, sizes, epsilons, methods = ["tissues"], ["60"], ["10"], ["kernel:fc_ntk"]
    for name, size, eps, method in itertools.product(names, sizes, epsilons, methods):
        found = isolated(run, name, int(size), method, float(eps), args)
        if found is not None:
            yield found


def main() -> None:
    """Run the benchmark."""
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--data_dir", type=Path, default=Path("data"), help="has mnist.npz")
    parser.add_argument("--sets", default=",".join(SETS), help="names, by commas")
    parser.add_argument("--sizes", default="300,1000,5000", help="numbers, by commas")
    parser.add_argument("--epsilons", default="1,10", help="numbers, by commas")
    parser.add_argument("--methods", default=",".join(METHODS), help="names, by commas")
    args = parser.parse_args()
    report(records(args), columns=("accuracy", "chance", "seconds"), out=args.out)


if __name__ == "__main__":
    main()
