"""Picture of a made table: how often values occur in each column, and which go together."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxdp.program.report.canvas import ACCENT, FAINT, INK
from jaxdp.tables import layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from jaxdp.data import TableCodec
    from jaxdp.tables.columns import Column

_MOST_COLUMNS, _ACROSS, _MOST_BARS = 24, 4, 12
_MOST_PAIRS = 40
# In inches, at 72 pixels each: places are given, as a layout that finds them takes longer than all
# that it draws.
_WIDTH, _TITLE, _ROW, _SQUARE, _NAMES = 14.0, 0.5, 2.4, 5.0, 1.4
_BAR, _GAP = 0.2, 0.25


def table_png(
    stored: np.ndarray,
    y: np.ndarray,
    codec: TableCodec,
    class_names: tuple[str, ...],
    *,
    title: str,
) -> bytes:
    """Draw the histograms of a made table's columns, by class, and the correlations of pairs.

    Args:
        stored: (m, columns) records of the made table; no private data.
        y: (m,) their classes.
        codec: public facts about the columns.
        class_names: in the order of the labels.
        title: first line of the picture.
    """
    from matplotlib.figure import Figure

    columns = codec.schema.columns
    shown = min(len(columns), _MOST_COLUMNS)
    down = math.ceil(shown / _ACROSS)
    below = _SQUARE + _NAMES + _TITLE
    height = 1.2 * _TITLE + _ROW * down + below
    figure = Figure(figsize=(_WIDTH, height))
    left = f" (the first {shown} of {len(columns)} columns)" if shown < len(columns) else ""
    figure.suptitle(
        f"{title}: made records{left}", y=1 - 0.3 / height, va="center", color=INK, fontsize=14
    )
    cells = codec.layout.cells(stored)
    top, bottom = 1 - 1.5 * _TITLE / height, (below + 0.5) / height
    edges = {"left": 0.04, "right": 0.99, "top": top, "bottom": bottom}
    grid = figure.add_gridspec(down, _ACROSS, wspace=0.18, hspace=0.42, **edges)
    for number in range(shown):
        axes = figure.add_subplot(grid[number])
        _histogram(axes, codec, number, cells[:, number], y, class_names)
        if number == 0 and len(class_names) > 1:
            axes.legend(fontsize=8, frameon=False)
    _correlations(figure, stored, y, codec)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=72)
    return buffer.getvalue()


def _histogram(
    axes: Axes,
    codec: TableCodec,
    number: int,
    cells: np.ndarray,
    y: np.ndarray,
    class_names: tuple[str, ...],
) -> None:
    column, size = codec.schema.columns[number], codec.layout.sizes[number]
    order = shown_cells(column, np.bincount(cells, minlength=size))
    bottom = np.zeros(len(order))
    for label, name in enumerate(class_names[:10]):
        shares = np.bincount(cells[y == label], minlength=size)[order] / len(cells)
        color: Any = f"C{label}" if len(class_names) > 1 else ACCENT
        axes.bar(np.arange(len(order)), shares, bottom=bottom, color=color, label=short(name))
        bottom += shares
    name_cells(axes, column.name, codec.layout.cell_names(number), order)
    if has_unequal_bins(column):
        axes.set_xlabel("bins of unequal width", fontsize=7, color=FAINT, labelpad=1)


def has_unequal_bins(column: Column) -> bool:
    """Whether bars of equal width stand for bins of other widths, as those that were bought."""
    if not column.is_numeric:
        return False
    widths = np.diff(layout.edges(column))
    return bool(np.ptp(widths) > 1e-6 * widths.max())


def shown_cells(column: Column, counts: np.ndarray) -> np.ndarray:
    """Return the cells that a histogram shows: of many categories the most frequent ones."""
    if column.type == "categorical" and len(counts) > _MOST_BARS:
        return np.argsort(-counts, kind="stable")[:_MOST_BARS]
    return np.arange(len(counts))


def name_cells(axes: Axes, title: str, texts: Sequence[str], order: np.ndarray) -> None:
    """Write a histogram's title and the names of its cells."""
    axes.set_title(short(title, 34), fontsize=10, color=INK)
    step = max(1, len(order) // 6)
    axes.set_xticks(np.arange(len(order))[::step])
    axes.set_xticklabels(
        [short(texts[cell], 12) for cell in order[::step]], fontsize=7, rotation=20, ha="right"
    )
    axes.tick_params(axis="y", labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)


def _correlations(figure: Figure, stored: np.ndarray, y: np.ndarray, codec: TableCodec) -> None:
    width, height = figure.get_size_inches()
    left = (width - _SQUARE) / 2
    axes = figure.add_axes((left / width, _NAMES / height, _SQUARE / width, _SQUARE / height))
    beside = left + _SQUARE + _GAP
    bar_axes = figure.add_axes((beside / width, _NAMES / height, _BAR / width, _SQUARE / height))
    columns = codec.schema.columns[:_MOST_PAIRS]
    values = present(stored[:, : len(columns)], columns)
    names = [column.name for column in columns]
    if codec.schema.target is not None:
        values, names = np.column_stack([values, y]), [*names, codec.schema.target.name]
    image = axes.imshow(correlations(values), cmap="RdBu_r", vmin=-1, vmax=1)
    axes.set_title("correlation of every pair (of places in the list for categories)", color=INK)
    size = 8 if len(names) <= 20 else 6
    axes.set_xticks(range(len(names)), [short(n, 18) for n in names], rotation=90, fontsize=size)
    axes.set_yticks(range(len(names)), [short(n, 18) for n in names], fontsize=size)
    bar = figure.colorbar(image, cax=bar_axes)
    bar.ax.tick_params(labelsize=8, colors=FAINT)


def present(stored: np.ndarray, columns: Sequence[Column]) -> np.ndarray:
    """Return records as stored with NaN in the place of what is missing."""
    values = stored.astype(np.float64)
    for place, column in enumerate(columns):
        missing = values[:, place] < 0
        if not column.is_numeric:
            missing = values[:, place] >= len(column.values)
        values[missing, place] = np.nan
    return values


def correlations(values: np.ndarray) -> np.ndarray:
    """Return the correlation of every pair of columns, of records in which neither is missing.

    It is 0 where there are none, or where a column has one value alone.
    """
    import pandas as pd

    found = pd.DataFrame(values).corr().to_numpy(copy=True)
    return np.nan_to_num(found)


def short(text: str, limit: int = 16) -> str:
    """Return a text that fits into a picture, cut in its middle, as many names begin alike.

    A dollar sign is only a dollar sign.
    """
    text = " ".join(str(text).split())
    if len(text) > limit:
        end = limit // 3
        text = f"{text[: limit - 1 - end]}…{text[-end:]}"
    return text.replace("$", r"\$")
