"""DP-NTK's names as a method, for both ways of labelling.

The generator draws examples of a class, or a private teacher says which class they are of.
"""

from typing import TYPE_CHECKING, Any

from jaxdp.methods.dp_ntk import settings
from jaxdp.methods.dp_ntk.labels import settings as taught
from jaxdp.methods.dp_ntk.labels.settings import TEACHER, Settings

if TYPE_CHECKING:  # they take a while, and --help and settings need none of it
    from jaxdp.methods.base import Plan
    from jaxdp.methods.steps import Cached
    from jaxdp.methods.stored import Earlier, Form


def complete(asked: Settings, spec: Any, earlier: "Earlier | None" = None) -> settings.Settings:
    """Return settings in which nothing is None that has a default.

    Args:
        asked: as given.
        spec: facts about the data.
        earlier: what an earlier run has released.

    Returns:
        Settings of the class that its way of labelling has.

    Raises:
        SettingsError: settings do not go together.
    """
    if asked.labels == TEACHER:
        return taught.complete(asked, spec, earlier)
    return settings.complete(taught.generation_settings(asked), spec, earlier)


def make_plan(
    done: settings.Settings,
    spec: Any,
    earlier: "Earlier | None" = None,
    *,
    cached: "Cached | None" = None,
) -> "Plan[Any]":
    """Return a checked run.

    Args:
        done: settings as `complete` returns them.
        spec: facts about the data.
        earlier: what an earlier run has released, to be used again.
        cached: keeps public arrays.

    Raises:
        SettingsError: whatever is wrong.
    """
    from jaxdp.methods.dp_ntk import labels, plan
    from jaxdp.methods.steps import compute_anew
    from jaxdp.methods.stored import NOTHING

    earlier, cached = earlier or NOTHING, cached or compute_anew
    if isinstance(done, Settings):
        return labels.make_plan(done, spec, earlier, cached=cached)
    return plan.make_plan(done, spec, earlier, cached=cached)


def folder_name(done: settings.Settings, spec: Any, earlier: "Earlier | None" = None) -> str:
    """Return a name that tells runs of different settings apart."""
    if isinstance(done, Settings):
        return taught.folder_name(done, spec, earlier)
    return settings.folder_name(done, spec, earlier)


def form_of(asked: Settings) -> "Form":
    """Return how the release of a run with such settings is kept."""
    from jaxdp.methods.dp_ntk import labels, released

    return labels.FORM if asked.labels == TEACHER else released.FORM
