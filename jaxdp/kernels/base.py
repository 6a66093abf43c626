"""Kernels: infinite-width fully connected ReLU networks, feature maps, neural-tangents.

A `Kernel` is a pair of functions, one for the Gram matrix between two sets and one for the
Gram matrix of a set with itself, whose diagonal is exact. Kernels that depend on their
inputs through inner products only also carry a `DotProduct`: the same kernel as an elementwise
function of inner products. `jaxdp.methods.dp_kip.clipped.sums` needs nothing else to clip
per-example gradients without ever forming them.

References:
    Cho & Saul (2009), "Kernel methods for deep learning", eqs. 3-6 (arc-cosine kernels).
    Jacot, Gabriel & Hongler (2018), "Neural tangent kernel", theorem 1.
    Lee et al. (2019), "Wide neural networks of any depth evolve as linear models", appendix E.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxdp.rows import require_floats

# TF32 products on GPUs would cost a Gram matrix three digits.
_HIGHEST = jax.lax.Precision.HIGHEST


@dataclasses.dataclass(frozen=True, kw_only=True)
class DotProduct:
    """A kernel `k(x, z)` as an elementwise function of inner products.

    Attributes:
        cross: `(x.z, x.x, z.z) -> k(x, z)`, broadcasting, differentiable by `jax.jvp` with
            finite derivatives everywhere.
        diagonal: `x.x -> k(x, x)`, exact.

    Both take plain inner products; any division by the input dimension `d` is inside, and so
    `d` is their last argument.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import kernels
        >>> squares = kernels.DotProduct(
        ...     cross=lambda inner, xx, zz, d: inner**2, diagonal=lambda xx, d: xx**2
        ... )
        >>> kernels.from_dot_product(squares).symmetric(2 * jnp.eye(2)).tolist()
        [[16.0, 0.0], [0.0, 16.0]]
    """

    cross: Callable[[Array, Array, Array, int], Array]
    diagonal: Callable[[Array, int], Array]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kernel:
    """A positive semi-definite kernel on rows.

    Attributes:
        cross: `(x (n, d), z (m, d)) -> (n, m)`, Gram matrix between two sets.
        symmetric: `x (n, d) -> (n, n)`, Gram matrix of a set, exact on the diagonal.
        dot_product: the elementwise form, where the kernel has one.
        features: `(n, d) -> (n, p)`, row by row, where the kernel is their inner product.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import kernels
        >>> def cross(x, z):
        ...     return (1 + x @ z.T) ** 2
        >>> kernel = kernels.Kernel(cross=cross, symmetric=lambda x: cross(x, x))
        >>> kernel.cross(jnp.eye(2), jnp.ones((1, 2))).tolist()
        [[4.0], [4.0]]
    """

    cross: Callable[[Array, Array], Array]
    symmetric: Callable[[Array], Array]
    dot_product: DotProduct | None = None
    features: Callable[[Array], Array] | None = None


def squared_norms(x: Float[Array, "n d"]) -> Float[Array, " n"]:
    """Return the squared Euclidean norm of every row.

    Raises:
        TypeError: rows are not of floats: squares of bytes overflow.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import kernels
        >>> kernels.squared_norms(jnp.array([[3.0, 4.0], [0.0, 1.0]])).tolist()
        [25.0, 1.0]
    """
    require_floats(x)
    return jnp.sum(x * x, axis=-1)


def inner_products(x: Float[Array, "n d"], z: Float[Array, "m d"]) -> Float[Array, "n m"]:
    """Return all inner products of the rows of `x` with those of `z`, at full precision.

    Raises:
        TypeError: rows are not of floats: products of bytes overflow.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import kernels
        >>> x, z = jnp.array([[1.0, 2.0]]), jnp.array([[3.0, 4.0], [0.0, 1.0]])
        >>> kernels.inner_products(x, z).tolist()
        [[11.0, 2.0]]
    """
    require_floats(x)
    require_floats(z)
    return jnp.matmul(x, z.T, precision=_HIGHEST)


def from_dot_product(dot_product: DotProduct) -> Kernel:
    """Build the kernel on rows from its elementwise form.

    Raises:
        TypeError: from the kernel, rows that are not of floats.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import kernels
        >>> kernel = kernels.from_dot_product(kernels.LINEAR)
        >>> kernel.cross(jnp.array([[1.0, 2.0]]), jnp.array([[3.0, 4.0]])).tolist()
        [[11.0]]
    """

    def cross(x: Float[Array, "n d"], z: Float[Array, "m d"]) -> Float[Array, "n m"]:
        xx, zz = squared_norms(x)[:, None], squared_norms(z)[None, :]
        return dot_product.cross(inner_products(x, z), xx, zz, x.shape[-1])

    def symmetric(x: Float[Array, "n d"]) -> Float[Array, "n n"]:
        inner = inner_products(x, x)
        xx = jnp.diagonal(inner)  # rounded like the rest: equal rows have no angle between them
        k = dot_product.cross(inner, xx[:, None], xx[None, :], x.shape[-1])
        k = (k + k.T) / 2  # a blocked matrix product need not be symmetric to the last bit
        on_diagonal = jnp.eye(x.shape[0], dtype=bool)
        return jnp.where(on_diagonal, dot_product.diagonal(xx, x.shape[-1])[:, None], k)

    return Kernel(cross=cross, symmetric=symmetric, dot_product=dot_product)


def _sine_part(k: Array, kx: Array, kz: Array) -> Array:
    """`sqrt(kx kz - k^2)`, zero where rounding leaves no angle between the two vectors."""
    norm = jnp.sqrt(kx) * jnp.sqrt(kz)
    square = (norm - k) * (norm + k)
    resolved = square > 16 * jnp.finfo(k.dtype).eps * norm * norm  # up to 8 after five layers
    return jnp.where(resolved, jnp.sqrt(jnp.where(resolved, square, 1.0)), 0.0)


def _reciprocal(x: Array) -> Array:
    """`1 / x`, and 0 where `x` is 0: the derivative chosen at the kernel's corners."""
    nonzero = x > 0
    return jnp.where(nonzero, 1.0 / jnp.where(nonzero, x, 1.0), 0.0)


