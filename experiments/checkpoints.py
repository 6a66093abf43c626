"""Checkpoints of a run's state with orbax: atomic, the latest two kept."""

from pathlib import Path
from typing import TypeVar

import jax
import numpy as np
import orbax.checkpoint as ocp

State = TypeVar("State")


class Checkpoints:
    """Saves and restores one pytree of arrays under increasing step numbers."""

    def __init__(self, folder: Path) -> None:
        """Open the folder; leftovers of an interrupted save are not checkpoints."""
        options = ocp.CheckpointManagerOptions(
            max_to_keep=2, enable_async_checkpointing=False, cleanup_tmp_directories=True
        )
        self._manager = ocp.CheckpointManager(folder.absolute(), options=options)

    def save(self, step: int, state: State) -> None:
        """Save, returning when the checkpoint is on disk."""
        leaves = {str(i): np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(state))}
        self._manager.save(step, args=ocp.args.StandardSave(leaves), force=True)
        self._manager.wait_until_finished()

    def restore(self, template: State) -> State | None:
        """Return the newest state, shaped like `template`, or None where there is none."""
        step = self._manager.latest_step()
        if step is None:
            return None
        leaves, structure = jax.tree.flatten(template)
        like = {str(i): np.zeros(leaf.shape, leaf.dtype) for i, leaf in enumerate(leaves)}
        stored = self._manager.restore(step, args=ocp.args.StandardRestore(like))
        return jax.tree.unflatten(
            structure, [jax.numpy.asarray(stored[str(i)]) for i in range(len(leaves))]
        )

    def close(self) -> None:
        """Release orbax's threads."""
        self._manager.close()
