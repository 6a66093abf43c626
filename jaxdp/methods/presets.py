"""Presets: settings of datasets that are known by name. This is the one place that has them.

    paper:NAME    what a paper prints for a dataset; a run that is no cell of its tables is refused
    tuned:NAME    what was chosen here for a dataset, on held-out training data

A preset says what settings are by default: one that is given stands. All other data have defaults
by rules of shape, n, classes and epsilon, which are in the settings of each method.

    dp_kip.Settings(preset="paper:mnist", ipc=10, eps=1.0)
    presets.of("paper:mnist").values("dp_kip", kernel="fc_ntk", eps=1.0, ipc=10)

The command line takes tuned ones for the datasets that `--dataset` knows by name. This file imports
the standard library alone.
"""

import dataclasses
import math
from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

S = TypeVar("S")


class Row(NamedTuple):
    """Values of some runs.

    Attributes:
        values: of settings, by name.
        when: which runs: for each fact about a run those values of it that the row is for.
    """

    values: Mapping[str, Any]
    when: Mapping[str, Container[Any]]


@dataclasses.dataclass(frozen=True, eq=False)
class Preset:
    """Settings by name.

    Attributes:
        name: as `--preset` takes it.
        rows: by method. Of those that are for a run, the last one that has a value gives it.
        exact: whether a run that no row is for is refused; else it has what the rules say.
        kinds: of data that it is for, as `jaxdp.Spec` has them.
    """

    name: str
    rows: Mapping[str, Sequence[Row]]
    exact: bool = False
    kinds: tuple[str, ...] = ("image",)

    def values(self, method: str, **facts: Any) -> dict[str, Any]:
        """Return the values of settings for a run.

        Args:
            method: its name in `jaxdp.methods`.
            **facts: about the run, such as its kernel and its epsilon.

        Raises:
            LookupError: it has none, and is exact; the text says what it has.
        """
        rows = list(self.rows.get(method, ()))
        if self.exact and not rows:
            raise LookupError(f"has no settings of {method}, but of {', '.join(self.rows)}")
        for name, fact in facts.items():
            fitting = [row for row in rows if name not in row.when or fact in row.when[name]]
            if self.exact and not fitting:
                raise LookupError(f"has no --{name}={_shown(fact)}, but {_known(name, rows)}")
            rows = fitting
        return {name: value for row in rows for name, value in row.values.items()}


@dataclasses.dataclass(frozen=True)
class _Span:
    """Numbers from one on, below another one where that is given."""

    low: float
    below: float | None = None

    def __contains__(self, number: Any) -> bool:
        return self.low <= number and (self.below is None or number < self.below)


def _shown(fact: Any) -> str:
    return f"{fact:g}" if isinstance(fact, float) else str(fact)


def _known(name: str, rows: Sequence[Row]) -> str:
    """Return the values of a fact that rows list, in words."""
    among = (row.when[name] for row in rows)
    listed = [value for values in among if isinstance(values, tuple) for value in values]
    return ", ".join(dict.fromkeys(map(_shown, listed)))


def _row(values: Mapping[str, Any], **when: Container[Any]) -> Row:
    return Row(values, when)


_PRIVATE, _WITHOUT_NOISE = _Span(0, math.inf), (math.inf,)

# --- The papers ----------------------------------------------------------------------------------

