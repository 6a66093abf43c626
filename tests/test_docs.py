"""The pages build into a site without a warning, and what they say can be run."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import json
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from absl import flags
from absl.testing import flagsaver

import jaxdp
from jaxdp.methods.settings import rules
from jaxdp.program import chosen, main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "RELEASING.md")),
    *sorted(DOCS.rglob("*.md")),
]
DRIVERS = (
    *("dp_kip", "dp_kip_teacher", "dp_ntk", "marginals"),
    *(command.module for name, command in main.COMMANDS.items() if name != "run"),
)
RUN_ELSEWHERE = (
    *(DOCS / name for name in ("own_images.md", "own_tables.md")),
    *(DOCS / "notebooks").glob("*.md"),
)
"""Pages whose commands and Python are one session, which other tests run."""
SCRIPTS = [
    *sorted((ROOT / "benchmarks").glob("[!_]*.py")),
    *sorted((ROOT / "tests").glob("offline_*.py")),
    ROOT / "tests" / "ui" / "pictures.py",
]
METHODS = [f"methods.{name}" for name in ("dp_kip", "dp_ntk", "marginals", "teacher")]
ROOMS = [*(name for name in jaxdp.__all__ if inspect.ismodule(getattr(jaxdp, name))), *METHODS]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


def blocks(page: Path, language: str) -> Iterator[str]:
    """Yield a page's blocks of code in a language, after as many empty lines as are above."""
    text = page.read_text()
    for block in _FENCE.finditer(text):
        if block[1] == language:
            yield "\n" * text[: block.start(2)].count("\n") + block[2]


def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return _FENCE.sub("", page.read_text())


