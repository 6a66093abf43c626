"""Views of images against scipy's affine transform, and their features."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import ndimage

from jaxdp.images.views import FIVE_VIEWS, View, resampled, turned_and_stretched, viewed

IMAGE = np.random.default_rng(0).normal(size=(9, 12, 2)).astype(np.float32)


def identity(rows: jax.Array) -> jax.Array:
    return rows


@pytest.mark.parametrize("shift", [(0.0, 0.0), (1.5, -2.0)])
@pytest.mark.parametrize("view", FIVE_VIEWS)
def test_resampled_is_the_affine_transform(view: View, shift: tuple[float, float]) -> None:
    middle = (np.array(IMAGE.shape[:2]) - 1) / 2
    offset = middle - np.array(shift) - view.matrix @ middle
    expected = [
        ndimage.affine_transform(IMAGE[..., k], view.matrix, offset, order=1, mode="nearest")
        for k in range(2)
    ]
    matrix = jnp.asarray(view.matrix, jnp.float32)
    found = resampled(jnp.asarray(IMAGE), matrix, jnp.asarray(shift))
    np.testing.assert_allclose(found, np.stack(expected, axis=-1), atol=1e-4)


def test_turns_and_stretches_go_the_way_they_say() -> None:
    rows, columns = np.mgrid[-4:5, -4:5]
    ramp = jnp.asarray(np.stack([rows, columns], axis=-1), jnp.float32)
    quarter = resampled(ramp, jnp.asarray(View(90.0).matrix, jnp.float32), jnp.zeros(2))
    np.testing.assert_allclose(quarter[..., 0], -columns, atol=1e-4)
    np.testing.assert_allclose(quarter[..., 1], rows, atol=1e-4)
    wide = resampled(ramp, jnp.asarray(View(0.0, 2.0, 1.0).matrix, jnp.float32), jnp.zeros(2))
    np.testing.assert_allclose(wide[..., 0], rows / 2, atol=1e-5)  # twice as high
    np.testing.assert_allclose(wide[..., 1], columns, atol=1e-5)


def test_viewed_features_are_those_of_the_resampled_images_side_by_side() -> None:
    rows = jnp.asarray(np.stack([IMAGE, 2 * IMAGE]).reshape(2, -1))
    found = jax.jit(viewed(identity, IMAGE.shape, FIVE_VIEWS))(rows)
    matrices = [jnp.asarray(view.matrix, jnp.float32) for view in FIVE_VIEWS]
    expected = [resampled(jnp.asarray(IMAGE), m, jnp.zeros(2)).reshape(-1) for m in matrices]
    np.testing.assert_allclose(found[0], np.concatenate(expected), atol=1e-6)
    np.testing.assert_allclose(found[1], 2 * found[0], atol=1e-5)
    np.testing.assert_allclose(found[0, : IMAGE.size], IMAGE.reshape(-1), atol=1e-6)


def test_guarantee_a_row_of_viewed_features_depends_on_that_row_alone() -> None:
    rows = jax.random.normal(jax.random.key(0), (3, IMAGE.size))
    features = jax.jit(viewed(identity, IMAGE.shape, FIVE_VIEWS))
    changed = features(rows.at[1].set(7.0))
    np.testing.assert_array_equal(changed[jnp.array([0, 2])], features(rows)[jnp.array([0, 2])])
    assert np.any(changed[1] != features(rows)[1])


def test_an_image_is_turned_first_and_then_stretched() -> None:
    """What is above the middle comes to the right, where a factor of the height does not move it.

    What is at its left comes above, twice as far.
    """
    matrix = turned_and_stretched(jnp.asarray(90.0), jnp.array([2.0, 1.0]))
    from_right, from_above = np.asarray(matrix) @ [0, 1], np.asarray(matrix) @ [-2, 0]
    np.testing.assert_allclose(from_right, [-1, 0], atol=1e-6)
    np.testing.assert_allclose(from_above, [0, -1], atol=1e-6)


@pytest.mark.parametrize(("degrees", "stretch"), [(15.0, (1.0, 1.0)), (0.0, (1.15, 0.9))])
def test_views_that_do_one_of_both_are_what_they_were(
    degrees: float, stretch: tuple[float, float]
) -> None:
    """Released embeddings and kept whitenings are of these."""
    angle, sides = np.deg2rad(np.float32(degrees)), np.asarray(stretch, np.float32)
    turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    found = turned_and_stretched(jnp.asarray(degrees), jnp.asarray(sides))
    np.testing.assert_allclose(found, turned / sides[:, None], rtol=1e-6, atol=1e-7)
