"""Running a method from Python, with progress bars and without files: `jaxdp.run`."""

import contextlib
import dataclasses
import functools
import hashlib
import os
import secrets
import sys
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from tqdm import TqdmWarning

from jaxdp import devices, large_arrays, numerics, processes
from jaxdp.data import Private, Spec, checked
from jaxdp.features import whitening
from jaxdp.methods import bought_schema, certified, record, warned, words
from jaxdp.methods.base import Plan
from jaxdp.methods.made import Made
from jaxdp.methods.settings import SettingsError
from jaxdp.methods.steps import RowMap, Rows, Steps, Watch
from jaxdp.methods.stored import NOTHING
from jaxdp.numerics import ByBackend
from jaxdp.privacy.dataset_ledger import DatasetLedger
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.ledger_file import TotalBudget
from jaxdp.privacy.mechanism import private_key
from jaxdp.privacy.promises import Certificate

with warnings.catch_warnings():
    # A notebook without ipywidgets has bars of text, which do as well.
    warnings.simplefilter("ignore", TqdmWarning)
    from tqdm.auto import tqdm

State = TypeVar("State", bound=Any)
PUBLIC_MAP = "public map, of synthetic images"
"""What the bar of a public array says."""
_NO_NOTES = "none"
"""What the ledger of a dataset has of the notes of a run that keeps none, and has begun."""
_SECONDS = 1.0
# Parts before which the time that remains would be told by the first one, which compiles.
_TELLING = 5
_CHUNK = ByBackend(cpu=128, accelerator=2048)
_SMALLEST_CHUNK = 8
_MOST_PROGRAMS = 3
# Values of rows mapped at once: 64 MB of them.
_MOST_VALUES = ByBackend(cpu=2**24, accelerator=2**26)


class _Bar(tqdm):
    """A progress bar that tells no remaining time before a few parts are done."""

    @property
    def format_dict(self) -> dict[str, Any]:
        """What is shown."""
        found = super().format_dict
        if found["n"] - found["initial"] < _TELLING:
            found["bar_format"] = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
        return found


@runtime_checkable
class Method(Protocol):
    """A package of `jaxdp.methods`, or anything else with its three names."""

    @property
    def Settings(self) -> type[Any]: ...  # noqa: D102, N802
    @property
    def complete(self) -> Callable[..., Any]: ...  # noqa: D102
    @property
    def make_plan(self) -> Callable[..., Plan[Any]]: ...  # noqa: D102


