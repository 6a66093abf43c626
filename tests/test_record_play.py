"""Record and play: the same noised sums on neighbouring datasets, and all else is the same.

The noise function returns its noise alone and notes the exact sums that it was given. A result
that is a function of noised sums and of public values is then the same, bit for bit, on any two
datasets of one size; a bit that differs is a path past the noise. Sums that differ show that the
neighbours do.
"""

from __future__ import annotations

import functools
import itertools
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
import pytest
from support import drivers

from jaxdp import kernels
from jaxdp.features import base as feature_maps
from jaxdp.kernels.kip import initial_support
from jaxdp.methods import dp_kip, dp_ntk, teacher
from jaxdp.privacy import class_sums, releases
from jaxdp.privacy.mechanism import SubsampledGaussian, add_gaussian_noise, private_key
from jaxdp.privacy.relations import REPLACE
from jaxdp.program.commands import dp_kip as dp_kip_driver
from jaxdp.program.commands import dp_kip_teacher
from jaxdp.program.commands import dp_ntk as dp_ntk_driver
from jaxdp.program.runs import runner

N, DIM, CLASSES, STEPS = 24, 6, 3, 3
Sums = list[np.ndarray]


def play(monkeypatch: pytest.MonkeyPatch, *, leak: bool = False) -> Sums:
    """Put noise alone in the place of noised sums, wherever they are made; return exact sums.

    With `leak` the exact sums stay in: what a broken mechanism would release.
    """
    sums: Sums = []

    def noise_alone(key: jax.Array, tree: Any, *, stddev: float) -> Any:
        for leaf in jax.tree.leaves(tree):
            jax.debug.callback(lambda value: sums.append(np.array(value)), leaf)
        # What has no noise is not noised: it stays what it is.
        played = tree if leak or stddev == 0 else jax.tree.map(jnp.zeros_like, tree)
        return add_gaussian_noise(key, played, stddev=stddev)

    for name, module in list(sys.modules.items()):
        if name.startswith(("jaxdp", "experiments")) and hasattr(module, "add_gaussian_noise"):
            monkeypatch.setattr(module, "add_gaussian_noise", noise_alone)
    return sums


