"""Arrays and images of a dataset at toy size, and what an error about one says."""

from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image

from jaxdp.program.errors import InputError

IMAGES = np.arange(6 * 4 * 5, dtype=np.uint8).reshape(6, 4, 5)


def arrays(**changes: Any) -> dict[str, Any]:
    """Give a valid set of arrays, with some replaced or (None) left out."""
    valid = {
        "x_train": IMAGES[:4],
        "y_train": np.array([0, 1, 2, 0]),
        "x_test": IMAGES[4:],
        "y_test": np.array([2, 1]),
    }
    return {key: value for key, value in (valid | changes).items() if value is not None}


def check_message(error: InputError, name: str, *parts: str) -> None:
    message = str(error)
    assert message.startswith(f"--dataset={name}: ")
    assert "\n" not in message
    for part in parts:
        assert part in message


def save_image(path: Path, pixels: np.ndarray, mode: str | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = PIL.Image.fromarray(pixels)
    (image if mode is None else image.convert(mode)).save(path)


def colour(value: int) -> np.ndarray:
    return np.full((4, 5, 3), [value, 0, 255 - value], np.uint8)
