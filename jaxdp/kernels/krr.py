"""Kernel ridge regression on a support set.

References:
    Nguyen, Chen & Lee (2021), "Dataset meta-learning from kernel ridge-regression", eq. 1.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxdp.data import hints

_HIGHEST = jax.lax.Precision.HIGHEST


class NotPositiveDefiniteError(ValueError):
    """The regularised Gram matrix of the support has no Cholesky factor."""


def fit(
    k_ss: Float[Array, "s s"], y_s: Float[Array, "s c"], *, ridge: float
) -> Float[Array, "s c"]:
    """Return the dual weights `alpha = (K_ss + ridge tr(K_ss)/s I)^-1 y_s`.

    Args:
        k_ss: Gram matrix of the support, symmetric positive semi-definite.
        y_s: support labels.
        ridge: relative ridge, >= 0.

    Raises:
        NotPositiveDefiniteError: the matrix is not numerically positive definite. Inside `jit`
            no exception can be raised; there the result is NaN.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp.kernels import krr
        >>> alpha = krr.fit(jnp.eye(2), jnp.array([[1.0], [-1.0]]), ridge=1.0)
        >>> print(alpha.round(3))
        [[ 0.5]
         [-0.5]]
    """
    alpha = _solve(k_ss, y_s, ridge)
    if not isinstance(alpha, jax.core.Tracer) and not np.isfinite(alpha).all():
        raise NotPositiveDefiniteError(
            f"the {len(k_ss)} x {len(k_ss)} kernel matrix with ridge {ridge:g} is not positive "
            f"definite in {k_ss.dtype}: use a larger ridge or float64, and check the support "
            "for NaN"
        )
    return alpha


@jax.jit
def _solve(k_ss: Array, y_s: Array, ridge: Array | float) -> Array:
    s = k_ss.shape[0]
    trace = jnp.trace(k_ss)
    cholesky = jnp.linalg.cholesky(k_ss + ridge * trace / s * jnp.eye(s, dtype=k_ss.dtype))
    alpha = jax.scipy.linalg.cho_solve((cholesky, True), y_s)
    return jnp.where(jnp.isfinite(trace), alpha, jnp.nan)  # an infinite entry has a factor


def predict(k_ts: Float[Array, "t s"], alpha: Float[Array, "s c"]) -> Float[Array, "t c"]:
    """Return the predictions `K_ts alpha`, one score per class.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp.kernels import krr
        >>> print(krr.predict(jnp.array([[1.0, 0.5]]), jnp.array([[0.5], [-0.5]])))
        [[0.25]]
    """
    return jnp.matmul(k_ts, alpha, precision=_HIGHEST)


def accuracy(scores: Float[Array, "t c"], y_t: Int[Array, " t"]) -> Float[Array, ""]:
    """Return the fraction of rows whose largest score is their class, in [0, 1].

    Raises:
        ValueError: labels are not one whole number for each row.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp.kernels import krr
        >>> scores = jnp.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.2, 0.8]])
        >>> float(krr.accuracy(scores, jnp.array([0, 1, 1, 1])))
        0.75
    """
    hints.require_labels(np.empty(y_t.shape, y_t.dtype), len(scores))  # a tracer has no values
    return jnp.mean((jnp.argmax(scores, axis=1) == y_t).astype(scores.dtype))
