"""The probes of tables: CSV and Parquet files, schemas, flags of runs on them and of persons."""

from __future__ import annotations

import csv
import functools
import gzip
import importlib.util
import io
import json
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis
import numpy as np
from hypothesis import strategies as st

from jaxdp.program.data import drafts, table_files, tables
from jaxdp.program.data.load import dataset_for
from jaxdp.program.run_flags import GenerateFlags
from support import drivers, faulty_input, toy_tables
from support.dataset_probes import planned
from support.faulty_input import Probe

_SCHEMA = "people.json"
_NAMES = tuple(toy_tables.COLUMNS)


class Given(NamedTuple):
    """A file of a table, and the flags beside `--csv` and `--schema`."""

    name: str
    content: bytes
    flags: tuple[str, ...] = ()


@functools.cache
def _cells() -> list[list[str]]:
    """The header and 8 records of the toy table."""
    frame = toy_tables.frame_of(8)[list(_NAMES)]
    return [list(_NAMES), *frame.to_numpy().tolist()]


def _write(given: Given, folder: Path) -> None:
    (folder / given.name).write_bytes(given.content)
    (folder / _SCHEMA).write_text(json.dumps({"columns": toy_tables.COLUMNS}))


def _read(given: Given, folder: Path) -> None:
    """Read a table as a run does."""
    flags = (f"--csv={given.name}", f"--schema={_SCHEMA}", *given.flags)
    data = dataset_for(drivers.settings(GenerateFlags, *flags), seed=0)
    assert np.isfinite(data.private.x).all()
    assert len(data.private.x) > 0
    repr(data.spec)


def _read_new(given: Given, folder: Path) -> None:
    """Read records without their target, as `experiments.classify` does; begin a schema."""
    source = table_files.Source("csv", given.name)
    assert np.isfinite(tables.read_records(source, toy_tables.schema_of())).all()
    frame, dialect = table_files.header(source, rows=1000)
    json.dumps(drafts.draft(frame, dialect.to_json()), allow_nan=False)


_FLAGS = st.sampled_from(
    [
        (),
        (),
        ("--records_per_person=2", "--person_column=name"),
        ("--records_per_person=1", "--person_column=age", "--test_fraction=0.3"),
        ("--subset=3", "--codes=raw"),
        ("--test_fraction=0.3",),
        ("--test_csv=people.json",),
    ]
)

# --- CSV --------------------------------------------------------------------------------------

_FORMULAS = ("=1+1", "=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1:A9)", '=HYPERLINK("x","y")')
_ODD_NUMBERS = ("1e400", "-inf", "nan", "0x10", "1_000", "1,5", "1.2.3", "9" * 5000, "1e-400", "-0")
_ODD_TEXTS = (
    "\0",
    "\u202e",
    "e\u0301",
    "\u0661\u0662",
    "\ufeff",
    "\x1b[31m",
    '"',
    "'",
    "\r",
    "a\nb",
)
_CELLS = st.one_of(
    st.sampled_from(
        [*_FORMULAS, *_ODD_NUMBERS, *_ODD_TEXTS, "", " ", "NA", "yes", "no", "II", "7"]
    ),
    st.sampled_from(["x" * 200_000, "true", "2024-05-31", "-9223372036854775808", "\t"]),
    st.text(max_size=6),
)


@st.composite
def _csv(draw: st.DrawFn) -> Given:
    """A CSV file as some program or person might have written it."""
    cells = [list(line) for line in _cells()]
    for _ in range(draw(st.integers(0, 3))):
        row = draw(st.sampled_from([0, *range(len(cells))]))
        column = draw(st.integers(0, len(_NAMES) - 1))
        how = draw(st.sampled_from(["cell", "cell", "cell", "longer", "shorter", "empty", "lost"]))
        if how == "cell":
            cells[row][column:][:1] = [""]
            cells[row] = [*cells[row][:column], draw(_CELLS), *cells[row][column + 1 :]]
        elif how == "longer":
            cells[row] = [*cells[row], draw(_CELLS)]
        elif how == "shorter":
            cells[row] = cells[row][:column]
        elif how == "empty":
            cells[row] = []
        else:
            cells = cells[:row] or cells[:1]
            break
    return draw(_stored(_text_of(draw, cells)))


