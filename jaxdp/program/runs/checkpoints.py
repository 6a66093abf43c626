"""Checkpoints of a run's state with orbax: atomic, the latest two kept, each with its digest.

Orbax takes a third of a second to import, so that is done when something is saved or restored: a
run that starts anew has taken its first step by then.
"""

import contextlib
import functools
import hashlib
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np
from absl import logging

from jaxdp import processes
from jaxdp.program.errors import InputError
from jaxdp.program.runs.orbax_folders import require_own_names, require_plain, require_small
from jaxdp.saved.files import open_plain

State = TypeVar("State")
_STATE, _DIGEST_BYTES = "state", 32
_BLOCK = 2**20


class DamagedError(InputError):
    """A checkpoint cannot be read, and the run cannot go on without it."""


class Checkpoints:
    """Saves and restores one pytree of arrays under increasing step numbers."""

    def __init__(self, folder: Path, *, repeatable: bool) -> None:
        """Open the folder; leftovers of an interrupted save are not checkpoints.

        Args:
            folder: of the checkpoints, in the folder of the run.
            repeatable: whether steps may be made again from an older checkpoint. Not where a step
                releases something private: the damaged checkpoint of step N was there to be seen,
                and steps up to N made again, with fresh noise, would be releases that nobody has
                accounted for. A step whose checkpoint was never finished was never shown.
        """
        self._folder, self.repeatable = folder, repeatable
        folder.mkdir(parents=True, exist_ok=True)  # where that fails, before the first step

    @functools.cached_property
    def _manager(self) -> Any:
        import orbax.checkpoint as ocp

        options = ocp.CheckpointManagerOptions(
            max_to_keep=2,
            enable_async_checkpointing=False,
            cleanup_tmp_directories=True,
            create=False,
            multiprocessing_options=_by_this_process(),
        )
        with _undisturbed():
            return ocp.CheckpointManager(self._folder.absolute(), options=options)

    def save(self, step: int, state: State) -> None:
        """Save, returning when the checkpoint is on disk.

        Raises:
            OSError: the disk is full, or cannot be written.
        """
        self.save_packed(step, packed(step, state))

    def save_packed(self, step: int, content: bytes) -> None:
        """Save what `packed` has returned, unless there is a checkpoint of that step.

        Raises:
            OSError: the disk is full, or cannot be written.
        """
        import orbax.checkpoint as ocp

        # One array, because tensorstore reports in the background, on standard error, whatever
        # other arrays it reads of a damaged checkpoint.
        tree = {_STATE: np.frombuffer(content, np.uint8)}
        with _undisturbed(), _disk_errors(self._folder):
            if step in self._manager.all_steps():
                return
            self._manager.save(step, args=ocp.args.StandardSave(tree), force=True)
            self._manager.wait_until_finished()

    def restore(self, template: State) -> State | None:
        """Return the newest state, shaped like `template`, or None where there is none.

        A damaged checkpoint is passed over with a warning where steps may be repeated.

        Raises:
            DamagedError: the newest checkpoint is damaged, and steps may not be repeated.
            InputError: there are links, or what else is no plain file.
        """
        try:
            require_plain(self._folder)
        except ValueError as error:
            raise InputError(
                f"--out_dir={self._folder.parent}: {error}, which no run leaves there; remove it, "
                "or start a new run in another folder"
            ) from error
        if not any(self._folder.iterdir()):
            return None
        steps = sorted(self._manager.all_steps(), reverse=True)
        for step in steps:
            try:
                return self._restored(step, template)
            except Exception as error:  # orbax raises whatever the layer below it raised
                reason = f"{type(error).__name__}: {error}"[:150]
                if not self.repeatable:
                    raise self._refusal(steps, reason) from error
                print(
                    f"WARNING: the checkpoint {self._folder / str(step)} is damaged ({reason}); an "
                    "older one or the start is used, which costs no privacy",
                    file=sys.stderr,
                )
                with _undisturbed():
                    self._manager.delete(step)  # or a new one could not take its place
        return None

    def _restored(self, step: int, template: State) -> State:
        import orbax.checkpoint as ocp

        require_own_names(self._folder / str(step))
        like = {_STATE: np.frombuffer(packed(step, template), np.uint8)}
        with _undisturbed():
            stored = self._manager.restore(step, args=ocp.args.StandardRestore(like))[_STATE]
        leaves, structure = jax.tree.flatten(template)
        sizes = [np.asarray(leaf).nbytes for leaf in leaves]
        parts = np.split(stored, np.cumsum([_DIGEST_BYTES, *sizes])[:-1])[1:]
        found = [
            part.view(np.asarray(leaf).dtype).reshape(np.shape(leaf))
            for part, leaf in zip(parts, leaves, strict=True)
        ]
        if packed(step, found) != stored.tobytes():
            raise ValueError("its numbers are not those that were saved")
        return jax.tree.unflatten(structure, map(jax.numpy.asarray, found))

    def _refusal(self, steps: list[int], reason: str) -> DamagedError:
        newest, *older = steps
        again = older[0] + 1 if older else 1
        return DamagedError(
            f"--out_dir={self._folder.parent}: the newest checkpoint, of step {newest}, is damaged "
            f"({reason}); to go on before it would release steps {again} to {newest} a second "
            "time, beyond what privacy.json counts; start a new run in another folder, or give "
            "--overwrite"
        )

    def close(self) -> None:
        """Release orbax's threads, if there are any."""
        if "_manager" in vars(self):
            with _undisturbed():
                self._manager.close()


