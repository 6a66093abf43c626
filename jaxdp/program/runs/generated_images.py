"""Images that an earlier run has generated, to distil from; and the teacher that labelled them."""

import dataclasses
import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxdp.data import Spec
from jaxdp.methods import dp_ntk
from jaxdp.methods.dp_ntk import labels
from jaxdp.methods.settings import part_of
from jaxdp.methods.stored import Earlier, GeneratedImages, Stored, require_same_classes
from jaxdp.methods.teacher.earlier import BESIDE
from jaxdp.methods.teacher.released import Released
from jaxdp.methods.teacher.settings import MapOptions
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.privacy.stored_certificates import recertified
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.errors import InputError
from jaxdp.program.runs import released
from jaxdp.saved import npz as npz_files
from jaxdp.saved.files import digest, json_file

_NAME, _EMBEDDING, _LABELLED = "synthetic.npz", "embedding.npz", "labelled.npz"
_UNTIED = (
    f"the images in {_NAME} of --synthetic were made by version 0.1.0, and nothing shows that they "
    "come from its release: generate them again, which --embedding does for free"
)
# As many images of a class as are looked at; more change little. A set with a teacher holds those
# that are hard to tell: what is distilled from those that it is surest of is easier to name.
_MOST = 2000


class Generated(NamedTuple):
    """What a run of `dp_ntk` has left.

    Attributes:
        images: that it generated.
        teacher: that labelled them and was released together with them; None without one.
    """

    images: GeneratedImages
    teacher: Stored[Any] | None


def beside(stored: Stored[Any] | None, folder: str, spec: Spec, settings: Any) -> Earlier:
    """Return what a run that distils builds on: a teacher, and the images of a folder.

    Args:
        stored: a teacher that a flag names; None without one.
        folder: see `read`.
        spec: see `read`.
        settings: of the run that distils.

    Raises:
        InputError: as `read`, or there are two teachers.
    """
    images, found = read(folder, spec, ipc=settings.ipc)
    if settings.match == "embedding" or found is None:
        return Earlier(stored, images)
    if stored is not None:
        raise InputError(f"{stored.source}: leave it out, {images.source} has a teacher of its own")
    return Earlier(found, images)


def read(folder: str, spec: Spec, *, ipc: int) -> Generated:
    """Read the images of a finished run of `dp_ntk`, and its teacher if it has one.

    Args:
        folder: of that run.
        spec: of the data that are distilled; their stored scale is that of the images.
        ipc: images per class that will be asked for.

    Raises:
        InputError: there is no such run, it has not finished, or it is of other data.
    """
    path = user_path(folder, "synthetic")
    has_teacher = (path / _LABELLED).is_file()
    of_release = _LABELLED if has_teacher else _EMBEDDING
    if not (path / of_release).is_file() or not (path / _NAME).is_file():
        raise InputError(
            f"--synthetic={folder}: is not the folder of a finished run of dp_ntk (it "
            f"needs {_EMBEDDING} or {_LABELLED}, and {_NAME})"
        )
    _require_finished(path, folder)
    form: Any = labels.FORM if has_teacher else dp_ntk.FORM
    embedding = released.read(path / of_release, form)
    x, y, sureness = _arrays(path / _NAME, folder, spec.num_classes)
    for what, here, there in (
        ("images of shape", list(spec.shape), list(x.shape[1:])),
        ("classes:", spec.num_classes, len(embedding.released.mu)),
    ):
        if here != there:
            raise InputError(
                f"--synthetic={folder}: holds {what} {there}, and --dataset={spec.name} has {here}"
            )
    require_same_classes(dataclasses.replace(embedding, source=f"--synthetic={folder}"), spec)
    counts = np.bincount(y, minlength=spec.num_classes)
    if counts.min() < ipc:
        raise InputError(
            f"--synthetic={folder}: has {counts.min()} images of class "
            f"{spec.class_names[int(counts.argmin())]}, and --ipc={ipc} asks for more; generate "
            "more with --num_synthetic"
        )
    each = min(_MOST, int(counts.min()))
    surest = np.argsort(-sureness, kind="stable")  # in the order of the file where all are alike
    chosen = [surest[y[surest] == label][:each] for label in range(spec.num_classes)]
    rows = x[np.stack(chosen)].reshape(spec.num_classes, each, -1).astype(np.float32)
    certificate = _certificate(path, folder, embedding.certificate, of_release)
    mu = np.ascontiguousarray(embedding.released.mu)
    images = GeneratedImages(
        x=np.clip(spec.codec.to_unit(rows), 0, 1),
        certificate=certificate,
        # Nothing is released beside images that have a teacher: 0 would ask for infinite budget.
        noise_multiplier=0.0 if has_teacher else _multiplier(certificate, folder),
        digest=hashlib.sha256(mu.tobytes()).hexdigest(),
        source=f"--synthetic={folder}",
    )
    return Generated(images, _teacher(embedding, images) if has_teacher else None)