def _text_of(draw: st.DrawFn, cells: list[list[str]]) -> str:
    """Return lines by some separator, quotes and line ends."""
    odd = draw(st.integers(0, 3)) == 0
    mark = draw(st.sampled_from([",", ", ", ";", "\t", "|"])) if odd else ","
    end = draw(st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\x0b"])) if odd else "\n"
    if draw(st.integers(0, 5)) == 0:  # as somebody writes it who forgets quotes
        return end.join(mark.join(line) for line in cells)
    text = io.StringIO()
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    lines = csv.writer(text, delimiter=mark[0], lineterminator=end, quoting=quoting)
    lines.writerows(cells)
    return text.getvalue()


@st.composite
def _stored(draw: st.DrawFn, text: str) -> Given:
    """The bytes of a text, perhaps compressed, perhaps not whole."""
    coding = draw(st.sampled_from(["utf-8"] * 9 + ["utf-8-sig", "utf-16", "latin-1"]))
    content = text.encode(coding, "replace")
    if draw(st.integers(0, 3)) == 0:
        content = faulty_input.damage(draw, content)
    how = draw(
        st.sampled_from(["plain"] * 4 + ["gz", "gz", "broken", "twice", "claimed", "hidden"])
    )
    if how in ("gz", "broken", "twice", "hidden"):
        content = gzip.compress(content, mtime=0)
    if how == "broken":
        content = faulty_input.damage(draw, content)
    if how == "twice":
        content += draw(st.sampled_from([content, b"x", b"\0" * 8, content[:9]]))
    name = "t.csv" if how in ("plain", "hidden") else "t.csv.gz"
    return Given(name, content, draw(_FLAGS))


def _good_csv() -> Given:
    return Given("t.csv", "".join(",".join(line) + "\r\n" for line in _cells()).encode())


# --- Parquet ----------------------------------------------------------------------------------


def _arrow_types() -> list[Any]:
    import pyarrow as pa

    whole = [pa.int8(), pa.int64(), pa.uint8(), pa.uint64()]
    other = [pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.null(), pa.string()]
    long = [pa.large_string(), pa.binary(), pa.binary(3), pa.dictionary(pa.int8(), pa.string())]
    exact = [pa.decimal128(10, 2), pa.decimal128(38, 0), pa.decimal256(60, 3)]
    days = [pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns"), pa.duration("us")]
    times = [pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")]
    nested = [
        pa.list_(pa.int64()),
        pa.struct([("a", pa.string())]),
        pa.map_(pa.string(), pa.int8()),
    ]
    return [*whole, *other, *long, *exact, *days, *times, pa.timestamp("us", "UTC"), *nested]


def _values(draw: st.DrawFn, kind: Any, number: int) -> list[Any]:
    """Return values that a type of pyarrow may have, its extremes among them."""
    import pyarrow as pa

    one: list[Any]
    if pa.types.is_integer(kind):
        limits = np.iinfo(kind.to_pandas_dtype())
        one = [0, 50, limits.min, limits.max]
    elif pa.types.is_floating(kind):
        one = [0.0, 50.5, math.nan, math.inf, -0.0, 6e4]
    elif pa.types.is_boolean(kind):
        one = [True, False]
    elif pa.types.is_decimal(kind):
        one = [0, 50, 10 ** (kind.precision - kind.scale) - 1]
    elif pa.types.is_date64(kind):
        one = [0, 86_400_000 * 50, -(86_400_000 * 10**8)]
    elif pa.types.is_time(kind):
        one = [0, 50]
    elif pa.types.is_temporal(kind):
        one = [0, 50, 2**31 - 1] if kind.bit_width == 32 else [0, 50, 2**62, -(2**62)]
    elif pa.types.is_fixed_size_binary(kind):
        one = [b"yes", b"\xff\0x"]
    elif pa.types.is_binary(kind):
        one = [b"yes", b"\xff\0", b""]
    elif pa.types.is_list(kind):
        one = [[], [1, None]]
    elif pa.types.is_struct(kind):
        one = [{"a": "x"}, {"a": None}]
    elif pa.types.is_map(kind):
        one = [[("x", 1)], []]
    else:
        one = ["yes", "no", "50", "", "=1+1", "\0", "\U0001f600"]
    some = st.sampled_from(one)
    with_none = some if draw(st.booleans()) else st.one_of(st.none(), some)
    return draw(st.lists(with_none, min_size=number, max_size=number))


@st.composite
def _parquet(draw: st.DrawFn) -> Given:
    """A Parquet file of which some columns are of another type than the schema's."""
    import pyarrow as pa

    number = draw(st.sampled_from([8, 8, 8, 8, 2, 1, 0]))
    columns = dict(zip(_NAMES, zip(*_cells()[1:], strict=True), strict=True))
    arrays = {name: pa.array(list(column[:number])) for name, column in columns.items()}
    for name in draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=2)):
        kind = draw(st.sampled_from(_arrow_types()))
        if pa.types.is_null(kind):
            arrays[name] = pa.nulls(number)
        else:
            values = _values(draw, kind, number)
            inner = pa.string() if pa.types.is_dictionary(kind) else kind
            arrays[name] = pa.array(values, inner).cast(kind)
    names = list(arrays)
    if draw(st.integers(0, 7)) == 0:
        names[draw(st.integers(0, len(names) - 1))] = draw(
            st.sampled_from(["age", "", "x\ny", "Z"])
        )
    content = _parquet_bytes(draw, pa.Table.from_arrays(list(arrays.values()), names))
    if draw(st.integers(0, 3)) == 0:
        content = faulty_input.damage(draw, content)
    return Given("t.parquet", content, draw(_FLAGS))


def _parquet_bytes(draw: st.DrawFn, table: Any) -> bytes:
    from pyarrow import ArrowException, parquet

    buffer = io.BytesIO()
    try:
        parquet.write_table(
            table,
            buffer,
            row_group_size=draw(st.sampled_from([1, 3, 100])),
            compression=draw(st.sampled_from(["none", "snappy", "gzip", "zstd"])),
            use_dictionary=draw(st.booleans()),
            store_schema=draw(st.booleans()),
        )
    except ArrowException:  # times that Parquet does not have
        hypothesis.reject()
    return buffer.getvalue()


def _good_parquet() -> Given:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "t.parquet"
        toy_tables.frame_of(8).to_parquet(path)
        return Given("t.parquet", path.read_bytes())


# --- Schemas ----------------------------------------------------------------------------------

_GROUPED: dict[str, Any] = {
    "missing": ["", "?", -9],
    "about": "a toy",
    "columns": toy_tables.COLUMNS
    | {
        "ill": {
            "type": "categorical",
            "categories": ["no", "yes", "perhaps"],
            "target": True,
            "classes": {"well": ["no"], "ill": ["yes", "perhaps"]},
        }
    },
}
_PLAIN = {"columns": toy_tables.COLUMNS}
_NUMBERS = st.sampled_from(
    [0, 1, -1, 10, 2**53, 2**53 + 1, 2**64, 10**400, 1e300, 1e308, math.nan, math.inf, 5e-324, 0.5]
)
_LISTS = st.one_of(
    st.lists(st.sampled_from(["no", "yes", "I", "other", "", "a ", 1, 1.0, -0.0]), max_size=4),
    st.sampled_from([[[]], [None], [True], [math.nan], list(range(10**4 + 1))]),
)
_GROUPS = st.dictionaries(st.sampled_from(["well", "ill", "", "other"]), _LISTS, max_size=3)
_BINS = st.one_of(_NUMBERS, st.lists(st.sampled_from([1, 10.5, 50, 1e9, 5e-324, -1]), max_size=4))
_FACTS: dict[str, st.SearchStrategy[Any]] = {
    "type": st.sampled_from(["numeric", "categorical", "ordinal", "date", ""]),
    **{"lower": _NUMBERS, "upper": _NUMBERS, "bins": _BINS},
    **{"categories": _LISTS, "classes": _GROUPS},
    **dict.fromkeys(("log", "integer", "nullable", "other", "target", "drop"), st.booleans()),
    **{"about": st.text(max_size=5), "unknown": st.none()},
}


@st.composite
def _schemas(draw: st.DrawFn) -> bytes:
    """A schema of which some facts are others, or a text that is not quite JSON."""
    original: Any = draw(st.sampled_from([_PLAIN, _GROUPED]))
    how = draw(
        st.sampled_from(["facts"] * 12 + ["edited"] * 2 + ["damaged", "twice", "deep", "text"])
    )
    if how == "edited":
        return json.dumps(draw(faulty_input.edited(original))).encode()
    text = json.dumps(original)
    if how == "damaged":
        return faulty_input.damage(draw, text.encode(draw(st.sampled_from(["utf-8-sig", "utf-8"]))))
    if how == "twice":
        name = draw(st.sampled_from([*_NAMES, "type", "columns"]))
        return text.replace(f'"{name}"', f'"{name}": 1, "{name}"', 1).encode()
    if how == "deep":
        return b'{"columns": ' + draw(st.sampled_from([b"[", b'{"a": '])) * 10**5
    if how == "text":
        return draw(st.one_of(st.text(max_size=20), st.sampled_from(["1" * 5000, "NaN"]))).encode()
    columns = {name: dict(facts) for name, facts in original["columns"].items()}
    for _ in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from([*_NAMES, *_NAMES, "new"]))
        key = draw(st.sampled_from([*_FACTS]))
        fact = draw(_FACTS[key] if draw(st.integers(0, 4)) else faulty_input.JSON)
        columns.setdefault(name, {})[key] = fact
    return json.dumps(original | {"columns": columns}).encode()


