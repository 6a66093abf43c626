"""Whether what earlier runs have released fits a run with a private teacher."""

from jaxdp.data import Spec
from jaxdp.methods.settings import SettingsError, bad
from jaxdp.methods.stored import Earlier, Stored, require_same_data, require_same_unit
from jaxdp.methods.teacher.released import Released
from jaxdp.methods.teacher.settings import Settings

BESIDE = "also_released_digests"
"""Where a certificate tells which released embeddings it has accounted for."""


def check_earlier(settings: Settings, spec: Spec, earlier: Earlier) -> None:
    """Raise a `SettingsError` where earlier releases do not fit the data or each other."""
    stored, images = earlier
    if images is not None:
        require_same_unit(images.certificate, images.source, spec)
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
    if settings.total_variation:
        raise bad(settings, "total_variation", "works on images, leave it out")
    if earlier.images is not None:
        raise SettingsError(f"{earlier.images.source}: holds no images of this table")


def check_width(
    stored: Stored[Released], *, weights: int | None = None, means: int | None = None
) -> None:
    """Raise a `SettingsError` where what is stored is of other features than today's.

    Args:
        stored: an earlier release, of what is asked for at least.
        weights: number of features of a teacher today; None where it is not used.
        means: the same of class means.
    """
    released = stored.released
    for what, today, found in (
        ("weights", weights, None if released.weights is None else released.weights.shape[0]),
        ("means", means, None if released.means is None else released.means.shape[1]),
    ):
        if today is not None and found != today:
            raise SettingsError(
                f"{stored.source}: holds {what} of {found} features, and today's are {today}: "
                "another version made it; leave it out and train anew"
            )
