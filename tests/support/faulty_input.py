"""Generated input for every flag and every reader, and what may come of it.

A probe is a kind of input and what reads it. An input is accepted or refused: whatever it is, it
ends with exit code 0 or 2 and in the latter case one line on standard error, and nothing has been
written. `test_faulty_input` looks at a few inputs of each kind, `offline_fuzz` at many.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from jaxdp.methods.settings import rules
from jaxdp.program import command_line

ACCEPTED, REFUSED = "accepted", "refused"


@dataclasses.dataclass(frozen=True)
class Probe:
    """A kind of input: `write` puts it into an empty folder, `read` is what is tested.

    `good` makes input that has to be accepted: without it, readers that refuse all would pass.

    `inputs` makes what good input it needs before hypothesis draws any of the other. `rewrites`
    names files that are written again whatever the input is.
    """

    name: str
    inputs: Callable[[], st.SearchStrategy[Any]]
    write: Callable[[Any, Path], None]
    read: Callable[[Any, Path], None]
    good: Callable[[], Any]
    rewrites: tuple[str, ...] = ()


def outcome(probe: Probe, given: Any) -> str:
    """Return what became of an input.

    Raises:
        Exception: what the reader has raised, which would have been a traceback.
        AssertionError: the reader wrote, or said more or less than one line.
    """
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        folder = Path(name)
        probe.write(given, folder)
        before = listing(folder)
        said, code = io.StringIO(), 0
        with contextlib.redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with command_line.one_line_errors():
                    probe.read(given, folder)
            except SystemExit as stop:
                code = int(stop.code or 0)
        after = listing(folder)
    assert code in (0, 2), f"exit code {code}"
    changed = {name for name, _ in set(before.items()) ^ set(after.items())}
    assert changed <= set(probe.rewrites), f"wrote {changed}"
    if code == 0:
        return ACCEPTED
    lines = said.getvalue().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: "), lines
    assert len(lines[0]) < 2000, f"a line of {len(lines[0])} characters"
    assert "out of memory" not in lines[0], "the input was used, and not checked"
    return REFUSED


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    """Return what is in a folder, with sizes and times of change."""
    found = {}
    for path in folder.rglob("*"):
        about = path.lstat()
        changed = 0 if path.is_dir() else about.st_mtime_ns  # a lock comes and goes
        found[str(path.relative_to(folder))] = (about.st_size, changed)
    return found


# --- Flags -------------------------------------------------------------------------------------

_WHOLE = st.one_of(
    st.integers(-2, 40),
    st.integers(),
    st.sampled_from([2**31, 2**32, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30, 10**5000 // 7]),
)
_REAL = st.one_of(
    st.floats(),
    st.floats(0, 2),
    st.sampled_from([5e-324, 1e-300, 1e-40, 1e-12, 1e12, 1e39, 1e308]),
)
# What a command line can hold: no NUL, and bytes that are no text as surrogates.
_MARKS = st.characters(exclude_characters="\0", exclude_categories=("Cs",))
_TEXT = st.one_of(
    st.text(_MARKS, max_size=12),
    st.text(st.sampled_from("\udc80\udcff/.a"), max_size=4),
    st.sampled_from(
        [
            *("", " ", "0", "none", "~", "~nobody/x", "..", ".", "/", "/dev/zero", "/etc/passwd/x"),
            *("a" * 300, "x\ny", "a,b", "krr,krr", "1_1", "0_0", "digits", "mnist", "\x1b[31m"),
            *("/proc/self/mem", "/nonexistent/x", "{}", "$a$", "--", "=", "file", "folder"),
        ]
    ),
)


def _number(value: int | float) -> str:
    with contextlib.suppress(ValueError):  # of more digits than Python writes
        return str(value)
    return "1" * 5000


def flags_of(kinds: tuple[Any, ...], known: dict[str, tuple[str, ...]]) -> st.SearchStrategy[Any]:
    """Return command lines of one to three flags with values that fit their types, or do not."""
    flag_values = command_line.FLAGS

    def one(name: str) -> st.SearchStrategy[str]:
        kind = flag_values[name].flag_type()
        if kind == "bool":
            return st.sampled_from([f"--{name}", f"--no{name}", f"--{name}=maybe"])
        values = {"int": _WHOLE.map(_number), "float": _REAL.map(_number)}.get(kind, _TEXT)
        if name in known:
            values = st.one_of(st.sampled_from(known[name]), values)
        return st.one_of(values, values, values, _TEXT).map(lambda value: f"--{name}={value}")

    names = [name for kind in kinds for name in rules(kind)]
    flags = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)
    return flags.flatmap(lambda chosen: st.tuples(*map(one, chosen)).map(list))


# --- Files -------------------------------------------------------------------------------------


@st.composite
def damaged(draw: st.DrawFn, sources: st.SearchStrategy[bytes]) -> bytes:
    """Files of which parts were cut off, changed, doubled or lost."""
    return damage(draw, draw(sources))


def damage(draw: st.DrawFn, whole: bytes) -> bytes:
    """Return bytes of which parts were cut off, changed, doubled or lost."""
    content = bytearray(whole)
    for _ in range(draw(st.integers(1, 3))):
        if not content:
            break
        start = draw(st.integers(0, len(content) - 1))
        stop = min(len(content), start + draw(st.sampled_from([1, 1, 2, 4, 8, 64, 10**6])))
        how = draw(st.sampled_from(["change", "change", "cut", "lose", "double", "zero"]))
        if how == "change":
            content[start] ^= draw(st.integers(1, 255))
        elif how == "cut":
            del content[start:]
        elif how == "lose":
            del content[start:stop]
        elif how == "double":
            content[start:start] = content[start:stop]
        else:
            content[start:stop] = bytes(stop - start)
    return bytes(content)


_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 100),
    st.sampled_from([2**64, -1, 10**400, 1e308, -1e308, 5e-324]),
    st.floats(),
    st.text(max_size=8),
)
JSON = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@st.composite
def edited(draw: st.DrawFn, original: Any) -> Any:
    """A JSON value of which one part, at any depth, is something else, lost or new."""
    if not isinstance(original, (dict, list)) or not original or draw(st.integers(0, 5)) == 0:
        return draw(JSON)
    copy = original.copy()
    keys = list(copy) if isinstance(copy, dict) else list(range(len(copy)))
    key = draw(st.sampled_from(keys))
    how = draw(st.sampled_from(["deeper", "deeper", "deeper", "lose", "double"]))
    if how == "deeper":
        copy[key] = draw(edited(copy[key]))
    elif how == "lose":
        del copy[key]
    elif isinstance(copy, dict):
        copy[draw(st.text(max_size=5))] = draw(JSON)
    else:
        copy.append(copy[key])
    return copy


@contextlib.contextmanager
def patched(*changes: tuple[Any, str, Any]) -> Iterator[None]:
    """Put other values in the place of attributes for a while."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in changes]
    for owner, name, value in changes:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def files_in(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder by their paths."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def write_files(place: str, files: dict[str, bytes], folder: Path) -> None:
    """Write files into a folder within a folder."""
    for name, content in files.items():
        path = folder / place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
