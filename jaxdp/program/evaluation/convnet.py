"""The papers' ConvNet, trained on a made set by their recipe, or by that of condensation."""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from tqdm import tqdm

from jaxdp.images.augmentation import augmented
from jaxdp.images.siamese import siamese_augmented
from jaxdp.methods.made import softmax
from jaxdp.networks.classifiers import ConvNet
from jaxdp.numerics import ByBackend, side_by_side
from jaxdp.program.evaluation.figures import Prediction
from jaxdp.program.evaluation.problem import Problem
from jaxdp.program.evaluation.recipe import ConvNetRecipe, scores, training_rows
from jaxdp.program.terminal import bar_style

_LEARNING_RATE, _MOMENTUM, _WEIGHT_DECAY = 0.01, 0.9, 5e-4
# The first block's activations of one chunk take 130 MB.
_TEST_CHUNK = 250
# Images whose gradients are computed at once: activations of eight fit into a CPU's cache. An
# accelerator takes the whole batch.
_CHUNK = ByBackend(cpu=8, accelerator=256)


def convnet(problem: Problem) -> dict[str, Any]:
    """Train a ConvNet for each seed by SGD on cross-entropy, and test it.

    Step size 0.01, a tenth of it in the second half, momentum 0.9, weight decay 5e-4, 301 epochs,
    batches of up to 256; grey images are shifted, scaled or rotated at random at every step; the
    last parameters predict.

    With 100 images of 28x28 a seed takes about 2 minutes of one CPU core (0.4 s an epoch), in
    proportion to the number of images, and 10000 test images another 20 s.

    Returns:
        As `recipe.scores`.

    References:
        Chen, Kerkouche & Fritz (2022), "Private set generation with discriminative information",
            appendix (network and recipe).
        Vinaroz & Park (2024), "Differentially private kernel inducing points", table 3.
    """
    return _judged(problem, problem.hard_targets, problem.recipe.convnet, "convnet")


def convnet_soft(problem: Problem) -> dict[str, Any]:
    """As `convnet`, with the set's soft labels.

    Raises:
        ValueError: the set has none.
    """
    how = problem.recipe.convnet
    return _judged(problem, problem.soft_targets, how, "convnet, soft labels")


def convnet_dsa(problem: Problem) -> dict[str, Any]:
    """As `convnet`, by the recipe of dataset condensation: 1000 epochs, `siamese_augmented`.

    Images are brought to mean 0 and deviation 1 of the made set; those with colours are reflected,
    too. It takes three times as long.

    References:
        Zhao & Bilen (2023), "Dataset condensation with distribution matching", section 4.1.
    """
    how = problem.recipe.convnet_dsa
    return _judged(_standardised(problem), problem.hard_targets, how, "convnet_dsa")


def convnet_dsa_soft(problem: Problem) -> dict[str, Any]:
    """As `convnet_dsa`, with the set's soft labels.

    Raises:
        ValueError: the set has none.
    """
    how, name = problem.recipe.convnet_dsa, "convnet_dsa, soft labels"
    return _judged(_standardised(problem), problem.soft_targets, how, name)


def _standardised(problem: Problem) -> Problem:
    mean, std = float(problem.x.mean()), float(problem.x.std()) or 1.0
    return dataclasses.replace(
        problem, x=(problem.x - mean) / std, x_test=(problem.x_test - mean) / std
    )


def _judged(problem: Problem, targets: np.ndarray, how: ConvNetRecipe, name: str) -> dict[str, Any]:
    recipe = problem.recipe
    draws = training_rows(recipe, problem.y, problem.num_classes)
    predictions = [
        _predicted(problem, targets, rows, seed, how, name)
        for rows, seed in zip(draws, recipe.seeds, strict=True)
    ]
    return scores(recipe, problem.y_test, predictions, len(draws[0]), problem.num_classes)


def _predicted(
    problem: Problem,
    targets: np.ndarray,
    chosen: np.ndarray,
    seed: int,
    recipe: ConvNetRecipe,
    name: str,
) -> Prediction:
    """Train on the chosen rows of a made set and return what is predicted of the test set."""
    x = jnp.asarray(problem.x[chosen], jnp.float32)
    wanted = jnp.asarray(targets[chosen], jnp.float32)
    network = _network(recipe, problem.num_classes, _batches_per_epoch(len(x), recipe))
    state = network.init(jax.random.key(seed), x[:1])
    key = jax.random.fold_in(jax.random.key(seed), 1)
    for batches in tqdm(
        _epochs(len(x), recipe, np.random.default_rng(seed)),
        total=recipe.epochs,
        desc=f"{name}, seed {seed}",
        unit="epoch",
        **bar_style(),
    ):
        for rows in batches:
            key, step_key = jax.random.split(key)
            state = network.step(step_key, state, x[rows], wanted[rows])
        jax.block_until_ready(state)  # the bar shows steps done, not steps queued
    return predicted(lambda x: network.classify(state, x), np.asarray(problem.x_test, np.float32))


class _State(NamedTuple):
    params: Any
    opt_state: optax.OptState