def data(neighbour: str = "") -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels; in the neighbour the last record is another one, or empty."""
    rng = np.random.default_rng(0)
    x, labels = rng.random((N, DIM), np.float32), np.arange(N, dtype=np.int32) % CLASSES
    if neighbour == "replaced":
        x[-1], labels[-1] = 1 - x[-1], (labels[-1] + 1) % CLASSES
    elif neighbour == "emptied":
        x[-1] = np.nan
    return x, labels


MECHANISM = SubsampledGaussian(
    num_examples=N, sampling_rate=0.9, num_steps=STEPS, clip_norm=0.1, noise_multiplier=1.0
)


Run = Callable[[np.ndarray, np.ndarray], Any]


def every_state(algorithm: Any, start: Any) -> Run:
    """Return what collects the state after every step, and after one that must not be a step."""

    def run(x: np.ndarray, labels: np.ndarray) -> Any:
        states = [start]
        for _ in range(STEPS + 1):
            rows = jnp.asarray(x), jnp.asarray(labels)
            states.append(algorithm.update(states[-1], private_key(0), *rows, 1))
        return states

    return run


def kip_run(kernel: kernels.Kernel, space: str = "pixels") -> Run:
    config = dp_kip.KIPConfig(
        ridge=1e-2, optimizer=optax.adam(0.1), average_decay=0.5, clip_space=space, chunk_size=5
    )
    algorithm = dp_kip.dp_kip(kernel, MECHANISM, config)
    support = initial_support(jax.random.key(0), ipc=1, num_classes=CLASSES, dim=DIM)
    return every_state(algorithm, algorithm.init(support))


def teacher_run() -> Run:
    config = teacher.TeacherConfig(optimizer=optax.sgd(0.1, momentum=0.9), chunk_size=5)
    algorithm = teacher.dp_teacher(MECHANISM, config)
    return every_state(algorithm, algorithm.init(DIM, CLASSES))


PIXELS = feature_maps.unit_features(lambda rows: rows, DIM)


def chunks(x: np.ndarray, labels: np.ndarray) -> class_sums.LabelledChunks:
    return class_sums.labelled_chunks(x, labels, num_classes=CLASSES, chunk_size=5)


def embedding_run() -> Run:
    bounds = dp_ntk.sensitivities(PIXELS, N, class_weights=True, relation=REPLACE)
    released = releases.calibrate(bounds, target_epsilon=1.0, delta=1e-5)
    sizes = {"num_examples": N, "num_classes": CLASSES}
    return lambda x, labels: dp_ntk.release_embedding(
        private_key(0), PIXELS, chunks(x, labels), released, **sizes
    )


def class_means_run() -> Run:
    sizes = {"num_examples": N, "num_classes": CLASSES}
    return lambda x, labels: teacher.release_class_means(
        private_key(0), PIXELS, chunks(x, labels), noise_multiplier=1.0, **sizes
    )


FAST = kernels.fc_ntk()
GENERAL = kernels.Kernel(cross=FAST.cross, symmetric=FAST.symmetric)
FEATURES = kernels.from_features(jnp.sin)
# What makes a run, and the number of arrays that it adds noise to, the rows of embeddings apart.
RELEASES: dict[str, tuple[Callable[[], Run], int]] = {
    "DP-KIP, fast path": (functools.partial(kip_run, FAST), STEPS),
    "DP-KIP, general path": (functools.partial(kip_run, GENERAL), STEPS),
    "DP-KIP, features": (functools.partial(kip_run, FEATURES, "features"), STEPS),
    "DP-KIP, pixels of features": (functools.partial(kip_run, FEATURES), STEPS),
    "teacher": (teacher_run, STEPS),
    "embedding and class weights": (embedding_run, 2 * CLASSES),
    "class means": (class_means_run, CLASSES),
}


def bits(result: Any) -> list[bytes]:
    """Return every array of a result, typed and to the last bit."""
    arrays = [np.asarray(leaf) for leaf in jax.tree.leaves(result)]
    return [f"{a.dtype}{a.shape}".encode() + a.tobytes() for a in arrays]


def recorded(
    monkeypatch: pytest.MonkeyPatch, name: str, neighbours: tuple[str, ...], *, leak: bool = False
) -> list[tuple[list[bytes], Sums]]:
    """Return the result and the exact sums on the data and on neighbours, compiled once."""
    found = []
    with monkeypatch.context() as patch:
        sums = play(patch, leak=leak)
        run = RELEASES[name][0]()
        for neighbour in ("", *neighbours):
            sums.clear()
            result = bits(run(*data(neighbour)))
            jax.effects_barrier()
            found.append((result, list(sums)))
    return found


def differ(left: Sums, right: Sums) -> bool:
    return any(not np.array_equal(a, b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("name", RELEASES)
def test_guarantee_nothing_but_noised_sums_differs_between_neighbours(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (result, sums), *others = recorded(monkeypatch, name, ("replaced", "emptied"))
    assert len(sums) == RELEASES[name][1]
    for other, other_sums in others:
        assert differ(sums, other_sums)
        assert [s.shape for s in other_sums] == [s.shape for s in sums]
        assert other == result


@pytest.mark.parametrize("name", ["DP-KIP, fast path", "teacher", "embedding and class weights"])
def test_it_notices_exact_sums_that_get_through(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (result, _), (other, _) = recorded(monkeypatch, name, ("replaced",), leak=True)
    assert other != result


class Clock:
    """A clock that moves at every look at it: a run's seconds tell how often it looked."""

    def __init__(self) -> None:
        self._looks = itertools.count()

    def monotonic(self) -> float:
        return 0.05 * next(self._looks)


SHARED = ("--dataset=private", "--eps=5", "--noise_seed=3", "--batch_size=20")
DRIVERS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "dp_kip": (dp_kip_driver.main, ("--ipc=1", "--steps=4", "--eval_every=2")),
    "dp_kip_teacher": (
        dp_kip_teacher.main,
        ("--steps=3", "--distill_steps=2", "--match=both", "--whiten=0"),
    ),
    "dp_ntk": (
        dp_ntk_driver.main,
        (
            "--ntk_width=4",
            "--steps=3",
            "--num_synthetic=30",
            "--evaluate=none",
            "--weights_share=0.2",
        ),
    ),
    "labelled": (
        dp_ntk_driver.main,
        (
            "--labels=teacher",
            "--ntk_width=4",
            "--steps=3",
            "--num_synthetic=30",
            "--evaluate=none",
        ),
    ),
}


