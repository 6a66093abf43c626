"""Report pages of runs that never were, for tests of what is on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxdp.methods.dp_kip.story import STORY
from jaxdp.privacy.relations import IN_WORDS, ZERO_OUT
from jaxdp.program.evaluation.figures import Prediction, figures
from jaxdp.program.report.page import render_report
from jaxdp.program.report.pictures import image_grid_png
from jaxdp.program.runs import recommendation
from jaxdp.program.runs.expected_curve import Curve, curve, epsilons_with

PRIVACY: dict[str, Any] = {
    "mechanism": "gaussian", "relation": IN_WORDS[ZERO_OUT], "epsilon": 0.999987, "delta": 1e-5,
    "num_examples": 1437,
    "sampling_rate": 0.0123456789, "unit": "one labelled training image",
    "covers": ["the distilled set in distilled.npz", "every checkpoint"],
    "does_not_cover": ["the choice of hyper-parameters by looking at results"],
    "public": ["the number of classes"],
    "releasable": True, "not_releasable_reason": None, "warnings": [],
}  # fmt: skip
METRICS: dict[str, Any] = {
    "krr_test_accuracy": 0.4531, "krr_test_accuracy_before": 0.1023, "train_seconds": 123.456789,
    "history": [{"step": 0, "krr_test_accuracy": 0.1023}, {"step": 9, "krr_test_accuracy": 0.4531}],
}  # fmt: skip
CONFIG: dict[str, Any] = {
    "dataset": "digits", "ipc": 7, "resume": False, "noise_seed": None, "empty": [],
    "versions": {"jax": "0.10.2", "nested": {"deeper": [1, 2.5]}},
}  # fmt: skip
FILES = {
    "distilled.npz", "distilled.png", "metrics.json", "privacy.json", "config.json", "checkpoints",
}  # fmt: skip


def expected_of(shape: tuple[int, ...], n: int, classes: int) -> Curve:
    """Return what is expected of data that nobody has, with epsilon 2 among others."""
    spec = recommendation.spec_of(shape, n, classes)
    found = curve(spec, epsilons_with(2.0))
    assert found is not None
    return found


def names(n: int) -> list[str]:
    """Return names of classes."""
    return [f"class {i}" for i in range(n)]


def rendered(
    privacy: dict[str, Any] | None = None, config: dict[str, Any] | None = None, **options: Any
) -> str:
    """Return a page; whatever is given takes the place of what stands here."""
    arguments: dict[str, Any] = {
        "title": "digits, 7 per class",
        "config": CONFIG | (config or {}),
        "metrics": METRICS,
        "privacy": PRIVACY | (privacy or {}),
        "picture_png": image_grid_png(np.zeros((2, 4, 4, 1)), np.arange(2), names(2)),
        "curve_png": None,
        "story": STORY,
        "files": FILES,
        "class_names": names(2),
    }
    return render_report(**(arguments | options))


def drawn_figures(num_classes: int, *, missing: int | None = None) -> dict[str, Any]:
    """Return figures of 100 test examples; one class may be missing among them."""
    rng = np.random.default_rng(0)
    there = [label for label in range(num_classes) if label != missing]
    y = rng.choice(there, 100)
    powers = np.exp(rng.normal(size=(100, num_classes)) + 2 * np.eye(num_classes)[y])
    probabilities = powers / powers.sum(axis=1, keepdims=True)
    prediction = Prediction(np.argmax(probabilities, axis=1), probabilities)
    return figures(y, [prediction], num_classes)
