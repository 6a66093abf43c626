"""The release that follows a teacher's last step: what makes probabilities of its scores.

Clipped steps stop examples at a margin, not at the odds of their class, and noise is in every
score. So softmax of the scores is too sure, by how much depends on how hard the classes are, and
the right temperature T differs by a factor of five between sets. It is bought: of each record

    gap(T) = max_k p_k(T) - [the likeliest class is the record's own],   p(T) = softmax(s / T),

and the noisy mean of the gaps is released for five temperatures at once. Where it is zero, the
mean confidence is the accuracy. A record's own gradients have moved its score towards its class,
and new examples have none, so a part of that is taken off first: about half, in trials on seven
image sets and a table, as other records would have made up for the rest. Weights grow about evenly
from zero, so the gradients are taken at t s for t from 0 to 1.

Where the user wants all classes taken as equally common, noisy sizes of classes are released with
the gaps, and the scores are lowered by the logarithms of their shares.

References:
    Guo et al. (2017), "On calibration of modern neural networks" (temperature).
    Saerens, Latinne & Decaestecker (2002), "Adjusting the outputs of a classifier to new a priori
    probabilities", eq. 4 (shares).
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from jaxdp.devices import StoredRows
from jaxdp.methods.teacher.view import CONSTANT, View
from jaxdp.privacy import clipping, dp_sgd, sums
from jaxdp.privacy.dp_sgd import ClippedSum
from jaxdp.privacy.ledger import require_one_release
from jaxdp.privacy.mechanism import SubsampledGaussian

TEMPERATURES = (0.8, 1.3, 2.1, 3.4, 5.5)
SENSITIVITY_OF_GAPS = math.sqrt(len(TEMPERATURES))
"""Of the sum of the gaps, each between -1 and 1. `schedule` has it as well, to start fast."""
# Part of its own gradients that a record's score loses, once others have made up for the rest.
_OWN = 0.43
_MOMENTS = 10
# Of the logarithm of a temperature: how far sets differ, how finely and beyond which it is sought.
_SPREAD, _PLACES, _BEYOND = 0.4, 300, 0.3
_LEAST_NOISE = 0.01


class Last(NamedTuple):
    """The release after the last step.

    Attributes:
        mechanism: one release of all examples, of clip norm 1.
        length: the sum of the lengths of the steps, in units of the clip norm.
        usual: the temperature that is likeliest before anything is released.
        by_size: whether sizes of classes are released, and all classes taken as equally common.
    """

    mechanism: SubsampledGaussian
    length: float
    usual: float
    by_size: bool = False


class _Look(NamedTuple):
    step: Array
    found: Array
    weights: Array
    view: View


def calibrated(
    last: Last, *, clip_norm: float, chunk_size: int
) -> Callable[..., Float[Array, "p c"]]:
    """Return `calibrate(key, weights (p, c), view, features (n, p), labels (n,)) -> (p, c)`.

    The result are weights whose softmax are probabilities. Likeliest classes change only where
    classes are to be equally common. It computes in jax's 64-bit mode, whatever the caller's.
    Features may be stored in float16, and may lie on several devices.

    Args:
        last: what the release is accounted by, and how the training went.
        clip_norm: of the steps.
        chunk_size: how many examples are processed at once, >= 1; bounds the memory.

    Raises:
        ValueError: the mechanism is another one; (`calibrate`) the data do not have its
            `num_examples` rows.
        TypeError: (`calibrate`) the key is not of `jaxdp.privacy.private_key`.

    Guarantee:
        The result is a function of the weights and the view, and of one Gaussian release of the
        noise multiplier of `last.mechanism` under the zero-out relation (`jaxdp.privacy.ledger`).
    """
    mechanism = last.mechanism
    require_one_release(mechanism, "gaps are")
    own = _OWN * last.length / mechanism.num_examples
    shared = last.by_size

    def release(look: _Look, key: Array, features: Any, labels: Array) -> _Look:
        clipped = clipped_sum(
            look.weights,
            features,
            labels,
            view=look.view,
            own=own,
            clip_norm=clip_norm,
            by_size=shared,
        )
        found = dp_sgd.noisy_mean(key, mechanism, clipped, chunk_size=chunk_size)
        return look._replace(step=look.step + 1, found=found.astype(jnp.float32))

    released = dp_sgd.accounted_steps(mechanism, release)

    def calibrate(
        key: Key[Array, ""],
        weights: Float[Array, "p c"],
        view: View,
        features: Any,
        labels: Int[Array, " n"],
    ) -> Float[Array, "p c"]:
        count = len(TEMPERATURES) + (weights.shape[1] if shared else 0)
        nothing = jnp.zeros(count, jnp.float32)
        look = _Look(jnp.zeros((), jnp.int32), nothing, weights, view)
        found = np.asarray(released(look, key, features, labels, 1).found, np.float64)
        return _adjusted(weights, found, last)

    return calibrate


def _adjusted(weights: Array, found: np.ndarray, last: Last) -> Array:
    """Return weights by what was released: noisy means of what `entries` has of a record."""
    of_gaps, of_sizes = _parts(last.by_size)
    count = len(TEMPERATURES)
    noise = last.mechanism.stddev / last.mechanism.num_examples
    gaps = found[:count] / of_gaps
    weights = weights / temperature(gaps, noise=noise / of_gaps, usual=last.usual)
    if not last.by_size:
        return weights
    least = max(noise / of_sizes, 1 / last.mechanism.num_examples)
    logs = np.log(np.maximum(found[count:] / of_sizes, least))
    return weights.at[-1].add(jnp.asarray((logs.mean() - logs) / CONSTANT, weights.dtype))


def temperature(gaps: Float[np.ndarray, " t"], *, noise: float, usual: float) -> float:
    """Return the temperature at which the mean gap is likeliest zero.

    It minimises `(gap(T) / noise)^2 + (log(T / usual) / 0.4)^2`, where gaps between the
    temperatures are interpolated along the logarithm, and fall as temperatures rise.

    Args:
        gaps: noisy means of the gaps at `TEMPERATURES`.
        noise: standard deviation of each, >= 0.
        usual: the temperature where noise says nothing, > 0.
    """
    falling = np.minimum.accumulate(gaps) + np.maximum.accumulate(gaps[::-1])[::-1]
    places = np.log(TEMPERATURES)
    tried = np.linspace(places[0] - _BEYOND, places[-1] + _BEYOND, _PLACES)
    missing = np.interp(tried, places, falling / 2) / max(noise, _LEAST_NOISE)
    unusual = (tried - math.log(usual)) / _SPREAD
    return float(np.exp(tried[np.argmin(missing**2 + unusual**2)]))


def clipped_sum(
    weights: Float[Array, "p c"],
    features: Float[Array, "n p"] | StoredRows,
    labels: Int[Array, " n"],
    *,
    view: View,
    own: float,
    clip_norm: float,
    by_size: bool,
) -> ClippedSum:
    """Return the sum of the records' entries, by chunks.

    Guarantee:
        That of `ClippedSum`, for a clip norm of 1.
    """

    def chunk(indices: Array, mask: Array) -> Array:
        found = entries(
            weights,
            view.seen(features[indices].astype(weights.dtype)),
            labels[indices],
            own=own,
            clip_norm=clip_norm,
            by_size=by_size,
        )
        return sum_clipped_entries(found, mask).astype(jnp.float64)

    count = len(TEMPERATURES) + (weights.shape[1] if by_size else 0)
    return ClippedSum(chunk, jnp.zeros(count, jnp.float64))


def entries(
    weights: Float[Array, "p c"],
    seen: Float[Array, "b p"],
    labels: Int[Array, " b"],
    *,
    own: float,
    clip_norm: float,
    by_size: bool,
) -> Float[Array, "b e"]:
    """Return what is summed of each record: its gaps, and its class where sizes are released.

    Args:
        weights: W, on features as training sees them.
        seen: such features, `phi_i`.
        labels: classes in [0, c).
        own: how much of a record's own gradients its score loses, in units of the clip norm.
        clip_norm: C of the steps.
        by_size: whether the class follows the gaps.

    Returns:
        The gaps and the one-hot class, times constants that make the norm 1 at most.
    """
    c = weights.shape[1]
    scores = jnp.matmul(seen, weights, precision="highest")
    truth = jax.nn.one_hot(labels, c, dtype=scores.dtype)
    lengths = jnp.linalg.norm(seen, axis=1, keepdims=True)

    def gradient(moment: Array) -> Array:
        residuals = jax.nn.softmax(moment * scores) - truth
        norms = lengths * jnp.linalg.norm(residuals, axis=1, keepdims=True)
        return residuals / jnp.where(jnp.isinf(clip_norm), 1.0, jnp.maximum(clip_norm, norms))

    moments = (jnp.arange(_MOMENTS, dtype=scores.dtype) + 0.5) / _MOMENTS
    scores = scores + own * lengths**2 * jnp.mean(jax.vmap(gradient)(moments), axis=0)
    right = jnp.argmax(scores, axis=1) == labels
    gaps = [jnp.max(jax.nn.softmax(scores / each), axis=1) - right for each in TEMPERATURES]
    of_gaps, of_sizes = _parts(by_size)
    found = of_gaps * jnp.stack(gaps, axis=1)
    return jnp.concatenate([found, of_sizes * truth], axis=1) if by_size else found


def _parts(by_size: bool) -> tuple[float, float]:
    """Return what gaps and classes are multiplied by, so that both together have norm 1 at most."""
    part = math.sqrt(0.5) if by_size else 1.0
    return part / SENSITIVITY_OF_GAPS, part


def sum_clipped_entries(found: Float[Array, "b e"], mask: Bool[Array, " b"]) -> Float[Array, " e"]:
    """Return the sum of the entries of the records that `mask` selects, each clipped to norm 1.

    Guarantee:
        Adding or removing one record changes the sum by at most 1 in Euclidean norm, its rounding
        included: a norm is multiplied by `1 + (e + 16) 2^-24` before clipping, and by
        `sums.MARGIN`. Masked records and those whose entries are not finite contribute exactly
        zero.
    """
    finite = jnp.all(jnp.isfinite(found), axis=1)
    safe = jnp.where(finite[:, None], found, 0.0)
    norms = sums.MARGIN * clipping.norms_from_above(safe, terms=safe.shape[1])
    factors = jnp.where(mask, jnp.minimum(1.0, 1 / norms), 0.0)
    return sums.summed_rows(factors, safe)
