"""Pictures of a distilled set and of a run, as PNG bytes.

Drawn on a canvas measured in pixels, so that a distilled pixel is always a whole number of
picture pixels: an 8x8 digit and a 32x32 photograph both stay crisp.
"""

from __future__ import annotations

import functools
import io
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# At 72 dots per inch a point is a pixel: sizes of text and of tiles share one unit.
DPI, FONT = 72, 24
PAD, GAP, BLOCK_GAP = 28, 6, 44
MAX_TILE, MAX_ROWS, MAX_WIDTH, ASPECT = 96, 25, 2200, 1.4
MAX_BYTES = 500_000
INK, FAINT, ACCENT, RULE = "#1b1f24", "#57606a", "#0b6e99", "#d8dee4"


class _Grid(NamedTuple):
    """Where the classes go: `blocks` side by side, each of `rows` classes."""

    rows: int
    blocks: int
    columns: int
    tile_height: int
    tile_width: int
    label_width: int

    @property
    def block_width(self) -> int:
        return self.label_width + self.columns * (self.tile_width + GAP) - GAP

    @property
    def row_height(self) -> int:
        return max(self.tile_height, FONT) + GAP

    @property
    def size(self) -> tuple[int, int]:
        width = self.blocks * (self.block_width + BLOCK_GAP) - BLOCK_GAP
        return width, self.rows * self.row_height - GAP

    def corner(self, label: int, column: int) -> tuple[int, int]:
        """Return (top, left) of a tile inside the grid."""
        block, row = divmod(label, self.rows)
        left = block * (self.block_width + BLOCK_GAP) + self.label_width
        return row * self.row_height, left + column * (self.tile_width + GAP)


