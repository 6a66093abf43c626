"""How well the rules of the private teacher's training do beside a grid of others.

    python benchmarks/teacher_schedule.py --data_dir=FOLDER --out=FILE [--sizes=...] [--sets=...]
    python benchmarks/teacher_schedule.py --fit=FILE

The first command trains teachers on a part of the training data of seven image sets and a table,
and judges them on another part, for numbers of examples and epsilons, with every floor of the
whitening and every noise of scores at which training stops. `accuracies` are in percent, for the
noises in `noises`, the mean of several draws of noise and of examples. Where the floor is that of
today's rules, `calibration_error` and `of_scores` are those of probabilities, after and without the
release that makes them of scores, at the noise of today's rules.
The second one fits the rules of `jaxdp.methods.teacher.schedule` with each set left out in its
turn, and prints how far that set is from the best of its own grid, and how far today's rules are;
then errors of calibration. The best of a grid is the best of some twenty draws, so half a point of
it is luck.

`FOLDER` holds mnist.npz, fashion_mnist.npz, cifar10.npz, pneumonia_balanced.npz and adult.csv.gz;
a set whose file is not there is left out.
Steps are those of `teacher.dp_teacher`, of full batches, side by side for all noises of scores.
"""

import argparse
import csv
import functools
import gzip
import itertools
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from _harness import argument_parser, measurement, memory_mb, record, report, timed
from _untuned import leaves, tissues

import jaxdp
from jaxdp.methods.made import softmax
from jaxdp.methods.steps import compute_anew
from jaxdp.methods.teacher import probabilities, schedule
from jaxdp.methods.teacher.public_maps import public_map
from jaxdp.methods.teacher.settings import MapOptions
from jaxdp.methods.teacher.view import CONSTANT, as_they_are, centred_on
from jaxdp.numerics import side_by_side
from jaxdp.privacy import analytic_gaussian_stddev
from jaxdp.privacy.ledger import one_release
from jaxdp.privacy.mechanism import private_key
from jaxdp.program.evaluation.figures import Prediction, calibration_error

FLOORS = (0.1, 0.3, 1.0, 3.0)
NOISES = (0.6, 0.85, 1.2, 1.7, 2.0, 2.4, 3.4)
EPSILONS = (0.3, 1.0, 3.0, 10.0, math.inf)
_POOL, _HELD_OUT, _MOST_HELD_OUT = 13_500, 4, 3000
_DRAWS, _DRAWS_OF_MANY, _MANY = 3, 2, 5000
_CHUNK = 500
_TODAY = NOISES.index(2.0)


class Pool(NamedTuple):
    """Examples of a set's training part: rows as stored, labels, facts; floors that differ."""

    x: np.ndarray
    y: np.ndarray
    spec: jaxdp.Spec | None
    floors: tuple[float, ...] = FLOORS


def _images(name: str, x: np.ndarray, y: np.ndarray) -> Pool:
    order = np.random.default_rng(5).permutation(len(x))[:_POOL]
    y = y.reshape(-1)[order].astype(np.int32)
    names = [str(label) for label in range(int(y.max()) + 1)]
    x = x[order]
    return Pool(x.reshape(len(x), -1), y, jaxdp.Spec.images(name, x.shape, class_names=names))


def _npz(name: str, shape: tuple[int, ...], data_dir: Path) -> Pool:
    with np.load(data_dir / f"{name}.npz") as arrays:
        return _images(name, arrays["x_train"].reshape(-1, *shape), arrays["y_train"])


def _digits(data_dir: Path) -> Pool:
    del data_dir
    from sklearn.datasets import load_digits

    digits = load_digits()
    return _images("digits", np.rint(255 / 16 * digits.images).astype(np.uint8), digits.target)


def _pneumonia(data_dir: Path) -> Pool:
    with np.load(data_dir / "pneumonia_balanced.npz") as arrays:
        x, y = arrays["train_images"], arrays["train_labels"]
    return _images("pneumonia", x, y)


def _drawn(draw: Any, size: int, data_dir: Path) -> Pool:
    found = draw(size, data_dir)
    return _images("drawn", found.x, found.y)


