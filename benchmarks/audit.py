"""Audits: lower bounds on the epsilon of every mechanism, from attacks, beside what is claimed.

    python benchmarks/audit.py [--canaries=500] [--runs=1000] [--epsilon=8] [--only=TEXT] [--quick]

Every mechanism is attacked at epsilon 1, 3 and 8 and without noise, by worst-case canaries, under
two threat models: every checkpoint seen, final result only (one and the same for a single release).
See `_audit_bounds` for the lower bounds at 95 % and their ceilings, `_audit_training` and
`_audit_releases` for attacks and canaries. A bound at 95 % is above the claim of a correct
mechanism once in twenty times at most, and more rarely the further its ceiling is below the claim.
A bound far below its ceiling means a weak attack, which proves nothing. Without noise an attack has
to succeed, or it would not have noticed.

Columns: `auroc` and `tpr` (at 1 % of false positives) of the one-run attack; the bounds `one_run`,
`fdp` and `many_run` with their ceilings (`_max`); `best`, the largest bound, and `share`, its part
of the largest ceiling; `holds`, whether no bound is above the claim, each at a significance of 5 %
over the number of bounds, so that tables of correct mechanisms say NO somewhere once in twenty
times at most; `caught`, whether the attack on no noise reaches half of its ceiling, which stands
for guesses that are all right.
"""

import argparse
import dataclasses
import itertools
import math
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import _audit_bounds as bounds
import _audit_cases as cases
import _audit_counts as counts
import _audit_releases as single
import _audit_training as training
import jax
from _audit_cases import DELTA, EVERY, FINAL, ONCE, Attack, Size
from _harness import argument_parser, measurement, record, report, start_memory_mb

from jaxdp.methods.dp_ntk.features import FEATURES
from jaxdp.privacy import relations
from jaxdp.privacy.mechanism import SubsampledGaussian
from jaxdp.privacy.relations import REPLACE, ZERO_OUT

_EPSILONS = (1.0, 3.0, 8.0, math.inf)
_REPETITIONS, _QUICK = 41, Size(canaries=20, runs=40, repetitions=3)
# More classes would bring shares near the least weight that is released; pairs of more cells would
# take long.
_MOST_LABEL_CANARIES = 200
# Three for every row of the whole table, or a few less.
_NUM_BOUNDS = 3 * 4 * (18 + 3 + 4 + 15 + 1)
_COLUMNS = (
    "claim",
    "relation",
    "auroc",
    "tpr",
    "one_run",
    "one_run_max",
    "fdp",
    "fdp_max",
    "many_run",
    "many_run_max",
    "best",
    "share",
    "holds",
    "caught",
)
Judged = tuple[str, Attack, SubsampledGaussian]
Audit = Callable[[int], list[Judged]]


def judge(attack: Attack, claim: SubsampledGaussian, epsilon: float, size: Size) -> dict[str, Any]:
    """Return bounds, ceilings and verdicts of an attack on what `claim` describes.

    Args:
        attack: all scores.
        claim: what is accounted; rate, steps and noise multiplier count.
        epsilon: of the claim, at `DELTA`.
        size: of the audit.
    """
    # Without what does not change ceilings, the last digits included: they are computed once.
    ideal = dataclasses.replace(
        claim, num_examples=1, clip_norm=1.0, noise_multiplier=round(claim.noise_multiplier, 9)
    )
    plan = bounds.plan(
        ideal,
        canaries=len(attack.scores),
        runs=size.runs,
        delta=DELTA,
        repetitions=size.repetitions,
    )
    found = _bounds(attack, ideal, plan, bounds.SIGNIFICANCE)
    surest = _bounds(attack, ideal, plan, bounds.SIGNIFICANCE / _NUM_BOUNDS)
    ceilings = {
        "one_run_max": plan.one_run_ceiling,
        "fdp_max": plan.fdp_ceiling,
        "many_run_max": plan.many_run_ceiling,
    }
    best, most = max(found.values()), max(ceilings.values())
    roc = bounds.auditing.CanaryScoreAuditor(
        attack.scores[attack.included], attack.scores[~attack.included]
    )
    return {
        "auroc": float(roc.attack_auroc()),
        "tpr": float(roc.tpr_at_given_fpr(0.01)),
        **found,
        **ceilings,
        "best": best,
        "share": best / most if most > 0 else None,
        "holds": _answer(max(surest.values()) <= epsilon),
        "caught": None if math.isfinite(epsilon) else _answer(best >= most / 2),
    }


def _bounds(
    attack: Attack, ideal: SubsampledGaussian, plan: bounds.Plan, significance: float
) -> dict[str, float]:
    common = {"delta": DELTA, "significance": significance}

    def right(guesses: int) -> dict[str, Any]:
        correct = bounds.correct_guesses(attack.scores, attack.included, guesses)
        return {"canaries": len(attack.scores), "guesses": guesses, "correct": correct, **common}

    return {
        "one_run": bounds.one_run_bound(**right(plan.one_run_guesses)),
        "fdp": bounds.fdp_bound(ideal, **right(plan.fdp_guesses)),
        "many_run": bounds.many_run_bound(attack.outside, attack.inside, **common),
    }


