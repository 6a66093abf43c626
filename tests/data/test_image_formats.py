"""Formats and depths of images: what is stored is what is read, to the bit."""

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
from toy_data import IMAGES, arrays, check_message, colour, save_image

from jaxdp.data import Codec
from jaxdp.program.data import image_file
from jaxdp.program.data.dataset import Dataset
from jaxdp.program.data.load import load_dataset, require_range
from jaxdp.program.data.sources import Wanted
from jaxdp.program.errors import InputError

DEEP = (np.arange(20, dtype=np.uint16) * 3449).reshape(4, 5)


def load(folder: Path, **wanted: Any) -> Dataset:
    return load_dataset("toy", data_dir=folder, download=False, wanted=Wanted(**wanted))


def beside(folder: Path, name: str) -> Path:
    """Return a place for the first image of class a; each split has one of class b."""
    for split in ("train", "test"):
        (folder / "toy" / split / "a").mkdir(parents=True)
        save_image(folder / "toy" / split / "b/z.png", IMAGES[0])
    return folder / "toy/train/a" / name


@pytest.mark.parametrize("suffix", ["tif", "TIFF", "bmp", "BMP", "png"])
@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "P", "1"])
def test_formats_without_loss(tmp_path: Path, suffix: str, mode: str) -> None:
    image = PIL.Image.fromarray(colour(90)).convert(mode)
    if suffix.lower() == "bmp" and mode == "RGBA":
        image.putalpha(77)
    white = PIL.Image.new("RGBA", image.size, "white")
    # Pillow reads no alpha of a BMP.
    see_through = mode == "RGBA" and suffix.lower() != "bmp"
    seen = PIL.Image.alpha_composite(white, image) if see_through else image
    expected = np.asarray(seen.convert("L" if mode in "L1" else "RGB"))
    for split in ("train", "test"):
        for label in "ab":
            path = tmp_path / "toy" / split / label / f"x.{suffix}"
            path.parent.mkdir(parents=True)
            image.save(path)
    found = load(tmp_path)
    assert found.private.x.dtype == np.uint8
    np.testing.assert_array_equal(np.squeeze(found.private.x[0]), expected)


def test_webp_is_read(tmp_path: Path) -> None:
    path = beside(tmp_path, "x.webp")
    PIL.Image.fromarray(IMAGES[1]).convert("RGB").save(path, lossless=True)
    image = image_file.read("toy", path)
    np.testing.assert_array_equal(image.pixels, np.repeat(IMAGES[1][..., None], 3, axis=2))
    moving = path.with_name("y.webp")
    frames = [PIL.Image.fromarray(each).convert("RGB") for each in IMAGES[1:3]]
    frames[0].save(moving, save_all=True, append_images=frames[1:], lossless=True)
    with pytest.raises(InputError, match="holds several pages"):
        image_file.read("toy", moving)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "L", "RGB"])
def test_what_is_transparent_is_white(tmp_path: Path, mode: str) -> None:
    """Black ink on no ground, however a file says so, is black ink on white."""
    ink = np.zeros((6, 5), np.uint8)
    alpha = np.zeros((6, 5), np.uint8)
    alpha[2:4, 1:3] = 255
    path, key = tmp_path / "x.png", {}
    if mode in ("L", "RGB", "P"):  # one colour is the transparent one
        pixels = np.where(alpha > 0, 0, 7).astype(np.uint8)
        image = PIL.Image.fromarray(pixels)
        if mode == "P":
            image.putpalette([value for grey in range(256) for value in (grey, grey, grey)])
        image = image if mode == "P" else image.convert(mode)
        key = {"transparency": (7, 7, 7) if mode == "RGB" else 7}
    else:
        image = PIL.Image.fromarray(np.stack([ink, alpha], axis=2), "LA").convert(mode)
    image.save(path, **key)
    found = image_file.read("toy", path).pixels
    expected = np.repeat(np.where(alpha > 0, 0, 255)[..., None], found.shape[2], axis=2)
    np.testing.assert_array_equal(found, expected)
    half = PIL.Image.new("RGBA", (2, 2), (0, 0, 0, 128))
    half.save(path)
    assert set(np.unique(image_file.read("toy", path).pixels)) == {127}


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["png", "jpg", "tif", "webp"])
def test_images_are_upright_as_the_camera_says(
    tmp_path: Path, orientation: int, suffix: str
) -> None:
    upright = PIL.Image.fromarray(np.kron(IMAGES[0][:2, :3], np.ones((8, 8))).astype(np.uint8))
    transpose = PIL.Image.Transpose
    stored = {
        1: (),
        2: (transpose.FLIP_LEFT_RIGHT,),
        3: (transpose.ROTATE_180,),
        4: (transpose.FLIP_TOP_BOTTOM,),
        5: (transpose.TRANSPOSE,),
        6: (transpose.ROTATE_90,),
        7: (transpose.TRANSVERSE,),
        8: (transpose.ROTATE_270,),
    }[orientation]
    image = upright
    for each in stored:
        image = image.transpose(each)
    exif = PIL.Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / f"x.{suffix}"
    image.save(path, exif=exif, **({"lossless": True} if suffix == "webp" else {}))
    found = image_file.read("toy", path).pixels[..., 0].astype(int)
    assert np.abs(found - np.asarray(upright).astype(int)).max() <= (12 if suffix == "jpg" else 0)


