"""Small images in whole ones: places, sizes, and the way back."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.images.packing import Packing

PACKING = Packing(image_shape=(4, 6, 2), factor=2)


def images(count: int) -> jax.Array:
    return jax.random.uniform(jax.random.key(0), (count, 48))


def test_small_images_stand_side_by_side_and_below_each_other() -> None:
    small = jax.random.uniform(jax.random.key(0), (8, 12))
    whole = np.asarray(PACKING.packed(small)).reshape(2, 4, 6, 2)
    tiles = np.asarray(small).reshape(2, 4, 2, 3, 2)
    for number, (row, column) in enumerate([(0, 0), (0, 3), (2, 0), (2, 3)]):
        place = whole[:, row : row + 2, column : column + 3]
        np.testing.assert_array_equal(place, tiles[:, number])
    np.testing.assert_array_equal(PACKING.unpacked(PACKING.packed(small)), small)


def test_reduced_pixels_are_means_and_enlarged_ones_lie_between() -> None:
    whole = images(3)
    small = np.asarray(PACKING.reduced(whole)).reshape(3, 2, 3, 2)
    pixels = np.asarray(whole).reshape(3, 4, 6, 2)
    np.testing.assert_allclose(small[:, 1, 2], pixels[:, 2:, 4:].mean(axis=(1, 2)), rtol=1e-5)
    large = np.asarray(PACKING.enlarged(jnp.asarray(small.reshape(3, -1)))).reshape(3, 4, 6, 2)
    np.testing.assert_allclose(large[:, 0, 0], small[:, 0, 0], rtol=1e-5)  # nothing beyond the edge
    between = 0.75 * small[:, 0] + 0.25 * small[:, 1]
    np.testing.assert_allclose(large[:, 1, 0], between[:, 0], rtol=1e-5)


def test_whole_images_stay_as_they_are() -> None:
    plain, whole = Packing(image_shape=(4, 6, 2)), images(2)
    assert (plain.count, plain.small_shape) == (1, (4, 6, 2))
    for step in (plain.enlarged, plain.reduced, plain.packed, plain.unpacked):
        np.testing.assert_array_equal(step(whole), whole)


@pytest.mark.parametrize(("shape", "factor"), [((5, 6, 1), 2), ((6, 5, 1), 2), ((4, 4, 1), 0)])
def test_sides_that_do_not_divide_are_refused(shape: tuple[int, int, int], factor: int) -> None:
    with pytest.raises(ValueError, match="do not hold"):
        Packing(image_shape=shape, factor=factor)
