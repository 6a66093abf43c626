"""What the benchmarks share: timing, peak memory, one JSON line per case, a table.

Every measurement runs in a fresh process, because a process's peak memory never goes down; with
`--together` all run in this one, which saves starting an accelerator, and no memory is reported.
JSON lines go to standard output, the table to standard error.
"""

import argparse
import contextlib
import dataclasses
import importlib.metadata
import json
import multiprocessing
import os
import platform
import resource
import shlex
import sys
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import jax

REQUIRED_KEYS = (
    "case",
    "seconds",
    "baseline_seconds",
    "ratio",
    "peak_mb",
    "baseline_peak_mb",
    "device",
    "versions",
)
# An installed package holds `jaxdp` alone; scripts that import this first find `experiments`, too.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
_PACKAGES = ("jax", "jaxlib", "numpy", "neural-tangents")
_MB = 1e6
# A measurement is repeated at least this often and this long (toy runs as often only), but not
# started again after the limit.
_MIN_RUNS = 3
_MIN_SECONDS = 1.0
_MAX_SECONDS = 20.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measurement:
    """One measured function: the fastest run, compilation apart, and what the process needed.

    `peak_mb` is the growth of the process's peak memory (of the device's on an accelerator)
    by compiling and running; `process_peak_mb` counts the interpreter, jax and the inputs too.
    """

    seconds: float
    compile_seconds: float | None
    peak_mb: float | None
    process_peak_mb: float | None
    device: str


def isolated(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a module-level function in a fresh process and return its result.

    Toy runs, whose memory nobody reads, stay in this one: starting jax is most of their time.
    """
    if _is_toy_run() or _are_together():
        return function(*args, **kwargs)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        return pool.submit(function, *args, **kwargs).result()


def _is_toy_run() -> bool:
    return "--quick" in sys.argv


def _are_together() -> bool:
    return "--together" in sys.argv


def measure(
    function: Any, *args: Any, fits: Callable[[Any], bool] = lambda compiled: True
) -> tuple[Measurement, Any] | None:
    """Compile a function, then time it; return the fastest run and the result.

    Other work on the machine can only slow a run down, so the fastest is the best estimate.

    Args:
        function: what `jax.jit` returned, or a function that compiles by itself in its first call,
            which counts as compilation.
        args: its arguments, on the device.
        fits: whether to run what was compiled at all; None is returned otherwise.
    """
    before = start_memory_mb(args)
    started = time.perf_counter()
    if hasattr(function, "lower"):
        compiled = function.lower(*args).compile()
    else:
        compiled = function
        jax.block_until_ready(function(*args))
    compile_seconds = time.perf_counter() - started
    if not fits(compiled):
        return None
    seconds, result = _fastest(lambda: compiled(*args))
    return measurement(seconds, compile_seconds, before), result


def _fastest(run: Callable[[], Any]) -> tuple[float, Any]:
    fastest, total, runs = float("inf"), 0.0, 0
    least = 0 if _is_toy_run() else _MIN_SECONDS
    while total < _MAX_SECONDS and (runs < _MIN_RUNS or total < least):
        seconds, result = timed(run)
        fastest, total, runs = min(fastest, seconds), total + seconds, runs + 1
    return fastest, result


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that one call took until its result was there, and the result."""
    started = time.perf_counter()
    result = jax.block_until_ready(run())
    return time.perf_counter() - started, result


def measurement(seconds: float, compile_seconds: float, before_mb: float) -> Measurement:
    """Return a measurement that ends now; `before_mb` is what `start_memory_mb` returned."""
    peak = None if _are_together() else memory_mb()
    return Measurement(
        seconds=seconds,
        compile_seconds=compile_seconds,
        peak_mb=None if peak is None else peak - before_mb,
        process_peak_mb=peak,
        device=device_name(),
    )


def seconds_alone(seconds: float) -> Measurement:
    """Return a measurement of which nothing but its seconds is known."""
    return Measurement(
        seconds=seconds,
        compile_seconds=None,
        peak_mb=None,
        process_peak_mb=None,
        device=device_name(),
    )


def environment_of(checkout: Path, cache: Path) -> dict[str, str]:
    """Return the environment of a process that runs a checkout and has its cache in a folder."""
    found = os.environ | {"PYTHONPATH": str(checkout), "XDG_CACHE_HOME": str(cache)}
    found.pop("JAX_COMPILATION_CACHE_DIR", None)
    return found


def start_memory_mb(inputs: Any) -> float:
    """Return the memory in use before a measurement, when its inputs are there."""
    jax.block_until_ready(inputs)
    # Linux forgets the peak so far, in which the making of the inputs counts twice.
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return memory_mb()


def memory_mb() -> float:
    """Return the peak memory so far: of the device if it keeps count, else of this process."""
    statistics = jax.devices()[0].memory_stats()
    if statistics is not None:
        return statistics["peak_bytes_in_use"] / _MB
    # Linux counts in kibibytes, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / _MB


def fits_in_memory(compiled: Any) -> bool:
    """Return whether the temporary arrays of a compiled function fit this machine or device."""
    statistics = jax.devices()[0].memory_stats()
    if statistics is not None:
        limit = statistics["bytes_limit"]
    else:
        limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return compiled.memory_analysis().temp_size_in_bytes < 0.8 * limit


def device_name() -> str:
    """Return the device in words, e.g. `cpu: Intel(R) Xeon(R) Processor @ 2.80GHz, 2 cores`."""
    device = jax.devices()[0]
    if device.platform != "cpu":
        return f"{device.platform}: {device.device_kind}"
    return f"cpu: {_processor()}, {len(os.sched_getaffinity(0))} cores"


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Return the versions that matter, of those packages that are installed."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def record(
    case: str, ours: Measurement, baseline: Measurement | None, /, **more: Any
) -> dict[str, Any]:
    """Return the JSON object of a case; what was not measured is null."""
    return {
        "case": case,
        "seconds": ours.seconds,
        "baseline_seconds": baseline.seconds if baseline else None,
        "ratio": baseline.seconds / ours.seconds if baseline else None,
        "peak_mb": ours.peak_mb,
        "baseline_peak_mb": baseline.peak_mb if baseline else None,
        "compile_seconds": ours.compile_seconds,
        **more,
        "device": ours.device,
        "versions": versions(),
    }


