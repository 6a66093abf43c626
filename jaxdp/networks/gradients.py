"""Per-example gradients of a network's summed logits, kept as factors where these are shorter.

A layer `patches @ W + b` with patches `a` (q positions, r inputs) and the derivative `delta`
(q, o) of the sum with respect to its output has the gradients `a^T delta` and `1^T delta`. Of `W`
there are two ways to an inner product of two images:

    <a^T delta, a'^T delta'> = sum_{i, j} (a a'^T)_ij (delta delta'^T)_ij

The left one costs `r o` per pair, the right one `q^2 (r + o)`. A dense layer has q = 1, the
last convolutions of a residual network 1 or 4, the first ones hundreds: each layer takes its
cheaper form. The gradients of biases and of all other parameters are formed, they are short.
Instead of p numbers per image (61,706 for LeNet, 11.2 million for ResNet-18) a Gram matrix needs
those in `CompactGradient`: 3,604 for MNIST and 748,116 for CIFAR-10.

References:
    Goodfellow (2015), "Efficient per-example gradient computations" (dense layers).
    Novak, Sohl-Dickstein & Schoenholz (2022), "Fast finite width neural tangent kernel", section 3.
"""

import collections
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxdp.networks.linear_calls import LinearCall, Window, record_linear_calls
from jaxdp.numerics import ByBackend, map_rows
from jaxdp.rows import require_floats

ApplyFn = Callable[[Any, Array], Array]

# Images whose gradients are formed at once: what a CPU's memory takes, what fills a GPU.
ROWS_AT_ONCE = ByBackend(cpu=64, accelerator=512)


class Factors(NamedTuple):
    """A layer's gradient `a^T delta`, kept as its two factors."""

    a: Float[Array, "*n q r"]
    delta: Float[Array, "*n q o"]


class CompactGradient(NamedTuple):
    """What inner products of `phi` need: the gradients that are formed, and factors of the rest."""

    formed: Float[Array, "*n e"]
    factors: tuple[Factors, ...]


class _Layer(NamedTuple):
    """The plan for one linear call: its parameters' places among the leaves, its shape."""

    kernel: int
    bias: int | None
    window: Window | None
    output: jax.ShapeDtypeStruct


def entk_norms(
    apply_fn: ApplyFn,
    params: Any,
    x: Float[Array, "n *d"],
    *,
    image_shape: tuple[int, ...] | None = None,
    chunk_size: int | None = None,
) -> Float[Array, " n"]:
    """Return `|phi(x)|` of every row, one chunk's `CompactGradient` at a time.

    Where it is 0 its own gradient is taken as 0.

    Args:
        apply_fn: as for `entk`.
        params: as for `entk`.
        x: rows or images.
        image_shape: shape of one example, or None.
        chunk_size: rows at once; by default what convolutional networks have memory for.

    Raises:
        TypeError: rows are not of floats.
    """
    compact = of_row(compact_gradient, apply_fn, params, image_shape)

    def norm(row: Array) -> Array:
        formed, factors = compact(row)
        gradient = CompactGradient(formed, tuple(balanced(pair) for pair in factors))
        alone = jax.tree.map(lambda part: part[None], gradient)
        square = inner_products(gradient, alone)[0]
        is_zero = square == 0  # what is not a number stays so, as callers look for it
        return jnp.where(is_zero, 0.0, jnp.sqrt(jnp.where(is_zero, 1.0, square)))

    return map_rows(norm, x, at_most=chunk_size or ROWS_AT_ONCE.here)


def balanced(pair: Factors) -> Factors:
    """Return factors of one row with the same product, of which no large entry of `a` is below 1.

    Squares of a tiny factor would underflow and hide that the other one is large.
    """
    largest = jax.lax.stop_gradient(jnp.max(jnp.abs(pair.a), initial=0.0))
    scale = jnp.where(largest > 0, largest, 1.0)
    return Factors(pair.a / scale, pair.delta * scale)


