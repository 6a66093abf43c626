"""What depends on jax's settings and devices: a scope of 64 bit, sizes that fit the device."""

import contextlib
import importlib
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


def float64() -> contextlib.AbstractContextManager[None]:
    """Return a context in which jax keeps float64, without changing the caller's setting.

    Enter it around the call of a jitted function, not inside one: constants of a function that
    is traced without 64-bit mode are truncated when it is compiled.
    """
    enable_x64: Any = getattr(jax, "enable_x64", None)
    if enable_x64 is None:  # jax < 0.8
        enable_x64 = importlib.import_module("jax.experimental").enable_x64
    return enable_x64(True)


def has_float64() -> bool:
    """Return whether jax keeps float64 here."""
    return jax.dtypes.canonicalize_dtype(jnp.float64) == jnp.float64


class ByBackend(NamedTuple):
    """A size that fits the device: what a CPU's cache holds, what fills an accelerator."""

    cpu: int
    accelerator: int

    @property
    def here(self) -> int:
        """The size for jax's default device."""
        return self.cpu if jax.default_backend() == "cpu" else self.accelerator
