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
from jaxdp.data import Spec
from jaxdp.methods.dp_ntk.labels.settings import GENERATOR, TEACHER, teacher_settings
from jaxdp.methods.dp_ntk.settings import COUNTS, PAIRS
from jaxdp.methods.marginals.settings import MOST_PAIRED, NUM_CHAINS, steps_before
from jaxdp.methods.teacher.schedule import MANY_ROWS
from jaxdp.program.evaluation.facts import MOST_JUDGED
from jaxdp.program.runs.image_levels import (
    FLOP,
    Level,
    encoder_of,
    levels_of,
    patches_of,
    second_of,
    seconds_of,
)
from jaxdp.tables.domain import Domain

# Seconds. A pixel is one value of a level, after padding.
_START = 5.0
_COMPILE = 4.0
_FORWARD = 1.3e-7  # scattering of a pixel
_BACKWARD = 8e-7  # the same with its gradient
_NETWORK = 1.1e-7, 6e-7  # a small random network of a pixel, and with its gradient
_IN_PARTS = 0.6  # of which a few images at once take so much
# Bytes of a pixel in the gradient of a random network, and of a value in that of five views.
_HELD_OF_NETWORK, _HELD_OF_VIEWS = 1200.0, 700.0
_DRAW = 1e-7  # whether one record is in a step's sample
_ROW = 6e-9  # one feature of a record in a step of DP-SGD
_KIP = 4e-11  # a pair of support images and one of classes, for an example of a step of DP-KIP
_OF_FEATURES = ("scatter", "perceptual", "entk")
_CELLS = 20.0  # of a column of a table
_OF_CACHED = 0.5  # what an image takes of its seconds in a batch, among few that fit the cache
_GENERATE = 6e-8  # a value of an example that a generator makes, with its gradient
_RESNET = 2e-5  # a pixel of an example of the large generator
# Random features of an example; maps that are not measured are taken as wide as the widest here.
_WIDTHS, _WIDEST = {"rff": 10_000, "hermite": 2700}, 10_000
_JUDGE = {"convnet": 300.0, "cnn": 100.0, "wrn": 2400.0, "twelve": 60.0, "inception": 300.0}
_JUDGED_RECORDS = 30_000  # of a table, in the seconds that an evaluation takes
_STUDENT = 90_000  # images that it sees, in all passes
_PROGRAM_BYTES = 6e8
NUM_TEST = 1000
"""Test examples where nobody says how many there are."""
_RELEASING = ("private teacher", "class means", "mean embedding")


class _Data(NamedTuple):
    """What seconds and bytes are estimated by.

    Attributes:
        spec: facts about the data.
        num_examples: n that a release reads; 0 where one is used again.
        num_test: test examples.
    """

    spec: Spec
    num_examples: int
    num_test: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Of an example as stored: (h, w, channels), (values,) of a row, (columns,) of a table."""
        return self.spec.stored_shape

    @property
    def num_classes(self) -> int:
        """Number of classes c."""
        return self.spec.num_classes

    @property
    def dim(self) -> int:
        """Values of an example as stored."""
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
        lower: flags that lower all of it.
    """

    phases: tuple[Phase, ...]
    memory: float
    disk: float
    lower: str = "--subset"

    @property
    def seconds(self) -> float:
        """Of the whole command."""
        return sum(phase.seconds for phase in self.phases)


def of_run(
    method: Any,
    settings: Any,
    spec: Spec,
    *,
    num_test: int = NUM_TEST,
    judges: str | None = None,
    reused: bool = False,
) -> Estimate:
    """Return what a run takes.

    Args:
        method: of `jaxdp.methods` by its name; of another one nothing is known but its start.
        settings: complete.
        spec: facts about the data.
        num_test: test examples.
        judges: as `--evaluate` names them; None for those by default.
        reused: whether it takes what an earlier run has released, and no private data.
    """
    read = facts = _Data(spec, spec.num_examples, num_test)
    if reused:
        facts = facts._replace(num_examples=0)
    estimate, lower = _OF_METHODS.get(str(method), (_of_another, Estimate.lower))
    found = estimate(settings, facts)
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
        lower,
    )


