"""The curve over epsilon as text, as SVG and as PNG."""

from __future__ import annotations

import io
import math
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support import drivers
from support.report_pages import expected_of

from jaxdp.program.commands import recommend
from jaxdp.program.report import accuracy_bar, curve_svg, curve_text, curves

FACTS = [((28, 28, 1), 540, 3), ((32, 32, 3), 50_000, 10), ((11,), 3000, 2), ((50,), 30, 2)]


@pytest.mark.parametrize("facts", FACTS)
@pytest.mark.parametrize("marks", [curve_text.UNICODE, curve_text.ASCII])
def test_text_fits_a_narrow_terminal(
    facts: tuple[tuple[int, ...], int, int], marks: curve_text.Marks
) -> None:
    curve = expected_of(*facts)
    for chosen in (2.0, None, math.inf):
        text = curve_text.text(curve, chosen=chosen, marks=marks)
        assert max(map(len, text.splitlines())) <= 72
        assert text.isascii() == (marks is curve_text.ASCII)
        assert (marks.chosen in text) == (chosen == 2.0)
        assert "\n" + curve_text._legend(curve, None, marks)[0] in text


def test_rows_of_the_text_are_where_values_are() -> None:
    curve = expected_of((28, 28, 1), 540, 3)
    rows = curve_text.text(curve, chosen=2.0, marks=curve_text.ASCII).splitlines()
    assert rows[0] == "test accuracy in %, over epsilon"
    here = curve.at(2.0)
    assert here is not None
    (found,) = [number for number, row in enumerate(rows[1:12]) if "O" in row]
    assert abs((100 - 10 * found) - here.middle) <= 7.5
    (level,) = [number for number, row in enumerate(rows[1:12]) if "~" in row]
    assert abs((100 - 10 * level) - curve.guess) <= 7.5


@pytest.mark.parametrize("encoding", [None, "ascii", "latin-1", "no such one"])
def test_an_encoding_without_the_marks_gets_ascii(encoding: str | None) -> None:
    assert curve_text.marks_for(encoding) is curve_text.ASCII
    assert curve_text.marks_for("utf-8") is curve_text.UNICODE


@pytest.mark.parametrize("facts", FACTS)
def test_an_svg_is_whole_and_asks_for_nothing(facts: tuple[tuple[int, ...], int, int]) -> None:
    curve = expected_of(*facts)
    text = curve_svg.alone(curve, chosen=2.0)
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not re.search(r"href|src=|url\(|@import|<script", text)
    width = float(root.attrib["viewBox"].split()[2])
    places = [float(each.attrib["x"]) for each in root.iter() if "x" in each.attrib]
    assert 0 <= min(places) <= max(places) <= width
    assert "epsilon 2" in text
    page = curve_svg.picture(curve, chosen=2.0, own=curve_svg.Own(2.0, 80.0, 70.0, 90.0))
    assert "this run 80.0 %" in page
    assert "xmlns" not in page


def test_points_of_an_svg_are_where_values_are() -> None:
    curve = expected_of((28, 28, 1), 540, 3)
    text = curve_svg.picture(curve)
    line = re.search(r'class="middle" points="([^"]+)"', text)
    assert line is not None
    ys = np.array([float(pair.split(",")[1]) for pair in line[1].split()])
    middles = np.array([point.middle for point in curve.points])
    slope, _ = np.polyfit(middles, ys, 1)
    assert slope == pytest.approx(-1.72, abs=0.01)  # so many units a percent
    assert np.all(np.diff(ys) <= 0.01)


def test_a_png_is_drawn() -> None:
    png = curves.expected_png(expected_of((11,), 3000, 2), chosen=2.0)
    with Image.open(io.BytesIO(png)) as image:
        assert image.format == "PNG"
        assert image.width > 1000


def test_a_bar_has_its_interval_guess_and_ceiling() -> None:
    text = accuracy_bar.picture("it", 0.8, interval=(0.7, 0.88), guess=1 / 3, ceiling=0.93)
    for said in ("accuracy 80.0%", "95 %: 70.0 to 88.0%", "guessing 33%", "without privacy 93%"):
        assert said in text
    alone = accuracy_bar.picture("it", 0.8, interval=None, guess=None, ceiling=None)
    assert "guess" not in alone


# --- The program -------------------------------------------------------------------------------

_FACTS = ("--shape=28,28,1", "--n=540", "--classes=3")


def test_the_program_draws_into_its_text_and_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for ending, first in ((".svg", b"<svg "), (".PNG", b"\x89PNG")):
        path = tmp_path / f"curve{ending}"
        assert drivers.drive(recommend.main, *_FACTS, "--eps=2", f"--curve={path}") == 0
        assert path.read_bytes().startswith(first)
        said = capsys.readouterr().out
        assert f"written: {path}" in said
        assert "epsilon 2: about 84 %, 4 of 5 such sets" in said
        assert "4 of 5 such sets 71 to 92 %" in said
    for flag, why in (
        (f"--curve={tmp_path / 'curve.svg'}", "is there already"),
        (f"--curve={tmp_path / 'x.pdf'}", "ends in .svg or .png"),
        (f"--curve={tmp_path / 'none' / 'x.svg'}", "No such file"),
    ):
        drivers.assert_refused(recommend.main, capsys, why, *_FACTS, flag)
    many = ("--shape=28,28,1", "--n=540", "--classes=300")
    assert drivers.drive(recommend.main, *many) == 0
    assert "no curve over epsilon: no measured set" in capsys.readouterr().out
    flag = f"--curve={tmp_path / 'many.svg'}"
    drivers.assert_refused(recommend.main, capsys, "so many classes", *many, flag)


def test_a_table_without_classes_has_something_expected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = {name: {"type": "numeric", "lower": 0, "upper": 9} for name in "abcd"}
    (tmp_path / "t.json").write_text(str({"columns": columns}).replace("'", '"'))
    rows = "\n".join(f"{i % 9},{i % 7},{i % 5},{i % 3}" for i in range(300))
    (tmp_path / "t.csv").write_text(f"a,b,c,d\n{rows}\n")
    flags = (f"--csv={tmp_path / 't.csv'}", f"--schema={tmp_path / 't.json'}")
    assert drivers.drive(recommend.main, *flags) == 0
    said = capsys.readouterr().out
    assert re.search(
        r"mean overlap of pairs of columns \(1 - total variation distance .+\) about \d+ %", said
    )
    assert "overlap of pairs in %, over epsilon" in said