# --- The site ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("mkdocs", "material", "mkdocstrings_handlers", "jupytext", "nbconvert"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f'{name} is not installed: pip install -e ".[docs]"')
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", f"--site-dir={folder}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class _Parts(HTMLParser):
    """What a page loads, and the places in it that can be linked to."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: set[str] = set()
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids.add(values.get("id", ""))
        if tag != "a":  # what a reader follows is not loaded
            self.loaded |= {values.get("src", ""), values.get("href", "")}


def parts_of(page: Path) -> _Parts:
    parts = _Parts()
    parts.feed(page.read_text())
    return parts


def test_the_site_has_every_page_and_loads_nothing_from_elsewhere(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        built = site / page.relative_to(DOCS).with_suffix(".html")
        outside = {url for url in parts_of(built).loaded if url.startswith(("http", "//"))}
        assert not outside, built


def test_the_site_has_a_notebook_of_every_script(site: Path) -> None:
    for script in (DOCS / "notebooks").glob("*.py"):
        made = json.loads((site / "notebooks" / f"{script.stem}.ipynb").read_text())
        cells = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
        assert len(cells) == script.read_text().count("\n# %%\n") + 1  # that of the parameters
        assert all("".join(cell["source"]) in script.read_text() for cell in cells)
        assert not any(cell["outputs"] for cell in cells)


@pytest.mark.parametrize("room", ROOMS)
def test_the_site_has_every_public_name_of_a_room(site: Path, room: str) -> None:
    page = f"api/{room.removeprefix('methods.')}"
    missing = public_names(f"jaxdp.{room}") - parts_of(site / f"{page}.html").ids
    assert not missing, f"add these to docs/{page}.md"


@pytest.mark.parametrize("room", ROOMS)
def test_the_first_page_of_the_library_names_every_room(room: str) -> None:
    name, page = f"jaxdp.{room}", room.removeprefix("methods.")
    assert f"| [{name}]({page}.md) | " in (DOCS / "api" / "index.md").read_text()


def test_docstrings_of_the_library_name_every_room_and_method() -> None:
    for name in jaxdp.__all__:
        assert f"jaxdp.{name}" in str(jaxdp.__doc__), name
    for method in ("teacher", "dp_kip", "dp_ntk", "marginals"):
        for told in (jaxdp.__doc__, jaxdp.methods.__doc__, jaxdp.run.__doc__):
            assert method in str(told), method


def public_names(room: str) -> set[str]:
    """Return all that a room gives, and what else its modules define."""
    module = importlib.import_module(room)
    if not hasattr(module, "__all__"):
        return defined(module)
    values = {name: getattr(module, name) for name in module.__all__}
    # Packages in a room are rooms of their own.
    names = {f"{room}.{name}" for name, value in values.items() if not hasattr(value, "__path__")}
    given = list(values.values())
    for part in filter(inspect.ismodule, given):
        names |= {name for name in defined(part) if pkgutil.resolve_name(name) not in given}
    return names


def defined(module: ModuleType) -> set[str]:
    """Return the functions and classes of a module."""
    return {
        f"{module.__name__}.{name}"
        for name, value in vars(module).items()
        if (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == module.__name__
        and not name.startswith("_")
    }


# --- Code --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("few_public_images")
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(blocks(page, "python")) and page not in RUN_ELSEWHERE],
    ids=name_of,
)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page are one session; what is distilled in it stays near its start."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "jaxdp.methods.teacher.defaults._distillation", lambda ipc, layered: (3, 0.05)
    )
    session: dict[str, object] = {}
    with flagsaver.flagsaver():
        for block in blocks(page, "python"):
            exec(compile(block, str(page), "exec"), session)


@every_page
def test_blocks_say_their_language(page: Path) -> None:
    assert {block[1] for block in _FENCE.finditer(page.read_text())} <= {"python", "bash", "json"}


@functools.cache
def driver_flags(driver: str) -> dict[str, flags.Flag]:
    module = importlib.import_module(f"jaxdp.program.commands.{driver}")
    kinds = [*module.KINDS]
    if driver in ("images", "table"):
        kinds += [kind for method in chosen.METHODS.values() for kind in method]
    return {name: flags.FLAGS[name] for kind in kinds for name in rules(kind)}


def script_flags(script: Path) -> set[str]:
    """Return the flags of a script of ours, and those that benchmarks share."""
    text = script.read_text()
    if script.parent.name == "benchmarks":
        text += (ROOT / "benchmarks" / "_harness.py").read_text()
    return set(re.findall(r'add_argument\(\s*"--(\w+)"', text))


def as_script(module: str) -> Path:
    return ROOT / f"{module.replace('.', '/')}.py"


def check_driver_flag(driver: str, word: str) -> None:
    """Check that a driver has a flag, and that a value is of its type."""
    known = driver_flags(driver)
    name, has_value, value = word.removeprefix("--").partition("=")
    if name == "help":
        return
    if not has_value and name.startswith("no") and name[2:] in known:
        name = name[2:]
    assert name in known, f"experiments.{driver} has no flag {word}"
    if has_value:
        known[name].parser.parse(value)
    else:
        assert known[name].boolean, f"{word} needs a value"


def check_arguments(driver: str, words: list[str]) -> None:
    module = importlib.import_module(f"jaxdp.program.commands.{driver}")
    short = [number for number, word in enumerate(words) if word == "-o"]
    words = [word for number, word in enumerate(words) if number not in short]
    files = [word for word in words if not word.startswith("-")]
    assert not short or "out" in driver_flags(driver)
    most = len(short) + (99 if hasattr(module, "TAKES_FILES") else hasattr(module, "TAKES"))
    assert len(files) <= most, words
    for word in words:
        if word not in files:
            check_driver_flag(driver, word)


def check_command(line: str) -> None:
    """Check that what a command names is there: a driver, a script, a target or an extra."""
    words = shlex.split(line, comments=True)
    while words and re.match(r"[A-Z_]+=", words[0]):
        words = words[1:]
    match words:
        case ["make", *targets]:
            known = re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
            assert {target for target in targets if "=" not in target} <= set(known), line
        case ["python", "-m", module, *arguments] if as_script(module) in SCRIPTS:
            check_command(shlex.join(["python", str(as_script(module)), *arguments]))
        case ["jaxdp"] | ["jaxdp", "run" | "--help" | "--version"]:
            pass
        case ["jaxdp", *arguments]:
            driver, arguments, _ = main.resolved(arguments)
            check_arguments(driver, arguments)
        case ["python", "-m", module, *arguments]:
            assert module.removeprefix("experiments.") in DRIVERS, line
            check_arguments(module.removeprefix("experiments."), arguments)
        case ["python", script, *names] if (ROOT / script).is_relative_to(DOCS):
            assert (ROOT / script).is_file(), line
            assert set(names) <= {
                "NAME",
                *(path.stem for path in (DOCS / "notebooks").glob("*.py")),
            }
        case ["python", script, *arguments]:
            assert ROOT / script in SCRIPTS, line
            names = {word.removeprefix("--").partition("=")[0] for word in arguments}
            assert names <= script_flags(ROOT / script), line
        case ["pip", "install", "."] | ["pip", "wheel", "--no-deps", "."]:
            pass
        case ["pip", "install", "-e", package] | ["pip", "install", package]:
            project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
            assert package.strip(".[]") in project["optional-dependencies"], line
        case ["source", ".venv/bin/activate"] | []:
            pass
        case _:
            pytest.fail(f"a command of another kind: {line}")


@every_page
def test_commands_exist(page: Path) -> None:
    for block in blocks(page, "bash"):
        for line in block.replace("\\\n", " ").splitlines():
            check_command(line)
    for code in _CODE.findall(prose(page)):
        if re.match(r"([A-Z_]+=\S* )*(make|python|pip|jaxdp) ", code):
            check_command(code)


@every_page
def test_flags_exist(page: Path) -> None:
    """Those of a table whose heading names a driver are that driver's."""
    drivers: tuple[str, ...] = DRIVERS
    for line in prose(page).splitlines():
        if not line.startswith("|"):
            drivers = DRIVERS
        elif named := re.search(r"\(`jaxdp ([\w ]+)`", line):
            drivers = (main.resolved(named[1].split())[0],)
        for code in _CODE.findall(line):
            for word in re.findall(r"(?<!\S)--\w+", code):
                check_flag(word.removeprefix("--"), drivers)


