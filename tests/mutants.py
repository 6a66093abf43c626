"""Mutation testing of all that is privacy-critical: does some test fail for every planted bug?

    make mutants
    python tests/mutants.py --list
    python tests/mutants.py --only=NAME
    python tests/mutants.py --out=benchmarks/results/mutants_cpu.txt

A line of `planted_bugs` is one small bug and the tests that ought to catch it. The bugs are planted
one after the other in a copy of the tree. Each is `caught` when one of its tests fails, or has
`SURVIVED`; then the exit code is 1.

The bugs are written by hand. The random operators of mutmut or cosmic-ray mostly change what no
privacy hangs on, at the price of a run of the tests each, and never plant the mistakes that people
make: noise keyed by the public seed, one of two statistics released without noise, counts in a log,
a stored epsilon that is believed.
"""

import argparse
import concurrent.futures
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from planted_bugs import MUTANTS
from planted_bugs.mutant import Mutant
from support import results_file

ROOT = Path(__file__).resolve().parents[1]
_COPIED = ("jaxdp", "experiments", "tests", "benchmarks", "docs", "pyproject.toml")
_LIMIT_SECONDS, _BASELINE_SECONDS = 300, 3600
_PYTEST = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider")
# A bug that any call of the file would show is none that a test has caught.
_TRIVIAL = ("NameError", "SyntaxError", "ImportError", "ModuleNotFoundError", "UnboundLocalError")


class Outcome(NamedTuple):
    """What became of a mutant: `caught`, `SURVIVED` or `BROKEN`, and by which test or why."""

    verdict: str
    reason: str


class Tree:
    """A copy of the repository in which one mutant at a time is planted."""

    def __init__(self, path: Path) -> None:
        self.path = path / "tree"
        self._compiled = path / "compiled"
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *_COPIED],
            cwd=ROOT,
            check=True,
            capture_output=True,
        ).stdout.decode()
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, self.path / name)

    def run(self, arguments: Sequence[str], *, limit: float) -> tuple[int | None, str]:
        """Run python in the copy; return its exit code, None where it took too long, and output."""
        self._compiled.mkdir(exist_ok=True)
        # Compiled Python is recognised by its second and its size, which a mutant may keep.
        environment = os.environ | {
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLUMNS": "1000",  # or pytest cuts off why a test has failed
            "JAXDP_TESTS_CACHE": str(self._compiled),
        }
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            shutil.rmtree(self._compiled)  # an entry may be half written
            return None, output
        return process.returncode, output

    def require_own_packages(self) -> None:
        """Raise a `RuntimeError` where the copy would test what is installed."""
        code = "import jaxdp, experiments; print(jaxdp.__file__, experiments.__file__)"
        _, output = self.run(["-c", code], limit=_LIMIT_SECONDS)
        if output.count(str(self.path)) != 2:
            raise RuntimeError(f"{self.path} does not import its own packages: {output}")

    def outcome(self, mutant: Mutant) -> Outcome:
        """Plant a mutant, run its tests, and take it out again."""
        path = self.path / mutant.file
        before = path.read_text()
        path.write_text(planted(before, mutant))
        try:
            code, output = self.run([*_PYTEST, *mutant.tests], limit=_LIMIT_SECONDS)
        finally:
            path.write_text(before)
        return _judged(mutant, code, output)


def planted(text: str, mutant: Mutant) -> str:
    """Return a file's text with the mutant in it.

    Raises:
        ValueError: the text that it replaces is not there once.
    """
    count = text.count(mutant.old)
    if count != 1:
        raise ValueError(f"{mutant.name}: {mutant.file} holds its old text {count} times, not once")
    return text.replace(mutant.old, mutant.new)


