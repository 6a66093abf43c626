"""Exports hold what was made, in the forms of others, with the certificate; or they are not."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from absl.testing import flagsaver
from PIL import Image
from support import saved_folders
from support.public_releases import everything_in

import jaxdp
from jaxdp.data import Spec
from jaxdp.privacy.ledger import Ledger
from jaxdp.program import command_line
from jaxdp.program.commands import export, pack
from jaxdp.program.exports import out_folder
from jaxdp.program.exports.names import folder_names, quoted
from jaxdp.tables import frames
from jaxdp.tables.schema import Schema


def run(*arguments: str) -> int:
    """Run the program in this process; return its exit code."""
    with flagsaver.flagsaver():
        try:
            export.main(command_line.parse(["export", *arguments]))
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def exported(folder: Path, form: str) -> Path:
    out = folder.with_name(f"{folder.name}_{form}")
    assert run(f"--run={folder}", f"--format={form}", f"--out={out}") == 0
    return out


def pixels_in(folder: Path) -> dict[int, np.ndarray]:
    """Return images by the numbers that their files have."""
    return {int(path.stem): np.asarray(Image.open(path)) for path in folder.rglob("*.png")}


def loaded(folder: Path) -> Any:
    return jaxdp.load(folder)


# --- Images --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["png", "huggingface"])
@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({}, np.uint8),
        ({"shape": (4, 5, 3)}, np.uint8),
        ({"shape": (4, 5, 4)}, np.uint8),
        ({"dtype": "uint16", "high": 65535}, np.uint16),
    ],
)
def test_pixels_are_kept_to_the_last_bit(
    form: str, options: dict[str, Any], kind: type, tmp_path: Path
) -> None:
    folder = saved_folders.images(tmp_path / "run", **options)
    found, made = pixels_in(exported(folder, form)), loaded(folder)
    assert sorted(found) == list(range(12))
    for number, image in found.items():
        assert image.dtype == kind
        np.testing.assert_array_equal(image, made.x[number].squeeze())


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({"high": 16}, 255),
        ({"dtype": "float32", "low": -1, "high": 1}, 255),
        ({"dtype": "uint16", "high": 4095}, 65535),
        ({"dtype": "int16", "low": -2048, "high": 2047}, 65535),
        ({"dtype": "uint16", "high": 65535, "shape": (4, 5, 3)}, 255),
    ],
)
def test_other_scales_are_brought_to_black_and_white(
    options: dict[str, Any], most: int, tmp_path: Path
) -> None:
    folder = saved_folders.images(tmp_path / "run", **options)
    out, made = exported(folder, "png"), loaded(folder)
    codec = made.spec.codec
    for number, image in pixels_in(out).items():
        unit = (made.x[number].astype(np.float64) - codec.low) / (codec.high - codec.low)
        np.testing.assert_allclose(image, most * unit.squeeze(), atol=0.51)
    said = f"0 stands for {codec.low:g} in the data, {most} for {codec.high:g}."
    assert said in (out / "README.md").read_text()


def test_what_goes_beyond_the_range_is_cut_and_said(tmp_path: Path) -> None:
    folder = saved_folders.distilled(tmp_path / "run")
    out = exported(folder, "png")
    assert pixels_in(out)[0].min() == 0
    assert "Values beyond were cut in 2 of 3 images" in (out / "README.md").read_text()
    with np.load(exported(folder, "torch") / "data.npz") as data:
        np.testing.assert_allclose([data["x"].min(), data["x"].max()], [-0.25, 1.25], rtol=1e-6)


def test_an_image_folder_is_ordered_by_class(tmp_path: Path) -> None:
    names = ("a/b", "con", "a:b")
    out = exported(saved_folders.images(tmp_path / "run", names=names), "png")
    with (out / "classes.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [line["class"] for line in lines] == list(names)
    assert [line["folder"] for line in lines] == ["a_b", "class_1", "a_b_2"]
    for line in lines:
        numbers = {int(path.stem) for path in (out / "images" / line["folder"]).iterdir()}
        assert numbers == {n for n in range(12) if n % 3 == int(line["label"])}
    assert {path.name for path in (out / "images").iterdir()} == {"a_b", "class_1", "a_b_2"}
    assert {path.name for path in out.iterdir()} == {
        *("README.md", "SHA256SUMS", "classes.csv", "config.json", "images", "privacy.json"),
        "synthetic.npz",
    }


def test_hugging_face_finds_labels_and_splits(tmp_path: Path) -> None:
    names = ('7 "x"', "8", "9")
    out = exported(saved_folders.images(tmp_path / "run", names=names), "huggingface")
    frame = pd.read_csv(out / "train" / "metadata.csv")
    assert list(frame.columns) == ["file_name", "label", "class"]
    for line in frame.itertuples():
        assert (out / "train" / line.file_name).is_file()
        assert line.label == int(Path(line.file_name).stem) % 3
        assert str(line._3) == names[line.label]
    yaml = pytest.importorskip("yaml")
    text = (out / "README.md").read_text()
    front = yaml.safe_load(text.split("---\n")[1])
    assert front["configs"] == [
        {"config_name": "default", "data_files": [{"split": "train", "path": "train/**"}]}
    ]
    assert front["pretty_name"] == "scans, synthetic"
    assert front["size_categories"] == ["n<1K"]
    assert f"names = {list(names)!r}" in text


@pytest.mark.parametrize(("form", "images"), [("png", "images"), ("huggingface", "train")])
def test_a_class_without_images_has_no_folder(form: str, images: str, tmp_path: Path) -> None:
    """torchvision's ImageFolder refuses a folder without images."""
    spec = Spec.images("scans", (90, 4, 5, 1), class_names=("a", "b", "c"))
    x, y = np.zeros((4, 4, 5, 1), np.uint8), np.array([0, 2, 2, 0], np.int32)
    arrays = {"x": x, "y": y, "class_names": np.array(spec.class_names)}
    folder = saved_folders.write(tmp_path / "run", "synthetic", spec, arrays)
    out = exported(folder, form)
    assert {path.name for path in (out / images).iterdir() if path.is_dir()} == {"a", "c"}
    if form == "png":
        assert (out / "classes.csv").read_text().splitlines()[2] == "1,b,b"
        assert "A class without images has no folder" in (out / "README.md").read_text()


