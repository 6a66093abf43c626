"""What is no example of a run's data, or no finished run, is refused in one line."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.classified import (
    assert_refused,
    copied,
    grey,
    picture,
    run_of,
    saved,
    toy_place,
)
from support.drivers import read
from support.toy_tables import frame_of

from jaxdp.data import Spec
from jaxdp.methods import facts
from jaxdp.program.data import new_examples, resizing
from jaxdp.program.data.known import FLOATS
from jaxdp.program.errors import InputError


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with toy data, and with the runs that are made of them."""
    return toy_place(tmp_path_factory.mktemp("classify"))


def assert_not_read(said: str, path: str, spec: Spec, *, before: str) -> None:
    """Check for a line about a file, even where another one was read before."""
    with pytest.raises(InputError) as caught:
        new_examples.read([before, path], spec)
    assert said in str(caught.value)
    assert path in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_examples_are_refused_in_one_line(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "a.png").symlink_to(picture(tmp_path / "a.png", grey(8, 8)))
    (tmp_path / "text.png").write_text("no image")
    (tmp_path / "text.npz").write_text("no arrays")
    (tmp_path / "new.md").write_text("")
    table = str(place / "people.csv")
    bad = {
        picture(tmp_path / "wide.png", grey(8, 9)): "is 9x8 grey, and the run is of images of 8x8",
        picture(tmp_path / "rgb.png", grey(8, 8, 3)): "is 8x8 RGB",
        str(tmp_path / "text.png"): "replace or remove that image",
        str(tmp_path / "empty"): "there are no images in this folder",
        str(tmp_path / "linked"): "is a link that leads out of",
        str(tmp_path / "new.md"): "is of no kind that is read; give .png",
        str(tmp_path / "nowhere.png"): "there is no such file",
        str(tmp_path / "text.npz"): "cannot be read",
        saved(tmp_path / "y.npz", y=grey(3)): "has no array x or x_test or X",
        saved(tmp_path / "rows.npz", x=grey(3, 64)): "has x of shape (3, 64)",
        saved(tmp_path / "none.npz", x=grey(0, 8, 8)): "has x of shape (0, 8, 8, 1)",
        saved(tmp_path / "real.npz", x=np.zeros((3, 8, 8))): "stored as uint8",
        table: "is a table, and the run is of images",
    }
    good, folder = picture(tmp_path / "good.png", grey(8, 8)), run_of("teacher", place).folder
    spec = facts.from_config(read(folder, "config.json"))
    for path, said in bad.items():
        assert_not_read(said, path, spec, before=good)
    wide = str(tmp_path / "wide.png")
    assert_refused(capsys, f"error: {wide}: is 9x8 grey", f"--run={folder}", good, wide)
    assert_refused(capsys, f"error: {table}: is a table", f"--run={folder}", good, table)


@pytest.mark.parametrize(
    ("shape", "dtype", "differs"),
    [
        ((8, 8), "uint16", "is 8x8 grey of 16 bits, .* 8x8 grey of 8 bits; bring it to that depth"),
        ((8, 8, 3), "uint8", "is 8x8 RGB, and .* 8x8 grey; bring it to that mode"),
        ((8, 9), "uint8", "bring it to that size"),
        ((9, 8, 3), "uint8", "bring it to that size and mode"),
        ((8, 9), "uint16", "bring it to that size and depth"),
    ],
)
def test_an_image_is_refused_by_what_differs(
    shape: tuple[int, ...], dtype: str, differs: str, tmp_path: Path
) -> None:
    spec = Spec.images("scans", (9, 8, 8), class_names=["a", "b"], dtype="uint8")
    path = picture(tmp_path / "new.png", grey(*shape).astype(dtype))
    with pytest.raises(InputError, match=f"{differs}$"):
        new_examples.read([path], spec)


