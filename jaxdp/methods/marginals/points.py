"""Points of the unit interval that are even, by which cells of records are drawn."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, UInt32

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


class Chance(NamedTuple):
    """What decides on the points of one column, or along a first axis on those of several.

    Attributes:
        bits: of each record, uniform in uint32.
        start: uniform in [0, 1).
    """

    bits: UInt32[Array, "*q m"]
    start: Float[Array, "*q"]

    def of(self, column: int | Int[Array, ""]) -> "Chance":
        """Return the chance of one of several columns."""
        return Chance(self.bits[column], self.start[column])


def drawn_chance(key: Key[Array, ""], count: int, num_columns: int) -> Chance:
    """Return chance for `count` records, independent for each column."""
    bits, start = jax.random.split(key)
    return Chance(
        jax.random.bits(bits, (num_columns, count), jnp.uint32),
        jax.random.uniform(start, (num_columns,)),
    )


def spread_points(chance: Chance, groups: Int[Array, " m"], num_groups: int) -> Float[Array, " m"]:
    """Return a number in [0, 1) for each record: even in each group, which lowers chance's part.

    Args:
        chance: of one column.
        groups: of the records, below `num_groups`.
        num_groups: how many there are, or more; times m at most 2^32.
    """
    order = _shuffled(chance.bits, groups, num_groups)
    even = (chance.start + _GOLDEN * jnp.arange(len(groups))) % 1.0
    return jnp.zeros(len(groups)).at[order].set(even)


def _shuffled(
    bits: UInt32[Array, " m"], groups: Int[Array, " m"], num_groups: int
) -> Int[Array, " m"]:
    """Return the numbers of all records, group by group, in a random order within each.

    Group, chance and number are the bits of one whole number, as XLA sorts these four times faster
    than floats with an order.
    """
    number_bits, group_bits = ((count - 1).bit_length() for count in (len(groups), num_groups))
    assert number_bits + group_bits <= 32, "too many groups"
    first = groups.astype(jnp.uint32) << (32 - group_bits) if group_bits else jnp.uint32(0)
    # Where few of its bits are left, some are the same, whose records stay in their order.
    within = bits >> (group_bits + number_bits) << number_bits
    packed = first | within | jnp.arange(len(groups), dtype=jnp.uint32)
    return (jnp.sort(packed) & (2**number_bits - 1)).astype(jnp.int32)
