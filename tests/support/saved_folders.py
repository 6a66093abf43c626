"""Folders as runs leave them, made without a run: files, facts and a certificate that fit."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from jaxdp.data import Spec
from jaxdp.methods import dp_kip, facts, record
from jaxdp.methods.dp_kip.kernels import KernelOptions
from jaxdp.privacy import certificates
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.tables import frames
from support.toy_tables import schema_of

NAMES = ("none", "some", "much")


def ledger_of(spec: Spec, *, stddev: float) -> Ledger:
    releases = () if stddev == 0 else (GaussianRelease(name="m", sensitivity=0.1, stddev=stddev),)
    if not releases:
        releases = (GaussianRelease(name="m", sensitivity=0.1, stddev=0.0),)
    return Ledger(num_examples=spec.num_examples, delta=1e-5, releases=releases)


def write(
    folder: Path,
    name: str,
    spec: Spec,
    arrays: dict[str, Any],
    *,
    options: dict[str, Any] | None = None,
    stddev: float = 1.0,
) -> Path:
    """Write a set with all that tells of it; with `stddev` 0 it must not be released."""
    folder.mkdir(parents=True, exist_ok=True)
    content = record.npz_bytes(**arrays)
    (folder / f"{name}.npz").write_bytes(content)
    files = {f"{name}.npz": hashlib.sha256(content).hexdigest()}
    ledger = ledger_of(spec, stddev=stddev)
    terms = certificates.Terms(covers=(f"{name}.npz: it",), target_epsilon=1.0)
    certificate = certificates.certify(ledger, terms)
    config = {
        **(options or {}),
        "num_examples": spec.num_examples,
        "ledger": ledger.to_json(),
        facts.KEY: facts.to_json(spec),
    }
    (folder / "config.json").write_bytes(record.json_bytes(config))
    (folder / "privacy.json").write_bytes(record.json_bytes(certificate | {"sha256": files}))
    return folder


def synthetic_arrays(spec: Spec, x: np.ndarray, *, names: tuple[str, ...] = NAMES) -> Any:
    labels = np.arange(len(x), dtype=np.int32) % len(names)
    return {"x": x, "y": labels, "class_names": np.array(names)}


def images(
    folder: Path,
    *,
    shape: tuple[int, ...] = (4, 5, 1),
    dtype: str = "uint8",
    high: float = 255,
    low: float = 0,
    names: tuple[str, ...] = NAMES,
    **options: Any,
) -> Path:
    """Write a synthetic set of 12 images in which every class has its own brightness."""
    spec = Spec.images("scans", (90, *shape), class_names=names, low=low, high=high, dtype=dtype)
    rng = np.random.default_rng(0)
    x = rng.random((12, *shape)) * 0.2 + np.arange(12).reshape(-1, 1, 1, 1) % 3 * 0.3
    x[0].flat[:2] = 0, 1  # the whole range
    arrays = synthetic_arrays(spec, spec.codec.from_unit(x), names=names)
    return write(folder, "synthetic", spec, arrays, **options)


def unlabelled(folder: Path) -> Path:
    """Write a synthetic set whose maker did not use labels."""
    spec = Spec.images("scans", (90, 4, 4), class_names=NAMES)
    x = np.zeros((3, 4, 4, 1), np.uint8)
    return write(folder, "synthetic", spec, synthetic_arrays(spec, x, names=("all",)))


IMAGES = Spec.images("scans", (90, 4, 4), class_names=NAMES)


def distilled(folder: Path, **options: Any) -> Path:
    """Write a distilled set of DP-KIP, an image for each class, with values beyond the range."""
    spec = IMAGES
    x = np.linspace(-1.5, 1.5, 48, dtype=np.float32).reshape(3, 4, 4, 1)
    arrays = synthetic_arrays(spec, x) | {"shift": np.float32(127.5), "scale": np.float32(127.5)}
    complete = dp_kip.complete(dp_kip.Settings(kernel="fc_nngp", depth=1, ridge=0.1), spec)
    names = [*(field.name for field in dataclasses.fields(KernelOptions)), "ridge", "seed"]
    config = {name: getattr(complete, name) for name in names}
    return write(folder, "distilled", spec, arrays, options=config, **options)


def table(folder: Path) -> Path:
    """Write a synthetic table with a schema, of 12 records."""
    from support.toy_tables import frame_of

    spec = Spec.table("people", schema_of(), 90)
    x, y = frames.encode(frame_of(12), schema_of())
    arrays = {"x": x, "y": y, "class_names": np.array(spec.class_names)}
    return write(folder, "synthetic", spec, arrays)


def rows(folder: Path) -> Path:
    """Write synthetic rows of numbers without a schema."""
    spec = Spec.rows("rows", (90, 2), class_names=["a", "b"])
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(4, 2)
    return write(folder, "synthetic", spec, synthetic_arrays(spec, x, names=("a", "b")))


def changed(path: Path, **news: Any) -> None:
    """Change entries of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | news))
