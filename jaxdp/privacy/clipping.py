"""Per-example gradient clipping for any loss: the general, and the slow, form.

The oracle that faster forms are tested against, and the fallback where a kernel has none.

References:
    Abadi et al. (2016), "Deep learning with differential privacy", algorithm 1.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from jaxdp import numerics

# 1 / x is below the normal range, and may be flushed to zero, for the largest float32 x.
_SHRINK = 2.0**-64
_LEAST_NORMAL = 2.0**-126


def global_norm(tree: PyTree) -> Float[Array, ""]:
    """Return the Euclidean norm of all leaves together, in float64 where jax keeps it.

    No square overflows or underflows; a norm beyond the type's range is infinite.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp.privacy import global_norm
        >>> float(global_norm({"a": jnp.array([3.0]), "b": jnp.array([4.0])}))
        5.0
    """
    leaves = [_wide(leaf) for leaf in jax.tree.leaves(tree)]
    largest = jnp.max(jnp.stack([jnp.max(jnp.abs(leaf), initial=0.0) for leaf in leaves]))
    shrink = jnp.where(largest > 1, _SHRINK, 1.0)
    safe = jnp.where(largest > 0, largest * shrink, 1.0)
    squares = sum(jnp.sum(jnp.square(leaf * shrink / safe)) for leaf in leaves)
    return safe * jnp.sqrt(squares) / shrink


def clip(tree: PyTree, clip_norm: float, keep: Bool[Array, ""]) -> PyTree:
    """Scale a tree to Euclidean norm at most `clip_norm`; zero it unless kept and finite.

    The norm that decides is a little above the computed one, by what rounding may have taken from
    the norm and may add to the result, so that the result's true norm does not exceed `clip_norm`.
    No terms of a norm cancel, so that holds however it is rounded, for one tree. Within a compiled
    program that computes the tree, `numerics.rounded_once` makes it one. Leaves of 16 bits come
    back wider.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp.privacy import clip
        >>> clip(jnp.array([3.0, 4.0]), 1.0, jnp.array(True)).round(3).tolist()
        [0.6..., 0.8...]
        >>> clip(jnp.array([3.0, 4.0]), 1.0, jnp.array(False)).tolist()
        [0.0, 0.0]
    """
    norm = global_norm(tree) * _margin(tree)
    keep = keep & jnp.isfinite(norm)
    shrink = jnp.where(norm > 1, _SHRINK, 1.0)
    safe = jnp.where(norm > 0, norm * shrink, 1.0)

    def clipped(leaf: Array) -> Array:
        wide = _wide(leaf)
        scaled = jnp.where(norm > clip_norm, wide * shrink / safe * clip_norm, wide)
        # Numbers of 16 bits have no small ones, and would be rounded up by more than any margin.
        narrow = jnp.finfo(leaf.dtype).bits < 32
        return jnp.where(keep, scaled, 0.0).astype(wide.dtype if narrow else leaf.dtype)

    return jax.tree.map(clipped, tree)


def _margin(tree: PyTree) -> float:
    """Return a factor above what rounding can do to a norm and to the entries of the result."""
    leaves = jax.tree.leaves(tree)
    size = sum(leaf.size for leaf in leaves)
    stored = max(float(jnp.finfo(leaf.dtype).eps) for leaf in leaves)
    return 1 + (size + 16) * float(jnp.finfo(_wide_type()).eps) / 2 + 4 * stored


def _wide_type() -> type:
    return jnp.float64 if numerics.has_float64() else jnp.float32


def _wide(leaf: Array) -> Array:
    return leaf.astype(jnp.promote_types(leaf.dtype, _wide_type()))


def norms_from_above(rows: Float[Array, "b k"], *, terms: int) -> Float[Array, " b"]:
    """Return Euclidean norms that rounding and underflow in float32 cannot have reduced.

    Args:
        rows: of float32.
        terms: how many roundings the norm, and what is scaled by it, may have lost: k at least.

    Guarantee:
        A norm is at least that of its row: a sum of squares is multiplied by `1 + (terms + 16)
        2^-23`, and squares that are too small for float32 count as the smallest number that is not.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp.privacy import norms_from_above
        >>> norms = norms_from_above(jnp.array([[3.0, 4.0], [1e-30, 0.0]]), terms=2)
        >>> bool(jnp.all(norms >= jnp.array([5.0, 1e-30]))), bool(norms[0] < 5.0001)
        (True, True)
    """
    margin = 1 + (terms + 16) * 2.0**-24
    return margin * jnp.sqrt(jnp.sum(jnp.square(rows), axis=1) + terms * _LEAST_NORMAL)


def sum_clipped_grads(
    loss_fn: Callable[..., Array],
    params: PyTree,
    batch: PyTree,
    mask: Bool[Array, " n"],
    *,
    clip_norm: float,
    microbatch_size: int | None = None,
) -> PyTree:
    """Return the sum of the clipped per-example gradients of the examples that `mask` selects.

    `sum_i mask_i g_i min(1, C / |g_i|)` with `g_i = grad loss_fn(params, batch_i)`.

    Args:
        loss_fn: `(params, example) -> ()`, the loss of one example.
        params: point at which to differentiate.
        batch: tree of arrays with a common leading axis n.
        mask: which examples count.
        clip_norm: bound C on one example's contribution, > 0; `math.inf` for none.
        microbatch_size: how many per-example gradients are alive at once; all by default.

    Returns:
        A tree like `params`, summed in float64 where jax keeps it.

    Raises:
        ValueError: `clip_norm` or `microbatch_size` is not positive.

    Guarantee:
        Adding or removing one example changes the result by at most `clip_norm` in Euclidean
        norm, the rounding of the sum aside (1e-16 of it in float64): the norm and the sum read one
        rounding of each gradient. Masked examples and those with a non-finite gradient contribute
        exactly zero.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp.privacy import sum_clipped_grads
        >>> def loss(w, x):
        ...     return jnp.sum(w * x)
        >>> batch, used = jnp.array([[3.0, 4.0], [0.3, 0.4]]), jnp.array([True, True])
        >>> sum_clipped_grads(loss, jnp.zeros(2), batch, used, clip_norm=1.0).round(3).tolist()
        [0.9..., 1.2...]
    """
    if not clip_norm > 0:
        raise ValueError(f"clip_norm must be > 0, got {clip_norm}")
    if microbatch_size is not None and microbatch_size < 1:
        raise ValueError(f"microbatch_size must be >= 1, got {microbatch_size}")
    n = mask.shape[0]

    some_param = jnp.concatenate([leaf.reshape(-1)[:1] for leaf in jax.tree.leaves(params)])

    def chunk_sum(batch: PyTree, mask: Array) -> PyTree:
        grads = jax.vmap(jax.grad(loss_fn), (None, 0))(params, batch)
        grads = numerics.rounded_once(grads, some_param)
        clipped = jax.vmap(lambda grad, keep: clip(grad, clip_norm, keep))(grads, mask)
        return jax.tree.map(lambda g: jnp.sum(_wide(g), axis=0), clipped)

    size = max(1, n if microbatch_size is None else min(microbatch_size, n))
    chunks = n // size
    total = jax.tree.map(lambda leaf: jnp.zeros_like(_wide(leaf)), params)
    if chunks > 1:
        parts = jax.tree.map(
            lambda z: z[: chunks * size].reshape(chunks, size, *z.shape[1:]), (batch, mask)
        )
        total, _ = jax.lax.scan(
            lambda acc, part: (jax.tree.map(jnp.add, acc, chunk_sum(*part)), None), total, parts
        )
        batch, mask = jax.tree.map(lambda z: z[chunks * size :], (batch, mask))
    if mask.shape[0]:
        total = jax.tree.map(jnp.add, total, chunk_sum(batch, mask))
    return total
