"""The errors that end a driver in one line."""

from pathlib import Path

from jaxdp.methods.settings import InputError

__all__ = ["InputError", "StoppedError"]


class StoppedError(KeyboardInterrupt):
    """Report Ctrl-C in a run whose folder was begun: `--resume` continues it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder))
        self.folder = folder
