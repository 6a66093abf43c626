"""Follow private examples through a run: which functions are handed them, outside of the readers.

    python tests/offline_moves.py                      # all three methods
    python tests/offline_moves.py --root=FOLDER        # of another checkout
    python tests/offline_moves.py --method=dp_kip --names

A run of digits at toy size is watched call by call. A function is counted once, when one of its
arguments holds the training split as it is stored: as a dataset, as `Private`, or as an array of
the same memory. So the number is that of places which an auditor reads to know where rows go.
"""

import argparse
import contextlib
import io
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
METHODS = {
    "dp_kip": ("dp_kip", "--steps=3"),
    "teacher": ("dp_kip_teacher", "--steps=3", "--distill_steps=3", "--whiten=0"),
    "dp_ntk": ("dp_ntk", "--steps=3", "--batch_size=20", "--ntk_width=8", "--num_synthetic=20"),
}
_COMMON = ("--dataset=digits", "--delta=1e-3", "--evaluate=none", "--ledger=none")
_CARRIERS = ("Dataset", "Private")
_READERS = "/program/data/", "/experiments/data/"


class Watch:
    """What has been handed private examples."""

    def __init__(self, root: Path) -> None:
        """Watch the functions of a checkout's packages."""
        self._rooms = tuple(f"{root}/{room}/" for room in ("jaxdp", "experiments"))
        self._rows: list[np.ndarray] = []
        self._seen = set[CodeType]()
        self.names = set[str]()

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        """Look at a call's arguments."""
        del arg
        code = frame.f_code
        if event != "call" or code in self._seen or not code.co_filename.startswith(self._rooms):
            return
        if code.co_name.startswith("<") or any(each in code.co_filename for each in _READERS):
            return
        given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if any(self._holds(frame.f_locals.get(name)) for name in given):
            self._seen.add(code)
            self.names.add(f"{Path(code.co_filename).name}: {code.co_qualname}")

    def _holds(self, value: Any) -> bool:
        if type(value).__name__ in _CARRIERS:
            self._learn(value)
            return True
        if isinstance(value, np.ndarray):
            return any(np.may_share_memory(value, rows) for rows in self._rows)
        if isinstance(value, tuple) and len(value) == 2:
            return any(self._holds(each) for each in value)
        return False

    def _learn(self, value: Any) -> None:
        """Know the memory of the rows that a carrier holds."""
        private = getattr(value, "private", value)
        x = getattr(value, "x_train", getattr(private, "x", None))
        if isinstance(x, np.ndarray) and not any(x is rows for rows in self._rows):
            self._rows.append(x)


def watched(method: str, root: Path) -> list[str]:
    """Run a method; return the names of the functions that were handed private examples."""
    module, *flags = METHODS[method]
    watch = Watch(root)
    sys.path.insert(0, str(root))
    with tempfile.TemporaryDirectory() as folder:
        sys.argv = [module, *flags, *_COMMON, f"--out_dir={folder}/run"]
        sys.setprofile(watch)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
                runpy.run_module(f"experiments.{module}", run_name="__main__")
        finally:
            sys.setprofile(None)
    return sorted(watch.names)


def counts(root: Path) -> dict[str, int]:
    """Return how many functions there are, by method, each in a process of its own."""
    found = {}
    for method in METHODS:
        words = [sys.executable, __file__, f"--root={root}", f"--method={method}", "--names"]
        run = subprocess.run(words, capture_output=True, text=True, check=True, cwd=root)
        found[method] = len(run.stdout.splitlines())
    return found


def main() -> None:
    """Print how many functions there are, or which."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default=str(ROOT), help="of the checkout")
    parser.add_argument("--method", choices=METHODS, help="watch this one")
    parser.add_argument("--names", action="store_true", help="print which functions")
    options = parser.parse_args()
    root = Path(options.root).resolve()
    if options.method is None:
        print(counts(root))
    elif options.names:
        print("\n".join(watched(options.method, root)))
    else:
        print(len(watched(options.method, root)))


if __name__ == "__main__":
    main()
