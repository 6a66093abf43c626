"""Images in which rectangles come from other images.

References:
    Yun et al. (2019), "CutMix: regularization strategy to train strong classifiers with
        localizable features". They label by the areas of both images, and a teacher may, instead.
"""

import numpy as np
from jaxtyping import Shaped


def cutmix(
    images: Shaped[np.ndarray, "n h w ch"],
    others: Shaped[np.ndarray, "m h w ch"],
    *,
    rectangles: int = 1,
    seed: int,
) -> Shaped[np.ndarray, "n h w ch"]:
    """Return images, each with rectangles of other ones at the same places.

    The sides of a rectangle are uniform between a quarter and three quarters of those of the image,
    at least one pixel, and so are its places. Later rectangles cover earlier ones. The same seed
    and sizes draw the same rectangles.

    Args:
        images: of any type.
        others: of which one is drawn for each rectangle.
        rectangles: how many an image gets.
        seed: public.

    Raises:
        ValueError: there are no others.

    Examples:
        >>> import numpy as np
        >>> from jaxdp import images
        >>> mixed = images.cutmix(np.zeros((2, 8, 8, 1)), np.ones((3, 8, 8, 1)), seed=0)
        >>> mixed.shape, sorted(set(mixed.ravel().tolist()))
        ((2, 8, 8, 1), [0.0, 1.0])
    """
    if len(others) == 0:
        raise ValueError("cutmix needs other images")
    rng = np.random.default_rng(seed)
    mixed = images.copy()
    for _ in range(rectangles):
        tops, heights = _intervals(rng, images.shape[1], len(images))
        lefts, widths = _intervals(rng, images.shape[2], len(images))
        chosen = rng.integers(0, len(others), len(images))
        places = zip(chosen, tops, heights, lefts, widths, strict=True)
        for number, (other, top, height, left, width) in enumerate(places):
            part = (slice(top, top + height), slice(left, left + width))
            mixed[number][part] = others[other][part]
    return mixed


def _intervals(rng: np.random.Generator, side: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return first pixels and lengths of parts of a side."""
    lengths = rng.integers(max(1, side // 4), max(1, 3 * side // 4) + 1, count)
    return rng.integers(0, side - lengths + 1), lengths
