"""What a newcomer does wrong in Python is said in Python's words, before any work.

The cases run in a process of their own, as users have them: annotations are not checked there.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
_GIVEN = """
import json, pathlib, sys
import numpy as np, pandas as pd
import jaxdp
from jaxdp.methods import runner
from jaxdp.methods.made import distilled, softmax
from jaxdp.tables import Schema
teacher, dp_kip, dp_ntk = jaxdp.methods.teacher, jaxdp.methods.dp_kip, jaxdp.methods.dp_ntk
marginals, Spec, Private = jaxdp.methods.marginals, jaxdp.Spec, jaxdp.Private
x = np.random.default_rng(0).integers(0, 255, (60, 8, 8)).astype(np.uint8)
y, names = np.arange(60) % 2, ["no", "yes"]
spec = Spec.images("scans", x.shape, class_names=names)
floats = Spec.images("scans", x.shape, class_names=names, low=0, high=1)
settings = teacher.Settings(ipc=1, steps=2, whiten=0.0, batch_size=20)
frame = pd.DataFrame({"age": [1, 2, 3] * 20, "ill": ["no", "yes", "no"] * 20})
schema = Schema.from_json({"columns": {
    "age": {"type": "numeric", "lower": 0, "upper": 9, "integer": True},
    "ill": {"type": "categorical", "categories": ["no", "yes"], "target": True}}})
table = Spec.table("people", schema, 60)
here = pathlib.Path(sys.argv[1])
(here / "text.txt").write_text("hello")
(here / "empty").mkdir()

def work(*args, **kwargs):
    raise SystemError("work came before the refusal")

runner.private_key = work  # is drawn when work begins

def run(*args, **kwargs):
    return jaxdp.run(*args, progress=False, **kwargs)

def on_points(method, *args):
    points = Spec.rows("points", (9, 1), class_names=names)
    classifier = jaxdp.methods.Classifier(points, lambda z: np.hstack([-z, z]), softmax)
    return getattr(classifier, method)(*args)

def on_photos(x):
    photos = Spec.images("photos", (9, 6, 8, 3), class_names=names)
    jaxdp.methods.Classifier(photos, lambda z: z[:, :2], softmax).predict(x)