# Vinaroz & Park (2024), DP-KIP-ScatterNet. Images start as N(0, I), gradients are clipped in pixels
# and not smoothed, and the last step is the result. The paper clips at norms at which Adam's
# epsilon shortens steps; here gradients are in units of the clip norm, so steps may be longer.
_KIP: dict[str, Any] = {
    "init_scale": 1.0,
    "smoothing": 0.0,
    "average_decay": 0.0,
    "whiten": 0.0,
    "clip_space": "pixels",
    "least_steps": 0,
}
_KIP_SCATTER = _KIP | {"scatter_norm": "paper"}
_CELL = ("epochs", "batch_size", "learning_rate", "clip_norm", "ridge")
# By epsilon: dataset, images per class, and the values of `_CELL`.
_Cells = dict[float, tuple[tuple[str, int, int, int, float, float, float], ...]]
# FC-NTK, Tables 11 and 12; its earlier version, DP-KIP, has the same numbers in Tables 5 and 6.
_FC_NTK: _Cells = {
    1.0: (
        ("mnist", 1, 10, 500, 5e-3, 1e-2, 1e-6),
        ("mnist", 10, 10, 500, 1e-2, 1e-6, 1e-6),
        ("mnist", 50, 10, 500, 1e-2, 1e-6, 1e-7),
        ("fashion_mnist", 1, 10, 500, 5e-2, 1e-6, 1e-6),
        ("fashion_mnist", 10, 10, 500, 1e-1, 1e-6, 1e-5),
        ("fashion_mnist", 50, 10, 200, 1e-2, 1e-2, 1e-6),
        ("svhn_cropped", 1, 10, 50, 1e-1, 1e-6, 1e-6),
        ("svhn_cropped", 10, 10, 500, 5e-2, 1e-6, 1e-6),
        ("svhn_cropped", 50, 10, 500, 1e-2, 1e-5, 1e-2),
        ("cifar10", 1, 20, 200, 1e-2, 1e-4, 1e-5),
        ("cifar10", 10, 10, 500, 5e-2, 1e-5, 1e-6),
        ("cifar10", 50, 10, 500, 5e-2, 1e-3, 1e-6),
        ("cifar100", 1, 10, 200, 1e-2, 1e-5, 1e-7),
        ("cifar100", 10, 10, 100, 1e-2, 1e-4, 1e-7),
        ("cifar100", 50, 10, 50, 1e-2, 1e-3, 1e-7),
    ),
    10.0: (
        ("mnist", 1, 10, 500, 5e-3, 1e-5, 1e-6),
        ("mnist", 10, 10, 500, 5e-3, 1e-2, 1e-6),
        ("mnist", 50, 10, 500, 5e-3, 1e-5, 1e-6),
        ("fashion_mnist", 1, 10, 500, 1e-2, 1e-3, 1e-6),
        ("fashion_mnist", 10, 10, 500, 1e-2, 1e-2, 1e-5),
        ("fashion_mnist", 50, 10, 500, 1e-2, 1e-2, 1e-7),
        ("svhn_cropped", 1, 10, 50, 5e-2, 1e-6, 1e-6),
        ("svhn_cropped", 10, 10, 500, 1e-1, 1e-6, 1e-6),
        ("svhn_cropped", 50, 10, 500, 1e-2, 1e-2, 1e-7),
        ("cifar10", 1, 10, 500, 1e-1, 1e-6, 1e-6),
        ("cifar10", 10, 10, 500, 5e-2, 1e-5, 1e-6),
        ("cifar10", 50, 10, 500, 5e-2, 1e-5, 1e-6),
        ("cifar100", 1, 10, 100, 1e-2, 1e-5, 1e-6),
        ("cifar100", 10, 10, 100, 1e-2, 1e-4, 1e-6),
        ("cifar100", 50, 10, 100, 1e-2, 1e-3, 1e-6),
    ),
}
# ScatterNet, Tables 13 and 14, and without noise Table 10. Table 13 has the same numbers for SVHN
# as for Fashion-MNIST, perhaps by mistake.
_SCATTER: _Cells = {
    1.0: (
        ("mnist", 1, 20, 5000, 1e-1, 1e-2, 1e-4),
        ("mnist", 10, 30, 500, 1e-1, 1e-7, 1e-3),
        ("mnist", 50, 30, 200, 1e-1, 1e-2, 1e-2),
        ("fashion_mnist", 1, 50, 2000, 1e-1, 1e-4, 1e-7),
        ("fashion_mnist", 10, 40, 1000, 1e-2, 1e-4, 1e-3),
        ("fashion_mnist", 50, 20, 200, 1e-2, 1e-5, 1e-2),
        ("svhn_cropped", 1, 50, 2000, 1e-1, 1e-4, 1e-7),
        ("svhn_cropped", 10, 40, 1000, 1e-2, 1e-4, 1e-3),
        ("svhn_cropped", 50, 20, 200, 1e-2, 1e-5, 1e-2),
        ("cifar10", 1, 40, 2000, 1e-1, 1e-6, 1e-6),
        ("cifar10", 10, 20, 500, 1e-1, 1e-6, 1e-3),
        ("cifar10", 50, 30, 100, 1e-2, 1e-2, 1e-1),
        ("cifar100", 1, 30, 200, 1e-4, 1e-6, 1e-2),
        ("cifar100", 10, 10, 50, 1e-4, 1e-6, 1e-1),
        ("cifar100", 50, 10, 50, 1e-4, 1e-6, 1e-2),
    ),
    10.0: (
        ("mnist", 1, 30, 500, 1e-1, 1e-2, 1e-6),
        ("mnist", 10, 50, 2000, 1e-1, 1e-6, 1e-4),
        ("mnist", 50, 30, 200, 1e-1, 1e-7, 1e-1),
        ("fashion_mnist", 1, 50, 1000, 1e-1, 1e-2, 1e-4),
        ("fashion_mnist", 10, 50, 2000, 1e-2, 1e-1, 1e-3),
        ("fashion_mnist", 50, 50, 200, 1e-2, 1e-2, 1e-3),
        ("svhn_cropped", 1, 50, 2000, 1e-2, 1e-2, 1e-6),
        ("svhn_cropped", 10, 50, 500, 1e-2, 1e-5, 1e-3),
        ("svhn_cropped", 50, 50, 100, 1e-2, 1e-2, 1e-3),
        ("cifar10", 1, 50, 1000, 1e-2, 1e-2, 1e-5),
        ("cifar10", 10, 50, 500, 1e-2, 1e-4, 1e-4),
        ("cifar10", 50, 50, 100, 1e-2, 1e-5, 1e-4),
        ("cifar100", 1, 50, 1000, 1e-1, 1e-6, 1e-5),
        ("cifar100", 10, 50, 50, 1e-1, 1e-6, 1e-2),
        ("cifar100", 50, 50, 50, 1e-1, 1e-6, 1e-2),
    ),
    math.inf: (
        ("mnist", 1, 1000, 200, 1e-4, math.inf, 1.0),
        ("mnist", 10, 2000, 100, 1e-4, math.inf, 1e-5),
        ("mnist", 50, 2000, 5000, 1e-4, math.inf, 1e-5),
        ("fashion_mnist", 1, 1000, 1000, 1e-3, math.inf, 1.0),
        ("fashion_mnist", 10, 2000, 2000, 1e-3, math.inf, 1e-6),
        ("fashion_mnist", 50, 2000, 2000, 5e-3, math.inf, 1e-2),
        ("svhn_cropped", 1, 1000, 200, 1e-4, math.inf, 1.0),
        ("svhn_cropped", 10, 1000, 1000, 1e-3, math.inf, 1e-4),
        ("svhn_cropped", 50, 8000, 5000, 5e-3, math.inf, 1e-3),
        ("cifar10", 1, 1000, 2000, 1e-3, math.inf, 1.0),
        ("cifar10", 10, 1000, 2000, 1e-3, math.inf, 1e-6),
        ("cifar10", 50, 1000, 5000, 1e-3, math.inf, 1e-3),
        ("cifar100", 1, 10000, 2000, 1e-2, math.inf, 1e-3),
        ("cifar100", 10, 1000, 5000, 1e-2, math.inf, 1e-3),
        ("cifar100", 50, 2000, 1000, 1e-2, math.inf, 1e-1),
    ),
}
# Perceptual features, Table 9: without noise alone. Its e-NTK, Table 8, is of LeNet and ResNet-18,
# and that of --kernel=entk of one hidden layer: there are none of it here.
_PERCEPTUAL: _Cells = {
    math.inf: (
        ("mnist", 1, 100, 1000, 1e-2, math.inf, 1e-6),
        ("mnist", 10, 100, 5000, 1e-2, math.inf, 1e-5),
        ("mnist", 50, 100, 2000, 1e-2, math.inf, 1e-6),
        ("fashion_mnist", 1, 1000, 2000, 1e-2, math.inf, 1e-5),
        ("fashion_mnist", 10, 1000, 1000, 1e-2, math.inf, 1e-5),
        ("fashion_mnist", 50, 1000, 5000, 1e-3, math.inf, 1e-5),
        ("svhn_cropped", 1, 100, 2000, 1e-2, math.inf, 1e-3),
        ("svhn_cropped", 10, 100, 2000, 1e-2, math.inf, 1e-3),
        ("svhn_cropped", 50, 1000, 100, 1e-4, math.inf, 1e-2),
        ("cifar10", 1, 1000, 2000, 1e-2, math.inf, 1e-4),
        ("cifar10", 10, 1000, 5000, 1e-3, math.inf, 1e-3),
        ("cifar10", 50, 1000, 2000, 1e-3, math.inf, 1e-2),
        ("cifar100", 1, 1000, 1000, 1e-2, math.inf, 1e-3),
        ("cifar100", 10, 1000, 200, 1e-2, math.inf, 1e-1),
        ("cifar100", 50, 100, 200, 1e-2, math.inf, 1e-3),
    ),
}


