"""How a run starts and ends: its folder, its warnings, its settings and its certificate."""

import contextlib
import importlib.metadata
import platform
import sys
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax

from jaxdp.escapes import for_terminal
from jaxdp.methods import certified
from jaxdp.methods import facts as data_facts
from jaxdp.methods.base import Plan
from jaxdp.methods.record import config_of
from jaxdp.privacy.ledger import OLD_NOISE, Ledger
from jaxdp.privacy.stored_certificates import recertified
from jaxdp.program.errors import InputError
from jaxdp.program.runs.folder import RunFolder
from jaxdp.program.runs.ledger_entry import KEY, LedgerEntry
from jaxdp.program.runs.local_paths import without_folders
from jaxdp.program.runs.release_log import ReleaseLog
from jaxdp.saved.files import digest

_PACKAGES = ("jaxdp-toolkit", "jax", "jaxlib", "flax", "optax", "numpy", "dp-accounting", "autodp")


class Started(NamedTuple):
    """A run's folder, the certificate that holds, and what it has released so far.

    A finished run of version 0.1.0, which stored no ledger, keeps its own certificate.
    """

    folder: RunFolder
    certificate: dict[str, Any]
    log: ReleaseLog


@contextlib.contextmanager
def started(
    plan: Plan[Any],
    run_flags: Any,
    folder: RunFolder,
    facts: Mapping[str, Any],
    *,
    open_before: Container[str] = (),
) -> Iterator[Started]:
    """Open the run's folder and write config.json and privacy.json before anything else.

    The certificate counts every planned step, so it holds for whatever a killed run leaves behind.

    Args:
        plan: what is run.
        run_flags: where it goes.
        folder: of the run.
        facts: what config.json tells beside settings and versions.
        open_before: settings that are not given.

    Raises:
        InputError: the folder is in use or holds another run, what that has released is gone or
            is not all that the ledger of the dataset knows of, or the disk is full.
        SettingsError: delta would keep the result of a new run from being released.
    """
    fixed, certificate = config_of(plan, run_flags), certified.certificate(plan)
    entry = LedgerEntry(plan, run_flags, folder)
    entry.require_room()
    entry.require_releasable()
    if run_flags.resume and folder.read_json("config.json") is not None:
        folder.require_same_config(fixed, open_before=open_before)
    else:
        certified.require_delta(plan)
    folder.require_space(plan.story.num_bytes)
    with folder:
        entry.require_own_notes()
        stored = folder.read_json("config.json")
        config = without_folders({**fixed, **facts}) | {"versions": versions(), **entry.noted}
        config["ledger"] = plan.ledger and plan.ledger.to_json()
        if stored is not None and "ledger" not in stored:
            certificate = _certificate_of_old_run(folder, plan.story.old_noise)
            config["ledger"] = certificate["ledger"]
            config.pop(KEY, None)  # it was never entered, and releases nothing any more
        else:
            if stored is not None:
                _require_same_data(folder, stored, plan)
                _require_same_ledger(folder, stored["ledger"], config["ledger"])
            # The name is on disk before the entry is, so that a resumed run finds it.
            folder.write_json("config.json", config)
            certificate = certified.certificate(plan, entry.made())
        log = ReleaseLog(folder, entry if entry.is_made else None)
        for warning in certificate["warnings"]:
            print(f"WARNING: {warning}", file=sys.stderr)
        folder.write_json("config.json", config)
        kept = {**(folder.read_json("privacy.json") or {}), "sha256": None}
        if kept != {**certificate, "sha256": None}:  # or the digests of results would be lost
            folder.write_json("privacy.json", dict(certificate))
        yield Started(folder, dict(certificate), log)


def _require_same_data(folder: RunFolder, stored: Mapping[str, Any], plan: Plan[Any]) -> None:
    """Raise an `InputError` where what is public of the data is not what the run has released by.

    A schema that was bought anew differs, and what was released tells of the one before. Classes by
    other names would be given the images of others.
    """
    try:
        before = data_facts.from_config(stored)
    except ValueError:  # an earlier version did not tell
        return
    if before.schema is None and before.class_names != plan.spec.class_names:
        names = " and ".join(
            for_terminal(", ".join(each)) for each in (before.class_names, plan.spec.class_names)
        )
        raise InputError(
            f"--resume: the run in --out_dir={folder.path} was started with other names of "
            f"classes, or in another order ({names}); put them back, or start a new run"
        )
    if before.schema != plan.spec.schema:
        raise InputError(
            f"--schema: the run in --out_dir={folder.path} was started with another schema, which "
            "its config.json has; put that back, or start a new run"
        )


def _require_same_ledger(folder: RunFolder, stored: Any, planned: Any) -> None:
    """Raise an `InputError` where a run was started with other noise than it would go on with."""
    if stored == planned or (stored and planned and _same(stored, planned)):
        return
    before = stored if isinstance(stored, dict) else {}
    parts = [(k, v, (planned or {}).get(k)) for k, v in before.items()]
    said = "; ".join(f"{k} was {old}, is {new}" for k, old, new in parts if old != new)
    raise InputError(
        f"{folder.path}/config.json: the run was started with other numbers than it would go on "
        f"with ({said or f'{stored} before, {planned} now'}), by another version or by hand; "
        "finish it with the version that it names, or start a new run"
    )


def _same(stored: Any, planned: Any) -> bool:
    """Whether ledgers are the same; one of an older version tells less."""
    try:
        return Ledger.from_json(stored) == Ledger.from_json(planned)
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


def _certificate_of_old_run(folder: RunFolder, old_noise: str) -> dict[str, Any]:
    """Return the certificate of a finished run of version 0.1.0.

    Raises:
        InputError: it has not finished, or its certificate contradicts itself.
    """
    if not (folder.read_json("metrics.json") or {}).get("finished"):
        raise InputError(
            f"--resume: the run in {folder.path} was started by version 0.1.0, which did not store "
            "what it accounts for; finish it with that version, or start a new run"
        )
    return read_certificate(folder.path / "privacy.json", folder, old_noise=old_noise)


def read_certificate(
    path: Path, folder: RunFolder, *, old_noise: str = OLD_NOISE
) -> dict[str, Any]:
    """Return a folder's certificate, computed anew from its ledger.

    Raises:
        InputError: there is none, or it says something else than its numbers.
    """
    try:
        return recertified(folder.read_json(path.name) or {}, old_noise=old_noise)
    except ValueError as error:
        raise InputError(f"{path}: cannot be trusted ({error}); start a new run") from error


def finish(
    folder: RunFolder, certificate: Mapping[str, Any], names: tuple[str, ...]
) -> dict[str, str]:
    """Write the certificate with the digests of the files that it covers; return these."""
    there = (name for name in names if (folder.path / name).exists())
    files = {name: digest(folder.path / name) for name in there}
    folder.write_json("privacy.json", dict(certificate) | {"sha256": files})
    return files


def versions() -> dict[str, str]:
    """Return the versions of what computes, for config.json."""
    found = {name: _version(name) for name in _PACKAGES}
    return found | {"python": platform.python_version()}


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"  # run in a checkout, beside installed packages


def device_name() -> str:
    """Return the device that computes, for metrics.json."""
    device = jax.devices()[0]
    return f"{device.platform}: {device.device_kind}"
