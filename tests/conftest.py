"""Run-time checks of array shapes and types, and 64-bit mode, for the whole suite."""

from __future__ import annotations

from collections.abc import Iterator

import jaxtyping
import pytest

# Must come before anything imports jaxdp.
jaxtyping.install_import_hook("jaxdp", "beartype.beartype")

from jaxdp import precision  # noqa: E402


@pytest.fixture
def float64() -> Iterator[None]:
    """Run a test in jax's 64-bit mode."""
    with precision.float64():
        yield