def _answer(good: bool) -> str:
    return "yes" if good else "NO"


def audits(size: Size) -> Iterator[tuple[str, str, float, Audit]]:
    """Yield a name, the relation, epsilon and what attacks it, for each row or two of the table."""
    few = dataclasses.replace(size, canaries=min(size.canaries, _MOST_LABEL_CANARIES))
    for epsilon in _EPSILONS:
        for name in training.NAMES:
            for kind in training.KINDS:
                yield f"{name}, {kind}", ZERO_OUT, epsilon, _training(name, kind, epsilon, size)
        for kind in training.KINDS:
            yield f"class means, {kind}", ZERO_OUT, epsilon, _class_means(kind, epsilon, size)
        for what, relation in itertools.product(counts.COUNTED, relations.NAMES):
            yield what, relation, epsilon, _counts(what, relation, epsilon, few)
        # Those of tables are counts, too, whose distance a test tells exactly.
        for features in (each for each in FEATURES if FEATURES[each].kinds != ("table",)):
            for kind in single.PAIRS:
                name = f"embedding {features}, {kind}"
                yield name, REPLACE, epsilon, _embedding(features, kind, epsilon, size)
        yield "class weights, mislabelled", REPLACE, epsilon, _weights(epsilon, few)


def in_quick_run(name: str, epsilon: float) -> bool:
    """Return whether an audit is one of the few that show that the script runs."""
    names = ("class means, mislabelled", "class weights", "embedding rff, poisoned")
    return epsilon == 8 and any(part in name for part in names)


def _training(name: str, kind: str, epsilon: float, size: Size) -> Audit:
    def attack(seed: int) -> list[Judged]:
        claim = cases.training_claim(epsilon)
        found = cases.training_attacks(name, kind, claim.noise_multiplier, size, seed)
        return [(threat, found[threat], claim) for threat in (EVERY, FINAL)]

    return attack


def _class_means(kind: str, epsilon: float, size: Size) -> Audit:
    def attack(seed: int) -> list[Judged]:
        claim = cases.class_means_claim(epsilon)
        return [(ONCE, cases.class_means_attack(kind, claim.noise_multiplier, size, seed), claim)]

    return attack


def _embedding(features: str, kind: str, epsilon: float, size: Size) -> Audit:
    return lambda seed: [(ONCE, *cases.embedding_attack(features, kind, epsilon, size, seed))]


def _counts(what: str, relation: str, epsilon: float, size: Size) -> Audit:
    return lambda seed: [(ONCE, *cases.counts_attack(what, relation, epsilon, size, seed))]


def _weights(epsilon: float, size: Size) -> Audit:
    return lambda seed: [(ONCE, *cases.weights_attack(epsilon, size, seed))]


def records(size: Size, wanted: Callable[[str, float], bool]) -> Iterator[dict[str, Any]]:
    """Attack what is wanted by its name and epsilon, and judge it."""
    for name, relation, epsilon, attack in audits(size):
        if not wanted(name, epsilon):
            continue
        claim = f"({epsilon:g}, {DELTA:g})" if math.isfinite(epsilon) else "none"
        before, started = start_memory_mb(()), time.perf_counter()
        for threat, scores, mechanism in attack(zlib.crc32(f"{name} {claim}".encode())):
            verdict = judge(scores, mechanism, epsilon, size)
            seconds = time.perf_counter() - started
            case = f"{name}, {threat}, {'no noise' if claim == 'none' else f'epsilon {epsilon:g}'}"
            yield record(
                case,
                measurement(seconds, None, before),
                None,
                claim=claim,
                relation=relation,
                **verdict,
            )


def main() -> None:
    """Run the audits."""
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--canaries", type=int, default=500, help="of a one-run audit")
    parser.add_argument("--runs", type=int, default=1000, help="with a canary, and without it")
    parser.add_argument("--only", default="", help="text in the names of what is audited")
    parser.add_argument("--epsilon", type=float, help="of what is audited; inf for no noise")
    args = parser.parse_args()
    # Releases compile the same programs again and again.
    with tempfile.TemporaryDirectory() as folder:
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        audit(args)


def audit(args: argparse.Namespace) -> None:
    """Write the table that the command line asks for."""
    if args.quick:
        rows = records(_QUICK, in_quick_run)
    else:
        size = Size(args.canaries, args.runs, _REPETITIONS)
        rows = records(
            size, lambda name, epsilon: args.only in name and args.epsilon in (None, epsilon)
        )
    report(rows, columns=_COLUMNS, out=args.out)


if __name__ == "__main__":
    main()
