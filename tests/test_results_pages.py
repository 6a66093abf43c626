"""The pages and `jaxdp recommend` have what the stored results say, and tables nothing else."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pytest

from benchmarks.pages import __main__ as pages
from benchmarks.pages import chosen, distilled, generated, points, records, speed, stored, text

ROOT = Path(__file__).parents[1]
MODULES = (chosen, distilled, generated, records, speed)


@pytest.fixture(scope="module")
def written() -> dict[Path, str]:
    return pages.files()


@pytest.mark.parametrize("path", [points.FILE, *pages.PAGES], ids=lambda path: path.name)
def test_a_file_is_as_the_stored_results_write_it(path: Path, written: dict[Path, str]) -> None:
    assert path.read_text() == written[path], "write it anew: make results"


def named() -> set[tuple[str, str]]:
    """Return module and function of every block."""
    return {
        (found[2], found[3])
        for path in pages.PAGES
        for found in pages.BLOCK.finditer(path.read_text())
    }


def test_all_tables_of_results_are_blocks() -> None:
    """So no figure of a table is typed, and the other two pages type none at all."""
    for name in ("README.md", "docs/results.md", "docs/which.md"):
        kept = pages.BLOCK.sub("", (ROOT / name).read_text())
        tables = [line for line in kept.splitlines() if line.startswith("|")]
        assert not any(re.search(r"\d\.\d", line) for line in tables), name


def test_every_block_that_is_defined_is_on_a_page() -> None:
    for module in MODULES:
        given = {
            name
            for name, function in inspect.getmembers(module, inspect.isfunction)
            if function.__module__ == module.__name__
            and not name.startswith("_")
            and not inspect.signature(function).parameters
        }
        room = module.__name__.rpartition(".")[2]
        assert given == {function for place, function in named() if place == room}


# --- What blocks are made of -------------------------------------------------------------------


def a_run(folder: Path, seed: int, **metrics: object) -> None:
    run = folder / f"a_{seed}"
    run.mkdir(parents=True)
    config = {"dataset": "mnist", "ipc": 10, "eps": 0.999937, "clip_norm": 0.02, "bounded": True}
    (run / "config.json").write_text(json.dumps(config))
    (run / "metrics.json").write_text(json.dumps(metrics))


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(stored, "RESULTS", tmp_path)
    return tmp_path


def test_figures_are_means_over_runs_and_deviations_those_of_a_sample(results: Path) -> None:
    for seed, accuracy in enumerate((0.9, 0.92, 0.97)):
        a_run(results / "method", seed, accuracy={"cnn": {"mean": accuracy}})
    (results / "method/a_1/judged.txt").write_text("# by hand\nwide: accuracy 0.955, 12 s\n")
    runs = stored.Runs("method/a_?")
    assert runs.mean("accuracy.cnn.mean") == pytest.approx(0.93)
    assert runs.deviation("accuracy.cnn.mean") == pytest.approx(0.036056, abs=1e-6)
    assert runs.values("judged.wide") == [0.955]
    assert stored.Runs("method/a_[12]").values("accuracy.cnn.mean") == [0.92, 0.97]
    with pytest.raises(LookupError, match="krr is in no"):
        runs.values("krr")
    with pytest.raises(LookupError, match="no stored run is called method/b_"):
        stored.Runs("method/b_?")


def test_a_command_is_that_of_its_run(results: Path) -> None:
    a_run(results / "method", 0)
    given = stored.Runs("method/a_0", "--clip_norm=0.02 --bounded --newer=1")
    assert given.command == "--dataset=mnist --ipc=10 --eps=1 --clip_norm=0.02 --bounded --newer=1"
    for flags in ("--clip_norm=0.03", "--bounded=False", "--dataset=cifar10"):
        with pytest.raises(ValueError, match="the run has"):
            stored.Runs("method/a_0", flags)


def test_tables_of_text_and_of_lines_are_read(results: Path) -> None:
    (results / "a.txt").write_text(
        "# command: python x.py\n#\n# run   said\n# 1     two words   3\n# 2  x\n#\n# not\n"
        '{"case": "a", "n": 1}\n{"case": "b", "n": 2}\n{"case": "a", "n": 3}\nMNIST, 300   7\n'
    )
    assert list(stored.lines("a.txt", "run")) == [["1", "two words", "3"], ["2", "x"]]
    assert list(stored.lines("a.txt")) == [["MNIST, 300", "7"]]
    assert {case: record["n"] for case, record in stored.cases("a.txt").items()} == {"a": 1, "b": 2}


def test_figures_are_rounded_once_and_compared_as_they_are_printed() -> None:
    assert text.percent(0.98216) == "98.2"
    assert [text.significant(x) for x in (237.4, 30.39, 0.0164, 8.22, 9.96)] == [
        *("237", "30", "0.016", "8.2", "10")
    ]
    assert text.above("77.1 / 78.4", "76.6 / 78.4") == "**77.1** / 78.4"
    assert text.above("98.2 (0.1)", "97.1") == "**98.2 (0.1)**"
    assert text.table([1], {"a": str, "b": lambda row: ""}) == "| a | b |\n|---|---|\n| 1 | |"
