"""Command lines: flags from settings classes, errors of one line and exit code 2."""

import contextlib
import dataclasses
import gc
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TypeVar

from absl import flags, logging

from jaxdp.escapes import one_line
from jaxdp.methods import words
from jaxdp.methods.settings import SettingsError, rules, types_of
from jaxdp.program import memory, program_cache, several_processes, unknown_flags
from jaxdp.program.errors import InputError, StoppedError

FLAGS = flags.FLAGS
Settings = TypeVar("Settings")
_DEFINE: dict[type, Callable[..., Any]] = {
    bool: flags.DEFINE_boolean,
    int: flags.DEFINE_integer,
    float: flags.DEFINE_float,
    str: flags.DEFINE_string,
}

_DEFINED: set[str] = set()
_TYPED: list[str] = []
_SHORT = {"-o": "--out"}


def define(*kinds: type) -> tuple[type, ...]:
    """Make flags of the fields of settings classes, for the program that calls this.

    Returns:
        The classes.

    A flag that another program of the same process has made is the same one.
    """
    for kind in kinds:
        types = types_of(kind)
        defaults = {field.name: field.default for field in dataclasses.fields(kind)}
        _DEFINED.update(rules(kind))
        for name, rule in rules(kind).items():
            if name not in FLAGS:
                _DEFINE[types[name]](name, defaults[name], rule.help)
    return kinds


def parse(argv: Sequence[str], *, takes_files: bool = False, takes: str | None = None) -> list[str]:
    """Parse the command line; a bad one ends the program with one line and exit code 2.

    Args:
        argv: its words, of which the first is the program as it was typed.
        takes_files: whether words that are no flags are files, which may come before flags.
        takes: the flag whose value may stand alone.
    """
    _TYPED[:] = argv
    words.show_flags()
    try:
        FLAGS.set_gnu_getopt(takes_files or takes is not None)
        rest = FLAGS([_SHORT.get(word, word) for word in argv])
        logging.set_verbosity(logging.WARNING)  # orbax and tfds report every step they take
        if len(rest) == 2 and takes is not None and not is_given(takes):
            put(takes, rest.pop())
        if len(rest) > 1 and not takes_files:
            raise InputError(f"{rest[1]}: unexpected argument; flags look like --dataset=mnist")
        return rest
    except flags.UnrecognizedFlagError as error:
        switches = {name for name in _DEFINED if name in FLAGS and FLAGS[name].boolean}
        fail(unknown_flags.message(error.flagname, error.flagvalue, _DEFINED, switches))
    except (flags.Error, InputError) as error:
        fail(error)
    except SystemExit:  # absl has shown the help, and would exit with 1
        sys.exit(0)


def fail(error: Exception | str) -> NoReturn:
    """End the program with one line and exit code 2."""
    print(f"error: {one_line(str(error))}", file=sys.stderr)
    sys.exit(2)


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """End the program in one line where input, the disk or the user ends it.

    What else is raised is a bug, and shown with its traceback.
    """
    try:
        yield
        sys.stdout.flush()  # here, and not at exit, where a closed pipe has a message of its own
    except SettingsError as error:
        fail(error)
    except KeyboardInterrupt as error:
        _stop(error)
    except BrokenPipeError:
        _leave_quietly()
    except OSError as error:
        fail(os_error_text(error))
    except Exception as error:
        if not _is_lack_of_memory(error):
            raise
        fail(
            f"out of memory ({error}): lower --subset, --batch_size, --chunk_size or what else "
            "was set higher than its default"
        )


def _stop(error: KeyboardInterrupt) -> NoReturn:
    """Say how a run goes on that Ctrl-C has stopped, and end with the exit code of Ctrl-C."""
    if isinstance(error, StoppedError):
        said = f"--resume continues this run: {_resuming(_TYPED)}"
    else:
        said = "no run was begun"
    print(f"stopped; {one_line(said)}", file=sys.stderr)
    sys.exit(130)


def _resuming(argv: Sequence[str]) -> str:
    """Return the command that continues the run of a command."""
    replaced = ("--overwrite", "--resume", "--nooverwrite", "--noresume")
    kept = [shlex.quote(each) for each in argv[1:] if each.split("=")[0] not in replaced]
    return " ".join([argv[0], *kept, "--resume"])


def _leave_quietly() -> NoReturn:
    """End as a program that writes to a closed pipe does, without another attempt to write."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # a stream that is no file
            os.dup2(nowhere, stream.fileno())
    sys.exit(141)


def os_error_text(error: OSError) -> str:
    """Return what the operating system refused, and of which file."""
    reason = error.strerror or str(error) or type(error).__name__
    where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    return f"{where}{reason}; put that right and run again"


def _is_lack_of_memory(error: Exception) -> bool:
    # jax's own error, whose class has moved between its versions.
    return isinstance(error, MemoryError) or (
        "RuntimeError" in type(error).__name__ and "RESOURCE_EXHAUSTED" in str(error)
    )


def prepare() -> None:
    """Set up what has to be before jax is imported."""
    # Importing and tracing make millions of objects that stay, and looking through them for garbage
    # every 700 would take a sixth of the time to the first step.
    gc.set_threshold(50_000, 20, 100)
    memory.keep_freed()
    if FLAGS.keep_programs:
        program_cache.use()
    # jax solves small systems through OpenBLAS, whose threads wait by spinning and fight
    # with jax's own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def settings_of(settings_class: Callable[..., Settings]) -> Settings:
    """Return settings with the values of flags that are given.

    Programs of one process share a flag of one name, and each has its own default.

    Raises:
        SettingsError: a value is not one that its flag may have.
    """
    kind: Any = settings_class
    given = [FLAGS[name] for name in rules(kind)]
    return settings_class(
        **{flag.name: flag.value for flag in given if not flag.using_default_value}
    )


def is_given(name: str) -> bool:
    """Whether a flag is on the command line, or was put."""
    return not FLAGS[name].using_default_value


def put(name: str, value: Any) -> None:
    """Give a flag a value, as if it were on the command line."""
    FLAGS[name].value = value
    FLAGS[name].using_default_value = False


def run(method: Any, flags_class: Callable[..., Any], settings_class: Callable[..., Any]) -> None:
    """Run a method with the flags' values; bad input ends it with one line.

    Args:
        method: the name of one of `jaxdp.methods`, or what has the names of a method.
        flags_class: of the flags that are about a run.
        settings_class: of the method.
    """
    with several_processes.ending_together(), one_line_errors():
        run_flags, settings = settings_of(flags_class), settings_of(settings_class)
        prepare()
        several_processes.join(run_flags)
        from jaxdp.program.runs import driver  # imports jax: not before flags are checked

        driver.run(method, settings, run_flags)
