"""What made sets tell of single records: attacks by nearest neighbours and exact copies.

    python benchmarks/membership.py --data_dir=FOLDER [--n=5000] [--canaries=500] [--out=FILE]

A method runs once on MNIST digits (`FOLDER/mnist.npz`) of which some are canaries: each is among
the records by the toss of a fair coin. Who attacks has the made set, all canaries and their labels,
and tells those that are in by how near the nearest made image is: of any class (`any`), or of the
canary's own (`own`). Canaries are digits as all others are (`ordinary`), digits with another label
(`mislabelled`), and images whose pixels are uniform (`noise`).

Such attacks see what is made and not what is released with it. They are weak: an `auroc` of 0.5
proves nothing, and `benchmarks/audit.py` has those that use all there is. They are what a user of
synthetic data meets in the literature. `tenth` is a control: a set that holds every tenth record.

Columns: `auroc` of the better of both attacks, `error`, the standard error of an attack that knows
nothing, `tpr` of that attack at 1 % of false positives, and `copies`, canaries that the set holds.

References:
    Mann & Whitney (1947), "On a test of whether one of two random variables is stochastically
        larger than the other" (the standard error).
    Chen, Yu, Zhang & Fritz (2020), "GAN-Leaks: a taxonomy of membership inference attacks against
        generative models" (distances to the nearest made example).
"""

import argparse
import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _harness import argument_parser, isolated, measurement, record, report, start_memory_mb, timed

import jaxdp

KINDS = ("ordinary", "mislabelled", "noise")
METHODS = ("tenth", "dp_kip", "teacher", "labelled")
_NAMES = [str(k) for k in range(10)]
_CHUNK = 500
_QUICK = {"n": 200, "canaries": 40}
_COLUMNS = ("auroc", "error", "tpr", "copies", "seconds")


class Game(NamedTuple):
    """Records with canaries, which come last, and who was in: `x[kept]` is what a method sees."""

    x: np.ndarray
    y: np.ndarray
    kept: np.ndarray
    inside: np.ndarray


def game(images: np.ndarray, labels: np.ndarray, kind: str, n: int, canaries: int) -> Game:
    """Draw records, canaries of a kind, and their coins, from a fixed seed."""
    rng = np.random.default_rng(97)
    chosen = rng.permutation(len(images))[: n + canaries]
    x, y = images[chosen].copy(), labels[chosen].astype(np.int32)
    if kind == "mislabelled":
        y[n:] = (y[n:] + rng.integers(1, 10, canaries)) % 10
    if kind == "noise":
        x[n:] = rng.integers(0, 256, x[n:].shape)
    inside = rng.random(canaries) < 0.5
    return Game(x, y, np.concatenate([np.ones(n, bool), inside]), inside)


def made_set(method: str, x: np.ndarray, y: np.ndarray, *, eps: float, quick: bool) -> Any:
    """Return the images and labels that a method makes by default."""
    if method == "tenth":
        return x[::10], y[::10]
    spec = jaxdp.Spec.images("digits to attack", x.shape, class_names=_NAMES)
    asked: dict[str, Any] = {"eps": eps}
    if method == "labelled":
        package = jaxdp.methods.dp_ntk.labels
        asked |= {"labels": "teacher", "preset": "fast"}
        asked |= {"steps": 2, "num_synthetic": 100} if quick else {}
    else:
        package = getattr(jaxdp.methods, method)
        asked |= {"ipc": 10} | ({"steps": 2, "batch_size": 20} if quick else {})
    settings = package.Settings(**asked)
    made, _ = jaxdp.run(package, settings, spec, jaxdp.Private(x, y), progress=False)
    return made.x, made.y


def nearest(x: np.ndarray, made: np.ndarray) -> np.ndarray:
    """Return the distance of every row to the nearest made row; infinite where there is none."""
    if len(made) == 0:
        return np.full(len(x), np.inf)
    squares = np.sum(made**2, axis=1)
    found = np.full(len(x), np.inf)
    for start in range(0, len(x), _CHUNK):
        rows = x[start : start + _CHUNK]
        products = squares - 2 * rows @ made.T
        found[start : start + _CHUNK] = np.sum(rows**2, axis=1) + products.min(axis=1)
    return np.sqrt(np.maximum(found, 0))


