"""Judge a distilled set by classifiers that are trained on it and tested on real data.

The papers report these numbers beside those of kernel ridge regression. No classifier is told the
test labels: what is measured is what the last step of a fixed recipe predicts, never the best of
several.
"""

import dataclasses
import functools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from tqdm import tqdm

from experiments.augmentation import augmented
from experiments.errors import InputError
from jaxdp.networks import ConvNet

KRR = "krr"
"""Kernel ridge regression with the run's own kernel, which the driver evaluates itself."""

_LEARNING_RATE, _MOMENTUM, _WEIGHT_DECAY = 0.01, 0.9, 5e-4
# The first block's activations of one chunk take 130 MB.
_TEST_CHUNK = 250
# lbfgs takes hundreds of iterations and Adam stops after a few hundred epochs without progress:
# a limit that is there to end, not to be met.
_MAX_ITERATIONS = 5000


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConvNetRecipe:
    """How the ConvNet is trained; the defaults are the papers'.

    Attributes:
        width: channels of each block.
        epochs: passes over the distilled images; the step size falls to a tenth half-way.
        batch_size: the most images of a step; a pass is cut into as few equal batches as it takes.
        max_shift, max_scaling, max_rotation: limits of what `augmentation.augmented` does to grey
            images at every step: shifts and scalings as parts of the sides, rotations in degrees;
            colour images stay as they are.
    """

    width: int = 128
    epochs: int = 301
    batch_size: int = 256
    max_shift: float = 1 / 7  # 4 of 28 pixels
    max_scaling: float = 0.2
    max_rotation: float = 45.0


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """What an evaluator may see: all but the test labels.

    Attributes:
        x: (s, h, w, ch) or (s, d) float32, the distilled set.
        y: (s,) int32, its classes.
        x_test: (t, h, w, ch) or (t, d) float32, on the same scale as `x`.
        num_classes: c; a class may be missing from the distilled or the test set.
        recipe: how the ConvNet is trained.
    """

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    num_classes: int
    recipe: ConvNetRecipe


Evaluator = Callable[[Problem, Sequence[int]], Iterator[np.ndarray]]
"""Yields, seed by seed, the classes (t,) that a classifier trained with it predicts."""


