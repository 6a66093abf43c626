"""How long the first prediction of a loaded run takes where nothing is kept from earlier.

    python benchmarks/first_predict.py [--quick] [--cases=teacher-28x28x1,...] [--before=CHECKOUT]
        [--runs=FOLDER] [--out=FILE]

A process starts, loads a folder and predicts the classes of 20 images; its cache folder is empty,
and so is jax's. Then it predicts those of 20 others, and a second process does it all again with
what the first one has kept. `--before` measures the code of another checkout, too, on the same
folders. Seconds of the processor, all cores together, tell more than others where machines have
other work. The folders are of toy runs: how long they were trained changes nothing here.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _harness import (
    Measurement,
    argument_parser,
    environment_of,
    record,
    report,
    seconds_alone,
)

import jaxdp
from jaxdp.methods import dp_kip, dp_ntk, teacher

_COLUMNS = (
    *("seconds", "cpu_seconds", "again_cpu_seconds", "kept_cpu_seconds"),
    *("baseline_seconds", "baseline_cpu_seconds", "baseline_again_cpu_seconds"),
    "baseline_kept_cpu_seconds",
)
_CLASSES, _EXAMPLES = 10, 300
_METHODS = {
    "teacher": (teacher, {"ipc": 1, "steps": 3, "distill_steps": 2}),
    "fc_ntk": (dp_kip, {"ipc": 1, "steps": 2, "kernel": "fc_ntk"}),
    "scatter": (dp_kip, {"ipc": 1, "steps": 2, "kernel": "scatter"}),
    "dp_ntk": (dp_ntk, {"steps": 2, "num_synthetic": 6000}),
}
_SHAPES = {"8x8x1": (8, 8, 1), "28x28x1": (28, 28, 1), "32x32x3": (32, 32, 3)}
_CASES = [f"{name}-{shape}" for name in _METHODS for shape in ("28x28x1", "32x32x3")]
# Where the other checkout is imported: nothing of this one is.
_PROBE = """
import json, sys, time
started = time.perf_counter()
import numpy as np
import jaxdp
loaded = jaxdp.load(sys.argv[1])
rng = np.random.default_rng(5)
def predict():
    loaded.predict(rng.integers(0, 256, (20, *loaded.spec.stored_shape)).astype(np.uint8))
    return time.perf_counter() - started, time.process_time()
first, second = predict(), predict()
print(json.dumps([*first, second[1] - first[1]]))
"""


def _make(case: str, folder: Path) -> None:
    """Make a toy run of random images, which are of no dataset that has settings of its own."""
    name, _, shape = case.partition("-")
    method, settings = _METHODS[name]
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (_EXAMPLES, *_SHAPES[shape]), np.uint8)
    spec = jaxdp.Spec.images(
        "images", x.shape, class_names=[str(c) for c in range(_CLASSES)], low=0, high=255
    )
    private = jaxdp.Private(x, np.arange(_EXAMPLES, dtype=np.int32) % _CLASSES)
    made, _ = jaxdp.run(
        method, method.Settings(eps=1.0, batch_size=50, **settings), spec, private, progress=False
    )
    made.save(folder)


def _probed(run: Path, checkout: Path, cache: Path) -> list[float]:
    """Return the seconds until the first prediction, those of the processor, and of the next."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", _PROBE, str(run)],
        env=environment_of(checkout, cache),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout)


def _measured(run: Path, checkout: Path) -> tuple[Measurement, dict[str, float]]:
    with tempfile.TemporaryDirectory() as cache:
        seconds, cpu, again = _probed(run, checkout, Path(cache))
        _, kept, _ = _probed(run, checkout, Path(cache))
    more = {"cpu_seconds": cpu, "again_cpu_seconds": again, "kept_cpu_seconds": kept}
    return seconds_alone(seconds), more


def _records(flags: argparse.Namespace, runs: Path) -> Iterator[dict[str, Any]]:
    here = Path(__file__).resolve().parents[1]
    for case in ("fc_ntk-8x8x1",) if flags.quick else flags.cases.split(","):
        if not (runs / case).is_dir():
            _make(case, runs / case)
        before, more = None, dict.fromkeys(column for column in _COLUMNS if "baseline" in column)
        if flags.before:
            before, theirs = _measured(runs / case, flags.before.resolve())
            more |= {f"baseline_{key}": value for key, value in theirs.items()}
        found, ours = _measured(runs / case, here)
        del more["baseline_seconds"]
        yield record(case, found, before, **ours, **more)


def main() -> None:
    """Measure every case in turn."""
    parser = argument_parser(__doc__ or "")
    parser.add_argument("--cases", default=",".join(_CASES), help="by commas")
    parser.add_argument("--before", type=Path, help="checkout of a commit to compare with")
    parser.add_argument("--runs", type=Path, help="folder of the runs; default: a temporary")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report(_records(flags, flags.runs or Path(folder)), columns=_COLUMNS, out=flags.out)


if __name__ == "__main__":
    main()
