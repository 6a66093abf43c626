"""What config.json tells of files on the machine of a run: their names, and not where they are.

config.json may leave with the result. Names of users and of folders have no business there.
"""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

_FILES = ("csv", "test_csv", "schema", "teacher", "synthetic", "embedding", "counts")
_SOURCE, _BEFORE_A_PATH = "data_source", ("image folder ", "tensorflow-datasets in ", "")


def without_folders(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration in which files are named without the folders that they are in."""
    return {key: _told(key, value) for key, value in config.items()}


def _told(key: str, value: Any) -> Any:
    if not isinstance(value, str) or key not in (*_FILES, _SOURCE):
        return value
    start = next(each for each in _BEFORE_A_PATH if value.startswith(each))
    return start + PurePath(value[len(start) :]).name
