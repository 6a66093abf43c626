"""Errors of the program itself: where they are, without what they quote, which may be private."""

import logging
import sys
import traceback
from types import TracebackType

_LOGGERS = ("nicegui", "uvicorn.error", "asyncio")


def reported(error: BaseException) -> str:
    """Print where an error is; return a sentence about it.

    Args:
        error: that nobody expected.
    """
    print(where(type(error), error.__traceback__), file=sys.stderr)
    return f"The program has a fault ({type(error).__name__}); the terminal says where."


def where(kind: type[BaseException], trace: TracebackType | None) -> str:
    """Return the lines of code that an error went through, and its type."""
    frames = "".join(
        f"  {frame.filename}:{frame.lineno} in {frame.name}\n"
        for frame in traceback.extract_tb(trace)
    )
    return f"fault of the program, {kind.__name__}:\n{frames}"


class _WithoutValues(logging.Filter):
    """Takes messages of errors out of what is logged."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the record, with places alone where it tells of an error."""
        trace = record.exc_info
        if isinstance(record.msg, BaseException):
            record.msg, record.args = type(record.msg).__name__, ()
        if trace and trace[0] is not None:
            record.msg, record.args = where(trace[0], trace[2]), ()
            record.exc_info = record.exc_text = None
        return True


def keep_values_out_of_logs() -> None:
    """Let the page's libraries log errors by their places alone."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(each, _WithoutValues) for each in logger.filters):
            logger.addFilter(_WithoutValues())
