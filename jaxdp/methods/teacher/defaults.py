"""What settings of the private teacher are by default: rules of shape, n, classes and epsilon.

A preset says otherwise for some datasets (`jaxdp.methods.presets`).
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from jaxdp.data import Spec
from jaxdp.data.kinds import IMAGES
from jaxdp.methods.settings import (
    SettingsError,
    bad,
    batch_size_for,
    budget,
    filled,
    require_classes,
    require_one_length,
)
from jaxdp.methods.teacher import schedule
from jaxdp.methods.teacher.settings import TRAINING, Settings
from jaxdp.tables.schema import BINS

# For images of one's own, whose classes may differ in brightness or colour alone. More of it costs
# digits more.
_BRIGHTNESS = 0.1
_RIDGE = 1e-3
# Of photographs: words of patches, beside scattering, from this side on. From one of 16 pixels on
# all images have a public encoder, and photographs may have a second layer.
_PATCHES, _LEAST_PATCHED, _LEAST_LAYERED = 512, 6, 16
# Of scenes, a second layer: where the budget is so ample that `nu` is at most this. Beside a public
# encoder it is worth half a point then. Where `nu` is 1.5e-4 it is worth a tenth, for three times
# the time.
_WORDS, _AMPLE = 4096, 1.1e-4
# Beside a distance of class means, or of generated images, whose weight is 1.
_COSINE_BESIDE_MEANS = 0.06
_COSINE_BESIDE_IMAGES = 0.3
_MATCHING_IMAGES, _MATCHING_NETWORKS = (600, 0.01), (600, 0.02)
_SMOOTHNESS_IN_NETWORKS = 0.24
_NETWORKS = 32  # as good as 64 or 128
# By how much photographs are packed, and the shortest side from which.
_PACKED, _LEAST_PACKED = 2, 16


def defaults(
    settings: Settings,
    spec: Spec,
    *,
    beside_images: bool,
    networks: int = 0,
    of_stored: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the values for data, a budget and what images are matched with.

    What the training takes is not among them: `_with_training` has that.

    Args:
        settings: as given.
        spec: facts about the data.
        beside_images: whether images are matched with generated ones.
        networks: how many class means are released in.
        of_stored: options of an earlier release, which stand in the place of defaults.
    """
    table: dict[str, Any] = {"ridge": _RIDGE, "packing": 1, "networks": networks}
    table |= spec.kind.choose(images=_map_of_images, rows=_map_of_images, table=_map_of_records)(
        spec, schedule.noise(settings, spec)
    )
    table |= settings.by_preset("teacher", spec, eps=settings.eps)
    if settings.whiten == 0:  # what these are beside is whitened
        table |= {"patches": 0, "brightness": 0.0}
    table.setdefault("encoder", _encoder(filled(settings, table), spec))
    table.setdefault("second_layer", _second_layer(filled(settings, table), spec))
    table |= of_stored or {}
    layered = settings.match == "teacher" and bool(filled(settings, table).second_layer)
    steps, rate = _distillation(settings.ipc, layered)
    table |= {"cosine_weight": 1.0, "total_variation": 0.0}
    if settings.match != "teacher":
        steps, rate, beside = 2 * steps, rate / 2, _COSINE_BESIDE_MEANS
        if networks:
            steps, rate = _MATCHING_NETWORKS
            table["total_variation"] = _SMOOTHNESS_IN_NETWORKS
        if beside_images:
            (steps, rate), beside = _MATCHING_IMAGES, _COSINE_BESIDE_IMAGES
        table["cosine_weight"] = beside if settings.match == "both" else 0.0
    return table | {"distill_steps": steps, "distill_learning_rate": rate}


def _map_of_images(spec: Spec, nu: float) -> dict[str, Any]:
    """Return options of the public map: colour images are taken for scenes."""
    scenes = len(spec.shape) == IMAGES.axes and spec.shape[-1] > 1
    patches = _PATCHES if scenes and min(spec.shape[:2]) >= _LEAST_PATCHED else 0
    return {
        "whiten": schedule.floor(nu),
        "mirror": scenes,
        "patches": patches,
        "brightness": _BRIGHTNESS,
        "unit_norm": True,
    }


def _map_of_records(spec: Spec, nu: float) -> dict[str, Any]:
    """Return options of the public map of records, whose features have norm 1 as they are."""
    del spec, nu
    return {
        **{"whiten": 0.0, "mirror": False, "patches": 0, "encoder": False, "brightness": 0.0},
        "unit_norm": True,
    }


def _encoder(settings: Settings, spec: Spec) -> bool:
    """Return whether images have the public encoder's features, which a few could not carry.

    Args:
        settings: with `whiten`, `mirror` and `patches`.
        spec: of the examples.
    """
    if not settings.whiten or len(spec.shape) != IMAGES.axes:
        return False
    more = dataclasses.replace(settings, encoder=True, second_layer=0)
    return min(spec.shape[:2]) >= _LEAST_LAYERED and schedule.are_carried(spec.image_shape, more)


def _second_layer(settings: Settings, spec: Spec) -> int:
    """Return how many words neighbourhoods have: none that a few images could not carry.

    Args:
        settings: with `mirror`, `patches` and `encoder`.
        spec: of the examples.
    """
    ample = schedule.noise(settings, spec) <= _AMPLE
    if not (ample and settings.mirror and settings.patches and settings.match == "teacher"):
        return 0
    more = dataclasses.replace(settings, second_layer=_WORDS)
    large = min(spec.shape[:2]) >= _LEAST_LAYERED
    return _WORDS if large and schedule.are_carried(spec.image_shape, more) else 0


