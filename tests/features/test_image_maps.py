"""Public maps of scattering features: their sizes, their symmetry and their normalisation."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.features import image_maps, public_images


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


@pytest.mark.parametrize(
    "make", [lambda s: image_maps.pooled_map(s, mirror=False), image_maps.fine_map]
)
def test_scattering_maps_need_even_sides(make: Callable) -> None:
    with pytest.raises(ValueError, match="even sides"):
        make((27, 28, 1))
