"""How classifiers that judge a made set are trained, and how their predictions are scored."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxdp.data import Spec
from jaxdp.program.evaluation.figures import Prediction, figures
from jaxdp.saved.logistic import SUBSET, chosen_rows


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConvNetRecipe:
    """How the ConvNet is trained; the defaults are the papers'.

    Attributes:
        width: channels of each block.
        epochs: passes over the images; the step size falls to a tenth half-way.
        batch_size: the most images of a step; a pass is cut into as few equal batches as it takes.
        max_shift, max_scaling, max_rotation: limits of what `augmented` does to grey images at
            every step: shifts and scalings as parts of the sides, rotations in degrees; colour
            images stay as they are.
    """

    width: int = 128
    epochs: int = 301
    batch_size: int = 256
    max_shift: float = 1 / 7  # 4 of 28 pixels
    max_scaling: float = 0.2
    max_rotation: float = 45.0
    siamese: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class CnnRecipe:
    """How a network is trained on a whole set.

    Attributes:
        wide: whether it is the wide residual network, and not the small one.
        epochs: passes over the set.
        least_steps: a small set is passed over more often.
        batch_size: images of a step, all of them where there are fewer.
        learning_rate: of Adam at the beginning.
        max_shift: how far images are moved at most, as a part of their sides.
    """

    wide: bool = False
    epochs: int = 6
    least_steps: int = 1500
    batch_size: int = 100
    learning_rate: float = 1e-3
    max_shift: float = 1 / 14  # 2 of 28 pixels


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a made set is judged: all in which distilled and generated sets differ.

    Attributes:
        seeds: one classifier is trained for each. A seed draws the subset and starts the training.
        subset: about so many examples are trained on, equally many of each class; None stands for
            the whole set in its own order.
        mlp_iterations: the most epochs of the MLP.
        macro_f1: whether macro-F1 is told beside the accuracy.
        by_default: names of the judges of a set for which none are named.
        most_values: of larger examples none are: it would take long. None for no limit.
        most_counts: of a set with more examples times classes none are: each node of a forest's
            trees holds a number for every class. None for no limit.
        krr: whether the run judges the set by its own kernel ridge regression.
        least_images: of a set with fewer images no Frechet distance is measured.
        convnet: how the ConvNet is trained.
        convnet_dsa: the same by the recipe of dataset condensation.
        cnn: how the small network is trained, by the first seed, on the whole set.
        wrn: the same of the wide residual network.

    Raises:
        ValueError: there is no seed.
    """

    seeds: tuple[int, ...]
    subset: int | None
    mlp_iterations: int
    macro_f1: bool
    by_default: tuple[str, ...]
    krr: bool
    least_images: int
    most_values: int | None = None
    most_counts: int | None = None
    convnet: ConvNetRecipe = ConvNetRecipe()
    convnet_dsa: ConvNetRecipe = ConvNetRecipe(epochs=1000, siamese=True)
    cnn: CnnRecipe = CnnRecipe()
    wrn: CnnRecipe = CnnRecipe(wide=True)

    def __post_init__(self) -> None:
        if not self.seeds:
            raise ValueError("classifiers need at least one seed")


# Adam stops after a few hundred epochs without progress: 5000 is there to end, not to be met.
DISTILLED = Recipe(
    seeds=(0, 1, 2),
    subset=None,
    mlp_iterations=5000,
    macro_f1=False,
    by_default=("logistic", "forest"),
    krr=True,
    least_images=100,
    most_values=64 * 64,
    most_counts=500_000,  # a forest of so many takes half a gigabyte
)
"""Small sets are used whole. Few images have a covariance that says nothing. What ordinary models
learn is told by default: a set that trains its own kernel may train no other."""

GENERATED = Recipe(
    seeds=(0, 1, 2, 3, 4),
    subset=SUBSET,
    mlp_iterations=200,
    macro_f1=True,
    by_default=("logistic", "mlp", "frechet"),
    krr=False,
    least_images=2,
)
"""Generated images, as Yang et al. (2023), section 5.1; the user says how many there are."""

GENERATED_QUICKLY = dataclasses.replace(
    GENERATED, seeds=(0,), subset=2000, by_default=("logistic", "mlp")
)
"""One fit of fewer images: for `--preset=fast`, where images are large."""
_LARGE = 32 * 32

GENERATED_ROWS = dataclasses.replace(
    DISTILLED,
    by_default=GENERATED.by_default,
    krr=False,
    most_values=None,
    most_counts=None,
)
"""Generated rows of tables, which are used whole."""


def for_generated(spec: Spec, *, fast: bool = False) -> Recipe:
    """Return the recipe for a generated set of images or of rows.

    Five fits of 6000 images of 32 x 32 x 3 values take longer than a fast run before them.

    Args:
        spec: of the data.
        fast: whether the run is to be a fast one.
    """
    of_images = GENERATED_QUICKLY if fast and spec.dim > _LARGE else GENERATED
    return spec.kind.choose(images=of_images, rows=GENERATED_ROWS, table=GENERATED_ROWS)


def training_rows(recipe: Recipe, y: np.ndarray, num_classes: int) -> list[np.ndarray]:
    """Return for each seed the rows of a made set that a classifier is trained on.

    Args:
        recipe: says how many.
        y: (n,) classes of the set.
        num_classes: c; a subset has `floor(subset / c)` of each class, or all where it has fewer.

    Raises:
        ValueError: the subset has less than one example per class.
    """
    if recipe.subset is None:  # the same rows each time
        return [chosen_rows(y, num_classes, None, seed=0)] * len(recipe.seeds)
    return [chosen_rows(y, num_classes, recipe.subset, seed=seed) for seed in recipe.seeds]


def scores(
    recipe: Recipe,
    y_test: np.ndarray,
    predictions: Sequence[Prediction],
    num_examples: int,
    num_classes: int,
) -> dict[str, Any]:
    """Score what classifiers predict.

    Args:
        recipe: gives the seeds, and says whether macro-F1 is told.
        y_test: (t,) true classes.
        predictions: for each seed what is predicted.
        num_examples: how many examples each classifier was trained on.
        num_classes: c.

    Returns:
        Ready for JSON: `seeds`, `test_accuracies` of each seed in [0, 1], their `mean` and their
        (population) standard deviation `std`. Where subsets are drawn, `num_examples`. Where it is
        told, `macro_f1s` with `macro_f1_mean` and `macro_f1_std`: over classes that are in the test
        set or predicted. And `figures`, see `jaxdp.program.evaluation.figures.figures`.
    """
    accuracies = [float(np.mean(each.classes == y_test)) for each in predictions]
    found: dict[str, Any] = {"seeds": list(recipe.seeds)}
    if recipe.subset is not None:
        found["num_examples"] = num_examples
    found |= {
        "test_accuracies": accuracies,
        "mean": float(np.mean(accuracies)),
        "std": float(np.std(accuracies)),
    }
    if recipe.macro_f1:
        values = [macro_f1(y_test, each.classes) for each in predictions]
        found["macro_f1s"] = values
        found["macro_f1_mean"] = float(np.mean(values))
        found["macro_f1_std"] = float(np.std(values))
    return found | {"figures": figures(y_test, predictions, num_classes)}


def macro_f1(y_test: np.ndarray, predicted: np.ndarray) -> float:
    """Return the mean over classes of the F1 score; it is 0 for a class that is never predicted."""
    from sklearn.metrics import f1_score

    return float(f1_score(y_test, predicted, average="macro", zero_division=0.0))
