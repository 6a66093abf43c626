"""What the dense and convolutional layers of a flax network are called with, recorded."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import flax.linen as nn
import jax
from jaxtyping import Array

from jaxdp.networks.convolution import convolve

# Attributes of flax's layers that replace or mask their product.
_REPLACEMENTS = (
    "mask",
    "dot_general",
    "dot_general_cls",
    "conv_general_dilated",
    "conv_general_dilated_cls",
)


class Window(NamedTuple):
    """What a convolution reads for one output pixel, and where."""

    size: tuple[int, int]
    strides: tuple[int, int]
    padding: tuple[tuple[int, int], tuple[int, int]]


class LinearCall(NamedTuple):
    """One call of a `Dense` or `Conv` layer.

    Attributes:
        kernel: the parameter itself, the very object in the network's parameters.
        bias: the same, or None.
        inputs: what the layer was called with.
        output: what it returned, its tap included.
        window: of a convolution; None for a dense layer.
    """

    kernel: Array
    bias: Array | None
    inputs: Array
    output: Array
    window: Window | None


def record_linear_calls(
    apply_fn: Callable[[Any, Array], Array],
    params: Any,
    x: Array,
    taps: Sequence[Array | None] = (),
) -> tuple[Array, list[LinearCall]]:
    """Apply a network, recording the calls of its dense and convolutional layers in order.

    Args:
        apply_fn: `module.apply` or a function that calls it; not jitted, and without lifted
            transformations such as `nn.remat`, out of which nothing can be recorded.
        params: its first argument.
        x: its second argument.
        taps: the i-th is added to the output of the i-th call, where it is not None; a derivative
            with respect to it is one with respect to the layer's output.

    Returns:
        The network's output and the calls. Layers that do more than `patches @ kernel + bias`
        (dilated, grouped, masked or other than two-dimensional convolutions) are left out.
    """
    calls: list[LinearCall] = []

    def intercept(call: Any, args: Any, kwargs: Any, context: Any) -> Any:
        layer = context.module
        if context.method_name != "__call__" or not _is_plain(layer) or len(args) != 1 or kwargs:
            return call(*args, **kwargs)
        output = call(*args)
        if len(calls) < len(taps) and (tap := taps[len(calls)]) is not None:
            output = output + tap
        (inputs,) = args
        kernel = layer.get_variable("params", "kernel")
        bias = layer.get_variable("params", "bias") if layer.use_bias else None
        calls.append(LinearCall(kernel, bias, inputs, output, _window(layer, inputs)))
        return output

    with nn.intercept_methods(intercept):
        return apply_fn(params, x), calls


def _is_plain(layer: Any) -> bool:
    replaced = any(getattr(layer, name, None) not in (None, convolve) for name in _REPLACEMENTS)
    if replaced or type(layer) not in (nn.Dense, nn.Conv):
        return False
    if type(layer) is nn.Dense:
        return True
    if not isinstance(layer.kernel_size, Sequence) or len(layer.kernel_size) != 2:
        return False
    if isinstance(layer.padding, str) and layer.padding not in ("SAME", "VALID"):
        return False
    dilations = (*_pair(layer.kernel_dilation), *_pair(layer.input_dilation))
    return layer.feature_group_count == 1 and set(dilations) == {1}


def _pair(value: int | Sequence[int] | None) -> tuple[int, ...]:
    if value is None:
        return (1, 1)
    return (value, value) if isinstance(value, int) else tuple(value)


def _window(layer: Any, inputs: Array) -> Window | None:
    if type(layer) is nn.Dense:
        return None
    (kh, kw), (sh, sw) = layer.kernel_size, _pair(layer.strides)
    padding = layer.padding
    if isinstance(padding, str):
        sides = inputs.shape[-3:-1]
        padding = jax.lax.padtype_to_pads(sides, (kh, kw), (sh, sw), padding)
    elif isinstance(padding, int):
        padding = (padding, padding)
    top, left = (p if isinstance(p, Sequence) else (p, p) for p in padding)
    return Window((kh, kw), (sh, sw), (tuple(top), tuple(left)))
