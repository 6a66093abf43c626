"""The classifier that a finished run has released, built again from the files of its folder.

All of it is post-processing: private data are neither needed nor read. Which classifier there is:

    labelled.npz      its private teacher
    teacher.npz       the private teacher; class means alone are none
    distilled.npz     kernel ridge regression on the distilled set, with the run's kernel
    synthetic.npz     none: logistic regression is trained on what was generated
"""

import dataclasses
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from experiments.data import npz as npz_files
from experiments.data.outside_files import json_object, open_plain
from experiments.errors import InputError
from experiments.evaluation.classifiers import trained_logistic
from experiments.evaluation.recipe import for_generated, training_rows
from experiments.runs import public_cache, released, stored_certificate, stored_spec
from experiments.runs.release_log import digest
from jaxdp.data import Spec
from jaxdp.kernels import preprocess
from jaxdp.kernels.kip import SupportSet
from jaxdp.methods import dp_kip, labelled, teacher
from jaxdp.methods.dp_kip.kernels import KernelOptions
from jaxdp.methods.made import Classifier, softmax
from jaxdp.methods.runner import PlainRunner, num_columns
from jaxdp.methods.stored import Form
from jaxdp.methods.teacher.settings import MapOptions
from jaxdp.tables.schema import BINS, ONE_HOT

_LABELLED, _TEACHER = "labelled.npz", "teacher.npz"
_DISTILLED, _SYNTHETIC = "distilled.npz", "synthetic.npz"
_WANTED = "a run"
# What a plan is made with that is never run: it reads no data and draws no noise.
_WITHOUT_NOISE = math.inf


class StoredClassifier(NamedTuple):
    """A classifier, and what is known about it.

    Attributes:
        classifier: of examples as stored.
        certificate: of everything that it is made from.
        spec: facts about the data of the run.
        about: what it is, in a line.
    """

    classifier: Classifier
    certificate: dict[str, Any]
    spec: Spec
    about: str


def read(path: Path, flag: str) -> StoredClassifier:
    """Return the classifier of a finished run.

    Args:
        path: of the run's folder.
        flag: that names it, with its value.

    Raises:
        InputError: the run has not finished or tells no classes apart, or its files cannot be
            trusted.
    """
    certificate = stored_certificate.of_run(path, flag, wanted=_WANTED)
    folder = _Folder(path, flag, certificate)
    try:
        spec = stored_spec.from_config(folder.config)
        classifier, about = _classifier(folder, spec)
    except KeyError as error:
        raise InputError(f"{flag}: its files lack {error.args[0]}; start a new run") from error
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"{flag}: cannot be used ({error})") from error
    return StoredClassifier(classifier, certificate, spec, about)


class _Folder:
    """The files of a finished run, each of which is the one that its certificate is about."""

    def __init__(self, path: Path, flag: str, certificate: Mapping[str, Any]) -> None:
        digests = certificate.get("sha256")
        if not isinstance(digests, dict):
            raise InputError(f"{flag}: has not finished; give the run --resume, or name another")
        self.flag, self._path, self._digests = flag, path, digests
        self._ledger = certificate["ledger"]
        self.config = self._config()

    def _config(self) -> dict[str, Any]:
        try:
            with open_plain(self._path / "config.json") as file:
                config = json_object(file.read())
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(
                f"{self.flag}: its config.json cannot be read ({reason}); it may leave with the "
                "other files, and says how to use them"
            ) from error
        if config.get("ledger") not in (None, self._ledger):
            raise InputError(f"{self.flag}: config.json and privacy.json are of different runs")
        return config

    def has(self, name: str) -> bool:
        """Whether the run has finished with such a file."""
        return name in self._digests

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """Return the arrays of a file.

        Raises:
            InputError: it is gone or another one.
            ValueError: it cannot be read.
        """
        return npz_files.load(self._checked(name))

    def released(self, name: str, form: Form) -> Any:
        """Return what was released, with its options.

        Raises:
            InputError: it is gone, another one, or of another release.
        """
        path = self._checked(name)
        try:
            stored = released.read(path, form)
        except InputError as error:  # it names a flag of the drivers
            said = str(error).removeprefix(f"--{form.flag}={path}: ")
            raise InputError(f"{self.flag}: {name} {said}") from error
        if stored.certificate["ledger"] != self._ledger:
            raise InputError(f"{self.flag}: privacy.json and {name} are of different releases")
        return stored

    def _checked(self, name: str) -> Path:
        path = self._path / name
        try:
            found = digest(path)
        except OSError as error:
            raise InputError(
                f"{self.flag}: {name} cannot be read ({error.strerror}); put it back"
            ) from error
        if found != self._digests[name]:
            raise InputError(
                f"{self.flag}: {name} is not the file that privacy.json is about; put that back"
            )
        return path


def _classifier(folder: _Folder, spec: Spec) -> tuple[Classifier, str]:
    """Return the classifier of a run, and what it is.

    Raises:
        KeyError: a file lacks something.
        ValueError: files do not fit each other.
    """
    if folder.has(_LABELLED):
        stored = folder.released(_LABELLED, labelled.FORM)
        return _taught(stored, spec), f"the private teacher of {_LABELLED}"
    if folder.has(_TEACHER):
        stored = folder.released(_TEACHER, teacher.FORM)
        if stored.released.weights is not None:
            return _taught(stored, spec), f"the private teacher of {_TEACHER}"
    if folder.has(_DISTILLED):
        return _of_distilled(folder, spec)
    if folder.has(_SYNTHETIC):
        return _of_generated(folder, spec)
    raise ValueError(f"it has none of {_LABELLED}, {_TEACHER}, {_DISTILLED} and {_SYNTHETIC}")


