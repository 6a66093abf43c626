"""Images that a teacher may be asked about: drawn ones, and varied copies of them.

A generator draws few kinds of images. Where they are moved, or have other colours, and where two of
them meet, there is more to ask a teacher; in colour also where they meet what nobody drew, things
that hide each other. Which of its answers are worth keeping is found out in
`jaxdp.methods.dp_ntk.labels.student`.

References:
    Frank & Davis (2025), "What makes a good dataset for knowledge distillation?" (a teacher can be
        learnt on images of random processes).
"""

import jax
import numpy as np
from jaxtyping import Array, Float, Shaped

from jaxdp.data import Codec
from jaxdp.features.public_images import dead_leaves_images, leaf_radii
from jaxdp.images import augmented, colour_jittered, cutmix

# By held-out training images, as docs/tried.md tells. A side's shift is in parts of it.
_SHIFT, _SCALING, _ROTATION = 1 / 14, 0.2, 15.0
_MOVED = 0.5  # of grey copies; coloured ones lose by it
# Parts of grey and of coloured copies that get rectangles of others, and how many.
_MIXED, _RECTANGLES = (0.5, 0.8), (1, 2)
# Part of these in colour whose rectangles come from dead leaves, and of how many at most.
_HIDDEN, _LEAVES = 0.5, 10_000
_PART = 5000


def with_copies(
    images: Shaped[np.ndarray, "m h w ch"], codec: Codec, several: int, *, seed: int
) -> Shaped[np.ndarray, "k h w ch"]:
    """Return images, and after them all copies of all of them, varied.

    Half of the grey copies are shifted, scaled or turned, and half of them have a rectangle of
    another. Coloured ones have other colours, and four fifths of them have two rectangles, which
    come from others or from dead leaves.

    Args:
        images: as stored.
        codec: of their values.
        several: how many images are returned for each that is given, >= 1.
        seed: public.

    Returns:
        As stored, `k = several m`; image `j m + i` is made from image `i`.
    """
    seeds = np.random.SeedSequence(seed).spawn(several - 1)
    leaves = _leaves(images, codec) if seeds and images.shape[-1] > 1 else None
    return np.concatenate([images, *(_copies(images, leaves, codec, each) for each in seeds)])


def _copies(
    images: np.ndarray, leaves: np.ndarray | None, codec: Codec, seed: np.random.SeedSequence
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    coloured = images.shape[-1] > 1
    starts = range(0, len(images), _PART)  # floats take four times more
    parts = [_varied(codec.to_unit(images[start : start + _PART]), rng) for start in starts]
    varied = np.concatenate([codec.from_unit(part) for part in parts])
    chosen = rng.random(len(images)) < _MIXED[coloured]
    if leaves is None:
        _mix(varied, chosen, varied, rng)
        return varied
    hidden = chosen & (rng.random(len(images)) < _HIDDEN)
    _mix(varied, chosen & ~hidden, varied, rng)
    _mix(varied, hidden, leaves, rng)
    return varied


def _mix(
    images: np.ndarray, some: np.ndarray, others: np.ndarray, rng: np.random.Generator
) -> None:
    """Put rectangles of others into some of the images."""
    number = _RECTANGLES[images.shape[-1] > 1]
    own = int(rng.integers(2**32))
    images[some] = cutmix(images[some], others, rectangles=number, seed=own)


def _leaves(like: np.ndarray, codec: Codec) -> np.ndarray:
    """Return as many dead leaves as there are images, or some thousand, as stored."""
    shape = like.shape[1:]
    count, radii = min(_LEAVES, len(like)), leaf_radii(shape)
    drawn = dead_leaves_images(jax.random.key(0), count, shape, radii=radii)
    return codec.from_unit(np.asarray(drawn).reshape(-1, *shape))


def _varied(unit: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return images in [0, 1]: coloured ones in other colours, a part of the grey ones moved."""
    own = int(rng.integers(2**32))
    if unit.shape[-1] > 1:
        return colour_jittered(unit, seed=own)
    chosen = rng.random(len(unit)) < _MOVED
    # All of them are moved, so that one shape is compiled.
    return np.where(chosen[:, None, None, None], _moved(jax.random.key(own), unit), unit)


@jax.jit
def _moved(key: Array, images: Float[Array, "n h w ch"]) -> Float[Array, "n h w ch"]:
    return augmented(
        key,
        images,
        max_shift=_SHIFT * min(images.shape[1:3]),
        max_scaling=_SCALING,
        max_rotation=_ROTATION,
    )
