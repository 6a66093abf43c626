"""Which command to take, by public facts alone: shape, number of examples and classes, epsilon.

Nothing here sees data. The expected scores are those of `measured.POINTS`, and where no measured
set is like the one in question, the answer says so.
"""

import dataclasses
import math
import shlex
from collections.abc import Sequence
from typing import Any

from jaxdp.data import Spec
from jaxdp.data.kinds import IMAGES
from jaxdp.methods import warned
from jaxdp.methods.marginals.settings import MOST_PAIRED
from jaxdp.privacy import relations
from jaxdp.program.run_flags import DataFlags
from jaxdp.program.runs import commands, estimates, expectation, expected_curve
from jaxdp.program.runs.measured import POINTS, Point
from jaxdp.tables.schema import Schema

# How far a measured set may be to be like another one, as a factor of its strength, of the number
# of its examples and of its classes.
_ALIKE, _ALIKE_SIZE, _ALIKE_CLASSES = 2.5, 10.0, 4.0
# Below the first noise hides half of what could be learnt, or more: at 30 MNIST and Fashion-MNIST
# reach 59 and 49 %, CIFAR-10 18 %. At the second MNIST and Fashion-MNIST have 80 and 66 %.
_LARGEST_MEASURED = 32
_TEN = 10  # distilled examples of a class, where there are many real ones
_SLOW_SECONDS = 1800.0
_OVERLAP = (
    "mean overlap of pairs of columns (1 - total variation distance between the made and the "
    "private table)"
)
_SCORES = {
    "teacher": "accuracy of the kernel classifier",
    "dp_kip": "accuracy of the kernel classifier",
    "match": "accuracy of a ConvNet",
    "generate": "accuracy of an MLP",
    "counts": "area under the ROC curve, mean of twelve classifiers",
    "model": "area under the ROC curve, mean of twelve classifiers",
    "table": "area under the ROC curve, mean of twelve classifiers",
}


@dataclasses.dataclass(frozen=True)
class Choice:
    """A command for a purpose.

    Attributes:
        purpose: what it is for.
        method: of `jaxdp.methods`.
        command: the complete line.
        why: one or two sentences.
        expected: score, in words, with what it is taken from.
        estimate: time, memory and disk.
    """

    purpose: str
    method: str
    command: str
    why: str
    expected: str
    estimate: estimates.Estimate


def choices(
    spec: Spec, epsilon: float, *, source: str, relation: str = relations.ZERO_OUT
) -> tuple[Choice, ...]:
    """Return commands for a dataset, the best first.

    Args:
        spec: facts about it.
        epsilon: the budget; infinity for none.
        source: flags that name the data, such as --dataset=mnist.
        relation: which datasets are neighbours.
    """
    choose = spec.kind.choose(images=_of_images, rows=_of_rows, table=_of_table)
    named = f" --relation={relation}" if relation != relations.ZERO_OUT else ""
    return choose(spec, epsilon, f"{source}{named}".strip())


def source_of(flags: DataFlags) -> str:
    """Return the flags that name the data of a run, as they were given."""
    values = {field.name: getattr(flags, field.name) for field in dataclasses.fields(DataFlags)}
    changed = {f.name for f in dataclasses.fields(DataFlags) if values[f.name] != f.default}
    named = changed if "csv" in changed else changed | {"dataset"}
    return " ".join(
        f"--{name}={shlex.quote(str(value))}" for name, value in values.items() if name in named
    )


def better(spec: Spec, epsilon: float, *, method: str, settings: Any, source: str) -> str:
    """Return what would do better than a run that is at chance.

    Args:
        spec: facts about its data.
        epsilon: that it had.
        method: of `jaxdp.methods`, that it ran.
        settings: of that method, complete.
        source: flags that name the data.
    """
    contributions = getattr(settings, "contributions", 1)
    lack = warned.too_weak(spec, epsilon, contributions=contributions)
    if lack is not None:
        return lack
    relation = getattr(settings, "relation", relations.ZERO_OUT)
    first = choices(spec, epsilon, source=source, relation=relation)[0]
    if not commands.is_of(first.command, method, settings):
        return f"this does better: {first.command}"
    return "a larger --eps, more examples or fewer classes do better"