def _angle_to_pi(sine: Array, k: Array) -> Array:
    """`(pi - theta) / (2 pi)` in [0, 1/2], also for two zero vectors (theta = 0)."""
    both_zero = (sine == 0) & (k == 0)
    return 0.5 - jnp.arctan2(sine, jnp.where(both_zero, 1.0, k)) / (2 * jnp.pi)


@jax.custom_jvp
def relu_covariance(k: Array, kx: Array, kz: Array) -> Array:
    """Return `E[relu(u) relu(v)]` for a centred Gaussian `(u, v)`.

    With `cos(theta) = k / sqrt(kx kz)`:
    `sqrt(kx kz) (sin(theta) + (pi - theta) cos(theta)) / (2 pi)`
    (Cho & Saul 2009, eq. 6 with n = 1).

    Args:
        k: covariance of `u` and `v`.
        kx: variance of `u`, >= 0; broadcasts against `k`.
        kz: variance of `v`, >= 0; broadcasts against `k`.
    """
    sine = _sine_part(k, kx, kz)
    return sine / (2 * jnp.pi) + k * _angle_to_pi(sine, k)


@relu_covariance.defjvp
def _relu_covariance_jvp(primals: Any, tangents: Any) -> tuple[Array, Array]:
    (k, kx, kz), (dk, dkx, dkz) = primals, tangents
    sine = _sine_part(k, kx, kz)
    angle = _angle_to_pi(sine, k)
    slope = sine / (4 * jnp.pi)
    tangent = angle * dk + slope * (_reciprocal(kx) * dkx + _reciprocal(kz) * dkz)
    return sine / (2 * jnp.pi) + k * angle, tangent


@jax.custom_jvp
def relu_derivative_covariance(k: Array, kx: Array, kz: Array) -> Array:
    """Return `E[relu'(u) relu'(v)] = (pi - theta) / (2 pi)` for a centred Gaussian `(u, v)`.

    Its slope grows like `1 / sin(theta)`; at `theta = 0` and `pi`, where it has none, the
    derivative is taken as 0 (Cho & Saul 2009, eq. 6 with n = 0).
    """
    return _angle_to_pi(_sine_part(k, kx, kz), k)