@pytest.mark.parametrize("channels", [1, 3])
def test_images_of_a_mixed_folder_are_brought_to_one_kind(tmp_path: Path, channels: int) -> None:
    path = beside(tmp_path, "x.png")
    save_image(path, colour(90))
    save_image(tmp_path / "toy/test/a/x.png", colour(9))
    with pytest.raises(InputError, match="--channels=1 makes all grey, 3 RGB"):
        load(tmp_path)
    found = load(tmp_path, channels=channels).private.x
    assert found.shape == (2, 4, 5, channels)
    if channels == 3:
        np.testing.assert_array_equal(found[0], colour(90))
        np.testing.assert_array_equal(found[1], np.repeat(IMAGES[0][..., None], 3, axis=2))
    else:
        expected = np.asarray(PIL.Image.fromarray(colour(90)).convert("L"))
        assert np.abs(found[0, ..., 0].astype(int) - expected).max() <= 1
        np.testing.assert_array_equal(found[1, ..., 0], IMAGES[0])


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_images_of_16_bits_are_read_without_loss(tmp_path: Path, suffix: str) -> None:
    for split in ("train", "test"):
        for label in "ab":
            save_image(tmp_path / "toy" / split / label / f"x.{suffix}", DEEP)
    found = load(tmp_path)
    assert found.private.x.dtype == np.uint16
    np.testing.assert_array_equal(found.private.x[1, ..., 0], DEEP)
    expected = Codec(shift=32767.5, scale=32767.5, low=0.0, high=65535.0, dtype="uint16")
    assert found.spec.codec == expected
    require_range(found)


def test_big_endian_tiffs_of_16_bits(tmp_path: Path) -> None:
    for split in ("train", "test"):
        for label in "ab":
            path = tmp_path / "toy" / split / label / "x.tif"
            path.parent.mkdir(parents=True)
            image = PIL.Image.frombytes("I;16B", (5, 4), DEEP.astype(">u2").tobytes())
            image.save(path)
            assert path.read_bytes()[:2] == b"MM"
    np.testing.assert_array_equal(load(tmp_path).private.x[0, ..., 0], DEEP)


def test_depths_are_not_mixed(tmp_path: Path) -> None:
    save_image(beside(tmp_path, "a.png"), DEEP)
    with pytest.raises(InputError) as caught:
        load(tmp_path)
    check_message(
        caught.value, "toy", "z.png is 5x4 grey but", "a.png is 5x4 grey of values 0 to 65535",
        "save those of 16 bits with 8",
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["F", "I"])
def test_other_depths_are_refused(tmp_path: Path, mode: str) -> None:
    save_image(beside(tmp_path, "a.tif"), IMAGES[1], mode)
    with pytest.raises(InputError) as caught:
        load(tmp_path)
    check_message(caught.value, "toy", f"a/a.tif has mode {mode}", "8-bit or 16-bit grey, or to")


def test_several_pages_are_refused(tmp_path: Path) -> None:
    pages = [PIL.Image.fromarray(each) for each in IMAGES]
    pages[0].save(beside(tmp_path, "a.tif"), save_all=True, append_images=pages[1:])
    with pytest.raises(InputError) as caught:
        load(tmp_path)
    check_message(caught.value, "toy", "a/a.tif holds several pages", "an image of its own")


def test_a_format_by_another_name_is_no_image(tmp_path: Path) -> None:
    PIL.Image.fromarray(IMAGES[0]).save(beside(tmp_path, "a.png"), "GIF")
    with pytest.raises(InputError) as caught:
        load(tmp_path)
    check_message(caught.value, "toy", "cannot read", "a/a.png", "replace or remove")


