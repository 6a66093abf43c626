"""What makes examples of a released embedding: a trained network, or draws from its cells."""

import abc
import dataclasses
import math
from typing import Any

import jax
import numpy as np
import optax
from jaxtyping import ArrayLike

from jaxdp.data import Spec, TableCodec
from jaxdp.features.base import FeatureMap
from jaxdp.methods.dp_ntk import cells, tree
from jaxdp.methods.dp_ntk import finish as training_module
from jaxdp.methods.dp_ntk.drawing import Generator
from jaxdp.methods.dp_ntk.generators import CELLS, build_network
from jaxdp.methods.dp_ntk.released import Released
from jaxdp.methods.dp_ntk.settings import COUNTS, PAIRS, Settings
from jaxdp.methods.settings import bad
from jaxdp.methods.steps import Runner
from jaxdp.tables.pairs import Pairs


@dataclasses.dataclass(frozen=True, kw_only=True)
class Maker(abc.ABC):
    """Turns what was released into something that draws examples; it sees no data.

    Attributes:
        stddev: of the embedding's noise.
    """

    stddev: float

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Of the kind."""

    @property
    @abc.abstractmethod
    def num_bytes(self) -> int:
        """About what the files of a run take for it."""

    @abc.abstractmethod
    def make(self, released: Released, runner: Runner) -> tuple[Any, np.ndarray]:
        """Return the generator, and the classes' shares of what it is to draw."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NetworkMaker(Maker):
    """Trains a network until its examples have the released embedding.

    Attributes:
        module: the network.
        features: the map that the embedding is made with.
        training: of the network.
        settings: complete.
        spec: facts about the data.
        class_names: in the order of the labels.
    """

    module: Any
    features: FeatureMap
    training: training_module.GeneratorTraining
    settings: Settings
    spec: Spec
    class_names: tuple[str, ...]

    @property
    def name(self) -> str:
        """Of the network."""
        return type(self.module).__name__

    @property
    def num_bytes(self) -> int:
        """Of the training's state."""
        state = jax.eval_shape(self.training.init, jax.random.key(0))
        return 4 * sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))

    def make(self, released: Released, runner: Runner) -> tuple[Generator, np.ndarray]:
        """Return the trained generator, and the released shares."""
        settings = self.settings
        assert settings.code_dim is not None
        state = training_module.finish(
            self.training,
            self._trained_on(released),
            runner,
            seed=settings.seed,
            num_steps=settings.steps,
        )
        generator = Generator(
            module=self.module,
            variables=state.average,
            code_dim=settings.code_dim,
            class_names=self.class_names,
            shape=self.spec.stored_shape,
            codec=self.spec.codec,
            class_weights=self._shares_of_classes(released),
        )
        return generator, np.asarray(released.class_weights)

    def _trained_on(self, released: Released) -> Released:
        """Return the leading features of an embedding, of which no class counts for too little."""
        leading = training_module.leading_part(self.features, released)
        share = 1.0 if self.features.leading is None else self.features.leading[1]
        noise = leading.mu.shape[1] * self.stddev**2 / share
        return training_module.evened(leading, noise=noise)

    def _shares_of_classes(self, released: Released) -> tuple[float, ...] | None:
        """Return the released shares, in which records are drawn, and images where some were."""
        shares = _floats(released.class_weights)
        of_images = shares if self.settings.weights_share else None
        return self.spec.kind.choose(images=of_images, rows=shares, table=shares)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CellMaker(Maker):
    """Draws from noisy marginals.

    Attributes:
        codec: of rows that are one-hot over cells.
        pairs: part of the features that counts pairs of columns; 0 for columns alone.
        class_names: in the order of the labels.
    """

    codec: TableCodec
    pairs: float
    class_names: tuple[str, ...]

    @property
    def name(self) -> str:
        """Of what it makes."""
        return (tree.TreeGenerator if self.pairs else cells.CellGenerator).__name__

    @property
    def num_bytes(self) -> int:
        """Of the shares; a tree's tables are at most so wide for every cell."""
        each = max(Pairs(self.codec.layout).widths) if self.pairs else 0
        return 8 * len(self.class_names) * self.codec.layout.dim * (1 + each)

    def make(self, released: Released, runner: Runner) -> tuple[cells.CellGenerator, np.ndarray]:
        """Return the generator, and the classes' shares as its marginals tell them."""
        del runner
        names = self.class_names
        if not self.pairs:
            return cells.fitted(released, self.codec, class_names=names)
        return tree.fitted(
            released, self.codec, share=self.pairs, stddev=self.stddev, class_names=names
        )


def maker_for(
    settings: Settings,
    spec: Spec,
    features: FeatureMap,
    *,
    stddev: float,
    class_names: tuple[str, ...],
) -> Maker:
    """Return what makes examples.

    Args:
        settings: complete.
        spec: facts about the data, with rows as features see them.
        features: the map that the embedding is made with.
        stddev: of the embedding's noise.
        class_names: in the order of the labels.

    Raises:
        SettingsError: the generator does not make examples of that shape.
    """
    if settings.generator == CELLS and settings.features in COUNTS:
        assert isinstance(spec.codec, TableCodec)  # as these features ask for
        pairs = (settings.product_share or 0.0) if settings.features == PAIRS else 0.0
        return CellMaker(codec=spec.codec, pairs=pairs, stddev=stddev, class_names=class_names)
    module = build_network(str(settings.generator), spec)
    return NetworkMaker(
        module=module,
        features=features,
        training=_training(module, features, settings, len(class_names)),
        stddev=stddev,
        settings=settings,
        spec=spec,
        class_names=class_names,
    )


def _floats(values: ArrayLike) -> tuple[float, ...]:
    return tuple(map(float, np.asarray(values)))


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
    led = features if features.leading is None else features.leading[0]
    return training_module.train_generator(module, led, config)
