"""What the drivers' command lines share: common flags, errors of one line and exit code 2."""

import contextlib
import dataclasses
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from absl import flags, logging

from experiments import program_cache
from experiments.errors import InputError, StoppedError

FLAGS = flags.FLAGS
Settings = TypeVar("Settings")
_LONGEST = 1000


flags.DEFINE_string(
    "dataset",
    "digits",
    "digits (bundled), {data_dir}/{name}.npz, an image folder "
    "{data_dir}/{name}/{train,test}/{class}/, or a tfds name: mnist, fashion_mnist, "
    "svhn_cropped, cifar10, cifar100.",
)
flags.DEFINE_string("data_dir", "data", "Where datasets are looked for.")
flags.DEFINE_integer(
    "subset", None, "Use at most so many examples of each split, chosen by --seed (default: all)."
)
flags.DEFINE_string("out_dir", None, "Where results go (default: a folder in runs/).")
flags.DEFINE_float("eps", 1.0, "Privacy budget epsilon; inf switches privacy off.")
flags.DEFINE_float("delta", 1e-5, "Privacy budget delta; releasable below 1/n.")
flags.DEFINE_bool("allow_delta", False, "Let a delta of 1/n or more be releasable; is recorded.")
flags.DEFINE_bool("allow_epsilon", False, "Let an epsilon above 50 be releasable; is recorded.")
flags.DEFINE_integer("steps", None, "Number of steps (default: by dataset).")
flags.DEFINE_integer(
    "batch_size", None, "Examples of a step, on average where they are private (by dataset)."
)
flags.DEFINE_float("learning_rate", None, "First step size (default: by dataset).")
flags.DEFINE_integer("seed", 0, "Public randomness: whatever is drawn without the data.")
flags.DEFINE_integer(
    "noise_seed",
    None,
    "Makes what is private reproducible, for tests only: marks the result not releasable.",
)
flags.DEFINE_bool(
    "keep_programs", True, "Keep compiled programs in the user's cache folder, for faster starts."
)
flags.DEFINE_bool("resume", False, "Continue the run in out_dir from its last checkpoint.")
flags.DEFINE_bool("overwrite", False, "Replace the run in out_dir.")


def parse(argv: Sequence[str]) -> list[str]:
    """Parse the command line; a bad one ends the program with one line and exit code 2."""
    try:
        rest = FLAGS(list(argv))
        if len(rest) > 1:
            raise InputError(f"{rest[1]}: unexpected argument; flags look like --dataset=mnist")
        return rest
    except flags.UnrecognizedFlagError as error:
        fail(_unknown(error))
    except (flags.Error, InputError) as error:
        fail(error)
    except SystemExit:  # absl has shown the help, and would exit with 1
        sys.exit(0)


def fail(error: Exception | str) -> NoReturn:
    """End the program with one line and exit code 2."""
    print(f"error: {_one_line(str(error))}", file=sys.stderr)
    sys.exit(2)


def _one_line(text: str) -> str:
    """Return text without line breaks and control characters, which names of files may hold."""
    words = " ".join(text.split())
    if len(words) > _LONGEST:  # a value may be of any length
        words = f"{words[: _LONGEST // 2]} ... {words[-_LONGEST // 2 :]}"
    return "".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in words)


def _unknown(error: flags.UnrecognizedFlagError) -> str:
    """Name an unknown flag and known ones like it; absl's own list lacks shorter names."""
    text, name = str(error), error.flagname
    near = [known for known in FLAGS if len(known) > 2 and name.startswith(known)]
    if near and "Did you mean" not in text:
        text += f". Did you mean: {max(near, key=len)} ?"
    return text


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """End the program in one line where input, the disk or the user ends it.

    What else is raised is a bug, and shown with its traceback.
    """
    try:
        yield
        sys.stdout.flush()  # here, and not at exit, where a closed pipe has a message of its own
    except InputError as error:
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
        said = f"--resume continues this run: {_resuming(sys.argv)}"
    else:
        said = "nothing was written"
    print(f"stopped; {_one_line(said)}", file=sys.stderr)
    sys.exit(130)


def _resuming(argv: Sequence[str]) -> str:
    """Return the command that continues the run of a command."""
    replaced = ("--overwrite", "--resume", "--nooverwrite", "--noresume")
    kept = [shlex.quote(each) for each in argv[1:] if each.split("=")[0] not in replaced]
    return " ".join(["python -m", f"experiments.{Path(argv[0]).stem}", *kept, "--resume"])


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
    logging.set_verbosity(logging.WARNING)  # orbax reports every step it takes
    if FLAGS.keep_programs:
        program_cache.use()
    # jax solves small systems through OpenBLAS, whose threads wait by spinning and fight
    # with jax's own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def settings_of(settings_class: Callable[..., Settings]) -> Settings:
    """Return a driver's settings with the flags' values."""
    fields: Any = settings_class
    values = {field.name: FLAGS[field.name].value for field in dataclasses.fields(fields)}
    return settings_class(**values)


def run(settings_class: Callable[..., Settings], driver: Callable[[Settings], None]) -> None:
    """Call a driver with the flags' values."""
    driver(settings_of(settings_class))