@pytest.mark.parametrize("dtype", [np.uint16, ">u2"])
def test_npz_of_16_bits(tmp_path: Path, dtype: Any) -> None:
    x = np.stack([DEEP] * 6).astype(dtype)
    np.savez(tmp_path / "toy.npz", **arrays(x_train=x[:4], x_test=x[4:]))
    found = load(tmp_path)
    assert found.spec.codec.dtype == np.dtype(dtype).name
    assert found.spec.codec.kernel_range == (-1, 1)
    np.testing.assert_array_equal(found.private.x[..., 0], x[:4])


def test_known_names_have_constants_of_bytes_alone(tmp_path: Path) -> None:
    x = np.stack([DEEP] * 6)
    np.savez(tmp_path / "mnist.npz", **arrays(x_train=x[:4], x_test=x[4:]))
    found = load_dataset("mnist", data_dir=tmp_path)
    assert (found.spec.codec.dtype, found.spec.codec.high) == ("uint16", 65535)


def test_bits_in_use_declare_the_range(tmp_path: Path) -> None:
    x = np.stack([DEEP % 4096] * 6)
    np.savez(tmp_path / "toy.npz", **arrays(x_train=x[:4], x_test=x[4:]))
    codec = load(tmp_path, bits=12).spec.codec
    assert (codec.low, codec.high) == (0, 4095)
    with pytest.raises(InputError) as caught:
        load(tmp_path, bits=11)
    check_message(caught.value, "toy", "outside [0, 2047]", "raise --pixel_bits")
    np.savez(tmp_path / "toy.npz", **arrays())
    with pytest.raises(InputError) as caught:
        load(tmp_path, bits=12)
    check_message(caught.value, "toy", "holds values of uint8", "leave --pixel_bits=12 out")


@pytest.mark.parametrize("dtype", ["<i2", ">i2"])
def test_signed_npz_needs_the_bits_in_use(tmp_path: Path, dtype: str) -> None:
    """By the range of the type a CT of -1024 to 3071 would be of one grey."""
    x = np.stack([(DEEP % 4096).astype(np.int16) - 1024] * 6).astype(dtype)
    np.savez(tmp_path / "toy.npz", **arrays(x_train=x[:4], x_test=x[4:]))
    with pytest.raises(InputError) as caught:
        load(tmp_path)
    check_message(caught.value, "toy", "values of int16", "--pixel_bits=13 for -4096 to 4095")
    found = load(tmp_path, bits=13)
    codec = found.spec.codec
    assert (codec.low, codec.high, codec.dtype) == (-4096, 4095, "int16")
    np.testing.assert_array_equal(found.private.x[..., 0], x[:4])
    with pytest.raises(InputError) as caught:
        load(tmp_path, bits=12)
    check_message(caught.value, "toy", "outside [-2048, 2047]", "raise --pixel_bits")
    assert "leave it out" not in str(caught.value)


def test_guarantee_the_range_of_16_bits_is_that_of_the_type(tmp_path: Path) -> None:
    """Whatever the images are: a range that was read off them would tell of them."""
    codecs = []
    for high in (1, 900, 65535):
        x = np.full((6, 4, 5), high, np.uint16)
        np.savez(tmp_path / "toy.npz", **arrays(x_train=x[:4], x_test=x[4:]))
        codecs.append(load(tmp_path).spec.codec)
    assert codecs[0] == codecs[1] == codecs[2]


# --- DICOM -------------------------------------------------------------------------------------


def save_dicom(path: Path, pixels: np.ndarray, *, bits: int, **header: Any) -> None:
    """Write a DICOM file as a scanner does."""
    pydicom = pytest.importorskip("pydicom")
    from pydicom.dataset import FileDataset, FileMetaDataset

    meta = FileMetaDataset()
    meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.7"
    meta.MediaStorageSOPInstanceUID = "1.2.3"
    stored = FileDataset(str(path), {}, file_meta=meta, preamble=bytes(128))
    stored.Rows, stored.Columns = pixels.shape[:2]
    stored.SamplesPerPixel = 1 if pixels.ndim == 2 else 3
    stored.PhotometricInterpretation = "MONOCHROME2" if pixels.ndim == 2 else "RGB"
    stored.BitsAllocated, stored.BitsStored, stored.HighBit = 8 * pixels.itemsize, bits, bits - 1
    stored.PixelRepresentation = int(pixels.dtype.kind == "i")
    if pixels.ndim == 3:
        stored.PlanarConfiguration = 0
    for name, value in header.items():
        setattr(stored, name, value)
    stored.PixelData = pixels.tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    stored.save_as(path, enforce_file_format=True)


def dicom_folder(folder: Path, pixels: np.ndarray, *, bits: int, **header: Any) -> Path:
    for split in ("train", "test"):
        for label in "ab":
            save_dicom(folder / f"toy/{split}/{label}/x.dcm", pixels, bits=bits, **header)
    return folder


