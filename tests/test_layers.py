"""Who may import whom: privacy-critical code stays where its auditor looks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = {
    "plain_numbers": -1,
    "tables": 0,
    "data": 1,
    "new_files": 0,
    "numerics": 0,
    "escapes": 0,
    "large_arrays": 0,
    "rows": 0,
    "devices": 1,
    "processes": 1,
    "images": 1,
    "networks": 1,
    "kernels": 2,
    "features": 2,
    "privacy": 2,
    "bought": 3,
    "methods": 3,
    "saved": 4,
    "program": 5,
    "__main__": 6,
}
FILES = sorted(path for room in ("jaxdp", "experiments") for path in (ROOT / room).rglob("*.py"))


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


NAMES = {name_of(path) for path in FILES}


def imported(path: Path) -> Iterator[str]:
    """Yield the modules of ours that a file imports, inside of functions, too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in NAMES)
        elif isinstance(node, ast.ImportFrom) and node.module in NAMES:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in NAMES else node.module


COMBINATIONS = {"jaxdp.methods.dp_ntk.labels": "teacher"}
"""A part of a method that uses another one, under one ledger."""


def of_one_method(name: str, other: str) -> bool:
    """Whether two files are of the same method; `jaxdp.methods.base` and its like are of none."""
    part = ".".join(name.split(".")[:4])
    if name.count(".") > 2 and other.split(".")[2] == COMBINATIONS.get(part):
        return True
    return name.count(".") > 2 and name.split(".")[2] == other.split(".")[2]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_import_from_lower_layers_alone(path: Path) -> None:
    name = name_of(path)
    room = name.split(".")[1] if "." in name else ""
    for other in imported(path):
        if not name.startswith("jaxdp."):
            continue
        assert not other.startswith("experiments"), other  # scripts alone
        if other == "jaxdp":
            continue
        theirs = other.split(".")[1]
        if room == theirs == "methods":
            assert other.count(".") == 2 or of_one_method(name, other), f"{name} imports {other}"
        elif room != theirs:
            assert LAYERS[theirs] < LAYERS[room], f"{name} imports {other}"


def test_no_file_imports_itself_by_way_of_others() -> None:
    arrows = {name_of(path): set(imported(path)) for path in FILES}
    while arrows:  # take away what imports nothing that is left
        ends = {name for name, others in arrows.items() if not others & arrows.keys() - {name}}
        assert ends, f"these import each other: {sorted(arrows)}"
        arrows = {name: others for name, others in arrows.items() if name not in ends}


METHODS = ROOT / "jaxdp" / "methods"


PRIVATE_SIDE = (
    *("release.py", "clipped/*.py"),
    *("teacher/classifier.py", "teacher/feature_mean.py", "teacher/probabilities.py"),
)
"""What sees private rows, or is called with them."""
PLANNING = ("plan.py", "planning.py", "mechanisms.py", "settings.py", "earlier.py")
"""What computes with public numbers of a guarantee; a plan hands private rows on."""


def in_methods(*patterns: str) -> set[Path]:
    """Return the files of methods at some places, such as `release.py` of each."""
    found = {path for pattern in patterns for path in METHODS.glob(f"*/**/{pattern}")}
    return found | {path for pattern in patterns for path in METHODS.glob(pattern)}


def test_post_processing_imports_neither_the_private_side_nor_its_tools() -> None:
    """Every file of a method is that which is neither of the private side nor of planning."""
    others = in_methods(*PRIVATE_SIDE, *PLANNING)
    files = [path for path in METHODS.glob("*/**/*.py") if path not in others]
    assert {"finish.py", "candidates.py", "targets.py", "makers.py"} <= {p.name for p in files}
    for path in files:
        assert "Private" not in names_in(path), path
        for other in imported(path):
            assert not other.startswith("jaxdp.privacy"), f"{path}: {other}"
            assert not other.endswith((".release", ".classifier")), f"{path}: {other}"


READERS = ROOT / "jaxdp" / "program" / "data"
PRIVATE_ROWS = {"x_train", "y_train", "private"}
"""Names by which the program has private rows."""
TAKES_ROWS = {
    "runs/driver.py": "hands them to a release",
    "runs/ceiling.py": "learns of them without noise, not for release",
    "runs/judging.py": "compares with them what was made, not for release",
}


def test_the_program_takes_private_rows_in_readers_and_three_files_alone() -> None:
    """A new file of the program is post-processing until it stands here with a reason."""
    program = ROOT / "jaxdp" / "program"
    for path in program.rglob("*.py"):
        if READERS in path.parents:
            continue
        uses = {
            node.attr
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Attribute) and node.attr in PRIVATE_ROWS
        }
        assert not uses or str(path.relative_to(program)) in TAKES_ROWS, f"{path}: {uses}"
    for name in TAKES_ROWS:
        assert (program / name).exists(), name


def test_the_library_knows_nothing_of_the_program() -> None:
    for path in FILES:
        name = name_of(path)
        if not name.startswith(("jaxdp.program", "jaxdp.__main__", "experiments")):
            found = [other for other in imported(path) if other.startswith("jaxdp.program")]
            assert not found, f"{name}: {found}"


def names_in(path: Path) -> list[str]:
    return [node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)]


def test_private_data_are_taken_by_releases_and_handed_on_by_plans_alone() -> None:
    """Privacy-critical code is in `jaxdp.privacy`, and in `release.py` of each method."""
    plans, releases = set(METHODS.glob("*/**/plan.py")), set(METHODS.glob("*/**/release.py"))
    handing_on = {METHODS / "base.py", METHODS / "runner.py", *plans}
    takers = {path for path in METHODS.rglob("*.py") if "Private" in names_in(path)}
    assert takers - handing_on == releases
    for path in plans:
        uses = names_in(path).count("private")
        handed = [
            argument
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".release")
            for argument in node.args
            if ast.unparse(argument) == "private"
        ]
        assert uses == len(handed) == 1, f"{path}: private data are used {uses} times"


def auditors_files() -> set[Path]:
    """Return what the table of docs/guarantee.md names: files, and those of folders."""
    page = (ROOT / "docs" / "guarantee.md").read_text()
    table = page.split("### Where the code is that an auditor reads")[1].split("### ")[0]
    found = set[Path]()
    for code in re.findall(r"`(jaxdp/[\w./*]+)`", table):
        named = list(ROOT.glob(code))
        assert named, code
        found |= {
            each for path in named for each in (path.rglob("*.py") if path.is_dir() else [path])
        }
    return found


def test_the_auditors_table_names_every_file_that_takes_private_rows() -> None:
    takers = {path for path in FILES if "Private" in names_in(path)}
    takers |= set(READERS.glob("*.py")) | in_methods(*PRIVATE_SIDE)
    takers |= {ROOT / "jaxdp" / "program" / name for name in TAKES_ROWS}
    loaders = ("dataset_for", "load_dataset", "read_table", "header")
    takers |= {
        path
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in loaders
    }
    assert takers - auditors_files() == set()


def test_flax_is_imported_by_networks_alone() -> None:
    for path in FILES:
        name = name_of(path)
        if name.startswith("jaxdp.") and not name.startswith("jaxdp.networks"):
            assert "import flax" not in path.read_text(), name
