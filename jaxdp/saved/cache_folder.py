"""Where jaxdp keeps what can be computed again. Programs start by this: it imports no jax."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder: in the user's cache folder."""
    root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser() / "jaxdp"
