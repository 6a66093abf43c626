"""A generator that is trained to match a released embedding.

    min over G of  sum_k |w_k mean_j phi(G(z_j, k)) - mu_k|^2

Nothing here is given private data, only the noisy embedding: it is post-processing, which may run
as long, and be tried as often, as one likes.

References:
    Yang et al. (2023), "Differentially private neural tangent kernels (DP-NTK) for
        privacy-preserving data generation", algorithm 1.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key

from jaxdp.features.base import FeatureMap, block_means, squared_distance
from jaxdp.methods.dp_ntk.released import Released
from jaxdp.methods.steps import Runner, Steps
from jaxdp.networks import generators

# Looks at the distance in a run.
_POINTS = 40
# About what a generator leaves of the mean features of a class, squared; those have norm 1 at most.
_LEFT = 0.1


@dataclasses.dataclass(frozen=True, kw_only=True)
class GeneratorConfig:
    """How the generator is trained.

    Attributes:
        num_classes: c.
        code_dim: length of a latent code.
        batch_size: generated examples of a step, in equal parts of every class: two of each at
            least, as one alone would have to have the mean features of its class.
        optimizer: of the generator's parameters.
        ema_decay: of the moving average of parameters that generates at the end; 0 for none.

    Raises:
        ValueError: a number is out of range.
    """

    num_classes: int
    code_dim: int
    batch_size: int
    optimizer: optax.GradientTransformation
    ema_decay: float = 0.0

    def __post_init__(self) -> None:
        if self.batch_size < 2 * self.num_classes:
            raise ValueError(
                f"batch_size must be at least two per class, {2 * self.num_classes}, "
                f"got {self.batch_size}"
            )
        if self.code_dim < 1:
            raise ValueError(f"code_dim must be >= 1, got {self.code_dim}")
        if not 0 <= self.ema_decay < 1:
            raise ValueError(f"ema_decay must be in [0, 1), got {self.ema_decay}")

    @property
    def per_class(self) -> int:
        """Generated examples of each class in a step."""
        return self.batch_size // self.num_classes


class GeneratorState(NamedTuple):
    """A generator in training.

    `average` is what generates: the moving average of `params` and `batch_stats`, as variables.
    """

    step: Array
    params: Any
    batch_stats: Any
    average: Any
    opt_state: optax.OptState


class GeneratorTraining(NamedTuple):
    """The generator's training as a pair of pure functions.

    Attributes:
        init: `key -> GeneratorState`, before the first step.
        update: `(state, key, released) -> (state, squared distance)`, one step with fresh codes;
            the key is that of the run, steps are told apart by their number.
    """

    init: Callable[[Key[Array, ""]], GeneratorState]
    update: Callable[
        [GeneratorState, Key[Array, ""], Released], tuple[GeneratorState, Float[Array, ""]]
    ]


def train_generator(
    module: Any, features: FeatureMap, config: GeneratorConfig
) -> GeneratorTraining:
    """Return the training of a generator against a released embedding.

    Args:
        module: a generator of `jaxdp.networks.generators`.
        features: the map that the embedding was made with.
        config: how to train.

    Guarantee:
        Post-processing: no function here takes private data, so training costs no privacy.
    """

    def init(key: Key[Array, ""]) -> GeneratorState:
        variables = generators.init(module, key, config.code_dim, config.num_classes)
        return GeneratorState(
            step=jnp.zeros((), jnp.int32),
            params=variables["params"],
            batch_stats=variables["batch_stats"],
            average=variables,
            opt_state=config.optimizer.init(variables["params"]),
        )

    labels = jnp.asarray(np.repeat(np.arange(config.num_classes, dtype=np.int32), config.per_class))

    def distance(
        params: Any, batch_stats: Any, codes: Array, released: Released
    ) -> tuple[Array, Any]:
        variables = {"params": params, "batch_stats": batch_stats}
        rows, stats = generators.generate(module, variables, codes, labels, train=True)
        blocks = rows.reshape(config.num_classes, config.per_class, -1)
        nu = block_means(features, blocks, released.class_weights)
        return squared_distance(released.mu, nu), stats

    def update(
        state: GeneratorState, key: Key[Array, ""], released: Released
    ) -> tuple[GeneratorState, Array]:
        step_key = jax.random.fold_in(key, state.step)
        codes = generators.sample_codes(step_key, labels, config.code_dim)
        (loss, stats), gradient = jax.value_and_grad(distance, has_aux=True)(
            state.params, state.batch_stats, codes, released
        )
        updates, opt_state = config.optimizer.update(gradient, state.opt_state, state.params)
        params = optax.apply_updates(state.params, updates)
        # A plain mean until there are enough steps for the decay that was asked for.
        decay = jnp.minimum(config.ema_decay, state.step / (state.step + 1.0))
        variables = {"params": params, "batch_stats": stats}
        average = jax.tree.map(lambda a, v: decay * a + (1 - decay) * v, state.average, variables)
        return GeneratorState(state.step + 1, params, stats, average, opt_state), loss

    return GeneratorTraining(jax.jit(init), jax.jit(update))


def leading_part(features: FeatureMap, released: Released) -> Released:
    """Return the embedding by the leading features alone, all where none lead."""
    if features.leading is None:
        return released
    part, share = features.leading
    return released._replace(mu=released.mu[:, : part.dim] / math.sqrt(share))


def evened(released: Released, *, noise: float) -> Released:
    """Return an embedding by which rare classes are trained on as much as others.

    A class's part has its share in it, so that a rare one hardly moves the squared distance. Parts
    are divided by `sqrt(w_k^2 + noise / left)`: each has a weight in inverse proportion to the
    squared error that is to be expected of its mean features, `left + noise / w_k^2`. Those of
    classes that noise hides count for less.

    Args:
        released: the embedding.
        noise: expected squared norm of the noise of one class.

    Returns:
        Both arrays times a number for each class; all are 1 where classes are equal.

    Guarantee:
        Post-processing: no argument takes private data.

    References:
        Aitken (1936), "On least squares and linear combination of observations".
    """
    shares = np.asarray(released.class_weights, np.float64)
    factors = 1 / np.sqrt(shares**2 + noise / _LEFT)
    scale = jnp.asarray(factors / np.sqrt(np.mean(factors**2)), jnp.float32)
    return Released(released.mu * scale[:, None], released.class_weights * scale)


def published_schedule(learning_rate: float, interval: int) -> optax.Schedule:
    """Return the papers' step sizes, `learning_rate * 0.9^ceil(t / interval)` at step t."""

    def schedule(step: Any) -> Any:
        return learning_rate * 0.9 ** jnp.ceil(jnp.asarray(step) / interval)

    return schedule


def finish(
    training: GeneratorTraining,
    released: Released,
    runner: Runner,
    *,
    seed: int,
    num_steps: int,
) -> GeneratorState:
    """Return a generator that has been trained on what was released.

    Args:
        training: how.
        released: the embedding.
        runner: takes the steps; it is told the distance to the embedding, which is public.
        seed: public; of the first weights and of the latent codes.
        num_steps: of the whole training.

    Guarantee:
        Post-processing: no argument takes private data.
    """
    public = jax.random.key(seed)
    codes_key = jax.random.fold_in(public, 2)

    def advance(state: GeneratorState, count: int) -> tuple[GeneratorState, Array]:
        # Python's loop, on purpose: see `jaxdp.methods.teacher.finish`.
        for _ in range(count):
            state, distance = training.update(state, codes_key, released)
        return state, distance

    return runner.loop(
        Steps(
            name="training",
            state=training.init(jax.random.fold_in(public, 1)),
            advance=advance,
            num_steps=num_steps,
            free=True,
            every=max(1, num_steps // _POINTS),
        )
    )
