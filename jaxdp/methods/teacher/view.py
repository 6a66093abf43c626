"""How a teacher's training sees features: less the noisy mean that was released, and scaled.

Public features are centred on public images, and private ones lie elsewhere: half of the squared
norm of digits' features is a mean that all digits share. A gradient is clipped by its length, so
what all examples share costs signal and tells no class. The training sees

    v = s (u - f m),   f = max(0, 1 - p z^2 / (n^2 |m|^2)),   s = (1 - f^2 |m|^2)^(-1/2),

in which f shrinks a mean m that is mostly noise, and s gives what is left the norm 1 on average.
Both are computed from m, whose noise has the standard deviation z / n, and public numbers. A
constant beside keeps its place, for intercepts.

References:
    James & Stein (1961), "Estimation with quadratic loss" (f).
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

CONSTANT = 0.125
"""The last feature, beside others of norm 1: small, as it takes of what clipping leaves, and exact
in float16."""
# Of the squared norm that is left without the mean, and of a mean that is divided by.
_LEAST_LEFT, _LEAST = 0.05, 1e-12


class View(NamedTuple):
    """How training sees a row of features: `(row - centre) scale`.

    `centre` (p,) and `scale` (p,); the last feature is the constant, which is seen as it is.
    """

    centre: Array
    scale: Array

    def seen(self, rows: Float[Array, "b p"]) -> Float[Array, "b p"]:
        """Return rows as training sees them."""
        return (rows - self.centre) * self.scale

    def without_constant(self, rows: Float[Array, "b p"]) -> Float[Array, "b p"]:
        """Return rows as training sees them, but for the constant, which is 0."""
        return self.seen(rows).at[:, -1].set(0.0)

    def on_rows(self, weights: Float[Array, "p c"]) -> Float[Array, "p c"]:
        """Return the weights on rows as they are that weights on what is seen come to."""
        on_rows = self.scale[:, None] * weights
        return on_rows.at[-1].add(-self._at_centre(on_rows) / CONSTANT)

    def on_seen(self, weights: Float[Array, "p c"]) -> Float[Array, "p c"]:
        """Return the weights on what is seen that weights on rows as they are come to."""
        moved = weights.at[-1].add(self._at_centre(weights) / CONSTANT)
        return moved / self.scale[:, None]

    def _at_centre(self, on_rows: Float[Array, "p c"]) -> Float[Array, " c"]:
        return jnp.matmul(self.centre, on_rows, precision="highest")

    def as_array(self) -> np.ndarray:
        """Return both as rows (2, p), to be stored."""
        return np.stack([np.asarray(self.centre), np.asarray(self.scale)])


def from_array(rows: np.ndarray) -> View:
    """Return what `as_array` has made an array of.

    Raises:
        ValueError: it is another array.
    """
    if rows.ndim != 2 or len(rows) != 2 or not np.all(np.isfinite(rows)) or np.any(rows[1] <= 0):
        raise ValueError(f"a view is a centre and scales above 0, not {rows.shape}")
    return View(jnp.asarray(rows[0], jnp.float32), jnp.asarray(rows[1], jnp.float32))


def as_they_are(num_features: int) -> View:
    """Return what changes nothing."""
    return View(jnp.zeros(num_features, jnp.float32), jnp.ones(num_features, jnp.float32))


def centred_on(mean: Float[Array, " p"], *, noise: float) -> View:
    """Return the view from a noisy mean.

    Args:
        mean: of the features; of the last one, which is a constant, it is not used.
        noise: standard deviation of every entry, >= 0.
    """
    mean = mean.at[-1].set(0.0)
    squared = jnp.sum(mean**2)
    shrink = jnp.maximum(0.0, 1 - len(mean) * noise**2 / jnp.maximum(squared, _LEAST))
    left = jnp.maximum(_LEAST_LEFT, 1 - shrink**2 * squared)
    scale = jnp.full(len(mean), 1 / jnp.sqrt(left), jnp.float32)
    return View(shrink * mean, scale.at[-1].set(1.0))