@relu_derivative_covariance.defjvp
def _relu_derivative_covariance_jvp(primals: Any, tangents: Any) -> tuple[Array, Array]:
    (k, kx, kz), (dk, dkx, dkz) = primals, tangents
    sine = _sine_part(k, kx, kz)
    slope = _reciprocal(sine) / (2 * jnp.pi)
    relative = (_reciprocal(kx) * dkx + _reciprocal(kz) * dkz) / 2
    return _angle_to_pi(sine, k), slope * (dk - k * relative)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _FullyConnected:
    """The two kernels of an infinitely wide ReLU network, layer by layer.

    `K^1 = w^2 x.z / d + b^2`, `K^{l+1} = w^2 E[relu relu] + b^2`;
    `T^1 = K^1`, `T^{l+1} = K^{l+1} + w^2 T^l E[relu' relu']`.
    """

    depth: int
    weight_variance: float
    bias_variance: float
    tangent: bool

    def cross(self, xz: Array, xx: Array, zz: Array, d: int) -> Array:
        w, b = self.weight_variance, self.bias_variance
        k, kx, kz = (w * g / d + b for g in (xz, xx, zz))
        ntk = k
        for _ in range(self.depth):
            if self.tangent:
                ntk = ntk * w * relu_derivative_covariance(k, kx, kz)
            k = w * relu_covariance(k, kx, kz) + b
            kx, kz = w * kx / 2 + b, w * kz / 2 + b
            ntk = k + ntk
        return ntk if self.tangent else k

    def diagonal(self, xx: Array, d: int) -> Array:
        w, b = self.weight_variance, self.bias_variance
        k = w * xx / d + b
        ntk = k
        for _ in range(self.depth):
            k = w * k / 2 + b
            ntk = k + w * ntk / 2
        return ntk if self.tangent else k


def _fully_connected(depth: int, weight_std: float, bias_std: float, tangent: bool) -> Kernel:
    """Return the same kernel for the same numbers: jax knows by it what it has compiled."""
    try:
        return _kept_fully_connected(depth, weight_std, bias_std, tangent)
    except TypeError:  # arrays, which have no hash
        return _new_fully_connected(depth, weight_std, bias_std, tangent)


def _new_fully_connected(depth: int, weight_std: float, bias_std: float, tangent: bool) -> Kernel:
    if depth < 0:
        raise ValueError(f"depth must be >= 0 hidden layers, got {depth}")
    if not (weight_std > 0 and bias_std >= 0):
        raise ValueError(f"need weight_std > 0 and bias_std >= 0, got {weight_std} and {bias_std}")
    network = _FullyConnected(
        depth=depth,
        weight_variance=weight_std**2,
        bias_variance=bias_std**2,
        tangent=tangent,
    )
    return from_dot_product(DotProduct(cross=network.cross, diagonal=network.diagonal))


# Types, too: a depth of 1.0 is none, and must not stand for 1.
_kept_fully_connected = functools.lru_cache(maxsize=64, typed=True)(_new_fully_connected)


def fc_nngp(*, depth: int = 1, weight_std: float = 2**0.5, bias_std: float = 0.1) -> Kernel:
    """Return the NNGP kernel of an infinitely wide fully connected ReLU network.

    Args:
        depth: number of hidden (ReLU) layers, >= 0; `depth + 1` dense layers in all.
        weight_std: standard deviation of the weights in NTK parameterisation, > 0.
        bias_std: standard deviation of the biases, >= 0.

    Returns:
        The kernel, the same one for the same numbers; every kernel value is finite for finite
        inputs.

    Raises:
        ValueError: an argument is out of range.

    References:
        Lee et al. (2018), "Deep neural networks as Gaussian processes", eq. 5.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import kernels
        >>> kernel = kernels.fc_nngp(depth=1, bias_std=0.0)
        >>> kernel.symmetric(jnp.eye(2)).round(3).tolist()  # 1/pi off the diagonal
        [[1.0, 0.318...], [0.318..., 1.0]]
    """
    return _fully_connected(depth, weight_std, bias_std, tangent=False)


def fc_ntk(*, depth: int = 1, weight_std: float = 2**0.5, bias_std: float = 0.1) -> Kernel:
    """Return the neural tangent kernel of an infinitely wide fully connected ReLU network.

    With one hidden layer, `k1 = w^2 x.z / d + b^2` and `theta` the angle it defines,
    `ntk = w^2 E[relu relu] + b^2 + w^2 k1 (pi - theta) / (2 pi)`.
    Gradients are finite everywhere, coincident and antipodal points included.

    Args:
        depth: number of hidden (ReLU) layers, >= 0; `depth + 1` dense layers in all.
        weight_std: standard deviation of the weights in NTK parameterisation, > 0.
        bias_std: standard deviation of the biases, >= 0.

    Returns:
        The kernel, the same one for the same numbers.

    Raises:
        ValueError: an argument is out of range.

    References:
        Jacot, Gabriel & Hongler (2018), theorem 1; the defaults are those of
        Vinaroz & Park (2024), "Differentially private kernel inducing points".

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import kernels
        >>> kernel = kernels.fc_ntk(depth=1, bias_std=0.0)
        >>> kernel.symmetric(jnp.eye(2)).round(3).tolist()  # 1/pi off the diagonal
        [[2.0, 0.318...], [0.318..., 2.0]]
    """
    return _fully_connected(depth, weight_std, bias_std, tangent=True)


