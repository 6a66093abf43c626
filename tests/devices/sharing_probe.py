"""What several devices make of the same data and seeds, as arrays in a file: a program of its own.

`python sharing_probe.py FILE`, with as many devices as `XLA_FLAGS` says.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxdp
from jaxdp import devices, large_arrays, numerics
from jaxdp.data import checked
from jaxdp.methods.dp_ntk import release as ntk_release
from jaxdp.methods.runner import PlainRunner
from jaxdp.methods.stored import NOTHING
from jaxdp.privacy import dp_sgd, sampling
from jaxdp.privacy.mechanism import SubsampledGaussian, private_key

# No multiple of 2, 4 or 8 devices: the last one has rows that are none.
N, STEPS, CLASSES, NOISE = 61, 5, 3, 20_000
SEED = 4


def data() -> tuple[np.ndarray, np.ndarray]:
    """Images (n, 8, 8) and their classes; the last class has one example."""
    rng = np.random.default_rng(SEED)
    y = np.append(rng.integers(0, CLASSES - 1, N - 1), CLASSES - 1)
    return rng.uniform(0, 1, (N, 8, 8)).astype(np.float32) * (1 + y[:, None, None]) / 3, y


class State(NamedTuple):
    step: Any
    found: Any


def mechanism(**changes: Any) -> SubsampledGaussian:
    values = {"sampling_rate": 0.3, "clip_norm": 0.5, "noise_multiplier": 0.0}
    return SubsampledGaussian(**{"num_examples": N, "num_steps": STEPS, **values, **changes})


def steps(
    described: SubsampledGaussian, clipped: Any, width: int, rows: np.ndarray | None = None
) -> np.ndarray:
    """Return what every step releases (steps, width) of rows of one value, their own numbers."""

    def step(state: State, key: Any, x: Any, labels: Any) -> State:
        mean = dp_sgd.noisy_mean(key, described, clipped(x), chunk_size=4)
        return State(state.step + 1, state.found.at[state.step].set(mean.astype(jnp.float32)))

    start = State(jnp.zeros((), jnp.int32), jnp.zeros((STEPS, width), jnp.float32))
    x = devices.by_rows(np.arange(N) if rows is None else rows)
    labels = devices.by_rows(np.zeros(N, int))
    done = dp_sgd.accounted_steps(described, step)(start, private_key(SEED), x, labels, STEPS)
    assert isinstance(done.found.sharding, jax.sharding.SingleDeviceSharding)
    return np.asarray(done.found)


def drawn(rows: Any) -> dp_sgd.ClippedSum:
    """Tell which rows are drawn, and how often."""

    def chunk(indices: Any, mask: Any) -> Any:
        return jnp.zeros(N).at[rows[indices]].add(jnp.where(mask, 1.0, 0.0))

    return dp_sgd.ClippedSum(chunk, jnp.zeros(N))


def nothing(_: Any) -> dp_sgd.ClippedSum:
    """Sum nothing: what is released is noise."""
    zero = jnp.zeros(NOISE, jnp.float64)
    return dp_sgd.ClippedSum(lambda indices, mask: zero, zero)


def coins() -> np.ndarray:
    """Return the coins (steps, n) that one device throws, whatever devices there are."""
    thrown = np.zeros((STEPS, N))
    for step in range(STEPS):
        key = jax.random.split(jax.random.fold_in(private_key(SEED), step))[0]
        sample = sampling.poisson_sample(key, num_examples=N, sampling_rate=0.3)
        thrown[step, np.asarray(sample.indices[: int(sample.size)])] = 1
    return thrown


@contextlib.contextmanager
def in_files(path: str) -> Iterator[Callable[[np.ndarray], np.ndarray]]:
    """Give what maps arrays from files, on a machine so small that they stay there."""
    before, large_arrays.most_bytes = large_arrays.most_bytes, lambda: 10
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:

        def mapped(rows: np.ndarray) -> np.ndarray:
            file = Path(folder) / f"{len(list(Path(folder).iterdir()))}.npy"
            np.save(file, rows)
            found = devices.by_rows(np.load(file, mmap_mode="r"))
            assert isinstance(found, devices.StoredRows)
            return np.load(file, mmap_mode="r")

        yield mapped
    large_arrays.most_bytes = before


class FileRunner(PlainRunner):
    """Keeps what a map makes of rows in a file."""

    def __init__(self, mapped: Callable[[np.ndarray], np.ndarray]) -> None:
        super().__init__(progress=False)
        self._mapped = mapped

    def rows(self, row_map: Any, x: np.ndarray, *, what: str) -> np.ndarray:
        return self._mapped(super().rows(row_map, x, what=what))


def released(method: Any, mapped: Any = None, **settings: Any) -> np.ndarray:
    """Return all that a method releases at a fixed noise seed, as one row of numbers."""
    x, y = data()
    spec = jaxdp.Spec.images("probe", x.shape, class_names=["a", "b", "c"], low=0, high=255)
    chosen = method.Settings(eps=2.0, delta=1e-3, noise_seed=SEED, seed=SEED, **settings)
    plan = method.make_plan(method.complete(chosen, spec, NOTHING), spec, NOTHING)
    private = checked(jaxdp.Private(x, y), spec)
    runner = PlainRunner(progress=False) if mapped is None else FileRunner(mapped)
    found = plan.release(private, private_key(SEED), runner)
    leaves = [np.asarray(leaf).ravel() for leaf in jax.tree.leaves(tuple(found))]
    return np.concatenate([leaf for leaf in leaves if leaf.dtype.kind == "f"])


def main(path: str) -> None:
    """Write all of it."""
    free = mechanism()
    # More chunks than devices, and the last group of chunks is not full.
    ntk_release._CHUNK = numerics.ByBackend(cpu=5, accelerator=5)
    found = {
        "devices": np.asarray(jax.device_count()),
        "coins": coins(),
        # In units of the clip norm times the expected number of examples.
        "drawn": steps(free, drawn, N) * free.expected_batch_size * free.clip_norm,
        "noise": steps(mechanism(noise_multiplier=2.0), nothing, NOISE) * free.expected_batch_size,
        "dp_kip": released(jaxdp.methods.dp_kip, ipc=2, epochs=2, batch_size=20),
        "teacher": released(jaxdp.methods.teacher, ipc=1, steps=5, batch_size=20, whiten=0),
        "dp_ntk": released(jaxdp.methods.dp_ntk, features="rff", steps=2, batch_size=20),
    }
    with in_files(path) as mapped:
        from_file = steps(free, drawn, N, mapped(np.arange(N, dtype=np.int32)))
        found["drawn from a file"] = from_file * free.expected_batch_size * free.clip_norm
        found["teacher from a file"] = released(
            jaxdp.methods.teacher, mapped, ipc=1, steps=5, batch_size=20, whiten=0
        )
    np.savez(path, **found)


if __name__ == "__main__":
    main(sys.argv[1])
