"""Private teachers by their public features, and how much of them distilled images carry.

    python benchmarks/teacher_maps.py --data_dir=FOLDER [--dataset=...] [--maps=...] [--out=FILE]

`FOLDER` holds the dataset as an npz file, of which the training part alone is read: `--num` of its
images train, and `--held_out` others judge, so that the table may choose defaults. Every case is
the whole command `jaxdp run teacher`, with the features that its flags ask for. `teacher` is the
accuracy of the released teacher in percent, and `accuracy` that of kernel ridge regression on
`ipc` distilled images per class. Commands of the same features keep those of private images, so
`seconds` are with them for the first of each map and epsilon alone.
"""

import argparse
import functools
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _harness import argument_parser, record, report, seconds_alone, timed

MAPS: dict[str, tuple[str, ...]] = {
    "scattering": ("--patches=0", "--second_layer=0", "--encoder=false"),
    "patches": ("--second_layer=0", "--encoder=false"),
    "patches and encoder": ("--second_layer=0", "--encoder=true"),
    "second layer": ("--second_layer=4096", "--encoder=false"),
    "second layer and encoder": ("--second_layer=4096", "--encoder=true"),
}
_QUICK = ("--whiten=0", "--steps=2", "--distill_steps=2")
_ROOT = Path(__file__).resolve().parents[1]


def write_parts(args: argparse.Namespace, folder: Path) -> None:
    """Write images that train and others that judge, both of the training part."""
    if args.quick:
        rng = np.random.default_rng(0)
        x, y = rng.integers(0, 256, (60, 8, 8), dtype=np.uint8), np.arange(60) % 3
    else:
        with np.load(args.data_dir / f"{args.dataset}.npz") as arrays:
            x, y = arrays["x_train"], arrays["y_train"].reshape(-1)
    order = np.random.default_rng(7).permutation(len(x))
    judge, train = order[: args.held_out], order[args.held_out :][: args.num]
    parts = {"x_train": x[train], "y_train": y[train], "x_test": x[judge], "y_test": y[judge]}
    np.savez(folder / "held_out.npz", **parts)


def run(name: str, ipc: int, eps: float, folder: Path, *, num: int, quick: bool) -> dict[str, Any]:
    """Return the record of one command on the parts in a folder."""
    out = folder / f"{name}_{ipc}_{eps:g}".replace(" ", "_")
    flags = [f"--data_dir={folder}", "--dataset=held_out", f"--ipc={ipc}", f"--eps={eps:g}"]
    flags += [f"--feature_cache={folder / 'features'}", f"--out_dir={out}", *MAPS[name]]
    command = [sys.executable, "-m", "jaxdp", "run", "teacher", *flags, *(_QUICK if quick else ())]
    call = functools.partial(subprocess.run, command, check=True, cwd=_ROOT, stdout=sys.stderr)
    seconds, _ = timed(call)
    metrics = json.loads((out / "metrics.json").read_text(encoding="utf-8"))
    return record(
        f"{name} n={num} eps={eps:g} ipc={ipc}",
        seconds_alone(seconds),
        None,
        teacher=100 * metrics["teacher_test_accuracy"],
        accuracy=100 * metrics["krr_test_accuracy"],
    )


def records(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure every case."""
    maps, ipcs, epsilons = args.maps.split(","), args.ipcs.split(","), args.epsilons.split(",")
    if args.quick:
        maps, ipcs, epsilons, args.num, args.held_out = ["scattering"], ["1"], ["10"], 40, 20
    with tempfile.TemporaryDirectory() as folder:
        write_parts(args, Path(folder))
        for name, eps, ipc in itertools.product(maps, epsilons, ipcs):
            yield run(name, int(ipc), float(eps), Path(folder), num=args.num, quick=args.quick)


def main() -> None:
    """Run the benchmark."""
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--data_dir", type=Path, default=Path("data"), help="has the npz file")
    parser.add_argument("--dataset", default="cifar10", help="name of the npz file")
    parser.add_argument("--num", type=int, default=15_000, help="images that train")
    parser.add_argument("--held_out", type=int, default=5000, help="images that judge")
    parser.add_argument("--maps", default=",".join(MAPS), help="names, by commas")
    parser.add_argument("--ipcs", default="1,10", help="numbers, by commas")
    parser.add_argument("--epsilons", default="3,10", help="numbers, by commas")
    args = parser.parse_args()
    report(records(args), columns=("teacher", "accuracy", "seconds"), out=args.out)


if __name__ == "__main__":
    main()
