"""Every audited mechanism under attack: scores of one large run and of many small ones."""

import dataclasses
import functools
import math

import _audit_counts as counts
import _audit_releases as single
import _audit_training as training
import jax
import numpy as np

from jaxdp.features import base as feature_maps
from jaxdp.features.base import FeatureMap
from jaxdp.privacy import accounting, calibration
from jaxdp.privacy.ledger import one_release
from jaxdp.privacy.mechanism import SubsampledGaussian, private_key

DELTA = 1e-5
RATE, STEPS = 0.5, 12
EVERY, FINAL, ONCE = "every checkpoint", "final result", "single release"
_WIDTH_PER_CANARY = 3


@dataclasses.dataclass(frozen=True)
class Size:
    """How large an audit is: canaries of one run, runs on either side, simulations of a ceiling."""

    canaries: int
    runs: int
    repetitions: int


@dataclasses.dataclass(frozen=True)
class Attack:
    """Scores of canaries in one run, and of one canary over runs with it out and with it in."""

    included: np.ndarray
    scores: np.ndarray
    outside: np.ndarray
    inside: np.ndarray


def _coins(canaries: int, seed: int) -> np.ndarray:
    """Return which canaries are in."""
    return np.random.default_rng(seed).random(canaries) < 0.5


def _keys(seed: int, part: int, number: int) -> jax.Array:
    """Return keys of a part of an audit: its one large run, or many of either kind."""
    return jax.random.split(jax.random.fold_in(private_key(seed), part), number)


@functools.cache
def training_claim(epsilon: float) -> SubsampledGaussian:
    """Return the noisy sums that training is accounted as at a budget; no noise at infinity."""
    unit = SubsampledGaussian(
        num_examples=1, sampling_rate=RATE, num_steps=STEPS, clip_norm=1.0, noise_multiplier=0.0
    )
    if math.isinf(epsilon):
        return unit
    return calibration.calibrate(unit, target_epsilon=epsilon, delta=DELTA)


def class_means_claim(epsilon: float) -> SubsampledGaussian:
    """Return the release that class means are accounted as at a budget; no noise at infinity."""
    noise = 0.0
    if math.isfinite(epsilon):
        noise = accounting.analytic_gaussian_stddev(epsilon=epsilon, delta=DELTA, sensitivity=1.0)
    return one_release(1, noise_multiplier=noise)


def _records(kind: str, size: Size) -> tuple[training.Audited, training.Audited]:
    """Return the records of one large run and of many small ones."""
    m = size.canaries
    many = training.records(kind, canaries=m, rest=m // 5, width=_WIDTH_PER_CANARY * m)
    return many, training.records(kind, canaries=1, rest=4, width=8)


def training_attacks(
    name: str, kind: str, noise: float, size: Size, seed: int
) -> dict[str, Attack]:
    """Attack training under both threat models.

    Args:
        name: of `_audit_training.NAMES`.
        kind: of `_audit_training.KINDS`.
        noise: multiplier that it really adds; the attacker knows it.
        size: of the audit.
        seed: of coins, draws and noise.
    """
    many, one = _records(kind, size)
    included = _coins(size.canaries, seed)
    large = _trained(name, many, included, noise, _keys(seed, 0, 1))
    outside = _trained(name, one, np.zeros(1, bool), noise, _keys(seed, 1, size.runs))
    inside = _trained(name, one, np.ones(1, bool), noise, _keys(seed, 2, size.runs))
    return {
        threat: Attack(included, large[threat][0], outside[threat][:, 0], inside[threat][:, 0])
        for threat in (EVERY, FINAL)
    }


def _trained(
    name: str, audited: training.Audited, included: np.ndarray, noise: float, keys: jax.Array
) -> dict[str, np.ndarray]:
    """Return the scores (runs, canaries) of one setting under both threat models."""
    mechanism = training.mechanism_for(audited, rate=RATE, steps=STEPS, noise=noise)
    trained = training.trainer(name, mechanism, audited.x.shape[1])
    known, m = training.contributions(name, audited), audited.canaries
    sums, results = training.run(trained, audited, included, keys)
    weights = training.result_weights(trained, audited, len(keys))
    return {
        EVERY: training.scores_of_sums(mechanism, sums, known, m),
        FINAL: training.scores_of_results(mechanism, weights, results, known, m),
    }


def class_means_attack(kind: str, noise: float, size: Size, seed: int) -> Attack:
    """Attack the release of class means; arguments as for `training_attacks`."""

    def scores(audited: training.Audited, included: np.ndarray, keys: jax.Array) -> np.ndarray:
        sums = single.release_class_means(audited, included, noise, keys)
        known = single.class_mean_contributions(audited)
        released = one_release(len(audited.x), noise_multiplier=noise)
        return training.scores_of_sums(released, sums, known, audited.canaries)

    many, one = _records(kind, size)
    included = _coins(size.canaries, seed)
    return Attack(
        included,
        scores(many, included, _keys(seed, 0, 1))[0],
        scores(one, np.zeros(1, bool), _keys(seed, 1, size.runs))[:, 0],
        scores(one, np.ones(1, bool), _keys(seed, 2, size.runs))[:, 0],
    )


def embedding_attack(
    features: str, kind: str, epsilon: float, size: Size, seed: int
) -> tuple[Attack, SubsampledGaussian]:
    """Attack the embedding by features of the registry; return the attack and the claim."""
    many, one = (single.pairs(kind, features, canaries=m) for m in (size.canaries, 1))
    return _release_attack(many, one, single.features_of(features)[0], epsilon, size, seed)


def weights_attack(epsilon: float, size: Size, seed: int) -> tuple[Attack, SubsampledGaussian]:
    """Attack the class weights beside an embedding with next to nothing of the budget."""
    many, one = (single.label_pairs(canaries=m) for m in (size.canaries, 1))
    features = feature_maps.unit_features(lambda rows: rows, 1)
    return _release_attack(many, one, features, epsilon, size, seed, weights=True)


def counts_attack(
    what: str, relation: str, epsilon: float, size: Size, seed: int
) -> tuple[Attack, SubsampledGaussian]:
    """Attack counts of a table; return the attack and the claim."""
    release = counts.calibrated(relation, epsilon=epsilon, delta=DELTA)
    included = _coins(size.canaries, seed)
    attack = Attack(
        included,
        counts.scores(what, included, release, _keys(seed, 0, 1))[0],
        counts.scores(what, np.zeros(1, bool), release, _keys(seed, 1, size.runs))[:, 0],
        counts.scores(what, np.ones(1, bool), release, _keys(seed, 2, size.runs))[:, 0],
    )
    return attack, single.claimed([release])


def _release_attack(
    many: single.Pairs,
    one: single.Pairs,
    features: FeatureMap,
    epsilon: float,
    size: Size,
    seed: int,
    *,
    weights: bool = False,
) -> tuple[Attack, SubsampledGaussian]:
    calibrated = functools.partial(
        single.calibrated, features=features, epsilon=epsilon, delta=DELTA, weights=weights
    )

    def scores(audited: single.Pairs, included: np.ndarray, keys: jax.Array) -> np.ndarray:
        return single.scores_of_release(audited, included, features, calibrated(audited), keys)

    included = _coins(len(many.inside), seed)
    attack = Attack(
        included,
        scores(many, included, _keys(seed, 0, 1))[0],
        scores(one, np.zeros(1, bool), _keys(seed, 1, size.runs))[:, 0],
        scores(one, np.ones(1, bool), _keys(seed, 2, size.runs))[:, 0],
    )
    return attack, single.claimed(calibrated(many))
