"""Judge a distilled set by classifiers that are trained on it and tested on real data.

The papers report these numbers beside those of kernel ridge regression. No classifier is told the
test labels: what is measured is what the last step of a fixed recipe predicts, never the best of
several.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from experiments.errors import InputError
from experiments.evaluation import convnet as convnet_training
from experiments.evaluation.convnet import ConvNetRecipe

KRR = "krr"
"""Kernel ridge regression with the run's own kernel, which the driver evaluates itself."""

# lbfgs takes hundreds of iterations and Adam stops after a few hundred epochs without progress:
# a limit that is there to end, not to be met.
_MAX_ITERATIONS = 5000


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
    """Train the papers' ConvNet by the problem's recipe and yield its predictions, seed by seed."""
    return convnet_training.predictions(
        problem.x,
        problem.y,
        problem.x_test,
        num_classes=problem.num_classes,
        recipe=problem.recipe,
        seeds=seeds,
    )


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
