"""What every DP-SGD run here is made of: one noisy mean per step, as many steps as are accounted.

    g_t = (sum_{i in S_t} clip_C(g_i) + N(0, (sigma C)^2 I)) / (q n C),   S_t a Poisson sample

A privacy auditor reads this file: algorithms only supply the clipped sum and what happens to g_t.

References:
    Abadi et al. (2016), "Deep learning with differential privacy", algorithm 1.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, Num, PyTree

from jaxdp import devices, numerics
from jaxdp.devices import StoredRows
from jaxdp.privacy import sampling
from jaxdp.privacy.mechanism import SubsampledGaussian, add_gaussian_noise, require_private

State = TypeVar("State", bound=Any)


def _unchanged(z: Any) -> Any:
    return z


class ClippedSum(NamedTuple):
    """What an algorithm sums over a sample: a bounded part of every example.

    Attributes:
        chunk: `(indices, mask) -> part`, what the examples that `mask` selects add to the sum.
        zero: the sum over no example.
        assemble: linear map from the sum of the parts to an array of float64, before the noise.
        after: what becomes of the noisy mean, such as its way from features to pixels.

    Guarantee:
        Adding or removing one example moves `assemble(sum of the parts)` by at most the clip norm
        in Euclidean norm, the rounding of the sum aside. With a finite clip norm, masked examples
        and those whose gradient has no finite norm contribute exactly zero. `zero`, `assemble`
        and `after` do not depend on the private data, so what `after` does is post-processing.
    """

    chunk: Callable[[Int[Array, " chunk"], Bool[Array, " chunk"]], PyTree]
    zero: PyTree
    assemble: Callable[[PyTree], Float[Array, "..."]] = _unchanged
    after: Callable[[Float[Array, "..."]], Float[Array, "..."]] = _unchanged


def noisy_mean(
    key: Key[Array, ""],
    mechanism: SubsampledGaussian,
    clipped: ClippedSum,
    *,
    chunk_size: int,
) -> Float[Array, "..."]:
    """Return one step's noisy mean gradient, in units of the clip norm.

    In these units neither a learning rate nor Adam's epsilon depends on the clip norm.

    Args:
        key: of this step alone.
        mechanism: rate, clip norm and noise.
        clipped: the sum over a sample, of sensitivity `mechanism.clip_norm`.
        chunk_size: how many examples are processed at once, >= 1; bounds the memory of a device.

    Returns:
        What `clipped.after` makes of the mean, which is float64; for the caller to round.

    Guarantee:
        One release of the Poisson-subsampled Gaussian mechanism, if `clipped` keeps its guarantee
        for `mechanism.clip_norm`: every example is drawn by its own coin, noise is added to the
        assembled sum, and the divisor is a public constant. Where devices share out the rows, the
        noise is added once, to the sum of all devices.
    """
    sample_key, noise_key = jax.random.split(key)
    sample = sampling.poisson_sample(
        sample_key,
        num_examples=mechanism.num_examples,
        sampling_rate=mechanism.sampling_rate,
    )
    parts = sampling.sum_over_chunks(
        clipped.chunk, sample, chunk_size=_chunk_size(mechanism, chunk_size), zero=clipped.zero
    )
    total = clipped.assemble(devices.summed(parts))
    noisy_sum = add_gaussian_noise(noise_key, total, stddev=mechanism.stddev)
    unit = mechanism.clip_norm if mechanism.clip_norm < float("inf") else 1.0
    return clipped.after(noisy_sum / (mechanism.expected_batch_size * unit))


def _chunk_size(mechanism: SubsampledGaussian, limit: int) -> int:
    """Return how many examples of a device's part of a sample are processed at once."""
    shards = devices.num_shards()
    if shards == 1:
        return limit
    return sampling.chunk_size_for(mechanism.expected_batch_size / shards, limit=limit)


def accounted_steps(
    mechanism: SubsampledGaussian, step: Callable[[State, Array, Any, Array], State]
) -> Callable[[State, Array, Any, Array, int], State]:
    """Return `update(state, key, x, labels, num_steps)`, which takes steps in one compiled loop.

    It takes `num_steps` steps, fewer where the mechanism's last one comes first; `num_steps` may
    differ from call to call without another compilation. Step `t` gets `fold_in(key, t)`, so a
    run may be cut into calls anywhere. It computes in jax's 64-bit mode, whatever the caller's, so
    it cannot be called inside another `jit`. Rows may be `jaxdp.devices.StoredRows`. Those that
    `jaxdp.devices.by_rows` has laid on several devices are worked through by all of them at once,
    with the same result up to the order of sums.

    Args:
        mechanism: what the run is accounted by.
        step: `(state, key, x, labels) -> state`, one more in `state.step`; makes one release.

    Raises:
        ValueError: (`update`) the data does not have `mechanism.num_examples` rows, or labels are
            not one for each row.
        TypeError: (`update`) the key is not of `mechanism.private_key`.

    Guarantee:
        No state results from more than `mechanism.num_steps` steps, and no two steps of a run have
        the same key.
    """

    def run(
        state: State,
        key: Key[Array, ""],
        x: Num[Array, "n d"] | StoredRows,
        labels: Int[Array, " n"],
        num_steps: Int[Array, ""],
    ) -> State:
        stop = jnp.minimum(state.step + num_steps, mechanism.num_steps)
        return jax.lax.while_loop(
            lambda state: state.step < stop,
            lambda state: step(state, jax.random.fold_in(key, state.step), x, labels),
            state,
        )

    # A state and a key are copied to every device; the rows are not.
    on_all = jax.jit(devices.across(run, split=(False, False, True, True, False)))
    on_one = jax.jit(run)

    def update(
        state: State, key: Array, x: Array | StoredRows, labels: Array, num_steps: int
    ) -> State:
        require_private(key)
        across = devices.is_by_rows(x)
        n = mechanism.num_examples
        if x.shape[0] != (devices.padded(n) if across else n):
            raise ValueError(f"the mechanism is for {n} examples, got {x.shape[0]}")
        # jax reads the last label for every place beyond it: one record would decide for many.
        if labels.shape != (x.shape[0],):
            raise ValueError(f"need one label per row, got {labels.shape} for {x.shape[0]} rows")
        with numerics.float64():
            count = jnp.asarray(num_steps, jnp.int32)
            if across:
                state, key, count = devices.copied((state, key, count))
                return devices.local_copy(on_all(state, key, x, labels, count))
            return on_one(state, key, x, labels, count)

    return update


def require_classes(labels: Any, num_classes: int) -> None:
    """Raise a `ValueError` for labels that would be one-hot of no class; none inside a `jit`.

    Args:
        labels: of the rows of this process; they may lie on several devices.
        num_classes: c; labels are whole numbers in 0..c-1.

    Examples:
        >>> import numpy as np
        >>> from jaxdp.privacy import dp_sgd
        >>> dp_sgd.require_classes(np.array([0, 1, 2]), 3)
        >>> dp_sgd.require_classes(np.array([0, 1, 3]), 3)
        Traceback (most recent call last):
            ...
        ValueError: labels must be whole numbers in 0..2
    """
    if isinstance(labels, jax.core.Tracer):
        return
    parts = getattr(labels, "addressable_shards", None)  # what lies on the devices of this process
    found = np.asarray(labels) if parts is None else np.concatenate([part.data for part in parts])
    if found.dtype.kind not in "iu" or np.any((found < 0) | (found >= num_classes)):
        raise ValueError(f"labels must be whole numbers in 0..{num_classes - 1}")
