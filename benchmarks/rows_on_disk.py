"""What `experiments.dp_ntk` needs of memory and time, by the rows of a data set on disk.

    python benchmarks/rows_on_disk.py [--quick] [--rows=1000,100000,1000000] [--data_dir=FOLDER]
        [--out=FILE]

The rows are random bytes in `x_train.npy`, 784 each, which the command maps into memory. It makes
the mean embedding of random Fourier features, and one step of a generator. `seconds` and `peak_mb`
are of the whole command. `peak_mb` is memory of its own; what is beyond it in `process_peak_mb` are
pages of the file, which the system takes back when it needs them.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Measurement, argument_parser, device_name, record, report

_COLUMNS = ("seconds", "rows_per_second", "peak_mb", "process_peak_mb", "file_mb")
_SHAPE, _CLASSES, _PART = (28, 28), 10, 50_000
_ROOT = Path(__file__).resolve().parent.parent


def _write(folder: Path, num_rows: int) -> float:
    """Write a data set of random rows a part at a time; return its size in MB."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    file = folder / "x_train.npy"
    x = np.lib.format.open_memmap(file, "w+", np.uint8, (num_rows, *_SHAPE))
    for start in range(0, num_rows, _PART):
        part = x[start : start + _PART]
        part[:] = rng.integers(0, 256, part.shape, np.uint8)
    np.save(folder / "y_train.npy", (np.arange(num_rows) % _CLASSES).astype(np.uint8))
    np.save(folder / "x_test.npy", rng.integers(0, 256, (100, *_SHAPE), np.uint8))
    np.save(folder / "y_test.npy", np.arange(100) % _CLASSES)
    return file.stat().st_size / 1e6


def _memory(process: int) -> dict[str, float]:
    """Return the memory in MB that a process has now: its own, and with pages of files."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    kilobytes = {line.split(":")[0]: line.split() for line in lines}
    names = {"peak_mb": "RssAnon", "process_peak_mb": "VmRSS"}
    # A process that is about to end has none of them.
    return {key: int(kilobytes[name][1]) / 1e3 for key, name in names.items() if name in kilobytes}


def _measured(folder: Path, num_rows: int) -> tuple[Measurement, dict[str, float]]:
    """Run the command on a new data set of some rows, and watch its memory."""
    file_mb = _write(folder / "rows", num_rows)
    command = [
        *(sys.executable, "-m", "experiments.dp_ntk", "--dataset=rows", f"--data_dir={folder}"),
        *("--features=rff", "--steps=1", "--batch_size=20", "--num_synthetic=100", "--eps=1"),
        *("--evaluate=none", "--ledger=none", f"--out_dir={folder / 'run'}"),
    ]
    peaks = {"peak_mb": 0.0, "process_peak_mb": 0.0}
    begun = time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, cwd=_ROOT, stdout=said, stderr=said)
        while process.poll() is None:
            for key, now in _memory(process.pid).items():
                peaks[key] = max(peaks[key], now)
            time.sleep(0.05)
        seconds = time.perf_counter() - begun
        if process.returncode:
            said.seek(0)
            raise RuntimeError(said.read()[-2000:])
    found = Measurement(seconds=seconds, compile_seconds=None, device=device_name(), **peaks)
    return found, peaks | {"file_mb": file_mb}


def _records(flags: argparse.Namespace) -> Iterator[dict[str, Any]]:
    def of(num_rows: int) -> tuple[Measurement, dict[str, float]]:
        with tempfile.TemporaryDirectory(dir=flags.data_dir) as folder:
            return _measured(Path(folder), num_rows)

    for num_rows in (1000,) if flags.quick else map(int, flags.rows.split(",")):
        found, more = of(num_rows)
        more |= {"rows_per_second": num_rows / found.seconds}
        yield record(f"{num_rows} rows", found, None) | more


def main() -> None:
    """Measure every number of rows in turn."""
    parser = argument_parser(__doc__ or "")
    parser.add_argument("--rows", default="1000,100000,1000000", help="numbers of rows, by commas")
    parser.add_argument("--data_dir", type=Path, help="folder for the rows; default: a temporary")
    flags = parser.parse_args()
    report(_records(flags), columns=_COLUMNS, out=flags.out)


if __name__ == "__main__":
    main()