def is_dense(apply_fn: ApplyFn, params: Any, dim: int) -> bool:
    """Return whether a network of rows with `dim` values has factors for `dense_factors`."""
    return _all_dense(_plan(apply_fn, params, jax.ShapeDtypeStruct((1, dim), jnp.float32)), params)


def _all_dense(layers: list[_Layer | None], params: Any) -> bool:
    places = [i for layer in layers if layer for i in (layer.kernel, layer.bias) if i is not None]
    dense = all(layer is not None and layer.window is None for layer in layers)
    return dense and sorted(places) == list(range(len(jax.tree.leaves(params))))


def dense_factors(
    apply_fn: ApplyFn, params: Any, x: Float[Array, "n d"]
) -> dict[int, tuple[Float[Array, "n q r"], Float[Array, "n q o"], int | None]] | None:
    """Return the factors of every row's gradient for a network of dense layers alone.

    One forward and one backward pass for all rows at once, at the precision in force.

    Args:
        apply_fn: as for `entk`.
        params: as for `entk`.
        x: rows; computed in their type.

    Returns:
        For the place of each kernel among the leaves of `params`: `a`, `delta`, and the place of
        the layer's bias, whose gradient is the sum of `delta` over its q positions. None where
        some leaf belongs to no dense layer, or to several.
    """
    layers = _plan(apply_fn, params, x)
    if not _all_dense(layers, params):
        return None
    taps = [layer and jnp.zeros(layer.output.shape, layer.output.dtype) for layer in layers]

    def summed_logits(taps: list[Array | None]) -> Any:
        logits, calls = record_linear_calls(apply_fn, params, x, taps)
        return jnp.sum(logits), [call.inputs for call in calls]

    deltas, inputs = jax.grad(summed_logits, has_aux=True)(taps)
    return {
        layer.kernel: (jax.lax.collapse(a, 1, -1), jax.lax.collapse(d, 1, -1), layer.bias)
        for layer, a, d in zip(layers, inputs, deltas, strict=True)
        if layer is not None
    }


def of_row(
    gradient: Callable[[ApplyFn, Any, Array], Any],
    apply_fn: ApplyFn,
    params: Any,
    image_shape: tuple[int, ...] | None,
) -> Callable[[Array], Any]:
    """Return the gradient as a function of a row, at full precision and in the row's type.

    Raises:
        TypeError: from the function, a row that is not of floats.
    """

    def of_row(row: Array) -> Any:
        require_floats(row)
        image = row.reshape((1, *(row.shape if image_shape is None else image_shape)))
        # A derivative has the type of its parameter: float32 parameters would round it.
        wide = jax.tree.map(lambda leaf: jnp.asarray(leaf, row.dtype), params)
        with jax.default_matmul_precision("highest"):
            return gradient(apply_fn, wide, image)

    return of_row


def full_gradient(apply_fn: ApplyFn, params: Any, image: Array) -> Float[Array, " p"]:
    """Return all derivatives of the summed logits of one image."""
    gradient = jax.grad(lambda theta: jnp.sum(apply_fn(theta, image)))(params)
    return jnp.concatenate([leaf.reshape(-1) for leaf in jax.tree.leaves(gradient)])


