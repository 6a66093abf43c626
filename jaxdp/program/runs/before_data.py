"""What can be refused of a run before its data are read: by its flags, its folder and its ledger.

Data may take minutes to be read, and what a schema leaves open is bought as they are.
"""

import os
from pathlib import Path
from typing import Any

from jaxdp.program.data import image_folder
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.errors import InputError
from jaxdp.program.evaluation import inception, registry
from jaxdp.program.evaluation.facts import IMAGE, TABLE
from jaxdp.program.runs import dataset_ledgers
from jaxdp.program.runs.folder import RunFolder, require_one
from jaxdp.program.runs.rows import require_apart

_FILES = ("teacher", "embedding", "counts", "synthetic")
"""Flags of what earlier runs have left."""


def check(run_flags: Any, budget: Any) -> None:
    """Raise an `InputError` for what needs no data to be refused.

    Args:
        run_flags: of the run.
        budget: its settings, or those of its budget alone.
    """
    _judges(run_flags)
    for name in _FILES:
        path = getattr(run_flags, name, None)
        if path is not None and not user_path(path, name).exists():
            raise InputError(f"--{name}={path}: there is no such file")
    _folder(run_flags)
    reuses = any(getattr(run_flags, name, None) is not None for name in _FILES)
    # One that goes on is asked for its own room, with the others.
    if budget.is_private and budget.noise_seed is None and not reuses and not run_flags.resume:
        _ledger(run_flags, budget.delta)


def _judges(run_flags: Any) -> None:
    if run_flags.evaluate is not None:
        names = registry.parse(run_flags.evaluate)
        kind = IMAGE if run_flags.csv is None else TABLE
        if kind == TABLE:  # a dataset may hold images or rows
            registry.check_kinds(names, kind, flag=f"--evaluate={run_flags.evaluate}")
    if getattr(run_flags, "inception_weights", None) is not None:
        inception.require(run_flags.inception_weights)


def _folder(run_flags: Any) -> None:
    require_one(resume=run_flags.resume, overwrite=run_flags.overwrite)
    _require_outside_of_data(run_flags)
    if run_flags.out_dir is None:  # its name depends on the data
        return
    folder = RunFolder(run_flags.out_dir, resume=run_flags.resume, overwrite=run_flags.overwrite)
    folder.require_writable()
    if run_flags.check_fidelity or getattr(run_flags, "check_copies", False):
        folder.require_not_for_release()
    require_apart(getattr(run_flags, "feature_cache", None), folder.path)


def _require_outside_of_data(run_flags: Any) -> None:
    """Raise an `InputError` where a run's folder would be one of the classes of its images."""
    if run_flags.csv is not None:
        return
    data = user_path(run_flags.data_dir, "data_dir") / run_flags.dataset
    out = user_path(run_flags.out_dir or "runs", "out_dir")
    if image_folder.would_be_read(data, out):
        raise InputError(
            f"--out_dir={out}: lies in {data}, whose folders are classes; name a folder elsewhere"
        )


def _ledger(run_flags: Any, delta: float) -> None:
    """Raise an `InputError` where the ledger cannot be used, or nothing of a budget is left."""
    file = dataset_ledgers.of_run(run_flags)
    if file is None:
        return
    _require_writable(file.path)
    with dataset_ledgers.in_one_line(file):
        file.require_left(run_flags.budget, delta)


def _require_writable(path: Path) -> None:
    place = path if path.exists() else next(each for each in path.parents if each.exists())
    if not os.access(place, os.W_OK):
        raise InputError(
            f"--ledger={path}: cannot be written; name another file, or none for no ledger"
        )
