"""What a run will take: seconds of each phase, memory and disk, told before the work.

Everything is a function of public facts: the shape and number of examples, the number of classes,
and complete settings; and of the machine's memory, as arrays above a quarter of it are in a file.
Seconds are those of two CPU cores without other work; a GPU needs fewer.
They are right up to a factor of two or three.
"""

import dataclasses
import itertools
import math
from typing import Any, NamedTuple

from jaxdp import large_arrays
from jaxdp.methods.teacher.settings import Settings as TeacherSettings
from jaxdp.methods.teacher.settings import defaults
from jaxdp.program.runs.image_levels import FLOP, Level, levels_of, patches_of, seconds_of

# Seconds. A pixel is one value of a level, after padding.
_START = 5.0
_COMPILE = 4.0
_FORWARD = 1.8e-7  # scattering of a pixel
_BACKWARD = 1e-6  # the same with its gradient
_NETWORK = 1.1e-7, 6e-7  # a small random network of a pixel, and with its gradient
_DRAW = 1e-7  # whether one record is in a step's sample
_ROW = 6e-9  # one feature of a record in a step of DP-SGD
_KIP = 4e-11
_OF_FEATURES = ("scatter", "perceptual", "entk")
_CELLS = 20.0  # of a column of a table
_GENERATE = 6e-8  # a value of an example that a generator makes, with its gradient
_RESNET = 2e-5  # a pixel of an example of the large generator
_JUDGE = {"convnet": 720.0, "cnn": 240.0, "wrn": 2400.0, "twelve": 60.0, "inception": 300.0}
_JUDGED_RECORDS = 30_000  # of a table, in the seconds that an evaluation takes
_STUDENT = 90_000  # images that it sees, in all passes
_PROGRAM_BYTES = 6e8
_RELEASING = ("private teacher", "class means", "mean embedding")


class Facts(NamedTuple):
    """What is public about data.

    Attributes:
        shape: (h, w, channels) of an image, (values,) of a row, (columns,) of a table.
        num_examples: n.
        num_classes: c.
        num_test: test examples.
        name: of the dataset; some have defaults of their own.
    """

    shape: tuple[int, ...]
    num_examples: int
    num_classes: int
    num_test: int = 1000
    name: str = ""

    @property
    def is_image(self) -> bool:
        """Whether examples are images."""
        return len(self.shape) == 3

    @property
    def dim(self) -> int:
        """Values of an example."""
        return math.prod(self.shape)


class Phase(NamedTuple):
    """A part of a run, as its bar names it."""

    name: str
    seconds: float


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What a run takes.

    Attributes:
        phases: in order.
        memory: bytes at the peak.
        disk: bytes of results, and of what is kept for later runs.
    """

    phases: tuple[Phase, ...]
    memory: float
    disk: float

    @property
    def seconds(self) -> float:
        """Of the whole command."""
        return sum(phase.seconds for phase in self.phases)


def facts_of(spec: Any, *, num_test: int) -> Facts:
    """Return the facts of a `jaxdp.Spec`; of a table how many columns it has."""
    shape = spec.shape if spec.schema is None else (len(spec.schema.columns),)
    return Facts(tuple(shape), spec.num_examples, spec.num_classes, num_test, spec.name)


def of_run(
    method: Any,
    settings: Any,
    facts: Facts,
    *,
    judges: str | None = None,
    reused: bool = False,
) -> Estimate:
    """Return what a run takes.

    Args:
        method: of `jaxdp.methods` by its name; of another one nothing is known but its start.
        settings: complete.
        facts: about the data.
        judges: as `--evaluate` names them; None for those by default.
        reused: whether it takes what an earlier run has released, and no private data.
    """
    read = facts
    if reused:
        facts = facts._replace(num_examples=0)
    if method == "teacher":
        found = _teacher(settings, facts)
    elif method == "dp_kip":
        found = _kip(settings, facts)
    elif method in ("dp_ntk", "labelled"):
        found = _generator(method, settings, facts)
    else:
        found = Estimate((), 0.0, 0.0)
    made = settings.ipc * facts.num_classes if hasattr(settings, "ipc") else None
    judging = _judging(judges, facts, made)
    start = Phase("start", _START + facts.num_examples * facts.dim / 1e8)
    phases = [start, *found.phases, Phase("judging", judging)]
    left_out = _RELEASING if reused else ()
    data = _held(3.0 * (read.num_examples + read.num_test) * read.dim)
    return Estimate(
        tuple(each for each in phases if each.seconds > 0 and each.name not in left_out),
        _PROGRAM_BYTES + data + found.memory,
        found.disk + 5e7,  # compiled programs, the report
    )


def _held(size: float) -> float:
    """Return how much memory arrays of so many bytes take at most: large ones are in a file."""
    return min(size, large_arrays.most_bytes())


def _public_map(parts: list[Level]) -> Estimate:
    """Estimate the whitening of all levels."""
    seconds, memory, disk = 0.0, 0.0, 0.0
    for pixels, p, images in parts:
        each = _FORWARD * pixels + 2 * p * p * FLOP
        seconds += 2 * _COMPILE + images * each + 4 * p**3 * FLOP
        memory, disk = max(memory, 40 * p * p + 8 * images * pixels), disk + 4 * p * p
    return Estimate((Phase("public map (once)", seconds),), memory, disk)


def _of_teacher(facts: Facts, *, mirror: bool, patches: int) -> list[Level]:
    """Return what the teacher's map of an image is made of."""
    parts = levels_of(facts.shape, mirror=mirror)
    return [*parts, patches_of(patches, facts.shape, mirror=mirror)] if patches else parts