def _cells(kernel: str, tables: _Cells, dataset: str, common: Mapping[str, Any]) -> list[Row]:
    """Return a row for every cell that a kernel has of a dataset."""
    rows = []
    for eps, cells in tables.items():
        for name, ipc, *numbers in cells:
            values = {**common, **dict(zip(_CELL, numbers, strict=True))}
            if name == dataset:
                rows.append(_row(values, kernel=(kernel,), eps=(eps,), ipc=(ipc,)))
    return rows


def _of_kip(dataset: str) -> list[Row]:
    return [
        *_cells("fc_ntk", _FC_NTK, dataset, _KIP),
        *_cells("scatter", _SCATTER, dataset, _KIP_SCATTER),
        *_cells("perceptual", _PERCEPTUAL, dataset, _KIP),
    ]


# What all generators share: step sizes in stairs, and the last weights draw. The papers go down by
# the same factor, but one (DP-NTK's digits) to 40 times in a run, and here it is four times.
_GENERATED: dict[str, Any] = {"learning_rate": 0.01, "schedule": "published", "ema_decay": 0.0}
# Yang et al. (2023), DP-NTK, Table 5, for epsilon 0.2, 1 and 10.
_DP_NTK_STROKES = _GENERATED | {
    "steps": 2000,
    "batch_size": 5000,
    "code_dim": 5,
    "network": "fc_1l",
    "ntk_width": "800",
    "generator": "conv",
}
# With noise the paper takes all images as one class, and reports Frechet distances alone.
_DP_NTK_COLOUR = _GENERATED | {"network": "fc_2l", "generator": "resnet"}
_DP_NTK_PRIVATE = _DP_NTK_COLOUR | {
    "steps": 40000,
    "batch_size": 1000,
    "code_dim": 201,
    "ntk_width": "3000_200",
    "unconditional": True,
}
_DP_NTK_PLAIN = _DP_NTK_COLOUR | {
    "steps": 20000,
    "batch_size": 200,
    "code_dim": 31,
    "ntk_width": "800_1000",
}
# Harder, Adamczewski & Park (2021), DP-MERF: 5 epochs of 600 steps. Their length scales come from
# the data; here they are public constants, whatever the data.
_DP_MERF = _GENERATED | {"steps": 3000, "batch_size": 100, "code_dim": 5, "generator": "conv"}
# Vinaroz et al. (2022), DP-HP: 10 epochs of 300 steps.
_DP_HP = _GENERATED | {"steps": 3000, "batch_size": 200, "code_dim": 5, "product_share": 0.2}
_MERF_LENGTH = {"mnist": math.sqrt(105), "fashion_mnist": math.sqrt(127)}
_HP_LENGTH = {"mnist": math.sqrt(0.005), "fashion_mnist": math.sqrt(0.15)}
_HP_GENERATOR = {"mnist": "dense", "fashion_mnist": "conv"}


