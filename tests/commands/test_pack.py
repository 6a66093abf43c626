"""`jaxdp pack`: what may leave is in one file, nothing else is, and the file can be used."""

from __future__ import annotations

import hashlib
import json
import os
import re
import runpy
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
from absl.testing import flagsaver
from support import classified, drivers, saved_folders, toy_tables
from support.zip_files import rewritten, written

import jaxdp
from jaxdp.data import Spec
from jaxdp.methods.settings import InputError
from jaxdp.program import command_line
from jaxdp.program.commands import dp_ntk, marginals, pack, sample
from jaxdp.program.data import image_file, resizing
from jaxdp.program.exports import contents, how_to
from jaxdp.saved import loading, seal, zips


def run(*words: str) -> int:
    with flagsaver.flagsaver():
        try:
            pack.main(command_line.parse(["jaxdp pack", *words], takes="run"))
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def packed(folder: Path) -> Path:
    out = folder.with_suffix(".zip")
    out.unlink(missing_ok=True)  # a file that is there is never written over
    assert run(str(folder), "-o", str(out)) == 0
    return out


def names_in(path: Path) -> set[str]:
    with zipfile.ZipFile(path) as found:
        return set(found.namelist())


# What a run of each kind may hand over: its set, its release, and how they are described.
RUNS = {
    "kip, noisy": ("distilled.npz",),
    "teacher, noisy": ("distilled.npz", "teacher.npz"),
    "patched, noisy": ("distilled.npz", "teacher.npz"),
    "means, noisy": ("distilled.npz", "teacher.npz"),
    "generated": ("synthetic.npz", "embedding.npz", "generator/description.json"),
    "table kip, noisy": ("distilled.npz", "distilled.csv"),
    "table labelled, noisy": ("synthetic.npz", "synthetic.csv", "labelled.npz"),
    "table generated": ("synthetic.npz", "synthetic.csv", "embedding.npz"),
    "marginals": ("synthetic.npz", "synthetic.csv", "counts.npz"),
}
_PICTURES = ("distilled.png", "samples.png")
_BESIDE = ("README.md", "SHA256SUMS", "config.json", "how_to.py", "how_to_jaxdp.py", "privacy.json")
_OF_CLASSES = ("how_to_torch.py", "classes.csv")
STRANGERS = (
    *("notes.txt", "metrics.json", "report.html", "released.json", "state.part", ".lock"),
    *("LICENSE", "x_train.npz", "synthetic.npz.part", "figures.json", "copies.json"),
    *("checkpoints/1/state", "teacher_checkpoints/1/state", "images/patients/0.png"),
    *("x.not_for_release/copies.json", "generator/notes.txt", "train/metadata.csv", "SHA256SUMS"),
)
SECRET = b"kept secret: who is in it"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return classified.toy_place(tmp_path_factory.mktemp("pack"))


def finished(name: str, place: Path) -> Path:
    """Return the folder of a run that may leave."""
    if name != "marginals":
        return classified.run_of(name, place).folder
    folder = place / "marginals"
    if not folder.exists():
        source = (f"--csv={place / 'people.csv'}", f"--schema={place / 'people.json'}")
        flags = ("--steps=3", "--num_synthetic=40", "--evaluate=none", "--eps=2", "--delta=1e-3")
        assert drivers.drive(marginals.main, *source, *flags, f"--out_dir={folder}") == 0
    return folder


def with_strangers(folder: Path) -> None:
    """Leave private files in a folder wherever a name may stand, links under permitted names, too.

    Names that a run releases and this one has not are links to a private file.
    """
    for name in STRANGERS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(SECRET)
    (folder.parent / "private").write_bytes(SECRET)
    for name in ("teacher.npz", "labelled.npz", "counts.npz", "quality.json", "samples.png"):
        if not (folder / name).exists():
            (folder / name).symlink_to(folder.parent / "private")
    for path in (folder / "README.md", folder / "metrics.json"):
        path.write_bytes(b"<!-- jaxdp wrote this file, and may write it again. -->" + SECRET)
    saved_folders.changed(folder / "privacy.json", by_hand=SECRET.decode())


