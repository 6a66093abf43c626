"""The page that compares a made table with the private one: for its owner alone."""

from __future__ import annotations

import io
import itertools
import math
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxdp.program.evaluation.fidelity import Fidelity, figures
from jaxdp.program.report import page
from jaxdp.program.report.canvas import ACCENT, FAINT, INK
from jaxdp.program.report.tables import name_cells, short, shown_cells
from jaxdp.program.report.values import escaped
from jaxdp.tables.layout import Layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_COLUMNS, _ACROSS, _MOST_BARS = 60, 4, 40
_GREY = "#b4bcc4"
_HEADING = "NOT FOR RELEASE: computed from private records without noise"


def render(found: Fidelity, layout: Layout, *, title: str) -> str:
    """Return a comparison as one HTML page; **private**.

    Args:
        found: the comparison.
        layout: of the schema.
        title: heading of the page.
    """
    said = figures(found)
    facts = {
        "private records": said["private_records"],
        "made records": said["made_records"],
        "compared in pairs": said["compared_in_pairs"],
        "what is measured": said["measure"],
    }
    with warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes: no reason to stop.
        warnings.filterwarnings("ignore", message="Glyph")
        histograms, associations = _histograms_png(found, layout), _associations_png(found)
    num = len(said["largest_pairs"])
    sections = [
        f'<section class="loud"><h2>NOT FOR RELEASE</h2><p>{said["note"]}</p></section>',
        page.table_section("What is compared", facts),
        page.figure_section("Shares of the cells, and each column's total variation", histograms),
        _section("Columns", ("column", *_DISTANCE, "with the target", "by chance"), _rows(said)),
        page.figure_section("Association of every pair", associations),
        _section(
            f"The {num} pairs that differ most",
            ("columns", *_DISTANCE, "association, private", "made"),
            _pair_rows(said),
        ),
    ]
    return page.document(title, sections)


_DISTANCE = ("total variation", "by chance")


def _rows(said: dict[str, Any]) -> Iterable[tuple[Any, ...]]:
    for name, of in said["columns"].items():
        joint = of["with_target"] or {}
        yield name, *_both(of), *_both(joint)


def _pair_rows(said: dict[str, Any]) -> Iterable[tuple[Any, ...]]:
    for pair in said["largest_pairs"]:
        associations = (pair["association_private"], pair["association_made"])
        yield " × ".join(pair["columns"]), *_both(pair), *associations


def _both(of: dict[str, Any]) -> tuple[float | None, float | None]:
    return of.get("total_variation"), of.get("by_chance")


def _section(heading: str, names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return (
        f"<section><h2>{heading}</h2><table><tbody><tr>{head}</tr>{body}</tbody></table></section>"
    )


def _cell(value: float | str | None) -> str:
    text = "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
    return f"<td>{escaped(text)}</td>"


def _histograms_png(found: Fidelity, layout: Layout) -> bytes:
    from matplotlib.figure import Figure

    columns = layout.schema.columns if found.target is None else layout.schema.declared
    # The target is drawn, however many other columns are left out.
    shown = list(range(len(columns)))
    if len(columns) > _MOST_COLUMNS:
        shown = [*shown[: _MOST_COLUMNS - 1], shown[-1]]
    down = math.ceil(len(shown) / _ACROSS)
    figure = Figure(figsize=(14, 2.4 * down + 0.6), layout="constrained")
    left = f" ({len(shown)} of {len(columns)} columns)" if len(shown) < len(columns) else ""
    figure.suptitle(f"{_HEADING}{left}", color=INK, fontsize=14)
    grid = figure.subplots(down, _ACROSS, squeeze=False)
    for axes, place in itertools.zip_longest(grid.flat, shown):
        if place is None:
            axes.set_axis_off()
            continue
        is_target = place == found.target
        texts = layout.schema.class_names if is_target else layout.cell_names(place)
        counts = found.counts[place]
        order = shown_cells(columns[place], counts[0])
        if is_target:
            order = np.arange(min(len(texts), _MOST_BARS))
        _bars(axes, counts / counts.sum(axis=1, keepdims=True), order)
        title = f"{short(columns[place].name, 24)}: {found.columns[place].total_variation:.3f}"
        name_cells(axes, title, texts, order)
    grid[0, 0].legend(fontsize=8, frameon=False)
    return _png(figure)


def _bars(axes: Axes, shares: np.ndarray, order: np.ndarray) -> None:
    """Draw the shares (2, cells) of both tables side by side; of very many cells their outlines."""
    styles = (("private", _GREY), ("made", ACCENT))
    for number, (name, color) in enumerate(styles):
        values, where = shares[number, order], np.arange(len(order))
        if len(order) <= _MOST_BARS:
            axes.bar(where + 0.4 * number - 0.2, values, width=0.4, color=color, label=name)
        else:
            edges = np.arange(len(order) + 1) - 0.5
            axes.stairs(values, edges, color=color, fill=number == 0, label=name)


def _associations_png(found: Fidelity) -> bytes:
    from matplotlib.figure import Figure

    size = len(found.paired)
    real, made = np.eye(size), np.eye(size)
    for a, b in itertools.combinations(range(size), 2):
        pair = found.pairs[found.paired[a], found.paired[b]]
        real[a, b] = real[b, a] = pair.real
        made[a, b] = made[b, a] = pair.made
    figure = Figure(figsize=(14, 6.2), layout="constrained")
    figure.suptitle(_HEADING, color=INK, fontsize=14)
    grid = figure.subplots(1, 3)
    names = [short(found.names[place], 18) for place in found.paired]
    titles = ("private", "made", "made minus private")
    for axes, title, values in zip(grid, titles, (real, made, made - real), strict=True):
        differ = title == titles[-1]
        low, colours = (-1, "RdBu_r") if differ else (0, "Blues")
        image = axes.imshow(values, cmap=colours, vmin=low, vmax=1)
        axes.set_title(title, fontsize=11, color=INK)
        small = 7 if size <= 20 else 4
        axes.set_xticks(range(size), names, rotation=90, fontsize=small)
        axes.set_yticks(range(size), names if axes is grid[0] else [""] * size, fontsize=small)
        bar = figure.colorbar(image, ax=axes, orientation="horizontal", shrink=0.7)
        bar.ax.tick_params(labelsize=8, colors=FAINT)
    return _png(figure)


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=72)
    return buffer.getvalue()