def check_flag(name: str, drivers: tuple[str, ...]) -> None:
    known = set().union(*map(driver_flags, drivers)) | {"help"}
    if drivers == DRIVERS:
        known |= set().union(*map(script_flags, SCRIPTS))
    assert name in known or name.removeprefix("no") in known, f"{drivers}: --{name}"


@every_page
def test_files_and_names_exist(page: Path) -> None:
    for code in _CODE.findall(prose(page)):
        if re.fullmatch(r"(jaxdp|experiments|benchmarks|tests|docs)/[\w./*-]*", code):
            assert list(ROOT.glob(code)), code
        elif re.fullmatch(r"(jaxdp|experiments)(\.\w+)+", code):
            pkgutil.resolve_name(code)


# --- Links and figures -------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    headings = _HEADING.findall(prose(page))
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading.lower())) for heading in headings}


@every_page
def test_links_point_to_files_and_headings(page: Path) -> None:
    for link in _LINK.findall(_CODE.sub("", prose(page))):
        if link.startswith("https://"):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if target.suffix == ".ipynb":  # the site gets them of their scripts
            target = target.with_suffix(".py")
        assert target.is_file(), link
        assert target.is_relative_to(DOCS if page.is_relative_to(DOCS) else ROOT), link
        assert not anchor or anchor in anchors(target), link


def test_pictures_are_those_of_published_runs() -> None:
    """The site needs them beside its pages. Those of the local page are made by a script."""
    published = {path.read_bytes() for path in (ROOT / "benchmarks/results").rglob("*.png")}
    pictures = list((DOCS / "images").iterdir())
    assert pictures
    of_page = {picture for picture in pictures if picture.name.startswith("ui_")}
    assert all(picture.read_bytes() in published for picture in {*pictures} - of_page)
    assert all(picture.name in (ROOT / "tests/ui/pictures.py").read_text() for picture in of_page)
    assert all(picture.stat().st_size < 150_000 for picture in of_page)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_the_citation_names_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == jaxdp.__version__
    assert cited["license"] == "Apache-2.0"
