"""The probes of ledgers of datasets, and of folders that are passed on to other programs."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from jaxdp.data.kinds import IMAGES
from jaxdp.methods.record import npz_bytes
from jaxdp.privacy import DatasetLedger, TotalBudget, dataset_ledger
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.mechanism import SubsampledGaussian
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.program.commands import classify, export, registry_entry, spent
from jaxdp.program.data import new_examples
from jaxdp.program.runs import dataset_ledgers
from jaxdp.program.terminal import print_guarantee
from support import faulty_input, saved_folders
from support.faulty_input import Probe

_LEDGER = f"d{dataset_ledgers.ENDING}"
_RUN = Ledger(
    num_examples=100,
    delta=1e-5,
    releases=(GaussianRelease(name="mean", sensitivity=0.1, stddev=1.0),),
)
_STEPS = Ledger(
    num_examples=100,
    delta=1e-5,
    steps=SubsampledGaussian(
        num_examples=100, sampling_rate=0.1, num_steps=3, clip_norm=1.0, noise_multiplier=2.0
    ),
)


@functools.cache
def _whole_ledger() -> bytes:
    """A ledger of two runs and a budget, as runs write it, always the same."""
    now = (dataset_ledger, "_now", lambda: "2026-01-01T00:00:00+00:00")
    with tempfile.TemporaryDirectory() as name, faulty_input.patched(now):
        ledger = DatasetLedger(Path(name) / _LEDGER)
        ledger.enter("0" * 32, "teacher", _RUN)
        ledger.enter("1" * 32, "dp_kip", _STEPS, budget=TotalBudget(100.0, 1e-5))
        ledger.note("0" * 32, "a" * 64, before=None)
        ledger.finish("0" * 32, {"teacher.npz": "b" * 64})
        return ledger.path.read_bytes()


def _chained(lines: list[bytes]) -> bytes:
    """Return lines with digests that fit, so that what else they tell is read."""
    content = b""
    for line in lines:
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(line)
            if isinstance(found, dict) and "before" in found:
                found["before"] = hashlib.sha256(content).hexdigest()
                line = json.dumps(found).encode() + b"\n"
            elif isinstance(found, dict) and found.pop("digest", None) is not None:
                text = json.dumps(found)[:-1].encode()
                digest = hashlib.sha256(content + text).hexdigest()
                line = text + f', "digest": "{digest}"}}\n'.encode()
        content += line
    return content


@st.composite
def _ledgers(draw: st.DrawFn) -> bytes:
    """A ledger of which bytes, lines or facts are others."""
    content = _whole_ledger()
    how = draw(st.sampled_from(["facts"] * 6 + ["lines", "lines", "bytes", "cut", "version"]))
    if how == "bytes":
        return faulty_input.damage(draw, content)
    if how == "cut":
        return content[: draw(st.integers(0, len(content)))]
    lines = content.splitlines(keepends=True)
    number = draw(st.integers(1, len(lines) - 1))
    if how == "version":
        number, original = 0, json.loads(lines[0])
        changed = original | {"version": draw(st.one_of(st.integers(), st.none(), st.text()))}
        lines[0] = json.dumps(changed).encode() + b"\n"
    elif how == "facts":
        changed = draw(faulty_input.edited(json.loads(lines[number])))
        lines[number] = json.dumps(changed).encode() + b"\n"
    else:
        others = [
            b"\n",
            b"{}\n",
            b"[" * 10**5 + b"\n",
            b"1" * 5000 + b"\n",
            b"\xff\n",
            lines[number],
        ]
        lines[number:number] = [draw(st.sampled_from(others))]
        del lines[draw(st.integers(0, len(lines) - 1))]
    return _chained(lines) if draw(st.integers(0, 5)) else b"".join(lines)


def _write_ledger(content: bytes, folder: Path) -> None:
    (folder / _LEDGER).write_bytes(content)


def _read_ledger(_: bytes, folder: Path) -> None:
    """Sum up the runs, and ask for room for another one."""
    "\n".join(spent.lines(_LEDGER, None))
    ledger = DatasetLedger(folder / _LEDGER)
    with dataset_ledgers.in_one_line(ledger):
        ledger.require_room(_RUN, name="2" * 32)


# --- Folders that are passed on ---------------------------------------------------------------


@functools.cache
def _passed_on(name: str) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as place:
        folder = getattr(saved_folders, name)(Path(place) / "run")
        return faulty_input.files_in(folder)


_FOLDERS = ("images", "unlabelled", "distilled", "table", "rows")


@st.composite
def _certified(draw: st.DrawFn) -> dict[str, bytes]:
    """A folder of which the certificate or the settings are others."""
    files = dict(_passed_on(draw(st.sampled_from(_FOLDERS))))
    name = draw(st.sampled_from(["privacy.json", "privacy.json", "config.json"]))
    original = json.loads(files[name])
    if draw(st.integers(0, 7)) == 0:
        files[name] = faulty_input.damage(draw, files[name])
        return files
    if name == "privacy.json" and draw(st.booleans()):  # what tells of epsilon and of noise
        inner = draw(faulty_input.edited(original["ledger"]))
        files[name] = json.dumps(original | {"ledger": inner}).encode()
        return files
    files[name] = json.dumps(draw(faulty_input.edited(original))).encode()
    return files


@contextlib.contextmanager
def _elsewhere() -> Iterator[Path]:
    """Give a place for what is written where all is well; nothing may be there where it is not."""
    with tempfile.TemporaryDirectory() as name:
        try:
            yield Path(name)
        except BaseException:
            assert not list(Path(name).iterdir()), "wrote what it has refused"
            raise


def _use(_: Any, folder: Path) -> None:
    """Give a folder to every program that takes one."""
    loaded = classify._opened("run")
    if loaded.spec.dim > 10**6:  # would be read, and takes long
        return
    made = loaded.made
    if made is not None and made.file.startswith("synthetic"):
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "new.npz"
            file.write_bytes(npz_bytes(x=made.x))
            examples = new_examples.read([str(file)], loaded.spec)
            classify.as_csv(examples, loaded.classifier.decision_function(examples.x), loaded)
    for form in ("png", "torch", "huggingface"):
        if form != "png" or loaded.spec.kind is IMAGES:
            with _elsewhere() as place:
                export._exported("run", form, str(place / "out"))
    registry_entry.as_yaml(registry_entry.entry(loaded))
    with contextlib.redirect_stdout(io.StringIO()):
        print_guarantee(dict(loaded.certificate.facts))


PROBES = (
    Probe(
        "ledger",
        lambda: _ledgers() if _whole_ledger() else st.nothing(),
        _write_ledger,
        _read_ledger,
        _whole_ledger,
    ),
    Probe(
        "classify, export, registry_entry",
        lambda: _certified() if all(map(_passed_on, _FOLDERS)) else st.nothing(),
        functools.partial(faulty_input.write_files, "run"),
        _use,
        lambda: _passed_on("images"),
    ),
)