def _adult(data_dir: Path) -> Pool:
    """Return one-hot cells of the columns, of norm 1: numbers in 16 cells between public bounds."""
    bounds = {0: (17, 90), 2: (0, 1.5e6), 4: (1, 16), 10: (0, 1e5), 11: (0, 5e3), 12: (1, 99)}
    with gzip.open(data_dir / "adult.csv.gz", "rt") as lines:
        cells = np.array([[v.strip() for v in row] for row in csv.reader(lines) if len(row) > 10])
    cells = cells[cells[:, 0] != "age"]
    parts = []
    for place, column in enumerate(cells[:, :-1].T):
        if place in bounds:
            low, high = bounds[place]
            which = np.clip(16 * (column.astype(float) - low) / (high - low), 0, 15).astype(int)
        else:
            which = np.unique(column, return_inverse=True)[1]
        parts.append(np.eye(which.max() + 1, dtype=np.float32)[which])
    rows = np.concatenate(
        [*parts, np.full((len(cells), 1), CONSTANT * math.sqrt(len(parts)))], axis=1
    )
    y = (np.char.find(cells[:, -1], ">") >= 0).astype(np.int32)
    order = np.random.default_rng(3).permutation(len(rows))[:_POOL]
    scale = np.float32(1 / math.sqrt(len(parts)))
    return Pool((scale * rows[order]).astype(np.float32), y[order], None, (0.0,))


SETS: dict[str, Callable[[Path], Pool]] = {
    "mnist": functools.partial(_npz, "mnist", (28, 28)),
    "fashion_mnist": functools.partial(_npz, "fashion_mnist", (28, 28)),
    "cifar10": functools.partial(_npz, "cifar10", (32, 32, 3)),
    "digits": _digits,
    "pneumonia": _pneumonia,
    "tissues": functools.partial(_drawn, tissues, _POOL),
    "leaves": functools.partial(_drawn, leaves, 5000),
    "adult": _adult,
}


def features(pool: Pool, floor: float) -> np.ndarray:
    """Return the public features of a pool; photographs without patches, which take minutes."""
    if pool.spec is None:
        return pool.x
    mirror = pool.spec.shape[-1] > 1
    options = MapOptions(whiten=floor, mirror=mirror, patches=0, brightness=0.1, unit_norm=True)
    codec = pool.spec.codec
    fn = public_map(options, pool.spec, compute_anew)
    compiled = jax.jit(lambda rows: fn(codec.to_unit(rows)).astype(jnp.float16))
    starts = range(0, len(pool.x), _CHUNK)
    return np.concatenate(
        [*side_by_side(lambda at: np.asarray(compiled(pool.x[at : at + _CHUNK])), starts)]
    )


@functools.partial(jax.jit, static_argnames=("num_classes", "steps"))
def _trained(
    rows: jax.Array,
    labels: jax.Array,
    keys: jax.Array,
    rates: jax.Array,
    noise: jax.Array,
    num_classes: int,
    steps: int,
) -> jax.Array:
    """Return the averaged weights (p, k c) of k trainings of different rates."""
    (n, p), k, c = rows.shape, len(rates), num_classes
    lengths = jnp.linalg.norm(rows, axis=1)[:, None]
    targets = jax.nn.one_hot(labels, c)[:, None]
    start, clip = math.floor(0.7 * steps), schedule.CLIP_NORM

    def step(now: Any, carry: Any) -> Any:
        weights, total = carry
        residuals = jax.nn.softmax((rows @ weights).reshape(n, k, c)) - targets
        norms = lengths * jnp.linalg.norm(residuals, axis=2)
        clipped = residuals * (jnp.minimum(1.0, clip / norms) / clip)[..., None]
        folded = jax.vmap(jax.random.fold_in, (0, None))(keys, now)
        draws = jax.vmap(lambda key: jax.random.normal(key, (p, c)), out_axes=1)(folded)
        mean = (rows.T @ clipped.reshape(n, k * c)).reshape(p, k, c) / n
        moved = rates[:, None] * (mean + noise * math.sqrt(steps) / n * draws)
        weights = weights - moved.reshape(p, k * c)
        return weights, total + jnp.where(now >= start, 1.0, 0.0) * weights

    nothing = jnp.zeros((p, k * c))
    return jax.lax.fori_loop(0, steps, step, (nothing, nothing))[1] / (steps - start)


def _seen(
    rows: np.ndarray, train: np.ndarray, nu: float, stddev: float, seed: int
) -> tuple[np.ndarray, float]:
    """Return rows as training sees them, and the part of the budget that their mean has had."""
    n, p = len(train), rows.shape[1]
    share = schedule.mean_share(nu, p) if stddev else schedule.mean_share(0.0, p)
    if stddev and not share:
        view = centred_on(jnp.zeros(p), noise=0.0)
        return np.asarray(view.seen(jnp.asarray(rows, jnp.float32))), 0.0
    noise = stddev / (n * math.sqrt(share)) if stddev else 0.0
    draws = np.random.default_rng(seed).normal(0, noise, p) if noise else 0.0
    mean = rows[train].mean(axis=0, dtype=np.float64) + draws
    view = centred_on(jnp.asarray(mean, jnp.float32), noise=noise)
    return np.asarray(view.seen(jnp.asarray(rows, jnp.float32))), share


