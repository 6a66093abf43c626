"""How many operations a traced program takes, by their type."""

import math
from typing import Any

import jax.numpy as jnp


def operations(jaxpr: Any) -> dict[bool, float]:
    """Return how many operations of a traced program are in float64, and how many are not."""
    total = {True: 0.0, False: 0.0}
    for equation in jaxpr.eqns:
        inner = _inner(equation)
        if inner is not None:
            for is_wide, count in inner.items():
                total[is_wide] += count
            continue
        types = [
            v.aval.dtype for v in (*equation.invars, *equation.outvars) if hasattr(v.aval, "dtype")
        ]
        total[jnp.float64 in types] += _count(equation)
    return total


def _inner(equation: Any) -> dict[bool, float] | None:
    """Return the operations of the programs that an equation calls; None where it calls none."""
    params = equation.params
    if equation.primitive.name == "cond":
        return max(
            (operations(each.jaxpr) for each in params["branches"]), key=lambda n: sum(n.values())
        )
    found = [each for each in params.values() if hasattr(each, "jaxpr") or hasattr(each, "eqns")]
    if not found:
        return None
    times = params.get("length", 1)  # of a scan
    each = [operations(getattr(program, "jaxpr", program)) for program in found]
    return {is_wide: times * sum(n[is_wide] for n in each) for is_wide in (True, False)}


def _count(equation: Any) -> float:
    name, out = equation.primitive.name, math.prod(equation.outvars[0].aval.shape)
    shapes = [v.aval.shape for v in equation.invars]
    if name == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        return 2 * out * math.prod(shapes[0][axis] for axis in contracted)
    if name == "conv_general_dilated":
        kernel_out = shapes[1][equation.params["dimension_numbers"].rhs_spec[0]]
        return 2 * out * math.prod(shapes[1]) / kernel_out
    if name == "cholesky":
        return out * shapes[0][-1] / 3
    if name == "triangular_solve":
        return out * shapes[0][-1]
    return float(out)