def argument_parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="toy sizes, to see that it runs")
    parser.add_argument("--together", action="store_true", help="one process, no memory")
    parser.add_argument("--out", type=Path, help="file for the table and the JSON lines")
    return parser


def report(
    records: Iterable[dict[str, Any]], *, columns: tuple[str, ...], out: Path | None = None
) -> None:
    """Print every record when it is there, then the table; write both to `out`.

    Args:
        records: what `record` returned, measured while iterating.
        columns: keys that the table shows, beside the case.
        out: file to write, with the command line, the device and the versions as comments
            above the JSON lines. It is opened before anything is measured.
    """
    with open(out, "w") if out else contextlib.nullcontext() as file:
        done = []
        for entry in records:
            print(json.dumps(entry), flush=True)
            done.append(entry)
        table = _table(done, ("case", *columns))
        print(table, file=sys.stderr)
        if file:
            file.write(_file_text(done, table))


def report_runs(
    description: str,
    told: Callable[..., list[dict[str, Any]]],
    cases: Collection[str],
    quick_cases: Collection[str],
    *,
    columns: tuple[str, ...],
) -> None:
    """Report what several runs tell, each in a process of its own.

    Args:
        description: of the benchmark.
        told: `(case, quick=...)` returns records; a function of a module.
        cases: what is run, unless `--cases` names others.
        quick_cases: what is run in their place at toy sizes.
        columns: as for `report`.
    """
    parser = argument_parser(description)
    parser.add_argument("--cases", help="names, by commas")
    args = parser.parse_args()
    names = list(quick_cases if args.quick else cases)
    names = args.cases.split(",") if args.cases else names
    records = (record for each in names for record in isolated(told, each, quick=args.quick))
    report(records, columns=columns, out=args.out)


def _file_text(records: list[dict[str, Any]], table: str) -> str:
    header = [
        f"command: {shlex.join(['python', *sys.argv])}",
        f"device: {', '.join(dict.fromkeys(entry['device'] for entry in records))}",
        "versions: " + ", ".join(" ".join(item) for item in versions().items()),
        "",
        *table.splitlines(),
    ]
    comments = [f"# {line}".rstrip() for line in header]
    return "\n".join([*comments, *map(json.dumps, records)]) + "\n"


def _table(records: list[dict[str, Any]], columns: tuple[str, ...]) -> str:
    rows = [columns, *(tuple(_cell(entry[key]) for key in columns) for entry in records)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}"
    return "-" if value is None else str(value)
