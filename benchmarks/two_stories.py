"""From a wheel to a colleague's prediction: seconds and sizes of what two new users type.

    python benchmarks/two_stories.py --wheel=dist/jaxdp_toolkit-0.2.0-py3-none-any.whl [--out=FILE]

One has 400 photographs of mixed sizes, the other a CSV file of 6000 records with 20 columns
(`_story_inputs`). Each installs the wheel into a new environment, runs one command, packs what may
leave, and gives the zip file away. The colleague has that file alone: an environment with numpy and
pillow runs its `how_to.py`, and another one with the wheel verifies it and predicts, first with
nothing kept of public maps, then once more. `size_kb` is of the file that a step leaves.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _harness import argument_parser, device_name, report, versions
from _story_inputs import NEW, draw_images, visits

_IMAGES = ("images", "lesions", "--eps=3", "--priors=equal", "--out_dir=made")
_TABLE = (
    *("table", "visits.csv", "--eps=2", "--target=readmitted"),
    *("--accept_guesses", "--accept_rules", "--out_dir=made"),
)
# In the place of what takes minutes.
_QUICK = {
    "images": ("--whiten=0", "--steps=2", "--distill_steps=1", "--delta=1e-3"),
    "table": ("--eps=20", "--delta=1e-3", "--steps=2", "--num_synthetic=40"),
}


class Story:
    """A folder of somebody, in which programs are run and timed."""

    def __init__(self, name: str, folder: Path, wheel: Path | None) -> None:
        """Take the wheel to install; None runs the checkout."""
        self._name, self.folder, self._wheel = name, folder, wheel
        self._environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
        if wheel is None:
            self._environment |= {"PYTHONPATH": str(Path(__file__).resolve().parents[1])}

    def step(self, what: str, words: list[str], leaves: str | None = None) -> dict[str, Any]:
        """Run a program in the folder, and return its seconds, and the size of what it leaves.

        Raises:
            SystemExit: the program failed; the rest of the story would tell nothing.
        """
        start = time.perf_counter()
        done = subprocess.run(
            words, cwd=self.folder, env=self._environment, capture_output=True, text=True
        )
        seconds = time.perf_counter() - start
        left = None if leaves is None else self.folder / leaves
        if done.returncode:
            raise SystemExit(f"{self._name}: {what}: exit code {done.returncode}\n{done.stderr}")
        return {
            "case": f"{self._name}: {what}",
            "seconds": seconds,
            "baseline_seconds": None,
            "ratio": None,
            "peak_mb": None,
            "baseline_peak_mb": None,
            "size_kb": left.stat().st_size / 1024 if left is not None and left.exists() else None,
            "device": device_name(),
            "versions": versions(),
        }

    def environment(self, name: str, packages: list[str]) -> Iterator[dict[str, Any]]:
        """Make an environment with packages; one of the wheel's is not made for the checkout."""
        if self._wheel is not None:
            yield self.step(f"environment {name}", [sys.executable, "-m", "venv", name])
            words = [self.python(name), "-m", "pip", "install", "--quiet", *packages]
            yield self.step(f"pip install, {name}", words)

    def python(self, environment: str) -> str:
        """Return the interpreter of an environment."""
        if self._wheel is None:
            return sys.executable
        return str(self.folder / environment / "bin" / "python")

    def forget(self) -> None:
        """Remove what was kept of public maps."""
        shutil.rmtree(self.folder / "cache", ignore_errors=True)


def told(
    story: Story, wheel: Path | None, command: tuple[str, ...], new: list[str]
) -> Iterator[dict[str, Any]]:
    """Yield the steps of a story, from the wheel to a prediction."""
    yield from story.environment("own", [str(wheel)])
    jaxdp = [story.python("own"), "-m", "jaxdp"]
    yield story.step("jaxdp images, jaxdp table", [*jaxdp, *command], "made/report.html")
    yield story.step("jaxdp pack", [*jaxdp, "pack", "made", "-o", "made.zip"], "made.zip")
    yield from story.environment("numpy", ["numpy", "pillow"])
    shutil.unpack_archive(story.folder / "made.zip", story.folder / "given")
    (how_to,) = (story.folder / "given").rglob("how_to.py")
    files = new if command[0] == "images" else []
    files = [str(story.folder / name) for name in files]
    yield story.step("how_to.py", [story.python("numpy"), str(how_to), *files])
    yield story.step("jaxdp verify", [*jaxdp, "verify", "made.zip"])
    story.forget()
    # Each into a file of its own: one that is there is not written over.
    for name, out in (("first prediction, nothing kept", "told"), ("second prediction", "again")):
        predict = [*jaxdp, "classify", "--run=made.zip", "-o", f"{out}.csv", *new]
        yield story.step(name, predict, f"{out}.csv")


def main() -> None:
    """Measure both stories."""
    parser = argument_parser(str(__doc__).splitlines()[0])
    parser.add_argument("--wheel", type=Path, help="of jaxdp; the checkout where it is left out")
    args = parser.parse_args()
    wheel = None if args.wheel is None else args.wheel.absolute()

    def records() -> Iterator[dict[str, Any]]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "images"
            draw_images(folder / "lesions", 40 if args.quick else 400)
            more = _QUICK["images"] if args.quick else ()
            yield from told(Story("images", folder, wheel), wheel, (*_IMAGES, *more), [*NEW])
            folder = Path(name) / "table"
            folder.mkdir()
            # Of fewer, the rarer class of the target is not always certain.
            table = visits(1000 if args.quick else 6000)
            table.to_csv(folder / "visits.csv", index=False)
            table.head(2).to_csv(folder / "new.csv", index=False)
            more = _QUICK["table"] if args.quick else ()
            yield from told(Story("table", folder, wheel), wheel, (*_TABLE, *more), ["new.csv"])

    report(records(), columns=("seconds", "size_kb"), out=args.out)


if __name__ == "__main__":
    main()
