"""Eight devices release what one does: virtual ones of the CPU, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
import sharing_probe

from jaxdp import devices

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, np.ndarray]]:
    """What one device and what eight make."""
    return {count: found(tmp_path_factory.mktemp("made"), count) for count in (1, 8)}


def found(folder: Path, count: int) -> dict[str, np.ndarray]:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={count}"
    path = folder / "made.npz"
    done = subprocess.run(
        [sys.executable, sharing_probe.__file__, str(path)],
        capture_output=True,
        text=True,
        env=os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)},
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    with np.load(path) as arrays:
        assert int(arrays["devices"]) == count
        return dict(arrays)


def test_guarantee_every_example_has_its_own_coin_whatever_devices_there_are(
    made: dict[int, dict[str, np.ndarray]],
) -> None:
    """None is shared or lost where the rows of one device end; what fills up is never drawn."""
    for count in (1, 8):
        np.testing.assert_allclose(made[count]["drawn"], made[count]["coins"], atol=1e-6)
    np.testing.assert_array_equal(made[8]["coins"], made[1]["coins"])
    # The last example is beside rows that are none; each is drawn at some step.
    assert made[8]["coins"][:, -1].any()
    assert 0.2 < made[8]["coins"].mean() < 0.4


def test_guarantee_noise_is_added_once_by_all_devices_together(
    made: dict[int, dict[str, np.ndarray]],
) -> None:
    """It has the standard deviation that is accounted for, in units of the clip norm."""
    noise = made[8]["noise"]
    each = 2.0 / np.sqrt(2 * noise.shape[1])
    np.testing.assert_allclose(noise.std(axis=1), 2.0, atol=5 * each)
    assert abs(np.corrcoef(noise)[0, 1:]).max() < 5 / np.sqrt(noise.shape[1])


def test_guarantee_every_device_reads_its_own_rows_from_a_file(
    made: dict[int, dict[str, np.ndarray]],
) -> None:
    for count in (1, 8):
        np.testing.assert_allclose(made[count]["drawn from a file"], made[1]["coins"], atol=1e-6)
        expected = made[1]["teacher"]
        np.testing.assert_allclose(
            made[count]["teacher from a file"], expected, rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("method", ["dp_kip", "teacher", "dp_ntk"])
def test_guarantee_eight_devices_release_what_one_does(
    made: dict[int, dict[str, np.ndarray]], method: str
) -> None:
    one, eight = made[1][method], made[8][method]
    assert np.all(np.isfinite(one))
    assert np.std(one) > 0
    # Sums of devices are added in another order, in float64.
    np.testing.assert_allclose(eight, one, rtol=1e-5, atol=1e-6)


def test_one_device_has_all_rows_as_they_are() -> None:
    x = np.arange(6.0).reshape(3, 2)
    rows = devices.by_rows(x)
    np.testing.assert_array_equal(rows, x)
    assert not devices.is_by_rows(rows)
    assert devices.padded(61) == 61
    assert devices.num_shards() == 1
    np.testing.assert_array_equal(devices.own_rows(rows), x)
    assert devices.summed({"a": rows})["a"] is rows
    assert jax.local_device_count() == devices.local_count() == 1