def image_grid_png(
    images: np.ndarray,
    labels: np.ndarray,
    class_names: Sequence[str],
    *,
    low: float | np.ndarray = -1.0,
    high: float | np.ndarray = 1.0,
    title: str | None = None,
    max_per_class: int = 10,
) -> bytes:
    """Draw a distilled set with one row per class.

    Images become a grid of tiles, tabular rows a heat map. Fewer than `max_per_class` are
    shown where the picture would otherwise be too wide or too heavy; the subtitle says so.

    Args:
        images: (s, h, w, ch) images or (s, d) tabular rows, any range, NaN allowed.
        labels: (s,) integer class of each image.
        class_names: one name per class, in the order of the labels.
        low: pixel value drawn as black, a number or one per channel; lower values are clipped.
        high: pixel value drawn at full brightness; higher values are clipped.
        title: first line of the picture.
        max_per_class: how many of each class to draw at most, >= 1.

    Returns:
        The bytes of a PNG file.

    Raises:
        ValueError: for shapes or labels that do not fit together.
    """
    images, labels = np.asarray(images), np.asarray(labels)
    _check(images, labels, len(class_names), max_per_class)
    names = [_tidy(name, 18) for name in class_names]
    head, columns = [_tidy(title or "", 90)], min(max_per_class, np.bincount(labels).max())
    draw: Any = _heat_map_png
    if images.ndim == 4:
        draw = functools.partial(_tiles_png, low=low, high=high)
        outside = np.mean((images < low) | (images > high))
        clipped = f"{math.ceil(100 * outside)}% of the values are clipped to the pixel range"
        head.append(clipped if outside else "")
    with warnings.catch_warnings():
        # A class name in a script that the font lacks is drawn as boxes: no reason to stop.
        warnings.filterwarnings("ignore", message="Glyph")
        png = draw(images, labels, names, head, columns)
        while len(png) > MAX_BYTES and columns > 1:
            columns = max(1, columns * MAX_BYTES // len(png))
            png = draw(images, labels, names, head, columns)
    return png


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
    return _encode(fig)


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
    return _encode(fig)


def _curve(
    steps: Sequence[int], values: Sequence[float], name: str, form: str
) -> tuple[Figure, Axes, list[float]]:
    """Draw the finite values as a line with its first and last point labelled."""
    from matplotlib.ticker import MaxNLocator

    fig, top = _titled_figure(1340, 475, [])
    ax = _axes(fig, left=140, right=60, top=top, height=420)
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


def _check(images: np.ndarray, labels: np.ndarray, n_classes: int, max_per_class: int) -> None:
    if images.ndim not in (2, 4) or images.size == 0:
        raise ValueError(f"images must be (s, h, w, ch) or (s, d), got shape {images.shape}")
    if labels.shape != images.shape[:1] or labels.min() < 0 or labels.max() >= n_classes:
        raise ValueError(f"labels must be ({len(images)},) integers from 0 to {n_classes - 1}")
    if max_per_class < 1:
        raise ValueError(f"max_per_class must be at least 1, got {max_per_class}")


def _tidy(text: str, limit: int) -> str:
    text = " ".join(str(text).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _tiles_png(
    images: np.ndarray,
    labels: np.ndarray,
    names: list[str],
    head: list[str],
    columns: int,
    *,
    low: float | np.ndarray,
    high: float | np.ndarray,
) -> bytes:
    grid = _plan(images.shape[1:3], names, columns)
    fig, top = _titled_figure(*grid.size, [*head, _shown_line(labels, grid.columns)])
    # Only what is shown: all of a generated set would take gigabytes.
    shown = [np.flatnonzero(labels == label)[: grid.columns] for label in range(len(names))]
    tiles = [_bytes(images[of_class], low, high) for of_class in shown]
    fig.figimage(_mosaic(tiles, grid), PAD, PAD)
    for label, name in enumerate(names):
        row, column = grid.corner(label, 0)
        _text(fig, PAD + column - 14, top + row + grid.tile_height / 2, name, size=FONT, ha="right")
    return _encode(fig)


def _plan(size: tuple[int, int], names: list[str], columns: int) -> _Grid:
    """Choose how many classes to stack so that the picture is about as wide as a page."""
    tile = MAX_TILE if len(names) <= MAX_ROWS else 2 * MAX_TILE // 3
    shrink = -(-max(size) // tile)
    h, w = -(-size[0] // shrink), -(-size[1] // shrink)
    zoom = tile // max(h, w)
    label_width = math.ceil(max(map(_text_width, names))) + 14
    fewest = -(-len(names) // MAX_ROWS)
    room = MAX_WIDTH // fewest - BLOCK_GAP - label_width
    columns = max(1, min(columns, room // (zoom * w + GAP)))
    plans = []
    for blocks in range(fewest, len(names) + 1):
        rows = -(-len(names) // blocks)
        plan = _Grid(rows, -(-len(names) // rows), columns, zoom * h, zoom * w, label_width)
        plans.append((abs(math.log(plan.size[0] / plan.size[1] / ASPECT)), plan))
    return min(plans)[1]


def _bytes(images: np.ndarray, low: float | np.ndarray, high: float | np.ndarray) -> np.ndarray:
    """Return (s, h, w, 3) bytes; NaN becomes the middle of the range."""
    unit = (images.astype(np.float64) - low) / (np.asarray(high) - low)
    unit = np.clip(np.nan_to_num(unit, nan=0.5, posinf=1.0, neginf=0.0), 0, 1)
    if unit.shape[-1] == 4:  # beside colours, of which the picture is: infrared or depth
        unit = unit[..., :3]
    if unit.shape[-1] != 3:
        unit = unit.mean(axis=-1, keepdims=True)
    return np.broadcast_to(np.round(255 * unit).astype(np.uint8), (*unit.shape[:3], 3))


def _mosaic(tiles: list[np.ndarray], grid: _Grid) -> np.ndarray:
    """Return the picture of each class's images in a row."""
    from PIL import Image

    h, w = grid.tile_height, grid.tile_width
    resampling = Image.Resampling.NEAREST if w >= tiles[0].shape[2] else Image.Resampling.BOX
    canvas = np.full((grid.size[1] + 2, grid.size[0] + 2, 3), 255, np.uint8)
    for label, of_class in enumerate(tiles):
        for column, pixels in enumerate(of_class):
            top, left = grid.corner(label, column)
            # A hairline, because white pixels at the edge would melt into the page.
            canvas[top : top + h + 2, left : left + w + 2] = 0xC0
            tile = Image.fromarray(pixels).resize((w, h), resampling)
            canvas[top + 1 : top + 1 + h, left + 1 : left + 1 + w] = np.asarray(tile)
    return canvas


def _shown_line(labels: np.ndarray, columns: int) -> str:
    most = np.bincount(labels).max()
    return f"{columns} of {most} per class shown" if columns < most else ""


def _heat_map_png(
    rows: np.ndarray, labels: np.ndarray, names: list[str], head: list[str], limit: int
) -> bytes:
    import matplotlib
    from matplotlib.ticker import MaxNLocator

    present = np.unique(labels)
    groups = [np.flatnonzero(labels == label)[:limit] for label in present]
    edges = np.cumsum([0, *map(len, groups)])
    values = np.ma.masked_invalid(rows[np.concatenate(groups)].astype(np.float64))
    # A few large noise values would bleach all the others: they share the end colours.
    scale = np.percentile(np.abs(values.compressed()), 99) if values.count() else 0.0
    # Rows high enough for the label of the smallest group to be read.
    smallest = np.diff(edges).min()
    row_height = max(16 / smallest, min(800 / len(values), 48))
    height = round(row_height * len(values))
    fig, top = _titled_figure(1200, height + 60, [*head, _shown_line(labels, limit)])
    left = PAD + 14 + max(map(_text_width, names))
    ax = _axes(fig, left=left, right=PAD + 130, top=top, height=height)
    colours = matplotlib.colormaps["RdBu_r"].with_extremes(bad="#8c959f")
    span = matplotlib.colors.CenteredNorm(halfrange=scale or 1.0)
    drawn = ax.imshow(values, cmap=colours, norm=span, aspect="auto", interpolation="nearest")
    for edge in edges[1:-1]:
        ax.axhline(edge - 0.5, color=INK, lw=2)
    style = {"fontsize": min(FONT, 0.9 * row_height * smallest), "parse_math": False}
    ax.set_yticks((edges[:-1] + edges[1:] - 1) / 2, [names[i] for i in present], **style)
    ax.tick_params(axis="y", length=0, pad=14, labelcolor=INK)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True))
    ax.set_xlabel("feature", fontsize=FONT, color=FAINT)
    left = fig.get_figwidth() * DPI - PAD - 110
    bar = _axes(fig, left=left, right=PAD + 85, top=top, height=min(height, 400))
    fig.colorbar(drawn, cax=bar, ticks=MaxNLocator(nbins=5 if height > 150 else 2))
    return _encode(fig)


def _titled_figure(width: float, height: float, lines: list[str]) -> tuple[Figure, int]:
    """Return a figure with room for a body of the given size, and where the body begins."""
    from matplotlib.figure import Figure

    lines = [line for line in lines if line]
    top = PAD + round(1.5 * FONT * len(lines)) + 10
    width = max([width, *map(_text_width, lines)]) + 2 * PAD
    size = (math.ceil(width) / DPI, (top + height + PAD) / DPI)
    fig = Figure(size, dpi=DPI, facecolor="white")
    for i, line in enumerate(lines):
        style = {"size": FONT - 4, "color": FAINT} if i else {"size": FONT, "color": INK}
        _text(fig, PAD, PAD + (1.5 * i + 0.5) * FONT, line, **style)
    return fig, top


def _axes(fig: Figure, *, left: float, right: float, top: float, height: float) -> Axes:
    """Add axes without a frame, placed in pixels from the edges of the figure."""
    w, h = fig.get_size_inches() * DPI
    bounds = (left / w, 1 - (top + height) / h, (w - left - right) / w, height / h)
    ax = fig.add_axes(bounds, frameon=False)
    ax.tick_params(labelsize=FONT - 2, labelcolor=FAINT, color=RULE)
    return ax


def _text(fig: Figure, x: float, y: float, text: str, **style: Any) -> None:
    """Write text at pixels from the top left corner; a dollar sign is only a dollar sign."""
    w, h = fig.get_size_inches() * DPI
    fig.text(x / w, 1 - y / h, text, va="center", parse_math=False, **style)


def _text_width(text: str) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return text_to_path.get_text_width_height_descent(text, FontProperties(size=FONT), False)[0]


def _encode(fig: Figure) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    canvas, buffer = FigureCanvasAgg(fig), io.BytesIO()
    canvas.draw()
    Image.fromarray(np.array(canvas.buffer_rgba())[..., :3]).save(buffer, "PNG")
    return buffer.getvalue()


def curve_png(history: Sequence[Mapping[str, Any]] | None, watched: str) -> bytes | None:
    """Draw what was watched over the steps of a run; None where nothing was."""
    if not history:
        return None
    draw = accuracy_curve_png if watched.endswith("accuracy") else distance_curve_png
    return draw([point["step"] for point in history], [point[watched] for point in history])
