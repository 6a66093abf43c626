"""What the programs of some runs ask of a GPU, told without one.

    python benchmarks/gpu_on_paper.py [--quick] [--cases=...] [--out=FILE]

Each case is a run of a method on random images in a process of its own, with the chunks that a GPU
gets, and every program that `jaxdp` compiles in it is written down. Each is lowered for CUDA, and
`lowers` names what does not go well there: float64 (its part of the operations), sorts, calls of
CUDA's libraries, and calls of Python. Operations are counted as in `float64_share.py`: a loop whose
number of rounds is not known counts once, so steps of training are one step, and one chunk of it.
`memory_mb` and `traffic_mb`, what is read and written, are XLA's own analysis of the program that
it compiled for this CPU, and traffic counts a loop once; `seconds` are of its fastest call here.

`v100_ms`, `h100_ms` and `h200_ms` are rooflines: no call is shorter than its operations at the
card's best rate without tensor cores, which float32 in full does not use, nor than its traffic
at the bandwidth of the memory. A card reaches a part of both.
"""

import collections
import contextlib
import dataclasses
import functools
import math
import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest import mock

import _random_images
import jax
import jax.export
from _harness import record, report_runs, seconds_alone
from _operations import operations

_COLUMNS = (
    *("calls", "seconds", "gflops", "float64_share", "memory_mb", "traffic_mb"),
    *("v100_ms", "h100_ms", "h200_ms", "lowers"),
)


class Card(NamedTuple):
    """Operations a second in float32 and float64 without tensor cores, and bytes a second."""

    float32: float
    float64: float
    bandwidth: float


# By their makers' data sheets, of the SXM forms.
CARDS = {
    "v100": Card(15.7e12, 7.8e12, 0.9e12),
    "h100": Card(67e12, 34e12, 3.35e12),
    "h200": Card(67e12, 34e12, 4.8e12),
}
_OF_A_CPU = "lapack_"  # as each program is lowered for both
_GREY, _COLOUR, _TINY = (28, 28, 1), (32, 32, 3), (16, 16, 3)
_STEPS = {"steps": 2}
_DISTILLED = {"steps": 2, "distill_steps": 2, "ipc": 10}
# A method, its settings, and the images: shape, and how many.
_CASES: dict[str, tuple[str, dict[str, Any], tuple[int, ...], int]] = {
    "fc_ntk ipc 10": ("dp_kip", {"ipc": 10, "batch_size": 500, **_STEPS}, _COLOUR, 2000),
    "fc_ntk ipc 50": ("dp_kip", {"ipc": 50, "batch_size": 500, **_STEPS}, _COLOUR, 2000),
    "scatter": ("dp_kip", {"ipc": 10, "kernel": "scatter", **_STEPS}, _GREY, 2000),
    "entk": ("dp_kip", {"ipc": 10, "kernel": "entk", **_STEPS}, _GREY, 2000),
    "perceptual": ("dp_kip", {"ipc": 10, "kernel": "perceptual", **_STEPS}, _GREY, 2000),
    "teacher": ("teacher", {**_DISTILLED, "second_layer": 4096}, _COLOUR, 5000),
    "dp_ntk": ("dp_ntk", {**_STEPS, "num_synthetic": 2000}, _GREY, 5000),
    "dp_ntk colour": ("dp_ntk", {**_STEPS, "num_synthetic": 2000}, _COLOUR, 5000),
    "scatter_rbf": (
        "dp_ntk",
        {**_STEPS, "features": "scatter_rbf", "num_synthetic": 2000},
        _GREY,
        5000,
    ),
}
_SMALL = {"ipc": 1, "batch_size": 20, **_STEPS}
_DRAWN = {"num_synthetic": 20, "batch_size": 20, **_STEPS}
_QUICK_CASES: dict[str, tuple[str, dict[str, Any], tuple[int, ...], int]] = {
    "fc_ntk": ("dp_kip", _SMALL, (8, 8, 1), 60),
    "scatter": ("dp_kip", {"kernel": "scatter", **_SMALL}, (8, 8, 1), 60),
    "entk": ("dp_kip", {"kernel": "entk", **_SMALL}, (8, 8, 1), 60),
    "perceptual": ("dp_kip", {"kernel": "perceptual", **_SMALL}, (8, 8, 1), 60),
    "teacher": (
        "teacher",
        {**_SMALL, "distill_steps": 2, "whiten": 0.1, "patches": 8, "second_layer": 8},
        _TINY,
        60,
    ),
    "rff": ("dp_ntk", {**_DRAWN, "features": "rff", "flow_passes": 1}, (8, 8, 1), 60),
    "labelled": ("dp_ntk", {**_DRAWN, "ntk_width": "4", "labels": "teacher"}, (8, 8, 1), 60),
}