def _distillation(ipc: int, layered: bool) -> tuple[int, float]:
    """Return steps and step size: the more images, the fewer steps reach the teacher.

    Args:
        ipc: images per class.
        layered: whether images have a teacher with a second layer alone, which is further away.
    """
    if ipc < 5:
        return 500, 0.03
    steps, rate = (150, 0.05) if ipc < 30 else (60, 0.05)
    return (2 * steps, 2 * rate) if layered else (steps, rate)


def complete(settings: Settings, spec: Any, earlier: Any = None) -> Settings:
    """Return settings in which nothing is None that has a default.

    Args:
        settings: as given.
        spec: facts about the data.
        earlier: what earlier runs have released.

    Raises:
        SettingsError: settings do not go together, or not with the data or earlier releases.
    """
    require_classes(spec, "a teacher")
    stored = None if earlier is None else earlier.stored
    images = None if earlier is None else earlier.images
    require_one_length(settings)
    if settings.match == "embedding":
        for name in ("cosine_weight", "learn_labels"):
            if getattr(settings, name):
                raise bad(settings, name, "needs a teacher, which --match=embedding does without")
    if images is not None and settings.match == "teacher":
        raise SettingsError(f"{images.source}: is for --match=embedding or --match=both")
    uses_means = settings.match != "teacher" and images is None
    if stored is None and settings.networks and not uses_means:
        raise bad(settings, "networks", "there are no class means here, leave it out")
    if stored is not None:
        _require_no_training(settings, stored.source)
    if settings.noise_seed is not None and not draws_noise(settings, earlier):
        raise bad(settings, "noise_seed", "nothing is released anew here, leave it out")
    networks = _networks_of(settings, spec) if uses_means else 0
    if stored is not None and uses_means:
        networks = stored.options.networks
    of_stored = None
    if stored is not None:
        stored.require_options(settings)
        of_stored = dataclasses.asdict(stored.options)
    beside_images = images is not None
    table = defaults(
        settings, spec, beside_images=beside_images, networks=networks, of_stored=of_stored
    )
    if settings.match != "teacher":
        table["packing"] = _packing_of(spec)
    return _with_training(filled(settings, table), spec)


def _require_no_training(settings: Settings, source: str) -> None:
    """Raise a `SettingsError` where settings of a training are given beside a trained teacher."""
    usual = {field.name: field.default for field in dataclasses.fields(settings)}
    for name in TRAINING:
        if getattr(settings, name) != usual[name]:
            raise bad(settings, name, f"{source} was trained already, leave it out")


def _with_training(settings: Settings, spec: Spec) -> Settings:
    """Return settings whose map is complete, with what trains the teacher.

    However many steps are asked for, they are as long together.
    """
    n, in_full = spec.num_examples, batch_size_for(settings, spec.num_examples, spec)
    batch_size = settings.batch_size or in_full
    nu, share, calibration = schedule.noise(settings, spec), 0.0, 0.0
    epochs = settings.epochs or float(schedule.passes(nu))
    steps = settings.steps or math.ceil(epochs * n / batch_size)
    if settings.unit_norm and settings.uses_teacher:
        share = schedule.mean_share(nu, _about_features(settings, spec))
    if settings.uses_teacher:
        calibration = schedule.calibration_share(nu)
    table = {
        "batch_size": batch_size,
        "clip_norm": schedule.CLIP_NORM,
        "learning_rate": schedule.length(nu) / steps,
        "mean_share": share,
        "calibration_share": calibration,
    }
    epochs = epochs if settings.steps is None else steps * batch_size / n
    return dataclasses.replace(filled(settings, table), steps=steps, epochs=epochs)


def _about_features(settings: Settings, spec: Spec) -> float:
    def of_images() -> float:
        return schedule.about_features(spec.image_shape, settings)

    def of_records() -> float:
        return float(spec.in_form(BINS).dim)

    return spec.kind.choose(images=of_images, rows=of_records, table=of_records)()


def _networks_of(settings: Settings, spec: Any) -> int:
    """Return in how many random networks class means are released; digits need none."""
    if settings.networks is not None:
        return settings.networks
    of_images = _NETWORKS if spec.shape[-1] > 1 else 0
    return spec.kind.choose(images=of_images, rows=0, table=0)


def _packing_of(spec: Any) -> int:
    """Return by how much images that train networks are packed: photographs, which have colours."""
    sides = spec.shape[:2]
    fits = min(sides) >= _LEAST_PACKED and not any(side % _PACKED for side in sides)
    of_images = _PACKED if fits and spec.shape[-1] > 1 else 1
    return spec.kind.choose(images=of_images, rows=1, table=1)


def draws_noise(settings: Settings, earlier: Any) -> bool:
    """Return whether a run releases anything that was not released before."""
    if earlier is None:
        return True
    matches_only = settings.match == "embedding" and earlier.images is not None
    return earlier.stored is None and not matches_only


def folder_name(settings: Settings, spec: Any, earlier: Any = None) -> str:
    """Return a name that tells runs of different settings apart."""
    certificate = (
        None if earlier is None else earlier.certificate(also_images=not settings.uses_teacher)
    )
    eps = budget(settings, certificate)
    return f"{spec.name}_teacher_ipc{settings.ipc}_eps{eps:g}"
