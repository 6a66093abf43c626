"""The classifier that was released, built again from the files of a folder.

All of it is post-processing: private data are neither needed nor read. Which classifier there is:

    labelled.npz      its private teacher
    teacher.npz       the private teacher; class means alone are none
    distilled.npz     kernel ridge regression on the distilled set, with the run's kernel; of a
                      method that has neither kernel nor teacher, as for what was generated
    synthetic.npz     none: logistic regression is trained on what was generated
"""

import dataclasses
import math
import sys
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxdp.data import Spec
from jaxdp.kernels import preprocess
from jaxdp.kernels.kip import SupportSet
from jaxdp.methods import dp_kip, presets, teacher
from jaxdp.methods.dp_kip.kernels import KernelOptions
from jaxdp.methods.dp_ntk import labels
from jaxdp.methods.made import Classifier, softmax
from jaxdp.methods.runner import PlainRunner, num_columns
from jaxdp.methods.settings import InputError
from jaxdp.methods.steps import Cached
from jaxdp.methods.teacher.regression import SeenSupport
from jaxdp.methods.teacher.settings import MapOptions
from jaxdp.methods.teacher.view import from_array
from jaxdp.saved.folder import SavedFolder
from jaxdp.saved.logistic import SUBSET, chosen_rows, trained_logistic
from jaxdp.saved.sets import (
    DISTILLED,
    SYNTHETIC,
    distilled_spec,
    is_of_kip,
    is_of_teacher,
    labelled_examples,
    read,
)
from jaxdp.tables.schema import ONE_HOT

_LABELLED, _TEACHER = "labelled.npz", "teacher.npz"
# Arrays of a distilled set that its teacher tells.
_OF_TEACHER = ("view", "scale_of_scores", "intercept")
_MAP = tuple(field.name for field in dataclasses.fields(MapOptions))
# Options of kernels that runs of before there were such options do not tell.
_LATER = {field.name for field in dataclasses.fields(KernelOptions) if field.default is None}
_TEACHER_BEFORE = dict(teacher.FORM.untold) | {"whiten": 0.1, "ridge": 1e-3}
_MIRRORED_BEFORE = ("cifar10", "cifar100")
# What a plan is made with that is never run: it reads no data and draws no noise.
_WITHOUT_NOISE = math.inf


def classifier(folder: SavedFolder, spec: Spec, cached: Cached) -> tuple[Classifier, str]:
    """Return the classifier of a folder, and a line that says which one it is.

    Args:
        folder: the folder of a finished run.
        spec: facts about the data of the run.
        cached: keeps public arrays.

    Raises:
        InputError: a file is gone or was changed, or the run tells no classes apart.
        KeyError: a file lacks an array.
        ValueError: the files do not fit each other.
    """
    if folder.has(_LABELLED):
        stored = folder.released(_LABELLED, labels.FORM)
        return _taught(stored, spec, cached), f"the private teacher of {_LABELLED}"
    if folder.has(_TEACHER):
        stored = folder.released(_TEACHER, teacher.FORM)
        if stored.released.weights is not None:
            return _taught(stored, spec, cached), f"the private teacher of {_TEACHER}"
    if folder.has(DISTILLED) and (is_of_kip(folder) or is_of_teacher(folder)):
        return _of_distilled(folder, spec, cached)
    for name in (DISTILLED, SYNTHETIC):
        if folder.has(name):
            return _trained_on(name, folder, spec)
    raise ValueError(f"it has none of {_LABELLED}, {_TEACHER}, {DISTILLED} and {SYNTHETIC}")


def _taught(stored: Any, spec: Spec, cached: Cached) -> Classifier:
    """Return the classifier of a released teacher."""
    options, weights = stored.options, stored.released.weights
    found = tuple(stored.example_shape), stored.schema
    if found != (spec.stored_shape, spec.schema_json):
        raise ValueError("its teacher was made from other data than config.json tells of")
    plan = _teacher_plan(spec, cached, **{name: getattr(options, name) for name in _MAP})
    wanted = num_columns(plan.feature_fn, plan.spec.dim), spec.num_classes
    if weights.shape != wanted:
        raise ValueError(
            f"its teacher has weights of shape {weights.shape}, and this version makes {wanted} "
            "of its data: another version made it"
        )
    return plan.classifier(teacher.Released(weights=weights), _runner())


def _teacher_plan(spec: Spec, cached: Cached, **options: Any) -> Any:
    settings = teacher.Settings(eps=_WITHOUT_NOISE, **options)
    return teacher.make_plan(teacher.complete(settings, spec), spec, cached=cached)


def _told_by_teacher(folder: SavedFolder, spec: Spec) -> dict[str, Any]:
    """Return the options of a teacher's map, and the ridge, as a run has stored them.

    Earlier versions had fewer options, and stored as null what they had by default.

    Raises:
        KeyError: the run lacks one of them.
    """
    config = dict(teacher.FORM.untold) | folder.config
    before = _TEACHER_BEFORE | {"mirror": spec.name in _MIRRORED_BEFORE}
    told = {name: config[name] for name in (*_MAP, "ridge")}
    return {name: before[name] if value is None else value for name, value in told.items()}


def _as_before(settings: Any, spec: Spec) -> Any:
    """Return settings with the defaults that a version had which stored some of them as null.

    They went by the name of the data then.
    """
    return presets.for_dataset(settings, spec.name, spec.kind.stored)


def _runner() -> PlainRunner:
    return PlainRunner(progress=sys.stderr.isatty())