@dataclasses.dataclass
class Program:
    """A compiled function, the shapes that it was called with, and how often and how long."""

    name: str
    jitted: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    wide: bool
    calls: int = 0
    seconds: float = math.inf

    def timed(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call, and write down how long it took."""
        started = time.perf_counter()
        result = jax.block_until_ready(call(*args, **kwargs))
        self.calls, self.seconds = self.calls + 1, min(self.seconds, time.perf_counter() - started)
        return result


_found: dict[Any, Program] = {}


class _Compiled:
    """A compiled program whose calls are written down."""

    def __init__(self, compiled: Any, program: Program) -> None:
        self._compiled, self._program = compiled, program

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._program.timed(self._compiled, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)


class _Lowered:
    """A lowered program that compiles to one whose calls are written down."""

    def __init__(self, lowered: Any, program: Program) -> None:
        self._lowered, self._program = lowered, program

    def compile(self, *args: Any, **kwargs: Any) -> _Compiled:
        return _Compiled(self._lowered.compile(*args, **kwargs), self._program)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lowered, name)


class _Jitted:
    """What `jax.jit` returns; what it is called with outside of other programs is written down."""

    def __init__(self, jitted: Any, name: str) -> None:
        self._jitted, self._name = jitted, name

    def _program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program | None:
        leaves, tree = jax.tree.flatten((args, kwargs))
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return None
        shaped = [_shape_of(leaf) for leaf in leaves]
        wide = jax.dtypes.canonicalize_dtype(float).itemsize == 8
        key = id(self), tree, tuple(map(str, shaped)), wide
        if key not in _found:
            args, kwargs = jax.tree.unflatten(tree, shaped)
            _found[key] = Program(self._name, self._jitted, args, kwargs, wide)
        return _found[key]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        program = self._program(args, kwargs)
        if program is None:
            return self._jitted(*args, **kwargs)
        return program.timed(self._jitted, *args, **kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        program, lowered = self._program(args, kwargs), self._jitted.lower(*args, **kwargs)
        return lowered if program is None else _Lowered(lowered, program)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jitted, name)


def _shape_of(leaf: Any) -> Any:
    if not hasattr(leaf, "dtype"):
        return leaf
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    module = getattr(function, "__module__", "")
    return f"{module}.{getattr(function, '__qualname__', '?')}".replace(".<locals>", "")


def programs(case: str, *, quick: bool) -> list[dict[str, Any]]:
    """Run a method, and return the records of all its programs; in a process of its own."""
    original = jax.jit
    _found.clear()

    def jit(function: Any = None, /, **options: Any) -> Any:
        if function is None:
            return functools.partial(jit, **options)
        name = _name_of(function)
        jitted = original(function, **options)
        return _Jitted(jitted, name) if name.startswith("jaxdp.") else jitted

    with mock.patch.object(jax, "jit", jit):
        from jaxdp import numerics  # not before: what it compiles is written down, too

        with mock.patch.object(numerics.ByBackend, "here", property(lambda size: size.accelerator)):
            _random_images.run(*(_QUICK_CASES if quick else _CASES)[case])
            told = [_told(case, program) for program in _found.values() if program.calls]
    seen: collections.Counter[str] = collections.Counter()
    for each in told:  # the same function, of other shapes
        name = each["case"]
        seen[name] += 1
        each["case"] += f" ({seen[name]})" if seen[name] > 1 else ""
    return told


def _told(case: str, program: Program) -> dict[str, Any]:
    from jaxdp import numerics

    with numerics.float64() if program.wide else contextlib.nullcontext():
        traced = program.jitted.trace(*program.args, **program.kwargs)
        counts = operations(traced.jaxpr.jaxpr)
        exported = jax.export.export(program.jitted, platforms=["cpu", "cuda"])
        text = exported(*program.args, **program.kwargs).mlir_module()
        compiled = program.jitted.lower(*program.args, **program.kwargs).compile()
    memory, cost = compiled.memory_analysis(), compiled.cost_analysis()
    held = memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
    traffic = cost.get("bytes accessed", 0.0)
    return record(
        f"{case}: {program.name.removeprefix('jaxdp.')}",
        seconds_alone(program.seconds),
        None,
        calls=program.calls,
        gflops=sum(counts.values()) / 1e9,
        float64_share=counts[True] / max(sum(counts.values()), 1.0),
        memory_mb=held / 1e6,
        traffic_mb=traffic / 1e6,
        lowers=_lowers(text),
        **{f"{name}_ms": 1e3 * _seconds(card, counts, traffic) for name, card in CARDS.items()},
    )


def _seconds(card: Card, counts: dict[bool, float], traffic: float) -> float:
    """Return what no call is shorter than."""
    arithmetic = counts[False] / card.float32 + counts[True] / card.float64
    return max(arithmetic, traffic / card.bandwidth)


def _lowers(text: str) -> str:
    """Return what of a lowered program does not go well on a GPU, in words."""
    found = [f"{len(re.findall('stablehlo.sort', text))} sorts"] if "stablehlo.sort" in text else []
    calls = set(re.findall(r"custom_call @(\w+)", text))
    return ", ".join(found + sorted(name for name in calls if not name.startswith(_OF_A_CPU)))


def main() -> None:
    """Run the benchmark."""
    report_runs(__doc__.splitlines()[0], programs, _CASES, _QUICK_CASES, columns=_COLUMNS)


if __name__ == "__main__":
    main()