def _labelling(settings: Any, facts: Facts) -> Estimate:
    """Estimate a teacher of images, what it says of candidates, and the student that learns it."""
    table = defaults(TeacherSettings(eps=settings.eps), facts.name, beside_images=False)
    parts = _of_teacher(facts, mirror=table["mirror"], patches=table["patches"])
    each, p = seconds_of(parts, facts.shape, _FORWARD), sum(level.features for level in parts)
    n, asked = facts.num_examples, settings.candidates * settings.num_synthetic
    steps = math.ceil(table["epochs"] * n / table["batch_size"])
    step = n * _DRAW + table["batch_size"] * p * (1e-9 + 1.5e-10 * facts.num_classes)
    learning = min(asked, _STUDENT) * 1e-6 * facts.dim if settings.candidates > 1 else 0.0
    public = _public_map(parts)
    phases = (
        *public.phases,
        Phase("features", _COMPILE + (n + facts.num_test) * each),
        Phase("private teacher", _COMPILE + steps * step),
        Phase("labels", _COMPILE + asked * each),
        Phase("student", learning),
    )
    memory = max(public.memory, _held(2 * p * (n + facts.num_test))) + 2.0 * asked * facts.dim
    return Estimate(phases, memory, public.disk)


def _teacher(settings: Any, facts: Facts) -> Estimate:
    n, c = facts.num_examples, facts.num_classes
    made = settings.ipc * settings.packing**2 * c
    phases: list[Phase] = []
    memory = disk = pixels = 0.0
    if facts.is_image:
        parts = _of_teacher(facts, mirror=bool(settings.mirror), patches=settings.patches)
        p, pixels = (sum(column) for column in list(zip(*parts, strict=True))[1::-1])
        each, back = (seconds_of(parts, facts.shape, rate) for rate in (_FORWARD, _BACKWARD))
        if settings.whiten:
            public = _public_map(parts)
            phases, memory, disk = list(public.phases), public.memory, public.disk
    else:
        each, back, p = 1e-6, 1e-5, _CELLS * facts.dim
    if settings.uses_teacher:
        phases.append(Phase("features", _COMPILE + (n + facts.num_test) * each))
        step = n * _DRAW + settings.batch_size * p * (1e-9 + 1.5e-10 * c)
        phases.append(Phase("private teacher", _COMPILE + settings.steps * step))
        memory = max(memory, _held(6 * p * (n + facts.num_test)))
    if settings.match != "teacher":
        forward, backward = _class_means(settings, facts)
        phases.append(Phase("class means", _COMPILE + n * forward))
        back = backward + (back if settings.cosine_weight else 0.0)
    seconds = 1.5 * _COMPILE + settings.distill_steps * made * back
    phases.append(Phase("distilling", seconds))
    memory += 1e3 * made * pixels + 64 * made * facts.dim
    return Estimate(tuple(phases), memory, disk + 64 * made * facts.dim)


def _class_means(settings: Any, facts: Facts) -> tuple[float, float]:
    """Return seconds of an image in the map of class means, and of a step with its gradient."""
    if settings.networks:
        seen = min(facts.shape[0], 32) * min(facts.shape[1], 32)
        return settings.networks * _NETWORK[0] * seen, _NETWORK[1] * seen  # one at a step
    seen = 5 * min(facts.dim, 3072)  # five views of an image
    return _FORWARD * seen, _BACKWARD * seen


def _kip(settings: Any, facts: Facts) -> Estimate:
    n, c, d = facts.num_examples, facts.num_classes, facts.dim
    s, batch = settings.ipc * c, settings.batch_size
    phases, p, beside = [], float(d), 0.0
    if settings.kernel == "scatter":
        coarse = levels_of(facts.shape)[0]
        p = 4 * coarse.features  # windows of four patches are not averaged
        beside = batch * p * _ROW + s * _BACKWARD * coarse.pixels
        seconds = (n + facts.num_test) * _FORWARD * coarse.pixels
        phases.append(Phase("features", _COMPILE + seconds))
    elif settings.kernel in ("perceptual", "entk", "conv_ntk"):
        beside = 0.08 * s * max(1.0, d / 784)
    step = 1.5e-3 + n * _DRAW + batch * s * p * 5e-11 + beside
    if settings.kernel in _OF_FEATURES:
        step += batch * s * s * 6e-11 + s**3 * 2e-10
    else:
        step += batch * s * s * c * (c + 1) * _KIP + s**3 * 1.2e-9
    phases.append(Phase("distilling", 2 * _COMPILE + settings.steps * step))
    kept = _held(8 * p * n) if p != d else 0.0
    return Estimate(tuple(phases), kept + 16 * batch * p + 800 * s * s, 32.0 * s * d)


