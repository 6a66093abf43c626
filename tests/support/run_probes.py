"""The probes of what a run leaves: its folder, its releases, its generator, its checkpoints."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from jaxdp.data import Spec
from jaxdp.methods import certified, dp_ntk, record, teacher
from jaxdp.methods.dp_kip.story import STORY
from jaxdp.methods.runner import num_columns
from jaxdp.methods.settings import Budget
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.program import terminal
from jaxdp.program.data.load import load_dataset
from jaxdp.program.run_flags import RunFlags
from jaxdp.program.runs import generated_images, released
from jaxdp.program.runs import start as run_start
from jaxdp.program.runs.folder import RunFolder
from jaxdp.program.runs.release_log import ReleaseLog
from jaxdp.program.runs.runner import first_metrics
from support import faulty_input
from support.dataset_probes import planned
from support.faulty_input import Probe
from support.generated_folder import written

_NTK = ("--ntk_width=2", "--steps=1", "--batch_size=20")
_TEACHER = ("--steps=2", "--batch_size=200", "--whiten=0")

Edit = Callable[[Any], st.SearchStrategy[Any]]


@functools.cache
def _npz(kind: str) -> dict[str, np.ndarray]:
    """The arrays of a released file as a run writes them, made without running one."""
    plan: Any
    found: Any
    if kind == "embedding":
        plan = planned("dp_ntk", *_NTK)
        found = dp_ntk.Released(jnp.zeros((10, plan.features.dim)), jnp.full(10, 0.1))
    else:
        plan = planned("teacher", *_TEACHER)
        width = num_columns(plan.feature_fn, plan.spec.dim)
        found = teacher.Released(np.zeros((width, 10)))
    stored = record.as_stored(plan, plan.form, found, certified.certificate(plan))
    with tempfile.TemporaryDirectory() as name:
        with RunFolder(f"{name}/run", resume=False, overwrite=False) as folder:
            released.write(ReleaseLog(folder), f"{kind}.npz", plan.form, stored)
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
    _use(certified.certificate(planned("dp_ntk", "--embedding=embedding.npz", *_NTK[1:])))


def _read_teacher(_: Any, folder: Path) -> None:
    _use(certified.certificate(planned("teacher", "--teacher=teacher.npz")))


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
    digits = load_dataset("digits", data_dir=".").spec
    found = generated_images.read(str(folder / "run"), digits, ipc=1).images
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
_FLAGS = RunFlags(out_dir="run", resume=True)
_PLAN: Any = SimpleNamespace(
    settings=Budget(),
    earlier_certificate=None,
    spec=Spec.images("digits", (100, 8, 8), class_names="01"),
    config=lambda: {"steps": 6},
    ledger=_LEDGER,
    story=dataclasses.replace(STORY, covers=("x",), num_bytes=0),
)
_FIXED = record.config_of(_PLAN, _FLAGS)
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
    run_folder = RunFolder("run", resume=True, overwrite=False)
    with run_start.started(_PLAN, _FLAGS, run_folder, {"data_source": "here"}) as begun:
        begun.log.require_step(2)
        found = first_metrics(_PLAN, begun.folder, "cpu")
    [point["step"] <= 1 and point["krr_test_accuracy"] < 1 for point in found["history"]]
    f"{found['krr_test_accuracy'] or 0.0:.2%} {found['train_seconds'] + 1.0}"
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