def auroc(scores: np.ndarray, inside: np.ndarray) -> float:
    """Return the probability that a canary inside has the larger score, ties counted half."""
    pairs = scores[inside][:, None] - scores[~inside][None]
    return float(np.mean((pairs > 0) + 0.5 * (pairs == 0)))


def tpr(scores: np.ndarray, inside: np.ndarray, *, fpr: float = 0.01) -> float:
    """Return the part of canaries inside above what a part `fpr` of the others exceeds."""
    return float(np.mean(scores[inside] > np.quantile(scores[~inside], 1 - fpr)))


def attack(played: Game, made: np.ndarray, made_labels: np.ndarray) -> dict[str, Any]:
    """Return the figures of a set under attack."""
    count = len(played.inside)
    canaries = played.x[-count:].reshape(count, -1).astype(np.float64) / 255
    labels = played.y[-count:]
    rows = made.reshape(len(made), -1).astype(np.float64) / 255
    distances = {"any": nearest(canaries, rows), "own": np.empty(count)}
    for label in range(10):
        mine = labels == label
        distances["own"][mine] = nearest(canaries[mine], rows[made_labels == label])
    areas = {name: auroc(-found, played.inside) for name, found in distances.items()}
    better = max(areas, key=lambda name: areas[name])
    num_in = int(played.inside.sum())
    num_out = count - num_in
    return {
        "auroc": areas[better],
        "attack": better,
        "error": math.sqrt((count + 1) / (12 * num_in * num_out)),
        "tpr": tpr(-distances[better], played.inside),
        "copies": int(np.sum(distances["any"] < 1e-6)),
    }


def _digits(data_dir: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(data_dir / "mnist.npz") as arrays:
        return arrays["x_train"][..., None], arrays["y_train"]


def _toy() -> tuple[np.ndarray, np.ndarray]:
    labels = np.arange(_QUICK["n"] + _QUICK["canaries"]) % 10
    return np.random.default_rng(0).integers(0, 256, (len(labels), 8, 8, 1), np.uint8), labels


def run(kind: str, method: str, eps: float, args: argparse.Namespace) -> dict[str, Any]:
    """Return the record of one case."""
    images, labels = _toy() if args.quick else _digits(args.data_dir)
    played = game(images, labels, kind, args.n, args.canaries)
    x, y = played.x[played.kept], played.y[played.kept]
    before = start_memory_mb(x)
    seconds, (made, made_labels) = timed(lambda: made_set(method, x, y, eps=eps, quick=args.quick))
    return record(
        f"{method} eps={eps:g} {kind}",
        measurement(seconds, 0.0, before),
        None,
        **attack(played, np.asarray(made), np.asarray(made_labels)),
        num_made=len(made),
    )


def records(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure every case."""
    methods, epsilons = args.methods.split(","), [float(text) for text in args.epsilons.split(",")]
    kinds = args.kinds.split(",")
    if args.quick:
        vars(args).update(_QUICK)
        methods, epsilons, kinds = ["tenth", "dp_kip"], [1.0], ["noise"]
    for method, eps, kind in itertools.product(methods, epsilons, kinds):
        if method != "tenth" or eps == epsilons[0]:
            yield isolated(run, kind, method, eps, args)


def main() -> None:
    """Run the benchmark."""
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--data_dir", type=Path, default=Path("data"), help="has mnist.npz")
    parser.add_argument("--n", type=int, default=5000, help="records beside the canaries")
    parser.add_argument("--canaries", type=int, default=500, help="half of them are in")
    parser.add_argument("--methods", default=",".join(METHODS), help="names, by commas")
    parser.add_argument("--epsilons", default="1,10,inf", help="numbers, by commas")
    parser.add_argument("--kinds", default=",".join(KINDS), help="of canaries, by commas")
    args = parser.parse_args()
    report(records(args), columns=_COLUMNS, out=args.out)


if __name__ == "__main__":
    main()