def _generator(method: str, settings: Any, facts: Facts) -> Estimate:
    """Estimate a generator, and the teacher that labels what it makes."""
    n, d, made = facts.num_examples, facts.dim, settings.num_synthetic
    if settings.features in ("marginals", "pairs"):
        cells = _CELLS * d * (d if settings.features == "pairs" else 1)
        phases = [Phase("mean embedding", _COMPILE + n * d * 1e-6 + cells * 1e-5)]
        if method == "labelled":
            phases.append(Phase("private teacher", 2 * _COMPILE + n * d * 4e-6))
        phases.append(Phase("drawing", 2.0 + made * d * 2e-6))
        return Estimate(
            tuple(phases), 8.0 * cells * facts.num_classes + 60.0 * made * d, 30.0 * made
        )
    phases, per_example, forward, memory, disk = [], 0.0, 0.0, 0.0, 0.0
    if settings.features == "scatter_rbf":
        parts = levels_of(facts.shape, fine=True)
        public = _public_map(parts)
        phases, memory, disk = list(public.phases), public.memory, public.disk
        pixels, p = (sum(column) for column in list(zip(*parts, strict=True))[:2])
        products = (p * 4000 + min(d, 3072) * 2000) * FLOP / 3
        per_example = 0.2 * _BACKWARD * pixels + 0.8 * products
        forward = 0.5 * _FORWARD * pixels + 0.4 * products
    elif settings.features == "scatter":
        coarse = levels_of(facts.shape)[0]
        forward, per_example = _FORWARD * coarse.pixels, 1.3 * _BACKWARD * coarse.pixels
    elif settings.features == "entk":
        weights = _weights(settings.ntk_width, d)
        per_example, forward = 1.5e-10 * weights, 3e-11 * weights
        memory = 12.0 * weights * facts.num_classes
    else:
        width = {"rff": 10_000, "hermite": 2700}[settings.features]
        per_example, forward = 2 * d * width * FLOP, d * width * FLOP / 2
    per_example += _of_generator(settings.generator, facts)
    phases.append(Phase("mean embedding", _COMPILE + n * forward))
    step = settings.batch_size * per_example
    phases.append(Phase("training", 2 * _COMPILE + settings.steps * step))
    phases.append(Phase("drawing", 2.0 + made * _of_generator(settings.generator, facts) / 3))
    memory += 12.0 * made * d + 2e2 * settings.batch_size * d + 1e9
    found = Estimate(tuple(phases), memory, disk + made * d * 1.0 + 1e7)
    return _beside(found, _labelling(settings, facts)) if method == "labelled" else found


def _beside(one: Estimate, other: Estimate) -> Estimate:
    """Return the estimate of a run that has the phases of both."""
    return Estimate(one.phases + other.phases, max(one.memory, other.memory), one.disk + other.disk)


def _of_generator(name: str, facts: Facts) -> float:
    """Return the seconds that a generated example takes, with its gradient."""
    if name == "resnet":
        return _RESNET * facts.dim / facts.shape[2]
    return _GENERATE * max(facts.dim, 256)


def _weights(widths: str, dim: int) -> float:
    """Return about how many weights a network of one or two hidden layers has."""
    sizes = [dim, *(int(width) for width in widths.split("_"))]
    return float(sum(a * b for a, b in itertools.pairwise(sizes)) + 10 * sizes[-1])


def _judging(judges: str | None, facts: Facts, made: int | None) -> float:
    if judges == "none":
        return 0.0
    if judges is None and made is not None:
        return 0.0  # kernel ridge regression is part of the run
    names = (judges or "logistic,mlp,frechet").split(",")
    size = max(1.0, facts.dim / 784)
    if len(facts.shape) == 1:  # all drawn records train the classifiers, as many as there are
        size *= max(1.0, facts.num_examples / _JUDGED_RECORDS)
    many = max(1.0, (made or 0) / 100)
    whole = size * max(0.4, (made or 0) / 60_000)
    each = {"convnet": _JUDGE["convnet"] * size * many}
    each["convnet_dsa"] = 3.3 * each["convnet"]
    for name in ("cnn", "wrn"):
        each |= dict.fromkeys((name, f"{name}_soft"), _JUDGE[name] * whole)
    return sum(each.get(name, _JUDGE.get(name, 15.0 * size)) for name in names if name != "krr")
