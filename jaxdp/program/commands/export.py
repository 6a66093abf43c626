"""Write what a run has made in a form that other programs read: post-processing, without its data.

    jaxdp export --run=runs/mnist_teacher_ipc10_eps1 --format=png --out=images

Forms: png (an image folder), csv (a table), torch (an npz file of float32 and int64 arrays) and
huggingface (a folder that `datasets.load_dataset` takes: images with their labels, or a table as
CSV). Each has what was released, the certificate, privacy.json, and a card, README.md, in it, so
that `jaxdp.load` opens it. What must not be released is refused.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxdp.methods.settings import setting
from jaxdp.program import command_line
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import ProgramFlags
from jaxdp.program.terminal import print_guarantee

if TYPE_CHECKING:
    from jaxdp.saved.loading import Loaded

_FORMATS = ("png", "csv", "torch", "huggingface")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportFlags(ProgramFlags):
    """The flags of this program."""

    run: str | None = setting(None, "Folder of a finished run, or what `jaxdp pack` made of it.")
    format: str | None = setting(None, "What to write: {names} (no default).", among=_FORMATS)
    out: str | None = setting(None, "Folder to write to; a new or an empty one.")


USAGE, TAKES = "RUN --format=png --out=FOLDER", "run"
KINDS = command_line.define(ExportFlags)


def _exported(run: str, form: str, out: str) -> "tuple[Loaded, Path, str]":
    """Write an export; return what was exported, the folder, and its fingerprint.

    Raises:
        InputError: the run cannot be trusted or must not be released, or the folder is taken.
    """
    from jaxdp.program.exports import cards, contents, formats, huggingface, out_folder  # jax
    from jaxdp.saved import loading

    writers = {
        "png": formats.write_png,
        "csv": formats.write_table,
        "torch": formats.write_torch,
        "huggingface": huggingface.write_huggingface,
    }
    target = out_folder.path_of(out)  # before anything is read
    loaded = loading.opened(user_path(run, "run").absolute(), f"--run={run}")
    facts = loaded.certificate.facts
    if not loaded.certificate.releasable:
        raise InputError(f"--run={run}: {facts['verdict']}")
    if loaded.made is None:
        raise InputError(f"--run={run}: holds neither distilled.npz nor synthetic.npz; put it back")
    with out_folder.written(out) as folder:
        exported = writers[form](folder, loaded, loaded.made)
        files, licence = contents.released(loaded), contents.licence(loaded)
        files |= {} if licence is None else {contents.LICENCE: licence}
        text = cards.text(loaded, list(files), exported)
        files[cards.NAME] = text.encode("utf-8", "backslashreplace")
        contents.write(folder, files)
        about = {"exported": {"format": form, "of": loaded.made.file}}
        fingerprint = contents.sealed(folder, loaded, about)
    return loaded, target, fingerprint


def main(argv: Sequence[str]) -> None:
    """Export; bad input ends it with one line and exit code 2."""
    del argv
    with command_line.one_line_errors():
        asked = command_line.settings_of(ExportFlags)
        command_line.prepare()
        if asked.run is None:
            raise InputError("--run: name the folder of a finished run")
        if asked.format is None:
            raise InputError(f"--format: give one of {', '.join(_FORMATS)}")
        if asked.out is None:
            raise InputError("--out: name a new folder")
        loaded, folder, fingerprint = _exported(asked.run, asked.format, asked.out)
        assert loaded.made is not None
        print(f"{len(loaded.made.x)} examples of {loaded.made.file}: {folder}")
        print(f"fingerprint: {fingerprint}")
        print_guarantee(dict(loaded.certificate.facts))
