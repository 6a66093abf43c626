"""Generated images of which some have a rectangle of another, for a teacher to label.

A generator draws few kinds of images. Where two of them meet there is more to ask a teacher about,
and networks learn more of its answers than of as many images that were drawn.
"""

import dataclasses

import numpy as np

from jaxdp.images import cutmix
from jaxdp.methods.made import Made


def with_cutmix(made: Made, kept: int, *, seed: int) -> Made:
    """Return a made set in which the images after the first `kept` have rectangles of these.

    Args:
        made: images, in random order.
        kept: how many stay as they are, at least one.
        seed: public.
    """
    if kept == len(made.x):
        return made
    x, rows = _mixed(made.x, made, kept, seed), _mixed(made.rows, made, kept, seed)
    return dataclasses.replace(made, x=x, rows=rows, arrays=made.arrays | {"x": x})


def _mixed(values: np.ndarray, made: Made, kept: int, seed: int) -> np.ndarray:
    images = values.reshape(-1, *made.spec.image_shape)
    mixed = cutmix(images[kept:], images[:kept], seed=seed)
    return np.concatenate([images[:kept], mixed]).reshape(values.shape)
