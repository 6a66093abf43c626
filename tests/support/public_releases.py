"""Releases that do not depend on data, and all that a run writes: is anything else of the data?"""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxdp.privacy import class_sums, dp_sgd
from jaxdp.program.runs import runner as run_runner


def public_mean(
    key: Any, mechanism: Any, clipped: dp_sgd.ClippedSum, *, chunk_size: int
) -> jax.Array:
    """Stand for a step's noisy mean: of the right shape, and of no data."""
    shape = jax.eval_shape(clipped.assemble, clipped.zero).shape
    return clipped.after(jax.random.normal(jax.random.key(1), shape, jnp.float64))


def public_sums(key: Any, exact: jax.Array, *, stddev: float, divisor: float) -> jax.Array:
    """Stand for noisy sums."""
    return jax.random.uniform(jax.random.key(2), exact.shape, jnp.float32)


# Orbax writes the time into these, too.
_ORBAX = ("checkpoints", "teacher_checkpoints", "variables", "variables.sha256")


def everything_in(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return {n: held for n, held in found.items() if not set(Path(n).parts) & set(_ORBAX)}


def same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no file of a run hold the time."""
    monkeypatch.setattr(run_runner, "time", types.SimpleNamespace(monotonic=lambda: 0.0))
    monkeypatch.setattr("tqdm.std.time", lambda: 0.0)
    # A thread that looks every ten seconds of its own clock whether a bar is late.
    monkeypatch.setattr("tqdm._monitor.TMonitor.get_instances", lambda monitor: [])


def release_in_public(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run release what does not depend on its data, and no file of it hold the time."""
    monkeypatch.setattr(dp_sgd, "noisy_mean", public_mean)
    monkeypatch.setattr(class_sums, "noisy_sums", public_sums)
    same_time(monkeypatch)
