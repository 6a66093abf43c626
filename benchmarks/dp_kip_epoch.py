"""End-to-end time of DP-KIP: whole runs on data of MNIST's and CIFAR-10's size, and start-up.

    python benchmarks/dp_kip_epoch.py [--quick] [--full] [--out=FILE]

The data are random bytes, a run is 10 epochs and other settings are the driver's defaults.
`seconds` is the time of all steps after compilation. Without --full the steps of the CIFAR-10
case are measured in part and `seconds` is extrapolated: `measured_steps` of `num_steps`. The
start-up cases run the driver as a process, but for `--help` until its first step is done and
saved; `again` is a run that finds the programs that one before it has compiled. There is no
baseline here: see benchmarks/clipping.py.
"""

import dataclasses
import itertools
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _harness import (
    Measurement,
    argument_parser,
    isolated,
    measurement,
    record,
    report,
    seconds_alone,
    start_memory_mb,
    timed,
)

from jaxdp.methods.dp_kip import KipPlan, Settings
from jaxdp.methods.runner import PlainRunner
from jaxdp.methods.steps import Steps
from jaxdp.privacy.mechanism import private_key
from jaxdp.program import command_line
from jaxdp.program.commands import dp_kip
from jaxdp.program.data.dataset import Dataset
from jaxdp.program.data.load import dataset_for
from jaxdp.program.run_flags import KipFlags
from jaxdp.program.runs import planning

_ROOT = Path(__file__).resolve().parent.parent
_COLUMNS = ("seconds", "seconds_per_step", "measured_steps", "compile_seconds", "process_peak_mb")
_NUM_CLASSES = 10
_EPOCHS = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """A run: the data's size, the images per class, and how many steps are measured."""

    name: str
    num_examples: int
    shape: tuple[int, int, int]
    ipc: int
    batch_size: int = 500
    measured_steps: int | None = None


_CASES: tuple[Case, ...] = (
    Case(name="mnist", num_examples=60000, shape=(28, 28, 1), ipc=10),
    Case(name="cifar10", num_examples=50000, shape=(32, 32, 3), ipc=50, measured_steps=20),
)
_QUICK_CASES: tuple[Case, ...] = (
    Case(name="toy", num_examples=40, shape=(3, 3, 1), ipc=1, batch_size=10, measured_steps=3),
)
_FIRST_STEP = ("--dataset=digits", "--steps=1")
# Arguments, and whether programs of an earlier run are kept.
StartUp = tuple[tuple[str, ...], bool]
_QUICK_START_UPS: tuple[StartUp, ...] = ((("--help",), False),)
_START_UPS: tuple[StartUp, ...] = (
    (("--help",), False),
    (_FIRST_STEP, False),
    (_FIRST_STEP, True),
)
_POLL_SECONDS = 0.01


def write_random_data(case: Case, folder: str) -> None:
    """Write a dataset of random bytes where the driver finds it."""
    rng = np.random.default_rng(0)

    def split(n: int) -> tuple[np.ndarray, np.ndarray]:
        x = rng.integers(0, 256, (n, *case.shape), np.uint8)
        return x, np.arange(n, dtype=np.int32) % _NUM_CLASSES

    (x_train, y_train), (x_test, y_test) = split(case.num_examples), split(_NUM_CLASSES)
    np.savez(
        Path(folder) / f"{case.name}.npz",
        x_train=x_train,
        y_train=y_train,
        x_test=x_test,
        y_test=y_test,
    )


def driver_plan(case: Case, folder: str) -> tuple[KipPlan, Dataset]:
    """Return the plan that the driver makes of its flags, and the data that they name."""
    flags = {
        "dataset": case.name,
        "data_dir": folder,
        "ipc": case.ipc,
        "batch_size": case.batch_size,
        "epochs": _EPOCHS,
    }
    command_line.parse([dp_kip.__name__, *(f"--{name}={value}" for name, value in flags.items())])
    run_flags, settings = (command_line.settings_of(kind) for kind in (KipFlags, Settings))
    data = dataset_for(run_flags, seed=settings.seed)
    plan: Any = planning.prepared("dp_kip", settings, run_flags, data.spec)[0]
    return plan, data


