"""From flags to a checked generating run: data, features, releases, generator.

Everything that can be wrong is found here, before anything is computed or written.
"""

import dataclasses
import functools
import math
from typing import Any

import jax
import numpy as np
import optax
from jaxtyping import Array

from experiments.data.load import Dataset, dataset_for, require_range
from experiments.errors import InputError
from experiments.evaluation import registry
from experiments.evaluation.recipe import for_generated
from experiments.feature_registry import build_features
from experiments.ntk_settings import (
    FeatureConfig,
    GeneratorHyper,
    NtkSettings,
    check,
    feature_config_for,
    generator_for,
    hyper_for,
)
from experiments.runs import released_file, released_npz
from experiments.runs import start as run_start
from experiments.runs.folder import RunFolder
from jaxdp.features import base as feature_maps
from jaxdp.features.base import FeatureMap
from jaxdp.methods import dp_ntk
from jaxdp.networks import generators
from jaxdp.privacy import class_sums, releases
from jaxdp.privacy.class_sums import ClassChunks
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.mechanism import private_key
from jaxdp.privacy.releases import GaussianRelease

# Examples embedded at once: what stays in a CPU's cache, what fills a GPU.
_CHUNK = {"cpu": 500}
_CHUNK_ACCELERATOR = 4096
_TABLE_SHARE = 0.1
_NOT_FIXED = (
    *("out_dir", "data_dir", "num_synthetic", "evaluate", "inception_weights", "check_copies"),
    *("resume", "overwrite", "allow_delta", "allow_epsilon"),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class NtkPlan:
    """A checked run: the data, the features, what is released, the generator."""

    settings: NtkSettings
    hyper: GeneratorHyper
    data: Dataset
    feature_config: FeatureConfig
    features: FeatureMap
    releases: tuple[GaussianRelease, ...]
    reused: released_file.ReleasedFile | None
    module: Any
    training: dp_ntk.GeneratorTraining
    evaluators: tuple[str, ...]

    @property
    def num_classes(self) -> int:
        """Number of classes that are told apart; 1 where labels are not used."""
        return 1 if self.settings.unconditional else self.data.num_classes

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of those classes."""
        return ("all",) if self.settings.unconditional else self.data.class_names

    @property
    def ledger(self) -> Ledger | None:
        """What the run releases itself; None where it uses an earlier release."""
        if self.reused is not None:
            return None
        return Ledger(
            num_examples=len(self.data.x_train),
            delta=self.settings.delta,
            releases=self.releases,
            seeded_noise=self.settings.noise_seed is not None,
        )

    @property
    def out_dir(self) -> str:
        """Where results go."""
        return _out_dir(self.settings, self.feature_config, self.eps)

    @property
    def eps(self) -> float:
        """The budget: by flag, or that of an embedding that is used again."""
        return _eps(self.settings, self.reused)

    def unit_rows(self, x: np.ndarray) -> np.ndarray:
        """Return examples as rows with values in [0, 1], by public constants."""
        scaling = self.data.scaling
        rows = x.reshape(len(x), -1).astype(np.float32)
        return (rows - np.float32(scaling.low)) / np.float32(scaling.high - scaling.low)

    def release(self) -> dp_ntk.Released:
        """Return the private embedding: the one place where the training split is read."""
        scaling = self.data.scaling
        return dp_ntk.release_embedding(
            private_key(self.settings.noise_seed),
            feature_maps.rescaled(self.features, low=scaling.low, high=scaling.high),
            self._chunks(),
            self.releases,
            num_examples=len(self.data.x_train),
            num_classes=self.num_classes,
        )

    def _chunks(self) -> ClassChunks:
        x, y = self.data.x_train, self.data.y_train
        return class_sums.arrange_by_class(
            x.reshape(len(x), -1),
            np.zeros_like(y) if self.settings.unconditional else y,
            num_classes=self.num_classes,
            chunk_size=min(len(x), _CHUNK.get(jax.default_backend(), _CHUNK_ACCELERATOR)),
        )

    def initial_state(self) -> dp_ntk.GeneratorState:
        """Return the generator before the first step."""
        return self.training.init(jax.random.fold_in(jax.random.key(self.settings.seed), 1))

    @functools.cached_property
    def codes_key(self) -> Array:
        """The public key of the latent codes."""
        return jax.random.fold_in(jax.random.key(self.settings.seed), 2)

    def fixed_config(self) -> dict[str, Any]:
        """Return what must be the same for a run and its resumption, as JSON."""
        config = run_start.fixed_config(
            (self.settings, self.hyper, self.feature_config),
            leave_out=_NOT_FIXED,
            eps=self.eps,
            data=self.data,
        )
        return config | {
            "num_features": self.features.dim,
            "generator": type(self.module).__name__,
            "num_classes": self.num_classes,
        }

    def config(self) -> dict[str, Any]:
        """Return the content of config.json."""
        return self.fixed_config() | {
            "num_synthetic": self.settings.num_synthetic,
            "data_source": self.data.source,
            "versions": run_start.versions(),
        }


def make_plan(settings: NtkSettings) -> NtkPlan:
    """Check flags and data, calibrate the noise and build the generator.

    Raises:
        InputError: whatever is wrong; nothing has been written yet.
    """
    check(settings)
    data = dataset_for(settings)
    require_range(data)
    if settings.check_copies and not data.is_image:
        raise InputError(
            f"--check_copies: compares images, and --dataset={settings.dataset} holds rows of "
            f"{data.dim} values; leave it out"
        )
    num_classes = 1 if settings.unconditional else data.num_classes
    evaluators = _evaluators(settings, data, num_classes)
    config = feature_config_for(settings, dim=data.dim)
    reused = None
    if settings.embedding is not None:
        reused = released_file.read(settings.embedding)
        config = _reused_config(settings, reused, data, num_classes)
    hyper = hyper_for(settings, config.features)
    # A folder that is taken is found before features are built, which may whiten public images.
    out_dir = _out_dir(settings, config, _eps(settings, reused))
    RunFolder(out_dir, resume=settings.resume, overwrite=settings.overwrite)
    features = build_features(config, data.shape, num_classes)
    if reused is not None and reused.released.mu.shape[1] != features.dim:
        raise InputError(
            f"--embedding={settings.embedding}: holds {reused.released.mu.shape[1]} features per "
            f"class, and --features={config.features} has {features.dim}: another version made it"
        )
    module = _generator(settings, config.features, data)
    return NtkPlan(
        settings=settings,
        hyper=hyper,
        data=data,
        feature_config=config,
        features=features,
        releases=_releases(settings, data, features) if reused is None else (),
        reused=reused,
        module=module,
        training=_training(module, features, hyper, num_classes),
        evaluators=evaluators,
    )


def _evaluators(settings: NtkSettings, data: Dataset, num_classes: int) -> tuple[str, ...]:
    """Return what the generated set is judged by."""
    facts = registry.Facts(
        holder=f"--dataset={settings.dataset}",
        shape=data.shape,
        num_classes=num_classes,
        num_made=settings.num_synthetic,
        recipe=for_generated(is_image=data.is_image),
        inception_weights=settings.inception_weights,
    )
    return registry.chosen(settings.evaluate, facts)


def _eps(settings: NtkSettings, reused: released_file.ReleasedFile | None) -> float:
    return settings.eps if reused is None else released_npz.budget(reused.certificate)


def _out_dir(settings: NtkSettings, config: FeatureConfig, eps: float) -> str:
    return settings.out_dir or f"runs/{settings.dataset}_{config.features}_eps{eps:g}"


def _reused_config(
    settings: NtkSettings, reused: released_file.ReleasedFile, data: Dataset, num_classes: int
) -> FeatureConfig:
    """Return how a stored embedding's features were made, which the flags must not contradict."""
    config = reused.feature_config
    for field in dataclasses.fields(FeatureConfig):
        given, stored = getattr(settings, field.name), getattr(config, field.name)
        if field.name != "seed" and given is not None and given != stored:
            raise InputError(
                f"--{field.name}={given}: --embedding={settings.embedding} was made with {stored}; "
                "leave the flag out"
            )
    for what, here, there in (
        ("examples of shape", list(data.shape), reused.example_shape),
        ("classes:", num_classes, len(reused.released.mu)),
    ):
        if here != there:
            raise InputError(
                f"--embedding={settings.embedding}: was made from {what} {there}, and "
                f"--dataset={settings.dataset} has {here}"
            )
    return config


def _releases(
    settings: NtkSettings, data: Dataset, features: FeatureMap
) -> tuple[GaussianRelease, ...]:
    share = settings.weights_share
    if share is None:
        share = 0.0 if data.is_image else _TABLE_SHARE
    if settings.unconditional:
        share = 0.0
    shares = {dp_ntk.EMBEDDING: 1 - share}
    if share:
        shares[dp_ntk.WEIGHTS] = share
    bounds = dp_ntk.sensitivities(features, len(data.x_train), class_weights=share > 0)
    return releases.calibrate(
        bounds, target_epsilon=settings.eps, delta=settings.delta, shares=shares
    )


def _generator(settings: NtkSettings, features: str, data: Dataset) -> Any:
    """Return the generator's module."""
    name = generator_for(settings, features, data.shape)
    if (name == "table") == data.is_image:
        raise InputError(
            f"--generator={name}: does not make examples of shape {data.shape}; leave it out"
        )
    if name == "table":
        return generators.TabularGen(data.dim)
    if name == "dense":
        return generators.DenseGen(data.dim)
    height, width, channels = data.shape
    kind = generators.ConvCondGen if name == "conv" else generators.ResnetG
    try:
        module = kind((height, width, channels))
        classes, code_dim = 2, 2
        jax.eval_shape(
            lambda key: generators.init(module, key, code_dim, classes), jax.random.key(0)
        )
    except ValueError as error:
        raise InputError(f"--generator={name} on --dataset={settings.dataset}: {error}") from error
    return module


def _training(
    module: Any, features: FeatureMap, hyper: GeneratorHyper, num_classes: int
) -> dp_ntk.GeneratorTraining:
    schedule: Any = optax.cosine_decay_schedule(hyper.learning_rate, hyper.steps)
    if hyper.schedule == "published":
        schedule = dp_ntk.published_schedule(hyper.learning_rate, math.ceil(hyper.steps / 4))
    try:
        config = dp_ntk.GeneratorConfig(
            num_classes=num_classes,
            code_dim=hyper.code_dim,
            batch_size=hyper.batch_size,
            optimizer=optax.adam(schedule),
            ema_decay=hyper.ema_decay,
        )
    except ValueError as error:
        raise InputError(f"--batch_size={hyper.batch_size}: {error}") from error
    return dp_ntk.train_generator(module, features, config)
