"""Say what whoever was given a file may believe of it: nothing in it is taken on trust.

jaxdp verify scans.zip

Takes what `jaxdp pack` or `jaxdp export` has written, or the folder of a run. The numbers of the
certificate are computed again from its ledger, and every file is compared with its digest. It says
what that does not prove, and shows the fingerprint to compare with the sender's.

Exit codes: 0 where all holds and it may be passed on, 1 where something does not hold, 2 for bad
input.
"""

import dataclasses
import math
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from jaxdp.methods.settings import setting
from jaxdp.program import command_line
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import ProgramFlags

if TYPE_CHECKING:
    from jaxdp.saved.loading import Loaded

USAGE, TAKES = "FILE_OR_FOLDER", "run"
_MOST_NAMED = 8
_NOT_PROVED = (
    "not proved: nothing is signed, so that the sender ran this mechanism on records, and these "
    "ones, is their word; pictures and programs beside the set are theirs, too. Compare the "
    "fingerprint with theirs, by telephone: {fingerprint}"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class VerifyFlags(ProgramFlags):
    """The flags of this program."""

    run: str | None = setting(None, "Zip file or folder that was passed on, or of a run.")


KINDS = command_line.define(VerifyFlags)


def lines(loaded: "Loaded") -> list[str]:
    """Return what may be believed of what was opened.

    Raises:
        InputError: something does not hold.
    """
    from jaxdp.escapes import one_line
    from jaxdp.methods.record import CERTIFICATE
    from jaxdp.saved import seal
    from jaxdp.saved.files import json_file

    files = _files(loaded)  # before their content is believed
    fingerprint = seal.fingerprint(json_file(loaded.folder.path / CERTIFICATE))
    found = [
        _what(loaded),
        _numbers(loaded),
        files,
        _NOT_PROVED.format(fingerprint=fingerprint),
        loaded.certificate.facts["verdict"],
    ]
    return [one_line(line) for line in found]


def _what(loaded: "Loaded") -> str:
    """Say what it is; everything that can be read is read."""
    from jaxdp.methods import card
    from jaxdp.program.exports import contents
    from jaxdp.program.runs import generator_file
    from jaxdp.saved.sets import DISTILLED

    spec, made, folder = loaded.spec, loaded.made, loaded.folder
    contents.require_own_releases(folder)
    whole = "no made set"
    if made is not None:
        how = "distilled" if made.file == DISTILLED else "generated"
        classes = f", {len(made.class_names)} classes" if len(made.class_names) > 1 else ""
        whole = f"{len(made.x)} {how} {card.describe(spec)}{classes}"
    more = ""
    if folder.is_there(generator_file.DESCRIPTION):
        generator_file.read(folder.path, folder.flag, folder.certificate)
        more = ", and their generator"
    n = loaded.certificate.facts["num_examples"]
    return f"what it is: {whole}{more}, made from {n} private records ({spec.name})"


def _numbers(loaded: "Loaded") -> str:
    """Say what is guaranteed, as the ledger has it."""
    from jaxdp.methods import card
    from jaxdp.privacy import wording
    from jaxdp.privacy.certificates import why_void
    from jaxdp.privacy.ledger import Ledger
    from jaxdp.privacy.wording import beside_mu
    from jaxdp.program.report.values import round_up

    facts = loaded.certificate.facts
    unit = wording.of_kind(facts["unit"], card.record(loaded.spec))
    if facts["epsilon"] is None:
        return "numbers: its ledger has no noise: there is no guarantee"
    void = why_void(Ledger.from_json(facts["ledger"]))
    if void is not None:
        return f"numbers: no epsilon holds: {void}"
    besides = beside_mu([facts["ledger"].get("threshold_delta", 0.0)])
    said = (
        f"numbers: epsilon {round_up(facts['epsilon'])} at delta {facts['delta']:g}, mu "
        f"{round_up(facts['gaussian_dp_mu'])}{besides}, {facts['relation'].split(':')[0]}, "
        f"protecting {unit.split('.')[0]}, among {facts['num_examples']} records; computed now "
        f"from its ledger ({facts['mechanism']})"
    )
    earlier = facts.get("earlier_runs")
    if not earlier:
        return f"{said}; other runs on these records are not counted" if earlier is None else said
    total = loaded.certificate.promised_epsilon
    held = "no epsilon holds" if math.isinf(total) else f"epsilon {round_up(total)}"
    return f"{said}; with {len(earlier)} earlier runs {held}"


def _files(loaded: "Loaded") -> str:
    """Say which files have their digests.

    Raises:
        InputError: one has another, or a sealed folder is not what was sealed.
    """
    from jaxdp.methods.record import CERTIFICATE
    from jaxdp.saved import seal

    folder = loaded.folder
    seal.check(folder, every=True)
    for name in folder.digests:
        if folder.is_there(name):
            folder.checked(name)
    if folder.has(seal.NAME):
        seal.require_whole(folder, packed=False)  # a zip file was checked when it was opened
    strangers = seal.uncovered(folder)
    covered = len(seal.names_in(folder.path)) - len(strangers)
    gone = [name for name in folder.digests if not folder.is_there(name)]
    said = f"files: {covered} are as their digests say (that of {CERTIFICATE} is the fingerprint)"
    said += f"; covered by no digest: {_named(strangers) if strangers else 'none'}"
    return f"{said}; not passed on: {_named(gone)}" if gone else said


def _named(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _require_readable(path: Path, flag: str) -> None:
    """Raise an `InputError` where a path is of nothing that was ever packed or run."""
    if not path.exists():
        raise InputError(f"{flag}: there is no such file or folder")
    if path.is_dir():
        if not (path / "privacy.json").exists():
            raise InputError(f"{flag}: has no privacy.json; name what jaxdp has packed or written")
    elif not path.is_file() or path.suffix != ".zip" or not zipfile.is_zipfile(path):
        raise InputError(f"{flag}: is neither a folder nor a zip file, FILE.zip")


def _fail(path: str, reason: str) -> NoReturn:
    from jaxdp.escapes import one_line

    print(f"DOES NOT HOLD: {one_line(reason)}", file=sys.stderr)
    print(one_line(f"Do not believe {path}, and do not pass it on."), file=sys.stderr)
    sys.exit(1)


def main(argv: Sequence[str]) -> None:
    """Verify; what does not hold ends it with exit code 1, bad input with 2."""
    del argv
    with command_line.one_line_errors():
        asked = command_line.settings_of(VerifyFlags)
        command_line.prepare()
        if asked.run is None:
            raise InputError("name the file or folder that you were given")
        path, flag = user_path(asked.run, "run").absolute(), asked.run
        _require_readable(path, flag)
        from jaxdp.saved import loading  # imports jax: not before flags are parsed

        try:
            loaded = loading.opened(path, flag)
            found = lines(loaded)
        except InputError as error:
            _fail(asked.run, str(error))
        print("\n".join(found))
        if not loaded.certificate.releasable:
            _fail(asked.run, "it must not be passed on, by its own certificate")
