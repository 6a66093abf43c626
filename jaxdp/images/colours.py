"""Images whose colours are changed at random.

References:
    Krizhevsky, Sutskever & Hinton (2012), "ImageNet classification with deep convolutional neural
        networks" (changing colours of training images).
"""

import numpy as np
from jaxtyping import Float

# The parts of an image that are drawn: least and largest.
_CONTRAST, _TINT, _BRIGHTNESS = (0.5, 1.8), (0.7, 1.3), (-0.16, 0.16)


def colour_jittered(
    images: Float[np.ndarray, "n h w ch"], *, seed: int | np.random.SeedSequence
) -> Float[np.ndarray, "n h w ch"]:
    """Return images of another contrast, tint and brightness each, within [0, 1].

    With m the mean of each channel of an image, values v become `c (v - m) + t m + b`: c is uniform
    in [0.5, 1.8], t in [0.7, 1.3] for every channel, and b in [-0.16, 0.16].

    Args:
        images: in [0, 1].
        seed: public.

    Examples:
        >>> import numpy as np
        >>> from jaxdp import images
        >>> x = np.full((2, 4, 4, 3), 0.5)
        >>> changed = images.colour_jittered(x, seed=0)
        >>> changed.shape, bool(changed.min() >= 0 and changed.max() <= 1)
        ((2, 4, 4, 3), True)
    """
    rng = np.random.default_rng(seed)

    def drawn(limits: tuple[float, float], channels: int = 1) -> np.ndarray:
        return rng.uniform(*limits, (len(images), 1, 1, channels)).astype(np.float32)

    contrast, tint = drawn(_CONTRAST), drawn(_TINT, images.shape[-1])
    moved = drawn(_BRIGHTNESS)
    means = images.mean(axis=(1, 2), keepdims=True)
    changed = images - means
    changed *= contrast
    changed += tint * means + moved
    return np.clip(changed, 0, 1, out=changed)
