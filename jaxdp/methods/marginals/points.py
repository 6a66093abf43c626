"""Points of the unit interval that are even, by which cells of records are drawn."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

# Numbers whose multiples fill the unit interval evenly.
_GOLDEN = 0.618033988749895


def spread_points(key: Key[Array, ""], groups: Int[Array, " m"]) -> Float[Array, " m"]:
    """Return a number in [0, 1) for each record: even in each group, which lowers chance's part."""
    within, start = jax.random.split(key)
    order = jnp.argsort(groups + 0.5 * jax.random.uniform(within, groups.shape))
    even = (jax.random.uniform(start) + _GOLDEN * jnp.arange(len(groups))) % 1.0
    return jnp.zeros(len(groups)).at[order].set(even)