def compact_gradient(apply_fn: ApplyFn, params: Any, image: Array) -> CompactGradient:
    """Return the derivatives of the summed logits of one image, factored where it is cheaper."""
    layers = _plan(apply_fn, params, image)
    leaves, tree = jax.tree.leaves(params), jax.tree.structure(params)
    linear = {i for layer in layers if layer for i in (layer.kernel, layer.bias)}
    others = {i: leaf for i, leaf in enumerate(leaves) if i not in linear}
    taps = [layer and jnp.zeros(layer.output.shape, layer.output.dtype) for layer in layers]

    def summed_logits(taps: list[Array | None], others: dict[int, Array]) -> Any:
        merged = [others.get(i, leaf) for i, leaf in enumerate(leaves)]
        theta = jax.tree.unflatten(tree, merged)
        logits, calls = record_linear_calls(apply_fn, theta, image, taps)
        return jnp.sum(logits), [call.inputs for call in calls]

    grad = jax.grad(summed_logits, argnums=(0, 1), has_aux=True)
    (deltas, other_grads), inputs = grad(taps, others)
    formed, factors = list(other_grads.values()), []
    for layer, delta, layer_inputs in zip(layers, deltas, inputs, strict=True):
        if layer is None:
            continue
        pair = Factors(_patches(layer_inputs, layer.window), delta.reshape(-1, delta.shape[-1]))
        if layer.bias is not None:
            formed.append(jnp.sum(pair.delta, axis=0))
        if _factored_is_cheaper(pair):
            factors.append(pair)
        else:
            formed.append(jnp.matmul(pair.a.T, pair.delta))
    none = jnp.zeros(0, image.dtype)
    flat = jnp.concatenate([none, *(part.reshape(-1) for part in formed)])
    return CompactGradient(flat, tuple(factors))


def _factored_is_cheaper(pair: Factors) -> bool:
    (q, r), o = pair.a.shape, pair.delta.shape[1]
    return q * q * (r + o) < r * o


def _plan(
    apply_fn: ApplyFn, params: Any, image: Array | jax.ShapeDtypeStruct
) -> list[_Layer | None]:
    """Return, per linear call, where its parameters are; None where they are not its alone."""
    plan: list[_Layer | None] = []

    def trace(params: Any, image: Array) -> None:
        _, calls = record_linear_calls(apply_fn, params, image)
        # Every leaf is traced as an object of its own, so that being the same object is being
        # the same parameter, whatever the convention of its name.
        place = {id(leaf): i for i, leaf in enumerate(jax.tree.leaves(params))}
        uses = collections.Counter(id(p) for call in calls for p in (call.kernel, call.bias))
        plan.extend(_layer(call, place, uses) for call in calls)

    jax.eval_shape(trace, params, image)
    return plan


def _layer(
    call: LinearCall, place: dict[int, int], uses: collections.Counter[int]
) -> _Layer | None:
    own = [p for p in (call.kernel, call.bias) if p is not None]
    # A layer called twice has the sum of two such products as its gradient.
    if any(id(p) not in place or uses[id(p)] != 1 for p in own):
        return None
    bias = None if call.bias is None else place[id(call.bias)]
    output = jax.ShapeDtypeStruct(call.output.shape, call.output.dtype)
    return _Layer(place[id(call.kernel)], bias, call.window, output)


def _patches(inputs: Array, window: Window | None) -> Float[Array, "q r"]:
    """Return what a layer multiplies with its kernel, up to the order of its columns."""
    if window is None:
        return inputs.reshape(-1, inputs.shape[-1])
    patches = jnp.pad(inputs[0], (*window.padding, (0, 0)))[None]
    # Slices are copied exactly and fast; a convolution with one-hot kernels is neither everywhere.
    for axis, size, stride in zip((1, 3), window.size, window.strides, strict=True):
        last = patches.shape[axis] - size
        shifted = [
            jax.lax.slice_in_dim(patches, i, last + i + 1, stride, axis) for i in range(size)
        ]
        patches = jnp.stack(shifted)
    kw, kh, _, p, q, channels = patches.shape
    return jnp.moveaxis(patches, (3, 4), (0, 1)).reshape(p * q, kw * kh * channels)


def inner_products(gradient: CompactGradient, others: CompactGradient) -> Float[Array, " m"]:
    """Return the inner products of one row's gradient with those of m rows."""
    total = jnp.matmul(others.formed, gradient.formed, precision="highest")
    for one, many in zip(gradient.factors, others.factors, strict=True):
        a = jnp.einsum("ir,mjr->mij", one.a, many.a, precision="highest")
        delta = jnp.einsum("io,mjo->mij", one.delta, many.delta, precision="highest")
        total = total + jnp.sum(a * delta, axis=(1, 2))
    return total
