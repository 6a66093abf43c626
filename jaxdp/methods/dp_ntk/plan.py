"""From settings of DP-NTK to a checked run: features, releases, generator."""

import dataclasses
import math
from typing import Any

import jax
import numpy as np
import optax
from jaxtyping import Array, Key

from jaxdp.data import Private, Spec
from jaxdp.features import base as feature_maps
from jaxdp.features.base import FeatureMap
from jaxdp.methods import base
from jaxdp.methods.base import Words
from jaxdp.methods.dp_ntk import finish as training_module
from jaxdp.methods.dp_ntk import release as releasing
from jaxdp.methods.dp_ntk.drawing import Generator, balanced_labels
from jaxdp.methods.dp_ntk.features import FeatureOptions, build_features
from jaxdp.methods.dp_ntk.released import FORM, Released
from jaxdp.methods.dp_ntk.settings import Settings
from jaxdp.methods.dp_ntk.words import COVERS, WORDS
from jaxdp.methods.made import Made
from jaxdp.methods.settings import SettingsError, bad, part_of
from jaxdp.methods.steps import Cached, Runner, compute_anew
from jaxdp.methods.stored import NOTHING, Earlier, Form, require_same_data
from jaxdp.networks import generators
from jaxdp.privacy import releases
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.releases import GaussianRelease


