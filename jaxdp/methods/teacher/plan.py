"""A run with a private teacher: public maps, what is released, distillation."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Key

from jaxdp.data import Private
from jaxdp.features import base as feature_maps
from jaxdp.features.base import FeatureMap
from jaxdp.features.map_parts import FeatureFn
from jaxdp.features.random_networks import RandomNetworks, random_networks
from jaxdp.images.packing import Packing
from jaxdp.kernels import krr
from jaxdp.kernels.kip import SupportSet
from jaxdp.methods import base, certified
from jaxdp.methods.base import DISTILLED_TABLE, Story
from jaxdp.methods.made import (
    Classifier,
    Made,
    distilled,
    from_regression,
    shares,
    softmax,
    with_arrays,
    with_packed,
    with_soft_labels,
)
from jaxdp.methods.settings import bad, part_of
from jaxdp.methods.steps import Cached, RowMap, Runner, compute_anew
from jaxdp.methods.stored import Form
from jaxdp.methods.teacher import classifier as linear
from jaxdp.methods.teacher import finish as distillation
from jaxdp.methods.teacher import regression, schedule, starts
from jaxdp.methods.teacher import release as releasing
from jaxdp.methods.teacher.earlier import BESIDE
from jaxdp.methods.teacher.mechanisms import Mechanisms
from jaxdp.methods.teacher.probabilities import Last
from jaxdp.methods.teacher.public_maps import mean_map, num_features, public_map
from jaxdp.methods.teacher.regression import SeenSupport, Taught
from jaxdp.methods.teacher.released import FORM, Released
from jaxdp.methods.teacher.settings import TRAINING, MapOptions
from jaxdp.methods.teacher.story import (
    COVERS,
    DERIVED,
    DERIVED_FROM_IMAGES,
    SOURCES,
    SOURCES_BESIDE_IMAGES,
    STORY,
)
from jaxdp.numerics import ByBackend
from jaxdp.privacy import sampling
from jaxdp.privacy.ledger import FLOAT32_NOISE, OLD_NOISE, Ledger, one_release, worst_noise

# Rows at once. Of a CPU as many as its cache holds: a step reads them several times.
_CHUNK_LIMIT = ByBackend(cpu=512, accelerator=8192)
_CACHED_VALUES, _LEAST_ROWS = ByBackend(cpu=400_000, accelerator=2**32), 32


@dataclasses.dataclass(frozen=True, kw_only=True)
class TeacherPlan(base.Plan[Released]):
    """A checked run: the public maps, what is released, the distillation.

    Attributes:
        mechanisms: what the run releases, with its noise.
        cached: keeps public arrays.
    """

    mechanisms: Mechanisms
    cached: Cached = compute_anew

    @functools.cached_property
    def story(self) -> Story:
        """The words that describe the run."""
        settings, spec, images = self.settings, self.spec, self.earlier.images
        source = (SOURCES if images is None else SOURCES_BESIDE_IMAGES)[settings.match]
        title = f"{spec.name}, {settings.ipc} per class, epsilon {certified.epsilon(self):g}"
        # Beside images the release is in files of this folder, not in those that it came from.
        again = None if images is None else self._covers()
        trains = self.uses_teacher and self.earlier.stored is None
        return dataclasses.replace(
            STORY,
            num_made=self._num_made,
            covers=self._covers(),
            covers_again=again,
            objection=None if images is None else images.certificate["objection"],
            beside={} if images is None else {BESIDE: [images.digest]},
            unlisted=() if trains else TRAINING,
            num_bytes=64 * self._num_made * spec.dim + 2**26,
            page_title=f"Distilled from {source}: {title}",
            picture_title=f"{title}, from {source}",
            released_metric="teacher_test_accuracy" if self.uses_teacher else None,
            makes_soft_labels=self._makes_soft_labels,
            old_noise=FLOAT32_NOISE if self.uses_teacher else OLD_NOISE,
        )

    def _covers(self) -> tuple[str, ...]:
        """What is released under the guarantee."""
        table = self.spec.kind.of_tables(DISTILLED_TABLE)
        if not self.uses_teacher and self.earlier.images is not None:
            return (*DERIVED_FROM_IMAGES, *table)
        released = self.settings.match if self.earlier.images is None else "beside images"
        return (f"{STORY.released}: {COVERS[released]}", *DERIVED, *table)

    @property
    def _num_made(self) -> int:
        each = 1 if self.packing is None else self.packing.count
        return self.settings.ipc * each * self.spec.num_classes

    @property
    def _makes_soft_labels(self) -> bool:
        """What the teacher says of each image, or labels that were learnt."""
        return self.spec.kind.choose(images=self.uses_teacher, rows=False, table=False)

    @property
    def ledger(self) -> Ledger | None:
        """Everything that the run's epsilon is computed from; None where it releases nothing."""
        stored, images = self.earlier
        if stored is not None or (images is not None and not self.uses_teacher):
            return None
        own = self.own_ledger(steps=self.mechanisms.steps, also=self.mechanisms.beside)
        if images is None:
            return own
        before = images.certificate["ledger"]
        return dataclasses.replace(
            own,
            seeded_noise=own.seeded_noise or before["seeded_noise"],
            noise=worst_noise(own.noise, before["noise"]),
        )

    @property
    def uses_teacher(self) -> bool:
        """Whether images are moved towards a teacher's weights."""
        return self.settings.uses_teacher

    @property
    def uses_means(self) -> bool:
        """Whether images are moved towards class means."""
        return self.settings.match != "teacher" and self.earlier.images is None

    @property
    def form(self) -> Form:
        """How the release is written to a file."""
        return FORM

    @functools.cached_property
    def feature_fn(self) -> FeatureFn:
        """The public map of rows in [0, 1]."""
        return public_map(self.options, self.spec, self.cached)

    @property
    def options(self) -> MapOptions:
        """What the public map is made from."""
        return part_of(self.settings, MapOptions)

    @functools.cached_property
    def mean_map(self) -> FeatureMap | RandomNetworks | None:
        """The public map whose class means are matched; None where none are."""
        if not self.uses_means:
            return None
        shape, count = self.spec.image_shape, self.settings.networks
        return random_networks(shape, count, cached=self.cached) if count else mean_map(shape)

    @property
    def packing(self) -> Packing | None:
        """How small images lie in distilled ones; None for records of a table."""

        def of_images() -> Packing:
            return Packing(image_shape=self.spec.image_shape, factor=self.settings.packing)

        return self.spec.kind.choose(images=of_images, rows=_nothing, table=_nothing)()

    @functools.cached_property
    def row_map(self) -> RowMap:
        """The public map from images as stored to features."""
        feature_fn, codec = self.feature_fn, self.spec.codec
        scale = {"shift": codec.low, "scale": codec.high - codec.low}
        return RowMap(
            fn=lambda rows: feature_fn(codec.to_unit(rows)),
            options=dataclasses.asdict(self.options)
            | self.spec.kind.choose(images=scale, rows=scale, table=codec.facts()),
            dtype=np.float16,
        )

    def classifier(self, result: Released | SeenSupport | SupportSet, runner: Runner) -> Classifier:
        """Return that of a teacher, or kernel ridge regression on a support.

        Its features are float16. Its scores raise a `SettingsError` where the support has diverged.
        """

        def features(x: np.ndarray, what: str) -> np.ndarray:
            return runner.rows(self.row_map, x, what=what)

        scores = functools.partial(self._scores, result)
        return Classifier(self.spec, scores, _to_probabilities(result), features)

    def _scores(self, result: Released | SeenSupport | SupportSet, rows: np.ndarray) -> np.ndarray:
        weights = result.weights if isinstance(result, Released) else self._induced(result)
        return np.asarray(linear.predict(jnp.asarray(weights), jnp.asarray(rows)))

    def _induced(self, support: SeenSupport | SupportSet) -> Array:
        """Return the weights of kernel ridge regression on a support, on features as they are."""
        with self._diverged():
            return regression.weights_of(support, self.feature_fn, ridge=self.settings.ridge)

    @contextlib.contextmanager
    def _diverged(self) -> Iterator[None]:
        try:
            yield
        except krr.NotPositiveDefiniteError as error:
            raise bad(
                self.settings,
                "distill_learning_rate",
                f"distillation has diverged ({error}); lower it or raise --ridge",
            ) from error

    @property
    def training(self) -> releasing.Training | None:
        """The private training; None where a run has none."""
        if not self.uses_teacher:
            return None
        steps, noise, settings = self.mechanisms.steps, self.mechanisms.mean, self.settings
        cached = _CACHED_VALUES.here // num_features(self.options, self.spec)
        limit = min(_CHUNK_LIMIT.here, max(_LEAST_ROWS, cached))
        size = sampling.chunk_size_for(steps.expected_batch_size, limit=limit)
        config = linear.TeacherConfig(
            optimizer=optax.sgd(settings.learning_rate),
            label_smoothing=settings.label_smoothing,
            chunk_size=settings.chunk_size or size,
        )
        n = self.spec.num_examples
        first = None if noise is None else one_release(n, noise_multiplier=noise)
        return releasing.Training(steps, config, self.row_map, first, self._last)

    @property
    def _last(self) -> Last | None:
        """The release after the teacher's steps."""
        noise, settings = self.mechanisms.calibration, self.settings
        if noise is None:
            return None
        return Last(
            one_release(self.spec.num_examples, noise_multiplier=noise),
            length=settings.learning_rate * self.mechanisms.steps.num_steps,
            usual=schedule.usual_temperature(schedule.noise(settings, self.spec)),
            by_size=settings.takes_equal_priors,
        )

    @property
    def means(self) -> releasing.Means | None:
        """The release of class means; None where a run has none."""
        chosen = self.mean_map
        noise = self.mechanisms.means
        if noise is None or chosen is None:
            return None
        chosen = chosen.all() if isinstance(chosen, RandomNetworks) else chosen
        features = feature_maps.of_stored(chosen, self.spec.codec.to_unit)
        return releasing.Means(features, noise)

    def release(self, private: Private, key: Key[Array, ""], runner: Runner) -> Released:
        """Return a private teacher, noisy class means, or both.

        Raises:
            SettingsError: the teacher has diverged.
        """
        released = releasing.release(
            private, key, runner, spec=self.spec, training=self.training, means=self.means
        )
        if released.weights is not None and not np.all(np.isfinite(released.weights)):
            raise bad(self.settings, "learning_rate", "the teacher has diverged; lower it")
        return released

    def finish(self, released: Released, runner: Runner) -> Made:
        """Return images that were moved towards what was released."""
        images = None if self.earlier.images is None else self.earlier.images.x
        start = starts.initial_support(
            self.settings, self.spec, self.packing, blurred=self.uses_means, images=images
        )
        taught = None
        if self.uses_teacher:
            taught = regression.taught_by(released, unit_norm=self.settings.unit_norm)

        def whole(small: SupportSet) -> SeenSupport | SupportSet:
            return self._whole(small, taught)

        support = distillation.finish(
            released,
            start,
            runner,
            taught=taught,
            shown=whole,
            settings=self.settings,
            spec=self.spec,
            packing=self.packing,
            feature_fn=self.feature_fn,
            mean_map=self.mean_map,
            images=images,
        )
        made = self._made(released, whole(support), runner)
        if self.packing is not None and self.packing.factor > 1:
            made = with_packed(made, np.asarray(self.packing.packed(support.x)))
        return made

    def _whole(self, small: SupportSet, taught: Taught | None) -> SeenSupport | SupportSet:
        """Return a support with each image as large as a whole one, and what the teacher tells."""
        x = small.x if self.packing is None else self.packing.enlarged(small.x)
        whole = SupportSet(x, small.y)
        if taught is None:
            return whole
        with self._diverged():
            return regression.as_taught(whole, taught, self.feature_fn, ridge=self.settings.ridge)

    def _made(self, released: Released, support: SeenSupport | SupportSet, runner: Runner) -> Made:
        spec, codec = self.spec, self.spec.codec
        made = distilled(
            spec,
            np.asarray(support.x),
            np.repeat(np.arange(spec.num_classes), self._num_made // spec.num_classes),
            shift=codec.low,
            scale=codec.high - codec.low,
            y_scores=np.asarray(support.y),
            classifier=self.classifier(released if self.uses_teacher else support, runner),
        )
        if isinstance(support, SeenSupport):
            made = with_arrays(
                made,
                view=support.view,
                scale_of_scores=np.asarray(support.scale, np.float32),
                intercept=support.intercept,
            )
        if not self._makes_soft_labels:
            return made
        return with_soft_labels(made, self._soft_labels(released, support))

    def _soft_labels(self, released: Released, support: SeenSupport | SupportSet) -> np.ndarray:
        if self.settings.learn_labels:
            return shares(np.asarray(support.y))
        # Not by the runner, which may keep rows: these few are new in every run.
        return softmax(self._scores(released, np.asarray(jax.jit(self.feature_fn)(support.x))))

    def config(self) -> dict[str, Any]:
        """Return what must be the same for a run and its resumption, as JSON."""
        images = self.earlier.images
        return {
            # Not the folder's name alone: another release there is not what was accounted for.
            **({"synthetic_digest": images.digest} if images else {}),
            "num_classes": self.spec.num_classes,
        }


def _to_probabilities(
    result: Released | SeenSupport | SupportSet,
) -> Callable[[np.ndarray], np.ndarray]:
    """Return what makes probabilities of scores."""
    return from_regression if isinstance(result, SupportSet) else softmax


def _nothing() -> None:
    return None