def _of_generators(dataset: str) -> list[Row]:
    """Return the rows of DP-NTK, DP-MERF and DP-HP for grey images."""
    merf = _DP_MERF | {"length_scale": _MERF_LENGTH[dataset]}
    hp = _DP_HP | {"length_scale": _HP_LENGTH[dataset], "generator": _HP_GENERATOR[dataset]}
    return [
        _row(_DP_NTK_STROKES, features=("entk",)),
        _row(merf, features=("rff",)),
        _row(hp, features=("hermite",)),
    ]


_DP_NTK_ROWS = [
    _row(_DP_NTK_PRIVATE, features=("entk",), eps=_PRIVATE),
    _row(_DP_NTK_PLAIN, features=("entk",), eps=_WITHOUT_NOISE),
]
_PAPER: dict[str, dict[str, list[Row]]] = {
    "mnist": {"dp_kip": _of_kip("mnist"), "dp_ntk": _of_generators("mnist")},
    "fashion_mnist": {
        "dp_kip": _of_kip("fashion_mnist"),
        "dp_ntk": _of_generators("fashion_mnist"),
    },
    "svhn_cropped": {"dp_kip": _of_kip("svhn_cropped")},
    "cifar10": {"dp_kip": _of_kip("cifar10"), "dp_ntk": _DP_NTK_ROWS},
    "cifar100": {"dp_kip": _of_kip("cifar100")},
}

# --- Tuned here ----------------------------------------------------------------------------------