def write_dataset(folder: Path, neighbour: str) -> None:
    """Write images of three classes; in the neighbour the last training record is another one."""
    rng = np.random.default_rng(0)
    arrays = {}
    for split, n in (("train", 40), ("test", 12)):
        arrays[f"x_{split}"] = rng.integers(0, 256, (n, 8, 8), np.uint8)
        arrays[f"y_{split}"] = np.arange(n) % CLASSES
    x, y = arrays["x_train"], arrays["y_train"]
    if neighbour == "replaced":
        x[-1], y[-1] = 255 - x[-1], (y[-1] + 1) % CLASSES
    elif neighbour == "emptied":
        x[-1] = 0
    folder.mkdir(exist_ok=True)
    np.savez(folder / "private.npz", **arrays)


def said(text: str) -> list[str]:
    """Return the lines of a terminal, of a progress bar only its last state without the time.

    A public map is computed by the first run that wants it, whatever its data, and kept.
    """
    lines: dict[str, str] = {}
    for line in re.split(r"[\r\n]", text):
        name = line.split(":")[0] if "|" in line else line
        lines[name] = re.sub(r"\[.*\]", "", line).rstrip()  # a bar blanks what was longer
    lines.pop("public map, of synthetic images", None)
    return list(lines.values())


def contents(out: Path) -> dict[str, Any]:
    """Return every file of a run folder; of orbax's what they restore, not the time."""
    found: dict[str, Any] = {}
    for path in sorted(out.rglob("*")):
        name = str(path.relative_to(out))
        if path.is_file() and not name.startswith(drivers.ORBAX):
            found[name] = path.read_bytes()
    steps = [*out.glob("*checkpoints/*/default"), *out.glob("generator/variables")]
    with ocp.StandardCheckpointer() as checkpointer:
        for step in sorted(steps):
            found[str(step.relative_to(out))] = bits(checkpointer.restore(step.absolute()))
    return found


@pytest.fixture
def run_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Any]:
    """Run a driver on the data or a neighbour, always in the same place."""

    def run(name: str, neighbour: str, *, leak: bool = False) -> tuple[Any, Sums]:
        main, flags = DRIVERS[name]
        out = tmp_path / "run"
        shutil.rmtree(out, ignore_errors=True)
        write_dataset(tmp_path / "data", neighbour)
        with monkeypatch.context() as patch:
            patch.setattr(runner, "time", Clock())
            sums = play(patch, leak=leak)
            capsys.readouterr()
            places = (f"--data_dir={tmp_path / 'data'}", f"--out_dir={out}", "--ledger=none")
            assert drivers.drive(main, *SHARED, *flags, *places) == 0
            jax.effects_barrier()
        terminal = capsys.readouterr()
        return {"out": said(terminal.out), "err": said(terminal.err)} | contents(out), sums

    return run


@pytest.mark.slow
@pytest.mark.parametrize("name", DRIVERS)
def test_guarantee_a_run_leaves_the_same_bytes_whoever_is_in_the_data(
    name: str, run_driver: Callable[..., Any]
) -> None:
    (files, sums), (others, other_sums) = run_driver(name, ""), run_driver(name, "replaced")
    assert differ(sums, other_sums)
    assert {"report.html", "metrics.json", "privacy.json", "config.json"} < set(files)
    assert any(file.startswith("checkpoints/") for file in files)
    assert list(others) == list(files)
    for file, content in files.items():
        assert others[file] == content, file


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dp_kip", "dp_ntk"])
def test_it_notices_a_run_whose_exact_sums_get_through(
    name: str, run_driver: Callable[..., Any]
) -> None:
    (files, _), (others, _) = (run_driver(name, kind, leak=True) for kind in ("", "replaced"))
    assert {file for file in files if others[file] != files[file]} >= {"report.html"}