def _taught(stored: Any, spec: Spec) -> Classifier:
    """Return the classifier of a released teacher."""
    options, weights = stored.options, stored.released.weights
    schema = None if spec.schema is None else spec.schema.to_json()
    if tuple(stored.example_shape) != spec.stored_shape or stored.schema != schema:
        raise ValueError("its teacher was made from other data than config.json tells of")
    plan = _teacher_plan(spec, whiten=options.whiten, mirror=options.mirror)
    wanted = num_columns(plan.feature_fn, plan.spec.dim), spec.num_classes
    if weights.shape != wanted:
        raise ValueError(
            f"its teacher has weights of shape {weights.shape}, and this version makes {wanted} "
            "of its data: another version made it"
        )
    return plan.classifier(teacher.Released(weights=weights), _runner())


def _teacher_plan(spec: Spec, **options: Any) -> Any:
    settings = teacher.Settings(eps=_WITHOUT_NOISE, **options)
    complete = teacher.complete(settings, spec)
    return teacher.make_plan(complete, spec, cached=public_cache.cached)


def _runner() -> PlainRunner:
    return PlainRunner(progress=sys.stderr.isatty())


def _of_distilled(folder: _Folder, spec: Spec) -> tuple[Classifier, str]:
    """Return kernel ridge regression on a distilled set, as the run has measured it."""
    arrays, config = folder.arrays(_DISTILLED), folder.config
    of_kip = "kernel" in config
    support = support_of(arrays, spec if of_kip else spec.in_form(BINS))
    if of_kip:
        names = [*(field.name for field in dataclasses.fields(KernelOptions)), "ridge", "seed"]
        given = {name: config[name] for name in names}
        asked = dp_kip.complete(dp_kip.Settings(eps=_WITHOUT_NOISE, **given), spec)
        plan: Any = dp_kip.make_plan(asked, spec)
    else:
        names = [*(field.name for field in dataclasses.fields(MapOptions)), "ridge"]
        plan = _teacher_plan(spec, **{name: config[name] for name in names})
    about = f"kernel ridge regression on the {len(support.x)} examples of {_DISTILLED}"
    return plan.classifier(support, _runner()), about


def support_of(arrays: Mapping[str, Any], spec: Spec) -> SupportSet:
    """Return a distilled set with its labels as regression has them.

    Args:
        arrays: of distilled.npz.
        spec: of the rows that the regression sees.

    Raises:
        KeyError: one is not there.
        ValueError: they are of other data.
    """
    x, y = _labelled_examples(arrays, spec, spec.shape)
    if "y_scores" not in arrays:
        labels = preprocess.centred_one_hot(jnp.asarray(y, jnp.int32), spec.num_classes)
    elif arrays["y_scores"].shape == (len(x), spec.num_classes):
        labels = jnp.asarray(arrays["y_scores"])
    else:
        raise ValueError(f"its y_scores have shape {arrays['y_scores'].shape}")
    return SupportSet(jnp.asarray(x.reshape(len(x), -1), jnp.float32), labels)


def _labelled_examples(
    arrays: Mapping[str, np.ndarray], spec: Spec, shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return examples (m, *shape) and their classes (m,).

    Raises:
        KeyError: they are not there.
        ValueError: they are of other data.
    """
    x, y = arrays["x"], arrays["y"]
    if x.shape[1:] != shape or len(x) == 0 or y.shape != (len(x),) or y.dtype.kind not in "iu":
        raise ValueError(f"its x and y have shapes {x.shape} and {y.shape}, and examples {shape}")
    if x.dtype.kind not in "iuf" or not np.all(np.isfinite(x)):
        raise ValueError("its x holds values that are no numbers")
    if np.min(y) < 0 or np.max(y) >= spec.num_classes:
        raise ValueError(f"its y has labels beyond {spec.num_classes} classes")
    return x, y


def _of_generated(folder: _Folder, spec: Spec) -> tuple[Classifier, str]:
    """Return logistic regression that is trained on a generated set, as its judges train it."""
    arrays = folder.arrays(_SYNTHETIC)
    if len(arrays["class_names"]) != spec.num_classes:
        raise InputError(
            f"{folder.flag}: was made with --unconditional and tells no classes apart; name a run "
            "without that flag"
        )
    spec = spec.in_form(ONE_HOT)
    x, y = _labelled_examples(arrays, spec, spec.stored_shape)
    recipe = for_generated(is_image=spec.is_image)
    chosen = training_rows(recipe, y, spec.num_classes)[0]

    def rows(stored: np.ndarray) -> np.ndarray:
        return np.asarray(spec.codec.to_unit(stored.reshape(len(stored), -1)))

    scores = trained_logistic(rows(x[chosen]), y[chosen], spec.num_classes)
    about = (
        f"logistic regression (scikit-learn), trained now on {len(chosen)} examples of "
        f"{_SYNTHETIC}, as the run has released no classifier"
    )
    return Classifier(spec, lambda new: scores(rows(new)), softmax), about
