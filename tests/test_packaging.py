"""What is built from a checkout: the library and its program, which run outside of it."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_OLDEST_SETUPTOOLS = 77


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a wheel that was built offline, in a copy of the checkout."""
    try:
        found = int(importlib.metadata.version("setuptools").split(".")[0])
    except importlib.metadata.PackageNotFoundError:
        found = 0
    if found < _OLDEST_SETUPTOOLS:
        pytest.skip(f"needs setuptools {_OLDEST_SETUPTOOLS}")
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "checkout"
    for room in ("jaxdp", "experiments", "tests", "benchmarks", "docs"):
        ignored = shutil.ignore_patterns("__pycache__", "results")
        shutil.copytree(ROOT / room, copy / room, ignore=ignored)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, copy)
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", str(copy)]
    offline = ["--no-deps", "--no-build-isolation", "--no-index", f"--wheel-dir={folder}"]
    done = subprocess.run(
        [*command, *offline],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel] = folder.glob("*.whl")
    return wheel


@pytest.fixture
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.mark.slow
def test_the_package_holds_the_library_and_nothing_else(names: set[str]) -> None:
    """A package named `experiments` would be in the way of its user's own."""
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"jaxdp"}


@pytest.mark.slow
def test_the_package_holds_all_of_the_library(names: set[str]) -> None:
    files = [path for path in (ROOT / "jaxdp").rglob("*") if path.is_file()]
    ours = {str(path.relative_to(ROOT)) for path in files if path.suffix != ".pyc"}
    assert {name for name in names if name.startswith("jaxdp/")} == ours
    assert "jaxdp/py.typed" in ours
    assert "jaxdp/__init__.pyi" in ours


@pytest.mark.slow
def test_the_wheel_works_outside_of_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """Its dependencies are those of this environment: nothing is fetched."""
    target, work = tmp_path / "installed", tmp_path / "work"
    work.mkdir()
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", str(wheel)]
    subprocess.run(
        [*command, "--no-deps", "--no-index", f"--target={target}"], check=True, capture_output=True
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(target),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=work, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    jaxdp = str(target / "bin" / "jaxdp")
    few = ("--steps=3", "--distill_steps=2", "--whiten=0", "--ipc=1", "--out_dir=run")
    assert "MAY BE RELEASED" in run(jaxdp, "images", "digits", *few)
    run(jaxdp, "pack", "run", "-o", "run.zip")
    told = run(
        *(sys.executable, "-c"),
        "import jaxdp; found = jaxdp.load('run.zip'); print(jaxdp.__file__);"
        "print(found.predict(found.x.clip(0, 16).round()).shape)",
    )
    assert told == f"{target / 'jaxdp' / '__init__.py'}\n(10,)\n"


@pytest.mark.slow
def test_the_index_can_show_what_the_wheel_says(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = archive.read(name).decode()
    head, _, description = metadata.partition("\n\n")
    assert "License-Expression: Apache-2.0" in head
    assert "License-File: LICENSE" in head
    assert "License :: " not in head  # an index refuses both
    assert not re.search(r"\]\((?!https://)", description), "a link that leads nowhere"


def test_the_default_path_needs_no_heavy_reader() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.split(r"[<>=\[; ]", each)[0] for each in project["dependencies"]}
    assert not needed & {"tensorflow-datasets", "array_record", "pyarrow", "torch", "pydicom"}
    code = (
        "import sys, jaxdp\n"
        "heavy = {'jax', 'numpy', 'absl', 'orbax', 'matplotlib', 'tensorflow_datasets', 'pandas'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_every_dependency_has_a_lowest_and_a_highest_version() -> None:
    """RELEASING.md says how both were tried; a new major version of another project may differ."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for each in project["dependencies"]:
        assert re.fullmatch(r"[a-z-]+>=[0-9.]+,<[0-9.]+", each), each


def test_this_environment_is_within_the_ranges() -> None:
    requirements = pytest.importorskip("packaging.requirements")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for each in map(requirements.Requirement, project["dependencies"]):
        found = importlib.metadata.version(each.name)
        assert each.specifier.contains(found, prereleases=True), f"{each}: {found} is installed"
