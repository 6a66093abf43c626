"""Pictures of what a run has made, as PNG bytes.

Drawn on a canvas measured in pixels, so that a distilled pixel is always a whole number of
picture pixels: an 8x8 digit and a 32x32 photograph both stay crisp.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxdp.program.report.canvas import (
    DPI,
    FAINT,
    FONT,
    INK,
    PAD,
    axes,
    encode,
    text_width,
    titled_figure,
    write,
)

GAP, BLOCK_GAP = 6, 44
MAX_TILE, MAX_ROWS, MAX_WIDTH, ASPECT = 96, 25, 2200, 1.4
MAX_BYTES = 500_000


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
    fig, top = titled_figure(*grid.size, [*head, _shown_line(labels, grid.columns)])
    # Only what is shown: all of a generated set would take gigabytes.
    shown = [np.flatnonzero(labels == label)[: grid.columns] for label in range(len(names))]
    tiles = [_bytes(images[of_class], low, high) for of_class in shown]
    fig.figimage(_mosaic(tiles, grid), PAD, PAD)
    for label, name in enumerate(names):
        row, column = grid.corner(label, 0)
        write(fig, PAD + column - 14, top + row + grid.tile_height / 2, name, size=FONT, ha="right")
    return encode(fig)


def _plan(size: tuple[int, int], names: list[str], columns: int) -> _Grid:
    """Choose how many classes to stack so that the picture is about as wide as a page."""
    tile = MAX_TILE if len(names) <= MAX_ROWS else 2 * MAX_TILE // 3
    shrink = -(-max(size) // tile)
    h, w = -(-size[0] // shrink), -(-size[1] // shrink)
    zoom = tile // max(h, w)
    label_width = math.ceil(max(map(text_width, names))) + 14
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
    fig, top = titled_figure(1200, height + 60, [*head, _shown_line(labels, limit)])
    left = PAD + 14 + max(map(text_width, names))
    ax = axes(fig, left=left, right=PAD + 130, top=top, height=height)
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
    bar = axes(fig, left=left, right=PAD + 85, top=top, height=min(height, 400))
    fig.colorbar(drawn, cax=bar, ticks=MaxNLocator(nbins=5 if height > 150 else 2))
    return encode(fig)
