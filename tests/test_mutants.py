"""The catalogue of planted bugs fits the code: what `make mutants` runs, checked in a second."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import mutants
import planted_bugs
import pytest
from planted_bugs import MUTANTS
from planted_bugs.mutant import Mutant

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_bug_fits_the_code_and_its_tests_exist(mutant: Mutant) -> None:
    before = (ROOT / mutant.file).read_text()
    after = mutants.planted(before, mutant)
    assert ast.dump(ast.parse(after)) != ast.dump(ast.parse(before))
    assert mutant.tests
    for test in mutant.tests:
        file, name = test.split("::")
        assert f"\ndef {name.split('[')[0]}(" in (ROOT / file).read_text(), test


def test_there_are_many_bugs_and_each_has_a_name_of_its_own() -> None:
    assert len(MUTANTS) >= 350
    assert max(Counter(mutant.name for mutant in MUTANTS).values()) == 1
    assert max(Counter((m.file, m.old, m.new) for m in MUTANTS).values()) == 1


def test_the_page_on_the_guarantee_counts_them() -> None:
    page = (ROOT / "docs" / "guarantee.md").read_text()
    assert f"plants {len(MUTANTS)} bugs in the code" in page
    themes = [each for each in vars(planted_bugs).values() if hasattr(each, "MUTANTS")]
    for theme in themes:
        told = str(theme.__doc__).strip().rstrip(".").removeprefix("Bugs of ")
        assert f"\n| {told} | {len(theme.MUTANTS)} |\n" in page, theme.__name__
    assert sum(len(theme.MUTANTS) for theme in themes) == len(MUTANTS)


def test_a_stale_bug_is_an_error() -> None:
    stale = Mutant("stale", "README.md", "there once", "twice", ())
    for text in ("nowhere", "there once, there once"):
        with pytest.raises(ValueError, match="not once"):
            mutants.planted(text, stale)


@pytest.mark.parametrize(
    ("code", "output", "verdict"),
    [
        (0, "1 passed", "SURVIVED"),
        (1, "FAILED tests/test_x.py::test_y - AssertionError", "caught"),
        (1, "ERROR tests/test_x.py::test_y - ValueError", "caught"),
        (1, "FAILED tests/test_x.py::test_y - NameError: name 'z'", "BROKEN"),
        (2, "ERROR tests/test_x.py - SyntaxError", "BROKEN"),
        (4, "no such test", "BROKEN"),
        (5, "no tests ran", "BROKEN"),
        (None, "", "SURVIVED"),
    ],
)
def test_only_a_test_that_fails_has_caught_a_bug(
    code: int | None, output: str, verdict: str
) -> None:
    assert mutants._judged(MUTANTS[0], code, output).verdict == verdict
