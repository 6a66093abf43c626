"""The probes of what a run leaves: its folder, its releases, its generator, its checkpoints."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import faulty_input
import jax.numpy as jnp
import numpy as np
from dataset_probes import planned
from faulty_input import Probe
from generated_folder import written
from hypothesis import strategies as st

from experiments import ntk_plan, ntk_settings, teacher_plan, teacher_settings, terminal
from experiments.data.load import load_dataset
from experiments.runs import generate, synthetic_images, teach
from experiments.runs import metrics as run_metrics
from experiments.runs import start as run_start
from experiments.runs.folder import RunFolder
from experiments.runs.release_log import ReleaseLog
from jaxdp.methods import dp_ntk
from jaxdp.privacy import certificates
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.releases import GaussianRelease

_NTK = ("--ntk_width=2", "--steps=1", "--batch_size=20")
_TEACHER = ("--steps=2", "--batch_size=200", "--whiten=0")

Edit = Callable[[Any], st.SearchStrategy[Any]]


@functools.cache
def _npz(kind: str) -> dict[str, np.ndarray]:
    """The arrays of a released file as a run writes them, made without running one."""
    from experiments.runs import released_file, teacher_file

    with tempfile.TemporaryDirectory() as name:
        with RunFolder(f"{name}/run", resume=False, overwrite=False) as folder:
            if kind == "embedding":
                plan = planned(ntk_settings.NtkSettings, ntk_plan.make_plan, _NTK)
                released = dp_ntk.Released(jnp.zeros((10, plan.features.dim)), jnp.full(10, 0.1))
                released_file.write(
                    ReleaseLog(folder),
                    released,
                    feature_config=plan.feature_config,
                    example_shape=plan.data.shape,
                    certificate=generate.certificate_of(plan),
                )
            else:
                plan = planned(teacher_settings.TeacherSettings, teacher_plan.make_plan, _TEACHER)
                stored = teacher_file.TeacherFile(
                    np.zeros((7, 10)), None, plan.map_config, [8, 8, 1], teach.certificate_of(plan)
                )
                teacher_file.write(ReleaseLog(folder), stored)
        with np.load(f"{name}/run/{kind}.npz") as saved:
            return dict(saved)


def _packed(arrays: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


@st.composite
def _released(draw: st.DrawFn, kind: str) -> bytes:
    """A released file of which the description, an array or a few bytes are others."""
    arrays = dict(_npz(kind))
    how = draw(st.sampled_from(["json", "json", "json", "array", "bytes"]))
    if how == "json":
        meta = draw(faulty_input.edited(json.loads(str(arrays["meta"]))))
        arrays["meta"] = np.array(json.dumps(meta))
    elif how == "array":
        name = draw(st.sampled_from([*arrays, "other"]))
        shape = draw(st.sampled_from([(), (10,), (10, 3), (2, 2, 2), (0,), (0, 0), (3, 10)]))
        arrays[name] = np.full(shape, draw(st.sampled_from([0, 0.5, np.nan, "x"])))
    else:
        return faulty_input.damage(draw, _packed(arrays))
    return _packed(arrays)


def _releases(kind: str) -> st.SearchStrategy[bytes]:
    _npz(kind)
    return _released(kind)


def _read_embedding(_: Any, folder: Path) -> None:
    arguments = ("--embedding=embedding.npz", *_NTK[1:])
    plan = planned(ntk_settings.NtkSettings, ntk_plan.make_plan, arguments)
    _use(generate.certificate_of(plan))


def _read_teacher(_: Any, folder: Path) -> None:
    arguments = ("--teacher=teacher.npz",)
    plan = planned(teacher_settings.TeacherSettings, teacher_plan.make_plan, arguments)
    _use(teach.certificate_of(plan))


def _use(certificate: dict[str, Any]) -> None:
    """Do with a certificate what a run does with it."""
    json.dumps(certificate, allow_nan=False)
    "".join(certificate["warnings"])
    with contextlib.redirect_stdout(io.StringIO()):
        terminal.print_guarantee(certificate)


def _released_probe(kind: str, read: Callable[[Any, Path], None]) -> Probe:
    def write(content: bytes, folder: Path) -> None:
        (folder / f"{kind}.npz").write_bytes(content)

    return Probe(
        f"{kind}.npz", functools.partial(_releases, kind), write, read, lambda: _packed(_npz(kind))
    )


@functools.cache
def _generated_files() -> dict[str, bytes]:
    """Files of a generating run that can be distilled from."""
    with tempfile.TemporaryDirectory() as name:
        return faulty_input.files_in(written(Path(name) / "run"))


@st.composite
def _generated(draw: st.DrawFn) -> dict[str, bytes]:
    files = dict(_generated_files())
    name = draw(st.sampled_from(["privacy.json", "privacy.json", "synthetic.npz", "embedding.npz"]))
    if name == "privacy.json" and draw(st.integers(0, 3)):
        edited = draw(faulty_input.edited(json.loads(files[name])))
        files[name] = json.dumps(edited).encode()
    elif name == "synthetic.npz" and draw(st.booleans()):
        shape = draw(st.sampled_from([(), (40,), (40, 8, 8, 1), (0, 8, 8, 1), (40, 0)]))
        other = np.zeros(shape, draw(st.sampled_from(["f4", "i8", "U1", "c8", "?", "u1"])))
        arrays = {"x": np.zeros((40, 8, 8, 1)), "y": np.repeat(np.arange(10), 4)}
        files[name] = _packed(arrays | {draw(st.sampled_from(["x", "y"])): other})
    else:
        files[name] = faulty_input.damage(draw, files[name])
    return files


def _read_generated(_: Any, folder: Path) -> None:
    found = synthetic_images.read(str(folder / "run"), load_dataset("digits", data_dir="."), ipc=1)
    _use(found.certificate)


# --- The folder of a run -----------------------------------------------------------------------

_FIRST = {"krr_test_accuracy": 0.1, "train_seconds": 0.0, "finished": False, "device": "cpu"}
_POINTS = [{"step": 0, "krr_test_accuracy": 0.1}, {"step": 2, "krr_test_accuracy": 0.2}]
_RELEASED = b"what was released"
_LEDGER = Ledger(
    num_examples=100,
    delta=1e-5,
    releases=(GaussianRelease(name="mean", sensitivity=0.1, stddev=1.0),),
)
_FIXED = {"eps": 1.0, "steps": 6, "example_shape": [8, 8, 1]}
_JSON_FILES: dict[str, Any] = {
    "config.json": _FIXED | {"versions": {"jax": "0"}, "ledger": _LEDGER.to_json()},
    "metrics.json": _FIRST | {"history": _POINTS},
    "released.json": {"files": {"x.npz": hashlib.sha256(_RELEASED).hexdigest()}, "step": 2},
}


# Leftovers are removed, and what is the same in every run of these settings is written again.
_REWRITTEN = (
    *("run/config.json", "run/privacy.json"),
    *("run/released.json.part", "run/y.npz.part"),
)


def run_files() -> dict[str, bytes]:
    """Files of a run that can be resumed."""
    texts = {name: json.dumps(content).encode() for name, content in _JSON_FILES.items()}
    return {"x.npz": _RELEASED} | texts


@st.composite
def _json_files(draw: st.DrawFn) -> dict[str, bytes]:
    files = {"x.npz": _RELEASED}
    for name, content in _JSON_FILES.items():
        text = json.dumps(content).encode()
        other = draw(
            st.sampled_from(["same", "same", "edited", "edited", "damaged", "deep", "lost"])
        )
        if other == "edited":
            text = json.dumps(draw(faulty_input.edited(content))).encode()
        elif other == "damaged":
            text = faulty_input.damage(draw, text)
        elif other == "deep":
            text = b"[" * 10**5
        if other != "lost":
            files[name] = text
    if draw(st.integers(0, 3)) == 0:
        files["released.json.part"] = b"{"
    return files


def _read_run(_: Any, folder: Path) -> None:
    """Take up a run as its driver does."""
    plan = SimpleNamespace(
        settings=SimpleNamespace(resume=True, overwrite=False),
        out_dir=folder / "run",
        ledger=_LEDGER,
        fixed_config=lambda: _FIXED,
        config=lambda: _FIXED,
    )
    terms = certificates.Terms(covers=("x",), target_epsilon=1.0)
    certificate = certificates.certify(_LEDGER, terms)
    with run_start.started(plan, certificate, num_bytes=0) as begun:
        begun.log.require_step(2)
        first = _FIRST | {"history": _POINTS[:1]}
        found = run_metrics.resumed(begun.folder, first, point="krr_test_accuracy")
    [point["step"] <= 1 and point["krr_test_accuracy"] < 1 for point in found["history"]]
    f"{found['krr_test_accuracy']:.2%} {found['train_seconds'] + 1.0}"
    json.dumps([found, begun.certificate], allow_nan=False)


PROBES = (
    _released_probe("embedding", _read_embedding),
    _released_probe("teacher", _read_teacher),
    Probe(
        "--synthetic",
        lambda: _generated() if _generated_files() else st.nothing(),
        functools.partial(faulty_input.write_files, "run"),
        _read_generated,
        _generated_files,
    ),
    Probe(
        "run folder",
        _json_files,
        functools.partial(faulty_input.write_files, "run"),
        _read_run,
        run_files,
        rewrites=_REWRITTEN,
    ),
)
