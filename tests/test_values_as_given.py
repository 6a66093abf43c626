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
    return privacy.Ledger(num_examples=9, delta=1e-5, **given)
"""
CASES = {
    "a list of releases": "ledger(releases=[release]) == ledger(releases=(release,))",
    "epsilon of a list": "ledger(releases=[release]).epsilon() < 1",
    "a list of what is beside": "hash(ledger(steps=steps, also=[5.0])) != 0",
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