class _Network(NamedTuple):
    """Compiled functions, shared by all seeds and by made sets of the same size.

    The loops over steps and chunks are Python's, on purpose: inside a compiled loop, XLA's
    convolutions on the CPU have gradients about twenty times slower (jax issue 12868).
    """

    init: Callable[[jax.Array, jax.Array], _State]
    moved: Callable[[jax.Array, jax.Array], jax.Array]
    gradient: Callable[..., Any]
    update: Callable[[_State, Any], _State]
    classify: Callable[[_State, np.ndarray], jax.Array]

    def step(self, key: jax.Array, state: _State, x: jax.Array, targets: jax.Array) -> _State:
        """Return the state after a step on one batch, its images moved at random.

        Gradients are summed over chunks, two of which are computed at once on a CPU.
        """
        x = self.moved(key, x)
        size = min(_CHUNK.here, len(x))
        parts = side_by_side(
            lambda start: self.gradient(state.params, x, targets, start, size=size),
            range(0, len(x), size),
        )
        return self.update(state, functools.reduce(_sum, parts))


_sum = jax.jit(functools.partial(jax.tree.map, jnp.add))


@functools.cache
def _network(recipe: ConvNetRecipe, num_classes: int, batches_per_epoch: int) -> _Network:
    model: Any = ConvNet(num_classes, width=recipe.width)
    optimizer = _optimizer(recipe, batches_per_epoch)

    def init(key: jax.Array, x: jax.Array) -> _State:
        params = model.init(key, x)
        return _State(params, optimizer.init(params))

    def moved(key: jax.Array, x: jax.Array) -> jax.Array:
        if recipe.siamese:
            return siamese_augmented(key, x, reflect=x.shape[-1] > 1)
        if x.shape[-1] > 1:
            return x
        return augmented(
            key,
            x,
            max_shift=recipe.max_shift * max(x.shape[1:3]),
            max_scaling=recipe.max_scaling,
            max_rotation=recipe.max_rotation,
        )

    def gradient(params: Any, x: jax.Array, targets: jax.Array, start: int, *, size: int) -> Any:
        """Return the share of one chunk in the gradient of the batch's mean loss.

        The last chunk begins where it fits in, and what the one before has seen weighs nothing.
        """
        begins = jnp.minimum(start, len(x) - size)
        weights = (begins + jnp.arange(size) >= start) / len(x)
        rows, wanted = (jax.lax.dynamic_slice_in_dim(all, begins, size) for all in (x, targets))

        def loss(params: Any) -> jax.Array:
            return weights @ optax.softmax_cross_entropy(model.apply(params, rows), wanted)

        return jax.grad(loss)(params)

    def update(state: _State, gradient: Any) -> _State:
        updates, opt_state = optimizer.update(gradient, state.opt_state, state.params)
        return _State(optax.apply_updates(state.params, updates), opt_state)

    def classify(state: _State, x: np.ndarray) -> jax.Array:
        return model.apply(state.params, x)

    return _Network(
        jax.jit(init),
        jax.jit(moved),
        jax.jit(gradient, static_argnames="size"),
        jax.jit(update),
        jax.jit(classify),
    )


def _optimizer(recipe: ConvNetRecipe, batches_per_epoch: int) -> optax.GradientTransformation:
    """Return SGD with weight decay as part of the gradient, so under the momentum too."""
    half = math.ceil(recipe.epochs / 2) * batches_per_epoch
    schedule = optax.piecewise_constant_schedule(_LEARNING_RATE, {half: 0.1})
    return optax.chain(
        optax.add_decayed_weights(_WEIGHT_DECAY), optax.sgd(schedule, momentum=_MOMENTUM)
    )


def _batches_per_epoch(num_images: int, recipe: ConvNetRecipe) -> int:
    return math.ceil(num_images / recipe.batch_size)


def _epochs(
    num_images: int, recipe: ConvNetRecipe, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield for each epoch the rows (batches, batch) of its batches, in a new order.

    Where the images do not divide into batches of one size, which are compiled once, the epoch's
    first few take part twice.
    """
    count = _batches_per_epoch(num_images, recipe)
    shape = (count, math.ceil(num_images / count))
    for _ in range(recipe.epochs):
        yield np.resize(rng.permutation(num_images), shape)


def predicted(logits_of: Callable[[np.ndarray], jax.Array], x_test: np.ndarray) -> Prediction:
    """Return what is predicted, chunk by chunk; the last chunk is filled up.

    Args:
        logits_of: returns (m, c) logits of images (m, h, w, ch), compiled for one m.
        x_test: (t, h, w, ch) images.
    """
    size = min(_TEST_CHUNK, len(x_test))
    chunks = [x_test[start : start + size] for start in range(0, len(x_test), size)]
    parts = [np.asarray(logits_of(np.resize(chunk, (size, *chunk.shape[1:])))) for chunk in chunks]
    logits = np.concatenate(parts)[: len(x_test)]
    return Prediction(np.argmax(logits, axis=1), softmax(logits))
