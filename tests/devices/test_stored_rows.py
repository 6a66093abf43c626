"""Rows that stay in a file: the same samples, the same steps, and a fraction of the memory."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import drivers, toy_runs
from support.reuse import made

from jaxdp import devices, large_arrays
from jaxdp.methods.runner import PlainRunner
from jaxdp.methods.settings import SettingsError
from jaxdp.methods.steps import RowMap
from jaxdp.program.errors import InputError
from jaxdp.program.runs import rows as feature_rows

pytestmark = pytest.mark.usefixtures("few_public_images")


def mapped(path: Path, rows: np.ndarray) -> np.memmap:
    np.save(path, rows)
    return np.load(path, mmap_mode="r")


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of 400 bytes, so that nothing of the data fits into a quarter of it."""
    monkeypatch.setattr(large_arrays, "most_bytes", lambda: 100)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float16, np.float32])
def test_rows_are_read_inside_of_a_compiled_loop(
    dtype: type, tmp_path: Path, little_memory: None
) -> None:
    rows = np.random.default_rng(0).integers(0, 200, (5000, 7)).astype(dtype)
    stored = devices.by_rows(mapped(tmp_path / "x.npy", rows))
    assert isinstance(stored, devices.StoredRows)
    order = jnp.asarray(np.random.default_rng(1).permutation(5000).reshape(2, 2500))

    @jax.jit
    def sums(x: devices.StoredRows) -> jax.Array:
        def step(number: int, total: jax.Array) -> jax.Array:
            found = x[order[number]]
            assert found.dtype == dtype
            weights = jnp.arange(2500)[:, None]
            return total + jnp.sum(weights * found.astype(jnp.float32), axis=0)

        return jax.lax.fori_loop(0, 2, step, jnp.zeros(7))

    expected = sum(np.arange(2500) @ rows[each].astype(np.float64) for each in np.asarray(order))
    np.testing.assert_allclose(sums(stored), expected, rtol=1e-5)
    assert stored.shape == rows.shape


def test_what_fits_or_is_in_memory_is_an_array(tmp_path: Path) -> None:
    rows = np.zeros((5, 3), np.float16)
    kept = mapped(tmp_path / "x.npy", rows)
    assert isinstance(devices.by_rows(kept), jax.Array)
    assert not devices.stays_in_file(kept)


def test_an_array_in_memory_is_never_left_in_a_file(little_memory: None) -> None:
    assert isinstance(devices.by_rows(np.zeros((5000, 3), np.float16)), jax.Array)


def test_a_device_of_a_later_process_reads_from_the_file_of_its_own_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Device 3 of 4 is the second one of process 1, whose file has 9 of 19 rows."""
    own = np.arange(9, dtype=np.int32)[:, None] + 10
    stored = devices.StoredRows(mapped(tmp_path / "x.npy", own), 20)
    monkeypatch.setattr(devices, "num_shards", lambda: 4)
    monkeypatch.setattr(jax.lax, "axis_index", lambda axis: jnp.asarray(3))
    monkeypatch.setattr(jax, "process_index", lambda: 1)
    monkeypatch.setattr(jax, "local_device_count", lambda: 2)
    # The last of its five rows fills up.
    np.testing.assert_array_equal(stored[jnp.arange(5)][:, 0], [15, 16, 17, 18, 18])


@pytest.mark.parametrize("flags", [(), ("--kernel=scatter",)], ids=["pixels", "features"])
def test_guarantee_dp_kip_draws_and_clips_the_same_rows_from_a_file(
    flags: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _assert_same("dp_kip", flags, "distilled.npz", tmp_path, monkeypatch)


def test_guarantee_a_teacher_draws_and_clips_the_same_rows_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _assert_same("dp_kip_teacher", (), "distilled.npz", tmp_path, monkeypatch)


def _assert_same(
    name: str,
    flags: tuple[str, ...],
    file: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Check that rows in files give the same result with the same noise, to the last bit."""
    folder = tmp_path / "data" / "toy"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for split, n in (("train", 300), ("test", 20)):
        np.save(folder / f"x_{split}.npy", rng.integers(0, 256, (n, 8, 8), np.uint8))
        np.save(folder / f"y_{split}.npy", np.arange(n) % 3)
    data = ("--dataset=toy", f"--data_dir={folder.parent}", "--eps=5", "--delta=1e-3")
    asked = (*data, "--noise_seed=1", "--ledger=none", *flags)
    main, toy = toy_runs.DRIVERS[name]

    def run(out: Path) -> np.ndarray:
        assert drivers.drive(main.main, *toy, *asked, f"--out_dir={out}") == 0
        return made(out, file)

    expected = run(tmp_path / "memory")
    seen = []

    class Seen(devices.StoredRows):
        def __init__(self, rows: np.ndarray, num_rows: int | None = None) -> None:
            seen.append(rows)
            super().__init__(rows, num_rows)

    jax.tree_util.register_pytree_node(Seen, lambda rows: ((), rows), lambda rows, _: rows)
    monkeypatch.setattr(devices, "StoredRows", Seen)
    monkeypatch.setattr(large_arrays, "most_bytes", lambda: 100)
    np.testing.assert_array_equal(run(tmp_path / "file"), expected)
    assert seen
    assert all(isinstance(rows, np.memmap) for rows in seen)


def test_features_that_no_disk_holds_are_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_room(shape: tuple[int, ...], dtype: type) -> np.ndarray:
        raise large_arrays.NoRoomError("take 9 GB, more than there is")

    monkeypatch.setattr(large_arrays, "empty", no_room)
    itself = RowMap(lambda x: x, {}, np.float32)
    with pytest.raises(InputError, match="the features of 3 examples take 9 GB"):
        feature_rows.features_of(itself, np.zeros((3, 2), np.float32), description="")


def test_rows_that_a_library_call_makes_are_in_a_file_where_they_are_large(
    little_memory: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So each process of a run has its features in a file, and not the first one alone."""
    row_map, x = RowMap(lambda rows: 2 * rows, {}, np.float32), np.arange(90.0).reshape(30, 3)
    found = PlainRunner(progress=False).rows(row_map, x, what="features")
    assert devices.stays_in_file(found)
    np.testing.assert_array_equal(found, 2 * x)

    def no_room(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", no_room)
    with pytest.raises(SettingsError, match=r"features: 30 rows take .* TMPDIR"):
        PlainRunner(progress=False).rows(row_map, x, what="features")
