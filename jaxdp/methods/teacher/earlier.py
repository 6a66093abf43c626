"""Whether what earlier runs have released fits a run with a private teacher."""

from jaxdp.data import Spec
from jaxdp.features import random_networks
from jaxdp.images.packing import Packing
from jaxdp.methods.settings import SettingsError, bad
from jaxdp.methods.stored import (
    Earlier,
    Stored,
    require_persons,
    require_same_data,
    require_same_unit,
)
from jaxdp.methods.teacher.public_maps import mean_map
from jaxdp.methods.teacher.released import Released
from jaxdp.methods.teacher.settings import Settings

BESIDE = "also_released_digests"
"""Where a certificate tells which released embeddings it has accounted for."""

_OF_IMAGES = (
    *("whiten", "mirror", "patches", "second_layer", "encoder", "brightness"),
    *("networks", "total_variation"),
)


def check_earlier(settings: Settings, spec: Spec, earlier: Earlier) -> None:
    """Raise a `SettingsError` where earlier releases do not fit the data or each other."""
    stored, images = earlier
    if images is not None:
        require_same_unit(images.certificate, images.source, spec)
        if stored is None and settings.uses_teacher:
            require_persons(images.certificate, images.source, spec)
        asked, there = settings.ipc * settings.packing**2, images.x.shape[1]
        if asked > there:
            raise bad(
                settings,
                "packing",
                f"needs {asked} generated images of each class, and {images.source} has {there}; 1 "
                "packs none",
            )
    if stored is None:
        return
    require_same_data(stored, spec, spec.num_classes)
    means = () if images is not None else ("embedding", "both")
    for what, matches, found in (
        ("a teacher", ("teacher", "both"), stored.released.weights),
        ("class means", means, stored.released.means),
    ):
        if settings.match in matches and found is None:
            raise bad(
                settings,
                "match",
                f"{stored.source} was released without {what}; make one with "
                f"--match={settings.match}",
            )
    # A teacher and images of which each has a certificate of its own have spent more together than
    # either says.
    if images is not None and images.digest not in stored.certificate.get(BESIDE, ()):
        raise SettingsError(
            f"{images.source}: was not accounted for when {stored.source} was trained; train one "
            f"beside it, without --teacher"
        )


def check_table(settings: Settings, earlier: Earlier) -> None:
    """Raise a `SettingsError` where settings or earlier releases are about images alone."""
    if settings.match != "teacher":
        raise bad(settings, "match", "works on images; records of tables have a teacher alone")
    if settings.packing != 1:
        raise bad(settings, "packing", "works on images, leave it out")
    for name in _OF_IMAGES:
        if getattr(settings, name):
            raise bad(settings, name, "works on images, leave it out")
    if earlier.images is not None:
        raise SettingsError(f"{earlier.images.source}: holds no images of this table")


def check_packing(settings: Settings, spec: Spec) -> None:
    """Raise a `SettingsError` where images do not hold as many small ones as are asked for."""
    try:
        Packing(image_shape=spec.image_shape, factor=settings.packing)
    except ValueError as error:
        raise bad(settings, "packing", f"{error}; 1 packs none") from error


def check_width(stored: Stored[Released], num_features: int) -> None:
    """Raise a `SettingsError` where a stored teacher is of other features than today's.

    Args:
        stored: an earlier release, with a teacher.
        num_features: of a teacher today.
    """
    assert stored.released.weights is not None
    _require_same(stored, "weights", len(stored.released.weights), num_features)


def check_means(stored: Stored[Released]) -> None:
    """Raise a `SettingsError` where stored class means are of other features than today's.

    Args:
        stored: an earlier release, with class means.
    """
    height, width, channels = stored.example_shape
    means = stored.released.means
    assert means is not None
    shape, count = (height, width, channels), stored.options.networks
    today = count * random_networks.num_features(shape) if count else mean_map(shape).dim
    _require_same(stored, "means", means.shape[1], today)


def _require_same(stored: Stored[Released], what: str, found: int, today: int) -> None:
    if found != today:
        raise SettingsError(
            f"{stored.source}: holds {what} of {found} features, and today's are {today}: "
            "another version made it; leave it out and train anew"
        )
