"""Pack what may leave of a finished run into one zip file: post-processing, without its data.

jaxdp pack runs/scans -o scans.zip

The file holds exactly what the certificate covers: what was made and released, the certificate,
privacy.json, and the card, README.md. Reports, metrics and checkpoints stay. Whoever has the file
opens it by `jaxdp.load("scans.zip")` or `jaxdp classify --run=scans.zip new.png`. What must not be
released is refused.
"""

import dataclasses
import io
import zipfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxdp.methods.settings import setting
from jaxdp.program import command_line, out_file
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import ProgramFlags
from jaxdp.program.terminal import print_guarantee

if TYPE_CHECKING:
    from jaxdp.saved.loading import Loaded

USAGE = "RUN [-o FILE.zip]"
TAKES = "run"
_DATE = (1980, 1, 1, 0, 0, 0)  # the same run makes the same file


@dataclasses.dataclass(frozen=True, kw_only=True)
class PackFlags(ProgramFlags):
    """The flags of this program."""

    run: str | None = setting(None, "Folder of a finished run.")
    out: str | None = setting(None, "Where to write, or -o (default: the folder's name, .zip).")


KINDS = command_line.define(PackFlags)


def contents_of(loaded: "Loaded") -> dict[str, bytes]:
    """Return the files of a run that may leave, by name.

    The certificate is the one that was computed anew, and a card that somebody else has written
    stays: nobody knows what is in it.

    Raises:
        InputError: a file is not the one that the certificate is about.
    """
    from jaxdp.methods import card
    from jaxdp.methods.record import CERTIFICATE, CONFIG, json_bytes

    folder = loaded.folder
    found = {CERTIFICATE: json_bytes(dict(folder.certificate)), CONFIG: json_bytes(folder.config)}
    own_card = folder.path / card.NAME
    if own_card.is_file() and card.may_write(own_card):
        found[card.NAME] = own_card.read_bytes()
    for name in sorted(folder.digests):
        if (folder.path / name).exists():
            found[name] = folder.checked(name).read_bytes()
    if "generator/description.json" in found:
        from jaxdp.program.runs import generator_file  # imports flax

        generator_file.read(folder.path, folder.flag, folder.certificate)  # or it is refused
        for path in generator_file.files(folder.path):
            found[str(path.relative_to(folder.path))] = path.read_bytes()
    return found


def main(argv: Sequence[str]) -> None:
    """Pack; bad input ends it with one line and exit code 2."""
    del argv
    with command_line.one_line_errors():
        asked = command_line.settings_of(PackFlags)
        command_line.prepare()
        if asked.run is None:
            raise InputError("name the folder of a finished run")
        from jaxdp.saved import loading  # imports jax: not before flags are parsed

        loaded = loading.opened(user_path(asked.run, "run").absolute(), f"--run={asked.run}")
        facts = loaded.certificate.facts
        if not loaded.certificate.releasable:
            raise InputError(f"--run={asked.run}: {facts['verdict']}")
        name = loaded.folder.path.name
        contents = contents_of(loaded)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
            for each, content in contents.items():
                info = zipfile.ZipInfo(f"{name}/{each}", _DATE)
                info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                packed.writestr(info, content)
        path = out_file.write(asked.out or f"{name}.zip", buffer.getvalue(), suffix=".zip")
        print(
            f"{path}: {len(contents)} files, {len(buffer.getvalue()) / 1e6:.2g} MB: "
            f"{', '.join(contents)}"
        )
        print_guarantee(dict(facts))