def _of_images(spec: Spec, epsilon: float, source: str) -> tuple[Choice, ...]:
    plain = f"{source} --ipc={_ipc(spec)} --eps={epsilon:g}"
    if math.isinf(epsilon):
        return (
            _choice(
                spec,
                epsilon,
                "dp_kip",
                f"jaxdp run dp_kip {plain}",
                "a few images per class, without privacy",
                "Without noise the images can be learned on the data themselves.",
            ),
        )
    generate = f"{source} --eps={epsilon:g} --features=scatter_rbf"
    enough = spec.num_examples >= 2 * _TEN * spec.num_classes
    fast = " --preset=fast"
    if spec.shape[2] > 1:  # the default for colour wants a GPU
        sides = any(side % 4 for side in spec.shape[:2])
        fast += f" --generator={'dense' if sides else 'conv'}"
    full = commands.estimate(spec, epsilon, f"jaxdp run dp_ntk {generate}")
    slow = full.seconds > _SLOW_SECONDS
    return (
        _choice(
            spec,
            epsilon,
            "teacher",
            f"jaxdp run teacher {source} --ipc={_ipc_of_teacher(spec)} --eps={epsilon:g}",
            "a few images per class that train a kernel classifier",
            "A linear classifier on public features spends the budget once, and images are "
            "distilled from it for free. On images it has been as accurate as any other method "
            "here, and mostly more.",
        ),
        _choice(
            spec,
            epsilon,
            "match",
            f"jaxdp run teacher {source} --ipc={_TEN if enough else 1} --eps={epsilon:g} "
            "--match=both",
            "images that look like their classes and train networks",
            "Half of the budget goes to class means, which the images are moved towards as well.",
        ),
        _choice(
            spec,
            epsilon,
            "generate",
            f"jaxdp run dp_ntk {generate}{fast if slow else ''}",
            "as many examples as you like",
            "A generator learns from one noisy mean of scattering features and pixels, and may "
            "draw for ever. It is less accurate than a teacher.",
        ),
        _choice(
            spec,
            epsilon,
            "dp_kip",
            f"jaxdp run dp_kip {plain}",
            "figures to compare with the DP-KIP paper",
            "It is the published method, less accurate at the same epsilon than a teacher.",
        ),
    )


def _of_table(spec: Spec, epsilon: float, source: str) -> tuple[Choice, ...]:
    synthetic = f"jaxdp run dp_ntk {source} --eps={epsilon:g}"
    why = "A model of all noisy counts, of columns and of pairs, makes the records."
    if spec.schema is not None and len(spec.schema.declared) > MOST_PAIRED:
        why = (
            f"It has more than {MOST_PAIRED} columns: a model of noisy counts, of columns and of "
            "their pairs with the target, and of how columns move together makes the records."
        )
    model = _choice(
        spec,
        epsilon,
        "model",
        f"jaxdp run marginals {source} --eps={epsilon:g}",
        "a synthetic table with the columns of the real one, and their dependences",
        why,
    )
    if spec.schema is not None and spec.schema.target is None:
        return (model,)
    labelled = _choice(
        spec,
        epsilon,
        "table",
        f"{synthetic} --labels=teacher",
        "a synthetic table that trains classifiers",
        "Noisy counts of the columns make the records, and a private teacher labels them.",
    )
    distilled = _choice(
        spec,
        epsilon,
        "distilled table",
        f"jaxdp run teacher {source} --ipc=10 --eps={epsilon:g}",
        "ten records per class that train a kernel classifier",
        "They come from a private teacher. They train other classifiers worse than a synthetic "
        "table does.",
    )
    return model, labelled, distilled


