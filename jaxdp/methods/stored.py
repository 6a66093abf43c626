"""Releases of earlier runs that a method uses again. That costs no privacy and sees no data."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from jaxdp.data import Spec
from jaxdp.escapes import one_line
from jaxdp.methods.settings import SettingsError

R = TypeVar("R")


@dataclasses.dataclass(frozen=True)
class NoOptions:
    """The settings class of features that have none."""


class Form(NamedTuple):
    """Description of the file in which a method keeps its release.

    Attributes:
        what: what the file holds, in words for error messages.
        from_arrays: makes the release from the file's arrays; raises KeyError or ValueError for
            other arrays.
        flag: the flag that takes such a file; None where no run uses one again.
        options_key: the entry of the file's description that tells how features were made.
        options: the settings class of that entry.
        float32_arrays: arrays whose noise version 0.1.0 drew in float32.
        nothing: an empty release, for a method that can do without one.
        untold: options that the oldest files leave out, with the values they had.
        chosen: the options of a plan; None where they are among its settings.
    """

    what: str
    from_arrays: Callable[[Mapping[str, np.ndarray]], Any]
    flag: str | None = None
    options_key: str = "options"
    options: Callable[..., Any] = NoOptions
    float32_arrays: tuple[str, ...] = ()
    nothing: Any = None
    untold: Mapping[str, Any] = {}
    chosen: Any = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stored(Generic[R]):
    """Release of an earlier run, as read from its file.

    Attributes:
        released: the release.
        options: the options that its features were made with.
        example_shape: shape of one private example of the earlier run.
        num_classes: number of classes that the release tells apart.
        certificate: certificate of the release.
        source: the flag that names the file, such as "--teacher=FILE".
        schema: the declared columns of a table, as JSON; None for images and plain rows.
        class_names: of the earlier run, in the order of the labels; None where its file does not
            tell them, as those of older versions, or where the schema does.
    """

    released: R
    options: Any
    example_shape: tuple[int, ...]
    num_classes: int
    certificate: dict[str, Any]
    source: str
    schema: dict[str, Any] | None = None
    class_names: tuple[str, ...] | None = None

    def require_options(self, given: Any, *, leave_out: tuple[str, ...] = ()) -> None:
        """Raise a `SettingsError` where settings contradict how features were made.

        Args:
            given: settings, None where nothing was given.
            leave_out: options that are not compared.
        """
        for field in dataclasses.fields(self.options):
            value, there = getattr(given, field.name), getattr(self.options, field.name)
            if field.name not in leave_out and value is not None and value != there:
                raise SettingsError(
                    f"--{field.name}={value}: {self.source} was made with {there}; leave the flag "
                    "out"
                )


class GeneratedImages(NamedTuple):
    """Images that were generated from a released embedding. Using them costs no further privacy.

    Attributes:
        x: (c, m, d) float32 in [0, 1], m images of each class.
        certificate: certificate of the release that they come from.
        noise_multiplier: noise multiplier of that release where one example is replaced by an empty
            one; 0 without noise.
        digest: digest of the released embedding, which tells one release from another.
        source: the flag that names the images, such as "--synthetic=FOLDER".
    """

    x: np.ndarray
    certificate: dict[str, Any]
    noise_multiplier: float
    digest: str
    source: str


class Earlier(NamedTuple):
    """Releases of earlier runs that a run uses, in the place of its own or beside them."""

    stored: Stored[Any] | None = None
    images: GeneratedImages | None = None

    def certificate(self, *, also_images: bool = True) -> dict[str, Any] | None:
        """Return the certificate of what is used again in the place of a release; None without.

        Args:
            also_images: whether generated images are such a thing.
        """
        if self.stored is not None:
            return self.stored.certificate
        return self.images.certificate if also_images and self.images is not None else None


NOTHING = Earlier()


def _remedy(here: Any, there: Any) -> str:
    """Return what to do where images differ in their size alone."""
    shapes = isinstance(here, list) and len(here) == len(there) == 3 and here[2] == there[2]
    return f"; --image_size={there[1]}x{there[0]} resizes images to that" if shapes else ""


def require_same_data(stored: Stored[Any], spec: Spec, num_classes: int) -> None:
    """Raise a `SettingsError` where what was released is of other data than a run's."""
    require_same_unit(stored.certificate, stored.source, spec)
    for what, here, there in (
        ("examples of shape", list(spec.stored_shape), list(stored.example_shape)),
        ("classes:", num_classes, stored.num_classes),
    ):
        if here != there:
            raise SettingsError(
                f"{stored.source}: was made from {what} {there}, and --dataset={spec.name} has "
                f"{here}{_remedy(here, there)}"
            )
    if stored.schema != spec.schema_json:
        raise SettingsError(
            f"{stored.source}: was made from a table of another schema than --dataset={spec.name} "
            "has; give it the same --schema"
        )
    require_same_classes(stored, spec)


def require_same_classes(stored: Stored[Any], spec: Spec) -> None:
    """Raise a `SettingsError` where classes are called otherwise than those of a release.

    Names decide on the order: by others, examples of one class would be given to another.
    """
    names = stored.class_names
    if names is None or names == spec.class_names or len(names) != spec.num_classes:
        return  # a run that tells no classes apart has one without a name
    pairs = enumerate(zip(names, spec.class_names, strict=True))
    label, (there, here) = next((k, pair) for k, pair in pairs if pair[0] != pair[1])
    raise SettingsError(
        one_line(
            f"{stored.source}: was made from other names of classes, or in another order (class "
            f"{label} was {there!r}, and is {here!r} in --dataset={spec.name}); put them back, or "
            "release anew"
        )
    )


def require_same_unit(certificate: Mapping[str, Any], source: str, spec: Spec) -> None:
    """Raise a `SettingsError` where what was released protects persons with more or fewer records.

    Args:
        certificate: of what was released.
        source: the flag that names it.
        spec: of the data of the run.
    """
    most = certificate["ledger"].get("records_per_person", 1)
    if most != spec.records_per_person:
        raise SettingsError(
            f"{source}: protects persons with at most {most} records, and this run those with "
            f"{spec.records_per_person}; give --records_per_person={most}"
        )


def require_persons(certificate: Mapping[str, Any], source: str, spec: Spec) -> None:
    """Raise a `SettingsError` where a run is about persons, and what is beside it is not.

    Args:
        certificate: of what was released, for persons with as many records as in the run.
        source: the flag that names it.
        spec: of the data of the run.
    """
    most = spec.records_per_person
    if spec.persons_declared and most == 1 and certificate.get("persons_declared") is not True:
        raise SettingsError(
            f"{source}: protects single records, whoever they are of, and this run persons; make "
            "it again with --records_per_person=1, or leave that out here"
        )


def require_width(stored: Stored[Any], width: int, num_features: int) -> None:
    """Raise a `SettingsError` where what was released has other features than its options make."""
    if width != num_features:
        raise SettingsError(
            f"{stored.source}: holds {width} features per class, and its options make "
            f"{num_features}: another version made it"
        )
