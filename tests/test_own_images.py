"""Runs on own images: of 16 bits, of mixed sizes, from class folders alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
from support import drivers

import jaxdp
from jaxdp.program.commands import dp_kip, dp_kip_teacher, dp_ntk, sample

TOY = (
    *("--features=rff", "--generator=dense", "--steps=1", "--batch_size=20"),
    *("--num_synthetic=20", "--evaluate=none", "--delta=1e-3", "--dataset=scans"),
)


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of 60 images of 16 bits and many sizes, without train and test."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    for number in range(60):
        path = folder / "scans" / "abc"[number % 3] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        size = (10 + number % 5, 12)
        PIL.Image.fromarray(rng.integers(0, 65536, size, dtype=np.uint16)).save(path)
    (folder / "scans/a/notes.txt").touch()
    return folder


def test_a_run_on_own_images_from_files_to_samples(
    scans: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, flags = tmp_path / "run", (*TOY, f"--data_dir={scans}")
    assert drivers.drive(dp_ntk.main, *flags, "--image_size=8x6", f"--out_dir={out}") == 0
    read, said = capsys.readouterr()
    assert read.startswith(
        "scans: 54 training images of 8x6 pixels, grey uint16; 3 classes (a, b, c); 6 "
    )
    assert "WARNING: left out, as they are no images in class folders: .txt 1\n" in said
    assert "0.1 of all images are held out for tests" in said
    with np.load(out / "synthetic.npz") as made:
        assert (made["x"].dtype, made["x"].shape) == (np.uint16, (20, 6, 8, 1))
        assert made["x"].max() > 255
    certificate = drivers.read(out, "privacy.json")
    assert any("8x6 pixels: each was resized to it by itself" in x for x in certificate["public"])
    assert certificate["preparation"] == drivers.read(out, "config.json")["preparation"]
    for path in out.rglob("*.json"):
        assert "left out" not in path.read_text()

    more = tmp_path / "more.npz"
    assert drivers.drive(sample.main, f"--run={out}", "--num=5", f"--out={more}") == 0
    with np.load(more) as drawn:
        assert (drawn["x"].dtype, drawn["x"].shape) == (np.uint16, (5, 6, 8, 1))
    old = json.loads((out / "generator/description.json").read_text())
    assert (old["dtype"], old["bytes"]) == ("uint16", False)

    drivers.assert_refused(
        dp_ntk.main, capsys, "--image_size=9: the run in", *flags, "--image_size=9", "--resume",
        out=out,
    )  # fmt: skip
    drivers.assert_refused(
        dp_ntk.main, capsys, "--image_size=8x6 resizes images to that", *flags, "--image_size=9",
        f"--embedding={out}/embedding.npz", out=tmp_path / "again",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--image_size=big",), "--image_size=big: give a side in pixels as 64"),
        (("--pixel_bits=17",), "--pixel_bits=17: must be at least 1, at most 16"),
        (("--pixel_bits=15",), "holds values outside [0, 32767]"),
        (("--test_fraction=1",), "--test_fraction=1.0: must be in (0, 1)"),
        (("--image_size=full",), "--image_size=64 resizes all images to 64x64"),
    ],
)
def test_bad_flags_about_images(
    scans: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    flags: tuple[str, ...],
    said: str,
) -> None:
    size = () if "--image_size" in flags[0] else ("--image_size=8",)
    given = (*TOY, f"--data_dir={scans}", *size, *flags)
    drivers.assert_refused(dp_ntk.main, capsys, said, *given, out=tmp_path / "run")


@pytest.mark.parametrize("flag", ["--image_size=8", "--pixel_bits=12"])
def test_flags_about_images_do_not_go_with_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    given = ("--csv=x.csv", "--schema=adult", flag)
    said = f"{flag}: is about images, --csv is a table"
    drivers.assert_refused(dp_ntk.main, capsys, said, *given, out=tmp_path / "run")


@pytest.mark.parametrize("main", [dp_ntk.main, dp_kip_teacher.main, dp_kip.main])
def test_images_of_four_channels_run_and_are_classified(
    main: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    arrays = {"class_names": np.array(["no", "yes"])}
    for split, count in (("train", 40), ("test", 8)):
        arrays[f"x_{split}"] = rng.integers(0, 256, (count, 8, 8, 4), dtype=np.uint8)
        arrays[f"y_{split}"] = np.arange(count) % 2
    np.savez(tmp_path / "fields.npz", **arrays)
    few = {
        dp_ntk.main: ("--features=rff", "--generator=dense", "--num_synthetic=20"),
        dp_kip_teacher.main: ("--distill_steps=1", "--whiten=0"),
        dp_kip.main: (),
    }[main]
    flags = (*few, "--steps=1", "--batch_size=20", "--delta=1e-3", "--dataset=fields")
    places = (f"--data_dir={tmp_path}", f"--out_dir={tmp_path}/run")
    assert drivers.drive(main, *flags, *places) == 0
    assert "40 training images of 8x8 pixels, 4 channels; 2 classes" in capsys.readouterr().out
    found = jaxdp.load(tmp_path / "run")
    assert found.predict(arrays["x_test"]).shape == (8,)
    picture = "samples.png" if main is dp_ntk.main else "distilled.png"
    with PIL.Image.open(tmp_path / "run" / picture) as shown:
        assert shown.mode == "RGB"
