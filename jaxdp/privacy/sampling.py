"""Poisson sampling: every example by its own coin, processed in chunks of fixed size.

References:
    Abadi et al. (2016), "Deep learning with differential privacy", section 3.1.
    Zhu & Wang (2019), "Poisson subsampled Renyi differential privacy", definition 5.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key, PyTree

from jaxdp import devices

_COIN_SIDES = 2**32


class PoissonSample(NamedTuple):
    """The drawn examples: `indices` (n,), of which the first `size` () are meant."""

    indices: Array
    size: Array


def realised_rate(sampling_rate: float) -> float:
    """Return the probability with which `poisson_sample` really draws an example.

    The rate is rounded down to a multiple of 2^-32, so an accountant that is given the nominal
    rate never understates the loss.
    """
    return math.floor(sampling_rate * _COIN_SIDES) / _COIN_SIDES


def poisson_sample(
    key: Key[Array, ""], *, num_examples: int, sampling_rate: float
) -> PoissonSample:
    """Draw every example independently with probability `sampling_rate`.

    Args:
        key: fresh for every step.
        num_examples: n, >= 1.
        sampling_rate: q in (0, 1].

    Returns:
        All draws, in increasing order; no draw is dropped, however many there are. Where devices
        share out the rows (`jaxdp.devices.across`), those of this device, counted from its first.

    Raises:
        ValueError: an argument is out of range.

    Guarantee:
        Inclusions are independent over examples and steps, with probability at most
        `sampling_rate`: the sampler of the Poisson-subsampled Gaussian mechanism. An example's coin
        is the same on whatever number of devices.

    Examples:
        >>> from jaxdp.privacy import poisson_sample, private_key
        >>> sample = poisson_sample(private_key(), num_examples=10_000, sampling_rate=0.2)
        >>> 1500 < int(sample.size) < 2500
        True
    """
    if num_examples < 1:
        raise ValueError(f"num_examples must be >= 1, got {num_examples}")
    if not 0 < sampling_rate <= 1:
        raise ValueError(f"sampling_rate must be in (0, 1], got {sampling_rate}")
    sides = math.floor(sampling_rate * _COIN_SIDES)
    if sides == _COIN_SIDES:
        drawn = jnp.ones(num_examples, bool)
    else:
        drawn = jax.random.bits(key, (num_examples,), jnp.uint32) < jnp.uint32(sides)
    drawn = devices.own_rows(drawn)
    (indices,) = jnp.nonzero(drawn, size=drawn.shape[0], fill_value=0)
    return PoissonSample(indices, jnp.sum(drawn, dtype=jnp.int32))


def sum_over_chunks(
    chunk_fn: Callable[[Int[Array, " chunk"], Bool[Array, " chunk"]], PyTree],
    sample: PoissonSample,
    *,
    chunk_size: int,
    zero: PyTree,
) -> PyTree:
    """Sum `chunk_fn(indices, mask)` over as many chunks as the sample needs.

    Args:
        chunk_fn: takes `chunk_size` indices and which of them are meant.
        sample: what to process; its size may differ at every step.
        chunk_size: fixed size of a chunk, >= 1.
        zero: the sum over no chunk.

    Guarantee:
        Every drawn example is passed on exactly once, unmasked; nothing is truncated.
    """
    n = sample.indices.shape[0]
    padded = jnp.pad(sample.indices, (0, -n % chunk_size))
    lanes = jnp.arange(chunk_size, dtype=jnp.int32)

    def more(carry: tuple[Array, PyTree]) -> Array:
        return carry[0] < sample.size

    def step(carry: tuple[Array, PyTree]) -> tuple[Array, PyTree]:
        start, total = carry
        indices = jax.lax.dynamic_slice_in_dim(padded, start, chunk_size)
        part = chunk_fn(indices, start + lanes < sample.size)
        return start + chunk_size, jax.tree.map(jnp.add, total, part)

    return jax.lax.while_loop(more, step, (jnp.zeros((), jnp.int32), zero))[1]


def chunk_size_for(expected_batch_size: float, *, limit: int) -> int:
    """Return a chunk size of at most `limit` that wastes few lanes on a typical batch.

    A batch of `B +- sqrt(B)` examples is cut into the fewest equal chunks that hold
    `B + 2 sqrt(B)`, so that an extra chunk is needed in about one step of forty.
    """
    typical = math.ceil(expected_batch_size + 2 * math.sqrt(expected_batch_size))
    return math.ceil(typical / math.ceil(typical / limit))
