"""The probes of what orbax has written: generators and checkpoints."""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import faulty_input
import jax
import numpy as np
from dataset_probes import planned
from faulty_input import Probe
from hypothesis import strategies as st

from experiments import sample
from experiments.runs import generator_file
from experiments.runs.checkpoints import Checkpoints
from experiments.runs.folder import RunFolder
from jaxdp.methods.dp_ntk import Generator


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
        folder.write_json("privacy.json", plan.certificate())
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


PROBES = (
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
