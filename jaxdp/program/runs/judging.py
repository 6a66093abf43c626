"""How a run judges what it has made: on test data, and, where asked for, against private data."""

import dataclasses
import functools
import json
from pathlib import Path
from typing import Any

import numpy as np

from jaxdp.data import Private, TableCodec
from jaxdp.data.kinds import IMAGES, TABLE
from jaxdp.methods.base import Plan
from jaxdp.methods.made import Made
from jaxdp.program.data import load
from jaxdp.program.data.dataset import HeldOut
from jaxdp.program.errors import InputError
from jaxdp.program.evaluation import copies, inception, registry, targets
from jaxdp.program.evaluation.facts import MOST_JUDGED, Facts
from jaxdp.program.evaluation.fidelity import comparison
from jaxdp.program.evaluation.problem import Problem
from jaxdp.program.evaluation.recipe import DISTILLED, Recipe, for_generated
from jaxdp.program.report.fidelity import page as fidelity_page
from jaxdp.program.runs.folder import RunFolder
from jaxdp.tables import raw
from jaxdp.tables.schema import ONE_HOT


def recipe_of(plan: Plan[Any]) -> Recipe:
    """Return how such a set is judged."""
    if plan.story.kind == "distilled":
        return DISTILLED
    return for_generated(plan.spec, fast=getattr(plan.settings, "preset", "") == "fast")


_MEANT = {
    "check_copies": (
        (IMAGES,),
        "compares images, and --dataset={name} holds {holds}; leave it out",
    ),
    "check_fidelity": (
        (IMAGES, TABLE),
        "compares images, and tables with a schema, and --dataset={name} holds {holds}; leave it "
        "out, or name a table by --csv and --schema",
    ),
}
"""Flags that compare with private data: the kinds that they are for, and what is said of others."""


def num_classes(plan: Plan[Any]) -> int:
    """Return how many classes a run tells apart."""
    return plan.story.num_classes or plan.spec.num_classes


def chosen(plan: Plan[Any], run_flags: Any, *, num_test: int) -> tuple[str, ...]:
    """Return the names of the judges, checked before any work.

    Args:
        plan: of the run.
        run_flags: its flags.
        num_test: test examples.

    Raises:
        SettingsError: one is unknown, does not work on such a set, or lacks a file or a package.
    """
    spec = plan.spec
    facts = Facts(
        holder=f"--dataset={spec.name}",
        shape=spec.shape,
        num_classes=num_classes(plan),
        num_made=plan.story.num_made,
        recipe=recipe_of(plan),
        inception_weights=getattr(run_flags, "inception_weights", None),
        soft_labels=plan.story.makes_soft_labels,
        num_test=num_test,
    )
    names = registry.chosen(run_flags.evaluate, facts)
    if facts.inception_weights is not None:
        inception.require(facts.inception_weights)
    for name, (kinds, said) in _MEANT.items():
        if getattr(run_flags, name, False) and spec.kind not in kinds:
            holds = spec.kind.holds(spec)
            raise InputError(f"--{name}: {said.format(name=spec.name, holds=holds)}")
    if run_flags.ceiling and num_classes(plan) < 2:
        raise InputError("--ceiling: trains a classifier, and there are no classes; leave it out")
    return names


def judged(
    names: tuple[str, ...], plan: Plan[Any], made: Made, test: HeldOut, run_flags: Any
) -> dict[str, Any]:
    """Return what judges found, by the keys of metrics.json; of long tables, by a part of them."""
    if plan.spec.kind is TABLE and plan.story.kind == "generated":
        soft = made.soft_labels
        soft = None if soft is None else some(soft, made.y)[0]  # the same rows: so many are there
        x, y = some(made.x, made.y)
        made = dataclasses.replace(made, x=x, y=y, soft_labels=soft)
        test = test._replace(**dict(zip(("x", "y"), some(test.x, test.y), strict=True)))
    return _of_targets(plan, made, test, run_flags) | _of_classes(
        names, plan, made, test, run_flags
    )


