"""Run-time checks of shapes and types, 64-bit mode and a compilation cache, for the whole suite."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator

import jaxtyping
import pytest

# Drivers are run many times with the same programs, which are most of their time. One folder per
# process, because jax does not write entries atomically; the programs that tests start share it.
_CACHE = tempfile.mkdtemp(prefix="jaxdp-tests-")
atexit.register(shutil.rmtree, _CACHE, ignore_errors=True)
os.environ |= {
    "JAX_COMPILATION_CACHE_DIR": _CACHE,
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}

# Must come before anything imports jaxdp.
jaxtyping.install_import_hook("jaxdp", "beartype.beartype")

from jaxdp import precision  # noqa: E402


@pytest.fixture
def float64() -> Iterator[None]:
    """Run a test in jax's 64-bit mode."""
    with precision.float64():
        yield