def parse_names(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of evaluators, such as "krr,convnet".

    Returns:
        The names in the order given, each once.

    Raises:
        InputError: a name is unknown, or there is none.
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    _check_known(names, text)
    return names


def check_names(names: Sequence[str], shape: tuple[int, ...], *, is_image: bool) -> None:
    """Check that evaluators are known and can judge examples of a shape, before work starts.

    Args:
        names: evaluators, "krr" included.
        shape: of one example: (h, w, ch) or (d,).
        is_image: whether examples are images.

    Raises:
        InputError: a name is unknown, or "convnet" would be given tabular rows.
    """
    text = ",".join(names)
    _check_known(names, text)
    if "convnet" in names and not (is_image and len(shape) == 3):
        raise InputError(
            f"--evaluate={text}: convnet takes images, but an example here has shape {shape}; "
            "for tabular data use krr, logistic or mlp"
        )


def _check_known(names: Sequence[str], text: str) -> None:
    known = (KRR, *EVALUATORS)
    for name in names:
        if name not in known:
            raise InputError(
                f"--evaluate={text}: {name!r} is unknown; known are {', '.join(known)}"
            )


def evaluate(
    names: Sequence[str],
    x: np.ndarray,
    y: np.ndarray,
    x_test: np.ndarray,
    y_test: np.ndarray,
    *,
    num_classes: int,
    seeds: Sequence[int] = (0, 1, 2),
    is_image: bool,
    recipe: ConvNetRecipe | None = None,
) -> dict[str, dict[str, Any]]:
    """Train classifiers on a distilled set and return their accuracies on the test set.

    A seed fixes all randomness of a classifier. It gives the same accuracy again on the same
    machine; elsewhere, sums in another order may turn a few predictions.

    Args:
        names: evaluators, as `parse_names` gives them; "krr", the driver's own, is passed over.
        x: (s, h, w, ch) or (s, d) distilled set, as the kernel sees it.
        y: (s,) its classes, in 0..c-1.
        x_test: (t, h, w, ch) or (t, d) test set, scaled by the same public constants as `x`.
        y_test: (t,) its classes.
        num_classes: c.
        seeds: one classifier is trained for each, except logistic regression, which has no
            randomness.
        is_image: whether examples are images.
        recipe: how the ConvNet is trained; the papers' recipe by default.

    Returns:
        By name, ready for JSON: `seeds`, `test_accuracies` of each seed in [0, 1], their `mean`
        and their (population) standard deviation `std`.

    Raises:
        InputError: an evaluator is unknown or unfit for the data, or the distilled set has values
            that are not finite.
        ValueError: the arrays do not fit each other, or there is no seed.
    """
    check_names(names, x.shape[1:], is_image=is_image)
    if x.shape[1:] != x_test.shape[1:] or (len(x), len(x_test)) != (len(y), len(y_test)):
        shapes = [np.shape(array) for array in (x, y, x_test, y_test)]
        raise ValueError(f"x, y, x_test and y_test do not fit each other: {shapes}")
    if not seeds:
        raise ValueError("evaluate needs at least one seed")
    if not np.all(np.isfinite(x)):
        raise InputError(
            f"--evaluate={','.join(names)}: the distilled set has values that are not finite, "
            "so the run has diverged; lower --learning_rate or raise --ridge"
        )
    problem = Problem(
        x=np.asarray(x, np.float32),
        y=np.asarray(y, np.int32),
        x_test=np.asarray(x_test, np.float32),
        num_classes=num_classes,
        recipe=recipe or ConvNetRecipe(),
    )
    return {
        name: _summary(EVALUATORS[name](problem, seeds), seeds, np.asarray(y_test))
        for name in names
        if name != KRR
    }


def _summary(
    predictions: Iterator[np.ndarray], seeds: Sequence[int], y_test: np.ndarray
) -> dict[str, Any]:
    accuracies = [float(np.mean(predicted == y_test)) for predicted in predictions]
    return {
        "seeds": list(seeds),
        "test_accuracies": accuracies,
        "mean": float(np.mean(accuracies)),
        "std": float(np.std(accuracies)),
    }


def convnet(problem: Problem, seeds: Sequence[int]) -> Iterator[np.ndarray]:
    """Train a ConvNet by SGD on cross-entropy and yield its predictions, seed by seed.

    Step size 0.01, a tenth of it in the second half, momentum 0.9, weight decay 5e-4, 301 epochs,
    batches of up to 256; grey images are shifted, scaled or rotated at random at every step; the
    last parameters predict.

    With 100 images of 28x28 a seed takes about 4 minutes of one CPU core (0.8 s an epoch), in
    proportion to the number of images, and 10000 test images another 20 s.

    References:
        Chen, Kerkouche & Fritz (2022), "Private set generation with discriminative information",
            appendix (network and recipe).
        Vinaroz & Park (2024), "Differentially private kernel inducing points", table 3.
    """
    x, y = jnp.asarray(problem.x), jnp.asarray(problem.y)
    recipe = problem.recipe
    network = _network(recipe, problem.num_classes, _batches_per_epoch(len(x), recipe))
    for seed in seeds:
        state = network.init(jax.random.key(seed), x[:1])
        key = jax.random.fold_in(jax.random.key(seed), 1)
        for batches in tqdm(
            _epochs(len(x), recipe, np.random.default_rng(seed)),
            total=recipe.epochs,
            desc=f"convnet, seed {seed}",
            unit="epoch",
            **({} if sys.stderr.isatty() else {"mininterval": 10.0, "ascii": True}),
        ):
            for rows in batches:
                key, step_key = jax.random.split(key)
                state = network.step(step_key, state, x[rows], y[rows])
            jax.block_until_ready(state)  # the bar shows steps done, not steps queued
        yield _predict(network, state, problem.x_test)


class _State(NamedTuple):
    params: Any
    opt_state: optax.OptState


class _Network(NamedTuple):
    """Compiled functions, shared by all seeds and by distilled sets of the same size.

    The loop over steps is Python's, on purpose: inside a compiled loop, XLA's convolutions on the
    CPU have gradients about twenty times slower (jax issue 12868).
    """

    init: Callable[[jax.Array, jax.Array], _State]
    step: Callable[[jax.Array, _State, jax.Array, jax.Array], _State]
    classify: Callable[[_State, np.ndarray], jax.Array]


@functools.cache
def _network(recipe: ConvNetRecipe, num_classes: int, batches_per_epoch: int) -> _Network:
    model: Any = ConvNet(num_classes, width=recipe.width)
    optimizer = _optimizer(recipe, batches_per_epoch)

    def init(key: jax.Array, x: jax.Array) -> _State:
        params = model.init(key, x)
        return _State(params, optimizer.init(params))

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        logits = model.apply(params, x)
        return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, y))

    def step(key: jax.Array, state: _State, x: jax.Array, y: jax.Array) -> _State:
        if x.shape[-1] == 1:
            x = augmented(
                key,
                x,
                max_shift=recipe.max_shift * max(x.shape[1:3]),
                max_scaling=recipe.max_scaling,
                max_rotation=recipe.max_rotation,
            )
        gradient = jax.grad(loss)(state.params, x, y)
        updates, opt_state = optimizer.update(gradient, state.opt_state, state.params)
        return _State(optax.apply_updates(state.params, updates), opt_state)

    def classify(state: _State, x: np.ndarray) -> jax.Array:
        return jnp.argmax(model.apply(state.params, x), axis=1)

    return _Network(jax.jit(init), jax.jit(step), jax.jit(classify))


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


