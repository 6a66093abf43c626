"""Finished toy runs of every method, and the program that classifies by them, for its tests."""

from __future__ import annotations

import csv
import functools
import io
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import flagsaver
from PIL import Image

from jaxdp.methods import teacher
from jaxdp.methods.dp_kip.plan import KipPlan
from jaxdp.methods.dp_ntk import labels as labelled
from jaxdp.methods.dp_ntk.labels.plan import LabelledPlan
from jaxdp.methods.runner import num_columns
from jaxdp.methods.teacher import plan as teacher_plan
from jaxdp.program import command_line
from jaxdp.program.commands import classify
from jaxdp.program.report import pictures
from jaxdp.program.runs import driver
from support import toy_runs
from support.toy_runs import private_data
from support.toy_tables import frame_of, write_table

GENERATED = ("--num_synthetic=20", "--evaluate=none")
FEW = ("--features=rff", "--generator=dense", *GENERATED)
NOISY, PLAIN = "--eps=5", "--eps=inf"
TEACHER = "teacher_test_accuracy"
# The method, its flags beside the toy ones, and how its accuracy is called where a run tells one.
RELEASED: dict[str, tuple[str, tuple[str, ...], str | None]] = {
    "kip": ("dp_kip", ("--kernel=fc_nngp", "--depth=2", "--ridge=0.1", PLAIN), "krr_test_accuracy"),
    "features": ("dp_kip", ("--kernel=scatter", "--scatter_norm=unit", PLAIN), None),
    "teacher": ("dp_kip_teacher", (PLAIN,), TEACHER),
    "patched": ("dp_kip_teacher", ("--whiten=0.1", "--patches=8", PLAIN), TEACHER),
    "means": ("dp_kip_teacher", ("--match=embedding", "--ridge=0.1", PLAIN), None),
    "table kip": ("dp_kip", ("--codes=raw", "--nobounded", PLAIN), None),
    "table labelled": ("labelled", (*GENERATED, PLAIN), TEACHER),
}
CASES = RELEASED | {
    "generated": ("dp_ntk", (*FEW, NOISY), None),
    "table generated": ("dp_ntk", (*GENERATED, NOISY), None),
    "table unlabelled": ("dp_ntk", ("--unconditional", *GENERATED, PLAIN), None),
}
# The same with noise, so that what they make may leave.
NOISED = {
    f"{name}, noisy": (method, (*(flag for flag in flags if flag != PLAIN), NOISY), told)
    for name, (method, flags, told) in CASES.items()
    if PLAIN in flags
}


class Run(NamedTuple):
    """A finished run, what it has made, and its test data."""

    folder: Path
    made: Any
    x: np.ndarray
    y: np.ndarray


def toy_place(path: Path) -> Path:
    """Return a folder with toy data: images, and a table; runs are made there once."""
    private_data(path / "toy.npz", seed=0)
    write_table(path, frame_of(60))
    return path


def at_random(plan: Any, *_: Any) -> Any:
    """Stand for a release that takes long: numbers that no private data have been asked for."""
    rng, num = np.random.default_rng(0), plan.spec.num_classes
    if isinstance(plan, KipPlan):
        return plan._initial_state(plan._public_key).support
    taught = plan.teaching if isinstance(plan, LabelledPlan) else plan
    width = num_columns(taught.feature_fn, taught.spec.dim)
    weights = rng.normal(size=(width, num)).astype(np.float32)
    if isinstance(plan, LabelledPlan):
        mu = rng.normal(size=(num, plan.generation.features.dim)).astype(np.float32)
        return labelled.Released(jnp.asarray(mu), weights)
    means = rng.normal(size=(num, plan.means.features.dim)) if plan.uses_means else None
    return teacher.Released(weights if plan.uses_teacher else None, means)


@functools.cache
def run_of(name: str, place: Path) -> Run:
    """Return a run, made when it is first asked for; tests that change it take a copy."""
    method, flags, _ = (CASES | NOISED)[name]
    out, seen = place / re.sub(r"\W+", "_", name), []
    write = driver._Run._write

    def spy(self: Any, made: Any) -> None:
        seen.append((made, self._data))
        write(self, made)

    data = [f"--data_dir={place}", "--dataset=toy"]
    if name.startswith("table"):
        data = [f"--csv={place / 'people.csv'}", f"--schema={place / 'people.json'}"]
    dot = io.BytesIO()
    Image.new("L", (1, 1)).save(dot, "PNG")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver._Run, "_write", spy)
        if not name.startswith("kip"):
            for plan in (KipPlan, teacher.TeacherPlan, LabelledPlan):
                patch.setattr(plan, "release", at_random)
        patch.setattr(driver.summary, "show", lambda *_, **__: None)
        patch.setattr(pictures, "image_grid_png", lambda *_, **__: dot.getvalue())
        patch.setattr("jaxdp.program.report.tables.table_png", lambda *_, **__: dot.getvalue())
        patch.setattr(teacher_plan.distillation, "finish", lambda _, start, *__, **___: start)
        assert toy_runs.run(method, *flags, *data, f"--out_dir={out}") == 0
    ((made, found),) = seen
    return Run(out, made, found.test.x, found.test.y)


def run(*arguments: str) -> int:
    """Run the program in this process; return its exit code."""
    with flagsaver.flagsaver():
        try:
            classify.main(command_line.parse(["classify", *arguments], takes_files=True))
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def lines_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def saved(path: Path, **arrays: Any) -> str:
    np.savez(path, **arrays)
    return str(path)


def picture(path: Path, pixels: np.ndarray) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.squeeze()).save(path)
    return str(path)


def copied(run: Run, folder: Path) -> Path:
    out = folder / "copy"
    shutil.copytree(run.folder, out, ignore=shutil.ignore_patterns("checkpoints", "generator"))
    return out


# --- What is told --------------------------------------------------------------------------------


def assert_refused(capsys: pytest.CaptureFixture[str], expected: str, *arguments: str) -> None:
    capsys.readouterr()
    assert run(*arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    assert expected in said.err


def grey(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.uint8)