@pytest.mark.parametrize("deep", [True, False])
def test_the_card_of_an_image_folder_reads_all_bits(
    deep: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code of the card is run beside torchvision's folder of images, which calls a loader."""
    asked: dict[str, Any] = {}
    datasets = types.SimpleNamespace(ImageFolder=lambda root, **more: asked.update(more))
    module = types.SimpleNamespace(datasets=datasets)
    monkeypatch.setitem(sys.modules, "torchvision", module)
    options: dict[str, Any] = {"dtype": "uint16", "high": 65535} if deep else {}
    folder = saved_folders.images(tmp_path / "run", **options)
    out = exported(folder, "png")
    card = (out / "README.md").read_text()
    (code,) = re.findall(r"```python\n([^`]*ImageFolder[^`]*)```", card)
    exec(code, {})
    if not deep:
        assert not asked, "its own loader is right for 8 bits"
        return
    made = loaded(folder)
    for path in (out / "images").rglob("*.png"):
        expected = made.x[int(path.stem)] / 65535
        np.testing.assert_allclose(asked["loader"](path), expected, rtol=1e-6)


def test_images_of_no_classes_have_no_labels(tmp_path: Path) -> None:
    folder = saved_folders.unlabelled(tmp_path / "run")
    out = exported(folder, "huggingface")
    header, *lines = (out / "train" / "metadata.csv").read_text().splitlines()
    assert (header, lines[0]) == ("file_name", "all/00000.png")
    assert "ClassLabel" not in (out / "README.md").read_text()
    assert len(pixels_in(exported(folder, "png"))) == 3


# --- Arrays and tables ---------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4, 5, 1), (4, 5, 3), (4, 5, 2)])
def test_arrays_for_torch_are_channels_first_and_in_the_unit_range(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    folder = saved_folders.images(tmp_path / "run", shape=shape)
    made = loaded(folder)
    with np.load(exported(folder, "torch") / "data.npz", allow_pickle=False) as data:
        assert (data["x"].dtype, data["y"].dtype) == (np.float32, np.int64)
        assert data["x"].shape == (12, shape[2], 4, 5)
        expected = made.x.astype(np.float64).transpose(0, 3, 1, 2) / 255
        np.testing.assert_allclose(data["x"], expected, rtol=1e-6)
        np.testing.assert_array_equal(data["y"], made.y)
        assert tuple(data["class_names"]) == made.class_names


def test_labels_that_were_learnt_are_there(tmp_path: Path) -> None:
    folder = saved_folders.distilled(tmp_path / "run")
    made = loaded(folder)
    scores = np.linspace(-1, 1, 9).reshape(3, 3)
    soft = np.eye(3)
    arrays = made.made.arrays | {"y_scores": scores, "y_soft": soft}
    saved_folders.write(folder, "distilled", made.spec, arrays, options=made.folder.config)
    with np.load(exported(folder, "torch") / "data.npz") as data:
        np.testing.assert_allclose(data["y_scores"], scores, rtol=1e-6)
        np.testing.assert_array_equal(data["y_soft"], soft)


def test_tables_are_csv_or_one_hot(tmp_path: Path) -> None:
    folder = saved_folders.table(tmp_path / "run")
    made = loaded(folder)
    frame = pd.read_csv(exported(folder, "huggingface") / "data.csv", keep_default_na=False)
    assert list(frame.columns) == list(made.frame.columns)
    assert list(frame["ill"]) == list(made.frame["ill"])
    np.testing.assert_allclose(frame["income"], made.frame["income"])
    out = exported(folder, "torch")
    with np.load(out / "data.npz") as data:
        spec = made.spec.in_form("one_hot")
        np.testing.assert_allclose(data["x"], spec.codec.to_unit(made.x), rtol=1e-6)
        assert len(data["columns"]) == data["x"].shape[1]
        stage = data["x"][:, data["columns"] == "stage"]
        np.testing.assert_array_equal(stage.argmax(1), frame["stage"].map(len) - 1)
    assert "categories one-hot" in (out / "README.md").read_text()


def test_a_table_for_hugging_face_is_plain_csv_whatever_the_schemas_dialect(
    tmp_path: Path,
) -> None:
    number = {"type": "numeric", "lower": 0, "upper": 9999, "nullable": True}
    schema = Schema.from_json(
        {
            "columns": {
                "pay": {**number, "decimal": ",", "thousands": ".", "suffix": " EUR"},
                "weight": {**number, "decimals": 1},
                "seen": {"type": "date", "format": "%d.%m.%Y", "lower": "01.01.2020",
                         "upper": "31.12.2020"},
                "ill": {"type": "categorical", "categories": ["no;", "yes"], "target": True},
            },
            "missing": ["?"],
            "csv": {"separator": ";", "decimal": ",", "header": False, "encoding": "latin-1"},
        }
    )  # fmt: skip
    spec = Spec.table("people", schema, 90)
    frame = pd.DataFrame(
        {
            "pay": [1234.5, 0.25, None],
            "weight": [60.5, None, 70.1],
            "seen": ["02.03.2020", "04.05.2020", "31.12.2020"],
            "ill": ["no;", "yes", "yes"],
        }
    )
    x, y = frames.encode(frame, schema)
    arrays = {"x": x, "y": y, "class_names": np.array(spec.class_names)}
    folder = saved_folders.write(tmp_path / "run", "synthetic", spec, arrays)
    found = pd.read_csv(exported(folder, "huggingface") / "data.csv")
    assert list(found.columns) == list(frame.columns)
    np.testing.assert_allclose(found["pay"], frame["pay"], rtol=1e-5)
    np.testing.assert_allclose(found["weight"], frame["weight"], rtol=1e-5)
    assert (list(found["seen"]), list(found["ill"])) == (list(frame["seen"]), list(frame["ill"]))
    in_dialect = (exported(folder, "csv") / "data.csv").read_bytes().splitlines()[0]
    assert in_dialect.startswith(b"1.234,5"), "the other form is as the schema says"


def test_tables_are_plain_csv_in_the_dialect_of_the_schema(tmp_path: Path) -> None:
    folder = saved_folders.table(tmp_path / "run")
    frame = pd.read_csv(exported(folder, "csv") / "data.csv", keep_default_na=False)
    assert list(frame.columns) == list(loaded(folder).frame.columns)
    assert list(frame["ill"]) == list(loaded(folder).frame["ill"])
    rows = saved_folders.rows(tmp_path / "rows")
    frame = pd.read_csv(exported(rows, "csv") / "data.csv")
    assert list(frame.columns) == ["x0", "x1", "label", "class"]
    np.testing.assert_allclose(frame[["x0", "x1"]], loaded(rows).x, rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "form"),
    [
        (saved_folders.images, "png"),
        (saved_folders.images, "torch"),
        (saved_folders.images, "huggingface"),
        (saved_folders.distilled, "png"),
        (saved_folders.distilled, "torch"),
        (saved_folders.table, "csv"),
        (saved_folders.table, "torch"),
        (saved_folders.table, "huggingface"),
        (saved_folders.rows, "csv"),
        (saved_folders.rows, "huggingface"),
    ],
)
def test_an_export_is_loaded_used_and_packed_as_the_run_is(
    make: Callable[[Path], Path], form: str, tmp_path: Path
) -> None:
    folder = make(tmp_path / "run")
    out, whole = exported(folder, form), loaded(folder)
    found = loaded(out)
    np.testing.assert_array_equal(found.x, whole.x)
    np.testing.assert_array_equal(found.predict(found.x), whole.predict(whole.x))
    with flagsaver.flagsaver():
        pack.main(command_line.parse(["pack", str(out), f"--out={tmp_path / 'a'}"], takes="run"))
    np.testing.assert_array_equal(loaded(tmp_path / "a.zip").predict_proba(found.x[:2]),
                                  whole.predict_proba(whole.x[:2]))  # fmt: skip
    again = tmp_path / "again"
    arguments = (f"--run={tmp_path / 'a.zip'}", f"--format={form}", f"--out={again}")
    assert run(*arguments) == 0
    assert everything_in(again) == everything_in(out)


@pytest.mark.parametrize("name", ["config.json", "synthetic.npz", "data.npz"])
def test_guarantee_a_changed_file_of_an_export_is_not_loaded(name: str, tmp_path: Path) -> None:
    out = exported(saved_folders.images(tmp_path / "run"), "torch")
    (out / name).write_bytes((out / name).read_bytes() + b" ")
    with pytest.raises(jaxdp.SettingsError, match=rf"{name} is not the file that"):
        loaded(out)
    (out / "SHA256SUMS").unlink()
    with pytest.raises(jaxdp.SettingsError, match="SHA256SUMS cannot be read"):
        loaded(out)


def test_guarantee_only_what_is_listed_is_believed_by_commands_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands do not hash every picture, but the settings by which they classify."""
    out = exported(saved_folders.images(tmp_path / "run"), "png")
    saved_folders.changed(out / "config.json", seed=3)
    assert run(f"--run={out}", "--format=torch", f"--out={tmp_path / 'x'}") == 2
    assert "config.json is not the file that SHA256SUMS lists" in capsys.readouterr().err


def test_rows_are_numbered_columns(tmp_path: Path) -> None:
    folder = saved_folders.rows(tmp_path / "run")
    frame = pd.read_csv(exported(folder, "huggingface") / "data.csv")
    assert list(frame.columns) == ["x0", "x1", "label", "class"]
    np.testing.assert_allclose(frame[["x0", "x1"]], loaded(folder).x, rtol=1e-6)
    with np.load(exported(folder, "torch") / "data.npz") as data:
        np.testing.assert_allclose(data["x"], (loaded(folder).x + 1) / 2, rtol=1e-6)


# --- What every export has -----------------------------------------------------------------------


@pytest.mark.parametrize("form", ["png", "torch", "huggingface"])
def test_guarantee_every_export_has_the_certificate(form: str, tmp_path: Path) -> None:
    folder = saved_folders.images(tmp_path / "run")
    out, certificate = exported(folder, form), loaded(folder).certificate
    facts = json.loads((out / "privacy.json").read_text())
    assert facts.pop("exported") == {"format": form, "of": "synthetic.npz"}
    assert facts["sha256"].pop("SHA256SUMS")
    assert facts == json.loads(certificate.to_json())
    text = (out / "README.md").read_text()
    assert certificate.promise.replace("one image or one row", "one image") in text
    assert f"**{certificate.facts['verdict']}**" in text
    assert text.startswith("---\n") == (form == "huggingface")
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        compile(block, form, "exec")
    assert out.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("form", ["png", "torch", "huggingface"])
def test_guarantee_an_export_holds_nothing_that_must_stay(form: str, tmp_path: Path) -> None:
    """Test scores, pages with them and notes of the user are in a run's folder, too."""
    folder = saved_folders.images(tmp_path / "run")
    expected = everything_in(exported(folder, form))
    for name in ("metrics.json", "report.html", "released.json", "notes.txt", "copies.json"):
        (folder / name).write_text("must stay")
    (folder / "checkpoints").mkdir()
    (folder / "checkpoints" / "state").write_text("must stay")
    again = tmp_path / "again"
    assert run(f"--run={folder}", f"--format={form}", f"--out={again}") == 0
    assert everything_in(again) == expected


@pytest.mark.parametrize("form", ["png", "torch", "huggingface"])
def test_guarantee_what_must_not_be_released_is_not_exported(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved_folders.images(tmp_path / "run", stddev=0.0)
    assert_refused(capsys, folder, "MUST NOT BE RELEASED: no noise was added", form=form)


def test_guarantee_what_is_private_and_must_stay_is_not_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise of a seed has an epsilon, and whoever guesses the seed takes it off."""
    plain = saved_folders.ledger_of

    def seeded(spec: Spec, *, stddev: float) -> Ledger:
        return dataclasses.replace(plain(spec, stddev=stddev), seeded_noise=True)

    monkeypatch.setattr(saved_folders, "ledger_of", seeded)
    folder = saved_folders.images(tmp_path / "run")
    assert loaded(folder).certificate.epsilon < 100
    assert_refused(capsys, folder, "MUST NOT BE RELEASED")


def test_guarantee_files_that_the_certificate_is_not_about_are_not_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved_folders.images(tmp_path / "run")
    path = folder / "synthetic.npz"
    path.write_bytes(path.read_bytes() + b"x")
    assert_refused(capsys, folder, "synthetic.npz is not the file that privacy.json is about")
    path.unlink()
    assert_refused(capsys, folder, "holds neither distilled.npz nor synthetic.npz")


def assert_refused(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    said: str,
    *,
    form: str = "png",
    out: Path | None = None,
) -> None:
    """Check for one line, and that nothing was written beside the run."""
    out = out or folder.with_name("out")
    before = sorted(folder.parent.rglob("*"))
    capsys.readouterr()
    assert run(f"--run={folder}", f"--format={form}", f"--out={out}") == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ")
    assert told.err.count("\n") == 1
    assert said in told.err
    assert sorted(folder.parent.rglob("*")) == before


def test_places_that_are_taken_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved_folders.images(tmp_path / "run")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").touch()
    (tmp_path / "file").touch()
    for name, said in (
        ("full", "full: the folder is not empty"),
        ("file", "file: is a file; name a folder"),
        ("file/x", "cannot be"),
    ):
        assert_refused(capsys, folder, said, out=tmp_path / name)
    (tmp_path / "empty").mkdir()
    arguments = (f"--run={folder}", "--format=torch", f"--out={tmp_path / 'empty'}")
    assert run(*arguments) == 0
    assert (tmp_path / "empty" / "data.npz").is_file()


def test_forms_that_do_not_fit_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = saved_folders.table(tmp_path / "table")
    assert_refused(capsys, table, "--format=png: the run is of a table; take")
    rows = saved_folders.rows(tmp_path / "rows")
    assert_refused(capsys, rows, "--format=png: the run is of rows of numbers; take")
    assert_refused(capsys, saved_folders.images(tmp_path / "run"), "--format=csv", form="csv")
    two = saved_folders.images(tmp_path / "two", shape=(4, 5, 2))
    assert_refused(capsys, two, "2 channels, and PNG has 1, 3 or 4; take --format=torch")
    assert_refused(capsys, two, "--format=gif", form="gif")
    assert_refused(capsys, tmp_path / "nowhere", "has no privacy.json")
    for missing in ((f"--run={two}", "--format=png"), (f"--run={two}", "--out=x"), ("--out=x",)):
        capsys.readouterr()
        assert run(*missing) == 2
        assert capsys.readouterr().err.startswith("error: --")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_export_that_is_stopped_leaves_nothing(
    stop: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from jaxdp.program.exports import pixels

    made, seen = pixels.png, []

    def png(image: np.ndarray) -> bytes:
        seen.append(os.listdir(tmp_path))
        if len(seen) > 5:
            raise stop
        return made(image)

    monkeypatch.setattr(pixels, "png", png)
    folder = saved_folders.images(tmp_path / "run")
    before = sorted(tmp_path.rglob("*"))
    code = run(f"--run={folder}", "--format=png", f"--out={tmp_path / 'out'}")
    assert code == (130 if stop is KeyboardInterrupt else 2)
    assert all("out" not in names for names in seen)  # until it is whole
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_that_was_filled_meanwhile_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def write() -> None:
        with out_folder.written(str(out)) as aside:
            (aside / "mine").touch()
            out.mkdir()
            (out / "theirs").touch()

    with pytest.raises(jaxdp.SettingsError, match="cannot be written"):
        write()
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "theirs"]


def test_names_of_folders_are_safe_and_different() -> None:
    names = [
        *("cat", "Cat", "a/b", "a\\b", "..", ".hidden", "end.", "", "CON", "lpt1.txt", "a b"),
        *("x" * 300, "日本", "e\u0301", "\u00e9", "\x00", "cat_1", "-rf"),
        "Metadata.csv",
    ]
    found = folder_names(names)
    assert len({name.casefold() for name in found}) == len(names)
    assert found[:2] == ["cat", "Cat_1"]
    assert found[4] == "class_4"
    assert found[12] == "日本"
    assert found[-1] == "class_18", "a file of that name lies beside the folders"
    for name in found:
        assert re.fullmatch(r"[^\s/\\:*?\"<>|\x00-\x1f]{1,100}", name)
        assert not name.startswith((".", "-"))
        assert not name.endswith(".")
        assert len(name.encode()) < 100


def test_texts_are_quoted_for_yaml() -> None:
    yaml = pytest.importorskip("yaml")
    for text in ("plain", 'a "b" \\ c', "x: [1]", "a\nb", "\x85\u2028\x7f", "日本 😀", "# no"):
        assert yaml.safe_load(f"a: {quoted(text)}") == {"a": text}


def test_facts_of_images_are_those_of_the_toy() -> None:
    """What the tests above rely on."""
    spec = Spec.images("x", (1, 2, 2), class_names=["a", "b"], low=0, high=4095, dtype="uint16")
    np.testing.assert_array_equal(spec.codec.from_unit(np.array([0.0, 1.0])), [0, 4095])
