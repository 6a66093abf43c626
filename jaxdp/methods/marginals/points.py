"""Points of the unit interval that are even, by which cells of records are drawn."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

# Numbers whose multiples fill the unit interval evenly.
_GOLDEN = 0.618033988749895


def sorted_points(
    groups: Int[Array, " m"], order: Float[Array, " m"], num_groups: int
) -> Float[Array, " m"]:
    """Return a number in (0, 1) for each record: even in each group, and rising with `order`.

    Args:
        groups: of the records, below `num_groups`.
        order: in [0, 1).
        num_groups: how many there are.
    """
    ranks = jnp.argsort(jnp.argsort(groups + 0.5 * order))
    sizes = jnp.bincount(groups, length=num_groups)
    before = jnp.cumsum(sizes) - sizes
    return (ranks - before[groups] + 0.5) / sizes[groups]


def spread_points(key: Key[Array, ""], groups: Int[Array, " m"]) -> Float[Array, " m"]:
    """Return a number in [0, 1) for each record: even in each group, which lowers chance's part."""
    within, start = jax.random.split(key)
    order = jnp.argsort(groups + 0.5 * jax.random.uniform(within, groups.shape))
    even = (jax.random.uniform(start) + _GOLDEN * jnp.arange(len(groups))) % 1.0
    return jnp.zeros(len(groups)).at[order].set(even)
