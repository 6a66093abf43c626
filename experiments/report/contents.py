"""What each kind of run has made, in the words of its report."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from experiments.report import values as report_values


class Contents(NamedTuple):
    """What a run has made, in words: headings, files, and the facts at the top of the page.

    Attributes:
        name: of its npz file.
        picture: heading of the picture.
        curve: heading of the curve.
        files: what each file holds.
        facts: `(config, metrics) -> facts` shown at the top beside privacy.
    """

    name: str
    picture: str
    curve: str
    files: Mapping[str, str]
    facts: Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, str]]


def _distilled_facts(config: Mapping[str, Any], metrics: Mapping[str, Any]) -> dict[str, str]:
    before = report_values.percent(metrics.get("krr_test_accuracy_before"))
    after = report_values.percent(metrics.get("krr_test_accuracy"))
    return {
        "Dataset": str(config.get("dataset", "not named")),
        "Examples per class": str(config.get("ipc", "not named")),
        "Test accuracy, before → after": f"{before} → {after}",
    }


_COMMON_FILES = {
    "metrics.json": "accuracy, time and device",
    "privacy.json": "the privacy certificate: what is guaranteed, and for whom",
    "config.json": "every flag and version needed to repeat the run",
    "checkpoints/": "the state of the run, for --resume",
}

DISTILLED = Contents(
    name="distilled",
    picture="The distilled set",
    curve="Accuracy over the run",
    files={
        "distilled.npz": "the distilled set: inputs, labels, class names and scaling",
        "distilled.png": "the picture above",
        **_COMMON_FILES,
    },
    facts=_distilled_facts,
)


TAUGHT = DISTILLED._replace(
    files={
        "teacher.npz": "the private teacher, which --teacher uses again",
        **DISTILLED.files,
    }
)


def _synthetic_facts(config: Mapping[str, Any], metrics: Mapping[str, Any]) -> dict[str, str]:
    accuracies = [
        f"{name} {report_values.percent(result.get('mean'))}"
        for name, result in metrics.get("accuracy", {}).items()
    ]
    return {
        "Dataset": str(config.get("dataset", "not named")),
        "Features": str(config.get("features", "not named")),
        "Test accuracy after training on it": "\n".join(accuracies) or "not measured",
    }


SYNTHETIC = Contents(
    name="synthetic",
    picture="Samples of the synthetic set",
    curve="Distance to the released embedding over the run",
    files={
        "synthetic.npz": "the synthetic set: inputs, labels and class names",
        "samples.png": "the picture above",
        "embedding.npz": "the released embedding, which --embedding uses again for free",
        "generator/": "the generator, from which experiments.sample draws any number of examples",
        **_COMMON_FILES,
    },
    facts=_synthetic_facts,
)
