"""The benchmarks run at toy size and print what they promise; no clock value is judged."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import pytest

pytestmark = pytest.mark.usefixtures("quick_compilation")

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
SCRIPTS = sorted(path.name for path in BENCHMARKS.glob("[!_]*.py"))


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("_harness")


def toy_run(script: str, out: Path) -> tuple[list[dict[str, Any]], str]:
    """Return the JSON lines of a script's toy run and its table."""
    command = [sys.executable, BENCHMARKS / script, "--quick", f"--out={out}"]
    # Toy sizes are all compilation, and no clock value is judged: let it be quick.
    flags = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    done = subprocess.run(
        command,
        cwd=BENCHMARKS.parent,
        capture_output=True,
        text=True,
        env=os.environ | {"XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {flags}"},
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def check_record(record: dict[str, Any], required: tuple[str, ...]) -> None:
    assert set(required) <= set(record)
    assert record["device"]
    assert record["versions"]["jax"] == jax.__version__
    if record["baseline_seconds"] is None:
        assert record["ratio"] is None
    else:
        assert record["ratio"] == pytest.approx(record["baseline_seconds"] / record["seconds"])


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_script_prints_a_json_line_per_case_and_a_table(
    script: str, tmp_path: Path, harness: ModuleType
) -> None:
    if script == "audit.py":
        pytest.importorskip("jax_privacy")  # needs a newer jax than the oldest supported
    if script == "tables.py":
        pytest.importorskip("xgboost", reason="the extra [tables] is not installed")
    out = tmp_path / "results.txt"
    records, table = toy_run(script, out)
    assert records
    for record in records:
        check_record(record, harness.REQUIRED_KEYS)
        assert record["case"] in table
    if script == "clipping.py":
        assert all(record["relative_difference"] < 1e-4 for record in records)
    lines = out.read_text().splitlines()
    assert lines[0] == f"# command: python {BENCHMARKS / script} --quick --out={out}"
    assert lines[1] == f"# device: {records[0]['device']}"
    assert lines[2].startswith("# versions: python ")
    assert [json.loads(line) for line in lines if not line.startswith("#")] == records


def test_a_function_that_does_not_fit_is_not_run(harness: ModuleType) -> None:
    function = jax.jit(lambda x: x + 1)
    assert harness.measure(function, jnp.zeros(3), fits=lambda compiled: False) is None
    measured, result = harness.measure(function, jnp.zeros(3))
    assert jnp.all(result == 1)
    entry = harness.record("a case", measured, None)
    assert entry["baseline_seconds"] is entry["ratio"] is entry["baseline_peak_mb"] is None


def test_temporary_arrays_decide_what_fits(harness: ModuleType) -> None:
    function = jax.jit(lambda x: jnp.sort(jnp.sin(x @ x.T)).sum())
    for n, fits in ((10, True), (10**7, False)):
        compiled = function.lower(jax.ShapeDtypeStruct((n, 2), jnp.float32)).compile()
        assert harness.fits_in_memory(compiled) is fits


@pytest.mark.slow
def test_measurements_have_a_process_of_their_own(harness: ModuleType) -> None:
    assert harness.isolated(os.getpid) != os.getpid()
