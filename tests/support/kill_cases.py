"""The runs that `offline_kills.py` disturbs: seconds each, on digits or on data of its own."""

from __future__ import annotations

import dataclasses
import socket
from collections.abc import Callable
from pathlib import Path

import numpy as np

from support import toy_tables


@dataclasses.dataclass(frozen=True)
class Case:
    """A short run of a driver.

    Attributes:
        name: of its row.
        driver: in `experiments`.
        flags: of the run.
        released: the file that is released once; None where every checkpoint is a release.
        public: files that are the same whenever the noise is.
        data: writes data of its own into a folder, and returns the flags that name them. Such a
            run is counted in a ledger beside them.
        processes: that share the run.
    """

    name: str
    driver: str
    flags: tuple[str, ...]
    released: str | None
    public: tuple[str, ...]
    data: Callable[[Path], list[str]] | None = None
    processes: int = 1

    def commands(self, *more: str) -> list[list[str]]:
        """Return the flags of each process."""
        if self.processes == 1:
            return [[*self.flags, *more]]
        with socket.socket() as found:
            found.bind(("localhost", 0))
            where = f"--coordinator=localhost:{found.getsockname()[1]}"
        together = [*self.flags, *more, where, f"--num_processes={self.processes}"]
        return [[*together, f"--process_id={number}"] for number in range(self.processes)]


def _table(folder: Path) -> list[str]:
    return toy_tables.write_table(folder, toy_tables.frame_of(300))


def _scans(folder: Path) -> list[str]:
    """Write images of persons, of whom some have more than two."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    x = (rng.integers(0, 60, (300, 8, 8)) + 60 * y[:, None, None]).astype(np.uint8)
    arrays = {"x_train": x[:240], "y_train": y[:240], "x_test": x[240:], "y_test": y[240:]}
    persons = rng.integers(0, 150, 240)
    np.savez(
        folder / "scans.npz", class_names=np.array(["a", "b", "c"]), group_train=persons, **arrays
    )
    return ["--dataset=scans", f"--data_dir={folder}", "--records_per_person=2"]


_DELTA = "--delta=1e-3"
_KIP = ("--ipc=1", "--batch_size=50", "--eps=5", "--eval_every=3")
_TEACHER = ("--batch_size=200", "--distill_steps=20", "--whiten=0", "--eps=5")
_OF_PERSONS = ("--batch_size=50", "--distill_steps=20", "--whiten=0", "--eps=5", _DELTA)
_NETWORK = ("--ntk_width=8", "--steps=100", "--batch_size=40")
_DRAWN = ("--num_synthetic=200", "--evaluate=none")
_SYNTHETIC = ("synthetic.npz", "synthetic.csv")
_DISTILLED = ("teacher.npz", "distilled.npz")

CASES = (
    Case("dp_kip", "dp_kip", (*_KIP, "--steps=60"), None, ("distilled.npz",)),
    Case(
        "dp_kip_teacher", "dp_kip_teacher", (*_TEACHER, "--steps=20000"), "teacher.npz", _DISTILLED
    ),
    Case(
        "dp_kip_teacher, both",
        "dp_kip_teacher",
        (*_TEACHER, "--steps=5000", "--match=both"),
        "teacher.npz",
        _DISTILLED,
    ),
    Case(
        "dp_kip_teacher, persons",
        "dp_kip_teacher",
        (*_OF_PERSONS, "--steps=5000"),
        "teacher.npz",
        _DISTILLED,
        _scans,
    ),
    Case(
        "dp_ntk",
        "dp_ntk",
        (*_NETWORK, *_DRAWN),
        "embedding.npz",
        ("embedding.npz", "synthetic.npz"),
    ),
    Case(
        "dp_ntk, teacher",
        "dp_ntk",
        (*_NETWORK, *_DRAWN, "--labels=teacher"),
        "labelled.npz",
        ("labelled.npz", "synthetic.npz"),
    ),
    Case(
        "dp_ntk, table",
        "dp_ntk",
        (*_DRAWN, "--eps=2", _DELTA),
        "embedding.npz",
        ("embedding.npz", *_SYNTHETIC),
        _table,
    ),
    Case(
        "dp_ntk, table, teacher",
        "dp_ntk",
        (*_DRAWN, "--eps=2", _DELTA, "--labels=teacher"),
        "labelled.npz",
        ("labelled.npz", *_SYNTHETIC),
        _table,
    ),
    Case("dp_kip, 2 processes", "dp_kip", (*_KIP, "--steps=60"), None, ("distilled.npz",), None, 2),
    Case(
        "dp_kip_teacher, persons, 2 processes",
        "dp_kip_teacher",
        (*_OF_PERSONS, "--steps=1000"),
        "teacher.npz",
        _DISTILLED,
        _scans,
        2,
    ),
)
