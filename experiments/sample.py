"""Draw examples from a finished generator: post-processing, in whatever number.

    python -m experiments.sample --run=runs/mnist_entk_eps1 --num=1000 --out=more.npz

From Python: `generator = load_generator("runs/mnist_entk_eps1"); x = generator(labels, seed=1)`.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from absl import app, flags

from experiments import command_line
from experiments.errors import InputError

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
        import orbax.checkpoint as ocp

        from jaxdp import generators

        path = Path(folder).expanduser().absolute() / "generator"
        if not (path / "description.json").exists():
            raise InputError(
                f"--run={folder}: holds no finished generator; name a folder in which "
                "experiments.dp_ntk has finished"
            )
        self._description = json.loads((path / "description.json").read_text())
        arguments = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in self._description["arguments"].items()
        }
        self._module = getattr(generators, self._description["module"])(**arguments)
        with ocp.StandardCheckpointer() as checkpointer:
            stored = checkpointer.restore(path / "variables")
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


def main(argv: Sequence[str]) -> None:
    """Draw examples and write them; bad input ends it with one line and exit code 2."""
    del argv
    command_line.prepare()
    try:
        if FLAGS.run is None:
            raise InputError("--run: name the folder of a finished run of experiments.dp_ntk")
        if FLAGS.num < 1:
            raise InputError(f"--num={FLAGS.num}: must be at least 1")
        generator = Generator(FLAGS.run)
        labels = np.arange(FLAGS.num, dtype=np.int32) % len(generator.class_names)
        x = generator(labels, seed=FLAGS.sample_seed)
        np.savez_compressed(FLAGS.out, x=x, y=labels, class_names=np.array(generator.class_names))
    except OSError as error:
        command_line.fail(InputError(f"--out={FLAGS.out}: cannot be written ({error.strerror})"))
    except InputError as error:
        command_line.fail(error)
    print(f"{FLAGS.num} examples: {FLAGS.out}")


if __name__ == "__main__":
    app.run(main, flags_parser=command_line.parse)
