"""Whitened principal directions of public images, against their definition."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.features import directions


def cubes(rows: jax.Array) -> jax.Array:
    return jnp.concatenate([rows, rows**3, 5 + rows[:, :1]], axis=1)


def images(n: int = 40, d: int = 6) -> jax.Array:
    return jax.random.normal(jax.random.key(0), (n, d))


@pytest.mark.parametrize("most", [3, 100])
def test_gram_matrix_is_that_of_whitened_principal_directions(most: int) -> None:
    gamma, x = 0.2, images()
    phi = np.asarray(cubes(x), np.float64)
    centred = phi - phi.mean(axis=0)
    variances, vectors = np.linalg.eigh(centred.T @ centred / len(phi))
    order = [i for i in np.argsort(-variances) if variances[i] > 1e-6 * variances.max()][:most]
    variances, vectors = variances[order], vectors[:, order]
    white = centred @ vectors / np.sqrt(variances + gamma * variances.mean())
    white /= np.sqrt(np.mean(np.sum(white**2, axis=1)))
    found = np.asarray(directions.public_directions(cubes, x, gamma=gamma, most=most)(x))
    assert found.shape == white.shape
    np.testing.assert_allclose(found @ found.T, white @ white.T, atol=1e-4)


@pytest.mark.parametrize("most", [3, 100])
def test_directions_of_a_kernel_are_those_of_its_features(most: int) -> None:
    x, new = images(), images(55)[40:]

    def cross(x: jax.Array, z: jax.Array) -> jax.Array:
        return jnp.matmul(cubes(x), cubes(z).T, precision="highest")

    of_features = directions.public_directions(cubes, x, gamma=0.2, most=most)(new)
    of_kernel = directions.directions_of_kernel(cross, x, gamma=0.2, most=most)(new)
    np.testing.assert_allclose(of_kernel @ of_kernel.T, of_features @ of_features.T, atol=1e-2)


def test_a_row_s_features_depend_on_that_row_alone() -> None:
    phi = directions.public_directions(cubes, images(), gamma=0.1)
    rows = images(5)
    one_by_one = jnp.concatenate([phi(rows[i : i + 1]) for i in range(5)])
    np.testing.assert_allclose(phi(rows), one_by_one, atol=1e-5)


@pytest.mark.parametrize(("gamma", "most"), [(0.0, 3), (np.inf, 3), (0.1, 0)])
def test_directions_need_a_positive_gamma_and_number(gamma: float, most: int) -> None:
    with pytest.raises(ValueError, match="gamma"):
        directions.public_directions(cubes, images(), gamma=gamma, most=most)


def test_directions_need_images_that_differ() -> None:
    with pytest.raises(ValueError, match="differ"):
        directions.public_directions(cubes, jnp.ones((4, 3)), gamma=0.1)
