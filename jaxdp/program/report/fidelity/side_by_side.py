"""Made images beside private ones, on a page for the owner of the data alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jaxdp.program.report import page
from jaxdp.program.report.pictures import image_grid_png

_NOTE = (
    "Some of the images here are private training images as they are. The guarantee does not cover "
    "this page: do not release it."
)
_SHOWN = 8


def render(
    made: tuple[np.ndarray, np.ndarray],
    private: tuple[np.ndarray, np.ndarray],
    class_names: Sequence[str],
    *,
    low: float | np.ndarray,
    high: float | np.ndarray,
    title: str,
) -> str:
    """Return the page; **private**.

    Args:
        made: images (s, h, w, ch) and their classes (s,).
        private: the same of the training images; the first ones of each class are shown.
        class_names: in the order of the labels.
        low: the least value of a pixel.
        high: the largest.
        title: heading of the page.
    """
    parts = [f'<section class="loud"><h2>NOT FOR RELEASE: stays here</h2><p>{_NOTE}</p></section>']
    for heading, (x, y) in (("Made images", made), ("Private images", private)):
        png = image_grid_png(x, y, class_names, low=low, high=high, max_per_class=_SHOWN)
        parts.append(page.figure_section(heading, png))
    return page.document(title, parts, more_css=_CSS)


_CSS = """
@media (min-width: 48rem) { main { max-width: 80rem; }
  main { display: grid; grid-template-columns: 1fr 1fr; gap: 0 1rem; align-items: start; }
  h1, .loud { grid-column: 1 / -1; } }
@page { @bottom-center { content: "NOT FOR RELEASE"; color: #b42318; font: 700 9pt sans-serif; } }
"""