def _require_finished(path: Path, folder: str) -> None:
    """Raise an `InputError` where a run was stopped before its files were certified."""
    try:
        finished = json_file(path / "metrics.json").get("finished", True)
    except FileNotFoundError:  # it may stay at home
        return
    except (OSError, ValueError) as error:
        raise InputError(f"--synthetic={folder}: metrics.json cannot be read ({error})") from error
    if not finished:
        raise InputError(
            f"--synthetic={folder}: its run has not finished; give it --resume, which costs nothing"
        )


def _teacher(stored: Stored[Any], images: GeneratedImages) -> Stored[Any]:
    """Return the teacher of a run, under the certificate of its images: both are one release."""
    return dataclasses.replace(
        stored,
        released=Released(weights=stored.released.weights),
        options=part_of(stored.options, MapOptions),
        certificate=images.certificate | {BESIDE: [images.digest]},
        source=images.source,
    )


def _arrays(path: Path, folder: str, num_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return images, labels, and how probable each label is; 1 where no teacher has told.

    Raises:
        InputError: they do not fit each other.
    """
    try:
        arrays = npz_files.load(path)
        x, y = arrays["x"], arrays["y"]
        if y.shape != (len(x),) or not np.issubdtype(y.dtype, np.integer) or y.min() < 0:
            raise ValueError(f"its labels do not fit {len(x)} images")
        if y.max() >= num_classes:
            raise ValueError(f"it has labels beyond {num_classes} classes")
        scores = arrays["y_scores"] if "y_scores" in arrays else np.ones((len(x), num_classes))
        if scores.shape != (len(x), num_classes):
            raise ValueError(f"its soft labels do not fit {len(x)} images")
        if not (np.all(np.isfinite(x)) and np.all(np.isfinite(scores))):
            raise ValueError("it has values that are not finite")
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"--synthetic={folder}: {_NAME} cannot be used ({error})") from error
    return x, y, scores[np.arange(len(y)), y]


def _certificate(
    path: Path, folder: str, embedding: dict[str, Any], of_release: str
) -> dict[str, Any]:
    """Return the certificate of images: that of the embedding, where they are tied to it.

    Raises:
        InputError: the images, or the embedding, are not those that the run has made.
    """
    try:
        stored = json_file(path / "privacy.json")
        digests = stored.get("sha256")
        if digests is None:
            stored |= {"objection": _UNTIED, "releasable": False}
        certificate = recertified(stored)
    except (OSError, ValueError) as error:
        raise InputError(
            f"--synthetic={folder}: privacy.json cannot be trusted ({error}); generate again, "
            "which --embedding does for free"
        ) from error
    if certificate["ledger"] != embedding["ledger"]:
        raise InputError(
            f"--synthetic={folder}: privacy.json and {of_release} are of different releases"
        )
    for name in (of_release, _NAME) if digests is not None else ():
        if not isinstance(digests, dict) or digests.get(name) != digest(path / name):
            raise InputError(
                f"--synthetic={folder}: {name} is not the file that privacy.json is about; "
                "generate again, which --embedding does for free"
            )
    return certificate


def _multiplier(certificate: dict[str, Any], folder: str) -> float:
    try:
        found = [GaussianRelease(**release) for release in certificate["releases"]]
        return dp_ntk.multiplier_by_removal(found, certificate["num_examples"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"--synthetic={folder}: its certificate does not say what was released ({error})"
        ) from error