@pytest.mark.parametrize("name", RUNS)
def test_guarantee_nothing_that_must_stay_is_packed(name: str, place: Path, tmp_path: Path) -> None:
    """Every name in a run's folder is put to the test; strangers stay, whatever they are called."""
    folder = tmp_path / "run"
    shutil.copytree(finished(name, place), folder)
    with_strangers(folder)
    out = packed(folder)
    held = {each.removeprefix("run/") for each in names_in(out)}
    allowed = {*RUNS[name], *_PICTURES, *_BESIDE, *_OF_CLASSES}
    more = {each for each in held - allowed if not each.startswith("images/")}
    assert all(each.startswith("generator/") for each in more), more
    assert set(RUNS[name]) <= held
    assert set(_BESIDE) <= held
    with zipfile.ZipFile(out) as file:
        assert not any(SECRET in file.read(each) for each in file.namelist())
        assert b"private" not in b"".join(name.encode() for name in file.namelist())


@pytest.mark.parametrize("name", ["metrics.json", "report.html", "../private", "x/../../private"])
def test_guarantee_a_certificate_cannot_name_what_must_stay(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody has entered a file into privacy.json, and its digest."""
    folder = saved_folders.images(tmp_path / "run")
    (folder / "x").mkdir()
    (folder / name).write_bytes(SECRET)
    digests = json.loads((folder / "privacy.json").read_text())["sha256"]
    sha256 = digests | {name: hashlib.sha256(SECRET).hexdigest()}
    saved_folders.changed(folder / "privacy.json", sha256=sha256)
    assert run(str(folder), "-o", str(tmp_path / "a.zip")) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "a.zip").exists()


def test_guarantee_a_link_to_another_file_is_not_packed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved_folders.images(tmp_path / "run")
    (tmp_path / "private").write_bytes(SECRET)
    (folder / "synthetic.npz").unlink()
    (folder / "synthetic.npz").symlink_to(tmp_path / "private")
    assert run(str(folder), "-o", str(tmp_path / "a.zip")) == 2
    assert "is not the file that privacy.json is about" in capsys.readouterr().err


def test_guarantee_config_names_no_folders(tmp_path: Path) -> None:
    folder = saved_folders.images(tmp_path / "run")
    saved_folders.changed(folder / "config.json", csv="/home/ward 3/hiv.csv")
    with zipfile.ZipFile(packed(folder)) as file:
        assert json.loads(file.read("run/config.json"))["csv"] == "hiv.csv"


@pytest.mark.slow
def test_guarantee_of_a_generator_its_own_files_are_packed(tmp_path: Path) -> None:
    """Those that it is read from, and it draws from the packed file; nothing else is there."""
    source, schema = toy_tables.write_table(tmp_path, toy_tables.frame_of(200))
    folder = tmp_path / "run"
    flags = ("--delta=1e-3", "--evaluate=none", f"--out_dir={folder}")
    assert drivers.drive(dp_ntk.main, source, schema, *flags) == 0
    (folder / "generator" / "notes.txt").write_text("kept secret")
    out = packed(folder)
    names = names_in(out)
    assert "run/generator/description.json" in names
    assert "run/README.md" in names
    assert not [name for name in names if "notes" in name or "checkpoints" in name]
    drawn = tmp_path / "drawn.csv"
    assert drivers.drive(sample.main, f"--run={out}", "--num=5", f"--out={drawn}") == 0
    assert len(drawn.read_text().splitlines()) == 6


def test_a_file_in_the_place_of_a_pack_is_found_before_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without -o the file has the run's name, and no flag is to blame."""
    folder = saved_folders.images(tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    assert run(str(folder)) == 0
    before = (tmp_path / "run.zip").read_bytes()
    monkeypatch.setattr(pack, "fill", lambda *args: pytest.fail("there was work"))
    capsys.readouterr()
    assert run(str(folder)) == 2
    path = Path("run.zip")
    assert capsys.readouterr().err == (
        f"error: {path}: is there; remove it, or name another file by --out\n"
    )
    assert run(str(folder), "-o", "run.zip") == 2
    assert capsys.readouterr().err.startswith("error: --out=run.zip: run.zip is there;")
    assert (tmp_path / "run.zip").read_bytes() == before


def test_what_is_packed_is_loaded_and_predicts(tmp_path: Path) -> None:
    folder = saved_folders.distilled(tmp_path / "run")
    whole, found = jaxdp.load(folder), jaxdp.load(packed(folder))
    x = np.asarray(whole.x).clip(0, 255).round()
    np.testing.assert_array_equal(found.x, whole.x)
    np.testing.assert_array_equal(found.predict(x), whole.predict(x))
    assert without_sums(found.certificate.facts) == without_sums(whole.certificate.facts)


def without_sums(facts: Any) -> dict[str, Any]:
    digests = {name: each for name, each in facts["sha256"].items() if name != seal.NAME}
    return {**facts, "sha256": digests}


@pytest.mark.parametrize("name", RUNS)
def test_programs_in_a_pack_run_from_anywhere(name: str, place: Path, tmp_path: Path) -> None:
    """The first needs numpy alone; torch is not here, and the program is compiled."""
    folder = tmp_path / "run"
    shutil.copytree(finished(name, place), folder)
    out = packed(folder)
    with zipfile.ZipFile(out) as file:
        file.extractall(tmp_path / "there")
    there = tmp_path / "there" / "run"
    code = f"import runpy, sys; sys.modules.update(dict.fromkeys({HIDDEN!r})); "
    code += f"runpy.run_path({str(there / 'how_to.py')!r})"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "examples; classes: ['" in done.stdout
    if (there / "how_to_torch.py").exists():
        lines = done.stdout.splitlines()
        assert any(line.startswith("of its own told right: ") for line in lines)
        with np.load(there / pack_set(there)) as data:
            share = np.bincount(data["y"]).max() / len(data["y"])
        assert f"always naming the largest class: {share}" in lines
        compile((there / "how_to_torch.py").read_text(), "how_to_torch.py", "exec")
    assert jaxdp.load(there).certificate.releasable  # nothing was left there that has no digest
    for program in there.glob("how_to*.py"):
        assert len(program.read_text().splitlines()) < 55


def pack_set(folder: Path) -> str:
    return next(
        each.name for each in folder.glob("*.npz") if each.stem in ("distilled", "synthetic")
    )


def test_a_pack_says_how_it_is_used(tmp_path: Path, place: Path) -> None:
    """To who has nothing but the file: of images, and of a table, which may have identifiers."""

    def card_of(folder: Path) -> str:
        with zipfile.ZipFile(packed(folder)) as file:
            return file.read(f"{folder.name}/README.md").decode()

    of_images = card_of(saved_folders.images(tmp_path / "run"))
    shutil.copytree(finished("marginals", place), tmp_path / "table")
    of_table = card_of(tmp_path / "table")
    assert "Open `images/` first: it has the images." in of_images
    assert "Open `synthetic.csv` first: it has the records." in of_table
    assert "`synthetic.csv`: the synthetic records\n" in of_table
    assert "What is protected is one image of" in of_images
    assert "What is protected is one record of" in of_table
    assert "pandas" not in of_images
    assert 'pandas.read_csv("FOLDER/synthetic.csv", dtype=dict' in of_table
    assert 'read.csv("FOLDER/synthetic.csv", na.strings' in of_table
    header = (tmp_path / "table" / "synthetic.csv").read_text().split("\n")[0]
    assert f"records of {header.count(',') + 1} columns, with the class" in of_table
    for text in (of_images, of_table):
        assert f"`pip install jaxdp_toolkit-{jaxdp.__version__}-py3-none-any.whl`" in text
        assert 'jaxdp.load("FILE.zip")' in text
        assert "jaxdp classify --run=FILE.zip" in text
        assert "made.class_names[each] for each in classes" in text
        assert text.count("The guarantee is about what a run has released: ") == 1


HIDDEN = ("jax", "jaxdp", "pandas", "sklearn", "scipy", "PIL")


def upright_and_whole(folder: Path) -> tuple[Path, Path]:
    """Write a photograph on its side, whose file says so, and a drawing without a ground."""
    rng = np.random.default_rng(0)
    pixels = np.kron(rng.integers(0, 256, (6, 9, 3)), np.ones((7, 7, 1))).astype(np.uint8)
    exif = PIL.Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    PIL.Image.fromarray(pixels).save(folder / "photo.jpg", exif=exif)
    ink = np.dstack([pixels, np.repeat([[0, 90, 255]], 42, axis=0).repeat(21, axis=1)])
    PIL.Image.fromarray(ink.astype(np.uint8)).save(folder / "ink.png")
    return folder / "photo.jpg", folder / "ink.png"


@pytest.mark.parametrize("channels", [1, 3])
def test_how_to_tells_images_that_it_reads_as_jaxdp_does(
    channels: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pack_file = packed(saved_folders.images(tmp_path / "run", shape=(14, 10, channels)))
    with zipfile.ZipFile(pack_file) as file:
        file.extractall(tmp_path / "there")
    paths = upright_and_whole(tmp_path)
    monkeypatch.setattr(sys, "argv", ["how_to.py", *map(str, paths)])
    found = runpy.run_path(str(tmp_path / "there" / "run" / "how_to.py"))
    *_, first, second, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{paths[0]} ")
    assert second.split()[-1] in saved_folders.NAMES
    assert last.startswith("right far less often than jaxdp: jaxdp classify")
    for path in paths:
        read = image_file.with_channels(image_file.read("", path), channels)
        assert read.pixels.shape[:2] == ((63, 42) if path.suffix == ".jpg" else (42, 63))
        expected = resizing.resized(read.pixels, (14, 10)).astype(float)
        np.testing.assert_allclose(found["prepared"](path), expected, atol=1)


def test_how_to_learns_from_every_class_of_a_large_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A distilled set has its classes one after the other."""
    monkeypatch.setattr(how_to, "MOST", 6)
    spec = Spec.images("scans", (90, 4, 5, 1), class_names=("a", "b"))
    y = np.repeat([0, 1], 20)
    x = np.random.default_rng(0).integers(0, 256, (40, 4, 5, 1)).astype(np.uint8)
    arrays = {"x": x, "y": y, "class_names": np.array(spec.class_names)}
    folder = saved_folders.write(tmp_path / "run", "synthetic", spec, arrays)
    with zipfile.ZipFile(packed(folder)) as file:
        file.extractall(tmp_path / "there")
    monkeypatch.setattr(sys, "argv", ["how_to.py"])
    found = runpy.run_path(str(tmp_path / "there" / "run" / "how_to.py"))
    assert len(found["y"]) == len(found["rows"]) == 6
    assert set(found["y"]) == {0, 1}
    np.testing.assert_array_equal(found["rows"], x.reshape(40, -1)[found["some"]])
    np.testing.assert_array_equal(found["y"], y[found["some"]])


@pytest.mark.parametrize("news", [{"high": 16}, {"dtype": "uint16"}, {"shape": (4, 5, 2)}])
def test_images_of_other_values_than_files_have_are_told_by_jaxdp_alone(
    news: dict[str, Any], tmp_path: Path
) -> None:
    with zipfile.ZipFile(packed(saved_folders.images(tmp_path / "run", **news))) as file:
        assert b"argv" not in file.read("run/how_to.py")


def test_jaxdp_s_own_program_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile(packed(saved_folders.distilled(tmp_path / "run"))) as file:
        file.extractall(tmp_path / "there")
    runpy.run_path(str(tmp_path / "there" / "run" / "how_to_jaxdp.py"))
    assert "differentially private for 90 records" in capsys.readouterr().out


def test_images_are_there_for_people_to_look_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved_folders.images(tmp_path / "run", names=("a/b", "privacy.json", "generator"))
    held = names_in(packed(folder))
    assert {"run/classes.csv", "run/images/a_b/00000.png", "run/images/privacy.json/00001.png"} <= (
        held
    )
    monkeypatch.setattr(pack, "_MOST_IMAGES", 11)
    assert not any(each.endswith(".png") for each in names_in(packed(folder)))
    two = saved_folders.images(tmp_path / "two", shape=(4, 5, 2))
    assert not any(each.endswith(".png") for each in names_in(packed(two)))


def test_a_licence_is_the_one_that_was_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = saved_folders.images(tmp_path / "run"), tmp_path / "a.zip"

    def held(*flags: str, of: Path = folder) -> tuple[bytes | None, str]:
        out.unlink(missing_ok=True)
        assert run(str(of), "-o", str(out), *flags) == 0
        with zipfile.ZipFile(out) as file:
            there = "run/LICENSE" in file.namelist()
            return file.read("run/LICENSE") if there else None, file.read("run/README.md").decode()

    licence, card = held()
    assert licence is None
    assert "No licence was given: ask whoever passed it on." in card
    assert held("--license=CC-BY-4.0")[0] == b"CC-BY-4.0\n"
    (tmp_path / "terms.txt").write_text("As you like.\n")
    licence, card = held(f"--license={tmp_path / 'terms.txt'}")
    assert licence == b"As you like.\n"
    assert "No licence was given" not in card
    again = tmp_path / "run.zip"
    shutil.copy(out, again)
    assert held(of=again)[0] == b"As you like.\n"
    (tmp_path / "noise").write_bytes(b"\xff\xfe")
    capsys.readouterr()
    for bad in ("", tmp_path / "gone.txt", tmp_path / "noise"):
        assert run(str(folder), "-o", str(tmp_path / "b.zip"), f"--license={bad}") == 2
        assert capsys.readouterr().err.startswith("error: --license=")
    assert not (tmp_path / "b.zip").exists()


# --- Every file has its digest -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("run/config.json", "config.json is not the file that SHA256SUMS lists"),
        ("run/how_to.py", "how_to.py is not the file that SHA256SUMS lists"),
        ("run/images/none/00000.png", "00000.png is not the file that SHA256SUMS lists"),
        ("run/SHA256SUMS", "SHA256SUMS is not the file that privacy.json is about"),
        ("run/synthetic.npz", "synthetic.npz is not the file that"),
    ],
)
def test_guarantee_a_changed_file_is_refused(name: str, said: str, tmp_path: Path) -> None:
    out = packed(saved_folders.images(tmp_path / "run"))
    rewritten(out, lambda members: members.update({name: members[name] + b" "}))
    with pytest.raises(InputError, match=re.escape(said)):
        jaxdp.load(out)


def test_guarantee_a_file_that_is_added_or_gone_is_refused(tmp_path: Path) -> None:
    folder = saved_folders.images(tmp_path / "run")
    out = rewritten(packed(folder), lambda members: members.update({"run/notes.txt": b"x"}))
    with pytest.raises(InputError, match=r"holds notes\.txt, which is covered by no digest"):
        jaxdp.load(out)
    out = rewritten(packed(folder), lambda members: members.pop("run/how_to.py"))
    with pytest.raises(InputError, match=r"lacks how_to\.py, which SHA256SUMS lists"):
        jaxdp.load(out)
    out = rewritten(packed(folder), lambda members: members.pop("run/SHA256SUMS"))
    with pytest.raises(InputError, match="SHA256SUMS cannot be read"):
        jaxdp.load(out)


def test_guarantee_without_its_list_a_pack_is_no_older_one(tmp_path: Path) -> None:
    """Who takes the list away cannot add files by that; older packs had four kinds of them."""
    folder = saved_folders.images(tmp_path / "run")

    def unlisted(members: dict[str, bytes]) -> None:
        members.pop("run/SHA256SUMS")
        certificate = json.loads(members["run/privacy.json"])
        certificate["sha256"].pop(seal.NAME)
        members["run/privacy.json"] = json.dumps(certificate).encode()

    out = rewritten(packed(folder), unlisted)
    with pytest.raises(InputError, match="is covered by no digest"):
        jaxdp.load(out)
    older = ("privacy.json", "config.json", "README.md", "synthetic.npz")
    rewritten(out, lambda members: [members.pop(n) for n in [*members] if n[4:] not in older])
    assert len(names_in(out)) == 4
    assert len(jaxdp.load(out).x) == 12


@pytest.mark.parametrize(
    "line", ["../private", "/etc/hostname", "a//b", "a\x1b[2J", "", "a\\b", "./a"]
)
def test_lists_that_lead_out_of_their_folder_are_refused(line: str, tmp_path: Path) -> None:
    folder = saved_folders.images(tmp_path / "run")
    (folder / seal.NAME).write_text(f"{'0' * 64}  {line}\n")
    digests = json.loads((folder / "privacy.json").read_text())["sha256"]
    found = hashlib.sha256((folder / seal.NAME).read_bytes()).hexdigest()
    saved_folders.changed(folder / "privacy.json", sha256=digests | {seal.NAME: found})
    with pytest.raises(InputError, match="its SHA256SUMS is no list of digests"):
        jaxdp.load(folder)


def test_a_pack_is_packed_again_to_the_same_bytes(tmp_path: Path) -> None:
    first = packed(saved_folders.images(tmp_path / "run"))
    assert run(str(first), "-o", str(tmp_path / "again.zip"), "--license=mine") == 0
    assert run(str(first), "-o", str(tmp_path / "same.zip")) == 0
    assert (tmp_path / "same.zip").read_bytes() == first.read_bytes()
    assert (tmp_path / "again.zip").read_bytes() != first.read_bytes()


def test_a_run_is_packed_to_the_same_bytes(tmp_path: Path) -> None:
    folder = saved_folders.images(tmp_path / "run")
    assert packed(folder).read_bytes() == packed(folder).read_bytes()


def test_guarantee_what_must_not_be_released_is_not_packed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved_folders.images(tmp_path / "run", stddev=0.0)
    assert run(str(folder), "-o", str(tmp_path / "a.zip")) == 2
    assert "MUST NOT BE RELEASED" in capsys.readouterr().err
    assert not (tmp_path / "a.zip").exists()


@pytest.mark.parametrize("name", ["synthetic.npz", "samples.png"])
def test_guarantee_another_file_than_was_certified_is_not_packed(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved_folders.images(tmp_path / "run")
    digests = json.loads((folder / "privacy.json").read_text())["sha256"]
    saved_folders.changed(folder / "privacy.json", sha256={"samples.png": "0" * 64, **digests})
    (folder / name).write_bytes(b"another")
    assert run(str(folder), "-o", str(tmp_path / "a.zip")) == 2
    assert f"{name} is not the file that privacy.json is about" in capsys.readouterr().err
    assert not (tmp_path / "a.zip").exists()


# --- Files of strangers --------------------------------------------------------------------------


def _link(path: Path) -> None:
    written(path, {"run/privacy.json": b"/etc/hostname"}, mode=stat.S_IFLNK | 0o777)


def _twice(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("run/privacy.json", b"{}")
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("run/privacy.json", b"[]")


HOSTILE: dict[str, Callable[[Path], Any]] = {
    "no zip file": lambda path: path.write_bytes(b"PK\x03\x04 no"),
    "nothing": lambda path: path.write_bytes(b""),
    "no members": lambda path: written(path, {}),
    "a name above": lambda path: written(path, {"run/../../../evil": b""}),
    "a root": lambda path: written(path, {"/run/evil": b""}),
    "a drive": lambda path: written(path, {"c:/run/evil": b""}),
    "backslashes": lambda path: written(path, {"run/..\\evil": b""}),
    "two folders": lambda path: written(path, {"run/a": b"", "other/a": b""}),
    "a file at the top": lambda path: written(path, {"privacy.json": b"{}"}),
    "a link": _link,
    "two of one name": _twice,
    "two that are one on some systems": lambda path: written(path, {"run/a": b"", "run/A": b""}),
    "codes of a terminal": lambda path: written(path, {"run/a\x1b[2J": b""}),
    "another direction": lambda path: written(path, {"run/a\u202etxt.exe": b""}),
    "a file in the place of a folder": lambda path: written(path, {"run/a": b"", "run/a/b": b""}),
    "many files": lambda path: written(path, {f"run/{n}": b"" for n in range(10_001)}),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_zip_files_are_refused_in_one_line(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    path = tmp_path / "a.zip"
    HOSTILE[case](path)
    with pytest.raises(
        InputError, match=r"a\.zip'\): (is not a file that jaxdp|cannot be)"
    ) as caught:
        jaxdp.load(path)
    assert "\n" not in str(caught.value)
    inside = (tmp_path / "temporary").resolve()
    assert {each.name for each in tmp_path.iterdir()} == {"a.zip", "temporary"}
    assert all(each.resolve().is_relative_to(inside) for each in inside.rglob("*"))


def test_a_bomb_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zips, "max_bytes", lambda: 10**6)
    path = written(tmp_path / "a.zip", {f"run/{n}": bytes(2**19) for n in range(3)})
    with pytest.raises(InputError, match="more than half of the memory"):
        jaxdp.load(path)


def test_a_zip_file_that_becomes_a_thousand_times_larger_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zips, "_LITTLE", 1000)
    path = written(tmp_path / "a.zip", {"run/a.bin": bytes(10**6)})
    with pytest.raises(InputError, match=r"take 1000000 bytes of \d+, as nothing made does"):
        jaxdp.load(path)


def test_a_zip_file_without_a_certificate_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.zip", {"run/notes.txt": json.dumps({}).encode()})
    with pytest.raises(InputError, match=r"has no privacy\.json"):
        jaxdp.load(path)
    assert not Path(zips._UNPACKED[-1].name).exists(), "nothing stays of it"


def test_nothing_stays_of_a_zip_file_that_cannot_be_unpacked(tmp_path: Path) -> None:
    path = written(tmp_path / "a.zip", {"run/a": b"1", "run/A": b"2"})
    with pytest.raises(InputError, match="two files of one name"):
        jaxdp.load(path)
    assert not Path(zips._UNPACKED[-1].name).exists()


def test_a_pipe_in_the_place_of_a_licence_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved_folders.images(tmp_path / "run")
    assert run(str(folder), "-o", str(tmp_path / "a.zip"), "--license=CC-BY-4.0") == 0
    with zipfile.ZipFile(tmp_path / "a.zip") as file:
        file.extractall(tmp_path / "unpacked")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    (unpacked / "LICENSE").unlink()
    os.mkfifo(unpacked / "LICENSE")  # opening it would wait for ever
    assert contents.licence(loading.opened(unpacked, "--run")) is None
    capsys.readouterr()


# --- Figures of test data ------------------------------------------------------------------------


def measured(folder: Path, **news: Any) -> Path:
    """Leave metrics.json as a run does that was judged on ten test examples, seven of one class."""

    def figures(right: int) -> dict[str, Any]:
        confusion = [[right, 7 - right], [0, 3]]
        return {"confusion": confusion, "interval": [0.3, 0.9], "num_test": 10}

    metrics = {
        "krr_test_accuracy": 0.9,
        "figures": {"krr": figures(6)},
        "evaluation": {
            "logistic": {"mean": 0.475, "figures": figures(2)},
            "forest": {"mean": 0.5, "figures": figures(2)},
            SECRET.decode(): {"mean": 0.5, "figures": figures(2)},
        },
        "history": [SECRET.decode()],
        **news,
    }
    (folder / "metrics.json").write_text(json.dumps(metrics))
    return folder


@pytest.mark.parametrize("statement", ["public", "told"])
def test_guarantee_figures_are_told_with_a_statement_and_nothing_beside_them_is(
    statement: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = measured(saved_folders.images(tmp_path / "run")), tmp_path / "a.zip"
    flags = ("--with_figures", f"--test_data={statement}")
    assert run(str(folder), "-o", str(out), *flags) == 0
    assert "figures.json is not covered by the guarantee" in capsys.readouterr().out
    with zipfile.ZipFile(out) as file:
        found = json.loads(file.read("run/figures.json"))
        card = file.read("run/README.md").decode()
        assert not any(SECRET in file.read(each) for each in file.namelist())
    assert found["models"][1] == {
        "model": "logistic regression",
        "accuracy": 0.475,
        "interval": [0.3, 0.9],
    }
    assert len(found["models"]) == 3
    assert (found["num_test"], found["guess"]) == (10, 0.7)
    assert found["covered_by_the_guarantee"] is False
    assert "| logistic regression | 47.5% | 30.0% to 90.0% |" in card
    assert "10 test examples without noise: the guarantee does not cover them" in card
    assert "Guessing the commonest class is right for 70.0%." in card
    assert ("test data are private" in card) == (statement == "told")
    assert jaxdp.load(out).certificate.releasable


def test_figures_of_many_classes_are_told_though_they_have_no_matrix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = {"confusion": None, "interval": [0.3, 0.9], "num_test": 1000}
    of_many = {"figures": {"krr": figures}, "evaluation": {}}
    folder, out = saved_folders.images(tmp_path / "run"), tmp_path / "a.zip"
    words = (str(folder), "-o", str(out), "--with_figures", "--test_data=public")
    measured(folder, **of_many)
    assert run(*words) == 2, "an older version has not kept the share"
    said = capsys.readouterr().err
    assert "does not say how common the commonest class of the test data is" in said
    figures["commonest_share"] = 0.04
    measured(folder, **of_many)
    assert run(*words) == 0
    with zipfile.ZipFile(out) as file:
        found = json.loads(file.read("run/figures.json"))
    assert (found["num_test"], found["guess"], len(found["models"])) == (1000, 0.04, 1)
    out.unlink()
    figures["commonest_share"] = "kept secret"
    measured(folder, **of_many)
    assert run(*words) == 2
    assert "holds no figures of a run" in capsys.readouterr().err


def test_guarantee_no_figures_are_packed_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = measured(saved_folders.images(tmp_path / "run")), tmp_path / "a.zip"
    for flags, said in (
        (("--with_figures",), "figures of test data are not covered by the guarantee; say"),
        (("--test_data=public",), "is of --with_figures; give both"),
        (("--with_figures", "--test_data=yes"), "--test_data=yes"),
    ):
        capsys.readouterr()
        assert run(str(folder), "-o", str(out), *flags) == 2
        assert said in capsys.readouterr().err
    assert run(str(folder), "-o", str(out)) == 0
    with zipfile.ZipFile(out) as file:
        assert "run/figures.json" not in file.namelist()
        assert "47.5" not in file.read("run/README.md").decode()


@pytest.mark.parametrize(
    ("news", "said"),
    [
        ({"krr_test_accuracy": "kept secret"}, "holds no figures of a run"),
        ({"krr_test_accuracy": 1.5}, "holds no figures of a run"),
        ({"figures": [], "evaluation": {}}, "holds no figures of a run"),
        ({"figures": {}, "evaluation": {}}, "nothing was measured on test data"),
    ],
)
def test_other_content_of_metrics_is_not_told(
    news: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = measured(saved_folders.images(tmp_path / "run"), **news)
    words = (str(folder), "-o", str(tmp_path / "a.zip"), "--with_figures", "--test_data=told")
    assert run(*words) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "kept secret" not in err
    (folder / "metrics.json").unlink()
    assert run(*words) == 2
    assert "metrics.json cannot be read" in capsys.readouterr().err
