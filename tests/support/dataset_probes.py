"""The probes of what comes before a run: flags, npz files and image folders."""

from __future__ import annotations

import dataclasses
import functools
import io
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
from hypothesis import strategies as st

from jaxdp.methods import presets, record
from jaxdp.methods.dp_kip.kernels import SCATTER_NORMS
from jaxdp.methods.dp_ntk.features import NETWORKS
from jaxdp.methods.dp_ntk.generators import GENERATORS
from jaxdp.methods.dp_ntk.settings import PRESETS, SCHEDULES
from jaxdp.methods.teacher.settings import MATCHES
from jaxdp.privacy import calibration
from jaxdp.program.data import sources as data_sources
from jaxdp.program.data import tfds_data
from jaxdp.program.data.load import load_dataset, require_range
from jaxdp.program.data.persons import Persons
from jaxdp.program.runs import judging
from support import faulty_input
from support.drivers import FLAGS, prepared
from support.faulty_input import Probe


def _nothing(given: Any, folder: Path) -> None:
    (folder / "file").write_text("not a folder")
    (folder / "folder").mkdir()


def _no_noise_is_computed(mechanism: Any, **_: Any) -> Any:
    """A calibration that takes no time; the real one has tests of its own."""
    return dataclasses.replace(mechanism, noise_multiplier=1.0)


_cached_digits = functools.cache(data_sources.read_digits)


def planned(method: str, *arguments: str) -> Any:
    """Plan a run as its driver does: all that happens before anything is written."""

    def no_download(name: str, *_: Any) -> None:
        raise data_sources.dataset_error(name, "nothing is downloaded here")

    with faulty_input.patched(
        (calibration, "calibrate", _no_noise_is_computed),
        (data_sources, "read_digits", _cached_digits),
        (tfds_data, "read", no_download),
    ):
        plan, run_folder, run_flags, data = prepared(method, *arguments)
        judging.chosen(plan, run_flags, num_test=100)
        if plan.story.needs_range:
            require_range(data)
        config = record.config_of(plan, run_flags)
        run_folder.require_same_config(config)
        json.dumps([config, plan.ledger and plan.ledger.to_json()], allow_nan=False)
    return plan


def _flag_probe(method: str, **known: Any) -> Probe:
    def read(arguments: list[str], folder: Path) -> None:
        planned(method, "--data_dir=folder", *arguments)

    inputs = functools.partial(faulty_input.flags_of, FLAGS[method], known)
    return Probe(f"flags of {method}", inputs, _nothing, read, good=lambda: ["--eps=2"])


_FLAGS = (
    _flag_probe(
        "dp_kip",
        kernel=("fc_ntk", "fc_nngp", "scatter", "conv_ntk"),
        clip_space=("pixels", "features"),
        scatter_norm=SCATTER_NORMS,
        evaluate=("krr", "krr,logistic", "mlp,convnet", "frechet"),
        accountant=("pld", "rdp"),
        preset=presets.names(),
    ),
    _flag_probe(
        "teacher",
        match=MATCHES,
        preset=presets.names(),
        evaluate=("krr", "krr,logistic", "mlp,convnet", "frechet"),
    ),
    _flag_probe(
        "dp_ntk",
        features=("entk", "rff", "hermite", "scatter"),
        network=NETWORKS,
        ntk_width=("8", "8_8", "1_1", "3"),
        generator=tuple(GENERATORS),
        schedule=SCHEDULES,
        preset=(*PRESETS, *presets.names()),
        evaluate=("none", "logistic,frechet", "krr", "inception"),
    ),
)


# --- Datasets --------------------------------------------------------------------------------

_SHAPES = st.sampled_from([(4, 5, 5), (4, 4, 4, 3), (4, 3), (0, 3), (4,), (), (2, 0), (1, 1, 1, 1)])
_NUMBERS = ["u1", "f4", "f8", "f2", "i4", "i8", ">f4", "?"]
_TYPES = st.sampled_from([*_NUMBERS, "c8", "U3", "S3", "M8[s]", "V3", "f4,i2", "O"])