def _held(size: float) -> float:
    """Return how much memory arrays of so many bytes take at most: large ones are in a file."""
    return min(size, large_arrays.most_bytes())


def _public_map(parts: list[Level]) -> Estimate:
    """Estimate the whitening of all levels."""
    seconds, memory, disk = 0.0, 0.0, 0.0
    for pixels, p, images, _ in parts:
        each = _FORWARD * pixels + 2 * p * p * FLOP
        seconds += 2 * _COMPILE + images * each + 4 * p**3 * FLOP
        memory, disk = max(memory, 40 * p * p + 8 * images * pixels), disk + 4 * p * p
    return Estimate((Phase("public map (once)", seconds),), memory, disk)


def _of_teacher(facts: _Data, options: Any) -> list[Level]:
    """Return what the teacher's map of an image is made of."""
    mirror = bool(options.mirror)
    parts = levels_of(facts.shape, mirror=mirror)
    if options.patches:
        parts.append(patches_of(options.patches, facts.shape, mirror=mirror))
    if options.second_layer:
        parts.append(second_of(options.second_layer, mirror=mirror))
    if options.encoder:
        parts.append(encoder_of(facts.shape, mirror=mirror))
    return parts


def _labelling(settings: Any, facts: _Data) -> Estimate:
    """Estimate a teacher of images, what it says of candidates, and the student that learns it."""
    teacher = teacher_settings(settings, facts.spec)
    parts = _of_teacher(facts, teacher)
    each, p = seconds_of(parts, facts.shape, _FORWARD), sum(level.features for level in parts)
    n, asked = facts.num_examples, settings.candidates * settings.num_synthetic
    steps, step = teacher.steps, _step_of_teacher(teacher.batch_size, facts, p)
    pixels = math.prod(facts.shape[:2])
    learning = min(asked, _STUDENT) * 1e-6 * pixels if settings.candidates > 1 else 0.0
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


def _labelling_of_records(settings: Any, facts: _Data) -> Estimate:
    """Estimate a teacher of records, which labels all that is drawn."""
    del settings
    seconds = 2 * _COMPILE + facts.num_examples * facts.dim * 4e-6
    return Estimate((Phase("private teacher", seconds),), 0.0, 0.0)


def _step_of_teacher(batch_size: int, facts: _Data, num_features: float) -> float:
    """Return seconds of a step of a private teacher."""
    each = num_features * (1e-9 + 1.5e-10 * facts.num_classes)
    return facts.num_examples * _DRAW + batch_size * each


def _teacher(settings: Any, facts: _Data) -> Estimate:
    n, made = facts.num_examples, settings.ipc * settings.packing**2 * facts.num_classes
    see = facts.spec.kind.choose(
        images=_seen_of_images, rows=_seen_of_records, table=_seen_of_records
    )
    each, back, p, held, (phases, memory, disk) = see(settings, facts)
    if settings.uses_teacher:
        phases += (Phase("features", _COMPILE + (n + facts.num_test) * each),)
        step = _step_of_teacher(settings.batch_size, facts, p)
        phases += (Phase("private teacher", _COMPILE + settings.steps * step),)
        memory = max(memory, _held(6 * p * (n + facts.num_test)))
    if settings.match in ("embedding", "both"):
        means = _class_means(settings, facts, made)
        phases += (Phase("class means", _COMPILE + n * means.forward),)
        both = bool(settings.cosine_weight)
        back, held = means.backward + both * back, means.held + both * held
    seconds = 1.5 * _COMPILE + settings.distill_steps * made * back
    phases += (Phase("distilling", seconds),)
    memory += made * (held + 64 * facts.dim)
    return Estimate(phases, memory, disk + 64 * made * facts.dim)


class _Step(NamedTuple):
    """What an example takes in a map: seconds, and with its gradient; bytes of the gradient."""

    forward: float
    backward: float
    held: float


