"""Kernel inducing points: the support set, its loss and its predictions.

References:
    Nguyen, Chen & Lee (2021), "Dataset meta-learning from kernel ridge-regression" (KIP).
    Vinaroz & Park (2024), "Differentially private kernel inducing points using features from
    ScatterNets (DP-KIP-ScatterNet) for privacy preserving data distillation", section 2.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from jaxdp import numerics
from jaxdp.kernels import krr, preprocess
from jaxdp.kernels.base import Kernel


class SupportSet(NamedTuple):
    """The distilled set: rows `x` (s, d) and labels `y` (s, c).

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import kernels
        >>> labels = jnp.array([[0.5, -0.5], [-0.5, 0.5]])  # centred one-hot: class 0, class 1
        >>> support = kernels.SupportSet(x=jnp.zeros((2, 64)), y=labels)
        >>> support.x.shape, support.y.shape
        ((2, 64), (2, 2))
    """

    x: Array
    y: Array


def loss(
    kernel: Kernel,
    support: SupportSet,
    x_t: Float[Array, " d"],
    y_t: Float[Array, " c"],
    *,
    ridge: float,
) -> Float[Array, ""]:
    """Return the KIP loss of one target, `|K_ts (K_ss + lambda I)^-1 y_s - y_t|^2 / (2 c)`.

    Args:
        kernel: of the regression.
        support: rows (s, d) and labels (s, c).
        x_t: the target's row (d,).
        y_t: its label (c,), as the support's are: `preprocess.centred_one_hot` for a class.
        ridge: relative ridge, >= 0.

    Raises:
        TypeError, ValueError: see `total_loss`.

    References:
        Nguyen, Chen & Lee (2021), eq. 7, with the mean over classes of Vinaroz & Park (2024).

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import kernels
        >>> support = kernels.SupportSet(x=jnp.eye(2), y=jnp.array([[0.5, -0.5], [-0.5, 0.5]]))
        >>> near, label = jnp.array([1.0, 0.0]), jnp.array([0.5, -0.5])
        >>> round(float(kernels.kip.loss(kernels.linear(), support, near, label, ridge=1e-3)), 6)
        0.0
    """
    return total_loss(kernel, support, x_t[None], y_t[None], jnp.ones(1, bool), ridge=ridge)


def total_loss(
    kernel: Kernel,
    support: SupportSet,
    x_t: Float[Array, "n d"],
    y_t: Float[Array, "n c"],
    mask: Bool[Array, " n"],
    *,
    ridge: float,
) -> Float[Array, ""]:
    """Return the sum of the losses of the targets that `mask` selects.

    Args:
        kernel: of the regression.
        support: rows (s, d) and labels (s, c).
        x_t: rows (n, d) of the targets.
        y_t: their labels (n, c), as the support's are: `preprocess.centred_one_hot` for classes.
        mask: (n,) booleans.
        ridge: relative ridge, >= 0.

    Raises:
        TypeError: labels are not of floats, or the mask is not of booleans.
        ValueError: labels or mask are of other shapes, which would be spread over all targets.
    """
    _require_targets(support, len(x_t), y_t, mask)
    alpha = krr.fit(kernel.symmetric(support.x), support.y, ridge=ridge)
    residuals = krr.predict(kernel.cross(x_t, support.x), alpha) - y_t
    return jnp.sum(jnp.where(mask, jnp.mean(residuals**2, axis=1) / 2, 0.0))


def _require_targets(support: SupportSet, num_targets: int, y_t: Array, mask: Array) -> None:
    labels = _floating_labels("support", support.y)
    _floating_labels("target", y_t)
    if y_t.shape != (num_targets, labels.shape[1]):
        raise ValueError(
            f"targets need labels of shape {(num_targets, labels.shape[1])}, one row for each and "
            f"as wide as the support's, got {y_t.shape}"
        )
    if mask.dtype != bool:
        raise TypeError(f"the mask must be of booleans, got {mask.dtype}")
    if mask.shape != (num_targets,):
        raise ValueError(f"the mask must have shape {(num_targets,)}, got {mask.shape}")


def _floating_labels(whose: str, labels: Array) -> Array:
    labels = jnp.asarray(labels)
    if labels.ndim != 2 or not jnp.issubdtype(labels.dtype, jnp.floating):
        raise TypeError(
            f"the {whose}'s labels are {labels.dtype} of shape {labels.shape}; regression needs "
            "floats (s, c), as jaxdp.kernels.preprocess.centred_one_hot makes of whole numbers"
        )
    return labels


def predict(
    kernel: Kernel,
    support: SupportSet,
    x_t: Float[Array, "t d"],
    *,
    ridge: float,
    chunk_size: int = 1000,
) -> Float[Array, "t c"]:
    """Return the class scores of kernel ridge regression on the support set.

    Args:
        kernel: the kernel the support was distilled for.
        support: the distilled set.
        x_t: rows to classify, scaled like the support.
        ridge: relative ridge, as in distillation.
        chunk_size: how many rows are classified at once.

    Raises:
        krr.NotPositiveDefiniteError: the support's kernel matrix is singular or not finite.
        TypeError: the support's labels are whole numbers: scores are regressed on (s, c) of them.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import kernels
        >>> support = kernels.SupportSet(x=jnp.eye(2), y=jnp.array([[0.5, -0.5], [-0.5, 0.5]]))
        >>> new = jnp.array([[0.9, 0.1], [0.2, 0.7]])
        >>> scores = kernels.kip.predict(kernels.fc_ntk(), support, new, ridge=1e-3)
        >>> scores.argmax(axis=1).tolist()
        [0, 1]
    """
    _floating_labels("support", support.y)
    with numerics.float64():
        x_s, y_s = (jnp.asarray(z, jnp.float64) for z in support)
        alpha = krr.fit(_gram(kernel, x_s), y_s, ridge=ridge)
        starts = range(0, x_t.shape[0], chunk_size)
        return jnp.concatenate(
            [_scores(kernel, x_t[i : i + chunk_size], x_s, alpha) for i in starts]
        )


@functools.partial(jax.jit, static_argnums=0)
def _gram(kernel: Kernel, x_s: Array) -> Array:
    return kernel.symmetric(x_s)


@functools.partial(jax.jit, static_argnums=0)
def _scores(kernel: Kernel, x_t: Array, x_s: Array, alpha: Array) -> Array:
    scores = krr.predict(kernel.cross(x_t.astype(x_s.dtype), x_s), alpha)
    return scores.astype(jnp.float32)


def initial_support(
    key: Key[Array, ""], *, ipc: int, num_classes: int, dim: int, init_scale: float = 1.0
) -> SupportSet:
    """Return `ipc` Gaussian rows per class, `N(0, init_scale^2)`, with centred one-hot labels.

    Independent of any data by construction. Rows are ordered by class.

    Raises:
        ValueError: fewer than one row per class or two classes.

    Examples:
        >>> import jax
        >>> from jaxdp import kernels
        >>> support = kernels.initial_support(jax.random.key(0), ipc=2, num_classes=3, dim=64)
        >>> support.x.shape, support.y.argmax(axis=1).tolist()
        ((6, 64), [0, 0, 1, 1, 2, 2])
    """
    if ipc < 1 or num_classes < 2:
        raise ValueError(f"need ipc >= 1 and num_classes >= 2, got {ipc} and {num_classes}")
    labels = jnp.repeat(jnp.arange(num_classes), ipc)
    x = init_scale * jax.random.normal(key, (ipc * num_classes, dim), jnp.float32)
    return SupportSet(x, preprocess.centred_one_hot(labels, num_classes))
