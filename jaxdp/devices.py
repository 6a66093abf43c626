"""Where examples lie: on the device, shared out over several, or in a file that is too large.

Several devices have their own rows each, sums are added, everything else is copied.

    sum_i g(x_i) = sum_d sum_{i in rows of device d} g(x_i)

What a step adds to a sum depends on its own example alone, so devices need to meet once a step, in
that sum. Whatever is drawn, coins and noise, is drawn alike by all of them from the same key.

Rows that are mapped from a file and take more than a quarter of the memory stay there, and a step
reads those that it has drawn; each device those of its own part.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Int, PyTree, Shaped

from jaxdp import large_arrays

ROWS = "rows"
"""The axis of devices; inside of `across` it is bound."""
_SPLIT, _COPIED = PartitionSpec(ROWS), PartitionSpec()


class StoredRows:
    """Rows (n, ...) that stay in a file, for compiled functions that read a few at a time.

    It stands for an array as far as `rows[indices]`, `shape` and `dtype` go. To jax it is a part of
    the program and not data, so another one is another compilation.
    """

    def __init__(self, rows: np.ndarray, num_rows: int | None = None) -> None:
        """Take the rows of this process, a mapped array in a type that jax keeps as it is.

        Args:
            rows: of this process.
            num_rows: of all processes; those of `rows` where it is the only one.
        """
        self._rows, self.dtype = rows, rows.dtype
        self.shape = (padded(len(rows) if num_rows is None else num_rows), *rows.shape[1:])

    def __getitem__(self, indices: Int[Array, "*m"]) -> Shaped[Array, "*m d"]:
        """Return rows, read when the compiled function gets there; inside of `across` its own."""
        like = jax.ShapeDtypeStruct((*indices.shape, *self.shape[1:]), self.dtype)
        return jax.pure_callback(self._read, like, indices + self._first())

    def _first(self) -> Int[Array, ""] | int:
        """Return where the rows of this device begin in the file."""
        shards = num_shards()
        if shards == 1:
            return 0
        before = jax.process_index() * jax.local_device_count()
        return (jax.lax.axis_index(ROWS) - before) * (self.shape[0] // shards)

    def _read(self, indices: Any) -> np.ndarray:
        # What fills up the last device's rows is in no file, and never counts.
        return np.asarray(self._rows[np.minimum(np.asarray(indices), len(self._rows) - 1)])


jax.tree_util.register_pytree_node(StoredRows, lambda rows: ((), rows), lambda rows, _: rows)


def stays_in_file(x: np.ndarray) -> bool:
    """Return whether an array is mapped from a file and too large to be loaded."""
    size = math.prod(map(int, x.shape)) * x.dtype.itemsize
    return isinstance(x, np.memmap) and size > large_arrays.most_bytes()


def num_shards() -> int:
    """Return how many devices share out the rows here: 1 outside of `across`."""
    try:
        return int(jax.lax.psum(1, ROWS))
    except NameError:  # what jax raises for an axis that is not bound
        return 1


def padded(num_rows: int) -> int:
    """Return how many rows `by_rows` makes of so many: a multiple of the devices."""
    return -(-num_rows // jax.device_count()) * jax.device_count()


def by_rows(x: np.ndarray | Array, num_rows: int | None = None) -> Array | StoredRows:
    """Return rows on the devices, an equal part on each, filled up by rows of zeros.

    With one device it is the array as it is. It is `StoredRows` where it is too large, in all
    processes or in none.

    Args:
        x: the rows of this process: `processes.own_part` of all.
        num_rows: of all processes; those of `x` where it is the only one.
    """
    if _everywhere(isinstance(x, np.ndarray) and stays_in_file(x)):
        assert isinstance(x, np.ndarray)
        return StoredRows(x, num_rows)
    if jax.device_count() == 1:
        return jnp.asarray(x)
    total = padded(len(x) if num_rows is None else num_rows)
    here = total // jax.device_count() * jax.local_device_count()
    filled = np.pad(np.asarray(x), ((0, here - len(x)), *((0, 0),) * (x.ndim - 1)))
    return _placed(filled, _SPLIT, (total, *x.shape[1:]))


def _everywhere(here: bool) -> bool:
    """Return whether it is so in all processes, whose programs have to be alike."""
    if jax.process_count() == 1:
        return here
    from jax.experimental import multihost_utils

    return bool(np.all(multihost_utils.process_allgather(np.asarray(here))))


def is_by_rows(x: Any) -> bool:
    """Return whether rows lie on several devices, as `by_rows` lays them."""
    if isinstance(x, StoredRows):
        return jax.device_count() > 1
    sharding = getattr(x, "sharding", None)
    return isinstance(sharding, NamedSharding) and sharding.spec == _SPLIT


def copied(tree: PyTree) -> PyTree:
    """Return arrays, equal in all processes, with a copy on every device; keys are arrays, too."""

    def copy(leaf: Any) -> Array:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            words = copy(jax.random.key_data(leaf))
            return jax.random.wrap_key_data(words, impl=jax.random.key_impl(leaf))
        return _placed(np.asarray(leaf), _COPIED, leaf.shape)

    return jax.tree.map(copy, tree)


def _placed(own: np.ndarray, spec: PartitionSpec, shape: tuple[int, ...]) -> Array:
    sharding = NamedSharding(_all_devices(), spec)
    return jax.make_array_from_process_local_data(sharding, own, shape)


def across(fn: Callable[..., PyTree], *, split: tuple[bool, ...]) -> Callable[..., PyTree]:
    """Return a function that every device computes with its own rows.

    Args:
        fn: what it returns has to be equal on all devices: see `summed`.
        split: for each argument whether it is rows, of `by_rows`, or the same for all, of `copied`.
    """
    specs = tuple(_SPLIT if each else _COPIED for each in split)
    return _shard_map(fn, _all_devices(), specs, _COPIED)


def local_copy(tree: PyTree) -> PyTree:
    """Return arrays that every device has, as ordinary ones of the first device here."""
    return jax.tree.map(lambda leaf: leaf.addressable_data(0), tree)


def own_rows(x: Array) -> Array:
    """Return the part (m, ...) of rows (n, ...) that belongs to this device, zeros for padding.

    Outside of `across` these are all rows.
    """
    shards = num_shards()
    if shards == 1:
        return x
    size = -(-x.shape[0] // shards)
    filled = jnp.pad(x, ((0, shards * size - x.shape[0]), *((0, 0),) * (x.ndim - 1)))
    return jax.lax.dynamic_slice_in_dim(filled, jax.lax.axis_index(ROWS) * size, size)


def summed(tree: PyTree) -> PyTree:
    """Return the sum over all devices, on each of them; outside of `across` the tree as it is."""
    return tree if num_shards() == 1 else jax.lax.psum(tree, ROWS)


def on_each(fn: Callable[..., PyTree]) -> Callable[..., PyTree]:
    """Return a function that computes the parts of its arguments on as many devices at once.

    Args:
        fn: of arrays whose first axis is equally long. Its result has such an axis, too, and a row
            of it must not depend on how many rows there are.

    Returns:
        A function of arrays that are `local_count` times as long. Nothing is sent from device to
        device, so calls may be in any order.
    """
    if local_count() == 1:
        return fn
    mesh = Mesh(np.array(jax.local_devices()), (ROWS,))
    return _shard_map(fn, mesh, _SPLIT, _SPLIT)


def local_count() -> int:
    """Return how many devices this process has."""
    return jax.local_device_count()


@functools.cache
def _all_devices() -> Mesh:
    return Mesh(np.array(jax.devices()), (ROWS,))


def _shard_map(fn: Callable[..., PyTree], mesh: Mesh, inputs: Any, outputs: Any) -> Any:
    shard_map: Any = getattr(jax, "shard_map", None)
    if shard_map is None:  # jax < 0.6
        from jax.experimental.shard_map import shard_map as earlier

        return earlier(fn, mesh=mesh, in_specs=inputs, out_specs=outputs, check_rep=False)
    return shard_map(fn, mesh=mesh, in_specs=inputs, out_specs=outputs, check_vma=False)