@dataclasses.dataclass(frozen=True, kw_only=True)
class NtkPlan(base.Plan[Released]):
    """A checked run: the features, what is released, the generator.

    Attributes:
        options: what the features are made from.
        features: the map of rows in [0, 1].
        releases: the embedding's, and the class weights' where there are any.
        module: the generator.
        training: of the generator.
    """

    options: FeatureOptions
    features: FeatureMap
    releases: tuple[GaussianRelease, ...]
    module: Any
    training: training_module.GeneratorTraining

    @property
    def words(self) -> Words:
        """Names of files and headings."""
        return WORDS

    @property
    def num_classes(self) -> int:
        """Number of classes that are told apart; 1 where labels are not used."""
        return num_classes_of(self.settings, self.spec)

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of those classes."""
        return ("all",) if self.settings.unconditional else self.spec.class_names

    @property
    def ledger(self) -> Ledger | None:
        """What the run releases itself; None where it uses an earlier release."""
        if self.earlier.stored is not None:
            return None
        return Ledger(
            num_examples=self.spec.num_examples,
            delta=self.settings.delta,
            releases=self.releases,
            seeded_noise=self.settings.noise_seed is not None,
        )

    @property
    def covers(self) -> tuple[str, ...]:
        """What is released under the guarantee."""
        return COVERS

    @property
    def form(self) -> Form:
        """How what is released is kept."""
        return FORM

    @property
    def stored_options(self) -> FeatureOptions:
        """How features of what is released are made."""
        return self.options

    @property
    def num_made(self) -> int:
        """How many examples will be made."""
        return self.settings.num_synthetic

    @property
    def titles(self) -> tuple[str, str]:
        """Headings of the report page and of the picture."""
        title = f"{self.spec.name}, {self.options.features} features, epsilon {self.eps:g}"
        return f"Synthetic {title}", f"synthetic {title}"

    @property
    def num_bytes(self) -> int:
        """About what the files of a run take."""
        state = jax.eval_shape(self.training.init, jax.random.key(0))
        weights = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
        drawn = self.settings.num_synthetic * self.spec.dim
        return 4 * weights + 4 * self.num_classes * self.features.dim + drawn

    def release(self, private: Private, key: Key[Array, ""], runner: Runner) -> Released:
        """Return the noisy embedding of private data."""
        del runner
        codec = self.spec.codec
        released = releasing.release(
            private,
            key,
            feature_maps.rescaled(self.features, low=codec.low, high=codec.high),
            self.releases,
            num_classes=self.num_classes,
        )
        return jax.block_until_ready(released)

    def finish(self, released: Released, runner: Runner) -> Made:
        """Return what a generator draws that was trained on the embedding."""
        settings, codec = self.settings, self.spec.codec
        state = training_module.finish(
            self.training, released, runner, seed=settings.seed, num_steps=settings.steps
        )
        generator = Generator(
            module=self.module,
            variables=state.average,
            code_dim=settings.code_dim,
            class_names=self.class_names,
            shape=self.spec.shape,
            codec=codec,
        )
        labels = balanced_labels(
            np.asarray(released.class_weights), settings.num_synthetic, seed=settings.seed
        )
        rows = generator.rows(labels, jax.random.fold_in(jax.random.key(settings.seed), 3))
        if not np.all(np.isfinite(rows)):
            raise bad(settings, "learning_rate", "training has diverged; lower it")
        x = generator.stored(rows)
        return Made(
            spec=self.spec,
            x=x,
            y=labels,
            class_names=self.class_names,
            rows=rows,
            shift=codec.low,
            scale=codec.high - codec.low,
            arrays={"x": x, "y": labels, "class_names": np.array(self.class_names)},
            name=WORDS.result,
            generator=generator,
        )

    def config(self) -> dict[str, Any]:
        """Return what must be the same for a run and its resumption, as JSON."""
        return dataclasses.asdict(self.options) | {
            "num_features": self.features.dim,
            "generator": type(self.module).__name__,
            "num_classes": self.num_classes,
        }


def num_classes_of(settings: Settings, spec: Spec) -> int:
    """Return the number of classes that are told apart."""
    return 1 if settings.unconditional else spec.num_classes


def make_plan(
    settings: Settings,
    spec: Spec,
    earlier: Earlier = NOTHING,
    *,
    cached: Cached = compute_anew,
) -> NtkPlan:
    """Calibrate the noise and build the generator.

    Args:
        settings: as `complete` returns them.
        spec: facts about the data.
        earlier: an embedding to train on again.
        cached: keeps the whitening of scattering features.

    Raises:
        SettingsError: whatever is wrong.
    """
    stored, num_classes = earlier.stored, num_classes_of(settings, spec)
    options = part_of(settings, FeatureOptions)
    if stored is not None:
        require_same_data(stored, spec, num_classes)
        options = stored.options
    features = build_features(options, spec, num_classes, cached)
    if stored is not None and stored.released.mu.shape[1] != features.dim:
        raise SettingsError(
            f"{stored.source}: holds {stored.released.mu.shape[1]} features per class, and "
            f"--features={options.features} has {features.dim}: another version made it"
        )
    module = _generator(settings, spec)
    return NtkPlan(
        settings=settings,
        spec=spec,
        earlier=earlier,
        options=options,
        features=features,
        releases=_releases(settings, spec, features) if stored is None else (),
        module=module,
        training=_training(module, features, settings, num_classes),
    )


def _releases(settings: Settings, spec: Spec, features: FeatureMap) -> tuple[GaussianRelease, ...]:
    share = settings.weights_share or 0.0
    shares = {releasing.EMBEDDING: 1 - share}
    if share:
        shares[releasing.WEIGHTS] = share
    bounds = releasing.sensitivities(features, spec.num_examples, class_weights=share > 0)
    return releases.calibrate(
        bounds, target_epsilon=settings.eps, delta=settings.delta, shares=shares
    )


def _generator(settings: Settings, spec: Spec) -> Any:
    """Return the generator's module."""
    name = settings.generator
    if (name == "table") == spec.is_image:
        raise bad(
            settings,
            "generator",
            f"does not make examples of shape {spec.shape}; leave it out",
        )
    if name == "table":
        return generators.TabularGen(spec.dim)
    if name == "dense":
        return generators.DenseGen(spec.dim)
    kind = generators.ConvCondGen if name == "conv" else generators.ResnetG
    try:
        module = kind(spec.image_shape)
        classes, code_dim = 2, 2
        jax.eval_shape(
            lambda key: generators.init(module, key, code_dim, classes), jax.random.key(0)
        )
    except ValueError as error:
        raise SettingsError(f"--generator={name} on --dataset={spec.name}: {error}") from error
    return module


def _training(
    module: Any, features: FeatureMap, settings: Settings, num_classes: int
) -> training_module.GeneratorTraining:
    schedule: Any = optax.cosine_decay_schedule(settings.learning_rate, settings.steps)
    if settings.schedule == "published":
        schedule = training_module.published_schedule(
            settings.learning_rate, math.ceil(settings.steps / 4)
        )
    try:
        config = training_module.GeneratorConfig(
            num_classes=num_classes,
            code_dim=settings.code_dim,
            batch_size=settings.batch_size,
            optimizer=optax.adam(schedule),
            ema_decay=settings.ema_decay,
        )
    except ValueError as error:
        raise bad(settings, "batch_size", str(error)) from error
    return training_module.train_generator(module, features, config)