def _of_distilled(folder: SavedFolder, spec: Spec, cached: Cached) -> tuple[Classifier, str]:
    """Return kernel ridge regression on a distilled set, as the run has measured it."""
    arrays = folder.arrays(DISTILLED)
    support = support_of(arrays, distilled_spec(folder, spec))
    if is_of_kip(folder):
        names = [*(field.name for field in dataclasses.fields(KernelOptions)), "ridge", "seed"]
        given = {name: _given(folder, name) for name in names}
        asked = dp_kip.Settings(eps=_WITHOUT_NOISE, **given)
        asked = dp_kip.complete(_as_before(asked, spec), spec)
        plan: Any = dp_kip.make_plan(asked, spec)
    else:
        told = _told_by_teacher(folder, spec)
        plan = _teacher_plan(spec, cached, **told)
        taught = folder.config.get("match", "teacher") != "embedding"
        _require_view(support, plan, told["unit_norm"] and taught)
    about = f"kernel ridge regression on the {len(support.x)} examples of {DISTILLED}"
    return plan.classifier(support, _runner()), about


def _require_view(support: SupportSet | SeenSupport, plan: Any, has_view: bool) -> None:
    """Raise a `ValueError` where a regression sees features otherwise than its run's teacher."""
    view = support.view if isinstance(support, SeenSupport) else None
    wanted = (2, num_columns(plan.feature_fn, plan.spec.dim)) if has_view else None
    if (None if view is None else view.shape) != wanted:
        raise ValueError("its view fits no features of the run: another version made it")


def _given(folder: SavedFolder, name: str) -> Any:
    """Return a setting of DP-KIP; before there was `whiten`, features were taken as they are.

    A run of before there was another option has None for it: its kernel knows what that means.

    Raises:
        InputError: the kernel of a run is one that this version does not have.
        KeyError: every run tells it, and this one does not.
    """
    if name in folder.config or name not in _LATER:
        return folder.config[name]
    if name != "whiten":
        return None
    if folder.config["kernel"] == "entk":
        raise InputError(
            f"{folder.flag}: its --kernel=entk is another network's than this version's; use the "
            "version that made it"
        )
    return 0.0


def support_of(arrays: Mapping[str, Any], spec: Spec) -> SupportSet | SeenSupport:
    """Return a distilled set with labels for a regression.

    Args:
        arrays: the arrays of distilled.npz.
        spec: facts about the data, with rows in the form that the regression takes.

    Raises:
        KeyError: an array is missing.
        ValueError: the arrays do not fit the data.
    """
    x, y = labelled_examples(arrays, spec, spec.shape)
    if "y_scores" not in arrays:
        labels = preprocess.centred_one_hot(jnp.asarray(y, jnp.int32), spec.num_classes)
    elif arrays["y_scores"].shape == (len(x), spec.num_classes):
        labels = jnp.asarray(_floats(arrays, "y_scores"))
    else:
        raise ValueError(f"its y_scores have shape {arrays['y_scores'].shape}")
    rows = jnp.asarray(x.reshape(len(x), -1), jnp.float32)
    if not any(name in arrays for name in _OF_TEACHER):
        return SupportSet(rows, labels)
    missing = [name for name in ("scale_of_scores", "intercept") if name not in arrays]
    if missing:
        raise ValueError(f"it lacks {', '.join(missing)}: another version made it")
    c = spec.num_classes
    view = _floats(arrays, "view") if "view" in arrays else None
    if view is not None:
        from_array(view)
    scale, intercept = _floats(arrays, "scale_of_scores"), _floats(arrays, "intercept")
    if scale.shape != () or not scale > 0 or intercept.shape != (c,):
        raise ValueError(
            f"its scale_of_scores is {scale}, its intercept of shape {intercept.shape}"
        )
    return SeenSupport(rows, labels, view, float(scale), intercept)


def _floats(arrays: Mapping[str, Any], name: str) -> np.ndarray:
    """Return an array of finite float32.

    Raises:
        ValueError: it is of another type, or has other values.
    """
    found = arrays[name]
    with np.errstate(over="ignore"):
        narrow = found.astype(np.float32) if found.dtype.kind == "f" else None
    if narrow is None or not np.all(np.isfinite(narrow)):
        raise ValueError(f"its {name} holds something else than finite numbers of 32 bits")
    return narrow


def _trained_on(name: str, folder: SavedFolder, spec: Spec) -> tuple[Classifier, str]:
    """Return logistic regression that is trained on a made set, as judges of runs train it."""
    folder.checked(name)
    made = read(folder, spec)
    assert made is not None
    if spec.num_classes < 2:
        raise InputError(f"{folder.flag}: has no classes to tell: its schema has no target of them")
    if len(made.class_names) != spec.num_classes:
        raise InputError(
            f"{folder.flag}: was made with --unconditional and tells no classes apart; name a run "
            "without that flag"
        )
    spec = spec.in_form(ONE_HOT)
    subset = spec.kind.choose(images=SUBSET, rows=None, table=None)
    chosen = chosen_rows(made.y, spec.num_classes, subset, seed=0)

    def rows(stored: np.ndarray) -> np.ndarray:
        return np.asarray(spec.codec.to_unit(stored.reshape(len(stored), -1)))

    scores = trained_logistic(rows(made.x[chosen]), made.y[chosen], spec.num_classes)
    about = (
        f"logistic regression (scikit-learn), trained now on {len(chosen)} examples of "
        f"{name}, as the run has released no classifier"
    )
    return Classifier(spec, lambda new: scores(rows(new)), softmax), about
