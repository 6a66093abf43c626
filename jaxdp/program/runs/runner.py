"""Running a method's loops with files, so that a killed run goes on: checkpoints and metrics."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import jax
import numpy as np

from jaxdp.methods.base import Plan
from jaxdp.methods.runner import PlainRunner, agreed, next_length
from jaxdp.methods.settings import SettingsError
from jaxdp.methods.steps import RowMap, Steps
from jaxdp.program.runs import metrics as run_metrics
from jaxdp.program.runs.checkpoints import Checkpoints, DamagedError, packed
from jaxdp.program.runs.folder import RunFolder
from jaxdp.program.runs.release_log import ReleaseLog
from jaxdp.program.runs.rows import cache_for, features_of
from jaxdp.saved import npz as npz_files

State = TypeVar("State", bound=Any)
Look = Callable[[Any], float]
_CHECKPOINT_SECONDS = 60.0
METRICS = "metrics.json"
NOT_COVERED = (
    "accuracies and all other figures of the test split: computed from it without noise, so the "
    "guarantee does not cover them"
)


class FolderRunner(PlainRunner):
    """Runs the loops of a plan, and leaves in its folder what a resumed run needs."""

    def __init__(
        self,
        plan: Plan[Any],
        folder: RunFolder,
        log: ReleaseLog,
        metrics: dict[str, Any],
        look: Look,
        *,
        every: int | None = None,
        feature_cache: str | None = None,
    ) -> None:
        """Take where files go and how a state is looked at.

        Args:
            plan: whose loops are run.
            folder: of the run.
            log: of what it has released.
            metrics: what is measured, as `first_metrics` returns them.
            look: returns the test accuracy of what a loop shows of a state.
            every: steps between two looks at a state that is private before; by the loop otherwise.
            feature_cache: a folder that keeps rows of features, as private as the data.
        """
        super().__init__()
        self._plan, self._folder, self._log, self._metrics = plan, folder, log, metrics
        self._look, self._every, self._feature_cache = look, every, feature_cache
        self._clock = ""
        self._running_since: float | None = None

    @contextmanager
    def clocked(self, name: str) -> Iterator[None]:
        """Add the time of what follows to a metric; looks and files do not count."""
        self._clock, self._running_since = name, time.monotonic()
        try:
            yield
        finally:
            self._read_clock()
            self._running_since = None

    def _read_clock(self) -> None:
        now = time.monotonic()
        if self._running_since is not None:
            self._metrics[self._clock] += now - self._running_since
            self._running_since = now

    @contextmanager
    def _paused(self) -> Iterator[None]:
        self._read_clock()
        try:
            yield
        finally:
            if self._running_since is not None:
                self._running_since = time.monotonic()

    def rows(self, row_map: RowMap, x: np.ndarray, *, what: str) -> np.ndarray:
        """Return what a map makes of stored rows; kept where `--feature_cache` says so."""
        cache = cache_for(self._feature_cache, row_map.options)
        return features_of(row_map, x, description=what, cache=cache, runner=self)

    def loop(self, steps: Steps[State]) -> State:
        """Return the state after all steps, those of an interrupted run included."""
        if not steps.kept:
            self._metrics[self._clock] = 0.0  # it starts anew
            return self._advance(steps, steps.state, None)
        before_generator = self._plan.story.kind == "generated" and not steps.free
        folder = self._folder
        checkpoints = Checkpoints(
            folder.teacher_checkpoints if before_generator else folder.checkpoints,
            repeatable=steps.free or self._may_repeat,
        )
        try:
            with self._paused():
                state = self._restored(steps, checkpoints)
            return self._advance(steps, state, checkpoints)
        finally:
            checkpoints.close()

    @property
    def _may_repeat(self) -> bool:
        """Whether private steps may be made again.

        The same noise once more tells nothing new, and no noise has promised nothing.
        """
        ledger = self._plan.ledger
        return self._plan.settings.noise_seed is not None or not (ledger and ledger.is_private)

    def _restored(self, steps: Steps[State], checkpoints: Checkpoints) -> State:
        """Return the newest state, or that of a finished result where it is damaged."""
        if not steps.free:
            with self._log.unsaved() as unsaved:
                if unsaved is not None:
                    checkpoints.save_packed(*unsaved)
        content = None
        try:
            state = checkpoints.restore(steps.state)
            content = None if state is None else packed(int(state.step), state)
        except DamagedError as damaged:
            state = self._from_result(steps, damaged)
        state = steps.state if state is None else state
        if not checkpoints.repeatable:
            self._log.require_step(int(state.step), content)
        return state

    def _from_result(self, steps: Steps[State], damaged: DamagedError) -> State:
        name = f"{self._plan.story.result}.npz"
        if steps.from_result is None or not (self._folder.path / name).exists():
            raise damaged
        try:
            state = steps.from_result(npz_files.load(self._folder.path / name))
        except (KeyError, ValueError) as error:
            raise damaged from error
        print(f"WARNING: {damaged}. The run is whole: {name} is used", file=sys.stderr)
        return state

    def _advance(self, steps: Steps[State], state: State, checkpoints: Checkpoints | None) -> State:
        every = self._every_of(steps)
        state = agreed(steps, state)
        with self._paused():
            self._begin(steps, state, every)
        length, saved_at, total = 1, time.monotonic(), steps.num_steps
        first = done = int(state.step)
        with self.bar(steps.name, total, unit="step", initial=done) as bar:
            while done < total:
                count = agreed(steps, min(length, every - done % every, total - done))
                started = time.monotonic()
                state, note = steps.advance(state, count)
                jax.block_until_ready(state)
                seconds = time.monotonic() - started
                done += count
                bar.update(count)
                if done > first + 1:  # the first slice compiles
                    length = next_length(length, seconds)
                due = done % every == 0 or done == total
                late = time.monotonic() - saved_at > _CHECKPOINT_SECONDS
                with self._paused():
                    if checkpoints and (done == total or late or (due and not steps.free)):
                        # Before anything about the state is shown, so that a repeated step never
                        # follows a look at its first outcome.
                        self._save(steps, checkpoints, done, state)
                        saved_at = time.monotonic()
                    if due:
                        self._note(steps, done, state, note)
        return state

    def _every_of(self, steps: Steps[State]) -> int:
        chosen = self._every if not steps.free and steps.every else None
        return chosen or steps.every or max(1, steps.num_steps)

    def _save(self, steps: Steps[State], checkpoints: Checkpoints, step: int, state: State) -> None:
        if steps.free:
            checkpoints.save(step, state)
        else:
            content = packed(step, state)
            with self._log.saving(step, content):
                checkpoints.save_packed(step, content)
        self._write_metrics()

    def _write_metrics(self) -> None:
        self._folder.write_json(METRICS, self._metrics)

    def _begin(self, steps: Steps[State], state: State, every: int) -> None:
        """Look at the state before the first step, and take up the metrics of a killed run."""
        step, name, before = int(state.step), self._plan.story.watched, None
        if steps.shown is not None:
            before = self._look(steps.shown(steps.state))
            self._metrics[f"{name}_before"] = before
            if self._metrics[name] is None:
                self._metrics[name] = before
        if steps.every is None:
            return
        points = [point for point in self._metrics["history"] if point["step"] <= step]
        if steps.shown is not None:
            points = points or [{"step": 0, name: before}]
        self._metrics["history"] = points
        due = step % every == 0 or step == steps.num_steps
        if steps.shown is not None and due and points[-1]["step"] < step:
            self._note(steps, step, state, None)  # killed before it was looked at

    def _note(self, steps: Steps[State], step: int, state: State, note: Any) -> None:
        """Look at a state that has been kept, and note what is seen."""
        name = self._plan.story.watched
        if steps.shown is not None:
            value = self._look(steps.shown(state))
        elif note is not None:
            value = self._finite(float(note), steps.name, step)
        else:
            return
        self._metrics[name] = value
        if steps.every:
            self._metrics["history"].append({"step": step, name: value})
        if not steps.free:
            self._write_metrics()

    def _finite(self, value: float, name: str, step: int) -> float:
        if not np.isfinite(value):
            raise SettingsError(
                f"--learning_rate={self._plan.settings.learning_rate}: {name} has diverged at step "
                f"{step}; lower it"
            )
        return value


def first_metrics(plan: Plan[Any], folder: RunFolder, device: str) -> dict[str, Any]:
    """Return the metrics of a run that starts, with those of an interrupted run in their place."""
    story = plan.story
    first = {
        key: list(value) if isinstance(value, tuple) else value for key, value in story.metrics
    }
    first |= {"device": device, "not_covered": NOT_COVERED, "finished": False}
    return run_metrics.resumed(folder, first, point=story.watched)
