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

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
SCRIPTS = sorted(path.name for path in BENCHMARKS.glob("[!_]*.py"))


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("_harness")


def toy_run(script: str, out: Path) -> tuple[list[dict[str, Any]], str]:
    """Return the JSON lines of a script's toy run and its table."""
    command = [sys.executable, BENCHMARKS / script, "--quick", f"--out={out}"]
    done = subprocess.run(command, cwd=BENCHMARKS.parent, capture_output=True, text=True)
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
    if script == "gpu_on_paper.py":
        check_lowered_for_a_gpu(records)
    lines = out.read_text().splitlines()
    assert lines[0] == f"# command: python {BENCHMARKS / script} --quick --out={out}"
    assert lines[1] == f"# device: {records[0]['device']}"
    assert lines[2].startswith("# versions: python ")
    assert [json.loads(line) for line in lines if not line.startswith("#")] == records


def check_lowered_for_a_gpu(records: list[dict[str, Any]]) -> None:
    """See that every method's programs are there, and that none waits for Python or a sort."""
    programs = {record["case"].partition(": ")[2] for record in records}
    assert programs >= {
        "privacy.dp_sgd.accounted_steps.run",
        "privacy.class_sums._of_chunk.narrow",
        "methods.teacher.finish.distill.step",
        "methods.dp_ntk.finish.train_generator.update",
        "methods.dp_ntk.flow._mover.step",
        "methods.dp_ntk.labels.student._student.step",
        "methods.runner._compiled.<lambda>",
    }
    # A factorisation of few rows is CUDA's own.
    assert {record["lowers"] for record in records} == {"", "cusolver_potrf_ffi"}


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


def test_measurements_together_stay_in_this_process_and_tell_no_memory(
    harness: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["clipping.py", "--together"])
    assert harness.isolated(os.getpid) == os.getpid()
    measured, _ = harness.measure(jax.jit(jnp.sum), jnp.ones(3))
    assert measured.peak_mb is None
    assert measured.process_peak_mb is None


_STUB = """#!/bin/sh
[ "$1" = -c ] && echo "${DEVICE:-gpu: stub}" && exit
echo "$@" >> "$0.calls"
case "$1" in benchmarks/clipping.py) exit 3 ;; esac
for word; do case "$word" in --out_dir=*)
  mkdir -p "${word#--out_dir=}"; echo '{"train_seconds": 1}' > "${word#--out_dir=}/metrics.json" ;;
esac; done
"""


def gpu_table(folder: Path, *flags: str) -> tuple[int, list[str], list[str]]:
    """Return the exit code of the script with an interpreter that does nothing, calls and table."""
    stub = folder / "python"
    stub.write_text(_STUB)
    stub.chmod(0o755)
    done = subprocess.run(
        [BENCHMARKS / "gpu_table.sh", "out", *flags],
        cwd=folder,
        env=os.environ | {"PYTHON": str(stub), "DATA": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    made = folder / "python.calls"
    calls = made.read_text().splitlines() if made.exists() else []
    return done.returncode, calls, (folder / "out/table.txt").read_text().splitlines()


def test_the_table_of_a_gpu_goes_on_after_a_failure_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "cifar10.npz").touch()
    code, calls, table = gpu_table(tmp_path)
    assert code == 1
    assert table[0] == "device: gpu: stub"
    assert table[1].startswith("clipping: failed, see clipping.log")
    assert all(f": done, {line.split()[-2]} s" in line for line in table[2:11])
    assert any("experiments.dp_kip --dataset=cifar10" in call for call in calls)
    kept = sorted(path.name for path in (tmp_path / "out").glob("*.json"))
    assert kept == ["dp_kip.json", "dp_ntk.json", "teacher.json"]
    assert not (tmp_path / "out/runs").exists()


def test_the_table_of_a_gpu_is_refused_on_a_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEVICE", "cpu: cpu")
    assert gpu_table(tmp_path) == (1, [], ["device: cpu: cpu"])
    code, calls, _ = gpu_table(tmp_path, "--quick")
    assert code == 1  # the stub's one failure
    assert calls


def test_the_table_of_a_gpu_says_which_data_are_missing(tmp_path: Path) -> None:
    _, calls, table = gpu_table(tmp_path)
    assert not any("experiments." in call for call in calls)
    assert any(line.startswith("dp_kip, teacher, dp_ntk: left out") for line in table)


def test_the_table_of_a_gpu_measures_by_every_benchmark_of_speed(tmp_path: Path) -> None:
    """Others need data, several devices or hours."""
    _, calls, _ = gpu_table(tmp_path, "--quick")
    measured = {call.split()[0].removeprefix("benchmarks/") for call in calls if "--quick" in call}
    others = {
        "audit.py",
        "audit_mu.py",
        "beside_torch.py",
        "fidelity.py",
        "first_predict.py",
        "gpu_on_paper.py",
        "membership.py",
        "rare_class.py",
        "rows_on_disk.py",
        "sharing.py",
        "teacher_maps.py",
        "teacher_schedule.py",
    }
    others |= {"synthetic_tables.py", "tables.py", "two_stories.py", "unprepared_tables.py"}
    others |= {"unequal_classes.py", "untuned_sets.py", "waits.py", "where_time_goes.py"}
    assert measured == set(SCRIPTS) - others


@pytest.mark.usefixtures("float64")
def test_operations_are_counted_by_their_type_and_as_often_as_they_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    count = importlib.import_module("_operations").operations
    wide, narrow = jnp.zeros((2, 3)), jnp.zeros((3, 5), jnp.float32)

    def looped(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        product = y.T @ y  # (5, 5) of 3 terms
        solved = jax.scipy.linalg.solve_triangular(jnp.eye(4), jnp.zeros((4, 6)))
        return jax.lax.fori_loop(0, 7, lambda _, z: z @ jnp.ones((3, 3)), x), product + solved[0, 0]

    found = count(jax.make_jaxpr(looped)(wide, narrow).jaxpr)
    assert found[True] == pytest.approx(7 * 2 * 2 * 3 * 3 + 4 * 4 * 6, rel=0.6)
    assert found[False] == pytest.approx(2 * 5 * 5 * 3, rel=0.6)
    one = count(jax.make_jaxpr(lambda x: x @ x.T)(wide).jaxpr)
    assert one[True] == 2 * 2 * 2 * 3 + 2 * 3  # and the transposition
    assert one[False] == 0
    image, kernel = jnp.zeros((1, 8, 8, 3), jnp.float32), jnp.zeros((3, 3, 3, 4), jnp.float32)
    convolved = jax.make_jaxpr(
        lambda x, w: jax.lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
    )(image, kernel)
    assert count(convolved.jaxpr) == {True: 0, False: 2 * 64 * 4 * 27}
    either = jax.make_jaxpr(
        lambda x: jax.lax.cond(x[0, 0] > 0, lambda z: z @ z.T, lambda z: z[:, :2], x)
    )
    assert count(either(wide).jaxpr)[True] >= 2 * 2 * 2 * 3
