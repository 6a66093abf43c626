"""The page about own images, from its first command to its last, on a folder of toy drawings."""

from __future__ import annotations

import importlib
import json
import re
import shlex
from pathlib import Path

import pytest
from support import classified, drivers
from support.own_folder import SHAPES, write_shapes
from test_docs import DOCS

from jaxdp.program import main
from jaxdp.program.data.load import load_dataset

pytestmark = pytest.mark.slow

PAGE = DOCS / "own_images.md"
_BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TOY = ("--steps=2", "--batch_size=20", "--distill_steps=1", "--whiten=0", "--delta=1e-3")


def run_command(line: str) -> None:
    """Run a command of the page; what distils takes a few steps."""
    program, *words = shlex.split(line)
    assert program == "jaxdp"
    module, arguments, _ = main.resolved(words)
    if module == "classify":
        done = classified.run(*arguments)
    else:
        toy = _TOY if module == "dp_kip_teacher" else ()
        command = importlib.import_module(f"jaxdp.program.commands.{module}")
        done = drivers.drive(command.main, *arguments, *toy)
    assert done == 0, line


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working folder as the page has it: images to learn from, and new ones."""
    write_shapes(tmp_path / "data" / "shapes", 10)
    write_shapes(tmp_path / "new", 2, seed=1)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_block_of_the_page_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session: dict[str, object] = {}
    told = []
    for language, block in _BLOCK.findall(PAGE.read_text()):
        if language == "python":
            exec(compile(block, str(PAGE), "exec"), session)
        else:
            for line in block.splitlines():
                run_command(line)
        told.append(capsys.readouterr())
    recommended, distilled, classes, loaded, predicted, exported = told
    assert "jaxdp run teacher" in recommended.out
    named = r"3 classes \(circle, square, triangle\); "
    said = r"shapes: \d+ training images of 32x32 pixels, grey; " + named
    assert re.match(said, distilled.out)
    assert ".txt 1" in distilled.err
    assert "shapes.ledger.jsonl" in distilled.err
    assert classes.out.startswith("file,row,class,p_circle,p_square,p_triangle\nnew/square/000.png")
    assert len((folder / "classes.csv").read_text().splitlines()) == 1 + 2 * len(SHAPES)
    assert "(15, 32, 32, 1)" in loaded.out
    assert "MAY BE RELEASED" in loaded.out
    assert predicted.out.startswith(tuple(f"['{shape}']" for shape in SHAPES))
    assert "shapes_released" in exported.out
    assert len(list((folder / "shapes_released" / "images").rglob("*.png"))) == 15

    # Every file that the page names as one that may leave is there; and so are those that stay.
    row = re.findall(r"^\| `.*", PAGE.read_text(), re.MULTILINE)
    named = [
        name for line in row for name in re.findall(r"`([\w.]+\.(?:npz|png|json|html))`", line)
    ]
    assert len(named) == 8
    assert all((folder / "runs/shapes" / name).is_file() for name in named)
    certificate = json.loads((folder / "runs/shapes/privacy.json").read_text())
    assert next(iter(certificate)) == "verdict"


def test_what_the_page_says_of_sizes_is_so(folder: Path) -> None:
    """Without a flag, images of many sizes are resized to one that a line says."""
    found = load_dataset("shapes", data_dir=folder / "data")
    assert found.spec.shape == (64, 64, 1)
    assert "images of different sizes are resized to 64x64" in found.notes[-1]
