"""What is built from a checkout holds the library alone."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_OLDEST_SETUPTOOLS = 68


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the names in a wheel that was built offline, in a copy of the checkout."""
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