def save_tree(path: Path, tree: Any) -> None:
    """Write a pytree of arrays into a folder, replacing what is there.

    Raises:
        OSError: the disk is full, or cannot be written.
    """
    with _undisturbed(), _disk_errors(path), _checkpointer() as checkpointer:
        checkpointer.save(path.absolute(), tree, force=True)
        checkpointer.wait_until_finished()


def restore_tree(path: Path) -> Any:
    """Return what `save_tree` has written.

    Raises:
        ValueError: it cannot be read, holds links, or declares more than its files hold.
    """
    try:
        require_plain(path)
        require_own_names(path)
        with _undisturbed(), _checkpointer() as checkpointer:
            require_small(checkpointer.metadata(path.absolute()).item_metadata.tree, path)
            return checkpointer.restore(path.absolute())
    except Exception as error:  # orbax raises whatever the layer below it raised
        raise ValueError(f"{type(error).__name__}: {error}"[:150]) from error


def _checkpointer() -> Any:
    import orbax.checkpoint as ocp

    return ocp.StandardCheckpointer(multiprocessing_options=_by_this_process())


def _by_this_process() -> Any:
    """Return options of a file that one of several processes writes, without asking the others."""
    import orbax.checkpoint as ocp

    if not processes.are_several():
        return ocp.options.MultiprocessingOptions()
    here = jax.process_index()
    return ocp.options.MultiprocessingOptions(
        primary_host=here, active_processes={here}, barrier_sync_key_prefix=f"process{here}"
    )


def files_digest(folder: Path) -> str:
    """Return what tells a folder's files from damaged ones: orbax does not notice every bit."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with open_plain(path) as file:
                size = os.fstat(file.fileno()).st_size
                found.update(f"{path.relative_to(folder)} {size} ".encode())
                while block := file.read(_BLOCK):
                    found.update(block)
    return found.hexdigest()


def numbers_digest(tree: Any) -> str:
    """Return what tells the numbers of a pytree from others, however they are stored."""
    found = hashlib.sha256()
    for leaf in map(np.asarray, jax.tree.leaves(tree)):
        found.update(f"{leaf.dtype.str} {leaf.shape} ".encode())
        found.update(np.ascontiguousarray(leaf).tobytes())
    return found.hexdigest()


def packed(step: int, state: Any) -> bytes:
    """Return the bytes of a pytree of arrays, after a digest of them and of the step."""
    digest, parts = hashlib.sha256(str(step).encode()), []
    for leaf in map(np.asarray, jax.tree.leaves(state)):
        parts.append(np.ascontiguousarray(leaf).tobytes())
        digest.update(f" {leaf.dtype.str} {leaf.shape} ".encode())
        digest.update(parts[-1])
    return b"".join([digest.digest(), *parts])


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Let orbax work quietly and to the end.

    It would log tracebacks of errors that are raised to the caller as well. And its threads would
    go on, and fail with tracebacks, while Ctrl-C ends the program: so that waits for them.
    """
    verbosity, pressed = logging.get_verbosity(), threading.Event()
    handler = signal.getsignal(signal.SIGINT)
    in_charge = threading.current_thread() is threading.main_thread() and callable(handler)
    logging.set_verbosity(logging.FATAL)
    if in_charge:
        signal.signal(signal.SIGINT, lambda *_: pressed.set())
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if in_charge:
            signal.signal(signal.SIGINT, handler)
    if pressed.is_set():
        raise KeyboardInterrupt


@contextlib.contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """Raise as `OSError` what tensorstore raises as `ValueError` when it cannot write."""
    try:
        yield
    except ValueError as error:
        found = re.search(r"os_error_code='(\d+)'", str(error))
        if found is None:
            raise
        code = int(found.group(1))
        raise OSError(code, os.strerror(code), str(path)) from error
