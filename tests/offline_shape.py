"""Measure the shape of the code: files, members of a plan, flags, branches that ask for a kind.

    python tests/offline_shape.py
    python tests/offline_shape.py --before=COMMIT       # beside that of another version
    python tests/offline_shape.py --out=FILE

All but the last rows is read off the text, and these watch a run (`offline_moves.py`): a checkout
of any version can be measured.
"""

import argparse
import ast
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

import offline_moves  # noqa: E402
from support import results_file  # noqa: E402

_KINDS = {"is_image", "is_table", "schema"}
_DATASETS = {"digits", "mnist", "fashion_mnist", "cifar10", "cifar100", "svhn_cropped"}
_METHODS = {"teacher", "dp_kip", "dp_ntk", "labelled"}  # the last one of earlier versions
_ROOMS = ("jaxdp", "experiments")


def files_of(root: Path) -> list[Path]:
    """Return the Python files that are not tests or benchmarks."""
    return sorted(path for room in _ROOMS for path in (root / room).rglob("*.py"))


def lines_in(paths: list[Path]) -> int:
    """Return how many lines files have."""
    return sum(len(path.read_text().splitlines()) for path in paths)


def members(path: Path, name: str) -> set[str]:
    """Return the public names that a class of a file has."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef) and node.name == name:
            for each in node.body:
                if isinstance(each, ast.FunctionDef):
                    found.add(each.name)
                elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                    found.add(each.target.id)
    return {name for name in found if not name.startswith("_")}


def overrides(root: Path, base: set[str]) -> int:
    """Return how often plans of methods define a member of the plan that all share."""
    found = 0
    for path in (root / "jaxdp" / "methods").glob("*/plan.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found += len(members(path, node.name) & base)
    return found


def tests_in(paths: list[Path]) -> Iterator[tuple[Path, ast.expr]]:
    """Yield what branches ask."""
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.If | ast.IfExp | ast.While):
                yield path, node.test


def asks_for_kind(test: ast.expr) -> bool:
    """Whether a branch asks which kind of data there is."""
    named = {node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)}
    return bool(named & _KINDS)


def asks_for_method(test: ast.expr) -> bool:
    """Whether a branch compares with the name of a method."""
    texts = [
        node.value
        for each in ast.walk(test)
        if isinstance(each, ast.Compare)
        for node in ast.walk(each)
        if isinstance(node, ast.Constant)
    ]
    return any(text in _METHODS for text in texts if isinstance(text, str))


def choices(paths: list[Path]) -> int:
    """Return how often a kind of data chooses among values that are given for each."""
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text()))]
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    return sum(isinstance(each, ast.Attribute) and each.attr == "choose" for each in called)


def names_of_datasets(root: Path) -> int:
    """Return how often methods name a dataset, but for the file of presets."""
    paths = [p for p in (root / "jaxdp" / "methods").rglob("*.py") if p.name != "presets.py"]
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text()))]
    return sum(isinstance(node, ast.Constant) and node.value in _DATASETS for node in nodes)


def dependencies(root: Path) -> int:
    """Return how many packages an installation needs."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return len(project["dependencies"])


def measured(root: Path) -> list[list[object]]:
    """Return rows of what is measured, and the number."""
    files = files_of(root)
    plan = members(root / "jaxdp" / "methods" / "base.py", "Plan")
    program = [path for path in files if {"program", "experiments"} & set(path.parts)]
    kinds = [path for path, test in tests_in(files) if asks_for_kind(test)]
    methods = [path for path, test in tests_in(program) if asks_for_method(test)]
    return [
        ["files in jaxdp and experiments", len(files)],
        ["lines in them", lines_in(files)],
        ["lines in experiments", lines_in([p for p in files if "experiments" in p.parts])],
        ["members of Plan", len(plan)],
        ["definitions of these in plans of methods", overrides(root, plan)],
        ["branches that ask for the kind of data", len(kinds)],
        ["files that have them", len(set(kinds))],
        ["choices of one value for each kind", choices(files)],
        ["branches of the program on a method's name", len(methods)],
        ["names of datasets in settings", names_of_datasets(root)],
        ["packages that an installation needs", dependencies(root)],
        *(
            [f"functions that are handed private examples, {method}", count]
            for method, count in offline_moves.counts(root).items()
        ),
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", help="a commit to compare with")
    parser.add_argument("--out", help="also write the table into this file")
    options = parser.parse_args()
    rows, names = measured(ROOT), ["what", "number"]
    if options.before is not None:
        with tempfile.TemporaryDirectory() as folder:
            _git("clone", "--quiet", "--no-checkout", str(ROOT), folder)
            _git("-C", folder, "checkout", "--quiet", options.before)
            before = measured(Path(folder))
        names = ["what", options.before, "now"]
        rows = [[*old, new[1]] for old, new in zip(before, rows, strict=True)]
    print(results_file.table(names, rows, options.out), end="")


def _git(*words: str) -> None:
    subprocess.run(["git", *words], check=True)


if __name__ == "__main__":
    main()
