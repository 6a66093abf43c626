"""A run that several processes share: how one joins, and how it ends when another one is gone."""

import contextlib
import os
import re
import sys
import traceback
from collections.abc import Iterator
from typing import Any, NoReturn

from jaxdp.program.errors import InputError

SCHEDULER = "scheduler"
_STATUS = re.compile(r"[A-Z_]+: ")
_LOST = ("gloo", "nccl", "coordination", "unavailable", "connection", "peer")


def join(run_flags: Any) -> None:
    """Join the processes that the flags name, if they name some.

    Raises:
        InputError: flags do not fit, or the first process cannot be reached.
    """
    numbers = (run_flags.num_processes, run_flags.process_id)
    if run_flags.coordinator is None:
        if numbers != (None, None):
            raise InputError("--num_processes and --process_id need --coordinator=HOST:PORT")
        return
    if run_flags.coordinator == SCHEDULER:
        address = None
        if numbers != (None, None):
            raise InputError(f"--coordinator={SCHEDULER} takes their numbers from the scheduler")
    else:
        address = _address(run_flags.coordinator)
        if None in numbers or not run_flags.process_id < run_flags.num_processes:
            raise InputError(
                f"--coordinator={address} needs --num_processes, and --process_id below it"
            )
    if getattr(run_flags, "feature_cache", None) is not None:
        raise InputError("--feature_cache: several processes do not keep features; leave it out")
    # Read when jax is imported: what its network says is said here, in one line.
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    from jaxdp import processes

    try:
        processes.join(address, *numbers)
    except RuntimeError as error:
        raise InputError(f"--coordinator={run_flags.coordinator}: {error}") from error


def _has_joined() -> bool:
    """Return whether this process is one of several, without importing jax to find out."""
    return "jax" in sys.modules and sys.modules["jax"].distributed.is_initialized()


def _address(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise InputError(f"--coordinator={text}: not HOST:PORT or {SCHEDULER}")
    return text


@contextlib.contextmanager
def ending_together() -> Iterator[None]:
    """End a process that cannot go on at once: leaving as usual would wait for the others.

    They notice, and end in one line each.
    """
    try:
        yield
    except SystemExit as error:
        if not _has_joined() or not error.code:
            raise
        _leave(error.code if isinstance(error.code, int) else 1)
    except Exception as error:
        if not _has_joined():
            raise
        if _is_lost(error):
            print(
                "error: another process of this run has ended; start all of them again, with "
                "--resume",
                file=sys.stderr,
            )
        else:
            traceback.print_exc()
        _leave(1)


def _is_lost(error: Exception) -> bool:
    """Return whether an error is one of the network: XLA's have a status first, of any type."""
    said = str(error)
    return _STATUS.match(said) is not None and any(word in said.lower() for word in _LOST)


def _leave(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
