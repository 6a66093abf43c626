"""Tell the classes of new examples by what a run has released: post-processing, without its data.

    jaxdp classify --run=runs/mnist_teacher_ipc10_eps1 new.png folder/
    jaxdp classify --run=runs/patients new.csv --out=classes.csv

From Python: `jaxdp.load("runs/mnist_teacher_ipc10_eps1").predict(x)`.

Examples are images (.png, .jpg), folders of them, tables (.csv, .parquet) or arrays (.npz, with x
as the data of the run were stored). Each becomes a line: file, row, class, and the probability of
each class.
"""

import contextlib
import dataclasses
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from jaxdp.methods.settings import setting
from jaxdp.program import command_line, out_file
from jaxdp.program.csv_lines import csv_path, csv_text
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import ProgramFlags
from jaxdp.program.terminal import print_guarantee

if TYPE_CHECKING:
    from jaxdp.program.data.new_examples import Examples
    from jaxdp.saved.loading import Loaded


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassifyFlags(ProgramFlags):
    """The flags of this program."""

    run: str | None = setting(None, "Folder of a finished run, or what `jaxdp pack` made of it.")
    out: str | None = setting(
        None, "Where to write the classes, as CSV (default: standard output)."
    )


KINDS = command_line.define(ClassifyFlags)


def _opened(folder: str) -> "Loaded":
    """Return what a run has left."""
    from jaxdp.saved import loading  # imports jax: not before flags are parsed

    path, flag = user_path(folder, "run").absolute(), f"--run={folder}"
    return loading.opened(path, flag, watch=_watched)


def _watched(parts: Sequence[int]) -> Iterable[int]:
    """Show how many parts of a public array are computed, and say that this is done once."""
    from jaxdp.methods.runner import PUBLIC_MAP, PlainRunner

    print("computed once, and kept for later (`jaxdp cache` lists what is kept):", file=sys.stderr)
    return PlainRunner().watched(PUBLIC_MAP)(parts)


def as_csv(examples: "Examples", scores: np.ndarray, stored: "Loaded") -> str:
    """Return a line for each example: file, row, class, and the probability of each class.

    Args:
        examples: m of them.
        scores: (m, c) of the classifier.
        stored: what has the classifier.
    """
    names, told = stored.spec.class_names, np.argmax(scores, axis=1)
    probabilities = stored.classifier.probabilities(scores)
    lines: list[list[object]] = [["file", "row", "class", *(f"p_{name}" for name in names)]]
    for number, (file, row) in enumerate(zip(examples.files, examples.rows, strict=True)):
        shown = [f"{value:.6g}" for value in probabilities[number]]
        place = "" if row is None else row
        lines.append([csv_path(file), place, names[told[number]], *shown])
    return csv_text(lines)


def _require_there(paths: Sequence[str]) -> None:
    """Raise an `InputError` where a path leads nowhere."""
    from jaxdp.program.data import new_examples

    for path in paths:
        new_examples.require_there(path)


def _classified(stored: "Loaded", paths: Sequence[str]) -> str:
    """Return the CSV of files and folders."""
    from jaxdp.program.data import new_examples

    # Reading takes less time than the classifier, whose public map may be computed.
    examples = new_examples.read(paths, stored.spec)
    return as_csv(examples, stored.classifier.decision_function(examples.x), stored)


def _named(run: str | None, words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the run and what to classify: a run may be the first word instead of a flag."""
    if run is not None:
        return run, words
    if words and _is_run(Path(words[0])):
        return words[0], words[1:]
    raise InputError("--run: name a finished run, as --run=runs/scans or --run=scans.zip")


def _is_run(path: Path) -> bool:
    return path.suffix == ".zip" or (path / "privacy.json").is_file()


USAGE, TAKES_FILES = "--run=RUN FILE_OR_FOLDER ...", True


def main(argv: Sequence[str]) -> None:
    """Classify and write; bad input ends it with one line and exit code 2."""
    with command_line.one_line_errors():
        asked = command_line.settings_of(ClassifyFlags)
        command_line.prepare()
        run, paths = _named(asked.run, argv[1:])
        if not paths:
            raise InputError(
                f"--run={run}: name what to classify: images, folders of them, .csv, "
                ".parquet or .npz"
            )
        if asked.out is not None:
            out_file.require(asked.out, suffix=".csv")
        _require_there(paths)
        stored = _opened(run)
        # What a file name holds that is no text is written as its number.
        text = _classified(stored, paths).encode("utf-8", "backslashreplace")
        if asked.out is None:
            sys.stdout.write(text.decode())
        else:
            out_file.write(asked.out, text, suffix=".csv")
        with contextlib.redirect_stdout(sys.stderr):
            print(f"{run}: {stored.about}")
            print_guarantee(dict(stored.certificate.facts))
