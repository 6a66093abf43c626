"""Levels of an image against means that are written out."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.features import levels


def identity(shape: levels.Shape) -> levels.FeatureFn:
    return lambda rows: rows


def test_averages_are_means_over_areas() -> None:
    np.testing.assert_allclose(levels.averaging(6, 3), np.repeat(np.eye(3), 2, axis=1) / 2)
    # A third of five pixels: one and two thirds.
    expected = [[0.6, 0.4, 0, 0, 0], [0, 0.2, 0.6, 0.2, 0], [0, 0, 0, 0.4, 0.6]]
    np.testing.assert_allclose(levels.averaging(5, 3), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("sides", "parts"), [((6, 5), (3, 2)), ((7, 27), (2, 9)), ((4, 5), (4, 3))]
)
def test_means_of_regions_are_means_over_areas(
    sides: tuple[int, int], parts: tuple[int, int]
) -> None:
    values = np.random.default_rng(0).standard_normal((2, *sides, 3))
    found = jax.jit(lambda values: levels.region_means(values, *parts))(values)
    high, wide = (levels.averaging(*both) for both in zip(sides, parts, strict=True))
    expected = np.einsum("ia,nabk,jb->nijk", high, values, wide)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    _, backward = jax.vjp(lambda values: levels.region_means(values, *parts), jnp.asarray(values))
    (slope,) = backward(found)
    expected = np.einsum("ia,nijk,jb->nabk", high, found, wide)
    np.testing.assert_allclose(slope, expected, atol=1e-6)


def test_every_side_is_averaged_by_itself() -> None:
    x = jax.random.uniform(jax.random.key(0), (2, 12 * 5 * 3))
    seen = levels.shrunk((12, 5, 3), 6)(x).reshape(2, 6, 5, 3)
    pairs = x.reshape(2, 6, 2, 5, 3)
    np.testing.assert_allclose(seen, jnp.mean(pairs, axis=2), rtol=1e-5)
    small = x[:, : 6 * 5 * 3]
    assert levels.shrunk((6, 5, 3), 6)(small) is small
    with pytest.raises(ValueError, match="largest must be >= 1"):
        levels.shrunk((6, 5, 3), 0)


@pytest.mark.parametrize(
    ("shape", "shapes"),
    [
        ((32, 9, 3), [(32, 9, 3)]),
        ((33, 47, 1), [(32, 32, 1), (33, 47, 1)]),
        ((70, 1024, 4), [(32, 32, 4), (64, 64, 1), (70, 128, 1)]),
    ],
)
def test_larger_images_have_more_levels(shape: levels.Shape, shapes: list[levels.Shape]) -> None:
    parts = levels.levels(shape, identity, identity)
    assert [part.shape for part in parts] == shapes
    row = jnp.full((1, int(np.prod(shape))), 0.25)
    for part in parts:
        np.testing.assert_allclose(
            part.see(row), np.full((1, np.prod(part.shape)), 0.25), rtol=1e-5
        )
    together = levels.side_by_side(parts)(row)
    assert together.shape == (1, sum(int(np.prod(shape)) for shape in shapes))


def test_opacity_is_no_brightness() -> None:
    rows = jnp.asarray([[0.1, 0.2, 0.6, 1.0]])
    np.testing.assert_allclose(levels.brightness((1, 1, 4))(rows), [[0.3]], rtol=1e-6)
