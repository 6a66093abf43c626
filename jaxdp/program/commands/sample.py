"""Draw examples from a finished generator: post-processing, in whatever number.

    jaxdp sample --run=runs/mnist_entk_eps1 --num=1000 --out=more.npz

From Python: `generator, certificate = generator_of("runs/mnist_entk_eps1")`, then
`x = generator(labels, seed=1)`.
"""

import dataclasses
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxdp.methods.settings import setting
from jaxdp.program import command_line, out_file
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import ProgramFlags
from jaxdp.program.terminal import print_guarantee


@dataclasses.dataclass(frozen=True, kw_only=True)
class SampleFlags(ProgramFlags):
    """The flags of this program."""

    run: str | None = setting(
        None, "Folder of a finished run of dp_ntk, or what `jaxdp pack` made of it."
    )
    out: str = setting(
        "samples.npz", "Where to write x (n, ...), y (n,) and class_names, or a table as CSV."
    )
    num: int = setting(
        1000, "How many examples: equally many of each class, of a table in its shares.", at_least=1
    )
    sample_seed: int = setting(0, "Of the latent codes.", at_least=0, below=2**63)


USAGE, TAKES = "RUN [--num=N --out=FILE]", "run"
KINDS = command_line.define(SampleFlags)


def generator_of(folder: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Return the generator of a finished run, and the certificate of whatever it draws.

    Raises:
        InputError: there is none, or its files cannot be trusted.
    """
    # They import jax: not before flags are parsed.
    from jaxdp.methods.marginals.story import STORY as COUNTS
    from jaxdp.program.runs import generator_file
    from jaxdp.saved import certificate as stored_certificate
    from jaxdp.saved import zips

    flag = f"--run={folder}"
    path = zips.folder_of(user_path(folder, "run").absolute(), flag)
    if (path / str(COUNTS.released)).exists() and not (path / "generator").exists():
        raise InputError(
            f"{flag}: keeps counts in the place of a generator; more records come from these: "
            "jaxdp run marginals --csv=FILE --schema=FILE --counts=FOLDER/counts.npz "
            "--num_synthetic=N"
        )
    certificate = stored_certificate.of_run(path, flag, wanted="dp_ntk")
    return generator_file.read(path, flag, certificate), certificate


def labels_for(generator: Any, num: int, *, seed: int) -> np.ndarray:
    """Return classes to draw: equally many of each, for tables in the shares that were released."""
    if generator.class_weights is None:
        return np.arange(num, dtype=np.int32) % len(generator.class_names)
    from jaxdp.methods.dp_ntk.drawing import balanced_labels

    return balanced_labels(np.asarray(generator.class_weights), num, seed=seed)


def _write_set(path: str, generator: Any, x: np.ndarray, y: np.ndarray) -> Path:
    """Write what was drawn: a table with a schema as CSV, anything else as npz."""
    schema = getattr(generator.codec, "schema", None)
    if schema is None:
        buffer = io.BytesIO()
        names = np.array(generator.class_names)
        np.savez_compressed(buffer, allow_pickle=False, x=x, y=y, class_names=names)
        return out_file.write(path, buffer.getvalue(), suffix=".npz")
    from jaxdp.tables import frames

    labels = y if len(generator.class_names) > 1 else None  # one class: labels were not used
    text = frames.to_csv(frames.decode(x, labels, schema), schema)
    return out_file.write(path.removesuffix(".npz"), schema.csv.encode(text), suffix=".csv")


def main(argv: Sequence[str]) -> None:
    """Draw examples and write them; bad input ends it with one line and exit code 2."""
    del argv
    with command_line.one_line_errors():
        asked = command_line.settings_of(SampleFlags)
        command_line.prepare()
        if asked.run is None:
            raise InputError("--run: name the folder of a finished run of dp_ntk")
        generator, certificate = generator_of(asked.run)
        labels = labels_for(generator, asked.num, seed=asked.sample_seed)
        x = generator(labels, seed=asked.sample_seed)
        print(f"{asked.num} examples: {_write_set(asked.out, generator, x, labels)}")
        print_guarantee(certificate)
