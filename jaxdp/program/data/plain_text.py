"""The text of a file without NULs, which programs that read it take for the end of a text."""

import io


class NulError(Exception):
    """A text holds a NUL; `line` is its line, from 1."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line} holds a NUL")
        self.line = line


class PlainText(io.TextIOWrapper):
    """A text that is read from its beginning, in pieces."""

    _lines = 0

    def read(self, size: int | None = -1) -> str:
        """Return the next letters, all where `size` is negative.

        Raises:
            NulError: one of them is a NUL.
        """
        text = super().read(size)
        before, nul, _ = text.partition("\0")
        # A line ends with one of the two, or with both.
        self._lines += max(map(before.count, "\n\r"))
        if nul:
            raise NulError(self._lines + 1)
        return text
