"""Networks that are trained on a whole made set: a small one, as a user would, and a wide one."""

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from tqdm import tqdm

from jaxdp.networks.classifiers import SmallCnn, WideResNet
from jaxdp.program.evaluation.convnet import predicted
from jaxdp.program.evaluation.figures import Prediction
from jaxdp.program.evaluation.problem import Problem
from jaxdp.program.evaluation.recipe import CnnRecipe, scores
from jaxdp.program.terminal import bar_style


def cnn(problem: Problem) -> dict[str, Any]:
    """Train a small network on all of a made set with its hard labels, and test it.

    Two convolutions of 5x5 with 16 and 32 channels, 128 units (`SmallCnn`); Adam with step size
    0.001 that falls along a cosine, batches of 100, six passes and at least 1500 steps; images are
    moved by up to a fourteenth of their sides at random. Values are brought to mean 0 and deviation
    1 of the made set. One seed: 60,000 images of 32x32 take two minutes of one CPU core.

    Returns:
        As `recipe.scores`.
    """
    return _judged(problem, problem.hard_targets, "cnn", problem.recipe.cnn)


def cnn_soft(problem: Problem) -> dict[str, Any]:
    """As `cnn`, with the set's soft labels.

    Raises:
        ValueError: the set has none.
    """
    return _judged(problem, problem.soft_targets, "cnn, soft labels", problem.recipe.cnn)


def wrn(problem: Problem) -> dict[str, Any]:
    """As `cnn`, by a wide residual network, WRN-16-2 (`WideResNet`): an hour of a CPU core."""
    return _judged(problem, problem.hard_targets, "wrn", problem.recipe.wrn)


def wrn_soft(problem: Problem) -> dict[str, Any]:
    """As `wrn`, with the set's soft labels.

    Raises:
        ValueError: the set has none.
    """
    return _judged(problem, problem.soft_targets, "wrn, soft labels", problem.recipe.wrn)


def _judged(problem: Problem, targets: np.ndarray, name: str, recipe: CnnRecipe) -> dict[str, Any]:
    seed = problem.recipe.seeds[0]
    found = _predicted(problem, targets, seed, name, recipe)
    scored = scores(problem.recipe, problem.y_test, [found], len(problem.x), problem.num_classes)
    return scored | {"seeds": [seed]}


def _predicted(
    problem: Problem, targets: np.ndarray, seed: int, name: str, recipe: CnnRecipe
) -> Prediction:
    mean, std = float(problem.x.mean()), float(problem.x.std()) or 1.0
    steps = max(recipe.least_steps, recipe.epochs * math.ceil(len(problem.x) / recipe.batch_size))
    network = _network(recipe, problem.num_classes, steps)
    key = jax.random.key(seed)
    state = network.init(key, jnp.zeros((1, *problem.x.shape[1:]), jnp.float32))
    rows = _batches(len(problem.x), min(recipe.batch_size, len(problem.x)), seed)
    for number in tqdm(range(steps), desc=f"{name}, seed {seed}", unit="step", **bar_style()):
        chosen = next(rows)
        x = ((problem.x[chosen] - mean) / std).astype(np.float32)
        state = network.step(jax.random.fold_in(key, number), state, x, targets[chosen])
    x_test = ((problem.x_test - mean) / std).astype(np.float32)
    return predicted(lambda x: network.classify(state, x), x_test)


class _State(NamedTuple):
    params: Any
    opt_state: optax.OptState


class _Network(NamedTuple):
    """Compiled functions; the loop over steps is Python's, see `convnet`."""

    init: Callable[..., _State]
    step: Callable[..., _State]
    classify: Callable[..., jax.Array]


@functools.cache
def _network(recipe: CnnRecipe, num_classes: int, steps: int) -> _Network:
    model: Any = (WideResNet if recipe.wide else SmallCnn)(num_classes)
    optimizer = optax.adam(optax.cosine_decay_schedule(recipe.learning_rate, steps))

    def init(key: jax.Array, x: jax.Array) -> _State:
        params = model.init(key, x)
        return _State(params, optimizer.init(params))

    def loss(params: Any, x: jax.Array, targets: jax.Array) -> jax.Array:
        return jnp.mean(optax.softmax_cross_entropy(model.apply(params, x), targets))

    def step(key: jax.Array, state: _State, x: jax.Array, targets: jax.Array) -> _State:
        moved = shifted(key, x, most=recipe.max_shift)
        gradient = jax.grad(loss)(state.params, moved, targets)
        updates, opt_state = optimizer.update(gradient, state.opt_state)
        return _State(optax.apply_updates(state.params, updates), opt_state)

    def classify(state: _State, x: jax.Array) -> jax.Array:
        return model.apply(state.params, x)

    return _Network(jax.jit(init), jax.jit(step), jax.jit(classify))


def shifted(key: jax.Array, x: jax.Array, *, most: float) -> jax.Array:
    """Return images (n, h, w, ch), each moved by whole pixels; its border goes on outside.

    Args:
        key: of the shifts.
        x: the images.
        most: largest shift as a part of a side; a side keeps its place where that is no pixel.
    """
    margins = [round(most * side) for side in x.shape[1:3]]
    wide = jnp.pad(x, ((0, 0), *((m, m) for m in margins), (0, 0)), mode="edge")
    limits = jnp.array([2 * m + 1 for m in margins])
    starts = jax.random.randint(key, (len(x), 2), 0, limits)

    def cut(image: jax.Array, start: jax.Array) -> jax.Array:
        return jax.lax.dynamic_slice(image, (start[0], start[1], 0), x.shape[1:])

    return jax.vmap(cut)(wide, starts)


def _batches(num_images: int, size: int, seed: int) -> Iterator[np.ndarray]:
    """Yield the rows of batches of one size, in a new order for every pass."""
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(num_images)
        for start in range(0, num_images - size + 1, size):
            yield order[start : start + size]
