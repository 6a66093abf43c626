"""Empirical neural tangent kernel of a network's summed logits.

    phi(x) = d/d theta sum_c f_c(x; theta),    k(x, z) = phi(x) . phi(z)

A Gram matrix takes inner products of gradients that are mostly kept as factors:
`jaxdp.networks.gradients` has the formula and its cost.

References:
    Jacot, Gabriel & Hongler (2018), "Neural tangent kernel", section 4.
    Yang et al. (2023), "Differentially private neural tangent kernels", section 3 (the features).
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxdp.kernels.base import Kernel, inner_products
from jaxdp.networks import gradients
from jaxdp.numerics import map_rows
from jaxdp.rows import require_rows

ApplyFn = Callable[[Any, Array], Array]


def entk_features(
    apply_fn: ApplyFn, params: Any, *, image_shape: tuple[int, ...] | None = None
) -> Callable[[Float[Array, "n *d"]], Float[Array, "n p"]]:
    """Return the feature map `phi`, all p derivatives of every row formed.

    For small networks, and the oracle of `entk`.

    Args:
        apply_fn: `(params, x (n, ...)) -> logits (n, c)`, such as `module.apply`.
        params: its parameters. All their leaves count, so leave out what is not trained.
        image_shape: shape of one example; rows are reshaped to it. None passes them as they are.

    Returns:
        The map, which computes row by row and in the float type of its argument.

    Raises:
        TypeError: from the map, rows that are not of floats.
    """
    full = gradients.of_row(gradients.full_gradient, apply_fn, params, image_shape)

    def features(x: Float[Array, "n *d"]) -> Float[Array, "n p"]:
        return jax.vmap(full)(x)

    return features


def one_layer_features(
    key: Key[Array, ""], *, dim: int, width: int
) -> Callable[[Float[Array, "n d"]], Float[Array, "n p"]]:
    """Return `phi` of a fully connected ReLU network with one hidden layer, without biases.

    `f(x) = sqrt(2 / width) v . relu(W x sqrt(2 / d))` with standard normal `W` (width, d) and `v`:
    the network of NTK parameterisation whose kernel `fc_ntk(depth=1, bias_std=0)` is the limit of
    great width.

    Args:
        key: of the weights.
        dim: d, values of a row.
        width: hidden units, >= 1; `p = width (d + 1)`.

    Raises:
        ValueError: `width` is below 1 or, from the map, rows have another width.
        TypeError: from the map, rows that are not of floats.

    References:
        Jacot, Gabriel & Hongler (2018), section 4.
    """
    hidden, output = _one_layer(key, dim, width)
    into, out = (2 / dim) ** 0.5, (2 / width) ** 0.5

    def features(x: Float[Array, "n d"]) -> Float[Array, "n p"]:
        require_rows(x, dim)
        weights, signs = hidden.astype(x.dtype), output.astype(x.dtype)
        units = jnp.matmul(x, weights, precision="highest") * into
        slopes = jnp.where(units > 0, signs, 0.0) * out
        of_hidden = slopes[:, :, None] * x[:, None, :] * into
        of_output = jax.nn.relu(units) * out
        return jnp.concatenate([jax.lax.collapse(of_hidden, 1), of_output], axis=1)

    return features


def one_layer_entk(key: Key[Array, ""], *, dim: int, width: int) -> Kernel:
    """Return the kernel of `one_layer_features`, which it never forms: `O(d + width)` a pair.

    `k(x, z) = (2 / d) x.z s(x).s(z) + a(x).a(z)`, with `a` the activations and `s` the slopes.

    Args:
        key: of the weights.
        dim: d, values of a row.
        width: hidden units, >= 1.

    Raises:
        ValueError: `width` is below 1 or, from the kernel, rows have another width.
        TypeError: from the kernel, rows that are not of floats.

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxdp import kernels
        >>> kernel = kernels.one_layer_entk(jax.random.key(0), dim=2, width=50_000)
        >>> print(kernel.symmetric(jnp.eye(2)).round(1))  # about 2 and 1/pi, as fc_ntk(bias_std=0)
        [[2.  0.3]
         [0.3 2. ]]
    """
    hidden, output = _one_layer(key, dim, width)

    def parts(x: Array) -> tuple[Array, Array]:
        require_rows(x, dim)
        units = jnp.matmul(x, hidden.astype(x.dtype), precision="highest") * (2 / dim) ** 0.5
        slopes = jnp.where(units > 0, output.astype(x.dtype), 0.0)
        out = (2 / width) ** 0.5
        return slopes * out, jax.nn.relu(units) * out

    def cross(x: Float[Array, "n d"], z: Float[Array, "m d"]) -> Float[Array, "n m"]:
        (s_x, a_x), (s_z, a_z) = parts(x), parts(z)
        return inner_products(x, z) * (2 / dim) * inner_products(s_x, s_z) + inner_products(
            a_x, a_z
        )

    return Kernel(cross=cross, symmetric=lambda x: cross(x, x))


def _one_layer(key: Key[Array, ""], dim: int, width: int) -> tuple[Array, Array]:
    if width < 1:
        raise ValueError(f"width must be >= 1 hidden unit, got {width}")
    hidden_key, output_key = jax.random.split(key)
    hidden = jax.random.normal(hidden_key, (dim, width), jnp.float32)
    return hidden, jax.random.normal(output_key, (width,), jnp.float32)


def entk(module_apply: ApplyFn, params: Any, image_shape: tuple[int, ...] | None) -> Kernel:
    """Return the kernel `phi(x) . phi(z)` of rows, without ever holding `phi`.

    Both Gram matrices are differentiable with respect to their rows. They cost one forward and
    one backward pass per row and the inner products above. The first argument of `cross` is
    worked through in chunks, the `CompactGradient` of the second is held as a whole: let
    the smaller set, the support, be the second.

    Args:
        module_apply: `(params, x (n, ...)) -> logits (n, c)`, such as `module.apply`. No logit may
            depend on other rows of the batch. See `record_linear_calls` for what it must not be.
        params: its parameters, all of whose leaves count. A kernel or bias that belongs to one
            layer must not be used outside of it as well.
        image_shape: shape of one example; rows are reshaped to it. None passes them as they are.

    Raises:
        TypeError: from the kernel, rows that are not of floats.
    """
    compact = gradients.of_row(gradients.compact_gradient, module_apply, params, image_shape)

    def of_rows(fn: Callable[[Any], Any], rows: Any) -> Any:
        return map_rows(fn, rows, at_most=gradients.ROWS_AT_ONCE.here)

    def cross(x: Float[Array, "n d"], z: Float[Array, "m d"]) -> Float[Array, "n m"]:
        others = of_rows(compact, z)
        return of_rows(lambda row: gradients.inner_products(compact(row), others), x)

    def symmetric(x: Float[Array, "n d"]) -> Float[Array, "n n"]:
        each = of_rows(compact, x)
        k = of_rows(lambda one: gradients.inner_products(one, each), each)
        return (k + k.T) / 2  # a blocked matrix product need not be symmetric to the last bit

    return Kernel(cross=cross, symmetric=symmetric)
