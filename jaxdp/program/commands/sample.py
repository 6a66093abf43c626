"""Draw examples from a finished generator: post-processing, in whatever number.

    jaxdp sample --run=runs/mnist_entk_eps1 --num=1000 --out=more.npz
    jaxdp sample --run=runs/patients --given=ward=surgery,age=18..30 --num=500 --out=more.csv

From Python: `generator, certificate = generator_of("runs/mnist_entk_eps1")`, then
`x = generator(labels, seed=1)`.
"""

import dataclasses
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
        None,
        "Folder of a finished run of dp_ntk or marginals, or what `jaxdp pack` made of it.",
    )
    out: str = setting(
        "samples.npz", "Where to write x (n, ...), y (n,) and class_names, or a table as CSV."
    )
    num: int = setting(
        1000, "How many examples: equally many of each class, of a table in its shares.", at_least=1
    )
    given: str | None = setting(
        None,
        "What holds of all records, of a table whose counts were released: region=North, or "
        "region=North,age=18..30.",
    )
    sample_seed: int = setting(
        0, "Of the latent codes, or of records of a table.", at_least=0, below=2**63
    )


USAGE, TAKES = "RUN [--num=N --out=FILE]", "run"
KINDS = command_line.define(SampleFlags)


def generator_of(folder: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Return the generator of a finished run, and the certificate of whatever it draws.

    Raises:
        InputError: there is none, or its files cannot be trusted.
    """
    # They import jax: not before flags are parsed.
    from jaxdp.program.runs import generator_file
    from jaxdp.saved import certificate as stored_certificate
    from jaxdp.saved import loading, zips

    flag, named = f"--run={folder}", user_path(folder, "run").absolute()
    path = zips.folder_of(named, flag)
    if zips.is_packed(named):
        loading.opened(named, flag)  # refused where it is not what was sealed
    certificate = stored_certificate.of_run(path, flag, wanted="dp_ntk or marginals")
    return generator_file.read(path, flag, certificate), certificate


def counts_of(folder: str) -> Path | None:
    """Return the counts that a run has released in the place of a generator; None for others."""
    from jaxdp.methods.marginals.story import STORY as COUNTS
    from jaxdp.saved import zips

    path = zips.folder_of(user_path(folder, "run").absolute(), f"--run={folder}")
    file = path / str(COUNTS.released)
    return file if file.exists() and not (path / "generator").exists() else None


def done_after_drawing(folder: str) -> str | None:
    """Return a line on what a run has done to what its generator drew; None where it is nothing."""
    from jaxdp.methods.record import CONFIG
    from jaxdp.saved import files, zips

    path = zips.folder_of(user_path(folder, "run").absolute(), f"--run={folder}")
    try:
        config = files.json_file(path / CONFIG)
    except (OSError, ValueError):  # it may have been left behind, and nothing is drawn by it
        return None
    done = []
    if config.get("flow_passes"):
        done.append("moved to its embedding")
    if config.get("labels") == "teacher":
        done.append("labelled by a teacher")
    if not done:
        return None
    return f"as the generator draws them; those of the run were then {' and '.join(done)}"


def labels_for(generator: Any, num: int, *, seed: int) -> np.ndarray:
    """Return classes to draw: equally many of each, for tables in the shares that were released."""
    if generator.class_weights is None:
        return np.arange(num, dtype=np.int32) % len(generator.class_names)
    from jaxdp.methods.dp_ntk.drawing import balanced_labels

    return balanced_labels(np.asarray(generator.class_weights), num, seed=seed)


class _Out(NamedTuple):
    """The file that is written: a table is one of CSV, in the place of npz."""

    path: str
    suffix: str
    is_given: bool

    def require(self) -> None:
        """Raise an `InputError` where it cannot be written, before anything is drawn."""
        out_file.require(self.path, suffix=self.suffix, is_given=self.is_given)

    def write(self, content: bytes) -> Path:
        """Write it; return its path."""
        return out_file.write(self.path, content, suffix=self.suffix, is_given=self.is_given)


def _out_of(asked: SampleFlags, *, is_table: bool) -> _Out:
    is_given = command_line.is_given("out")
    if is_table:
        return _Out(asked.out.removesuffix(".npz"), ".csv", is_given)
    return _Out(asked.out, ".npz", is_given)


def _write_set(out: _Out, generator: Any, x: np.ndarray, y: np.ndarray) -> Path:
    """Write what was drawn: a table with a schema as CSV, anything else as npz."""
    schema = getattr(generator.codec, "schema", None)
    if schema is None:
        buffer = io.BytesIO()
        names = np.array(generator.class_names)
        np.savez_compressed(buffer, allow_pickle=False, x=x, y=y, class_names=names)
        return out.write(buffer.getvalue())
    from jaxdp.tables import frames

    labels = y if len(generator.class_names) > 1 else None  # one class: labels were not used
    text = frames.to_csv(frames.of_made(x, labels, schema), schema)
    return out.write(schema.csv.encode(text))


def _draw_records(counts: Path, asked: SampleFlags) -> None:
    """Draw records from counts, and write them as CSV."""
    from jaxdp.data import TableCodec
    from jaxdp.program.runs import counted_records
    from jaxdp.saved import loading

    out = _out_of(asked, is_table=True)
    out.require()
    folder = loading.opened(
        user_path(str(asked.run), "run").absolute(), f"--run={asked.run}"
    ).folder
    made, certificate = counted_records.draw(
        folder, counts.name, num=asked.num, given=asked.given, seed=asked.sample_seed
    )
    codec = made.spec.codec
    assert isinstance(codec, TableCodec)
    content = codec.schema.csv.encode(made.to_csv())
    print(f"{len(made.x)} records: {out.write(content)}")
    print_guarantee(certificate)


def main(argv: Sequence[str]) -> None:
    """Draw examples and write them; bad input ends it with one line and exit code 2."""
    del argv
    with command_line.one_line_errors():
        asked = command_line.settings_of(SampleFlags)
        command_line.prepare()
        if asked.run is None:
            raise InputError("--run: name the folder of a finished run of dp_ntk or marginals")
        # Before a run is opened: where its file would lie, whatever its ending will be.
        out_file.require_place(asked.out)
        counts = counts_of(asked.run)
        if counts is not None:
            _draw_records(counts, asked)
            return
        if asked.given is not None:
            raise InputError(
                f"--given={asked.given}: {asked.run} has no counts of a table; leave it out"
            )
        generator, certificate = generator_of(asked.run)
        is_table = getattr(generator.codec, "schema", None) is not None
        out = _out_of(asked, is_table=is_table)
        out.require()
        labels = labels_for(generator, asked.num, seed=asked.sample_seed)
        x = generator(labels, seed=asked.sample_seed)
        print(f"{asked.num} examples: {_write_set(out, generator, x, labels)}")
        note = done_after_drawing(asked.run)
        if note is not None:
            print(note)
        print_guarantee(certificate)