def _judged(mutant: Mutant, code: int | None, output: str) -> Outcome:
    if code is None:
        verdict = "caught" if mutant.hangs else "SURVIVED"
        return Outcome(verdict, f"no end after {_LIMIT_SECONDS} s")
    if code == 0:
        return Outcome("SURVIVED", ", ".join(mutant.tests))
    failed = re.search(r"^(?:FAILED|ERROR) (.*)$", output, re.MULTILINE)
    said = failed.group(1) if failed else output.strip()[-300:]
    if code != 1 or failed is None or any(f"- {name}" in said for name in _TRIVIAL):
        return Outcome("BROKEN", f"pytest ended with {code}: {said}")
    return Outcome("caught", said)


def _require_passing(trees: Sequence[Tree], mutants: Sequence[Mutant]) -> None:
    """End the program where a test fails without any mutant: it would catch everything."""
    tests = list(dict.fromkeys(test for mutant in mutants for test in mutant.tests))
    files = sorted({test.split("::")[0] for test in tests})
    shares = [files[i :: len(trees)] for i in range(len(trees))]

    def run(tree: Tree, share: Sequence[str]) -> tuple[int | None, str]:
        named = [test for test in tests if test.split("::")[0] in share]
        return tree.run([*_PYTEST, *named], limit=_BASELINE_SECONDS) if named else (0, "")

    with concurrent.futures.ThreadPoolExecutor(len(trees)) as pool:
        for code, output in pool.map(run, trees, shares):
            if code != 0:
                sys.exit(f"tests fail without any mutant:\n{output[-5000:]}")


def _outcomes(trees: Sequence[Tree], mutants: Sequence[Mutant]) -> list[Outcome]:
    idle: queue.SimpleQueue[Tree] = queue.SimpleQueue()
    for tree in trees:
        idle.put(tree)

    def one(mutant: Mutant) -> Outcome:
        tree = idle.get()
        started = time.monotonic()
        try:
            found = tree.outcome(mutant)
        finally:
            idle.put(tree)
        seconds = time.monotonic() - started
        print(
            f"{found.verdict:8}  {mutant.name} ({mutant.file}), {seconds:.0f} s: {found.reason}",
            flush=True,
        )
        return found

    with concurrent.futures.ThreadPoolExecutor(len(trees)) as pool:
        return list(pool.map(one, mutants))


def main() -> int:
    """Plant what is asked for; return 1 where something has survived."""
    parser = argparse.ArgumentParser(description="Plant bugs, and see which tests catch them.")
    parser.add_argument("--only", action="append", help="name, or part of one; may be repeated")
    parser.add_argument("--list", action="store_true", help="list the mutants and end")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once (2)")
    parser.add_argument("--out", help="file for a table of all mutants")
    parser.add_argument("--nobaseline", action="store_true", help="trust that the tests pass")
    flags = parser.parse_args()
    parts = flags.only or [""]
    mutants = [mutant for mutant in MUTANTS if any(part in mutant.name for part in parts)]
    if flags.list or not mutants:
        for mutant in mutants:
            print(f"{mutant.name} ({mutant.file}): {', '.join(mutant.tests)}")
        return 0 if mutants else 2
    with tempfile.TemporaryDirectory(prefix="jaxdp-mutants-") as folder:
        trees = [Tree(Path(folder) / str(i)) for i in range(min(flags.jobs, len(mutants)))]
        for tree in trees:
            tree.require_own_packages()
        if not flags.nobaseline:
            _require_passing(trees, mutants)
        outcomes = _outcomes(trees, mutants)
    if flags.out:
        _write_table(mutants, outcomes, flags.out)
    verdicts = [found.verdict for found in outcomes]
    caught = verdicts.count("caught")
    print(f"{caught} of {len(verdicts)} mutants caught, {verdicts.count('SURVIVED')} survived")
    return 0 if caught == len(verdicts) else 1


def _write_table(mutants: Sequence[Mutant], outcomes: Sequence[Outcome], out: str) -> None:
    """Write what became of each mutant, and which test has failed for it."""
    rows = [
        (found.verdict, mutant.name, mutant.file, found.reason.split(" - ")[0])
        for mutant, found in zip(mutants, outcomes, strict=True)
    ]
    results_file.table(("verdict", "bug", "file", "test that has failed"), rows, out)


if __name__ == "__main__":
    sys.exit(main())
