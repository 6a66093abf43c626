"""Draw examples from a finished generator: post-processing, in whatever number.

    python -m experiments.sample --run=runs/mnist_entk_eps1 --num=1000 --out=more.npz

From Python: `generator = Generator("runs/mnist_entk_eps1"); x = generator(labels, seed=1)`.
"""

import contextlib
import io
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from absl import app, flags

from experiments import command_line
from experiments.data.outside_files import json_object, open_plain, user_path
from experiments.errors import InputError
from experiments.terminal import print_guarantee

FLAGS = flags.FLAGS

flags.DEFINE_string("run", None, "Folder of a finished run of experiments.dp_ntk.")
flags.DEFINE_string("out", "samples.npz", "Where to write x (n, ...), y (n,) and class_names.")
flags.DEFINE_integer("num", 1000, "How many examples, equally many of each class.")
flags.DEFINE_integer("sample_seed", 0, "Of the latent codes.")


class Generator:
    """A generator that was trained earlier."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Read it from a run's folder.

        Raises:
            InputError: there is none.
        """
        import jax
        import jax.numpy as jnp

        from experiments.runs.checkpoints import files_digest, restore_tree

        path = user_path(folder, "run").absolute() / "generator"
        self.certificate = _certificate(path.parent, str(folder))
        try:
            with open_plain(path / "description.json") as file:
                self._description = _checked(json_object(file.read()))
            self._module = _module(self._description)
            digest = self._description.get("digest")
            if digest not in (None, files_digest(path / "variables")):
                raise ValueError("its numbers are not those that were saved")
            stored = restore_tree(path / "variables")
            _require_fit(self._module, stored, self._description)
        except FileNotFoundError as error:
            raise InputError(
                f"--run={folder}: holds no finished generator; name a folder in which "
                "experiments.dp_ntk has finished"
            ) from error
        except (OSError, ValueError) as error:
            raise InputError(
                f"--run={folder}: its generator cannot be read ({error}); give its run --resume to "
                "write it again"
            ) from error
        self._variables = jax.tree.map(jnp.asarray, stored)

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the labels."""
        return tuple(self._description["class_names"])

    def __call__(self, labels: np.ndarray, *, seed: int) -> np.ndarray:
        """Return one example per label, scaled and typed as the training data were."""
        import jax

        from experiments.drawing import as_stored, draw_rows

        rows = draw_rows(
            self._module,
            self._variables,
            np.asarray(labels, np.int32),
            jax.random.key(seed),
            code_dim=self._description["code_dim"],
        )
        d = self._description
        return as_stored(
            rows, d["example_shape"], low=d["low"], high=d["high"], as_bytes=d["bytes"]
        )


def _certificate(path: Path, folder: str) -> dict[str, Any]:
    """Return the certificate of a run, computed anew from its ledger.

    Raises:
        InputError: there is none, or it says something else than its numbers.
    """
    from jaxdp.privacy import certificates

    try:
        with open_plain(path / "privacy.json") as file:
            return certificates.recertified(json_object(file.read()))
    except FileNotFoundError as error:
        raise InputError(
            f"--run={folder}: has no privacy.json; name a folder in which experiments.dp_ntk has "
            "finished"
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(
            f"--run={folder}: its privacy.json cannot be trusted ({error}); start a new run"
        ) from error


def _checked(description: dict[str, Any]) -> dict[str, Any]:
    """Return what a run has written of its generator.

    Raises:
        ValueError: no run writes this.
    """
    for name, holds in _DESCRIPTION.items():
        if name not in description or not holds(description[name]):
            found = str(description.get(name, "nothing"))[:40]
            raise ValueError(f"description.json holds {name} = {found}")
    return description


def _module(description: dict[str, Any]) -> Any:
    """Return the network that a description names.

    Raises:
        ValueError: it has other arguments.
    """
    from jaxdp.networks import generators

    arguments = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in description["arguments"].items()
    }
    try:
        return getattr(generators, description["module"])(**arguments)
    except TypeError as error:
        raise ValueError(f"description.json: {error}") from error


def _require_fit(module: Any, variables: Any, description: dict[str, Any]) -> None:
    """Raise a `ValueError` where weights are not those of a network, or make other examples."""
    import jax
    import jax.numpy as jnp

    from jaxdp.networks import generators

    labels = jnp.zeros(1, jnp.int32)

    def rows(stored: Any) -> Any:
        codes = generators.sample_codes(jax.random.key(0), labels, description["code_dim"])
        return generators.generate(module, stored, codes, labels, train=False)[0]

    try:
        made = jax.eval_shape(rows, variables)
    except Exception as error:  # flax raises many kinds, of which some are of this module
        raise ValueError(f"its weights are of another network ({type(error).__name__})") from error
    if made.shape[1] != math.prod(description["example_shape"]):
        raise ValueError(f"it makes {made.shape[1]} values, not {description['example_shape']}")


def _are(kind: type) -> Callable[[Any], bool]:
    return lambda values: isinstance(values, list) and all(type(v) is kind for v in values)


# What a run writes of its generator, and what each part has to be.
_DESCRIPTION: dict[str, Callable[[Any], bool]] = {
    "module": lambda value: value in ("ConvCondGen", "ResnetG", "DenseGen", "TabularGen"),
    "arguments": lambda value: isinstance(value, dict),
    "code_dim": lambda value: type(value) is int and 0 < value < 2**20,
    "class_names": lambda value: bool(value) and _are(str)(value),
    "example_shape": lambda value: bool(value) and _are(int)(value),
    "low": lambda value: type(value) in (int, float),
    "high": lambda value: type(value) in (int, float),
    "bytes": lambda value: type(value) is bool,
}


def _write(path: str, **arrays: np.ndarray) -> None:
    """Write an npz file, whole or not at all."""
    target = user_path(path, "out")
    target = target if target.suffix == ".npz" else target.with_name(f"{target.name}.npz")
    temporary = target.with_name(f"{target.name}.{os.getpid()}.part")
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    try:
        temporary.write_bytes(buffer.getvalue())
        temporary.replace(target)
    except (OSError, ValueError) as error:
        with contextlib.suppress(OSError, ValueError):
            temporary.unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"--out={path}: cannot be written ({reason})") from error


def main(argv: Sequence[str]) -> None:
    """Draw examples and write them; bad input ends it with one line and exit code 2."""
    del argv
    with command_line.one_line_errors():
        command_line.prepare()
        if FLAGS.run is None:
            raise InputError("--run: name the folder of a finished run of experiments.dp_ntk")
        if FLAGS.num < 1:
            raise InputError(f"--num={FLAGS.num}: must be at least 1")
        if not 0 <= FLAGS.sample_seed < 2**63:
            raise InputError(
                f"--sample_seed={FLAGS.sample_seed}: must be a whole number from 0 to 2^63 - 1"
            )
        generator = Generator(FLAGS.run)
        labels = np.arange(FLAGS.num, dtype=np.int32) % len(generator.class_names)
        x = generator(labels, seed=FLAGS.sample_seed)
        _write(FLAGS.out, x=x, y=labels, class_names=np.array(generator.class_names))
        print(f"{FLAGS.num} examples: {FLAGS.out}")
        print_guarantee(generator.certificate)


if __name__ == "__main__":
    app.run(main, flags_parser=command_line.parse)