def run(
    method: Method | ModuleType,  # whose names may load lazily, which a check would not see
    settings: Any,
    spec: Spec,
    private: Private,
    *,
    progress: bool = True,
    ledger: str | os.PathLike[str] | None = None,
    budget: float | None = None,
) -> tuple[Made, Certificate]:
    """Release what a method releases of private data, and make what it makes of that.

    Args:
        method: `jaxdp.methods.teacher`, `dp_kip`, `dp_ntk` or, for tables, `marginals`.
        settings: `method.Settings(...)`; what is None there has a default that depends on `spec`.
        spec: public facts about the data; nothing else is derived from them.
        private: the data, as stored.
        progress: whether progress bars are shown.
        ledger: file that counts what all runs on the same data release; see
            `jaxdp.privacy.dataset_ledger`. None counts nothing. Of several processes, the first one
            alone writes it, and has a certificate that tells of earlier runs.
        budget: most epsilon of all runs in that file together, at the delta of `settings`; None for
            the one that the file has.

    Returns:
        What was made, and the certificate of it and of everything that was released on the way.

    Raises:
        SettingsError: settings contradict each other or the data.
        BudgetExceededError: all runs together would spend more than the budget.
        ValueError: the data are not what `spec` says, or `ledger` is no such file.

    Warns:
        JaxdpWarning: noise hides most of such data, more is to be distilled than there is, a class
            is lost, a schema hardly fits, or the certificate warns of something. Each once.

    Guarantee:
        Whatever is returned depends on the private data through the releases in the certificate
        alone. The run is in `ledger` before its first release, as one that has begun. Noise comes
        from the operating system, unless `settings.noise_seed` is given, and then the certificate
        says that the result must not be released.

    Examples:
        >>> import jaxdp
        >>> import numpy as np
        >>> x, y = np.random.default_rng(0).random((60, 8, 8)), np.arange(60) % 2
        >>> spec = jaxdp.Spec.images("scans", x.shape, class_names=["no", "yes"], low=0, high=1)
        >>> kip = jaxdp.methods.dp_kip
        >>> settings = kip.Settings(ipc=3, eps=2.0, steps=2, batch_size=60)
        >>> made, certificate = jaxdp.run(kip, settings, spec, jaxdp.Private(x, y), progress=False)
        >>> made
        Made(6 examples of 2 classes, scans)
        >>> certificate
        Certificate(epsilon=2, delta=1e-05, releasable=True)
    """
    _require_kinds(method, settings, spec, private)
    private = checked(private, spec)
    complete = method.complete(settings, spec, NOTHING)
    runner = PlainRunner(progress=progress)
    # Public maps are computed when nothing is left that can be refused.
    cached = whitening.Postponed(runner.computed)
    make_plan = functools.partial(method.make_plan, complete, spec, NOTHING, cached=cached)
    plan = make_plan()
    certified.require_delta(plan)
    said: set[str] = set()
    warned.warn(warned.before_work(complete, spec, complete.eps), said=said, stacklevel=2)
    counts = ledger is not None or budget is not None
    entered = _entered(plan, ledger, budget) if counts and processes.is_first() else None
    cached.may_begin = True
    entered_plan, plan = plan, make_plan() if cached.is_needed else plan
    certified.require_same_ledger(plan, entered_plan)
    released = plan.release(private, private_key(complete.noise_seed), runner)
    made = plan.finish(released, runner)
    certificate = certified.certificate(plan, None if entered is None else entered.earlier)
    if entered is not None:
        entered.file.finish(entered.name, _digests(plan, released, certificate, made))
    if certificate["not_releasable_reason"] is None:
        warned.warn(certificate["warnings"], said=said, stacklevel=2)
    warned.warn(warned.of_made(made), said=said, stacklevel=2)
    made = dataclasses.replace(
        made,
        released=released,
        beside=functools.partial(record.files_beside, plan, released, certificate),
    )
    return made, Certificate(certificate)


def _require_kinds(method: Any, settings: Any, spec: Any, private: Any) -> None:
    """Raise a `SettingsError` for an argument that is something else than its name says."""
    if not isinstance(method, Method):
        raise SettingsError(
            f"method: is {_kind(method)}, and no module of a method; pass jaxdp.methods."
            f"{method if isinstance(method, str) and method.isidentifier() else 'teacher'}"
        )
    name = getattr(method, "__name__", "method")
    if not isinstance(settings, method.Settings):
        raise SettingsError(
            f"settings: is {_kind(settings)}; pass {name}.Settings(eps=1.0, ...), which belongs to "
            "the method"
        )
    if not isinstance(spec, Spec):
        raise SettingsError(
            f"spec: is {_kind(spec)}; pass jaxdp.Spec.images(...), .rows(...) or .table(...)"
        )
    if not isinstance(private, Private):
        wanted = "jaxdp.Private(x, y), or jaxdp.Private.of_frame(frame, schema) for a table"
        raise SettingsError(f"private: is {_kind(private)}; pass {wanted}")


def _kind(value: Any) -> str:
    """Return what a value is, in words; not what it holds, which may be private."""
    if isinstance(value, type):
        return f"the class {value.__module__}.{value.__qualname__} itself"
    kind = type(value)
    where = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"of type {where}{kind.__qualname__}"


class _Entered(NamedTuple):
    """The entry of a run: in which file, under which name, and what is before it."""

    file: DatasetLedger
    name: str
    earlier: tuple[Ledger, ...]


def _entered(
    plan: Plan[Any], path: str | os.PathLike[str] | None, budget: float | None
) -> _Entered | None:
    """Enter a run into the ledger of its dataset, as one that has begun to release."""
    if path is None:
        if budget is not None:
            raise SettingsError(
                f"budget={budget}: a budget needs a ledger, the file that counts what runs "
                "release; give ledger=FILE"
            )
        return None
    counted = certified.counted(plan)
    if counted is None:
        return None
    total = None if budget is None else TotalBudget(float(budget), counted.delta)
    file, name, persons = DatasetLedger(path), secrets.token_hex(16), plan.spec.persons_declared
    with _in_words(path):
        schema = bought_schema.entry(plan.spec)
        file.require_room(counted, name=name, budget=total, persons=persons, schema=schema)
        before = file.read().before(name, but=None if schema is None else schema[0])
        reason = certified.kept_by(plan, before)
        if reason is not None:
            raise SettingsError(f"--ledger={os.fspath(path)}: {reason}")
        # It keeps no notes, so no folder can ever go on with it.
        earlier = file.enter(
            name,
            certified.method_name(plan),
            counted,
            budget=total,
            persons=persons,
            notes=_NO_NOTES,
            schema=schema,
        )
    return _Entered(file, name, earlier)


