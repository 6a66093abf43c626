"""Datasets that are folders of images, in class folders: {train,test}/{class}/, or {class}/ alone.

Anybody may have filled the folder. So neither a link that leaves the folder nor anything but plain
files is followed; `image_file` says what is decoded.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from jaxdp.program.data import image_file, image_stack, persons
from jaxdp.program.data.image_file import SUFFIXES
from jaxdp.program.data.sources import RawData, Wanted, dataset_error
from jaxdp.program.data.splits import TEST_FRACTION, held_out
from jaxdp.program.errors import InputError
from jaxdp.program.terminal import bar_style

_DELAY = 2.0  # seconds before there is a bar
_ENDINGS = "png|jpg|tif|bmp|dcm"
# How many names or endings a line lists, and how long an ending may be.
_LISTED, _LONGEST = 5, 10
_FOLDERS = "folders in class folders"
_SPLITS = ("train", "test")
_TABLES = (".csv", ".tsv", ".xlsx", ".parquet", ".json")
# What systems put beside anybody's files, in small letters: macOS into archives, Windows, Synology.
_OF_SYSTEMS = ("__macosx", "icon\r", "thumbs.db", "ehthumbs.db", "desktop.ini", "@eadir")
_Files = list[tuple[Path, int]]


def is_image_folder(folder: Path) -> bool:
    """Whether a folder has train or test, or class folders with images."""
    return any((folder / split).is_dir() for split in _SPLITS) or _is_unsplit(folder)


def _is_unsplit(folder: Path) -> bool:
    return folder.is_dir() and any(map(_has_images, _class_folders(folder)))


def _has_images(folder: Path) -> bool:
    return any(map(_is_image, folder.iterdir()))


def would_be_read(folder: Path, path: Path) -> bool:
    """Return whether what is written to a folder would be read as a class, or as images of one.

    Args:
        folder: of class folders; where it has train and test, others are left alone.
        path: of the folder that is written to.
    """
    if any((folder / split).is_dir() for split in _SPLITS) or not _is_unsplit(folder):
        return False
    if not path.resolve().is_relative_to(folder.resolve()):
        return False
    first, *below = (*path.resolve().relative_to(folder.resolve()).parts, "")
    # Folders within a class are not read.
    return not any(below) or not _has_images(folder / first)


def not_understood(name: str, folder: Path) -> InputError:
    """Build the error about a folder that is there, and in which no class has images."""
    endings = set[str]()
    for path, below, files in os.walk(folder):
        below[:] = [each for each in below if not is_hidden(Path(each))]
        endings |= {_ending(Path(path, each)) for each in files if not is_hidden(Path(each))}
    found = f"there are {_in_words(sorted(endings))}" if endings else "it holds no files"
    named = sorted(each.name for each in _class_folders(folder) if each.name.lower() in _SPLITS)
    rename = f"; write {_in_words(named)} in small letters" if named else ""
    labels = "; labels in a table are not read" if endings & set(_TABLES) else ""
    return dataset_error(
        name,
        f"{folder} is there, but holds no images in class folders ({found}){rename}{labels}; put "
        f"images at {folder}/CLASS or {folder}/{{train,test}}/CLASS, as {', '.join(SUFFIXES)}",
    )


def read_image_folder(name: str, folder: Path, wanted: Wanted) -> RawData:
    """Read class folders of images; the set of class folders is public.

    Args:
        name: of the dataset.
        folder: that has train and test, or the class folders themselves.
        wanted: their size, and which are held out for tests where there is no folder of those.

    Raises:
        InputError: something is missing, or cannot be read.
    """
    splits = (folder / "train", folder / "test")
    if not any(split.is_dir() for split in splits):
        return _read_unsplit(name, folder, wanted)
    wanted.require_no_fraction(name, f"{folder} has a folder for its test images")
    for split in splits:
        if not split.is_dir():
            raise dataset_error(
                name,
                f"there is no folder {split}: add it, with class folders; or put the class folders "
                f"into {folder} itself, and some images are held out for tests; no class "
                "is named train or test",
            )
        _require_inside(name, folder, split)
    there = [{each.name for each in _class_folders(split)} for split in splits]
    classes, left_out = sorted(there[0] | there[1]), Counter[str]()
    files = [_listed(name, folder, split, classes, left_out) for split in splits]
    beside = sorted(each.name for each in _class_folders(folder) if each not in splits)
    notes = (
        *_beside_note(beside),
        *_left_out_note(left_out),
        *_missing_note(*_SPLITS, there),
    )
    return _raw(name, folder, files, classes, wanted, notes)


def _read_unsplit(name: str, folder: Path, wanted: Wanted) -> RawData:
    """Read class folders without train and test, and hold some images out."""
    classes, left_out = sorted(each.name for each in _class_folders(folder)), Counter[str]()
    files = _listed(name, folder, folder, classes, left_out)
    if len(files) < 2:
        raise dataset_error(name, f"{folder} has one image: two are needed, one of them to test on")
    fraction = wanted.test_fraction or TEST_FRACTION
    whose = persons.named_by([path for path, _ in files], wanted.persons.separator)
    if whose is None:
        places = [str(path.relative_to(folder)) for path, _ in files]
        test = held_out(places, fraction, seed=wanted.seed)
    else:
        test = persons.held_out_persons(whose, fraction, seed=wanted.seed).tolist()
    splits: tuple[_Files, _Files] = ([], [])
    for file, is_test in zip(files, test, strict=True):
        splits[is_test].append(file)
    what = "images are" if whose is None else "persons' images are"
    held = f"{fraction:g} of all {what} held out for tests; --test_fraction changes that"
    return _raw(name, folder, splits, classes, wanted, (*_left_out_note(left_out), held))


def _raw(
    name: str,
    folder: Path,
    files: Sequence[_Files],
    classes: list[str],
    wanted: Wanted,
    notes: tuple[str, ...],
) -> RawData:
    """Read the files of both splits.

    What names of files and folders tell is refused before images are decoded, which takes minutes.
    """
    if len(classes) < 2 and wanted.class_names is None:
        raise dataset_error(
            name,
            f"image folder {folder} has fewer than 2 classes, {_in_words(classes)}: there is "
            f"nothing to tell apart; put images at {folder}/CLASS, a folder for each class; labels "
            "in a table are not read",
        )
    for split, of_split in zip(_SPLITS, files, strict=True):
        if not of_split:
            empty = folder / split
            raise dataset_error(
                name, f"there are no images in {empty}: put them at {empty}/CLASS/*.{_ENDINGS}"
            )
    paths, labels = zip(*files[0], *files[1], strict=True)
    whose = persons.named_by([path for path, _ in files[0]], wanted.persons.separator)
    if whose is not None:
        wanted.persons.require_number(f"image folder {folder}")
    # Of both splits: a person's images may be in one or the other.
    begins = [each.name.split(wanted.persons.separator)[0] for each in paths]
    owners = None if whose is None else np.array(begins)
    images = tqdm(
        image_file.read_all(name, paths),
        desc="reading images",
        total=len(paths),
        unit="image",
        delay=_DELAY,
        **bar_style(),
    )
    x, first, before = image_stack.stacked(name, images, len(paths), wanted, owners)
    y, n = np.array(labels), len(files[0])
    return RawData(
        *(x[:n], y[:n], x[n:], y[n:], tuple(classes), f"image folder {folder}"),
        value_range=(first.low, first.high),
        size_before=None if wanted.size.mixes else before,
        sizes_differ=before is None,
        notes=notes,
        persons=whose,
        names=[str(path.relative_to(folder)) for path, _ in files[0]],
    )


def is_hidden(path: Path) -> bool:
    """Whether a file or folder is none that somebody has put there to be read."""
    return path.name.startswith(".") or path.name.lower() in _OF_SYSTEMS


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not is_hidden(path)


def _class_folders(split: Path) -> Iterator[Path]:
    return (each for each in split.iterdir() if each.is_dir() and not is_hidden(each))


def _listed(
    name: str, folder: Path, split: Path, classes: list[str], left_out: Counter[str]
) -> _Files:
    """List the images of one split with their labels, in a reproducible order.

    Args:
        name: of the dataset.
        folder: of the dataset.
        split: folder of class folders.
        classes: their names.
        left_out: counts what is no image, by what it is.
    """
    found = []
    left_out.update(_ending(path) for path in split.iterdir() if _is_file(path))
    for label, class_name in enumerate(classes):
        if not (split / class_name).is_dir():
            continue
        _require_inside(name, folder, split / class_name)
        for path in sorted((split / class_name).iterdir()):
            if _is_image(path):
                _require_inside(name, folder, path)
                found.append((path, label))
            elif path.is_dir() and not is_hidden(path):
                left_out[_FOLDERS] += 1
            elif not is_hidden(path):
                left_out[_ending(path)] += 1
    return found


def _is_file(path: Path) -> bool:
    return not path.is_dir() and not is_hidden(path)


def _ending(path: Path) -> str:
    """Return the ending of a name, where it is one that can be shown."""
    ending = path.suffix.lower()
    if _is_image(path):
        return f"{ending} outside of class folders"
    plain = ending[1:].isascii() and ending[1:].isalnum() and len(ending) <= _LONGEST
    return ending if plain else "other endings" if ending else "no ending"


def _left_out_note(left_out: Counter[str]) -> tuple[str, ...]:
    """Say what is no image, of all splits and classes together: that is public, as n is."""
    if not left_out:
        return ()
    ordered = left_out.most_common()
    said = [f"{ending} {count}" for ending, count in ordered[:_LISTED]]
    rest = sum(count for _, count in ordered[_LISTED:])
    said += [f"others {rest}"] if rest else []
    return (f"WARNING: left out, as they are no images in class folders: {', '.join(said)}",)


def _missing_note(train: str, test: str, there: list[set[str]]) -> tuple[str, ...]:
    """Name class folders that one split lacks. Which of them are empty is private, and not said."""
    found = []
    for here, other, names in (
        (train, test, there[0] - there[1]),
        (test, train, there[1] - there[0]),
    ):
        if names:
            found.append(
                f"WARNING: class folders in {here} and not in {other}: {_in_words(sorted(names))}"
            )
    return tuple(found)


def _beside_note(folders: list[str]) -> tuple[str, ...]:
    """Name the folders that are neither train nor test: nothing in them is read."""
    if not folders:
        return ()
    return (
        f"WARNING: left out, as only train and test are read: folders {_in_words(folders)}; "
        "move what is to be used into train or test",
    )


def _in_words(names: list[str]) -> str:
    """List names that anybody may have chosen, not too many."""
    shown = [ascii(each)[1:-1] for each in names[:_LISTED]]
    return ", ".join(shown) + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")


def _require_inside(name: str, folder: Path, path: Path) -> None:
    """Raise an `InputError` for a link to what is not part of the dataset."""
    if not path.is_symlink():
        return
    target, root = os.path.realpath(path), os.path.realpath(folder)
    if os.path.commonpath([target, root]) != root:
        raise dataset_error(
            name, f"{path} is a link that leads out of {folder}, to {target}: put a copy there"
        )
