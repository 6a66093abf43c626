"""A folder of somebody's own images: class folders of PNGs, of many odd sizes, and other files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import PIL.Image
import PIL.ImageDraw

SHAPES = ("circle", "square", "triangle")


def write_shapes(folder: Path, per_class: int, *, seed: int = 0) -> None:
    """Write grey drawings of shapes, 37 to 61 pixels high and wide, into class folders.

    Args:
        folder: of the class folders.
        per_class: how many of each shape.
        seed: of places, sizes and noise.
    """
    rng = np.random.default_rng(seed)
    for name in SHAPES:
        (folder / name).mkdir(parents=True)
        for number in range(per_class):
            _drawing(name, rng).save(folder / name / f"{number:03}.png")
    (folder / "circle" / "notes.txt").write_text("drawn in November")


def _drawing(name: str, rng: np.random.Generator) -> PIL.Image.Image:
    width, height = (int(side) for side in rng.integers(37, 62, 2))
    image = PIL.Image.new("L", (width, height), int(rng.integers(0, 60)))
    draw, half = PIL.ImageDraw.Draw(image), int(rng.integers(9, 15))
    x, y = (int(rng.integers(half + 1, side - half)) for side in (width, height))
    ink = int(rng.integers(140, 256))
    if name == "circle":
        draw.ellipse((x - half, y - half, x + half, y + half), fill=ink)
    elif name == "square":
        draw.rectangle((x - half, y - half, x + half, y + half), fill=ink)
    else:
        draw.polygon([(x, y - half), (x - half, y + half), (x + half, y + half)], fill=ink)
    noise = rng.normal(0, 12, (height, width))
    return PIL.Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8))