def some(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return records and their classes, or so many of them that more would change nothing."""
    if len(x) <= MOST_JUDGED:
        return x, y
    rows = np.sort(np.random.default_rng(0).choice(len(x), MOST_JUDGED, replace=False))
    return x[rows], y[rows]


def _of_targets(plan: Plan[Any], made: Made, test: HeldOut, run_flags: Any) -> dict[str, Any]:
    """Return how well made records teach to predict targets that are no classes."""
    schema = plan.spec.schema
    if schema is None or not schema.judged or run_flags.evaluate == registry.NONE:
        return {}
    return {targets.KEY: targets.judge(schema, (made.x, made.y), (test.x, test.y))}


def _of_classes(
    names: tuple[str, ...], plan: Plan[Any], made: Made, test: HeldOut, run_flags: Any
) -> dict[str, Any]:
    if not names:
        return {}
    codec = plan.spec.codec
    x, x_test = plan.spec.kind.choose(
        images=_as_the_classifier_sees, rows=_as_the_classifier_sees, table=_as_written
    )(plan, made, test.x)
    problem = Problem(
        x=x,
        y=made.y,
        x_test=x_test,
        y_test=test.y,
        num_classes=num_classes(plan),
        recipe=recipe_of(plan),
        low=(codec.low - made.shift) / made.scale,
        high=(codec.high - made.shift) / made.scale,
        inception_weights=getattr(run_flags, "inception_weights", None),
        soft_labels=made.soft_labels,
    )
    found = registry.evaluate(names, problem)
    if plan.story.kind == "distilled":
        return {"evaluation": found}
    return registry.generated_metrics(found)


def _as_the_classifier_sees(
    plan: Plan[Any], made: Made, x_test: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what judges see of a made set and of test examples."""
    return made.rows.reshape(-1, *plan.spec.shape), made.scaled(x_test)


def _as_written(plan: Plan[Any], made: Made, x_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same of a table: generated records as written, whatever rows features see."""
    if plan.story.kind == "distilled":
        return _as_the_classifier_sees(plan, made, x_test)
    to_unit = plan.spec.in_form(ONE_HOT).codec.to_unit
    return to_unit(made.x), to_unit(x_test)


def write_copies(made: Made, private: Private, x_test: np.ndarray, folder: RunFolder) -> None:
    """Write how near the made set comes to private examples: for its owner alone, not released."""
    sets = [made.scaled(x).reshape(len(x), -1) for x in (private.x, x_test)]
    found = copies.nearest_neighbours(made.rows, *sets, seed=0)
    content = json.dumps(found, indent=2, allow_nan=False) + "\n"
    path = folder.write_not_for_release("copies.json", content.encode())
    print(f"NOT FOR RELEASE: {path} was computed from private data without noise")


def write_fidelity(
    made: Made, private: Private, test: HeldOut, folder: RunFolder, run_flags: Any, *, seed: int
) -> None:
    """Compare what was made with private records: for their owner alone, not released.

    Of images the page shows both; of a table it has figures of both, and these are of its file.

    Args:
        made: the set.
        private: what it was made of.
        test: what was held out.
        folder: of the run.
        run_flags: that name the file of a table.
        seed: public, by which records were held out.

    Guarantee:
        What it finds goes into the folder that is not for release, and nowhere else.
    """
    compared = functools.partial(_compared, run_flags=run_flags, seed=seed)
    choose: Any = made.spec.kind.choose(images=_side_by_side, rows=compared, table=compared)
    path = choose(made, private, test, folder)
    print(
        f"NOT FOR RELEASE: {path} was computed from private records without noise; the guarantee "
        "does not cover it"
    )


def _side_by_side(made: Made, private: Private, test: HeldOut, folder: RunFolder) -> Path:
    from jaxdp.program.report.fidelity import side_by_side  # matplotlib

    del test
    codec = made.spec.codec
    # Without classes all that was made is of one, so the private images are shown as one, too.
    y = private.y if len(made.class_names) > 1 else np.zeros_like(private.y)
    page = side_by_side.render(
        (made.x, made.y),
        (private.x, y),
        made.class_names,
        low=codec.low,
        high=codec.high,
        title=f"{made.spec.name}: made and private images",
    )
    return folder.write_not_for_release("side_by_side.html", page.encode())


def _compared(
    made: Made, private: Private, test: HeldOut, folder: RunFolder, *, run_flags: Any, seed: int
) -> Path:
    codec = made.spec.codec
    assert isinstance(codec, TableCodec)  # see `chosen`
    # Values beyond bounds, and missing ones where there may be none, are not in what was stored.
    as_read = load.records_as_read(run_flags, codec.schema, seed=seed)
    if tuple(map(raw.length, as_read)) != (len(private.x), len(test.x)):
        raise InputError(f"--csv={run_flags.csv}: has changed since the run read it")
    found = comparison.compare(
        *(codec.schema, private, (made.x, made.y), test),
        labelled=len(made.class_names) > 1,
        as_read=as_read,
    )
    text = json.dumps(comparison.figures(found), indent=2, allow_nan=False) + "\n"
    folder.write_not_for_release("fidelity.json", text.encode())
    page = fidelity_page.render(found, title=f"{made.spec.name}: made and private records")
    return folder.write_not_for_release("fidelity.html", page.encode())
