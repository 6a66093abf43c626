"""Open a page in the browser that does what the commands do, for who would rather not type them.

jaxdp ui
jaxdp ui --folder=/data

It needs the extra `[ui]`. The page is for this machine's browser alone: it listens to 127.0.0.1,
and its address has a token. Nothing is sent anywhere. Runs go on when the browser is closed, and
end with this command.
"""

import dataclasses
import importlib.util
from collections.abc import Sequence
from pathlib import Path

from jaxdp.methods.settings import check_fields, setting
from jaxdp.program import command_line
from jaxdp.program.errors import InputError


@dataclasses.dataclass(frozen=True, kw_only=True)
class PageFlags:
    """The flags of this program."""

    port: int = setting(0, "Port to listen to (0: a free one).", at_least=0, at_most=65535)
    browser: bool = setting(True, "Open the page in a browser.")
    folder: str = setting(".", "Where looking for data begins.")

    def __post_init__(self) -> None:
        check_fields(self)


KINDS = command_line.define(PageFlags)


def main(argv: Sequence[str]) -> None:
    """Serve the page; bad input ends it with one line and exit code 2."""
    del argv
    with command_line.one_line_errors():
        asked = command_line.settings_of(PageFlags)
        if importlib.util.find_spec("nicegui") is None:
            raise InputError('jaxdp ui needs the extra [ui]: pip install "jaxdp-toolkit[ui]"')
        folder = Path(asked.folder).expanduser()
        if not folder.is_dir():
            raise InputError(f"--folder={asked.folder}: is no folder")
        from jaxdp.program.ui import server  # a library of pages: not before flags are parsed

        server.serve(port=asked.port, folder=folder.absolute(), opens=asked.browser)
