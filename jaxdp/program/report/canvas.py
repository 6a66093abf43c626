"""A canvas that is measured in pixels, with a title and axes where pictures want them."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# At 72 dots per inch a point is a pixel: sizes of text and of tiles share one unit.
DPI, FONT = 72, 24
PAD = 28
INK, FAINT, ACCENT, RULE, MARK = "#1b1f24", "#57606a", "#0b6e99", "#d8dee4", "#b8430a"


def titled_figure(width: float, height: float, lines: list[str]) -> tuple[Figure, int]:
    """Return a figure with room for a body of the given size, and where the body begins."""
    from matplotlib.figure import Figure

    lines = [line for line in lines if line]
    top = PAD + round(1.5 * FONT * len(lines)) + 10
    width = max([width, *map(text_width, lines)]) + 2 * PAD
    size = (math.ceil(width) / DPI, (top + height + PAD) / DPI)
    fig = Figure(size, dpi=DPI, facecolor="white")
    for i, line in enumerate(lines):
        style = {"size": FONT - 4, "color": FAINT} if i else {"size": FONT, "color": INK}
        write(fig, PAD, PAD + (1.5 * i + 0.5) * FONT, line, **style)
    return fig, top


def axes(fig: Figure, *, left: float, right: float, top: float, height: float) -> Axes:
    """Add axes without a frame, placed in pixels from the edges of the figure."""
    w, h = fig.get_size_inches() * DPI
    bounds = (left / w, 1 - (top + height) / h, (w - left - right) / w, height / h)
    ax = fig.add_axes(bounds, frameon=False)
    ax.tick_params(labelsize=FONT - 2, labelcolor=FAINT, color=RULE)
    return ax


def write(fig: Figure, x: float, y: float, text: str, **style: Any) -> None:
    """Write text at pixels from the top left corner; a dollar sign is only a dollar sign."""
    w, h = fig.get_size_inches() * DPI
    fig.text(x / w, 1 - y / h, text, va="center", parse_math=False, **style)


def text_width(text: str) -> float:
    """Return the width of a line of text in pixels."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return text_to_path.get_text_width_height_descent(text, FontProperties(size=FONT), False)[0]


def encode(fig: Figure) -> bytes:
    """Return a figure as the bytes of a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    canvas, buffer = FigureCanvasAgg(fig), io.BytesIO()
    canvas.draw()
    Image.fromarray(np.array(canvas.buffer_rgba())[..., :3]).save(buffer, "PNG")
    return buffer.getvalue()
