"""Arrays that are computed from public seeds alone, kept between runs."""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.program_cache import cache_folder


def cached(description: dict[str, Any], compute: Callable[[], np.ndarray]) -> np.ndarray:
    """Return the array that a description stands for, computed only where it is not kept.

    A file that cannot be read is computed anew; where none can be written, none is.

    Args:
        description: everything that the array depends on, as JSON.
        compute: makes it, from public constants.
    """
    text = json.dumps(description, sort_keys=True)
    path = cache_folder() / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.npy"
    with contextlib.suppress(OSError, ValueError, EOFError):
        return np.load(path, allow_pickle=False)
    array = np.asarray(compute())
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.part.npy")
        np.save(temporary, array)
        temporary.replace(path)
    return array
