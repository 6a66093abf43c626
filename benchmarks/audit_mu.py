"""Audits of single releases by many draws: mu as it is measured beside mu as it is claimed.

    python benchmarks/audit_mu.py [--draws=40000] [--epsilon=1] [--only=TEXT] [--quick]

A release is made again and again, through the product's own functions and with keys from the
operating system's stream cipher, from two datasets that differ in one record: the pair that moves
it furthest. Each release is read along the line on which the record moves it, which is all that an
attacker needs. Two normal distributions are seen; their distance over their spread is mu.

Columns: `claim`, mu of Gaussian differential privacy by the accountant; `reach`, how far the pair
moves the release, over the sensitivity that is claimed; `measured`, mu with its standard `error`;
`at_least`, the lower bound at 95 %; `share`, measured over claimed; `holds`, whether the bound is
below the claim, at 5 % over the number of rows.

References:
    Nasr et al. (2023), "Tight auditing of differentially private machine learning", section 4.3
    (mu of Gaussian differential privacy from scores of many runs).
"""

import dataclasses
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import _audit_releases as single
import _audit_training as training
import jax
import numpy as np
from _audit_cases import DELTA
from _harness import argument_parser, measurement, record, report, start_memory_mb
from scipy import stats

from jaxdp.data import Spec
from jaxdp.features import base as feature_maps
from jaxdp.features.base import FeatureMap
from jaxdp.methods.dp_ntk import features as feature_registry
from jaxdp.methods.steps import compute_anew
from jaxdp.privacy import accounting
from jaxdp.privacy.mechanism import private_key
from jaxdp.tables.schema import BINS, Schema

_QUICK_DRAWS, _AT_ONCE = 400, 4000
_SIGNIFICANCE = 0.05
_COLUMNS = ("claim", "reach", "measured", "error", "at_least", "share", "holds")
# A table of four columns, in every one of which two records can differ.
_TABLE = {
    **{name: {"type": "categorical", "categories": list("abcd")} for name in ("u", "v", "w")},
    "z": {"type": "numeric", "lower": 0, "upper": 1, "bins": 8},
    "t": {"type": "categorical", "categories": ["no", "yes"], "target": True},
}
Scores = Callable[[bool, jax.Array], np.ndarray]


@dataclasses.dataclass(frozen=True)
class Case:
    """A release under audit.

    Attributes:
        mu: that is claimed.
        reach: how far the record moves the release, over the sensitivity that is claimed.
        scores: `(whether the record is in, keys) -> (draws,)`, a release for each key, read along
            the line on which the record moves it.
    """

    mu: float
    reach: float
    scores: Scores


def _of_pairs(
    pairs: single.Pairs, features: FeatureMap, epsilon: float, *, weights: bool = False
) -> Case:
    """Return an embedding, or class weights beside one, of a record that is replaced."""
    released = single.calibrated(pairs, features, epsilon=epsilon, delta=DELTA, weights=weights)
    inside, outside = (
        single.exact(pairs, features, everyone=side, weights=weights) for side in (True, False)
    )
    moved = float(np.linalg.norm(inside - outside))
    line = (inside - outside) / moved

    def scores(is_in: bool, keys: jax.Array) -> np.ndarray:
        seen = single.release(pairs, np.array([is_in]), features, released, keys)
        return np.einsum("rkp,kp->r", seen - outside, line)

    reach = moved / (released[-1].sensitivity * pairs.num_examples)
    return Case(1 / single.claimed(released).noise_multiplier, reach, scores)


def _embedding(features: str) -> Callable[[float], Case]:
    def case(epsilon: float) -> Case:
        pairs = single.pairs("furthest", features, canaries=1)
        return _of_pairs(pairs, single.features_of(features)[0], epsilon)

    return case


