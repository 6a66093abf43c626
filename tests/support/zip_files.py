"""Zip files as strangers write them."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


def written(path: Path, members: dict[str, bytes], *, mode: int = stat.S_IFREG | 0o644) -> Path:
    """Write a zip file of these members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            file.writestr(info, content)
    return path


def rewritten(path: Path, change: Callable[[dict[str, bytes]], Any]) -> Path:
    """Change the members of a zip file."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    change(members)
    return written(path, members)
