"""Files that anybody may have written: bombs, links, pipes, and JSON that is none."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import threading
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from jaxdp import large_arrays
from jaxdp.program.data import resizing
from jaxdp.program.data.load import load_dataset
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.errors import InputError
from jaxdp.saved import npz as npz_files
from jaxdp.saved.files import MOST_JSON_BYTES, json_file, json_object, open_plain

# --- npz files ---------------------------------------------------------------------------------


def npy(header: str, body: bytes = b"") -> bytes:
    """An npy file with any header."""
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


def stored(
    path: Path, *members: tuple[str, bytes], compression: int = zipfile.ZIP_DEFLATED
) -> Path:
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members:
            file.writestr(name, content)
    return path


def header(shape: str, descr: str = "'<f8'") -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}\n"


GOOD = npy(header("(2,)"), bytes(16))
BAD_MEMBERS = {
    "declares more than there is": npy(header("(1000000000000,)")),
    "declares less than there is": npy(header("(1,)"), bytes(16)),
    "no magic": b"plain text",
    "bad header": npy("{'descr': '<f8'}\n"),
    "not a literal": npy("__import__('os')\n"),
    "objects": npy(header("(2,)", "'|O'"), bytes(16)),
    "fields": npy(header("(2,)", "[('a', '<f8')]"), bytes(16)),
    "nothing, often": npy(header("(1000000000000000,)", "'<U0'")),
    "negative shape": npy(header("(-2, -1)"), bytes(16)),
    "nested brackets": npy("(" * 9000),
}


@pytest.mark.parametrize("case", list(BAD_MEMBERS))
def test_arrays_that_are_not_what_they_declare_are_refused(case: str, tmp_path: Path) -> None:
    path = stored(tmp_path / "x.npz", ("x.npy", BAD_MEMBERS[case]))
    with pytest.raises(npz_files.UnreadableError):
        npz_files.load(path)


def test_a_bomb_is_refused_before_memory_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = stored(tmp_path / "x.npz", ("x.npy", npy(header("(1000000,)"), bytes(8 * 10**6))))
    assert path.stat().st_size < 20000
    assert len(npz_files.load(path)["x"]) == 10**6
    monkeypatch.setattr(npz_files, "max_bytes", lambda: 10**6)
    monkeypatch.setattr(np.lib.format, "read_array", None)
    with pytest.raises(npz_files.UnreadableError, match=r"take 0\.008 GB, more than half"):
        npz_files.load(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_doubled_and_otherwise_compressed_members_are_refused(tmp_path: Path) -> None:
    twice = stored(tmp_path / "a.npz", ("x.npy", GOOD), ("x.npy", GOOD))
    with pytest.raises(npz_files.UnreadableError, match="two arrays of the name x"):
        npz_files.load(twice)
    lzma = stored(tmp_path / "b.npz", ("x.npy", GOOD), compression=zipfile.ZIP_LZMA)
    with pytest.raises(npz_files.UnreadableError, match="compressed in a way"):
        npz_files.load(lzma)
    content = bytearray(stored(tmp_path / "c.npz", ("x.npy", GOOD)).read_bytes())
    content[content.rindex(b"PK\x01\x02") + 8] |= 1  # encrypted, says the directory
    (tmp_path / "c.npz").write_bytes(content)
    with pytest.raises(npz_files.UnreadableError, match="encrypted"):
        npz_files.load(tmp_path / "c.npz")


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_what_numpy_writes_is_read(write: Any, tmp_path: Path) -> None:
    arrays = {
        "scalar": np.array(3.5),
        "empty": np.zeros((0, 4)),
        "text": np.array(["a", "ß"]),
        "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "halves": np.ones(3, np.float16),
    }
    write(tmp_path / "x.npz", **arrays)
    found = npz_files.load(tmp_path / "x.npz")
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


# --- Pipes, devices, links ---------------------------------------------------------------------


def test_pipes_and_devices_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "toy.npz")
    answered = threading.Event()

    def opened() -> None:
        with contextlib.suppress(OSError):
            open_plain(tmp_path / "toy.npz")
        answered.set()

    threading.Thread(target=opened, daemon=True).start()
    assert answered.wait(20), "it waits for somebody to write"
    with pytest.raises(InputError, match="it is not a plain file"):
        load_dataset("toy", data_dir=tmp_path)
    with pytest.raises(OSError, match="not a plain file"):
        open_plain(Path("/dev/zero"))
    with pytest.raises(IsADirectoryError):
        open_plain(tmp_path)


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    for place in ("train/0", "train/1", "test/0"):
        (tmp_path / "toy" / place).mkdir(parents=True)
        PIL.Image.new("L", (4, 4)).save(tmp_path / "toy" / place / "a.png")
    return tmp_path


def refusal(folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_dataset("toy", data_dir=folder, download=False)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("place", ["toy/train/0/b.png", "toy/train/2", "toy/train"])
def test_links_out_of_a_dataset_are_refused(place: str, toy: Path) -> None:
    outside = toy / "outside"
    (outside / "0").mkdir(parents=True)
    PIL.Image.new("L", (4, 4)).save(outside / "0" / "a.png")
    link = toy / place
    if link.exists():
        link.rename(toy / "kept")
    link.symlink_to(outside / "0" / "a.png" if place.endswith("png") else outside)
    said = refusal(toy)
    assert f"{link} is a link that leads out of {toy}/toy" in said


def test_links_within_a_dataset_and_of_the_whole_are_followed(toy: Path) -> None:
    (toy / "toy/train/0/b.png").symlink_to("../1/a.png")
    (toy / "toy").rename(toy / "elsewhere")
    (toy / "toy").symlink_to(toy / "elsewhere")
    assert len(load_dataset("toy", data_dir=toy).private.x) == 3


def test_pipes_and_links_in_circles_are_no_images(toy: Path) -> None:
    path = toy / "toy/train/0/b.png"
    os.mkfifo(path)
    assert "(it is not a plain file): replace or remove" in refusal(toy)
    path.unlink()
    path.symlink_to(path)
    assert "Too many levels of symbolic links" in refusal(toy)
    path.unlink()
    path.symlink_to("nothing.png")
    assert "No such file or directory" in refusal(toy)


def test_names_with_line_breaks_are_one_line(toy: Path) -> None:
    (toy / "toy/train/0/b\nc.png").write_bytes(b"no image")
    assert "b c.png" in refusal(toy)


# --- Images ------------------------------------------------------------------------------------


def no_room(*_: int) -> None:
    """Stand for a full disk."""
    raise OSError(errno.ENOSPC, "No space left on device")


def test_images_that_are_too_large_are_not_decoded(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = toy / "toy/train/0/0.png"  # which is read first
    PIL.Image.new("1", (8200, 8200)).save(path)
    with monkeypatch.context() as patch:
        patch.setattr(PIL.Image.Image, "load", None)
        said = refusal(toy / ".")
    assert "0.png has 8200x8200 pixels, and at most 67108864 are read, as 8192x8192: save" in said
    for side in (9500, 20000):  # Pillow warns of the first, and refuses the second
        PIL.Image.new("1", (side, side)).save(path)
        said = refusal(toy)
        assert "0.png has " in said
        assert "67108864" in said
        assert "cannot read" not in said
    monkeypatch.setattr(large_arrays, "most_bytes", lambda: 20)
    monkeypatch.setattr("os.posix_fallocate", no_room)
    path.unlink()
    assert "more than a quarter of the memory" in refusal(toy)


@pytest.mark.parametrize("kind", ["EPS", "GIF", "PPM", "ICO", "TGA"])
def test_other_formats_are_not_decoded_under_the_name_of_one(kind: str, toy: Path) -> None:
    buffer = io.BytesIO()
    PIL.Image.new("L", (4, 4)).save(buffer, kind)
    (toy / "toy/train/0/b.png").write_bytes(buffer.getvalue())
    assert "cannot read" in refusal(toy)


def test_a_folder_that_cannot_be_listed_is_named(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(self: Path) -> Any:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "iterdir", denied)
    assert f"cannot read {toy}/toy/train (Permission denied)" in refusal(toy)


def test_limits_are_those_of_images_that_can_be_distilled() -> None:
    assert resizing.MAX_PIXELS == 4096**2
    assert resizing.MOST_READ == 8192**2


# --- JSON and paths ----------------------------------------------------------------------------


NO_OBJECTS = ["[1]", "1", "", "{", "[" * 10**5, '{"a":' * 10**5, "\ud800"]
NO_NUMBERS = ["NaN", "-Infinity", "1e999", "1" + "0" * 30, "9" * 5000]


@pytest.mark.parametrize("text", [*NO_OBJECTS, *(f'{{"a": {number}}}' for number in NO_NUMBERS)])
def test_json_that_is_no_object_of_finite_numbers_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        json_object(text)


def test_json_objects_are_read() -> None:
    assert json_object(b'{"a": [1, 2.5, null, true, "x"]}') == {"a": [1, 2.5, None, True, "x"]}


def test_home_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    assert user_path("~/x", "out_dir") == Path("/somewhere/x")
    with pytest.raises(InputError, match="--out_dir=~nobody-here/x: there is no such home folder"):
        user_path("~nobody-here/x", "out_dir")


@pytest.mark.parametrize(
    "text",
    [
        b'{"epsilon": 1, "epsilon": 8}',
        b'{"a": {"b": [{"c": 1, "c": 1}]}}',
        b"\xef\xbb\xbf{}",
        '{"a": 1}'.encode("utf-16"),
        b'{"a": "\xff"}',
        b'{"a": ' + b"9" * 10**5 + b"}",
        b'{"a": -9223372036854775808}',
        b'{"a": ' + b"[" * 10**5 + b"]" * 10**5 + b"}",
        b"{" + b" " * MOST_JSON_BYTES + b"}",
    ],
    ids=range(9),
)
def test_json_of_strangers_is_refused_in_one_short_line(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(text)
    with pytest.raises(ValueError, match=r".") as caught:
        json_file(tmp_path / "x.json")
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


def test_no_more_of_a_file_is_read_than_a_run_can_have_written(tmp_path: Path) -> None:
    with (tmp_path / "x.json").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(ValueError, match="larger than 16 MB"):
        json_file(tmp_path / "x.json")
