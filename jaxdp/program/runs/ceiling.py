"""What can be learnt without privacy: for the owner of the data alone, not released."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from jaxdp.data import Private, Spec
from jaxdp.methods import teacher
from jaxdp.methods.base import Plan
from jaxdp.methods.runner import PlainRunner
from jaxdp.privacy.mechanism import private_key
from jaxdp.program.data.dataset import HeldOut
from jaxdp.program.evaluation.figures import interval
from jaxdp.program.runs.folder import RunFolder
from jaxdp.saved import public_cache
from jaxdp.tables.schema import ONE_HOT

FILE = "ceiling.json"
_NOTE = (
    "The accuracy on the test split of a classifier that was trained on the private training "
    "records without noise. The guarantee does not cover it: do not release it."
)
_MOST_STEPS = 300


def write_ceiling(plan: Plan[Any], private: Private, test: HeldOut, folder: RunFolder) -> None:
    """Train a classifier without privacy, and tell its accuracy to the owner of the data.

    Of images it is the teacher without noise, of others logistic regression.

    Guarantee:
        What it finds goes into the folder that is not for release and onto the terminal, with words
        that say so, and nowhere else.

    Args:
        plan: of the run, which tells at least two classes apart.
        private: the training records.
        test: the test split.
        folder: of the run.
    """
    choose = plan.spec.kind.choose(images=_of_teacher, rows=_of_regression, table=_of_regression)
    name, predicted = choose(plan.spec, private, test.x, plan.settings.seed)
    accuracy = float(np.mean(predicted == test.y))
    ends = interval(accuracy, len(test.y))
    found = {
        "computed_on_private_data": True,
        "note": _NOTE,
        "classifier": name,
        "accuracy": accuracy,
        "interval": list(ends),
        "num_test": len(test.y),
    }
    content = json.dumps(found, indent=2, allow_nan=False) + "\n"
    path = folder.write_not_for_release(FILE, content.encode())
    print(
        f"NOT FOR RELEASE: without privacy {name} has {accuracy:.2%} ({ends[0]:.1%} to "
        f"{ends[1]:.1%}) on the test split. This number is of private records without noise: it "
        f"stays here, as {path} does"
    )


def _of_teacher(
    spec: Spec, private: Private, x_test: np.ndarray, seed: int
) -> tuple[str, np.ndarray]:
    """Return the name of a teacher, and its classes (t,) of test images."""
    settings = teacher.complete(teacher.Settings(eps=math.inf, seed=seed), spec)
    plan = teacher.make_plan(settings, spec, cached=public_cache.cached)
    runner = PlainRunner()
    classifier = plan.classifier(plan.release(private, private_key(), runner), runner)
    rows = classifier.features(x_test.reshape(len(x_test), -1), "features of the test split")
    return "a teacher", np.argmax(classifier.scores(rows), axis=1)


def _of_regression(
    spec: Spec, private: Private, x_test: np.ndarray, seed: int
) -> tuple[str, np.ndarray]:
    """Return the name of a logistic regression, and its classes (t,) of test records."""
    from sklearn.linear_model import LogisticRegression

    to_unit = spec.in_form(ONE_HOT).codec.to_unit
    rows, test_rows = (np.asarray(to_unit(x)).reshape(len(x), -1) for x in (private.x, x_test))
    fitted = LogisticRegression(max_iter=_MOST_STEPS, random_state=seed).fit(rows, private.y)
    return "logistic regression", fitted.predict(test_rows)