_DENSE = ("fc_ntk", "fc_nngp")
# Chosen for features as they are, before there were whitened ones; published figures are of these.
_AS_THEY_ARE = {"learning_rate": 0.05, "ridge": 1e-4, "smoothing": 0.0, "whiten": 0.0}
_BY_GROUP = _row(_AS_THEY_ARE | {"scatter_norm": "group"}, kernel=("scatter",))


def _scatter_clip(clip_norm: float) -> Row:
    return _row({"clip_norm": clip_norm}, kernel=("scatter",), eps=_PRIVATE)


_KIP_STROKES = _row({"smoothing": 1.5}, kernel=_DENSE, eps=_PRIVATE)
_KIP_PHOTOS = [
    _row({"clip_norm": 1e-3, "smoothing": 3.0}, kernel=_DENSE, eps=_PRIVATE),
    _BY_GROUP,
    _scatter_clip(1e-3),
]
_NTK_STROKES = _row({"batch_size": 5000}, features=("entk",))
_NTK_COLOUR = _row(
    {"steps": 20000, "code_dim": 31, "network": "fc_2l", "ntk_width": "3000_200"},
)
_PHOTOS = {"dp_kip": _KIP_PHOTOS, "dp_ntk": [_NTK_COLOUR]}
_TUNED: dict[str, dict[str, list[Row]]] = {
    "digits": {
        "dp_kip": [
            _row({"epochs": 60.0, "batch_size": 500, "smoothing": 0.0}, kernel=_DENSE),
        ],
        "dp_ntk": [_row({"steps": 1000}), _row({"batch_size": 500}, features=("entk",))],
    },
    "mnist": {
        "dp_kip": [
            _KIP_STROKES,
            _row({"scatter_norm": "none"}, kernel=("scatter",)),
            _row(_AS_THEY_ARE, kernel=("scatter",), eps=_PRIVATE),
            _scatter_clip(0.4),
        ],
        "dp_ntk": [
            _NTK_STROKES,
            _row({"length_scale": _MERF_LENGTH["mnist"]}, features=("rff",)),
            # DP-HP's generator: held out, four points above `conv`.
            _row(
                {"length_scale": _HP_LENGTH["mnist"], "generator": _HP_GENERATOR["mnist"]},
                features=("hermite",),
            ),
        ],
    },
    "fashion_mnist": {
        "dp_kip": [_KIP_STROKES, _BY_GROUP, _scatter_clip(3e-3)],
        "dp_ntk": [
            _NTK_STROKES,
            _row({"length_scale": _MERF_LENGTH["fashion_mnist"]}, features=("rff",)),
            _row({"length_scale": _HP_LENGTH["fashion_mnist"]}, features=("hermite",)),
        ],
    },
    "svhn_cropped": {
        "dp_kip": _KIP_PHOTOS,
        "dp_ntk": [_NTK_COLOUR],
        # In a mirror a scene is what it was, and a house number is not.
        "teacher": [_row({"mirror": False})],
    },
    "cifar10": _PHOTOS,
    "cifar100": _PHOTOS,
}

_ALL = {
    preset.name: preset
    for preset in (
        *(Preset(f"paper:{name}", rows, exact=True) for name, rows in _PAPER.items()),
        *(Preset(f"tuned:{name}", rows) for name, rows in _TUNED.items()),
    )
}


def names() -> tuple[str, ...]:
    """Return the names of all presets."""
    return tuple(_ALL)


def of(name: str) -> Preset:
    """Return a preset.

    Args:
        name: such as "paper:mnist"; `names` has all.

    Raises:
        LookupError: there is none of that name; the text lists those that there are.
    """
    if name not in _ALL:
        raise LookupError(f"{name}: unknown; known are {', '.join(_ALL)}")
    return _ALL[name]


def for_dataset(settings: S, dataset: str, kind: str) -> S:
    """Return settings whose defaults are the tuned ones of a dataset, if it has any.

    Args:
        settings: as given; those of a method that has no presets, or that name one, stay.
        dataset: its name.
        kind: of its data, as `jaxdp.Spec` has it. What is of another one than a preset was tuned on
            has only the name in common.
    """
    given: Any = settings
    found = _ALL.get(f"tuned:{dataset}")
    if found is None or kind not in found.kinds:
        return settings
    if getattr(given, "defaults", found) is not None:
        return settings
    replaced: S = dataclasses.replace(given, defaults=found)
    return replaced