def _of_rows(spec: Spec, epsilon: float, source: str) -> tuple[Choice, ...]:
    plain = f"{source} --ipc=1 --eps={epsilon:g}"
    return (
        _choice(
            spec,
            epsilon,
            "dp_kip",
            f"jaxdp run dp_kip {plain}",
            "one row per class that trains a kernel classifier",
            "It takes rows of numbers, scaled to about [-1, 1] by public constants. More can be "
            "done where the columns are declared: save the rows as CSV, and begin a schema by "
            "jaxdp schema.",
        ),
    )


def _ipc(spec: Spec) -> int:
    """Return images per class: ten gain a point where there are enough real ones."""
    return _TEN if spec.num_examples >= 1000 * spec.num_classes else 1


def _ipc_of_teacher(spec: Spec) -> int:
    """Return images per class: up to ten, and at most a tenth of the real ones.

    They cost no privacy, and one image alone cannot carry what a teacher knows: X-rays gain one
    point by ten, and small colour digits fourteen.
    """
    return max(1, min(_TEN, spec.num_examples // (_TEN * spec.num_classes)))


def _choice(spec: Spec, epsilon: float, line: str, words: str, purpose: str, why: str) -> Choice:
    method, flags = commands.parsed(words)
    contributions = relations.contributions(flags.get("relation", relations.ZERO_OUT))
    return Choice(
        purpose=purpose,
        method=method,
        command=words,
        why=why,
        expected=expected(expected_curve.with_all_noise(spec, contributions), epsilon, line),
        estimate=commands.estimate(spec, epsilon, words),
    )


def expected(spec: Spec, epsilon: float, line: str) -> str:
    """Return the score that measured sets of about this strength have, or that there is none.

    Args:
        spec: facts about the data.
        epsilon: the budget; infinity for none.
        line: a name of `_SCORES`.
    """
    if spec.num_classes < 2:
        if line != "model":
            return "nothing that can be said by a score, as there are no classes"
        return _expected_overlap(spec, epsilon)
    if line == "teacher":
        found = expectation.of_teacher(spec, epsilon)
        if found is None:
            guess = 100 / spec.num_classes
            return f"no measured set has about so many classes; guessing {guess:.2g} %"
        return f"{found}{_of_another_set(spec, epsilon)}"
    colour = "grey" if spec.shape[-1] == 1 else "colour"
    kind = spec.kind.choose(images=colour, rows="table", table="table")
    points = [point for point in POINTS if point.method == line and point.kind == kind]
    return f"{_of_points(spec, epsilon, line, points)}{_overlap_beside(spec, epsilon, line)}"


def _of_points(spec: Spec, epsilon: float, line: str, points: Sequence[Point]) -> str:
    """Return the scores of the points that are near, in words."""
    points = [point for point in points if math.isinf(point.epsilon) == math.isinf(epsilon)]
    if not points:
        return "no measured set like this"
    distances = [_distance(point, spec, epsilon) for point in points]
    # The nearest one, where none is like it.
    most = max(1.0, min(distances))
    near = [point for point, far in zip(points, distances, strict=True) if far <= most]
    if most == 1 and _is_like(spec, near):
        return f"{_range(near)} ({_SCORES[line]}; measured on {_names(near)})"
    said = f"{_names(near)} {'have' if len(near) > 1 else 'has'} {_range(near)}"
    return f"no measured set like this; {said} ({_SCORES[line]})"


def _of_another_set(spec: Spec, epsilon: float) -> str:
    """Return where four of five sets are that have not been measured."""
    found = None if math.isinf(epsilon) else expected_curve.curve(spec, (epsilon,))
    if found is None or len(found.names) < 2:
        return ""
    low, high = found.points[0].low, found.points[0].high
    return f"; {expected_curve.BAND_NAME} {low:.0f} to {high:.0f} %"


def _overlap_beside(spec: Spec, epsilon: float, line: str) -> str:
    """Return the same of a synthetic table by a model of counts, beside its score."""
    if line != "model" or math.isinf(epsilon) or expected_curve.why_none(spec):
        return ""
    return f"; {_expected_overlap(spec, epsilon)}"


def _expected_overlap(spec: Spec, epsilon: float) -> str:
    """Return how near pairs of columns of a table come to the private ones, in words."""
    why = expected_curve.why_none(spec)
    if why:
        return f"nothing that can be said: {why}"
    found = expected_curve.curve(spec, (1.0 if math.isinf(epsilon) else epsilon,))
    assert found is not None
    if math.isinf(epsilon):
        return f"{_OVERLAP} up to {found.ceiling:.0f} %"
    low, middle, high = (f"{each:.0f}" for each in found.points[0][1:])
    more = f"; {found.caution}" if found.caution else ""
    return (
        f"{_OVERLAP} about {middle} %, {expected_curve.BAND_NAME} {low} to {high} % (measured on "
        f"{', '.join(found.names)}){more}; by independent columns it would be {found.guess:.0f} %, "
        f"{found.ceiling_name} {found.ceiling:.0f} %"
    )


def of_run(method: str, settings: Any, spec: Spec) -> str | None:
    """Return what a run is likely to reach, in words; None where nobody can say.

    Args:
        method: of `jaxdp.methods`.
        settings: complete.
        spec: facts about the data.
    """
    if getattr(settings, "unconditional", False):
        return None
    if method == "dp_kip":
        line = "dp_kip"
    elif method == "teacher":
        line = "teacher" if settings.match == "teacher" else "match"
        if spec.kind.choose(images=False, rows=True, table=True):
            return None
    elif method == "marginals":
        line = "model"
    else:
        counts = "table" if getattr(settings, "labels", None) == "teacher" else "counts"
        line = spec.kind.choose(images="generate", rows=counts, table=counts)
    return expected(expected_curve.with_all_noise(spec, settings.contributions), settings.eps, line)


def _distance(point: Point, spec: Spec, epsilon: float) -> float:
    """Return how far a point is, 1 or less where it is near."""
    size = abs(math.log(point.num_examples / spec.num_examples)) / math.log(_ALIKE_SIZE)
    if math.isinf(epsilon):
        return size
    return max(
        size, abs(math.log(point.strength / warned.strength(spec, epsilon))) / math.log(_ALIKE)
    )


def _is_like(spec: Spec, near: Sequence[Point]) -> bool:
    """Whether the number of classes and the size are like those of measured sets."""
    classes = spec.num_classes / near[0].num_classes
    side = spec.kind.choose(images=max(spec.shape[:2]), rows=1, table=1)
    return side <= _LARGEST_MEASURED and 1 / _ALIKE_CLASSES <= classes <= _ALIKE_CLASSES


def _range(points: Sequence[Point]) -> str:
    low, high = (pick(point.score for point in points) for pick in (min, max))
    if points[0].kind == "table":
        ends, unit = [f"{low / 100:.2f}", f"{high / 100:.2f}"], ""
    else:
        ends, unit = [f"{low:.0f}", f"{high:.0f}"], " %"
    return (f"about {ends[0]}" if high - low < 1 else " to ".join(ends)) + unit


def _names(points: Sequence[Point]) -> str:
    return ", ".join(dict.fromkeys(f"{p.data} at epsilon {p.epsilon:g}" for p in points))


def spec_of(shape: Sequence[int], num_examples: int, num_classes: int) -> Spec:
    """Return the facts about data that nobody has seen.

    Args:
        shape: (h, w, channels) of an image, or (columns,) of a table, whose columns are then taken
            as declared.
        num_examples: n.
        num_classes: c.
    """
    names = [str(label) for label in range(num_classes)]
    if len(shape) == IMAGES.axes:
        return Spec.images("NAME", (num_examples, *shape), class_names=names)
    number = {"type": "numeric", "lower": 0, "upper": 1}
    columns: dict[str, Any] = {f"column {place}": number for place in range(shape[0])}
    columns["class"] = {"type": "categorical", "categories": names, "target": True}
    return Spec.table("NAME", Schema.from_json({"columns": columns}), num_examples)