def _write_schema(content: bytes, folder: Path) -> None:
    (folder / _SCHEMA).write_bytes(content)
    (folder / "people.csv").write_bytes(_good_csv().content)


def _read_schema(_: bytes, folder: Path) -> None:
    """Plan a run by a schema, and write it as a run does."""
    plan = planned("dp_ntk", "--csv=people.csv", f"--schema={_SCHEMA}", "--delta=0.01")
    schema = plan.spec.schema
    again = type(schema).from_json(json.loads(json.dumps(schema.to_json(), allow_nan=False)))
    assert again == schema


# --- Flags ------------------------------------------------------------------------------------


def _write_data(_: Any, folder: Path) -> None:
    """Write a table, another one and images of persons for flags to name."""
    (folder / "file").write_text("not a folder")
    (folder / "folder").mkdir()
    _write_schema(json.dumps(_PLAIN).encode(), folder)
    (folder / "other.csv").write_bytes(_good_csv().content)
    x, y = np.ones((8, 5, 5), np.uint8), np.arange(8) % 2
    whose = np.array(["a", "a", "a", "b", "b", "c", "d", "e"])
    np.savez(folder / "scans.npz", x_train=x, y_train=y, x_test=x, y_test=y, group_train=whose)


def _flag_probe(name: str, method: str, base: tuple[str, ...], **known: Any) -> Probe:
    def read(arguments: list[str], folder: Path) -> None:
        planned(method, *base, *arguments)

    known |= {"match": ("teacher", "embedding", "both"), "evaluate": ("krr", "none", "twelve")}
    inputs = functools.partial(faulty_input.flags_of, drivers.FLAGS[method], known)
    return Probe(f"flags of {name}", inputs, _write_data, read, good=lambda: ["--eps=2"])


