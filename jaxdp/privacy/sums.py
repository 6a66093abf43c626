"""Sums over records whose rounding is bounded, whatever the records are.

A sum of float32 is rounded at every addition, by at most 2^-24 of what has been added up so far. An
attacker who chooses all records but one can choose them so that all of this adds up: over thousands
of addends, one record more then changes the sum by twice what it adds. So at most `ROWS` records
are added up in float32, and their sums in float64. For addends of norm C at most, in whatever
order,

    |rounded sum - exact sum| <= ROWS^2 2^-24 C,

and one record more changes the rounded sum by at most `MARGIN` times C.

References:
    Higham (2002), "Accuracy and stability of numerical algorithms", section 4.2 (the bound).
    Casacuberta et al. (2022), "Widespread underestimation of sensitivity in differentially private
    libraries and how to fix it" (attacks by rounding).
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxdp import numerics

ROWS = 128
"""Records that are added up in float32."""
MARGIN = 1 + 2 * ROWS**2 * 2.0**-24
"""What norms are multiplied by before clipping: two sums, each with its rounding. About 1.002."""
# So many products one after the other are faster on a CPU than one of an array of three axes.
_UNROLLED = 8


def summed_rows(factors: Float[Array, " b"], rows: Float[Array, "b p"]) -> Float[Array, " p"]:
    """Return `sum_i factors_i rows_i`; see `summed_products`."""
    return summed_products(factors[:, None], rows)[0]


def summed_products(left: Float[Array, "b c"], right: Float[Array, "b p"]) -> Float[Array, "c p"]:
    """Return `sum_i left_i right_i^T`, in float64 where jax keeps it.

    Guarantee:
        For addends of norm C / `MARGIN` at most, one record more or less changes the result by at
        most C in Euclidean norm, whatever the others are, but for 1e-16 of it.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp.privacy.sums import summed_products
        >>> summed_products(jnp.ones((3, 1)), jnp.arange(6.0).reshape(3, 2)).tolist()
        [[6.0, 9.0]]
    """
    blocks = -(-len(left) // ROWS)
    if blocks <= _UNROLLED:
        starts = range(0, max(1, blocks) * ROWS, ROWS)
        parts = [_wide(_product(left[at : at + ROWS], right[at : at + ROWS])) for at in starts]
        return sum(parts[1:], parts[0])
    padding = ((0, blocks * ROWS - len(left)), (0, 0))
    left, right = (jnp.pad(each, padding).reshape(blocks, ROWS, -1) for each in (left, right))
    products = jnp.einsum("nbc,nbp->ncp", left, right, precision="highest")
    return jnp.sum(_wide(products), axis=0)


def _product(left: Array, right: Array) -> Array:
    return jnp.matmul(left.T, right, precision="highest")


def _wide(part: Array) -> Array:
    return part.astype(jnp.float64 if numerics.has_float64() else part.dtype)
