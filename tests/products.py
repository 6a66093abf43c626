"""Products of matrices in a traced program, and how they are rounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
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
