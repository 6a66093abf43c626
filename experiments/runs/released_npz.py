"""What a run has released, as an npz file of arrays with a JSON description beside them."""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from experiments.data import npz as npz_files
from experiments.data.outside_files import json_object, user_path
from experiments.errors import InputError
from experiments.runs.folder import npz_bytes
from experiments.runs.release_log import ReleaseLog

Released = TypeVar("Released")
_META = "meta"


def budget(certificate: Mapping[str, Any]) -> float:
    """Return the epsilon that was asked for when something was released; inf without privacy."""
    epsilon = certificate["target_epsilon"]
    return math.inf if epsilon is None else epsilon


def write(
    log: ReleaseLog, name: str, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]
) -> None:
    """Write arrays with everything that is needed to use them, once."""
    log.write(name, npz_bytes(**arrays, meta=np.array(json.dumps(meta, allow_nan=False))))


def read(
    path: str | Path,
    build: Callable[[dict[str, np.ndarray], dict[str, Any]], Released],
    *,
    flag: str,
    what: str,
) -> Released:
    """Return what `build` makes of a file's arrays and description.

    Args:
        path: of the file.
        build: raises KeyError, TypeError or ValueError for what it cannot use.
        flag: that names the file.
        what: it should be, in words.

    Raises:
        InputError: there is no such file, or it is not what it should be.
    """
    try:
        arrays = npz_files.load(user_path(path, flag))
        if _META not in arrays:
            raise ValueError(f"it lacks {_META}")
        meta = json_object(str(arrays.pop(_META)))
        for name, array in arrays.items():
            if not np.all(np.isfinite(array)):
                raise ValueError(f"{name} is not finite")
        return build(arrays, meta)
    except FileNotFoundError as error:
        raise InputError(f"--{flag}={path}: there is no such file") from error
    except KeyError as error:
        raise InputError(f"--{flag}={path}: is not {what} (it lacks {error.args[0]})") from error
    except (ValueError, TypeError) as error:
        raise InputError(f"--{flag}={path}: is not {what} ({error})") from error
