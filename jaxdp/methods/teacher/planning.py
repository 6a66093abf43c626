"""A run with a private teacher, checked before anything of it is computed."""

from jaxdp.data import Spec
from jaxdp.methods.steps import Cached, compute_anew
from jaxdp.methods.stored import NOTHING, Earlier
from jaxdp.methods.teacher.earlier import (
    check_earlier,
    check_means,
    check_packing,
    check_table,
    check_width,
)
from jaxdp.methods.teacher.mechanisms import mechanisms_for
from jaxdp.methods.teacher.plan import TeacherPlan
from jaxdp.methods.teacher.public_maps import num_features, require_image_map
from jaxdp.methods.teacher.settings import Settings
from jaxdp.tables.schema import BINS


def make_plan(
    settings: Settings,
    spec: Spec,
    earlier: Earlier = NOTHING,
    *,
    cached: Cached = compute_anew,
    beside: tuple[float, ...] = (),
) -> TeacherPlan:
    """Calibrate the noise, and check that everything fits.

    Args:
        settings: as `complete` returns them.
        spec: facts about the data.
        earlier: what earlier runs have released.
        cached: keeps the whitening of the public map.
        beside: noise multipliers of what the same budget is for, and another plan releases.

    Raises:
        SettingsError: whatever is wrong.
    """
    spec = spec.in_form(BINS)
    check = spec.kind.choose(images=_check_images, rows=_check_images, table=_check_records)
    check(settings, spec, earlier)
    check_earlier(settings, spec, earlier)
    mechanisms = mechanisms_for(settings, spec, earlier, beside=beside)
    plan = TeacherPlan(
        settings=settings,
        spec=spec,
        earlier=earlier,
        mechanisms=mechanisms,
        cached=cached,
    )
    if earlier.stored is not None:
        if plan.uses_teacher:
            check_width(earlier.stored, num_features(settings, spec))
        if plan.uses_means:
            check_means(earlier.stored)
    return plan


def _check_images(settings: Settings, spec: Spec, earlier: Earlier) -> None:
    del earlier
    require_image_map(settings, spec)
    check_packing(settings, spec)


def _check_records(settings: Settings, spec: Spec, earlier: Earlier) -> None:
    del spec
    check_table(settings, earlier)
