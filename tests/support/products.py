"""Products of matrices in a traced program, or in one for a GPU, and how they are rounded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.export
import jax.numpy as jnp

_FULL = jax.lax.Precision.HIGHEST
_PRODUCTS = ("dot_general", "conv_general_dilated")


def rounded(fn: Callable[..., Any], *args: Any) -> list[str]:
    """Return the float32 products that a GPU computes with 11 bits instead of 24, its default."""
    return [
        f"{equation.primitive.name} of {', '.join(str(v.aval) for v in equation.invars)}"
        for equation in _equations(jax.make_jaxpr(fn)(*args).jaxpr)
        if equation.primitive.name in _PRODUCTS
        and all(v.aval.dtype == jnp.float32 for v in equation.invars)
        and equation.params["precision"] != (_FULL, _FULL)
    ]


def _equations(program: Any) -> Iterator[Any]:
    for equation in program.eqns:
        yield equation
        for value in equation.params.values():
            for each in value if isinstance(value, tuple | list) else (value,):
                inner = getattr(each, "jaxpr", each)
                if hasattr(inner, "eqns"):
                    yield from _equations(inner)


_COARSE = r"\b(bf16|f16|tf32|f8\w+)\b"
# In these, CUDA's libraries keep the type of their operands.
_EXACT_CALLS = {"cusolver_potrf_ffi", "cu_threefry2x32_ffi"}


class ForCuda:
    """What a function becomes for an NVIDIA GPU, which it takes none to tell."""

    def __init__(self, fn: Callable[..., Any], *args: Any) -> None:
        """Lower the function for arguments like these."""
        self.text = jax.export.export(jax.jit(fn), platforms=["cuda"])(*args).mlir_module()

    @property
    def products(self) -> list[str]:
        """Return the products of matrices, and convolutions."""
        return re.findall(r"^.*stablehlo\.(?:dot|convolution).*$", self.text, re.MULTILINE)

    def rounded(self) -> list[str]:
        """Return what is computed with less than the digits of its type."""
        products = [
            line
            for line in self.products
            if not re.search(r"-> tensor<(?:\d+x)*f64>", line)
            and not re.search(r"precision = \[HIGHEST, HIGHEST\]|<precision HIGHEST>", line)
        ]
        calls = set(re.findall(r"custom_call @(\w+)", self.text)) - _EXACT_CALLS
        types = [line for line in self.text.splitlines() if re.search(_COARSE, line)]
        return [*products, *sorted(calls), *types]

    @property
    def rounded_once(self) -> int:
        """Return how many loops there are of `numerics.rounded_once`, by what they wait for."""
        return len(re.findall(r"stablehlo\.compare\s+NE, (%\w+), \1,", self.text))