def test_all_images_of_a_folder_that_cannot_be_used_are_named_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    spec = Spec.images("scans", (9, 8, 8), class_names=["a", "b"])
    picture(folder / "a.png", grey(8, 8))
    picture(folder / "b.png", grey(8, 9))
    picture(folder / "c.png", grey(8, 8))
    (folder / "d.png").write_text("no image")
    with pytest.raises(InputError, match=r"b\.png: is 9x8 grey.*; neither can these .*/d\.png$"):
        new_examples.read([str(folder)], spec)
    for i in range(7):
        picture(folder / f"e{i}.png", grey(9, 8))
    with pytest.raises(InputError, match=r"b\.png: is 9x8 grey.*e3\.png and others$"):
        new_examples.read([str(folder)], spec)


def test_bad_records_are_refused_in_one_line(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_of("table labelled", place).folder
    spec = facts.from_config(read(folder, "config.json"))
    (tmp_path / "empty").mkdir()
    (tmp_path / "head.csv").write_text("age,income,debt,smoker,stage\n")
    frame_of(3).drop(columns="age").to_csv(tmp_path / "less.csv", index=False)
    frame_of(3).to_csv(tmp_path / "bars.csv", index=False, sep=";")
    broken = frame_of(3).assign(smoker="y\nes")
    broken.to_csv(tmp_path / "lines.csv", index=False)
    halves = np.full((2, 5), 0.5, np.float32)
    bad = {
        picture(tmp_path / "good.png", grey(8, 8)): "the run is of a table; give .csv",
        str(tmp_path / "empty"): "the run is of a table",
        saved(tmp_path / "halves.npz", x=halves): "not stored as the schema says",
        str(tmp_path / "less.csv"): "column 'age': there is no such column",
        str(tmp_path / "bars.csv"): "separated by semicolons; new records have to be written as",
        str(tmp_path / "lines.csv"): "take stray quotes out; new records have to be written as",
        str(tmp_path / "head.csv"): "no records",
    }
    for path, said in bad.items():
        assert_not_read(said, path, spec, before=str(place / "people.csv"))
    less = str(tmp_path / "less.csv")
    assert_refused(capsys, f"error: {less}: column 'age'", f"--run={folder}", less)


def test_images_are_made_grey_where_those_of_the_run_were(tmp_path: Path) -> None:
    colour = np.zeros((8, 8, 3), np.uint8)
    colour[..., 1] = 100
    path = picture(tmp_path / "rgb.png", colour)
    spec = Spec.images("scans", (9, 8, 8), class_names=["a", "b"])
    with pytest.raises(InputError, match="is 8x8 RGB, and the run is of images of 8x8 grey"):
        new_examples.read([path], spec)
    spec = dataclasses.replace(spec, preparation=resizing.preparation(None, 1))
    found = new_examples.read([path], spec).x
    assert set(np.unique(found)) == {59}
    assert found.shape == (1, 8, 8, 1)


def test_images_are_resized_where_those_of_the_run_were(tmp_path: Path) -> None:
    """And only there: in another run a size tells that something is wrong."""
    wide = picture(tmp_path / "wide.png", np.arange(0, 160, 2, dtype=np.uint8).reshape(8, 10, 1))
    spec = Spec.images("scans", (9, 8, 8), class_names=["a", "b"])
    with pytest.raises(InputError, match="is 10x8 grey, and the run is of images of 8x8"):
        new_examples.read([wide], spec)
    spec = dataclasses.replace(spec, preparation=resizing.preparation((8, 8)))
    spec = facts.from_config({"num_examples": 9, "spec": facts.to_json(spec)})
    found = new_examples.read([wide], spec).x
    np.testing.assert_array_equal(
        found[0], resizing.resized(np.asarray(Image.open(wide))[..., np.newaxis], (8, 8))
    )
    texts = saved(tmp_path / "texts.npz", x=np.full((2, 9, 9, 1), "dark"))
    with pytest.raises(InputError, match="stored as uint8"):
        new_examples.read([texts], spec)
    again = new_examples.read([saved(tmp_path / "x.npz", x=found)], spec).x
    np.testing.assert_array_equal(again, found)


def test_examples_of_other_scales_are_refused(tmp_path: Path) -> None:
    digits = Spec.images("digits", (9, 8, 8), class_names=["a", "b"], low=0, high=16, dtype="uint8")
    bright = picture(tmp_path / "bright.png", grey(8, 8) + 255)
    with pytest.raises(InputError, match=r"bright.png: holds values outside \[0, 16\]"):
        new_examples.read([bright], digits)
    floats = Spec(
        name="f",
        shape=(8, 8, 1),
        class_names=("a", "b"),
        num_examples=9,
        codec=FLOATS,
    )
    with pytest.raises(InputError, match="images of floats"):
        new_examples.read([bright], floats)
    with pytest.raises(InputError, match="not finite"):
        new_examples.read([saved(tmp_path / "x.npz", x=np.full((1, 8, 8), np.nan))], floats)
    assert (
        new_examples.read([saved(tmp_path / "x.npz", x=np.ones((2, 8, 8)))], floats).x.size == 128
    )
    rows = Spec.rows("r", (9, 4), class_names=["a", "b"])
    with pytest.raises(InputError, match=r"rows of 4 values; give \.npz"):
        new_examples.read([bright], rows)
    (tmp_path / "new.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match=r"without a schema; give \.npz"):
        new_examples.read([str(tmp_path / "new.csv")], rows)


@pytest.fixture
def any_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whatever is named be examples that fit: a run is refused after they were read."""

    def read(paths: list[str], spec: Spec) -> new_examples.Examples:
        return new_examples.Examples(tuple(paths), (None,), np.zeros((1, *spec.stored_shape)))

    monkeypatch.setattr(new_examples, "read", read)


@pytest.mark.usefixtures("any_examples")
def test_runs_without_a_classifier_are_refused(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = picture(tmp_path / "good.png", grey(8, 8))
    assert_refused(capsys, "error: --run: name a finished run", good)
    folder = run_of("teacher", place).folder
    assert_refused(capsys, "name what to classify", f"--run={folder}")
    assert_refused(capsys, "has no privacy.json", f"--run={tmp_path}", good)
    plain = run_of("table unlabelled", place).folder
    assert_refused(capsys, "was made with --unconditional", f"--run={plain}", good)
    nowhere = f"--out={tmp_path / 'no' / 'x.csv'}"
    assert_refused(capsys, "there is no folder", f"--run={folder}", nowhere, good)
    assert_refused(capsys, "--out=.: is no name", f"--run={folder}", "--out=.", good)


def changed(path: Path, **news: Any) -> None:
    content = json.loads(path.read_text()) | news
    left_out = {name for name, value in news.items() if value is None}
    path.write_text(json.dumps({k: v for k, v in content.items() if k not in left_out}))


SPEC = facts.to_json(Spec.images("toy", (9, 8, 8), class_names=["a", "b", "c"]))
OTHER = facts.to_json(Spec.images("toy", (9, 10, 10), class_names=["a", "b", "c"]))
BAD_FILES: dict[str, tuple[str, Any, str]] = {
    "not finished": ("privacy.json", {"sha256": None}, "has not finished; give the run --resume"),
    "no certificate": ("privacy.json", b"{}", "its privacy.json cannot be trusted"),
    "a better epsilon": ("privacy.json", {"epsilon": 0.1}, "its own numbers give"),
    "no config": ("config.json", None, "its config.json cannot be read"),
    "broken config": ("config.json", b"[", "its config.json cannot be read"),
    "an older config": ("config.json", {"spec": None}, "give its run --resume, which adds them"),
    "another run": ("config.json", {"ledger": {"steps": None}}, "are of different runs"),
    "no facts": ("config.json", {"spec": 5}, "tells of no data that a run has"),
    "less facts": ("config.json", {"spec": {"name": "x"}}, "does not tell shape"),
    "no shape": ("config.json", {"spec": SPEC | {"shape": [8, 8.5, 1]}}, "sizes are whole"),
    "no kind": ("config.json", {"spec": SPEC | {"kind": []}}, "is no kind of such data"),
    "no codec": ("config.json", {"spec": SPEC | {"codec": {"low": 0}}}, "no data that a run"),
    "other sizes": ("config.json", {"spec": OTHER}, "cannot be used"),
    "no results": ("privacy.json", {"sha256": {}}, "it has none of labelled.npz"),
}


@pytest.mark.parametrize("case", BAD_FILES)
@pytest.mark.usefixtures("any_examples")
def test_stored_files_that_are_broken_are_refused(
    case: str, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, change, said = BAD_FILES[case]
    copy = copied(run_of("generated", place), tmp_path)
    if change is None:
        (copy / name).unlink()
    elif isinstance(change, bytes):
        (copy / name).write_bytes(change)
    else:
        changed(copy / name, **change)
    good = picture(tmp_path / "good.png", grey(8, 8))
    assert_refused(capsys, said, f"--run={copy}", good)


@pytest.mark.parametrize(
    ("name", "file"),
    [("kip", "distilled.npz"), ("teacher", "teacher.npz"), ("table labelled", "labelled.npz"),
     ("generated", "synthetic.npz")],
)  # fmt: skip
@pytest.mark.usefixtures("any_examples")
def test_guarantee_files_are_those_that_the_certificate_is_about(
    name: str, file: str, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = copied(run_of(name, place), tmp_path)
    good = picture(tmp_path / "good.png", grey(8, 8))
    whole = (copy / file).read_bytes()
    (copy / file).write_bytes(whole + b"x")
    assert_refused(capsys, f"{file} is not the file that", f"--run={copy}", good)
    (copy / file).unlink()
    assert_refused(capsys, f"{file} cannot be read", f"--run={copy}", good)


@pytest.mark.usefixtures("any_examples")
def test_a_teacher_of_other_data_is_refused(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = copied(run_of("teacher", place), tmp_path)
    changed(copy / "config.json", spec=OTHER)
    said = "its teacher was made from other data than config.json tells of"
    assert_refused(capsys, said, f"--run={copy}", picture(tmp_path / "good.png", grey(8, 8)))


def distilled_with(folder: Path, **news: Any) -> None:
    """Change a distilled set, and the digest of it."""
    from jaxdp.saved.files import digest

    path = folder / "distilled.npz"
    with np.load(path) as made:
        arrays = {k: v for k, v in (dict(made) | news).items() if v is not None}
    np.savez(path, **arrays)
    changed(folder / "privacy.json", sha256={"distilled.npz": digest(path)})


@pytest.mark.parametrize(
    ("news", "said"),
    [
        ({"x": None}, "its files lack x"),
        ({"x": np.zeros((3, 7, 8, 1))}, "its x and y have shapes"),
        ({"x": np.full((3, 8, 8, 1), np.nan)}, "no numbers"),
        ({"y": np.array([0, 1, 3])}, "labels beyond 3 classes"),
        ({"y": np.zeros(3)}, "its x and y have shapes"),
        ({"y_scores": np.zeros((3, 2))}, "its y_scores have shape (3, 2)"),
    ],
)
def test_distilled_sets_of_other_data_are_refused(
    news: dict[str, Any],
    said: str,
    place: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    copy = copied(run_of("kip", place), tmp_path)
    distilled_with(copy, **news)
    assert_refused(capsys, said, f"--run={copy}", picture(tmp_path / "good.png", grey(8, 8)))


def test_options_that_no_run_has_are_refused(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = copied(run_of("kip", place), tmp_path)
    good = picture(tmp_path / "good.png", grey(8, 8))
    for key, value, said in (
        ("kernel", "deep", "--kernel=deep"),
        ("depth", "2", "--depth=2: must be of type int"),
        ("ridge", -1.0, "--ridge=-1.0"),
    ):
        before = (copy / "config.json").read_bytes()
        changed(copy / "config.json", **{key: value})
        assert_refused(capsys, said, f"--run={copy}", good)
        (copy / "config.json").write_bytes(before)


# --- What a run says of it -----------------------------------------------------------------------