class _Seen(NamedTuple):
    """A map of examples: as `_Step` has them; features, and what making it takes."""

    forward: float
    backward: float
    features: float
    held: float
    public: tuple[tuple[Phase, ...], float, float]


def _seen_of_records(settings: Any, facts: _Data) -> _Seen:
    del settings
    return _Seen(1e-6, 1e-5, _CELLS * facts.dim, 0.0, ((), 0.0, 0.0))


def _seen_of_images(settings: Any, facts: _Data) -> _Seen:
    parts = _of_teacher(facts, settings)
    p, held = (sum(column) for column in list(zip(*parts, strict=True))[1::2])
    each, back = (seconds_of(parts, facts.shape, rate) for rate in (_FORWARD, _BACKWARD))
    public = _public_map(parts) if settings.whiten else Estimate((), 0.0, 0.0)
    return _Seen(each, back, p, held, (public.phases, public.memory, public.disk))


def _class_means(settings: Any, facts: _Data, made: int) -> _Step:
    """Return what an image takes in the map of class means, of as many as are distilled."""
    if settings.networks:
        seen = min(facts.shape[0], 32) * min(facts.shape[1], 32)
        forward, backward = settings.networks * _NETWORK[0] * seen, _NETWORK[1] * seen
        if made >= MANY_ROWS:
            return _Step(forward, _IN_PARTS * backward, 0.0)
        return _Step(forward, backward, _HELD_OF_NETWORK * seen)  # one network at a step
    values = min(facts.dim, 3072)
    seen = 5 * values  # five views of an image
    return _Step(_FORWARD * seen, _BACKWARD * seen, _HELD_OF_VIEWS * values)


def _kip(settings: Any, facts: _Data) -> Estimate:
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


def _labelled(settings: Any, facts: _Data) -> Estimate:
    """Estimate a generator, and the teacher that labels what it makes."""
    labelling = facts.spec.kind.choose(
        images=_labelling, rows=_labelling_of_records, table=_labelling_of_records
    )
    return _beside(_generator(settings, facts), labelling(settings, facts))


def _counts(settings: Any, facts: _Data) -> Estimate:
    """Estimate a generator of records that draws from noisy counts."""
    n, d, made = facts.num_examples, facts.dim, settings.num_synthetic
    cells = _CELLS * d * (d if settings.features == PAIRS else 1)
    phases = (
        Phase("mean embedding", _COMPILE + n * d * 1e-6 + cells * 1e-5),
        Phase("drawing", 2.0 + made * d * 2e-6),
    )
    return Estimate(phases, 8.0 * cells * facts.num_classes + 60.0 * made * d, 30.0 * made)


def _generator(settings: Any, facts: _Data) -> Estimate:
    """Estimate a generator."""
    if settings.features in COUNTS:
        return _counts(settings, facts)
    n, d, made = facts.num_examples, facts.dim, settings.num_synthetic
    phases, per_example, forward, encoded, memory, disk = [], 0.0, 0.0, 0.0, 0.0, 0.0
    if settings.features in ("scatter_rbf", "encoder_rbf"):
        parts = levels_of(facts.shape, fine=True)
        dear = [encoder_of(facts.shape, mirror=False)] if settings.features == "encoder_rbf" else []
        encoded = sum(each.pixels for each in dear)
        public = _public_map(parts + dear)
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
        width = _WIDTHS.get(settings.features, _WIDEST)
        per_example, forward = 2 * d * width * FLOP, d * width * FLOP / 2
    move = _OF_CACHED * (per_example + forward + (_FORWARD + _BACKWARD) * encoded)
    moving = settings.flow_passes * made * move
    per_example += _of_generator(settings.generator, facts)
    phases.append(Phase("mean embedding", _COMPILE + n * (forward + _FORWARD * encoded)))
    step = settings.batch_size * per_example
    phases.append(Phase("training", 2 * _COMPILE + settings.steps * step))
    phases.append(Phase("drawing", 2.0 + made * _of_generator(settings.generator, facts) / 3))
    if moving:
        phases.append(Phase("moving images", _COMPILE + moving))
    memory += 12.0 * made * d + 2e2 * settings.batch_size * d + 1e9
    return Estimate(tuple(phases), memory, disk + made * d * 1.0 + 1e7)


