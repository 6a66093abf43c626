"""Tables of the scripts that are run offline, with command, device and versions above them."""

from __future__ import annotations

import importlib.metadata
import platform
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

# An installed package holds `jaxdp` alone; scripts that import this find `experiments`, too.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
_PACKAGES = ("jax", "jaxlib", "orbax-checkpoint", "hypothesis", "numpy", "pillow")


def table(header: Sequence[str], rows: Sequence[Sequence[object]], out: str | None) -> str:
    """Return rows under a header, aligned; also write them to a file where one is named."""
    from jaxdp.program.runs.start import device_name

    cells = [list(header), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in cells]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES)
    about = [
        f"command: python {shlex.join([Path(sys.argv[0]).as_posix(), *sys.argv[1:]])}",
        f"device: {device_name()}",
        f"versions: python {platform.python_version()}, {versions}",
    ]
    text = "".join(f"{line}\n" for line in [*(f"# {line}" for line in about), "#", *lines])
    if out is not None:
        Path(out).write_text(text)
    return text
