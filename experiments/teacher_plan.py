"""From flags to a checked run with a private teacher: data, public map, mechanism, distillation.

Everything that can be wrong is found here, before anything is computed or written.
"""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from experiments import teacher_reuse
from experiments.data.load import Dataset, dataset_for, require_range
from experiments.errors import InputError
from experiments.evaluation import registry
from experiments.evaluation.recipe import DISTILLED
from experiments.mean_map import mean_map
from experiments.public_map import FeatureFn, public_map
from experiments.runs import released_npz, synthetic_images, teacher_file
from experiments.runs import start as run_start
from experiments.runs.rows import cache_for, features_of
from experiments.teacher_mechanisms import mechanisms_for
from experiments.teacher_settings import (
    MapConfig,
    TeacherHyper,
    TeacherSettings,
    check,
    hyper_for,
    map_config_for,
)
from jaxdp.features import base as feature_maps
from jaxdp.features import image_maps
from jaxdp.features.base import FeatureMap
from jaxdp.methods.teacher import class_means
from jaxdp.methods.teacher import finish as teacher_kip
from jaxdp.methods.teacher import release as teacher
from jaxdp.privacy import class_sums, sampling
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.mechanism import SubsampledGaussian

_CHUNK_LIMIT = {"cpu": 512}
_CHUNK_LIMIT_ACCELERATOR = 8192
_MEANS_CHUNK = 500
# Flags of a training that a run without one does not list.
_TRAINING = (
    "epochs",
    "steps",
    "batch_size",
    "learning_rate",
    "final_learning_rate",
    "clip_norm",
    "label_smoothing",
)
_NOT_FIXED = (
    *("out_dir", "data_dir", "chunk_size", "evaluate"),
    *("feature_cache", "resume", "overwrite", "allow_delta", "allow_epsilon"),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TeacherPlan:
    """A checked run: the data, the public map, the mechanism, the distillation."""

    settings: TeacherSettings
    hyper: TeacherHyper
    data: Dataset
    map_config: MapConfig
    mechanism: SubsampledGaussian
    means_multiplier: float | None
    reused: teacher_file.TeacherFile | None
    synthetic: synthetic_images.SyntheticImages | None
    evaluators: tuple[str, ...]

    @property
    def out_dir(self) -> str:
        """Where results go."""
        s = self.settings
        return s.out_dir or f"runs/{s.dataset}_teacher_ipc{s.ipc}_eps{self.eps:g}"

    @property
    def eps(self) -> float:
        """The budget: by flag, or that of what is used again."""
        if self.earlier_certificate is None:
            return self.settings.eps
        return released_npz.budget(self.earlier_certificate)

    @property
    def earlier_certificate(self) -> dict[str, Any] | None:
        """The certificate of an earlier run, where nothing is released anew."""
        if self.reused is not None:
            return self.reused.certificate
        if self.synthetic is not None and not self.uses_teacher:
            return self.synthetic.certificate
        return None

    @property
    def ledger(self) -> Ledger | None:
        """What the run releases itself, and what that is accounted beside; None where nothing."""
        if self.earlier_certificate is not None:
            return None
        beside = None if self.synthetic is None else self.synthetic.certificate["ledger"]
        return Ledger(
            num_examples=len(self.data.x_train),
            delta=self.settings.delta,
            steps=self.mechanism,
            also=self.also_released,
            seeded_noise=self.settings.noise_seed is not None
            or bool(beside and beside["seeded_noise"]),
        )

    @property
    def uses_teacher(self) -> bool:
        """Whether images are moved towards a teacher's weights."""
        return self.settings.match != "embedding"

    @property
    def uses_means(self) -> bool:
        """Whether images are moved towards class means."""
        return self.settings.match != "teacher" and self.synthetic is None

    @property
    def also_released(self) -> tuple[float, ...]:
        """Noise multipliers of what is released beside what `mechanism` stands for."""
        if not self.uses_teacher:
            return ()
        earlier = None if self.synthetic is None else self.synthetic.noise_multiplier
        return tuple(noise for noise in (self.means_multiplier, earlier) if noise is not None)

    @property
    def scaling(self) -> dict[str, float]:
        """The public constants between stored values and [0, 1]."""
        scaling = self.data.scaling
        return {"shift": scaling.low, "scale": scaling.high - scaling.low}

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Shape (h, w, channels) of an image."""
        height, width, channels = self.data.shape
        return height, width, channels

    @functools.cached_property
    def feature_fn(self) -> FeatureFn:
        """The public map of rows in [0, 1]."""
        return public_map(self.map_config, self.image_shape)

    def features(self, x: np.ndarray, *, description: str) -> np.ndarray:
        """Return the features (n, p) of images as stored, in float16."""
        shift, scale = self.scaling["shift"], self.scaling["scale"]
        feature_fn = self.feature_fn  # computes its constants: not while another is compiled
        config = dataclasses.asdict(self.map_config) | self.scaling
        return features_of(
            lambda rows: feature_fn((rows - shift) / scale),
            x.reshape(len(x), -1),
            description=description,
            dtype=np.float16,
            cache=cache_for(self.settings.feature_cache, config),
        )

    @functools.cached_property
    def test_features(self) -> Array:
        """Features of the test split."""
        return jnp.asarray(self.features(self.data.x_test, description="features, test split"))

    def make_teacher(self) -> teacher.Teacher:
        """Return the private training."""
        limit = _CHUNK_LIMIT.get(jax.default_backend(), _CHUNK_LIMIT_ACCELERATOR)
        size = sampling.chunk_size_for(self.mechanism.expected_batch_size, limit=limit)
        config = teacher.TeacherConfig(
            optimizer=teacher.momentum_in_phases(
                self.mechanism.num_steps,
                learning_rate=self.hyper.learning_rate,
                final_learning_rate=self.hyper.final_learning_rate,
            ),
            label_smoothing=self.settings.label_smoothing,
            chunk_size=self.settings.chunk_size or size,
        )
        return teacher.dp_teacher(self.mechanism, config)

    @functools.cached_property
    def mean_features(self) -> FeatureMap:
        """The public map whose class means are matched."""
        return mean_map(self.image_shape)

    def release_means(self, key: Array) -> np.ndarray:
        """Return noisy class means of private features, as `class_means.release_class_means`."""
        if self.means_multiplier is None:
            raise ValueError("no class means are released in this run")
        x, classes = self.data.x_train, self.data.num_classes
        scaling = self.data.scaling
        chunks = class_sums.arrange_by_class(
            x.reshape(len(x), -1),
            self.data.y_train,
            num_classes=classes,
            chunk_size=min(len(x), _MEANS_CHUNK),
        )
        means = class_means.release_class_means(
            key,
            feature_maps.rescaled(self.mean_features, low=scaling.low, high=scaling.high),
            chunks,
            num_classes=classes,
            num_examples=len(x),
            noise_multiplier=self.means_multiplier,
        )
        return np.asarray(means)

    def krr_test_accuracy(self, support: Any) -> float:
        """Return the test accuracy of kernel ridge regression on a support.

        Raises:
            krr.NotPositiveDefiniteError: the support has diverged.
        """
        phi = jax.jit(self.feature_fn)(support.x)
        weights = teacher_kip.induced_weights(phi, support.y, ridge=self.hyper.ridge)
        return self.test_accuracy(weights)

    def test_accuracy(self, weights: Array) -> float:
        """Return the test accuracy of a linear classifier on the features."""
        scores = teacher.predict(weights, self.test_features)
        return float(np.mean(np.argmax(np.asarray(scores), axis=1) == self.data.y_test))

    def fixed_config(self) -> dict[str, Any]:
        """Return what must be the same for a run and its resumption, as JSON."""
        trains = self.uses_teacher and self.reused is None
        config = run_start.fixed_config(
            (self.settings, self.hyper, self.map_config),
            leave_out=_NOT_FIXED if trains else _NOT_FIXED + _TRAINING,
            eps=self.eps,
            data=self.data,
        )
        return config | {
            **({"steps": self.mechanism.num_steps} if trains else {}),
            # Not the folder's name alone: another release there is not what was accounted for.
            **({"synthetic_digest": self.synthetic.digest} if self.synthetic else {}),
            "num_classes": self.data.num_classes,
        }

    def config(self) -> dict[str, Any]:
        """Return the content of config.json."""
        return self.fixed_config() | {
            "data_source": self.data.source,
            "versions": run_start.versions(),
        }


def make_plan(settings: TeacherSettings) -> TeacherPlan:
    """Check flags and data, and calibrate the noise.

    Raises:
        InputError: whatever is wrong; nothing has been written yet.
    """
    check(settings)
    data = dataset_for(settings)
    if not data.is_image:
        raise InputError(
            f"--dataset={settings.dataset}: a teacher works on images, and it holds rows of "
            f"{data.dim} values; use experiments.dp_kip"
        )
    require_range(data)
    evaluators = _evaluators(settings, data)
    config, reused = map_config_for(settings), None
    if settings.teacher is not None:
        reused = teacher_file.read(settings.teacher)
        config = teacher_reuse.config_of(settings, reused, data)
    synthetic = None
    if settings.synthetic is not None:
        synthetic = synthetic_images.read(settings.synthetic, data, ipc=settings.ipc)
        teacher_reuse.require_accounted(settings, reused, synthetic)
    height, width, channels = data.shape
    try:
        image_maps.pooled_map((height, width, channels), mirror=config.mirror)
    except ValueError as error:
        raise InputError(f"--dataset={settings.dataset}: {error}") from error
    hyper = hyper_for(settings, len(data.x_train))
    mechanism, multiplier = mechanisms_for(
        settings,
        hyper,
        len(data.x_train),
        earlier=None if synthetic is None else synthetic.noise_multiplier,
    )
    plan = TeacherPlan(
        settings=settings,
        hyper=hyper,
        data=data,
        map_config=config,
        mechanism=mechanism,
        means_multiplier=multiplier,
        reused=reused,
        synthetic=synthetic,
        evaluators=evaluators,
    )
    if reused is not None and reused.means is not None and plan.uses_means:
        teacher_reuse.require_width(settings, reused.means.shape[1], plan.mean_features.dim)
    return plan


def _evaluators(settings: TeacherSettings, data: Dataset) -> tuple[str, ...]:
    """Return the evaluators beside the kernel regression that every run reports."""
    facts = registry.Facts(
        holder=f"--dataset={settings.dataset}",
        shape=data.shape,
        num_classes=data.num_classes,
        num_made=settings.ipc * data.num_classes,
        recipe=DISTILLED,
    )
    return registry.chosen(settings.evaluate, facts)