def _good_npz(**more: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    x, y = np.ones((4, 5, 5), np.uint8), np.array([0, 1, 0, 1])
    np.savez(buffer, x_train=x, y_train=y, x_test=x, y_test=y, **more)
    return buffer.getvalue()


@st.composite
def _arrays(draw: st.DrawFn, **more: np.ndarray) -> bytes:
    """An npz file as somebody might write it for a dataset, not always well."""
    labels = {"y_train": np.array([0, 1, 0, 1]), "y_test": np.array([0, 1, 1, 0])}
    images = {"x_train": np.ones((4, 5, 5), np.uint8), "x_test": np.ones((4, 5, 5), np.uint8)}
    arrays: dict[str, Any] = images | labels | more
    names = [*arrays, "class_names", "", "a/b", "x_train.npy"]
    for name in draw(st.lists(st.sampled_from(names), max_size=3)):
        array = np.zeros(draw(_SHAPES), draw(_TYPES))
        if array.dtype.kind in "fiu" and array.size:
            array.flat[0] = draw(st.sampled_from([0, 1, 2, 100]))
            if array.dtype.itemsize > 2 and array.dtype.kind == "f":
                array.flat[-1] = draw(st.sampled_from([math.nan, math.inf, -1e30, 0.5]))
        arrays[name] = array
    buffer = io.BytesIO()
    draw(st.sampled_from([np.savez, np.savez_compressed]))(buffer, **arrays)
    return buffer.getvalue()


def _write_npz(content: bytes, folder: Path) -> None:
    (folder / "toy.npz").write_bytes(content)


def _load_toy(_: Any, folder: Path) -> None:
    load_dataset("toy", data_dir=folder, download=False)


_NPZ = Probe(
    "npz dataset",
    lambda: st.one_of(_arrays(), faulty_input.damaged(_arrays())),
    _write_npz,
    _load_toy,
    _good_npz,
)


def _load_persons(_: Any, folder: Path) -> None:
    wanted = data_sources.Wanted(persons=Persons(most=2))
    load_dataset("toy", data_dir=folder, download=False, wanted=wanted)


_WHOSE = {"group_train": np.array(["a", "a", "a", "b"])}
_OF_PERSONS = Probe(
    "npz of persons",
    lambda: st.one_of(_arrays(**_WHOSE), faulty_input.damaged(_arrays(**_WHOSE))),
    _write_npz,
    _load_persons,
    lambda: _good_npz(**_WHOSE),
)


@functools.cache
def _encoded(mode: str, kind: str, side: tuple[int, int]) -> bytes:
    buffer = io.BytesIO()
    try:
        PIL.Image.new(mode, side).save(buffer, kind)
    except (OSError, KeyError, ValueError):  # a mode that this format does not have
        PIL.Image.new("L", side).save(buffer, kind)
    return buffer.getvalue()


@st.composite
def _image(draw: st.DrawFn) -> bytes:
    mode = draw(st.sampled_from(["L", "RGB", "RGBA", "P", "1", "LA", "CMYK", "I;16", "F", "I"]))
    kind = draw(st.sampled_from(["PNG", "JPEG", "GIF", "BMP", "TIFF", "EPS"]))
    side = draw(st.sampled_from([(4, 4), (4, 4), (1, 1), (5000, 4000)]))
    return _encoded(mode, kind, side)


_FILES = st.one_of(
    _image(),
    faulty_input.damaged(_image()),
    st.binary(max_size=40),
    st.sampled_from(
        ["pipe", "folder", "link out", "link in", "link class", "dangling", "loop", "/dev/zero"]
    ),
)
_FILE_NAMES = st.sampled_from(
    ["b", "b.png", "b.jpg", "b.JPEG", "b.tif", "b.dcm", "x\ny.png", "b.txt", ".png", "\udc80.png"]
)
_PLACES = st.sampled_from(["train/0", "train/1", "test/0", "test/1", "test/new", "train", "."])


def _write_images(files: dict[tuple[str, str], Any], folder: Path) -> None:
    for place in ("train/0", "train/1", "test/0", "test/1"):
        (folder / "toy" / place).mkdir(parents=True)
        PIL.Image.new("L", (4, 4)).save(folder / "toy" / place / "a.png")
    (folder / "elsewhere").mkdir()
    links = {"link out": folder / "elsewhere", "dangling": folder / "toy/none"}
    links |= {"link in": folder / "toy/train/0/a.png", "/dev/zero": Path("/dev/zero")}
    links["link class"] = folder / "toy/train/0"
    for (place, name), content in files.items():
        path = folder / "toy" / place / name
        path.parent.mkdir(exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif content == "pipe":
            os.mkfifo(path)
        elif content == "folder":
            path.mkdir()
        else:
            path.symlink_to(links.get(content, path))


_IMAGES = Probe(
    "image folder",
    lambda: st.dictionaries(st.tuples(_PLACES, _FILE_NAMES), _FILES, min_size=1, max_size=3),
    _write_images,
    _load_toy,
    dict,
)

PROBES = (*_FLAGS, _NPZ, _OF_PERSONS, _IMAGES)
