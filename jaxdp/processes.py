"""Processes that share one run, each on its host with its devices: `jax.distributed`.

All of them run the same release on their own rows of the data. The first one alone keeps files,
judges, and makes what is made of the release; the others are done when that has begun.
"""

import inspect
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, Key, PyTree

from jaxdp import numerics

_PATIENCE = "shutdown_timeout_seconds"
# They wait for the first one, which may judge for hours.
_PATIENCE_SECONDS = 7 * 24 * 3600


class TooFewRowsError(ValueError):
    """There are fewer examples than devices, so a process would have none."""


def join(coordinator: str | None, number: int | None, index: int | None) -> None:
    """Make this process one of several; before anything else is computed.

    Args:
        coordinator: address and port of the first process; None takes all from the scheduler that
            has started the processes (Slurm, Open MPI, Kubernetes), as jax finds it.
        number: of processes.
        index: of this one, from 0.

    Raises:
        RuntimeError: the first process cannot be reached, or no scheduler tells where it is.
    """
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    if "jax_enable_recoverability" in jax.config.values:
        # A process whose neighbour is gone says so itself, instead of being aborted.
        jax.config.update("jax_enable_recoverability", True)
    options = inspect.signature(jax.distributed.initialize).parameters
    patience: dict[str, Any] = {}
    if _PATIENCE in options:  # jax 0.5 has none
        patience[_PATIENCE] = _PATIENCE_SECONDS
    try:
        jax.distributed.initialize(coordinator, number, index, **patience)
    except ValueError as error:
        raise RuntimeError(str(error)) from error


def are_several() -> bool:
    """Return whether this process is one of several.

    Examples:
        >>> from jaxdp import processes
        >>> processes.are_several(), processes.is_first()
        (False, True)
    """
    # Asked first: counting processes starts jax's devices, which a refused command needs not.
    return jax.distributed.is_initialized() and jax.process_count() > 1


def is_first() -> bool:
    """Return whether this process keeps files and goes on after the release."""
    return not are_several() or jax.process_index() == 0


def own_part(num_rows: int) -> slice:
    """Return which of all rows are worked through by this process: equally many per device.

    Raises:
        TooFewRowsError: a process would have none.
    """
    if not are_several():
        return slice(0, num_rows)
    size = -(-num_rows // jax.device_count())
    order = list(jax.devices())
    here = [order.index(device) for device in jax.local_devices()]
    last = max(order.index(d) for d in order if d.process_index == jax.process_count() - 1)
    if (last - jax.local_device_count() + 1) * size >= num_rows:
        raise TooFewRowsError(f"{num_rows} examples are too few for {jax.device_count()} devices")
    return slice(min(here) * size, min((max(here) + 1) * size, num_rows))


def told(tree: PyTree) -> PyTree:
    """Return the numbers of the first process, which all processes call at the same place."""
    if not are_several():
        return tree
    with numerics.float64():  # or wide numbers would be cut
        return multihost_utils.broadcast_one_to_all(tree)


def told_key(key: Key[Array, ""]) -> Key[Array, ""]:
    """Return the key of the first process. It crosses the network: see `docs/guarantee.md`."""
    if not are_several():
        return key
    words = told(np.asarray(jax.random.key_data(key)))
    return jax.random.wrap_key_data(jax.numpy.asarray(words), impl=jax.random.key_impl(key))


def summed(array: Any) -> Float[Array, "..."]:
    """Return the sum in float64 of an array over all processes, on each of them."""
    if not are_several():
        with numerics.float64():
            return jax.numpy.asarray(array, np.float64)
    firsts = [
        next(d for d in jax.devices() if d.process_index == index)
        for index in range(jax.process_count())
    ]
    mesh = Mesh(np.array(firsts), ("processes",))
    split = NamedSharding(mesh, PartitionSpec("processes"))
    with numerics.float64():
        mine = np.asarray(array, np.float64)[None]
        parts = jax.make_array_from_process_local_data(split, mine)
        whole = NamedSharding(mesh, PartitionSpec())
        total = jax.jit(lambda each: each.sum(axis=0), out_shardings=whole)(parts)
        return total.addressable_data(0)