class _Stopwatch(PlainRunner):
    """Takes some of a run's steps, and measures them."""

    def __init__(self, most: int | None) -> None:
        super().__init__(progress=False)
        self._most = most
        self.measured: tuple[Measurement, int, int] | None = None

    def loop(self, steps: Steps[Any]) -> Any:
        before, total = start_memory_mb(steps.state), steps.num_steps
        compile_seconds, (state, _) = timed(lambda: steps.advance(steps.state, 0))
        count = min(self._most or total, total)
        seconds, (state, _) = timed(lambda: steps.advance(state, count))
        whole = measurement(seconds * total / count, compile_seconds, before)
        self.measured = (whole, count, total)
        return state


def run(case: Case, folder: str) -> tuple[Measurement, int, int]:
    """Measure the steps of a run; return how many were measured and how many there are."""
    plan, data = driver_plan(case, folder)
    runner = _Stopwatch(case.measured_steps)
    plan.release(data.private, private_key(), runner)
    assert runner.measured is not None
    return runner.measured


def run_record(case: Case) -> dict[str, Any]:
    """Return the JSON object of a run."""
    with tempfile.TemporaryDirectory() as folder:
        isolated(write_random_data, case, folder)  # a child's peak starts at its parent's
        measured, steps, total = isolated(run, case, folder)
    return record(
        f"{case.name} ipc={case.ipc} batch={case.batch_size}",
        measured,
        None,
        seconds_per_step=measured.seconds / total,
        measured_steps=steps,
        num_steps=total,
        extrapolated=steps < total,
        process_peak_mb=measured.process_peak_mb,
    )


def start_up(arguments: tuple[str, ...], again: bool) -> Measurement:
    """Measure the driver's process: all of it, or up to the first step where it takes steps."""
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(1 + again):
            seconds = _seconds_to_first_step(arguments, cache)
    # No memory: a child's peak starts at its parent's, and so does what the system reports.
    return seconds_alone(seconds)


def _seconds_to_first_step(arguments: tuple[str, ...], cache: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        run_folder = Path(folder) / "run"
        command = [sys.executable, "-m", "experiments.dp_kip", f"--out_dir={run_folder}"]
        started = time.perf_counter()
        with subprocess.Popen(
            [*command, *arguments],
            cwd=_ROOT,
            env=os.environ | {"XDG_CACHE_HOME": cache},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as process:
            # Written after the first evaluation, which is due after the first step.
            while process.poll() is None and not (run_folder / "metrics.json").exists():
                time.sleep(_POLL_SECONDS)
            seconds = time.perf_counter() - started
            errors = process.stderr.read().decode() if process.stderr else ""
            if process.wait():
                raise RuntimeError(errors)
    return seconds


def start_up_record(case: StartUp) -> dict[str, Any]:
    """Return the JSON object of a start-up."""
    arguments, again = case
    measured = isolated(start_up, arguments, again)
    return record(
        f"startup {' '.join(arguments)}{', again' if again else ''}",
        measured,
        None,
        seconds_per_step=None,
        measured_steps=None,
        num_steps=None,
        extrapolated=False,
        process_peak_mb=measured.process_peak_mb,
    )


def main() -> None:
    """Run the benchmark."""
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="measure every step of every run")
    args = parser.parse_args()
    cases, start_ups = (_QUICK_CASES, _QUICK_START_UPS) if args.quick else (_CASES, _START_UPS)
    if args.full:
        cases = tuple(dataclasses.replace(case, measured_steps=None) for case in cases)
    runs, processes = map(run_record, cases), map(start_up_record, start_ups)
    report(itertools.chain(runs, processes), columns=_COLUMNS, out=args.out)


if __name__ == "__main__":
    main()
