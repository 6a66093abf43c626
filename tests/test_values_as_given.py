"""Lists and NumPy's numbers do where tuples and Python's are declared, and are those from then on.

What is made of them is written as JSON after a budget is spent. The cases run in a process of their
own, as users have them: annotations are not checked there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_GIVEN = """
import dataclasses, json, sys
import numpy as np
import jaxdp
from jaxdp import privacy

release = privacy.GaussianRelease(name="means", sensitivity=2.0, stddev=8.0)
steps = privacy.SubsampledGaussian(
    num_examples=9, sampling_rate=0.5, num_steps=2, clip_norm=1.0, noise_multiplier=2.0)

def ledger(**given):
    return privacy.Ledger(**{"num_examples": 9, "delta": 1e-5, **given})

def told(instance):
    numbers = dataclasses.asdict(instance)
    return type(json.loads(json.dumps(numbers, default=lambda other: 1 / 0))) is dict

def images(low, high):
    return jaxdp.Spec.images("scans", (np.int64(9), 8, 8), class_names="ab", low=low, high=high)

numeric = {"name": "age", "type": "numeric"}
Column, teacher = jaxdp.tables.Column, jaxdp.methods.teacher
ages = (Column(**numeric, lower=0, upper=9),)
table = jaxdp.tables.Schema(columns=ages, target=None, order=("age",))
"""
CASES = {
    "a list of releases": "ledger(releases=[release]) == ledger(releases=(release,))",
    "epsilon of a list": "ledger(releases=[release]).epsilon() < 1",
    "a list of what is beside": "hash(ledger(steps=steps, also=[5.0])) != 0",
    "records of a person": "len(privacy.bounded(list('aaab'), most=np.int64(2))) == 3",
    "examples of a person": "type(images(0, 1).of_persons(np.int64(3)).records_per_person) is int",
    "the unit of a ledger": "told(ledger(releases=[release], records_per_person=np.int64(3)))",
    "settings": "told(teacher.Settings(seed=np.int64(3), eps=np.float32(1), whiten=np.float64(0)))",
    "types of settings": "type(teacher.Settings(eps=np.float32(1)).eps) is float",
    "a flag": "teacher.Settings(allow_delta=np.True_).allow_delta is True",
    "a range of floats": "told(images(np.float32(-1), np.float64(1)).codec)",
    "a range of bytes": "images(np.uint8(1), np.uint8(255)).codec.shift == 128.0",
    "a range as it was": "images(np.uint8(0), np.uint8(255)) == images(0, 255)",
    "examples of images": "type(images(0, 1).num_examples) is int",
    "examples of a table": 'told(jaxdp.Spec.table("ages", table, np.int64(9)))',
    "bounds": "told(Column(**numeric, lower=np.int64(0), upper=np.float32(9)))",
    "edges": "told(Column(**numeric, lower=0, upper=9, bins=(np.int64(3),), spikes=(np.int8(1),)))",
    "parts": "told(Column(**numeric, lower=0, upper=9, bins=np.int64(3)))",
    "steps": "told(dataclasses.replace(steps, num_steps=np.int64(3), clip_norm=np.float32(1)))",
    "a release": "told(dataclasses.replace(release, stddev=np.float32(8)))",
    "a ledger": "told(ledger(steps=steps, delta=np.float64(1e-5), also=[np.float32(5)]))",
}
_EACH = """
found = {}
for name, code in json.loads(sys.stdin.read()).items():
    try:
        found[name] = bool(eval(code))
    except Exception as error:
        found[name] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", _GIVEN + _EACH],
        input=json.dumps(CASES),
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", CASES)
def test_a_value_is_taken_as_it_is_given(name: str, found: dict[str, object]) -> None:
    assert found[name] is True
