"""What somebody types into the page, as the words of a command."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxdp.methods.settings import types_of
from jaxdp.privacy import relations
from jaxdp.program.commands import recommend
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.errors import InputError

READING = {
    "image_size": (
        "Size of images",
        "in pixels, as 64 or 48x32; empty: as they are, or 64 where sizes differ or are larger",
    ),
    "channels": ("Channels of images", "1 makes all of them grey, 3 makes them RGB"),
    "pixel_bits": ("Bits of a pixel", "of images with 16 bits that use fewer"),
    "class_names": ("Names of all classes", "with commas between, in the order of labels"),
    "validation": ("Validation images", "yes: they are training images, too"),
    "person_separator": ("End of a person's name in a file's", "as _ for p17_left.png"),
    "no_header": ("Table without a line of names", "yes: columns are column_1, column_2, ..."),
    "line_breaks": ("Fields with line breaks", "yes: texts in quotes may hold them"),
    "target": ("Column to predict", "of a table; empty: as step 2 says"),
    "test_csv": ("Table of test records", "empty: some records are held out"),
    "test_fraction": ("Part held out for tests", "as 0.1"),
    "person_column": ("Column of persons", "that says whose a record of a table is"),
    "records_per_person": ("Most records of a person", "all of them are protected together"),
}
"""Flags that say how data are read, with their labels and hints in the form."""
_OF_THE_FORM = {"eps", "out_dir", "dataset", "data_dir", "csv", "schema"}
_OF_FILES = ("flagfile", "undefok")
_OF_BOTH = ("test_fraction", "records_per_person")
_ONLY_OF_TABLES = ("no_header", "line_breaks", "target", "test_csv", "person_column")
OF_TABLES = (*_ONLY_OF_TABLES, *_OF_BOTH)
OF_IMAGES = tuple(name for name in READING if name not in _ONLY_OF_TABLES)
_WORDS = {"yes": True, "true": True, "no": False, "false": False}


def flags_of(typed: Mapping[str, str], names: Sequence[str]) -> dict[str, Any]:
    """Return the values of flags that somebody has typed.

    Raises:
        InputError: a text is no number, or neither yes nor no, where that is needed.
    """
    types = types_of(recommend.RecommendFlags)
    found: dict[str, Any] = {}
    for name in names:
        text = typed.get(name, "").strip()
        if text:
            found[name] = _value(types[name], text, READING[name][0])
    return found


def _value(kind: type, text: str, label: str) -> Any:
    if kind is bool:
        if text.lower() not in _WORDS:
            raise InputError(f"{label}: {text} is neither yes nor no")
        return _WORDS[text.lower()]
    try:
        return kind(text)
    except ValueError as error:
        what = "whole number" if kind is int else "number"
        raise InputError(f"{label}: {text} is no {what}") from error


def folder_of(text: str) -> Path:
    """Return the folder of a run that somebody has typed: a new one, or one of an unfinished run.

    Raises:
        InputError: it is neither.
    """
    if not text.strip():
        raise InputError("name a folder for the result")
    path = _path_of(text)
    if _is_there(path) and not is_unfinished(path):
        raise InputError(f"{path}: is there already; name a new folder")
    return path


def new_file_of(text: str) -> Path:
    """Return the path of a file that somebody has typed, and that is not there yet.

    Raises:
        InputError: it is, or there can be none.
    """
    if not text.strip():
        raise InputError("name a file")
    path = _path_of(text)
    path = path if path.suffix == ".zip" else path.with_name(f"{path.name}.zip")
    if _is_there(path):
        raise InputError(f"{path}: is there already; name a new file")
    return path


def _path_of(text: str) -> Path:
    """Return a path in full.

    Raises:
        InputError: it names the home folder of nobody, or has a character that no path has.
    """
    if "\0" in text:
        raise InputError("no path has a zero character; leave it out")
    return Path(os.path.abspath(user_path(text.strip(), "out_dir")))


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise InputError(f"{path}: cannot be used ({error.strerror}); name another one") from error


def is_begun(text: str) -> bool:
    """Whether a folder that somebody has typed has an unfinished run."""
    try:
        return is_unfinished(_path_of(text))
    except InputError:
        return False


def is_unfinished(folder: Path | None) -> bool:
    """Whether a folder has a run that was begun and has not ended."""
    try:
        if folder is None or not (folder / "config.json").is_file():
            return False
    except OSError:  # there can be no such folder
        return False
    try:
        return not json.loads((folder / "metrics.json").read_text("utf-8")).get("finished")
    except (OSError, ValueError, AttributeError):
        return True


def budget_words(text: str) -> list[str]:
    """Return the flag of the most that all runs may spend; none where nothing was typed.

    Raises:
        InputError: it is no number.
    """
    if not text.strip():
        return []
    try:
        most = float(text)
    except ValueError:
        most = math.nan
    if not 0 < most < math.inf:
        raise InputError(f"{text}: the most epsilon of all runs is a number above 0")
    return [f"--budget={most!r}"]


def more_words(text: str, own: Sequence[str]) -> list[str]:
    """Return further flags that somebody has typed.

    Args:
        text: as typed; no shell sees it.
        own: flags that the page gives.

    Raises:
        InputError: a word is no flag, or one that the page gives or has a field for.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"{text}: a quote is not closed") from error
    taken = {word.removeprefix("--").partition("=")[0] for word in own} | _OF_THE_FORM
    for word in words:
        if not word.startswith("--") or word == "--":
            raise InputError(f"{word}: is no flag; write --name=value")
        name = word.removeprefix("--").partition("=")[0]
        for each in (name, name.removeprefix("no")):
            if each in READING:
                raise InputError(f"{word}: is asked for in step 1, as {READING[each][0]!r}")
            if each in taken:
                raise InputError(f"{word}: is asked for in the form")
        if name in _OF_FILES:
            raise InputError(f"{word}: is not for this page; write the flags themselves")
    return words


def values_of(more: str) -> dict[str, str]:
    """Return further flags that somebody has typed, with their values, by name.

    Raises:
        InputError: as for `more_words`.
    """
    words = (word.removeprefix("--").partition("=") for word in more_words(more, ()))
    return {name: value for name, equals, value in words if equals}


def relation_of(more: str) -> str:
    """Return which datasets are neighbours by what somebody has typed; zero-out where it is none.

    What is none of them is refused where flags are read.
    """
    try:
        found = values_of(more).get("relation", relations.ZERO_OUT)
    except InputError:
        return relations.ZERO_OUT
    return found if found in relations.NAMES else relations.ZERO_OUT
