"""DP-NTK: a private mean embedding, and a generator that is trained to match it for free.

    mu_k = (1/n) sum_{i: y_i = k} phi(x_i),    released once as mu + N(0, stddev^2 I)
    min over G of  sum_k |w_k mean_j phi(G(z_j, k)) - mu_k|^2

The private data are touched in `release_embedding` alone. What follows sees the noisy embedding
only and is post-processing: it may run as long, and be tried as often, as one likes. Which features
`phi` are is the caller's choice, as long as their norm is at most 1: gradients of a random network
(DP-NTK), random Fourier features (DP-MERF), Hermite polynomials (DP-HP), scattering.

References:
    Yang et al. (2023), "Differentially private neural tangent kernels (DP-NTK) for
        privacy-preserving data generation", algorithm 1.
    Harder, Adamczewski & Park (2021), "DP-MERF", algorithm 1 (class weights: section 4.2).
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key

from jaxdp import numerics
from jaxdp.features.base import FeatureMap
from jaxdp.networks import generators
from jaxdp.privacy import class_sums, mechanism
from jaxdp.privacy.class_sums import ClassChunks
from jaxdp.privacy.releases import GaussianRelease, joint_noise_multiplier

EMBEDDING = "mean embedding"
WEIGHTS = "class weights"
_LEAST_WEIGHT = 1e-3


def sensitivities(
    features: FeatureMap, num_examples: int, *, class_weights: bool
) -> dict[str, float]:
    """Return how far replacing one example of n moves what is released.

    The embedding moves by the features' diameter over n where the class stays the same (2/n where
    features may be opposite), and by sqrt(2)/n, which is not more, where it does not. The class
    weights move by sqrt(2)/n.
    """
    bounds = {EMBEDDING: max(features.diameter, 2**0.5) / num_examples}
    if class_weights:
        bounds[WEIGHTS] = 2**0.5 / num_examples
    return bounds


def multiplier_by_removal(released: Sequence[GaussianRelease], num_examples: int) -> float:
    """Return the noise multiplier of releases where one example of n is replaced by an empty one.

    `sensitivities` counts examples as replaced by any other. Where a release is accounted beside
    mechanisms under the zero-out relation (`jaxdp.privacy.ledger`), one example moves the embedding
    by `|phi| / n` and the class weights by `1 / n`, so by `1 / n` at most either.

    Args:
        released: all that was released with an embedding.
        num_examples: n, by which sums were divided.

    Guarantee:
        All releases together are at most as revealing as one Gaussian release of sensitivity 1 with
        noise of this standard deviation, 0 where one of them has no noise.
    """
    return joint_noise_multiplier(
        [dataclasses.replace(release, sensitivity=1 / num_examples) for release in released]
    )


class Released(NamedTuple):
    """What left the private data: noisy, and free to use from here on.

    Attributes:
        mu: the embedding, one row per class.
        class_weights: the classes' shares of the data, positive and with sum 1; uniform where they
            were not released.
    """

    mu: Float[Array, "c p"]
    class_weights: Float[Array, " c"]


def release_embedding(
    key: Key[Array, ""],
    features: FeatureMap,
    chunks: ClassChunks,
    releases: tuple[GaussianRelease, ...],
    *,
    num_examples: int,
    num_classes: int,
) -> Released:
    """Return the noisy class-wise mean embedding of private data, and noisy class weights.

    Args:
        key: of the noise, fresh and secret.
        features: `phi`, chosen without the data.
        chunks: the private data.
        releases: the embedding's, and the class weights' where they are wanted.
        num_examples: n, public.
        num_classes: c.

    Raises:
        ValueError: a release is unknown, or claims less than the true sensitivity.

    Guarantee:
        Both are Gaussian releases as `releases` describes them: replacing one example moves the
        embedding by at most diameter/n and the weights by at most sqrt(2)/n in norm, and
        independent noise of the given standard deviations, drawn in float64, is added to every
        entry. Nothing else of the data is returned.
    """
    named = {release.name: release for release in releases}
    bounds = sensitivities(features, num_examples, class_weights=WEIGHTS in named)
    if set(named) != set(bounds):
        raise ValueError(f"releases must be {list(bounds)}, got {list(named)}")
    for name, bound in bounds.items():
        if named[name].sensitivity < bound * (1 - 1e-12):
            raise ValueError(f"{name}: sensitivity is {bound}, not {named[name].sensitivity}")
    embedding_key, weights_key = jax.random.split(key)
    mu = release_sums(
        embedding_key,
        features,
        chunks,
        num_classes=num_classes,
        stddev=named[EMBEDDING].stddev * num_examples,
        divisor=float(num_examples),
    )
    uniform = jnp.full(num_classes, 1 / num_classes)
    if WEIGHTS not in named:
        return Released(mu, uniform)
    counts = np.zeros((num_classes, 1))
    np.add.at(counts[:, 0], np.asarray(chunks.labels), np.sum(chunks.weights, axis=1))
    with numerics.float64():
        exact = jnp.asarray(counts)
    stddev = named[WEIGHTS].stddev * num_examples
    weights = _noisy(weights_key, exact, stddev=stddev, divisor=float(num_examples))[:, 0]
    weights = jnp.maximum(weights, _LEAST_WEIGHT)
    return Released(mu, weights / jnp.sum(weights))


def release_sums(
    key: Key[Array, ""],
    features: FeatureMap,
    chunks: ClassChunks,
    *,
    num_classes: int,
    stddev: float,
    divisor: float,
) -> Float[Array, "c p"]:
    """Return the noisy sums of every class's features over a public constant.

    Args:
        key: of the noise, fresh and secret.
        features: `phi`, chosen without the data.
        chunks: the private data.
        num_classes: c.
        stddev: of the noise on every entry of the sums.
        divisor: public; noisy sums are divided by it before they are rounded to float32.

    Raises:
        TypeError: the key is not of `mechanism.private_key`.

    Guarantee:
        One Gaussian release: adding or removing one example moves the exact sums by at most 1 in
        Euclidean norm, replacing one by at most the features' diameter, and independent
        noise, drawn in float64, is added to every entry. Nothing else of the data is returned.
    """
    mechanism.require_private(key)
    sums = class_sums.class_sums(features, chunks, num_classes=num_classes)
    return _noisy(key, sums, stddev=stddev, divisor=divisor)


def _noisy(
    key: Key[Array, ""], exact: Float[Array, "c p"], *, stddev: float, divisor: float
) -> Float[Array, "c p"]:
    """Add noise, row by row so that a large embedding needs no second copy of itself."""
    with numerics.float64():
        noisy = [
            mechanism.add_gaussian_noise(jax.random.fold_in(key, i), row, stddev=stddev) / divisor
            for i, row in enumerate(exact)
        ]
        rows = [row.astype(jnp.float32) for row in noisy]
    return jnp.stack(rows)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GeneratorConfig:
    """How the generator is trained.

    Attributes:
        num_classes: c.
        code_dim: length of a latent code.
        batch_size: generated examples of a step, in equal parts of every class.
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

    labels = jnp.repeat(jnp.arange(config.num_classes), config.per_class)

    def distance(
        params: Any, batch_stats: Any, codes: Array, released: Released
    ) -> tuple[Array, Any]:
        variables = {"params": params, "batch_stats": batch_stats}
        rows, stats = generators.generate(module, variables, codes, labels, train=True)
        blocks = rows.reshape(config.num_classes, config.per_class, -1)
        nu = class_sums.block_means(features, blocks, released.class_weights)
        return class_sums.squared_distance(released.mu, nu), stats

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


def published_schedule(learning_rate: float, interval: int) -> optax.Schedule:
    """Return the papers' step sizes, `learning_rate * 0.9^ceil(t / interval)` at step t."""

    def schedule(step: Any) -> Any:
        return learning_rate * 0.9 ** jnp.ceil(jnp.asarray(step) / interval)

    return schedule
