"""What the drivers' command lines share: common flags, errors of one line and exit code 2."""

import dataclasses
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from absl import flags, logging

from experiments.errors import InputError

FLAGS = flags.FLAGS
Settings = TypeVar("Settings")


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
flags.DEFINE_float("delta", 1e-5, "Privacy budget delta; should be well below 1/n.")
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
flags.DEFINE_bool("resume", False, "Continue the run in out_dir from its last checkpoint.")
flags.DEFINE_bool("overwrite", False, "Replace the run in out_dir.")


def parse(argv: Sequence[str]) -> list[str]:
    """Parse the command line; a bad one ends the program with one line and exit code 2."""
    try:
        rest = FLAGS(list(argv))
        if len(rest) > 1:
            raise InputError(f"{rest[1]}: unexpected argument; flags look like --dataset=mnist")
        return rest
    except (flags.Error, InputError) as error:
        fail(error)
    except SystemExit:  # absl has shown the help, and would exit with 1
        sys.exit(0)


def fail(error: Exception) -> NoReturn:
    """End the program with one line and exit code 2."""
    print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
    sys.exit(2)


def prepare() -> None:
    """Set up what has to be before jax is imported."""
    logging.set_verbosity(logging.WARNING)  # orbax reports every step it takes
    # jax solves small systems through OpenBLAS, whose threads wait by spinning and fight
    # with jax's own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def settings_of(settings_class: Callable[..., Settings]) -> Settings:
    """Return a driver's settings with the flags' values."""
    fields: Any = settings_class
    values = {field.name: FLAGS[field.name].value for field in dataclasses.fields(fields)}
    return settings_class(**values)


def run(settings_class: Callable[..., Settings], driver: Callable[[Settings], None]) -> None:
    """Call a driver with the flags' values; bad input ends it with one line and exit code 2."""
    try:
        driver(settings_of(settings_class))
    except InputError as error:
        fail(error)
