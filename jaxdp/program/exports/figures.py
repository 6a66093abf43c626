"""What models learnt from a set, as its run measured it on test data: for who may tell it.

The guarantee does not cover these figures. Of metrics.json, which must stay where test data are
private, numbers of known judges are taken, and nothing else.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from jaxdp.program.errors import InputError
from jaxdp.saved.files import json_file
from jaxdp.saved.loading import Loaded

NAME = "figures.json"
PUBLIC, TOLD = "public", "told"
STATEMENTS = {
    PUBLIC: "The holder says that the test data are public.",
    TOLD: "The test data are private, and their holder accepts that these figures are told.",
}
_WANTED = {
    "krr": "kernel ridge regression, its own classifier",
    "teacher": "the released teacher",
    "logistic": "logistic regression",
    "forest": "random forest",
    "mlp": "network of one hidden layer",
    "cnn": "small convolutional network",
    "convnet": "convolutional network of three blocks",
}
_OWN = {"krr": "krr_test_accuracy", "teacher": "teacher_test_accuracy"}
_UNCOVERED = (
    "They were measured on {num_test} test examples without noise: the guarantee does not cover "
    "them. {statement} Guessing the commonest class is right for {guess:.1%}."
)


class Figure(NamedTuple):
    """What a model learnt.

    Attributes:
        model: in words.
        accuracy: a fraction.
        interval: where it is on new examples, with a confidence of 95 %.
    """

    model: str
    accuracy: float
    interval: tuple[float, float]


class Figures(NamedTuple):
    """What models learnt, on how many test examples, and what guesses know."""

    models: tuple[Figure, ...]
    num_test: int
    guess: float
    statement: str

    def to_json(self) -> dict[str, Any]:
        """Return them as figures.json has them."""
        models = [each._asdict() for each in self.models]
        return self._asdict() | {"models": models, "covered_by_the_guarantee": False}

    def in_markdown(self) -> str:
        """Return a table, and what is said of it."""
        rows = [
            f"| {each.model} | {each.accuracy:.1%} | {each.interval[0]:.1%} to "
            f"{each.interval[1]:.1%} |"
            for each in self.models
        ]
        said = _UNCOVERED.format(**self._asdict())
        head = "| trained on this set | right | on new examples, 95 % |\n|---|---|---|"
        return "\n".join([head, *rows, "", said])


def of_run(loaded: Loaded, statement: str) -> Figures:
    """Return the figures of a run.

    Args:
        loaded: from the folder of the run.
        statement: of `STATEMENTS`, by what right they are told.

    Raises:
        InputError: nothing was measured there.
    """
    flag = f"--with_figures: {loaded.folder.flag}"
    try:
        metrics = json_file(loaded.folder.path / "metrics.json")
    except (OSError, ValueError) as error:
        raise InputError(f"{flag}: its metrics.json cannot be read; name the run's own") from error
    try:
        found = list(_measured(metrics))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{flag}: its metrics.json holds no figures of a run") from error
    if not found and _has_figures(metrics):
        raise InputError(
            f"{flag}: its metrics.json does not say how common the commonest class of the test "
            "data is; run it again, as this version keeps that for many classes, too"
        )
    if not found:
        raise InputError(
            f"{flag}: nothing was measured on test data; give a run "
            "--evaluate=krr,logistic,forest,mlp, or --evaluate=logistic,forest,mlp"
        )
    models, counts, sizes = zip(*found, strict=True)
    if len(set(sizes)) != 1:
        raise InputError(f"{flag}: its metrics.json has figures of several test splits")
    return Figures(models, sizes[0], counts[0], STATEMENTS[statement])


def _measured(metrics: Mapping[str, Any]) -> Iterator[tuple[Figure, float, int]]:
    """Yield what is known of each model, with the share of the commonest class and test size."""
    for model, accuracy, figures in _stored(metrics):
        commonest = _commonest(figures)
        if commonest is None:
            continue
        low, high = (_fraction(end) for end in figures["interval"])
        num_test = figures["num_test"]
        if type(num_test) is not int or num_test < 1:
            raise ValueError("no number of test examples")
        yield (
            Figure(model, _fraction(accuracy), (low, high)),
            _fraction(commonest),
            num_test,
        )


def _stored(metrics: Mapping[str, Any]) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """Yield the models that were measured in words, their accuracies and their figures."""
    judged = {**metrics.get("evaluation", {}), **metrics.get("accuracy", {})}
    for name, model in _WANTED.items():
        if name in _OWN:
            accuracy, figures = metrics.get(_OWN[name]), metrics.get("figures", {}).get(name)
        else:
            accuracy = judged.get(name, {}).get("mean")
            figures = judged.get(name, {}).get("figures")
        if accuracy is not None and figures:
            yield model, accuracy, figures


def _has_figures(metrics: Mapping[str, Any]) -> bool:
    return next(_stored(metrics), None) is not None


def _commonest(figures: Mapping[str, Any]) -> Any:
    """Return the share of the commonest class of test data; None where nothing says it.

    Files of older versions have it in the confusion matrix alone, and none of many classes.
    """
    if figures.get("confusion") is None:
        return figures.get("commonest_share")
    rows = [math.fsum(map(_share, row)) for row in figures["confusion"]]
    return max(rows) / sum(rows)


def _share(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value < math.inf:
        raise ValueError("no count")
    return float(value)


def _fraction(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise ValueError("no fraction")
    return round(float(value), 4)