def _counts(features: str) -> Callable[[float], Case]:
    """Audit counts of a table's columns or pairs, by two records that differ in every column."""

    def case(epsilon: float) -> Case:
        schema = Schema.from_json({"columns": _TABLE})
        spec = Spec.table("audited", schema, 1, form=BINS)
        options = feature_registry.FeatureOptions(
            features=features,
            network="fc_1l",
            ntk_width="8",
            moments=1,
            product_share=0.5 if features == "pairs" else None,
        )
        found = feature_registry.build_features(options, spec, 1, compute_anew)
        stored = np.array([[0, 1, 2, 0.1], [3, 2, 0, 0.9], [1, 1, 1, 0.5], [2, 0, 3, 0.3]])
        rows = np.asarray(spec.codec.to_unit(stored.astype(np.float32)))
        pairs = single.Pairs(
            inside=rows[:1],
            outside=rows[1:2],
            labels_inside=np.zeros(1, int),
            labels_outside=np.zeros(1, int),
            rest=rows[2:],
            labels_rest=np.zeros(2, int),
            num_classes=1,
        )
        return _of_pairs(pairs, found, epsilon)

    return case


def _class_weights(epsilon: float) -> Case:
    features = feature_maps.unit_features(lambda rows: rows, 1)
    return _of_pairs(single.label_pairs(canaries=1), features, epsilon, weights=True)


def _class_means(epsilon: float) -> Case:
    """Audit means of features of every class, by a record that is emptied."""
    audited = training.records("orthogonal", canaries=1, rest=4, width=8)
    noise = accounting.analytic_gaussian_stddev(epsilon=epsilon, delta=DELTA, sensitivity=1.0)
    line = single.class_mean_contributions(audited)[0]
    reach = float(np.linalg.norm(line))
    line /= reach

    def scores(is_in: bool, keys: jax.Array) -> np.ndarray:
        seen = single.release_class_means(audited, np.array([is_in]), noise, keys)
        return seen.reshape(len(keys), -1) @ line

    return Case(1 / noise, reach, scores)


CASES: dict[str, Callable[[float], Case]] = {
    **{
        f"embedding {name}": _embedding(name)
        for name in ("entk", "rff", "hermite", "scatter", "scatter_rbf", "encoder_rbf")
    },
    "counts of columns": _counts("marginals"),
    "counts of pairs": _counts("pairs"),
    "class means": _class_means,
    "class weights": _class_weights,
}


def measured(case: Case, draws: int) -> tuple[float, float]:
    """Return mu as it is measured, and its standard error."""
    key = private_key()
    sides = []
    for number, is_in in enumerate((False, True)):
        keys = jax.random.split(jax.random.fold_in(key, number), draws)
        parts = [case.scores(is_in, keys[at : at + _AT_ONCE]) for at in range(0, draws, _AT_ONCE)]
        sides.append(np.concatenate(parts))
    spread = math.sqrt((np.var(sides[0], ddof=1) + np.var(sides[1], ddof=1)) / 2)
    mu = float((np.mean(sides[1]) - np.mean(sides[0])) / spread)
    return mu, math.sqrt(2 / draws + mu**2 / (4 * draws))


def records(draws: int, epsilons: tuple[float, ...], only: str) -> Iterator[dict[str, Any]]:
    """Audit what is wanted, and judge it."""
    wanted = [(name, epsilon) for epsilon in epsilons for name in CASES if only in name]
    for name, epsilon in wanted:
        before, started = start_memory_mb(()), time.perf_counter()
        case = CASES[name](epsilon)
        mu, error = measured(case, draws)
        sure = mu - stats.norm.isf(_SIGNIFICANCE / len(wanted)) * error
        yield record(
            f"{name}, epsilon {epsilon:g}",
            measurement(time.perf_counter() - started, None, before),
            None,
            claim=case.mu,
            reach=case.reach,
            measured=mu,
            error=error,
            at_least=mu - stats.norm.isf(_SIGNIFICANCE) * error,
            share=mu / case.mu,
            holds="yes" if sure <= case.mu else "NO",
        )


def main() -> None:
    """Run the audits."""
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=40_000, help="of each release, on either side")
    parser.add_argument("--epsilon", type=float, help="of what is audited (1 and 8)")
    parser.add_argument("--only", default="", help="text in the names of what is audited")
    args = parser.parse_args()
    epsilons = (1.0, 8.0) if args.epsilon is None else (args.epsilon,)
    draws, only = (_QUICK_DRAWS, "class") if args.quick else (args.draws, args.only)
    # Releases compile the same programs again and again.
    with tempfile.TemporaryDirectory() as folder:
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        report(records(draws, epsilons, only), columns=_COLUMNS, out=args.out)


if __name__ == "__main__":
    main()
