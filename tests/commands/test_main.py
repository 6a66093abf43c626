"""`jaxdp COMMAND`: what is there, what help says, and how a wrong word ends."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from jaxdp.program import help_text, main

ROOT = Path(__file__).parents[2]
EVERY = [*main.METHODS.values(), *(c for name, c in main.COMMANDS.items() if name != "run")]
MOST_USUAL = 34
"""Flags of a method in its short help; the issue was that all of them were shown."""


def ended(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main.main(words)
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"], ["help"]])
def test_usage_names_every_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ended(words, capsys)
    assert (code, err) == (0, "")
    for name, command in main.COMMANDS.items():
        assert f"  {name} " in out
        assert command.about in out


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    version = importlib.metadata.version("jaxdp-toolkit")
    assert ended(["--version"], capsys) == (0, f"jaxdp {version}\n", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["clasify"], "error: jaxdp clasify: there is no such command; did you mean classify?\n"),
        (["zzz"], "error: jaxdp zzz: there is no such command; known are demo, images,"),
        (["run", "dpkip"], "error: jaxdp run dpkip: there is no such command; did you mean dp_kip"),
        (["spent", "a", "b"], "error: a: unexpected argument; "),
        (["spent", "--ledgr=a"], "error: --ledgr=a: there is no such flag; did you mean --ledger"),
    ],
)
def test_a_wrong_word_is_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ended(words, capsys)
    assert (code, out) == (2, "")
    assert err.startswith(said)
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", EVERY, ids=lambda command: command.module)
def test_help_has_all_flags_in_groups(command: main.Command) -> None:
    module = importlib.import_module(f"jaxdp.program.commands.{command.module}")
    rules = {name: rule for kind in module.KINDS for name, rule in help_text.rules(kind).items()}
    kind = getattr(module, "KIND", "")
    names = {name for name, rule in rules.items() if not kind or rule.only in ("", kind)}
    whole = help_text.of_command("jaxdp x", module, whole=True)
    short = help_text.of_command("jaxdp x", module, whole=False)
    shown = [line.strip().removeprefix("--") for line in whole.splitlines() if "  --" in line[:5]]
    assert sorted(re.split("[=,]", line)[0] for line in shown) == sorted(names)
    for line in shown:
        name, *other = line.split(", ")
        assert other in ([], [f"--no{name}"]), "a switch is shown in both of its forms"
    assert 0 < sum("  --" in line[:5] for line in short.splitlines()) <= MOST_USUAL
    assert max(map(len, short.splitlines())) <= 110
    assert module.__doc__.splitlines()[0] in short
    assert "jaxdp" in short.split("\n\n")[2]  # an example


def test_help_shows_what_such_data_use() -> None:
    """Flags of images, and their networks, are in no help of tables, and the other way round."""

    def flags_of(name: str) -> tuple[set[str], str]:
        module = importlib.import_module(f"jaxdp.program.commands.{name}")
        text = help_text.of_command("jaxdp x", module, whole=False)
        return set(re.findall(r"^  --(?:\[no\])?(\w+)", text, re.MULTILINE)), text

    of_table, table = flags_of("table")
    of_images, images = flags_of("images")
    assert {"csv", "schema", "target", "num_synthetic", "evaluate"} <= of_table
    assert {"dataset", "image_size", "ipc", "evaluate"} <= of_images
    assert not of_table & {"dataset", "image_size", "ipc", "class_names", "data_dir", "teacher"}
    assert not of_images & {"csv", "schema", "target", "test_csv", "person_column", "counts"}
    for network in ("wrn", "convnet", "inception", "frechet"):
        assert network not in table
        assert network in images
    assert "twelve" in table
    assert "twelve" not in images
    assert "needs --schema" not in table


def test_the_documentation_lists_every_command() -> None:
    text = (ROOT / "docs" / "index.md").read_text()
    listed = dict(re.findall(r"^\| `jaxdp (\w+)` \| (.+) \|$", text, re.MULTILINE))
    assert listed == {name: each.about for name, each in main.COMMANDS.items()}


def test_a_program_takes_no_flags_of_another_one() -> None:
    """In a process of its own, as programs of one process share their flags."""
    words = ["recommend", "--shape=8,8,1", "--n=90", "--classes=2", "--ipc=3"]
    done = subprocess.run(
        [sys.executable, "-m", "jaxdp", *words], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: --ipc=3: there is no such flag")


def test_help_imports_no_jax_and_is_asked_for_anywhere() -> None:
    for words in (["run", "teacher", "--eps=1", "-h"], ["images", "x", "--help"], ["pack", "-h"]):
        code = (
            "import atexit, sys\n"
            "atexit.register(lambda: print('jax' in sys.modules))\n"
            f"from jaxdp.program import main; main.main({words!r})"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("usage: jaxdp ")
        assert done.stdout.endswith("False\n")


def test_a_script_of_a_checkout_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m experiments.NAME` stays, whatever else is there.

    One script is for who builds the package: it trains the encoder that the package has.
    """
    modules = {command.module for command in EVERY}
    scripts = set((ROOT / "experiments").glob("[!_]*.py"))
    scripts.remove(ROOT / "experiments" / "public_encoder.py")
    for path in scripts:
        assert path.stem in modules
        assert f'start("{path.stem}", program="python -m experiments.{path.stem}")' in (
            path.read_text()
        )
        assert len(path.read_text().splitlines()) < 10


def test_the_package_can_be_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["jaxdp", "--version"])
    with pytest.raises(SystemExit):
        runpy.run_module("jaxdp", run_name="__main__")
    assert capsys.readouterr().out.startswith("jaxdp ")
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="jaxdp")
    assert script.load() is main.main
