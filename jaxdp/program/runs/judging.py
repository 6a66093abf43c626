"""How a run judges what it has made: on test data, and, where asked for, against private data."""

import json
from typing import Any

from jaxdp.data import TableCodec
from jaxdp.methods.base import Plan
from jaxdp.methods.made import Made
from jaxdp.program.data.dataset import Dataset
from jaxdp.program.data.load import require_range
from jaxdp.program.errors import InputError
from jaxdp.program.evaluation import copies, fidelity, inception, registry
from jaxdp.program.evaluation.facts import Facts
from jaxdp.program.evaluation.problem import Problem
from jaxdp.program.evaluation.recipe import DISTILLED, Recipe, for_generated
from jaxdp.program.runs.folder import RunFolder
from jaxdp.tables.schema import ONE_HOT


def recipe_of(plan: Plan[Any]) -> Recipe:
    """Return how such a set is judged."""
    if plan.story.kind == "distilled":
        return DISTILLED
    return for_generated(plan.spec, fast=getattr(plan.settings, "preset", "") == "fast")


def chosen(plan: Plan[Any], run_flags: Any, data: Dataset) -> tuple[str, ...]:
    """Return the names of the judges, checked before any work.

    Raises:
        SettingsError: one is unknown, does not work on such a set, or lacks a file or a package.
    """
    spec = plan.spec
    facts = Facts(
        holder=f"--dataset={spec.name}",
        shape=spec.shape,
        num_classes=plan.num_classes,
        num_made=plan.story.num_made,
        recipe=recipe_of(plan),
        inception_weights=getattr(run_flags, "inception_weights", None),
        soft_labels=plan.story.makes_soft_labels,
    )
    names = registry.chosen(run_flags.evaluate, facts)
    if facts.inception_weights is not None:
        inception.require(facts.inception_weights)
    if registry.needs_range(names):
        require_range(data)
    if getattr(run_flags, "check_copies", False) and not spec.is_image:
        raise InputError(
            f"--check_copies: compares images, and --dataset={spec.name} holds rows of "
            f"{spec.dim} values; leave it out"
        )
    if run_flags.check_fidelity and spec.schema is None:
        raise InputError(
            f"--check_fidelity: compares tables with a schema, and --dataset={spec.name} has none; "
            "leave it out, or name a table by --csv and --schema"
        )
    return names


def judged(
    names: tuple[str, ...], plan: Plan[Any], made: Made, data: Dataset, run_flags: Any
) -> dict[str, Any]:
    """Return what judges found, by the keys of metrics.json."""
    if not names:
        return {}
    codec = plan.spec.codec
    if plan.story.kind == "generated" and plan.spec.schema is not None:
        # Judges see the records that are written, whatever the rows that features see.
        to_unit = plan.spec.in_form(ONE_HOT).codec.to_unit
        x, x_test = to_unit(made.x), to_unit(data.x_test)
    else:
        x, x_test = made.rows.reshape(-1, *plan.spec.shape), made.scaled(data.x_test)
    problem = Problem(
        x=x,
        y=made.y,
        x_test=x_test,
        y_test=data.y_test,
        num_classes=plan.num_classes,
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


def write_copies(plan: Plan[Any], made: Made, data: Dataset, folder: RunFolder) -> None:
    """Write how near the made set comes to private examples: for its owner alone, not released."""
    sets = [made.scaled(x).reshape(len(x), -1) for x in (data.x_train, data.x_test)]
    found = copies.nearest_neighbours(made.rows, *sets, seed=0)
    content = json.dumps(found, indent=2, allow_nan=False) + "\n"
    path = folder.write_not_for_release("copies.json", content.encode())
    print(f"NOT FOR RELEASE: {path} was computed from private data without noise")


def write_fidelity(plan: Plan[Any], made: Made, data: Dataset, folder: RunFolder) -> None:
    """Compare a made table with the private one: for its owner alone, not released.

    Guarantee:
        What it finds goes into the folder that is not for release, and nowhere else.
    """
    from jaxdp.program.report import fidelity as report  # imports matplotlib

    codec = plan.spec.codec
    assert isinstance(codec, TableCodec)  # see `chosen`
    found = fidelity.compare(
        codec.layout,
        (data.x_train, data.y_train),
        (made.x, made.y),
        labelled=len(made.class_names) > 1,
    )
    text = json.dumps(fidelity.figures(found), indent=2, allow_nan=False) + "\n"
    folder.write_not_for_release("fidelity.json", text.encode())
    page = report.render(found, codec.layout, title=f"{plan.spec.name}: made and private records")
    path = folder.write_not_for_release("fidelity.html", page.encode())
    print(
        f"NOT FOR RELEASE: {path} was computed from private records without noise; the guarantee "
        "does not cover it"
    )
