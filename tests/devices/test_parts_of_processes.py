"""What a process takes of the data where several share a run: its own rows, and no other ones."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from support.toy_runs import StoppedError, planned

from jaxdp import processes
from jaxdp.data import Private
from jaxdp.methods.dp_kip import release as kip_release
from jaxdp.methods.runner import PlainRunner
from jaxdp.methods.teacher import release as teacher_release
from jaxdp.privacy import class_sums
from jaxdp.privacy.mechanism import private_key

OWN = slice(20, 45)
RNG = np.random.default_rng(0)
PRIVATE = Private(
    RNG.integers(0, 17, (60, 8, 8, 1)).astype(np.uint8), RNG.integers(0, 10, 60).astype(np.int32)
)


def as_process(patch: pytest.MonkeyPatch, index: int, *, number: int, devices: int) -> None:
    """Let this process be one of several, which have as many devices each."""
    every = [
        SimpleNamespace(id=each, process_index=each // devices) for each in range(number * devices)
    ]
    here = every[index * devices : (index + 1) * devices]
    patch.setattr(processes, "are_several", lambda: True)
    for name, value in {
        "devices": every,
        "local_devices": here,
        "device_count": len(every),
        "local_device_count": devices,
        "process_count": number,
        "process_index": index,
    }.items():
        patch.setattr(jax, name, lambda value=value: value)


@pytest.mark.parametrize(("number", "devices"), [(2, 1), (3, 2), (2, 4)])
@pytest.mark.parametrize("num_rows", [25, 29, 32, 61])
def test_guarantee_every_row_belongs_to_one_process(
    number: int, devices: int, num_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that two processes have would count twice: twice as much as the noise is for."""
    found = []
    for index in range(number):
        with monkeypatch.context() as patch:
            as_process(patch, index, number=number, devices=devices)
            found.append(np.arange(num_rows)[processes.own_part(num_rows)])
    np.testing.assert_array_equal(np.concatenate(found), np.arange(num_rows))
    # Equally many for each device: the last one alone may have fewer.
    assert {len(rows) for rows in found[:-1]} == {devices * -(-num_rows // (number * devices))}


def of_release(name: str, patch: pytest.MonkeyPatch, *flags: str) -> list[Any]:
    """Return what a release sums, or takes steps on, in this process."""
    found: list[Any] = []

    def update(state: Any, key: Any, rows: Any, labels: Any, count: int) -> None:
        found.append((np.asarray(rows), np.asarray(labels)))
        raise StoppedError

    def sums(key: Any, features: Any, chunks: Any, **_: Any) -> None:
        arrays = [chunks.arrays(at) for at in range(chunks.num_chunks)]
        rows, labels = (np.concatenate(each) for each in zip(*arrays, strict=True))
        found.append((rows[labels >= 0], labels[labels >= 0]))
        raise StoppedError

    class Runner(PlainRunner):
        def loop(self, steps: Any) -> Any:
            steps.advance(steps.state, 1)

    for module, builder in ((teacher_release, "dp_teacher"), (kip_release, "dp_kip")):
        patch.setattr(module, builder, functools.partial(_with, getattr(module, builder), update))
    patch.setattr(class_sums, "release_sums", sums)
    with pytest.raises(StoppedError):
        planned(name, *flags).release(PRIVATE, private_key(0), Runner(progress=False))
    return found


def _with(build: Any, update: Any, *arguments: Any, **named: Any) -> Any:
    return build(*arguments, **named)._replace(update=update)


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("dp_kip", ()),
        ("dp_kip", ("--kernel=scatter", "--scatter_angles=1")),
        ("dp_kip_teacher", ()),
        ("dp_kip_teacher", ("--match=embedding",)),
        ("dp_ntk", ("--features=rff",)),
        ("labelled", ("--features=rff",)),
    ],
)
def test_guarantee_every_method_takes_its_own_rows_alone(
    name: str, flags: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With their own labels: a row and a label of two records are moved by both of them."""
    with monkeypatch.context() as patch:
        ((rows, labels),) = of_release(name, patch, *flags)
    monkeypatch.setattr(processes, "own_part", lambda num_rows: OWN)
    ((own, own_labels),) = of_release(name, monkeypatch, *flags)
    if flags != ("--match=embedding",) and name != "dp_ntk":
        np.testing.assert_array_equal(labels, PRIVATE.y)
        # Features are float16, and chunks of another size round otherwise.
        np.testing.assert_allclose(own, rows[OWN], rtol=2e-3, atol=2e-3)
        np.testing.assert_array_equal(own_labels, PRIVATE.y[OWN])
        return
    np.testing.assert_array_equal(own, PRIVATE.rows[OWN])
    np.testing.assert_array_equal(own_labels, PRIVATE.y[OWN])
    assert len(rows) == 60