_TABLE = ("--csv=people.csv", f"--schema={_SCHEMA}", "--delta=0.01")
_OF_TABLES: dict[str, Any] = {
    "csv": ("other.csv", "none.csv", "folder", "people.json"),
    "test_csv": ("other.csv", "none.csv", "folder", "people.json"),
    "schema": (_SCHEMA, "adult", "people.csv"),
    "person_column": ("name", "age", "ill", "nobody"),
    "codes": ("raw", "bins", "one_hot"),
    "features": ("marginals", "pairs", "rff", "entk", "hermite"),
    "dataset": ("digits", "scans"),
}
_PERSONS = ("--dataset=scans", "--data_dir=.", "--records_per_person=2", "--delta=0.01")
_IMAGES = ("--data_dir=folder",)

_FLAG_PROBES = (
    _flag_probe("dp_ntk --csv", "dp_ntk", _TABLE, **_OF_TABLES),
    _flag_probe("dp_kip --csv", "dp_kip", _TABLE, **_OF_TABLES),
    _flag_probe("--labels=teacher", "dp_ntk", (*_IMAGES, "--labels=teacher")),
    _flag_probe("--labels=teacher --csv", "dp_ntk", (*_TABLE, "--labels=teacher"), **_OF_TABLES),
    _flag_probe("--match=both", "teacher", (*_IMAGES, "--match=both")),
    _flag_probe("teacher --csv", "teacher", _TABLE, **_OF_TABLES),
    _flag_probe("persons", "teacher", _PERSONS, dataset=("scans",), data_dir=(".",)),
)


def _parquet_probe(name: str, read: Callable[[Given, Path], None]) -> Probe:
    return Probe(name, _parquet, _write, read, _good_parquet)


PROBES = (
    Probe("CSV file", _csv, _write, _read, _good_csv),
    Probe("CSV file of new records", _csv, _write, _read_new, _good_csv),
    *(
        (_parquet_probe("Parquet file", _read), _parquet_probe("Parquet, new records", _read_new))
        if importlib.util.find_spec("pyarrow")
        else ()
    ),
    Probe(
        "schema",
        _schemas,
        _write_schema,
        _read_schema,
        lambda: json.dumps(_GROUPED).encode(),
    ),
    *_FLAG_PROBES,
)