made = distilled(spec, np.zeros((2, 64), np.float32), np.arange(2), shift=0.0, scale=1.0)
"""
CASES = {
    "a name for a method": (
        'run("teacher", settings, spec, Private(x, y))',
        "method: is of type str",
    ),
    "no method": ("run(None, settings, spec, Private(x, y))", "pass jaxdp.methods.teacher"),
    "settings of another": (
        "run(dp_kip, settings, spec, Private(x, y))",
        "pass jaxdp.methods.dp_kip.Settings(eps=1.0, ...)",
    ),
    "a class": ("run(teacher, teacher.Settings, spec, Private(x, y))", "the class jaxdp.methods.t"),
    "a dict": ('run(teacher, {"eps": 1}, spec, Private(x, y))', "settings: is of type dict"),
    "negative epsilon": ("teacher.Settings(eps=-1)", "eps=-1: must be above 0"),
    "epsilon as text": ('teacher.Settings(eps="1")', "eps=1: must be of type float, not str"),
    "large delta": (
        "run(teacher, teacher.Settings(delta=0.5), spec, Private(x, y))",
        "delta=0.5: is not below 1/n = 0.0167",
    ),
    "delta of 0": ("teacher.Settings(delta=0.0)", "delta=0.0: must be between 0 and 1"),
    "both lengths": (
        "run(teacher, teacher.Settings(steps=2, epochs=3.0), spec, Private(x, y))",
        "steps=2: give either steps or epochs, not both",
    ),
    "large batch": (
        "run(teacher, teacher.Settings(batch_size=500), spec, Private(x, y))",
        "batch_size=500: larger than the 60 training examples of scans",
    ),
    "unknown kernel": ('dp_kip.Settings(kernel="rbf")', "kernel=rbf: unknown; known are"),
    "features of tables": (
        'run(dp_ntk, dp_ntk.Settings(features="marginals"), spec, Private(x, y))',
        "the spec of scans holds images",
    ),
    "method of tables": (
        "run(marginals, marginals.Settings(), spec, Private(x, y))",
        "spec of scans: counts are of tables",
    ),
    "no spec": ("run(teacher, settings, None, Private(x, y))", "spec: is of type NoneType"),
    "a shape for a spec": (
        "run(teacher, settings, x.shape, Private(x, y))",
        "spec: is of type tup",
    ),
    "swapped": ("run(teacher, settings, Private(x, y), spec)", "pass jaxdp.Spec.images"),
    "a pair": ("run(teacher, settings, spec, (x, y))", "pass jaxdp.Private(x, y)"),
    "an array": ("run(teacher, settings, spec, x)", "private: is of type numpy."),
    "a frame": ("run(marginals, marginals.Settings(), table, frame)", "Private.of_frame(frame, "),
    "a frame as an array": (
        "run(marginals, marginals.Settings(), table, Private(frame[['age']].to_numpy(), y))",
        "Private.of_frame(frame, schema)",
    ),
    "few labels": ("run(teacher, settings, spec, Private(x, y[:5]))", "y must be 60 whole numbers"),
    "names for labels": (
        "run(teacher, settings, spec, Private(x, np.array(names)[y]))",
        "a label is the place of its class in class_names",
    ),
    "one-hot labels": (
        "run(teacher, settings, spec, Private(x, np.eye(2)[y]))",
        "y.argmax(axis=1)",
    ),
    "labels from 1": ("run(teacher, settings, spec, Private(x, y + 1))", "labels outside 0..1"),
    "other size": (
        "run(teacher, settings, spec, Private(x[:, :7], y))",
        "make the spec of x.shape",
    ),
    "floats": ("run(teacher, settings, spec, Private(x / 255, y))", "as low=0, high=1"),
    "not a number": (
        "run(teacher, settings, floats, Private(np.where(x > 250, np.nan, x / 255), y))",
        "x has values that are not finite",
    ),
    "a number of classes": (
        'Spec.images("s", x.shape, class_names=2)',
        "give a list with the name",
    ),
    "shape of one": ('Spec.images("s", (8, 8), class_names=names)', "not that of images"),
    "images as rows": ('Spec.rows("s", x.shape, class_names=names)', "take Spec.images"),
    "budget alone": (
        "run(teacher, settings, spec, Private(x, y), budget=1.0)",
        "give ledger=FILE",
    ),
    "small budget": (
        'run(teacher, settings, spec, Private(x, y), budget=0.1, ledger=here / "new.jsonl")',
        "budget=0.1: earlier runs (0) have spent 0 of it",
    ),
    "ledger in no folder": (
        'run(teacher, settings, spec, Private(x, y), ledger=here / "no" / "a.jsonl")',
        "cannot be used (No such file or directory); name another file",
    ),
    "a folder for a ledger": (
        "run(teacher, settings, spec, Private(x, y), ledger=here)",
        "cannot be used (Is a directory)",
    ),
    "a text for a ledger": (
        'run(teacher, settings, spec, Private(x, y), ledger=here / "text.txt")',
        "is no dataset ledger",
    ),
    "load nothing": ('jaxdp.load(here / "nowhere")', "has no privacy.json; name a folder"),
    "load a text": ('jaxdp.load(here / "text.txt")', "is a file; give the folder"),
    "load an empty folder": ('jaxdp.load(here / "empty")', "has no privacy.json; name a folder"),
    "save into a file": ('made.save(here / "text.txt")', "is a file; name a folder"),
    "half an example of a person": (
        "spec.of_persons(2.5)",
        "most must be a whole number from 1 to 100, got 2.5",
    ),
    "no example of a person": (
        "spec.of_persons(0)",
        "most must be a whole number from 1 to 100, got 0",
    ),
    "a flag for records of a person": (
        "jaxdp.privacy.bounded(['ann'], most=True)",
        "most must be a whole number from 1 to 100, got True",
    ),
    "too many records of a person": (
        "jaxdp.privacy.bounded(['ann'], most=101)",
        "most must be a whole number from 1 to 100, got 101",
    ),
    "a score of labels in a column": (
        "on_points('score', np.ones((3, 1)), np.ones((3, 1), int))",
        "y must be 3 whole numbers, got int64 of shape (3, 1); give y[:, 0]",
    ),
    "a score of one-hot labels": (
        "on_points('score', np.ones((2, 1)), np.eye(2, dtype=int))",
        "become numbers by y.argmax(axis=1)",
    ),
    "a score of names": (
        "on_points('score', np.ones((2, 1)), ['no', 'yes'])",
        "a label is the place of its class in class_names",
    ),
    "a score of too few labels": (
        "on_points('score', np.ones((3, 1)), [1])",
        "y must be 3 whole numbers, got int64 of shape (1,)",
    ),
    "an accuracy of labels in a column": (
        "jaxdp.kernels.krr.accuracy(np.eye(2), np.array([[0], [1]]))",
        "y must be 2 whole numbers, got int64 of shape (2, 1); give y[:, 0]",
    ),
    "photos with channels first": (
        "on_photos(np.zeros((2, 3, 6, 8)))",
        "channels come first, and last where they are stored: give np.moveaxis(x, 1, -1)",
    ),
    "photos that lie on their side": (
        "on_photos(np.zeros((2, 8, 6, 3)))",
        "x has shape (2, 8, 6, 3), and an example has (6, 8, 3)",
    ),
    "one photo": ("on_photos(np.zeros((6, 8, 3)))", "for one example give x[None]"),
    "photos that are not finite": ("on_photos(np.full((2, 144), np.nan))", "no finite numbers"),
    "frame of images": ("made.frame", "scans has no schema: x and y are the set"),
}
_EACH = """
cases, said = json.loads(sys.stdin.read()), {}
for name, code in cases.items():
    try:
        eval(code)
        said[name] = ["nothing", ""]
    except BaseException as error:
        kind = ValueError if isinstance(error, ValueError) else type(error)
        said[name] = [kind.__name__, str(error)]
print(json.dumps(said))
"""


class Said(NamedTuple):
    kind: str
    text: str


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Said]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", _GIVEN + _EACH, str(tmp_path_factory.mktemp("misuse"))],
        input=json.dumps({name: code for name, (code, _) in CASES.items()}),
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return {name: Said(*each) for name, each in json.loads(done.stdout).items()}


@pytest.mark.parametrize("name", CASES)
def test_misuse_is_refused_in_the_words_of_python(name: str, said: dict[str, Said]) -> None:
    found = said[name]
    assert CASES[name][1] in found.text
    assert found.kind == "ValueError", found
    assert not re.search(r"--[a-z]", found.text), found.text
    assert "\n" not in found.text
