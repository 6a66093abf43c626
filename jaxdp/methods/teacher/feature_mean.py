"""The noisy mean of features, which is released before a teacher's first step.

    m = (1/n) (sum_i u_i + N(0, z^2 I)),   |u_i| <= 1

What follows of it is in `jaxdp.methods.teacher.view`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from jaxdp.devices import StoredRows
from jaxdp.methods.teacher.view import View, centred_on
from jaxdp.privacy import clipping, dp_sgd, sums
from jaxdp.privacy.dp_sgd import ClippedSum
from jaxdp.privacy.ledger import require_one_release
from jaxdp.privacy.mechanism import SubsampledGaussian


class _Sums(NamedTuple):
    step: Array
    mean: Array


def mean_of_features(mechanism: SubsampledGaussian, *, chunk_size: int) -> Callable[..., View]:
    """Return `look(key, features (n, p), labels (n,)) -> View`, one release.

    The last feature is a constant, which is not released. It computes in jax's 64-bit mode,
    whatever the caller's. Features may be stored in float16, and may lie on several devices.

    Args:
        mechanism: one step in which every example takes part, of clip norm 1.
        chunk_size: how many examples are processed at once, >= 1; bounds the memory.

    Raises:
        ValueError: the mechanism is another one; (`look`) the data do not have its
            `num_examples` rows.
        TypeError: (`look`) the key is not of `jaxdp.privacy.private_key`.

    Guarantee:
        The view is a function of one Gaussian release of the noise multiplier of `mechanism` under
        the zero-out relation (`jaxdp.privacy.ledger`), and of nothing else that depends on the
        features. Labels are not read.
    """
    require_one_release(mechanism, "the mean is")

    def release(sums: _Sums, key: Array, features: Any, labels: Array) -> _Sums:
        del labels
        clipped = clipped_sum(features)
        found = dp_sgd.noisy_mean(key, mechanism, clipped, chunk_size=chunk_size)
        return _Sums(sums.step + 1, found.astype(jnp.float32))

    released = dp_sgd.accounted_steps(mechanism, release)

    def look(key: Key[Array, ""], features: Any, labels: Int[Array, " n"]) -> View:
        nothing = _Sums(jnp.zeros((), jnp.int32), jnp.zeros(features.shape[1], jnp.float32))
        # Rows of norm 1 were shortened by the margin of sums.
        mean = sums.MARGIN * released(nothing, key, features, labels, 1).mean
        return centred_on(mean, noise=sums.MARGIN * mechanism.stddev / mechanism.num_examples)

    return look


def clipped_sum(features: Float[Array, "n p"] | StoredRows) -> ClippedSum:
    """Return the sum of rows of norm 1 at most, by chunks.

    Guarantee:
        That of `ClippedSum`, for a clip norm of 1.
    """

    def chunk(indices: Array, mask: Array) -> Array:
        return sum_clipped_rows(features[indices], mask).astype(jnp.float64)

    return ClippedSum(chunk, jnp.zeros(features.shape[1], jnp.float64))


def sum_clipped_rows(rows: Float[Array, "b p"], mask: Bool[Array, " b"]) -> Float[Array, " p"]:
    """Return the sum of the rows that `mask` selects, each clipped to norm 1, the last column 0.

    Args:
        rows: of any float type that float32 holds exactly.
        mask: which rows count.

    Guarantee:
        Adding or removing one row changes the sum by at most 1 in Euclidean norm, its rounding
        included: a norm is multiplied by `1 + (p + 16) 2^-24` before clipping, more than its sum of
        squares can lose in float32, and by `sums.MARGIN`. Masked rows and those that are not finite
        contribute exactly zero.
    """
    wide = rows.astype(jnp.float32).at[:, -1].set(0.0)
    finite = jnp.all(jnp.isfinite(wide), axis=1)
    phi = jnp.where(finite[:, None], wide, 0.0)
    norms = sums.MARGIN * clipping.norms_from_above(phi, terms=phi.shape[1])
    factors = jnp.where(mask & jnp.isfinite(norms), jnp.minimum(1.0, 1 / norms), 0.0)
    return sums.summed_rows(factors, phi)