@contextlib.contextmanager
def _in_words(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say what is wrong with a ledger, or with a budget, in the words of who runs a method."""
    try:
        yield
    except OSError as error:
        raise SettingsError(
            f"ledger={os.fspath(path)!r}: cannot be used ({error.strerror}); name another file, in "
            "a folder that is there"
        ) from error
    except ValueError as error:
        raise type(error)(words.said(str(error))) from error


def _digests(
    plan: Plan[Any], released: Any, certificate: dict[str, Any], made: Made
) -> dict[str, str]:
    """Return the digest of what was released, as `Made.save` writes it, by the file's name."""
    if plan.form is None or plan.story.released is None:
        name, content = f"{made.name}.npz", record.npz_bytes(**made.arrays)
    else:
        name = plan.story.released
        content = record.release_bytes(
            plan.form, record.as_stored(plan, plan.form, released, certificate)
        )
    return {name: hashlib.sha256(content).hexdigest()}


class PlainRunner:
    """Runs the loops of a method in this process and keeps no files.

    Examples:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> import jaxdp
        >>> from jaxdp.methods.steps import RowMap
        >>> runner = jaxdp.methods.PlainRunner(progress=False)
        >>> squares = RowMap(fn=jnp.square, options={}, dtype=np.float32)
        >>> runner.rows(squares, np.array([[1.0, 2.0], [3.0, 4.0]]), what="squares").tolist()
        [[1.0, 4.0], [9.0, 16.0]]
    """

    def __init__(self, *, progress: bool = True) -> None:
        """Show progress bars or not."""
        self._progress = progress
        self._programs: Programs = {}

    def loop(self, steps: Steps[State]) -> State:
        """Return the state after all steps."""
        state = agreed(steps, steps.state)
        done = int(state.step)
        with self.bar(steps.name, steps.num_steps, unit="step", initial=done) as bar:
            for count in slices(steps.num_steps - done, agreed=functools.partial(agreed, steps)):
                state, _ = steps.advance(state, count)
                jax.block_until_ready(state)
                bar.update(count)
        return state

    def rows(self, row_map: RowMap, x: np.ndarray, *, what: str) -> np.ndarray:
        """Return what a map makes of stored rows (n, d), a chunk at a time.

        What takes more than a quarter of the memory is in a file without a name.

        Raises:
            SettingsError: there is no room for it.
        """
        first, rest = in_chunks(row_map, x, self._programs)
        try:
            made = large_arrays.empty((len(x), first.shape[1]), first.dtype)
        except large_arrays.NoRoomError as error:
            raise SettingsError(
                f"{what}: {len(x)} rows {error}; give another folder as TMPDIR"
            ) from error
        return self.filled(made, first, rest, what)

    def filled(
        self, rows: np.ndarray, first: np.ndarray, rest: Iterator[np.ndarray], what: str
    ) -> np.ndarray:
        """Fill an array with chunks, under a progress bar."""
        rows[: len(first)] = first
        done = len(first)
        with self.bar(what, len(rows), unit="row", initial=done) as bar:
            for part in rest:
                rows[done : done + len(part)] = part
                done += len(part)
                bar.update(len(part))
        return rows

    def watched(self, what: str) -> Watch:
        """Return what shows under a bar how many parts of some work are done."""

        def watch(parts: Sequence[int]) -> Iterable[int]:
            with self.bar(what, len(parts), unit="part") as bar:
                for part in parts:
                    yield part
                    bar.update(1)

        return watch

    def computed(
        self, description: dict[str, Any], compute: Callable[[Watch], np.ndarray]
    ) -> np.ndarray:
        """Return a public array, computed under a bar; none is kept."""
        del description
        return compute(self.watched(PUBLIC_MAP))

    def bar(self, what: str, total: int, *, unit: str, initial: int = 0) -> Any:
        """Return a progress bar: in a log file a line now and then, not ten a second.

        There is none for what is done already.
        """
        watched = sys.stderr.isatty() or "ipykernel" in sys.modules
        style: dict[str, Any] = {} if watched else {"mininterval": 10.0, "ascii": True}
        return _Bar(
            total=total,
            initial=initial,
            unit=unit,
            desc=what,
            disable=not self._progress or initial >= total,
            **style,
        )


def agreed(steps: Steps[Any], value: Any) -> Any:
    """Return the first process's value where several take the steps of a release together."""
    if steps.free or not processes.are_several():
        return value
    told = processes.told(value)
    return int(told) if isinstance(value, int) else jax.tree.map(jnp.asarray, told)


def slices(num_steps: int, *, agreed: Callable[[int], int] = int) -> Iterator[int]:
    """Yield how many steps to take next, in slices of about a second, until all are done.

    The first slice is one step, which compiles. `agreed` returns what all processes take.
    """
    done, length = 0, 1
    while done < num_steps:
        count = agreed(min(length, num_steps - done))
        started = time.monotonic()
        yield count
        done += count
        if done > 1:
            length = next_length(count, time.monotonic() - started)


def next_length(length: int, seconds: float) -> int:
    """Return how many steps take about a second, at most twice as many as the last ones.

    Args:
        length: of the last slice.
        seconds: that it took; 0 or less where the clock stands still or goes backwards.
    """
    if seconds * 2 * length <= _SECONDS * length:
        return 2 * length
    return max(1, int(length * _SECONDS / seconds))


Programs = dict[Hashable, Callable[[Array], Array]]


def in_chunks(
    row_map: RowMap, x: np.ndarray, programs: Programs | None = None
) -> tuple[np.ndarray, Iterator[np.ndarray]]:
    """Return what a map makes of the first rows, and an iterator over the rest.

    Args:
        row_map: the map.
        x: rows (n, d).
        programs: what earlier calls have compiled, to be taken again; the last few are kept.

    Raises:
        ValueError: there are no rows.
    """
    if len(x) == 0:
        raise ValueError("there are no rows")
    size = _chunk_size(*x.shape)
    kept = jax.dtypes.canonicalize_dtype(x.dtype)  # float32 of float64, outside of 64-bit mode
    like = jax.ShapeDtypeStruct((size, x.shape[1]), kept)
    # Compiled here for the threads that call it.
    programs = {} if programs is None else programs
    compiled = _compiled(row_map.fn, like, row_map.dtype, programs)
    then = row_map.then or (lambda rows: rows)

    def part(start: int) -> np.ndarray:
        chunk = x[start : start + size]
        missing = size - len(chunk)  # the last chunk is filled up, not compiled again
        padded = np.pad(chunk, ((0, missing), (0, 0)))
        return np.asarray(then(compiled(jnp.asarray(padded))))[: len(chunk)]

    return part(0), numerics.side_by_side(part, range(size, len(x), size))


def _chunk_size(num_rows: int, dim: int) -> int:
    """Return how many rows a chunk has, which others may fill up.

    Sizes are few, so that other numbers of rows seldom wait for a program of their own.
    """
    count = devices.local_count()
    most = min(_CHUNK.here, max(1, _MOST_VALUES.here // dim))
    size = _SMALLEST_CHUNK
    while size < most and size * count < num_rows:
        size *= 4
    return count * min(size, most)


def _compiled(
    rows_fn: Rows, like: jax.ShapeDtypeStruct, dtype: type, programs: Programs
) -> Callable[[Array], Array]:
    wanted = rows_fn, like.shape, like.dtype, dtype, numerics.has_float64()
    if wanted not in programs:
        mapped = devices.on_each(lambda chunk: rows_fn(chunk).astype(dtype))
        while len(programs) >= _MOST_PROGRAMS:  # they hold the constants of their maps
            del programs[next(iter(programs))]
        programs[wanted] = jax.jit(mapped).lower(like).compile()
    return programs[wanted]


def num_columns(rows_fn: Rows, dim: int) -> int:
    """Return how many values a function makes of a row of `dim` values."""
    return jax.eval_shape(rows_fn, jax.ShapeDtypeStruct((1, dim), jnp.float32)).shape[1]