def _predict(network: _Network, state: _State, x_test: np.ndarray) -> np.ndarray:
    """Return the predicted classes (t,), chunk by chunk; the last chunk is filled up."""
    size = min(_TEST_CHUNK, len(x_test))
    chunks = [x_test[start : start + size] for start in range(0, len(x_test), size)]
    classes = [
        np.asarray(network.classify(state, np.resize(chunk, (size, *chunk.shape[1:]))))
        for chunk in chunks
    ]
    return np.concatenate(classes)[: len(x_test)]


def logistic(problem: Problem, seeds: Sequence[int]) -> Iterator[np.ndarray]:
    """Fit scikit-learn's logistic regression (L2 penalty, C = 1) and yield its predictions.

    The optimum is unique: it is fitted once and yielded for every seed.
    """
    from sklearn.linear_model import LogisticRegression

    rows, test_rows = _flat(problem.x), _flat(problem.x_test)
    model = LogisticRegression(max_iter=_MAX_ITERATIONS).fit(rows, problem.y)
    predicted = model.predict(test_rows)
    yield from (predicted for _ in seeds)


def mlp(problem: Problem, seeds: Sequence[int]) -> Iterator[np.ndarray]:
    """Train scikit-learn's MLP (one layer of 100 ReLU units) and yield its predictions by seed."""
    from sklearn.neural_network import MLPClassifier

    rows, test_rows = _flat(problem.x), _flat(problem.x_test)
    for seed in seeds:
        model = MLPClassifier((100,), max_iter=_MAX_ITERATIONS, random_state=seed)
        yield model.fit(rows, problem.y).predict(test_rows)


def _flat(x: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), -1)


EVALUATORS: dict[str, Evaluator] = {"convnet": convnet, "logistic": logistic, "mlp": mlp}
"""Evaluators by name; beside them there is "krr", which is the driver's."""