def from_features(feature_fn: Callable[[Array], Array]) -> Kernel:
    """Return the kernel `phi(x) . phi(z)` of a feature map.

    Args:
        feature_fn: `(n, d) -> (n, p)`, row by row, in the float type of its argument. A row's
            features must not depend on the other rows: no statistics of a batch.

    Raises:
        TypeError: from the kernel, features that are not of floats.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import kernels
        >>> kernel = kernels.from_features(lambda x: jnp.concatenate([x, x**2], axis=1))
        >>> kernel.cross(jnp.array([[2.0]]), jnp.array([[3.0]])).tolist()
        [[42.0]]
    """

    def cross(x: Float[Array, "n d"], z: Float[Array, "m d"]) -> Float[Array, "n m"]:
        return inner_products(feature_fn(x), feature_fn(z))

    def symmetric(x: Float[Array, "n d"]) -> Float[Array, "n n"]:
        phi = feature_fn(x)
        return inner_products(phi, phi)

    return Kernel(cross=cross, symmetric=symmetric, features=feature_fn)


def unit_scale(
    feature_fn: Callable[[Array], Array], probes: Float[Array, "n d"]
) -> Callable[[Array], Array]:
    """Return the features divided by one number, their root mean square norm on public rows.

    Args:
        feature_fn: as for `from_features`.
        probes: rows that are not private, e.g. noise.

    Raises:
        TypeError: features, or rows that are given to the result, are not of floats.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import kernels
        >>> scaled = kernels.unit_scale(lambda x: 10 * x, jnp.eye(3))
        >>> print(scaled(jnp.array([[1.0, 2.0, 0.0]])))
        [[1. 2. 0.]]
    """
    size = jnp.sqrt(jnp.mean(squared_norms(feature_fn(probes))))

    def features(rows: Float[Array, "n d"]) -> Float[Array, "n p"]:
        require_floats(rows)
        return feature_fn(rows) / size.astype(rows.dtype)

    return features


LINEAR = DotProduct(cross=lambda inner, xx, zz, d: inner, diagonal=lambda xx, d: xx)
"""The kernel `x . z`: what every kernel of features is to rows of features."""
_LINEAR = from_dot_product(LINEAR)


def linear() -> Kernel:
    """Return the kernel `x . z`, the same one each time.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import kernels
        >>> kernels.linear().cross(jnp.array([[1.0, 2.0]]), jnp.array([[3.0, 4.0]])).tolist()
        [[11.0]]
    """
    return _LINEAR


def from_neural_tangents(
    kernel_fn: Callable[..., Any],
    *,
    get: str = "ntk",
    input_shape: tuple[int, ...] | None = None,
) -> Kernel:
    """Adapt the `kernel_fn` of a `neural_tangents.stax` network.

    Args:
        kernel_fn: third result of `stax.serial(...)`.
        get: `"ntk"` or `"nngp"`.
        input_shape: shape of one example, e.g. `(32, 32, 3)` for convolutional networks;
            rows are reshaped to it. None passes rows as they are.

    Raises:
        ValueError: `get` is neither of the two.
        TypeError: from the kernel, rows that are not of floats.
    """
    if get not in ("ntk", "nngp"):
        raise ValueError(f"get must be 'ntk' or 'nngp', got {get!r}")

    def examples(x: Array) -> Array:
        require_floats(x)
        return x if input_shape is None else x.reshape((x.shape[0], *input_shape))

    def cross(x: Float[Array, "n d"], z: Float[Array, "m d"]) -> Float[Array, "n m"]:
        return kernel_fn(examples(x), examples(z), get)

    def symmetric(x: Float[Array, "n d"]) -> Float[Array, "n n"]:
        return kernel_fn(examples(x), None, get)

    return Kernel(cross=cross, symmetric=symmetric)
