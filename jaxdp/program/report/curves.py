"""Curves as PNG bytes: of what was watched over the steps of a run, of what is expected."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxdp.program.report.canvas import (
    ACCENT,
    FAINT,
    FONT,
    INK,
    MARK,
    RULE,
    axes,
    encode,
    titled_figure,
)
from jaxdp.program.runs.expected_curve import BAND_NAME, Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def curve_png(history: Sequence[Mapping[str, Any]] | None, watched: str) -> bytes | None:
    """Draw what was watched over the steps of a run; None where nothing was."""
    if not history:
        return None
    draw = accuracy_curve_png if watched.endswith("accuracy") else distance_curve_png
    return draw([point["step"] for point in history], [point[watched] for point in history])


def accuracy_curve_png(steps: Sequence[int], accuracies: Sequence[float]) -> bytes:
    """Draw KRR test accuracy over steps.

    Args:
        steps: training steps at which the accuracy was measured.
        accuracies: fractions between 0 and 1; values that are not finite are left out.

    Returns:
        The bytes of a PNG file.
    """
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    fig, ax, ys = _curve(steps, [100 * y for y in accuracies], "KRR test accuracy", "{:.1f}%")
    low, high = min(ys, default=0), max(ys, default=100)
    room = max(5.0, 0.25 * (high - low))
    ticks = MaxNLocator(nbins=5).tick_values(low - room, high + room)
    ax.set_yticks([tick for tick in ticks if 0 <= tick <= 100])
    ax.set_ylim(low - room, high + room)
    ax.yaxis.set_major_formatter(PercentFormatter())
    return encode(fig)


def distance_curve_png(steps: Sequence[int], distances: Sequence[float]) -> bytes:
    """Draw a distance over steps, on a logarithmic axis.

    Args:
        steps: training steps at which it was measured.
        distances: above 0; other values and those that are not finite are left out.

    Returns:
        The bytes of a PNG file.
    """
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    kept = [y if y > 0 else math.nan for y in distances]
    fig, ax, _ = _curve(steps, kept, "squared distance", "{:.3g}")
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(ScalarFormatter())
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.margins(y=0.25)
    return encode(fig)


def expected_png(curve: Curve, *, chosen: float | None = None) -> bytes:
    """Draw what is expected over epsilon.

    Args:
        curve: what is expected.
        chosen: an epsilon that is marked; None or infinity for none.

    Returns:
        The bytes of a PNG file.
    """
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    fig, top = titled_figure(1340, 620, [f"{curve.measure} in %, over epsilon"])
    ax = axes(fig, left=90, right=40, top=top, height=520)
    epsilons, low, middle, high = zip(*curve.points, strict=True)
    ax.fill_between(epsilons, low, high, color=ACCENT, alpha=0.25, lw=0, label=BAND_NAME)
    ax.plot(epsilons, middle, color=ACCENT, lw=4, label="expected: the middle")
    for level, name, style in (
        (curve.ceiling, curve.ceiling_name, "--"),
        (curve.guess, curve.guess_name, ":"),
    ):
        ax.axhline(level, color=INK, lw=2.5, ls=style, label=f"{name} {level:.0f} %")
    here = None if chosen is None else curve.at(chosen)
    if here is not None:
        ax.plot(here.epsilon, here.middle, "o", color=MARK, ms=14, label=f"epsilon {chosen:g}")
    ax.set_xscale("log")
    ax.set_xlim(epsilons[0], epsilons[-1])
    ax.set_ylim(0, 100)
    ax.xaxis.set_major_locator(FixedLocator([0.01, 0.1, 0.3, 1, 3, 10, 30, 100]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.tick_params(axis="x", pad=10)
    ax.grid(axis="y", color=RULE, lw=1.5)
    ax.legend(fontsize=FONT - 4, loc="lower right", frameon=True, edgecolor=RULE)
    return encode(fig)


def _curve(
    steps: Sequence[int], values: Sequence[float], name: str, form: str
) -> tuple[Figure, Axes, list[float]]:
    """Draw the finite values as a line with its first and last point labelled."""
    from matplotlib.ticker import MaxNLocator

    fig, top = titled_figure(1340, 475, [])
    ax = axes(fig, left=140, right=60, top=top, height=420)
    points = [(x, y) for x, y in zip(steps, values, strict=True) if math.isfinite(y)]
    ys = [y for _, y in points]
    ax.plot([x for x, _ in points], ys, color=ACCENT, lw=4, marker="o", ms=10)
    for i in {0, len(points) - 1} if points else ():
        # Away from the line: under a first point from which the curve climbs.
        offset = (0, -36 if i == 0 and ys[-1] > ys[0] else 16)
        style: Any = {"fontsize": FONT, "color": INK, "weight": "bold", "ha": "center"}
        ax.annotate(form.format(ys[i]), points[i], offset, textcoords="offset points", **style)
    ax.margins(x=0.05)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, min_n_ticks=1))
    ax.set_xlabel("training step", fontsize=FONT, color=FAINT)
    ax.set_ylabel(name, fontsize=FONT, color=FAINT)
    ax.grid(axis="y", color=RULE, lw=1.5)
    return fig, ax, ys
