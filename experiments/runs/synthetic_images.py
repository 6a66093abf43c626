"""Released synthetic images of an earlier generating run, to distil from."""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.data import npz as npz_files
from experiments.data.load import Dataset
from experiments.data.outside_files import json_object, open_plain, user_path
from experiments.errors import InputError
from experiments.runs import released_file
from experiments.runs.release_log import digest
from jaxdp.methods import dp_ntk
from jaxdp.privacy import certificates
from jaxdp.privacy.releases import GaussianRelease

_NAME = "synthetic.npz"
_UNTIED = (
    f"the images in {_NAME} of --synthetic were made by version 0.1.0, and nothing shows that they "
    "come from its release: generate them again, which --embedding does for free"
)
# As many images of a class as are looked at; more change little.
_MOST = 2000


class SyntheticImages(NamedTuple):
    """Images that were generated from a released embedding; using them costs no further privacy.

    Attributes:
        x: (c, m, d) float32 in [0, 1], m of each class.
        certificate: of the release that they come from.
        noise_multiplier: of that release under adding or removing one example; 0 without noise.
        digest: of the released embedding: tells one release from another.
    """

    x: np.ndarray
    certificate: dict[str, Any]
    noise_multiplier: float
    digest: str


def read(folder: str, data: Dataset, *, ipc: int) -> SyntheticImages:
    """Read the images of a finished run of `experiments.dp_ntk`.

    Args:
        folder: of that run.
        data: what is distilled; its stored scale is that of the images.
        ipc: images per class that will be asked for.

    Raises:
        InputError: there is no such run, it has not finished, or it is of other data.
    """
    path = user_path(folder, "synthetic")
    if not (path / released_file.NAME).is_file() or not (path / _NAME).is_file():
        raise InputError(
            f"--synthetic={folder}: is not the folder of a finished run of experiments.dp_ntk (it "
            f"needs {released_file.NAME} and {_NAME})"
        )
    embedding = released_file.read(path / released_file.NAME)
    x, y = _arrays(path / _NAME, folder, data.num_classes)
    for what, here, there in (
        ("images of shape", list(data.shape), list(x.shape[1:])),
        ("classes:", data.num_classes, len(embedding.released.mu)),
    ):
        if here != there:
            raise InputError(
                f"--synthetic={folder}: holds {what} {there}, and --dataset={data.name} has {here}"
            )
    counts = np.bincount(y, minlength=data.num_classes)
    if counts.min() < ipc:
        raise InputError(
            f"--synthetic={folder}: has {counts.min()} images of class "
            f"{data.class_names[int(counts.argmin())]}, and --ipc={ipc} asks for more; generate "
            "more with --num_synthetic"
        )
    each = min(_MOST, int(counts.min()))
    chosen = [np.flatnonzero(y == label)[:each] for label in range(data.num_classes)]
    rows = x[np.stack(chosen)].reshape(data.num_classes, each, -1).astype(np.float32)
    scaling, certificate = data.scaling, _certificate(path, folder, embedding.certificate)
    mu = np.ascontiguousarray(embedding.released.mu)
    return SyntheticImages(
        np.clip((rows - scaling.low) / (scaling.high - scaling.low), 0, 1),
        certificate,
        _multiplier(certificate, folder),
        hashlib.sha256(mu.tobytes()).hexdigest(),
    )


def _arrays(path: Path, folder: str, num_classes: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        arrays = npz_files.load(path)
        x, y = arrays["x"], arrays["y"]
        if y.shape != (len(x),) or not np.issubdtype(y.dtype, np.integer) or y.min() < 0:
            raise ValueError(f"its labels do not fit {len(x)} images")
        if y.max() >= num_classes:
            raise ValueError(f"it has labels beyond {num_classes} classes")
        if not np.all(np.isfinite(x)):
            raise ValueError("it has values that are not finite")
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"--synthetic={folder}: {_NAME} cannot be used ({error})") from error
    return x, y


def _certificate(path: Path, folder: str, released: dict[str, Any]) -> dict[str, Any]:
    """Return the certificate of images: that of the embedding, where they are tied to it.

    Raises:
        InputError: the images, or the embedding, are not those that the run has made.
    """
    try:
        with open_plain(path / "privacy.json") as file:
            stored = json_object(file.read())
        digests = stored.get("sha256")
        if digests is None:
            stored |= {"objection": _UNTIED, "releasable": False}
        certificate = certificates.recertified(stored)
    except (OSError, ValueError) as error:
        raise InputError(
            f"--synthetic={folder}: privacy.json cannot be trusted ({error}); generate again, "
            "which --embedding does for free"
        ) from error
    if certificate["ledger"] != released["ledger"]:
        raise InputError(
            f"--synthetic={folder}: privacy.json and {released_file.NAME} are of different releases"
        )
    for name in (released_file.NAME, _NAME) if digests is not None else ():
        if not isinstance(digests, dict) or digests.get(name) != digest(path / name):
            raise InputError(
                f"--synthetic={folder}: {name} is not the file that privacy.json is about; "
                "generate again, which --embedding does for free"
            )
    return certificate


def _multiplier(certificate: dict[str, Any], folder: str) -> float:
    try:
        released = [GaussianRelease(**release) for release in certificate["releases"]]
        return dp_ntk.multiplier_by_removal(released, certificate["num_examples"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"--synthetic={folder}: its certificate does not say what was released ({error})"
        ) from error