CASES = {
    "12 bits": (DEEP % 4096, 12, "uint16", 0, 4095),
    "16 bits": (DEEP, 16, "uint16", 0, 65535),
    "signed": (DEEP.astype(np.int32).astype(np.int16), 16, "int16", -32768, 32767),
    "signed of 12 bits": ((DEEP % 4096).astype(np.int16) - 2048, 12, "int16", -2048, 2047),
    "8 bits": (IMAGES[1], 8, "uint8", 0, 255),
    "colour": (colour(9), 8, "uint8", 0, 255),
}


@pytest.mark.parametrize("case", CASES)
def test_dicom_is_read_without_loss_in_the_range_of_its_bits(tmp_path: Path, case: str) -> None:
    pixels, bits, dtype, low, high = CASES[case]
    found = load(dicom_folder(tmp_path, pixels, bits=bits))
    assert found.private.x.dtype == found.spec.codec.dtype == dtype
    assert (found.spec.codec.low, found.spec.codec.high) == (low, high)
    np.testing.assert_array_equal(np.squeeze(found.private.x[0]), pixels)
    require_range(found)


@pytest.mark.parametrize("case", ["16 bits", "signed of 12 bits"])
def test_dicom_of_several_ranges_is_refused_with_what_to_do(tmp_path: Path, case: str) -> None:
    pixels, bits, *_ = CASES["12 bits"]
    dicom_folder(tmp_path, pixels, bits=bits)
    other, bits, *_ = CASES[case]
    save_dicom(tmp_path / "toy/train/b/y.dcm", other, bits=bits)
    with pytest.raises(InputError, match=r"y\.dcm is .*one range of values; save all anew, as PNG"):
        load(tmp_path)


def test_black_is_the_least_value_of_inverted_dicom(tmp_path: Path) -> None:
    inverted = dicom_folder(tmp_path, DEEP % 4096, bits=12, PhotometricInterpretation="MONOCHROME1")
    np.testing.assert_array_equal(load(inverted).private.x[0, ..., 0], 4095 - DEEP % 4096)


BAD_DICOM = {
    "frames": ({"NumberOfFrames": 2}, "holds several frames"),
    "palette": ({"PhotometricInterpretation": "PALETTE COLOR"}, "holds PALETTE COLOR of 16 bits"),
    "no size": ({"Rows": None}, "cannot read"),
    "a bomb": ({"Rows": 60000, "Columns": 60000}, "has 60000x60000 pixels, and at most 67108864"),
    "too short": ({"Rows": 400}, "cannot read"),
}


@pytest.mark.parametrize("case", BAD_DICOM)
def test_dicom_that_cannot_be_used(tmp_path: Path, case: str) -> None:
    header, said = BAD_DICOM[case]
    with pytest.raises(InputError) as caught:
        load(dicom_folder(tmp_path, DEEP, bits=16, **header))
    check_message(caught.value, "toy", "train/a/x.dcm", said)


def test_dicom_that_needs_a_decoder_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pydicom = pytest.importorskip("pydicom")
    decoders = pytest.importorskip("pydicom.pixels")
    path = tmp_path / "x.dcm"
    save_dicom(path, DEEP, bits=16)
    stored = pydicom.dcmread(path)
    stored.file_meta.TransferSyntaxUID = pydicom.uid.JPEGLSLossless
    stored.PixelData = pydicom.encaps.encapsulate([b"jpeg-ls."])
    stored["PixelData"].is_undefined_length = True
    stored.save_as(path)
    missing = types.SimpleNamespace(is_available=False)
    monkeypatch.setattr(decoders, "get_decoder", lambda syntax: missing)
    with pytest.raises(InputError, match=r"JPEG-LS.*needs another package: pip install pylibjpeg"):
        image_file.read("toy", path)


@pytest.mark.parametrize("content", [b"", b"DICM", bytes(128) + b"DICM", b"\x08\0" * 200])
def test_what_is_no_dicom_is_refused(tmp_path: Path, content: bytes) -> None:
    pytest.importorskip("pydicom")
    beside(tmp_path, "a.dcm").write_bytes(content)
    with pytest.raises(InputError) as caught:
        load(tmp_path)
    check_message(caught.value, "toy", "cannot read", "a/a.dcm", "replace or remove")


def test_dicom_names_its_extra_where_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pydicom", None)
    beside(tmp_path, "a.dcm").write_bytes(b"")
    with pytest.raises(InputError) as caught:
        load(tmp_path)
    check_message(
        caught.value, "toy", "a/a.dcm is DICOM", "pip install 'jaxdp-toolkit[dicom]'"
    )  # fmt: skip
