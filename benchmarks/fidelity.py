"""How near made images are to real ones, beside other real images.

    python benchmarks/fidelity.py RUN... --data_dir=FOLDER [--quick] [--out=FILE]

`RUN` is the folder of a run that made images of a named dataset; `FOLDER` has that dataset as an
npz file. Made images are held against those of the test split by scattering features: Frechet
distance, and density and coverage, which are near 1 for images of the same kind. Of every dataset
training images are held against the test split, too: no made image can be expected to be nearer.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _harness import argument_parser, record, report, seconds_alone, timed

import jaxdp
from jaxdp.program.evaluation.frechet import scatter_frechet

_COLUMNS = ("distance", "density", "coverage", "num_images")


def _judged(case: str, x: np.ndarray, real: np.ndarray) -> dict[str, Any]:
    """Return the record of images in 0, ..., 255, (n, h, w, ch), held against others."""
    height, width, channels = real.shape[1:]
    ours, theirs = x.astype(np.float32) / 255, real.astype(np.float32) / 255
    seconds, found = timed(lambda: scatter_frechet(ours, theirs, (height, width, channels), seed=0))
    return record(case, seconds_alone(seconds), None, **found)


def _records(flags: argparse.Namespace) -> Iterator[dict[str, Any]]:
    if flags.quick:
        drawn = np.random.default_rng(0).integers(0, 256, (2, 60, 8, 8, 1), np.uint8)
        yield _judged("noise", *drawn)
    datasets = set()
    for folder in flags.runs:
        made = jaxdp.load(folder)
        name, shape = made.spec.name, made.spec.shape
        with np.load(flags.data_dir / f"{name}.npz") as arrays:
            real, other = (arrays[part].reshape(-1, *shape) for part in ("x_test", "x_train"))
        if name not in datasets:
            datasets.add(name)
            yield _judged(f"{name}: training images", other, real)
        yield _judged(f"{name}: epsilon {made.certificate.epsilon:.3g}", made.x, real)


def main() -> None:
    """Judge every run in turn."""
    parser = argument_parser(__doc__ or "")
    parser.add_argument("runs", nargs="*", type=Path, help="folders of runs")
    parser.add_argument("--data_dir", type=Path, default=Path("data"), help="of npz files")
    flags = parser.parse_args()
    report(_records(flags), columns=_COLUMNS, out=flags.out)


if __name__ == "__main__":
    main()
