"""Public maps of scattering features: their sizes, their symmetry and their normalisation."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.features import base, image_maps, public_images


def pooled_map(shape: tuple[int, int, int]) -> Callable[[jax.Array], jax.Array]:
    return image_maps.pooled_map(shape, mirror=False)


@pytest.mark.parametrize(
    ("shape", "mirror", "num_features"),
    [((28, 28, 1), False, 1296), ((32, 32, 3), True, 1944), ((8, 12, 1), True, 81)],
)
def test_pooled_maps_have_few_features(
    shape: tuple[int, int, int], mirror: bool, num_features: int
) -> None:
    feature_fn = image_maps.pooled_map(shape, mirror=mirror)
    rows = jax.ShapeDtypeStruct((5, int(np.prod(shape))), jnp.float32)
    assert jax.eval_shape(feature_fn, rows).shape == (5, num_features)


def test_mirror_images_have_nearly_the_same_features() -> None:
    shape = (16, 16, 1)
    x = public_images.dead_leaves_images(jax.random.key(0), 4, shape)
    mirrored = x.reshape(-1, *shape)[:, :, ::-1].reshape(x.shape)

    def distance(mirror: bool) -> float:
        feature_fn = jax.jit(image_maps.pooled_map(shape, mirror=mirror))
        first, second = feature_fn(x), feature_fn(mirrored)
        return float(jnp.linalg.norm(first - second) / jnp.linalg.norm(first))

    assert distance(True) < 0.6 * distance(False)


@pytest.mark.parametrize(
    ("shape", "num_features"), [((28, 28, 1), 1600), ((32, 32, 3), 4800), ((8, 12, 1), 200)]
)
def test_fine_maps_have_features_of_every_patch(
    shape: tuple[int, int, int], num_features: int
) -> None:
    feature_fn = image_maps.fine_map(shape)
    rows = jax.ShapeDtypeStruct((5, int(np.prod(shape))), jnp.float32)
    assert jax.eval_shape(feature_fn, rows).shape == (5, num_features)


@pytest.mark.parametrize("channels", [1, 3])
def test_fine_maps_are_normalised_in_groups_of_five_paths(channels: int) -> None:
    shape = (16, 16, channels)
    x = public_images.dead_leaves_images(jax.random.key(0), 3, shape)
    groups = jax.jit(image_maps.fine_map(shape))(x).reshape(3, 5 * channels, 5 * 16)
    np.testing.assert_allclose(jnp.mean(groups, axis=2), 0, atol=1e-4)
    # Groups whose variance is near the floor, of faint second-order paths, stay below 1.
    variances = jnp.mean(groups**2, axis=2)
    assert jnp.all(variances <= 1 + 1e-3)
    np.testing.assert_allclose(variances[:, 0], 1, atol=0.01)


@pytest.mark.parametrize("make", [pooled_map, image_maps.fine_map])
def test_odd_images_are_seen_within_a_border_of_zeros(make: Callable) -> None:
    x = jax.random.uniform(jax.random.key(0), (2, 9 * 13 * 3))
    within = jnp.pad(x.reshape(2, 9, 13, 3), ((0, 0), (3, 4), (1, 2), (0, 0))).reshape(2, -1)
    odd, even = make((9, 13, 3)), make((16, 16, 3))
    np.testing.assert_allclose(jax.jit(odd)(x), jax.jit(even)(within), atol=1e-5)


@pytest.mark.parametrize("make", [pooled_map, image_maps.fine_map])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_sizes_do_not_bring_features(make: Callable, channels: int) -> None:
    """Sides of 1024 have those of 32, and of two levels of brightness."""

    def num_features(high: int, wide: int) -> int:
        row = jax.ShapeDtypeStruct((1, high * wide * channels), jnp.float32)
        return jax.eval_shape(make((high, wide, channels)), row).shape[1]

    small, more = num_features(32, 32), 4 * (81 if make is pooled_map else 25)
    assert [num_features(side, side) for side in (33, 65, 1024)] == [
        small + more,
        small + 2 * more,
        small + 2 * more,
    ]
    assert num_features(8, 1023) == num_features(8, 32) + 2 * more


@pytest.mark.parametrize("make", [pooled_map, image_maps.fine_map, image_maps.patch_map])
def test_guarantee_features_of_large_and_odd_images_depend_on_their_own_image_only(
    make: Callable,
) -> None:
    """And their embeddings have norm 1 at most, whatever the size."""
    of_groups = {"normalisation": "group"} if make is image_maps.patch_map else {}
    for shape in ((9, 13, 1), (67, 9, 4)):
        phi = make(shape, **of_groups)
        dim = int(np.prod(shape))
        embed = jax.jit(base.unit_features(phi, dim).weighted_sum)
        x = jax.random.uniform(jax.random.key(0), (3, dim))
        x = x.at[0].set(0.0).at[1].multiply(1e4)
        for row in x:
            assert jnp.linalg.norm(embed(row[None], jnp.ones(1))) <= 1
        mapped = jax.jit(phi)
        np.testing.assert_array_equal(mapped(x)[1:], mapped(x.at[0].set(100.0))[1:])


def test_larger_scales_see_more_pixels() -> None:
    """Patches of 8 pixels, 8 along a side: sides of 64 are seen as they are, others as means."""
    make = functools.partial(image_maps.patch_map, max_scale=3, num_angles=1, normalisation="none")
    x = jax.random.uniform(jax.random.key(0), (2, 64 * 64))
    twice = jnp.repeat(jnp.repeat(x.reshape(2, 64, 64), 2, axis=1), 2, axis=2).reshape(2, -1)
    small, large = (jax.jit(make((side, side, 1))) for side in (64, 128))
    np.testing.assert_allclose(large(twice), small(x), atol=1e-5)
    assert small(x).shape == (2, 64 * 7)


def test_other_channels_are_refused() -> None:
    with pytest.raises(ValueError, match=r"2 channels.* leave some out, or make their mean"):
        image_maps.fine_map((8, 8, 2))