class Judged(NamedTuple):
    """Accuracies in percent, by the noise of scores at which training stops; of today's rules, the
    error of calibration of probabilities, and without the release that makes them.
    """

    accuracies: np.ndarray
    calibration_error: float
    of_scores: float


def judged(rows: np.ndarray, pool: Pool, n: int, eps: float, seed: int) -> Judged:
    """Return how good teachers are."""
    order = np.random.default_rng(100 + seed).permutation(len(rows))
    held = min(_MOST_HELD_OUT, len(rows) // _HELD_OUT)
    test, train = order[:held], order[held : held + n]
    stddev = (
        analytic_gaussian_stddev(epsilon=eps, delta=1e-5, sensitivity=1.0)
        if eps < math.inf
        else 0.0
    )
    nu = min(1.0, math.hypot(stddev, schedule.SAMPLING) / n)
    seen, share = _seen(rows, train, nu, stddev, seed)
    left = (1 - share) * (1 - schedule.calibration_share(nu))
    c, steps = int(pool.y.max()) + 1, schedule.passes(nu)
    weights = _trained(
        jnp.asarray(seen[train]),
        jnp.asarray(pool.y[train]),
        jax.random.split(jax.random.key(seed), len(NOISES)),
        jnp.asarray(NOISES) / nu / steps,
        jnp.asarray(stddev / math.sqrt(left)),
        c,
        steps,
    )
    scores = (seen[test] @ np.asarray(weights)).reshape(held, len(NOISES), c)
    found = 100 * np.mean(np.argmax(scores, axis=2) == pool.y[test, None], axis=0)
    today = weights.reshape(-1, len(NOISES), c)[:, _TODAY]
    noise = stddev / math.sqrt((1 - share) * schedule.calibration_share(nu))
    better = _calibrated(today, seen[train], pool.y[train], noise, nu, seed)
    errors = [
        calibration_error(pool.y[test], Prediction(np.argmax(each, axis=1), softmax(each)))
        for each in (seen[test] @ np.asarray(better), scores[:, _TODAY])
    ]
    return Judged(found, *errors)


def _calibrated(
    weights: jax.Array, seen: np.ndarray, y: np.ndarray, noise: float, nu: float, seed: int
) -> jax.Array:
    last = probabilities.Last(
        one_release(len(y), noise_multiplier=noise),
        length=schedule.length(nu),
        usual=schedule.usual_temperature(nu),
    )
    calibrate = probabilities.calibrated(last, clip_norm=schedule.CLIP_NORM, chunk_size=_CHUNK)
    view = as_they_are(len(weights))
    return calibrate(private_key(seed), weights, view, jnp.asarray(seen), jnp.asarray(y))


def records(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure every case."""
    names, sizes = args.sets.split(","), [int(size) for size in args.sizes.split(",")]
    epsilons = EPSILONS
    if args.quick:
        names, sizes, epsilons = ["digits"], [60], (10.0,)
    for name in names:
        try:
            pool = SETS[name](args.data_dir)
        except FileNotFoundError:
            continue
        most = len(pool.x) - min(_MOST_HELD_OUT, len(pool.x) // _HELD_OUT)
        floors = pool.floors[:1] if args.quick else pool.floors
        for floor in floors:
            rows = features(pool, floor)
            for n in sorted({min(size, most) for size in sizes}):
                yield from _of_size(name, pool, rows, n, epsilons, floor)


def _of_size(
    name: str, pool: Pool, rows: np.ndarray, n: int, epsilons: tuple[float, ...], floor: float
) -> Iterator[dict[str, Any]]:
    draws = _DRAWS if n < _MANY else _DRAWS_OF_MANY
    for eps in epsilons:
        before = memory_mb()
        seconds, found = timed(
            lambda eps=eps: [judged(rows, pool, n, eps, seed) for seed in range(draws)]
        )
        means = Judged(*(np.mean(each, axis=0) for each in zip(*found, strict=True)))
        errors = {}
        if floor in (0.0, schedule.floor(_noise(n, eps))):
            errors["calibration_error"] = round(float(means.calibration_error), 4)
            errors["of_scores"] = round(float(means.of_scores), 4)
        yield record(
            f"{name} n={n} eps={eps:g} floor={floor:g}",
            measurement(seconds, 0.0, before),
            None,
            **{"set": name, "n": n, "eps": eps, "floor": floor, "noises": NOISES},
            accuracies=[round(float(value), 2) for value in means.accuracies],
            **errors,
        )


# --- The fit --------------------------------------------------------------------------------------

_Cells = dict[tuple[str, int, float], dict[float, list[float]]]
_CUTS = (1e-5, 3e-5, 7e-5, 1.5e-4, 3e-4, 6e-4, 1e-3, 2e-3, 4e-3)


@functools.cache
def _noise(n: int, eps: float) -> float:
    stddev = (
        analytic_gaussian_stddev(epsilon=eps, delta=1e-5, sensitivity=1.0)
        if eps < math.inf
        else 0.0
    )
    return min(1.0, math.hypot(stddev, schedule.SAMPLING) / n)


def _gap(cells: _Cells, key: tuple[str, int, float], at: int, cuts: tuple[float, ...]) -> float:
    """Return how far a rule is from the best of a cell, in points."""
    grid = cells[key]
    floor = next(
        f for f, cut in zip(FLOORS, (*cuts, math.inf), strict=True) if _noise(*key[1:]) <= cut
    )
    chosen = grid.get(floor) or grid[0.0]
    return max(max(row) for row in grid.values()) - chosen[at]


def _fitted(cells: _Cells, names: list[str]) -> tuple[float, int, tuple[float, ...]]:
    """Return the least mean gap of sets, with the noise of scores and the cuts that have it."""
    keys = [key for key in cells if key[0] in names]
    rules = itertools.product(range(len(NOISES)), itertools.combinations(_CUTS, len(FLOORS) - 1))
    return min(
        (float(np.mean([_gap(cells, key, at, cuts) for key in keys])), at, cuts)
        for at, cuts in rules
    )


def fit(path: Path) -> None:
    """Print the fit of both rules, with each set left out in its turn."""
    cells: _Cells = {}
    errors: dict[tuple[int, float], dict[str, str]] = {}
    for line in path.read_text().splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            cells.setdefault((row["set"], row["n"], row["eps"]), {})[row["floor"]] = row[
                "accuracies"
            ]
            if "of_scores" in row:
                said = f"{row['calibration_error']:.3f} ({row['of_scores']:.3f})"
                errors.setdefault((row["n"], row["eps"]), {})[row["set"]] = said
    names = list(dict.fromkeys(key[0] for key in cells))
    today = _TODAY, tuple(cut for cut, _ in schedule.FLOORS[:-1])
    print(
        "set left out    noise  floors rise at          gap: mean, most   today's rules: mean, most"
    )
    for left in names:
        _, at, cuts = _fitted(cells, [name for name in names if name != left])
        keys = [key for key in cells if key[0] == left]
        own = [_gap(cells, key, at, cuts) for key in keys]
        rule = [_gap(cells, key, *today) for key in keys]
        where = ", ".join(f"{cut:g}" for cut in cuts)
        print(
            f"{left:15s} {NOISES[at]:5g}  {where:22s} {np.mean(own):9.2f} {max(own):6.2f}"
            f" {np.mean(rule):24.2f} {max(rule):6.2f}"
        )
    print("\nn, eps          gap of today's rules, by set")
    for n, eps in sorted({key[1:] for key in cells}):
        gaps = {k[0]: _gap(cells, k, *today) for k in cells if k[1:] == (n, eps)}
        print(f"{n:6d} {eps:5g}  " + "  ".join(f"{name} {gap:.1f}" for name, gap in gaps.items()))
    print("\nn, eps          error of calibration, and without the release, by set")
    for (n, eps), said in sorted(errors.items()):
        print(f"{n:6d} {eps:5g}  " + "  ".join(f"{name} {each}" for name, each in said.items()))


def main() -> None:
    """Run the benchmark, or fit the rules to what it has measured."""
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--data_dir", type=Path, default=Path("data"), help="has the sets' files")
    parser.add_argument("--sets", default=",".join(SETS), help="names, by commas")
    parser.add_argument("--sizes", default="300,1000,3000,10000", help="numbers, by commas")
    parser.add_argument("--fit", type=Path, help="what an earlier run has written")
    args = parser.parse_args()
    if args.fit:
        fit(args.fit)
    else:
        report(records(args), columns=("accuracies", "seconds"), out=args.out)


if __name__ == "__main__":
    main()
