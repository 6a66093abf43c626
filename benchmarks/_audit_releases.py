"""Attacks on what is released once: mean embeddings, class weights, class means of features.

Embeddings and class weights count examples as replaced, so a canary is a pair of records, one of
which is in by a fair coin. As many classes as there are canaries make canaries orthogonal whatever
the features are: a released sum `S` less the sum with all coins "out", projected on what the canary
moves,

    z_i = <S - S_out, D_i> / |D_i|^2,   D_i the part of S_in - S_out in the classes of canary i,

has mean 1 (in) or 0 (out) and variance `stddev^2 / |D_i|^2`: all that there is to know of the coin.
Pairs of three kinds: the two rows whose features are furthest apart, found by gradient ascent over
all rows; a row ten thousand times too large in the place of an ordinary one; a row with another
label. Class weights have the last kind only.

Class means count examples as removed; their canaries are those of `_audit_training`.

References:
    Steinke, Nasr & Jagielski (2023), section 6 (a score is an inner product with the canary).
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from unittest import mock

import _audit_training as training
import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxdp.data import Spec
from jaxdp.features import base as feature_maps
from jaxdp.features.base import FeatureMap
from jaxdp.methods import dp_ntk, teacher
from jaxdp.methods.dp_ntk import features as feature_registry
from jaxdp.methods.steps import compute_anew
from jaxdp.privacy import class_sums, releases
from jaxdp.privacy.ledger import one_release
from jaxdp.privacy.mechanism import SubsampledGaussian
from jaxdp.privacy.relations import REPLACE
from jaxdp.privacy.releases import GaussianRelease

PAIRS = ("furthest", "poisoned", "mislabelled")
# Fewer features than the registry makes: noise for each of them is most of an audit, and the fewer
# frequencies there are for the values of a row, the nearer features come to being opposite.
_SIZES = {
    "_NUM_FREQUENCIES": 500,
    "_NUM_WAVES": 400,
    "_NUM_PIXEL_WAVES": 200,
    "_NUM_ENCODER_WAVES": 200,
    "_HERMITE_ORDER": 20,
}
_CONFIGS: dict[str, tuple[float, tuple[int, ...]]] = {
    "entk": (0.0, (8, 8, 1)),
    "rff": (8.0, (784,)),
    "hermite": (0.5, (64,)),
    "scatter": (0.0, (8, 8, 1)),
    "scatter_rbf": (0.25, (16, 16, 1)),
    "encoder_rbf": (0.25, (16, 16, 1)),
}
"""Length scales and shapes of examples."""
_NUM_LOGITS = 10
_ASCENT_STEPS, _ASCENT_RATE = 400, 0.2
_REST_PER_CLASS = 2
# So that noisy shares stay far above the least weight that is released.
_PER_CLASS_FOR_WEIGHTS = 50
# Of the joint budget, for the embedding beside class weights that are audited.
_LEAST_SHARE = 1e-6
# Of an attack on no noise at all, for finite likelihoods.
_LEAST_NOISE = 1e-3


@dataclasses.dataclass(frozen=True, eq=False)
class Pairs:
    """Datasets under audit: rows (n, d), their labels with all canaries in and with all out.

    Canaries are the first rows. `inside` and `outside` (canaries, d) are a canary's rows.
    """

    inside: np.ndarray
    outside: np.ndarray
    labels_inside: np.ndarray
    labels_outside: np.ndarray
    rest: np.ndarray
    labels_rest: np.ndarray
    num_classes: int

    def chunks(self, included: np.ndarray) -> class_sums.LabelledChunks:
        """Return the dataset with these canaries in, and the partners of the others."""
        rows = np.where(included[:, None], self.inside, self.outside)
        labels = np.where(included, self.labels_inside, self.labels_outside)
        return class_sums.labelled_chunks(
            np.concatenate([rows, self.rest]),
            np.concatenate([labels, self.labels_rest]),
            num_classes=self.num_classes,
            chunk_size=_REST_PER_CLASS + 2,
        )

    @property
    def num_examples(self) -> int:
        """n."""
        return len(self.inside) + len(self.rest)


@functools.cache
def features_of(kind: str) -> tuple[FeatureMap, int]:
    """Return a map of the registry and the length of its rows."""
    length_scale, shape = _CONFIGS[kind]
    options = feature_registry.FeatureOptions(
        features=kind,
        network="fc_1l",
        ntk_width="8",
        moments=1,
        length_scale=length_scale,
        product_share=0.0,
    )
    make_spec = Spec.images if len(shape) == 3 else Spec.rows
    spec = make_spec("audited", (1, *shape), class_names="01")
    with mock.patch.multiple(feature_registry, **_SIZES):
        features = feature_registry.build_features(options, spec, _NUM_LOGITS, compute_anew)
    return features, math.prod(shape)


@functools.cache
def furthest_rows(kind: str) -> np.ndarray:
    """Return two rows (2, d) whose features are as far apart as gradient ascent finds."""
    features, dim = features_of(kind)
    one = jnp.ones(1)

    def nearness(pair: jax.Array) -> jax.Array:
        x, z = (features.weighted_sum(row[None], one) for row in pair)
        return -jnp.sum((x - z) ** 2)

    optimizer = optax.adam(optax.cosine_decay_schedule(_ASCENT_RATE, _ASCENT_STEPS))

    def step(carry, _):
        pair, state = carry
        updates, state = optimizer.update(jax.grad(nearness)(pair), state)
        return (optax.apply_updates(pair, updates), state), None

    row = np.random.default_rng(0).random(dim, np.float32)
    pair = jnp.stack([row, 1 - row])
    climb = jax.jit(lambda carry: jax.lax.scan(step, carry, None, length=_ASCENT_STEPS)[0][0])
    return np.asarray(climb((pair, optimizer.init(pair))))


@functools.cache
def pairs(kind: str, features: str, *, canaries: int) -> Pairs:
    """Return canary pairs of one kind, each in classes of its own, beside ordinary records."""
    dim = features_of(features)[1]
    rng = np.random.default_rng(0)
    per_canary = 2 if kind == "mislabelled" else 1
    num_classes = per_canary * canaries
    inside, outside = rng.random((2, dim), np.float32)
    if kind == "furthest":
        inside, outside = furthest_rows(features)
    elif kind == "poisoned":
        inside = 1e4 * rng.choice(np.float32([-1, 1]), dim)
    else:
        outside = inside
    labels = per_canary * np.arange(canaries)
    return Pairs(
        inside=np.tile(inside, (canaries, 1)),
        outside=np.tile(outside, (canaries, 1)),
        labels_inside=labels,
        labels_outside=labels + per_canary - 1,
        rest=rng.random((_REST_PER_CLASS * num_classes, dim), np.float32),
        labels_rest=np.repeat(np.arange(num_classes), _REST_PER_CLASS),
        num_classes=num_classes,
    )


@functools.cache
def label_pairs(*, canaries: int) -> Pairs:
    """Return records that have one of two labels, beside many of every class."""
    num_classes = 2 * canaries
    labels = 2 * np.arange(canaries)
    rest = np.repeat(np.arange(num_classes), _PER_CLASS_FOR_WEIGHTS)
    row = np.ones((1, 1), np.float32)
    return Pairs(
        inside=np.tile(row, (canaries, 1)),
        outside=np.tile(row, (canaries, 1)),
        labels_inside=labels,
        labels_outside=labels + 1,
        rest=np.tile(row, (len(rest), 1)),
        labels_rest=rest,
        num_classes=num_classes,
    )


def calibrated(
    audited: Pairs, features: FeatureMap, *, epsilon: float, delta: float, weights: bool
) -> tuple[GaussianRelease, ...]:
    """Return the releases; with `weights` the embedding has next to nothing of the budget."""
    moved = dp_ntk.sensitivities(
        features, audited.num_examples, class_weights=weights, relation=REPLACE
    )
    shares = dict.fromkeys(moved, 1.0)
    if weights:
        shares[dp_ntk.EMBEDDING] = _LEAST_SHARE
    return releases.calibrate(
        moved, target_epsilon=epsilon, delta=delta, shares=shares, relation=REPLACE
    )


def claimed(released: Sequence[GaussianRelease]) -> SubsampledGaussian:
    """Return the one Gaussian release that all are accounted as."""
    return one_release(1, noise_multiplier=releases.joint_noise_multiplier(released))


def release(
    audited: Pairs,
    included: np.ndarray,
    features: FeatureMap,
    released: tuple[GaussianRelease, ...],
    keys: jax.Array,
) -> np.ndarray:
    """Return what is released for every key, times n: (runs, classes, features or 1).

    The class weights where there are any, else the embedding.
    """
    chunks, weights = audited.chunks(included), len(released) > 1

    def once(key: jax.Array) -> jax.Array:
        found = dp_ntk.release_embedding(
            key,
            features,
            chunks,
            released,
            num_examples=audited.num_examples,
            num_classes=audited.num_classes,
        )
        return found.class_weights[:, None] if weights else found.mu

    # A map over one key would take every operation's slow way, once per class.
    found = once(keys[0])[None] if len(keys) == 1 else jax.vmap(once)(keys)
    return audited.num_examples * np.asarray(found, np.float64)


@functools.cache
def exact(audited: Pairs, features: FeatureMap, *, everyone: bool, weights: bool) -> np.ndarray:
    """Return what `release` would without noise, all canaries in or all out, for the attacker."""
    chunks = audited.chunks(np.full(len(audited.inside), everyone))
    if weights:
        return np.bincount(chunks.labels, minlength=audited.num_classes)[:, None].astype(float)
    return np.asarray(class_sums.class_sums(features, chunks, num_classes=audited.num_classes))


def scores_of_release(
    audited: Pairs,
    included: np.ndarray,
    features: FeatureMap,
    released: tuple[GaussianRelease, ...],
    keys: jax.Array,
) -> np.ndarray:
    """Make a release for every key and return the scores (runs, canaries) of its attacker."""
    canaries, weights = len(audited.inside), len(released) > 1
    inside, outside = (
        exact(audited, features, everyone=side, weights=weights) for side in (True, False)
    )
    moved = inside - outside
    seen = release(audited, included, features, released, keys) - outside
    squares = np.sum(moved**2, axis=1).reshape(canaries, -1).sum(axis=1)
    products = np.einsum("rkp,kp->rk", seen, moved).reshape(len(keys), canaries, -1).sum(axis=2)
    noise = max(audited.num_examples * released[-1].stddev, _LEAST_NOISE)
    return squares / noise**2 * (products / squares - 0.5)


def class_mean_contributions(audited: training.Audited) -> np.ndarray:
    """Return what every record adds to the sums of features: (records, classes x features)."""
    features = pixel_features(audited.x.shape[1])
    phi = jax.vmap(lambda row: features.weighted_sum(row[None], jnp.ones(1)))(
        jnp.asarray(audited.x)
    )
    one_hot = np.eye(training.NUM_CLASSES)[audited.labels]
    return (one_hot[:, :, None] * np.asarray(phi, np.float64)[:, None]).reshape(len(phi), -1)


def pixel_features(dim: int) -> FeatureMap:
    """Return the map of rows to themselves, divided by their norm."""
    return feature_maps.unit_features(lambda rows: rows, dim)


def release_class_means(
    audited: training.Audited, included: np.ndarray, noise_multiplier: float, keys: jax.Array
) -> np.ndarray:
    """Return noisy sums of features for every key: (runs, 1, classes x features)."""
    n, num_classes = len(audited.x), training.NUM_CLASSES
    chunks = class_sums.labelled_chunks(
        audited.with_canaries(included), audited.labels, num_classes=num_classes, chunk_size=64
    )
    features = pixel_features(audited.x.shape[1])
    means = jax.vmap(
        lambda key: teacher.release_class_means(
            key,
            features,
            chunks,
            num_classes=num_classes,
            num_examples=n,
            noise_multiplier=noise_multiplier,
        )
    )(keys)
    return n / num_classes * np.asarray(means, np.float64).reshape(len(keys), 1, -1)