def _marginals(settings: Any, facts: _Data) -> Estimate:
    """Estimate a model of noisy counts."""
    assert facts.spec.schema is not None
    domain = Domain(facts.spec.schema)
    n, q, d, made = facts.num_examples, len(domain.widths), domain.dim, settings.num_synthetic
    steps = sum(map(steps_before, range(-(-made // NUM_CHAINS))))
    counting = Phase("counting", 2.0 + n * q * q * 1e-8)
    if q > MOST_PAIRED:
        drawing = Phase("drawing", _COMPILE + steps * 1e-3 * q)
        return Estimate((counting, drawing), 1e9 + 40.0 * q * q + 60.0 * made * q, 30.0 * made)
    step = 1.2e-3 * q + NUM_CHAINS * d * d * FLOP
    phases = (
        counting,
        Phase("training", _COMPILE + settings.steps * step),
        Phase("drawing", steps * step),
    )
    return Estimate(phases, 80.0 * d * d + 1e5 * d + 60.0 * made * q, 30.0 * made)


def _of_another(settings: Any, facts: _Data) -> Estimate:
    """Estimate a method of which nothing is known."""
    del settings, facts
    return Estimate((), 0.0, 0.0)


def _dp_ntk(settings: Any, facts: _Data) -> Estimate:
    """Estimate a generator, and the teacher that may label what it makes."""
    labels = getattr(settings, "labels", GENERATOR)
    return {GENERATOR: _generator, TEACHER: _labelled}[labels](settings, facts)


_OF_METHODS = {
    "teacher": (_teacher, "--ipc, --subset or --image_size"),
    "dp_kip": (_kip, "--ipc, --batch_size or --subset"),
    "marginals": (_marginals, "--num_synthetic or --steps"),
    "dp_ntk": (_dp_ntk, "--num_synthetic, --batch_size, --subset or --image_size"),
}


def _beside(one: Estimate, other: Estimate) -> Estimate:
    """Return the estimate of a run that has the phases of both."""
    return Estimate(one.phases + other.phases, max(one.memory, other.memory), one.disk + other.disk)


def _of_generator(name: str, facts: _Data) -> float:
    """Return the seconds that a generated example takes, with its gradient."""
    if name == "resnet":
        return _RESNET * facts.dim / facts.shape[2]
    return _GENERATE * max(facts.dim, 256)


def _weights(widths: str, dim: int) -> float:
    """Return about how many weights a network of one or two hidden layers has."""
    sizes = [dim, *(int(width) for width in widths.split("_"))]
    return float(sum(a * b for a, b in itertools.pairwise(sizes)) + 10 * sizes[-1])


def _judging(judges: str | None, facts: _Data, made: int | None) -> float:
    if judges == "none":
        return 0.0
    if judges is None and (made is not None or facts.num_classes < 2):
        return 0.0  # kernel ridge regression is part of the run; without classes nothing is judged
    names = (judges or "logistic,mlp,frechet").split(",")
    size = max(1.0, facts.dim / 784)
    if len(facts.shape) == 1:  # all drawn records train the classifiers, as many as there are
        size *= max(1.0, min(facts.num_examples, MOST_JUDGED) / _JUDGED_RECORDS)
    many = max(1.0, (made or 0) / 100)
    # A network's colours are a part of its first layer alone.
    whole = max(1.0, math.prod(facts.shape[:2]) / 784) * max(0.4, (made or 0) / 60_000)
    each = {"convnet": _JUDGE["convnet"] * size * many}
    each["convnet_dsa"] = 3.3 * each["convnet"]
    for name in ("cnn", "wrn"):
        each |= dict.fromkeys((name, f"{name}_soft"), _JUDGE[name] * whole)
    return sum(each.get(name, _JUDGE.get(name, 15.0 * size)) for name in names if name != "krr")
