"""The errors that end a driver in one line."""

from pathlib import Path

from jaxdp.methods.settings import SettingsError


class InputError(SettingsError):
    """Report one bad input, such as a file: a line naming a flag, its value and what to do."""


class StoppedError(KeyboardInterrupt):
    """Report Ctrl-C in a run whose folder was begun: `--resume` continues it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder))
        self.folder = folder
