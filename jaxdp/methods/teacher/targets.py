"""Distances to released class means, which images may be moved towards beside a teacher."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxdp.features.base import FeatureMap, block_means, squared_distance
from jaxdp.features.random_networks import Number, RandomNetworks
from jaxdp.methods.teacher.schedule import MANY_ROWS
from jaxdp.numerics import ByBackend, side_by_side

# What a CPU's cache holds of a network is a few rows; so many rows make up for calling it often.
_AT_ONCE, _MANY = 8, ByBackend(cpu=MANY_ROWS, accelerator=2**31)


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

    A target for images that train networks. A step in one network is short, and over the steps all
    have their turn.

    Args:
        x: rows ordered by class, equally many of each.
        key: public; it draws the network.
        means: released class means of `networks.all()`.
        networks: see there.

    References:
        Zhao & Bilen (2023), "Dataset condensation with distribution matching", equation 5.
    """
    number, part = _drawn(key, means, networks)
    return embedding_distance(x, key, part, features=networks.one(number))


def _drawn(key: Array, means: Array, networks: RandomNetworks) -> tuple[Array, Array]:
    """Return the number of a network, and the class means that were released of it."""
    number = jax.random.randint(key, (), 0, networks.num_networks, jnp.int32)
    return number, networks.part(means, number)


def network_gradient(networks: RandomNetworks) -> Callable[[Array, Array, Array], Array]:
    """Return the gradient of `network_distance` in its rows, made for `DistillConfig`.

    The gradient of a row x_j of class k is that of phi(x_j) (nu_k - m_k) 2 / (c s), with nu_k the
    mean of s rows. So a CPU computes all nu_k first, a few rows at once, then the gradients of a
    few rows at once: what the network makes of all rows does not go through memory, which takes
    half of the time and of the memory, where rows are many.

    The loop over parts is Python's, on purpose: inside a compiled loop, XLA's convolutions on the
    CPU have gradients about twenty times slower (jax issue 12868).

    Args:
        networks: see there.
    """
    whole = jax.jit(jax.grad(functools.partial(network_distance, networks=networks)))
    drawn = jax.jit(functools.partial(_drawn, networks=networks))

    @functools.partial(jax.jit, static_argnames="each")
    def part_of_mean(number: Array, x: Array, start: Number, *, each: int) -> Array:
        return networks.one(number).weighted_sum(*_few(x, start, each))

    @functools.partial(jax.jit, static_argnames="each")
    def part_of_gradient(number: Array, x: Array, off: Array, start: Number, *, each: int) -> Array:
        rows, weights = _few(x, start, each)
        features = networks.one(number)
        return jax.grad(lambda rows: features.weighted_sum(rows, weights) @ off[start // each])(
            rows
        )

    def gradient(x: Array, key: Array, means: Array) -> Array:
        if len(x) < _MANY.here:
            return whole(x, key, means)
        number, wanted = drawn(key, means)
        each = len(x) // len(means)
        starts = [k * each + i for k in range(len(means)) for i in range(0, each, _AT_ONCE)]
        found = _each(lambda start: part_of_mean(number, x, start, each=each), starts)
        nu = jnp.stack(found).reshape(*means.shape[:1], -1, wanted.shape[1]).sum(axis=1)
        off = 2 / len(means) * (nu - wanted)
        parts = _each(lambda start: part_of_gradient(number, x, off, start, each=each), starts)
        return jnp.concatenate(
            [part[_seen_before(start, each) :] for start, part in zip(starts, parts, strict=True)]
        )

    return gradient


def _each(compute: Callable[[int], Array], starts: list[int]) -> list[Array]:
    """Return what is computed of all parts; of the first one alone, which compiles it."""
    return [compute(starts[0]), *side_by_side(compute, starts[1:])]


def _few(x: Array, start: Number, each: int) -> tuple[Array, Array]:
    """Return a few rows of a class of `each`, and their weights in its mean.

    The last few begin where they fit in, and what the part before has seen weighs nothing.
    """
    size = min(_AT_ONCE, each)
    begins = jnp.minimum(start % each, each - size)
    weights = (begins + jnp.arange(size) >= start % each) / jnp.asarray(each, x.dtype)
    rows = jax.lax.dynamic_slice_in_dim(x, start // each * each + begins, size)
    return rows, weights.astype(x.dtype)


def _seen_before(start: int, each: int) -> int:
    """Return how many of the few rows that begin there the part before has seen."""
    place = start % each
    return place - min(place, each - min(_AT_ONCE, each))
