"""The probes of generators, of checkpoints, and of whole folders as others pass them on."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import jax
import numpy as np
from hypothesis import strategies as st

import jaxdp
from jaxdp.methods import certified, record
from jaxdp.methods.dp_ntk import Generator
from jaxdp.program.commands import sample
from jaxdp.program.runs import generator_file
from jaxdp.program.runs.checkpoints import Checkpoints
from jaxdp.program.runs.folder import RunFolder
from support import faulty_input, saved_folders
from support.dataset_probes import planned
from support.faulty_input import Probe


@functools.cache
def _generator_files() -> dict[str, bytes]:
    """Files of a generator by their paths, untrained."""
    plan = planned("dp_ntk", "--ntk_width=2", "--steps=1")
    generator = Generator(
        module=plan.maker.module,
        variables=plan.maker.training.init(jax.random.key(0)).average,
        code_dim=plan.settings.code_dim,
        class_names=plan.class_names,
        shape=plan.spec.shape,
        codec=plan.spec.codec,
    )
    with (
        tempfile.TemporaryDirectory() as name,
        RunFolder(f"{name}/run", resume=False, overwrite=False) as folder,
    ):
        generator_file.write(folder, generator)
        folder.write_json("privacy.json", certified.certificate(plan))
        files = faulty_input.files_in(folder.path)
        files.pop(".lock")
        return files


@st.composite
def _generators(draw: st.DrawFn) -> dict[str, bytes]:
    """What is other than a run has written it: files under generator/ by their paths."""
    files = dict(_generator_files())
    name = "generator/description.json"
    if draw(st.booleans()):
        content = json.loads(files[name])
        files[name] = json.dumps(draw(faulty_input.edited(content))).encode()
        return files
    name = draw(st.sampled_from(sorted(files)))
    files[name] = faulty_input.damage(draw, files[name])
    return files


def _read_generator(_: Any, folder: Path) -> None:
    generator, _ = sample.generator_of(folder / "run")
    assert len(generator(np.zeros(2, int), seed=0)) == 2


_STATES = {
    step: {"a": np.full((3, 4), step, np.float32), "step": np.array(step)} for step in (2, 4)
}


@functools.cache
def _checkpoints() -> dict[str, bytes]:
    """Files of two checkpoints by their paths."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checkpoints = Checkpoints(folder, repeatable=True)
        for step, state in _STATES.items():
            checkpoints.save(step, state)
        checkpoints.close()
        return faulty_input.files_in(folder)


@st.composite
def _damaged_checkpoints(draw: st.DrawFn) -> dict[str, bytes]:
    files = dict(_checkpoints())
    name = draw(st.sampled_from(sorted(name for name in files if name.startswith("4/"))))
    files[name] = faulty_input.damage(draw, files[name] or b"x")
    return files


def _read_checkpoints(_: Any, folder: Path) -> None:
    checkpoints = Checkpoints(folder / "checkpoints", repeatable=False)
    try:
        found = checkpoints.restore(_STATES[2])
    finally:
        checkpoints.close()
    assert found is not None
    np.testing.assert_array_equal(found["a"], _STATES[4]["a"])  # whole, or refused: never other


_PASSED_ON = ("images", "distilled", "table")


@functools.cache
def _saved_files(name: str) -> dict[str, bytes]:
    """Files of a folder that was passed on."""
    with tempfile.TemporaryDirectory() as place:
        return faulty_input.files_in(getattr(saved_folders, name)(Path(place) / "run"))


@st.composite
def _passed_on(draw: st.DrawFn) -> dict[str, bytes]:
    """A folder of which a description is another one, or an npz file with its own digest."""
    files = dict(_saved_files(draw(st.sampled_from(_PASSED_ON))))
    name = draw(st.sampled_from(sorted(files)))
    if name.endswith(".json"):
        files[name] = json.dumps(draw(faulty_input.edited(json.loads(files[name])))).encode()
        return files
    with np.load(io.BytesIO(files[name])) as stored:
        arrays = dict(stored)
    changed = draw(st.sampled_from([*arrays, "y_scores"]))
    shape = draw(st.sampled_from([(), (3,), (12,), (3, 4, 4, 1), (12, 4, 5, 1), (3, 3), (0,)]))
    arrays[changed] = np.full(shape, draw(st.sampled_from([0, -1, 0.5, np.nan, 1e38, "x"])))
    files[name] = record.npz_bytes(**arrays)
    certificate = json.loads(files["privacy.json"])
    certificate["sha256"] = {name: hashlib.sha256(files[name]).hexdigest()}
    files["privacy.json"] = json.dumps(certificate).encode()
    return files


def _load(_: Any, folder: Path) -> None:
    """Do with a folder what its user does."""
    found = jaxdp.load(folder / "run")
    shape = found.spec.stored_shape
    if found.spec.dim > 10**6:  # would be read, and takes long
        return
    found.classifier.predict_proba(np.zeros((2, *shape), np.float32))
    repr(found), str(found.certificate), found.certificate.promise


PROBES = (
    Probe(
        "jaxdp.load",
        lambda: _passed_on() if all(map(_saved_files, _PASSED_ON)) else st.nothing(),
        functools.partial(faulty_input.write_files, "run"),
        _load,
        lambda: _saved_files("images"),
    ),
    Probe(
        "generator",
        lambda: _generators() if _generator_files() else st.nothing(),
        functools.partial(faulty_input.write_files, "run"),
        _read_generator,
        _generator_files,
    ),
    Probe(
        "checkpoints",
        lambda: _damaged_checkpoints() if _checkpoints() else st.nothing(),
        functools.partial(faulty_input.write_files, "checkpoints"),
        _read_checkpoints,
        _checkpoints,
    ),
)
