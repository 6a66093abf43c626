"""Kernel ridge regression on a distilled set, with a teacher's view, scale and intercept.

A few images can point a regression's weights where a teacher's point, and tell neither how sure the
teacher is, nor how common classes are. These are a number, and a number for each class. They follow
from the teacher's weights, so they are free, and are stored beside the images:

    score(x) = a W(x_s)^T phi(x) + b,

with `phi` as the teacher's training saw features, without the constant, `b` the teacher's
intercept, and `a` of least squares between `W(x_s)` and the teacher's weights.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxdp.kernels import krr
from jaxdp.kernels.kip import SupportSet
from jaxdp.methods.teacher.released import Released
from jaxdp.methods.teacher.view import CONSTANT, View, as_they_are, from_array

_HIGHEST = jax.lax.Precision.HIGHEST
# Of a regression that points elsewhere: it may not turn round.
_LEAST_SCALE = 1e-6

FeatureFn = Callable[[Array], Array]


class SeenSupport(NamedTuple):
    """A distilled set whose regression has a teacher's view, scale and intercept.

    Attributes:
        x: (s, d) rows.
        y: (s, c) labels of the regression.
        view: (2, p) as `View.as_array`; None where features have no constant, and are seen as they
            are.
        scale: `a` above, > 0.
        intercept: `b` above (c,).
    """

    x: Array
    y: Array
    view: np.ndarray | None
    scale: float
    intercept: np.ndarray


class Taught(NamedTuple):
    """A teacher's classifier in parts: where its weights point, and its intercept.

    Attributes:
        weights: (p, c) on what `shown` returns.
        intercept: (c,).
        view: how its training saw features; None as they are, without a constant.
    """

    weights: Array
    intercept: Array
    view: View | None

    def shown(self, rows: Float[Array, "b p"]) -> Float[Array, "b p"]:
        """Return features as the regression sees them."""
        return rows if self.view is None else self.view.without_constant(rows)


def taught_by(released: Released, *, unit_norm: bool) -> Taught:
    """Return the parts of a released teacher.

    Args:
        released: with weights.
        unit_norm: whether its features have norm 1 beside a constant.
    """
    weights = jnp.asarray(released.weights)
    if not unit_norm:
        return Taught(weights, jnp.zeros(weights.shape[1]), None)
    stored = released.view
    view = as_they_are(len(weights)) if stored is None else from_array(stored)
    on_seen = view.on_seen(weights)
    return Taught(on_seen.at[-1].set(0.0), CONSTANT * on_seen[-1], view)


def induced_weights(
    phi_s: Float[Array, "s p"], y_s: Float[Array, "s c"], *, ridge: float
) -> Float[Array, "p c"]:
    """Return the weights `Phi_s^T (K_ss + lambda I)^-1 y_s` of KRR on features of a support.

    Raises:
        krr.NotPositiveDefiniteError: as `krr.fit`.
    """
    k_ss = jnp.matmul(phi_s, phi_s.T, precision=_HIGHEST)
    return jnp.matmul(phi_s.T, krr.fit(k_ss, y_s, ridge=ridge), precision=_HIGHEST)


def as_taught(
    support: SupportSet, taught: Taught, feature_fn: FeatureFn, *, ridge: float
) -> SeenSupport:
    """Return a distilled set with the scale and the intercept of its teacher.

    Args:
        support: images as large as whole ones.
        taught: the teacher.
        feature_fn: its public map.
        ridge: of the regression.

    Raises:
        krr.NotPositiveDefiniteError: as `krr.fit`.

    Guarantee:
        Post-processing: no argument is private data.
    """
    phi = taught.shown(jax.jit(feature_fn)(support.x))
    induced = centred(induced_weights(phi, support.y, ridge=ridge))
    scale = float(jnp.sum(induced * centred(taught.weights)) / jnp.sum(induced**2))
    view = None if taught.view is None else taught.view.as_array()
    scale = scale if scale > _LEAST_SCALE else _LEAST_SCALE  # which NaN is not
    return SeenSupport(support.x, support.y, view, scale, np.asarray(taught.intercept))


def weights_of(
    support: SeenSupport | SupportSet, feature_fn: FeatureFn, *, ridge: float
) -> Float[Array, "p c"]:
    """Return the weights of the regression on a distilled set, on features as they are.

    Raises:
        krr.NotPositiveDefiniteError: as `krr.fit`.
    """
    phi = jax.jit(feature_fn)(support.x)
    if isinstance(support, SupportSet):
        return induced_weights(phi, support.y, ridge=ridge)
    if support.view is None:
        return support.scale * induced_weights(phi, support.y, ridge=ridge)
    view = from_array(support.view)
    induced = induced_weights(view.without_constant(phi), support.y, ridge=ridge)
    intercept = jnp.asarray(support.intercept) / CONSTANT
    return view.on_rows(support.scale * induced).at[-1].add(intercept)


def centred(weights: Float[Array, "p c"]) -> Float[Array, "p c"]:
    """Return weights less their mean over classes, which decides nothing."""
    return weights - jnp.mean(weights, axis=1, keepdims=True)
