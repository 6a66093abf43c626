"""Arrays for images, in memory or in a file without a name where they are large."""

import numpy as np

from jaxdp.large_arrays import NoRoomError, empty
from jaxdp.program.data.sources import dataset_error


def images(name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an array for images (n, h, w, ch), as `jaxdp.large_arrays.empty` does.

    Args:
        name: of the dataset.
        shape: (n, h, w, ch).
        dtype: of the values.

    Raises:
        InputError: the folder has too little room.
    """
    try:
        return empty(shape, dtype)
    except NoRoomError as error:
        raise dataset_error(
            name,
            f"{shape[0]} images of {shape[2]}x{shape[1]} pixels {error}: give a smaller "
            "--image_size, or another folder as TMPDIR",
        ) from error
