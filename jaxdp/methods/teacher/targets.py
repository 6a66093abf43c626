"""Distances to released class means, which images may be moved towards beside a teacher."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxdp.features.base import FeatureMap, block_means, squared_distance
from jaxdp.features.random_networks import RandomNetworks


def embedding_distance(
    x: Float[Array, "s d"],
    key: Key[Array, ""],
    means: Float[Array, "c p"],
    *,
    features: FeatureMap,
) -> Float[Array, ""]:
    """Return the mean over classes of `|mean_j phi(x_kj) - m_k|^2`, for rows ordered by class.

    A second target for images that should look like their classes, not only predict them: made
    for `DistillConfig.extra_loss`, with released class means of unit-norm features. `key` is not
    used.

    References:
        Zhao & Bilen (2023), "Dataset condensation with distribution matching", equation 5.
    """
    del key
    blocks = x.reshape(means.shape[0], -1, x.shape[1])
    nu = block_means(features, blocks, jnp.ones(means.shape[0], x.dtype))
    return squared_distance(nu, means) / means.shape[0]


def network_distance(
    x: Float[Array, "s d"],
    key: Key[Array, ""],
    means: Float[Array, "c q"],
    *,
    networks: RandomNetworks,
) -> Float[Array, ""]:
    """Return the mean over classes of `|mean_j phi(x_kj) - m_k|^2` in one random network.

    A target for images that train networks, made for `DistillConfig.extra_loss`. A step in one
    network is short, and over the steps all have their turn.

    Args:
        x: rows ordered by class, equally many of each.
        key: public; it draws the network.
        means: released class means of `networks.all()`.
        networks: see there.

    References:
        Zhao & Bilen (2023), "Dataset condensation with distribution matching", equation 5.
    """
    number = jax.random.randint(key, (), 0, networks.num_networks)
    part = networks.part(means, number)
    return embedding_distance(x, key, part, features=networks.one(number))
