"""A program as a compiler may compute it at its worst: all of it again for every reader.

XLA may compute a value once for each operation that reads it, and round it differently each time.
Whether it does hangs on versions, devices and sizes of arrays. Here every value is computed twice,
each time from either copy of what it reads, and what arithmetic gives is changed by a few roundings
at random. Values that come out of a loop whose number of rounds only the program's input tells are
there once, as no compiler looks into such loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

Two = tuple[Any, Any]

# Functions that are called, and the parameter that holds one.
_CALLS = {
    "pjit": "jaxpr",
    "jit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vmap_call": "call",
    "checkpoint": "jaxpr",
}
_ARITHMETIC = {
    *("add", "sub", "mul", "div", "add_any", "sqrt", "rsqrt", "square", "pow", "integer_pow"),
    *("exp", "exp2", "log", "log1p", "expm1", "sin", "cos", "tan", "tanh", "atan2", "logistic"),
    *("erf", "scan", "cond"),
}
_SUMS = {"dot_general", "reduce_sum", "cumsum", "conv_general_dilated"}
_SOLVES = {"cholesky", "triangular_solve"}
_ROUNDINGS = 2.0


def computed(fn: Callable[..., Any], *args: Any, seed: int) -> list[np.ndarray]:
    """Return the leaves of `fn(*args)` as such a compiler would compute them."""
    program = jax.make_jaxpr(fn)(*args)
    known = [(z, z, True) for z in program.consts]
    values = [(z, z, False) for z in map(jnp.asarray, jax.tree.leaves(args))]
    run = _Run(np.random.default_rng(seed))
    results = run.program(program.jaxpr, [*known, *values])
    return [np.asarray(result[run.rng.integers(2)]) for result in results]


class _Run:
    """One way to compute; a value is two copies, and whether it is the same for every input."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def program(self, jaxpr: Any, inputs: Sequence[Any]) -> list[Any]:
        values = dict(zip([*jaxpr.constvars, *jaxpr.invars], inputs, strict=True))

        def read(atom: Any) -> Any:
            return (atom.val, atom.val, True) if isinstance(atom, Literal) else values[atom]

        for equation in jaxpr.eqns:
            results = self.equation(equation, [read(atom) for atom in equation.invars])
            values.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def equation(self, equation: Any, inputs: list[Any]) -> list[Any]:
        name, params = equation.primitive.name, equation.params
        if name in _CALLS:
            inner = params[_CALLS[name]]
            closed = getattr(inner, "jaxpr", inner)
            consts = [(z, z, True) for z in getattr(inner, "consts", ())]
            return self.program(closed, [*consts, *inputs])
        if name == "optimization_barrier":
            return inputs
        known = all(value[2] for value in inputs)
        first = self.once(equation, inputs)
        is_fixed = name == "while" and not all(v[2] for v in inputs[: params["cond_nconsts"]])
        second = first if known or is_fixed else self.once(equation, inputs)
        return [(*both, known) for both in zip(first, second, strict=True)]

    def once(self, equation: Any, inputs: list[Any]) -> list[Any]:
        operands = [value[self.rng.integers(2)] for value in inputs]
        name, primitive = equation.primitive.name, equation.primitive
        if name in _SOLVES:
            operands = [self.rounded(z, np.abs(z)) for z in operands]
        found = primitive.bind(*operands, **equation.params)
        results = list(found) if primitive.multiple_results else [found]
        if name in _SUMS:
            sizes = primitive.bind(*map(jnp.abs, operands), **equation.params)
            return [self.rounded(results[0], sizes)]
        if name in _ARITHMETIC:
            return [self.rounded(z, np.abs(z)) for z in results]
        return results

    def rounded(self, value: Any, size: Any) -> Any:
        """Return a value, changed by up to so many roundings of a number of this size."""
        kind = np.asarray(value).dtype
        if not jnp.issubdtype(kind, jnp.floating):
            return value
        change = self.rng.uniform(-_ROUNDINGS, _ROUNDINGS, np.shape(value))
        with np.errstate(all="ignore"):
            changed = np.asarray(value) + change * float(jnp.finfo(kind).eps) * np.asarray(size)
        return jnp.asarray(changed.astype(kind))
