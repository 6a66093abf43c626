"""Pack what may leave of a finished run into one zip file: post-processing, without its data.

jaxdp pack runs/scans -o scans.zip --license=CC-BY-4.0

The file holds exactly what the certificate covers, and what is made of that: the set, images as
PNG files, too; the classifier or generator; the certificate, privacy.json; a card, README.md; short
programs that use the set; and SHA256SUMS, the digests of all. Reports, metrics and checkpoints
stay. Whoever has the file opens it by `jaxdp.load("scans.zip")` or `jaxdp classify --run=scans.zip
new.png`, and asks `jaxdp verify scans.zip` what to believe. What must not be released is refused.
"""

import dataclasses
import io
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxdp.methods.settings import setting
from jaxdp.program import command_line, out_file
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import ProgramFlags
from jaxdp.program.terminal import print_guarantee

if TYPE_CHECKING:
    from jaxdp.program.exports.figures import Figures
    from jaxdp.program.exports.formats import Exported
    from jaxdp.saved.loading import Loaded

USAGE = "RUN [-o FILE.zip]"
TAKES = "run"
_DATE = (1980, 1, 1, 0, 0, 0)  # the same run makes the same file
_MOST_IMAGES = 5000
"""Of larger sets a pack has no PNG files: `jaxdp export --format=png` makes them."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PackFlags(ProgramFlags):
    """The flags of this program."""

    run: str | None = setting(None, "Folder of a finished run.")
    out: str | None = setting(None, "Where to write, or -o (default: the folder's name, .zip).")
    license: str | None = setting(
        None, "Licence of what is packed: a file, or a text such as CC-BY-4.0 (default: none)."
    )
    with_figures: bool = setting(
        False, "Tell what models learnt from the set on test data; needs --test_data."
    )
    test_data: str | None = setting(
        None,
        "With --with_figures, which the guarantee does not cover: public where the test data are "
        "public, told where they are private and you accept that these figures are told.",
        among=("public", "told"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.with_figures and self.test_data is None:
            raise InputError(
                "--with_figures: figures of test data are not covered by the guarantee; say "
                "--test_data=public where these are public, or --test_data=told where they are "
                "private and you accept that their figures are told"
            )
        if self.test_data is not None and not self.with_figures:
            raise InputError(f"--test_data={self.test_data}: is of --with_figures; give both")


KINDS = command_line.define(PackFlags)


def fill(
    folder: Path, loaded: "Loaded", licence: bytes | None, figures: "Figures | None" = None
) -> str:
    """Write what may leave into an empty folder; return its fingerprint.

    Args:
        folder: to write into.
        loaded: the run.
        licence: content of the file LICENSE; None takes over what the run was passed on with.
        figures: what models learnt from the set; None tells nothing of it.

    Raises:
        InputError: a file is not the one that the certificate is about.
    """
    from jaxdp.methods.record import json_bytes
    from jaxdp.program.exports import cards, contents, how_to
    from jaxdp.program.exports.figures import NAME

    licence = contents.licence(loaded) if licence is None else licence
    files = contents.released(loaded) | how_to.files(loaded.spec, loaded.made)
    files |= {} if licence is None else {contents.LICENCE: licence}
    files |= {} if figures is None else {NAME: json_bytes(figures.to_json())}
    contents.write(folder, files)
    card = cards.text(loaded, list(files), _pictures(folder, loaded), figures)
    contents.write(folder, {cards.NAME: card.encode("utf-8", "backslashreplace")})
    return contents.sealed(folder, loaded, {})


def _pictures(folder: Path, loaded: "Loaded") -> "Exported":
    """Write images as PNG files where that helps a person to look at them."""
    from jaxdp.program.exports import formats, pixels

    made = loaded.made
    is_images = loaded.spec.kind.choose(images=True, rows=False, table=False)
    if made is None or not is_images or len(made.x) > _MOST_IMAGES:
        return formats.Exported((), "")
    if loaded.spec.image_shape[2] not in pixels.CHANNELS:
        return formats.Exported((), "")
    return formats.write_png(folder, loaded, made)


def _zipped(folder: Path) -> bytes:
    """Return the files of a folder as a zip file, in the folder's name."""
    from jaxdp.saved import seal

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in seal.names_in(folder):
            info = zipfile.ZipInfo(f"{folder.name}/{name}", _DATE)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            packed.writestr(info, (folder / name).read_bytes())
    return buffer.getvalue()


def main(argv: Sequence[str]) -> None:
    """Pack; bad input ends it with one line and exit code 2."""
    del argv
    with command_line.one_line_errors():
        asked = command_line.settings_of(PackFlags)
        command_line.prepare()
        if asked.run is None:
            raise InputError("name the folder of a finished run")
        is_given = asked.out is not None
        if asked.out is not None:
            out_file.require(asked.out, suffix=".zip")
        from jaxdp.program.exports import figures, licences, names
        from jaxdp.saved import loading, seal  # imports jax: not before flags are parsed

        licence = None if asked.license is None else licences.content_of(asked.license)
        loaded = loading.opened(user_path(asked.run, "run").absolute(), f"--run={asked.run}")
        facts = loaded.certificate.facts
        if not loaded.certificate.releasable:
            raise InputError(f"--run={asked.run}: {facts['verdict']}")
        (name,) = names.folder_names([loaded.folder.path.name])
        out = asked.out or f"{name}.zip"
        out_file.require(out, suffix=".zip", is_given=is_given)  # before there is work
        told = figures.of_run(loaded, asked.test_data) if asked.test_data is not None else None
        with tempfile.TemporaryDirectory(prefix="jaxdp-") as place:
            folder = Path(place) / name
            folder.mkdir()
            fingerprint = fill(folder, loaded, licence, told)
            found, content = seal.names_in(folder), _zipped(folder)
        path = out_file.write(out, content, suffix=".zip", is_given=is_given)
        shown = [each for each in found if each.count("/") == 0]
        more = len(found) - len(shown)
        print(
            f"{path}: {len(found)} files, {len(content) / 1e6:.2g} MB: {', '.join(shown)}"
            f"{f', and {more} in folders' if more else ''}"
        )
        print(f"fingerprint: {fingerprint} (compare by telephone what jaxdp verify shows there)")
        if told is not None:
            print(f"figures.json is not covered by the guarantee. {told.statement}")
        print_guarantee(dict(facts))
