"""A trained generator as a folder: its weights, and what is needed to build it again."""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxdp.data import WHOLE_TYPES, Codec, TableCodec
from jaxdp.methods.dp_ntk.cells import CellGenerator
from jaxdp.methods.dp_ntk.drawing import Generator
from jaxdp.methods.dp_ntk.tree import ROOT, TreeGenerator, in_order
from jaxdp.networks import generators
from jaxdp.program.errors import InputError
from jaxdp.program.runs.checkpoints import files_digest, numbers_digest, restore_tree, save_tree
from jaxdp.program.runs.folder import RunFolder
from jaxdp.program.runs.orbax_folders import require_plain
from jaxdp.saved.files import digest, json_file, open_plain
from jaxdp.tables.layout import Layout
from jaxdp.tables.pairs import Pairs
from jaxdp.tables.schema import FORMS, Schema

DESCRIPTION = "generator/description.json"
"""Within the folder of a run; it holds the digest of a generator's numbers."""
_VARIABLES, _FILES_DIGEST = "variables", "variables.sha256"


def write(folder: RunFolder, generator: Generator | CellGenerator) -> None:
    """Write a generator into its place in the folder of a run."""
    codec = generator.codec
    description, variables = _network_or_cells(generator)
    description |= {
        "class_names": list(generator.class_names),
        "example_shape": list(generator.shape),
        "low": codec.low,
        "high": codec.high,
        "bytes": codec.dtype == "uint8",  # what version 0.1.0 reads
        "dtype": codec.dtype,
    }
    if generator.class_weights is not None:
        description["class_weights"] = generator.class_weights
    if isinstance(codec, TableCodec):
        description |= codec.facts()
    save_tree(folder.generator / _VARIABLES, jax.tree.map(np.asarray, variables))
    # Two digests: orbax's files have the time in them, and so none that a certificate could name.
    files = files_digest(folder.generator / _VARIABLES)
    folder.write_bytes(f"{folder.generator.name}/{_FILES_DIGEST}", files.encode())
    description["numbers_digest"] = numbers_digest(variables)
    folder.write_bytes(DESCRIPTION, json.dumps(description, indent=2).encode())


def files(path: Path) -> list[Path]:
    """Return the files of the generator in the folder of a run, and no others that lie there."""
    place = path / "generator"
    inside = sorted(each for each in (place / _VARIABLES).rglob("*") if each.is_file())
    return [path / DESCRIPTION, place / _FILES_DIGEST, *inside]


def _network_or_cells(generator: Generator | CellGenerator) -> tuple[dict[str, Any], Any]:
    """Return what tells a generator's kind, and its numbers."""
    if isinstance(generator, TreeGenerator):
        given = {str(number): generator.given[number] for number in _hanging(generator.parents)}
        kind = {"module": _TREE, "arguments": {"parents": list(generator.parents)}, "code_dim": 1}
        return kind, {"shares": generator.shares, "given": given}
    if isinstance(generator, CellGenerator):
        return {"module": _CELLS, "arguments": {}, "code_dim": 1}, {"shares": generator.shares}
    arguments = dataclasses.asdict(generator.module)
    kept = {k: v for k, v in arguments.items() if k not in ("parent", "name")}
    kind = {"module": type(generator.module).__name__, "arguments": kept}
    return kind | {"code_dim": generator.code_dim}, generator.variables


def read(
    path: Path, flag: str, certificate: Mapping[str, Any] | None = None
) -> Generator | CellGenerator:
    """Return the generator in the folder of a run.

    Args:
        path: of the run's folder.
        flag: that names it, with its value.
        certificate: of the run; None where nothing is said of the generator.

    Raises:
        InputError: there is none, it is not one that a run writes, or not the one that the
            certificate is about. Those of runs before there were digests are about any.
    """
    digests = (certificate or {}).get("sha256")
    try:
        there = digest(path / DESCRIPTION)
        if isinstance(digests, dict) and digests.get(DESCRIPTION) != there:
            raise InputError(
                f"{flag}: its generator is not the one that privacy.json is about; put that back, "
                "or train it again, which --embedding does for free"
            )
        return _read(path / "generator")
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError(
            f"{flag}: holds neither a finished generator nor counts of a table; name a folder in "
            "which dp_ntk or marginals has finished"
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(
            f"{flag}: its generator cannot be read ({error}); give its run --resume to write it "
            "again"
        ) from error


def _read(path: Path) -> Generator | CellGenerator:
    require_plain(path)
    description = _checked(json_file(path / "description.json"))
    found = files_digest(path / _VARIABLES)
    if _told_digest(path, description) not in (None, found):  # before orbax reads what is damaged
        raise ValueError("its files are not those that were saved")
    stored = restore_tree(path / _VARIABLES)
    if description.get("numbers_digest") not in (None, numbers_digest(stored)):
        raise ValueError("its numbers are not those that were saved")
    codec, weights = _codec(description), description.get("class_weights")
    if weights is not None and len(weights) != len(description["class_names"]):
        raise ValueError("description.json: its class_weights are of other classes")
    if description["module"] in (_CELLS, _TREE):
        cells = _cells(stored, codec, tuple(description["class_names"]), weights)
        return cells if description["module"] == _CELLS else _tree(cells, stored, description)
    module = _module(description)
    _require_fit(module, stored, description, codec)
    return Generator(
        module=module,
        variables=jax.tree.map(jnp.asarray, stored),
        code_dim=description["code_dim"],
        class_names=tuple(description["class_names"]),
        shape=tuple(description["example_shape"]),
        codec=codec,
        class_weights=None if weights is None else tuple(weights),
    )


def tells_files(path: Path) -> bool:
    """Whether something tells which files the numbers of the generator in a run's folder are in."""
    place = path / "generator"
    return _told_digest(place, json_file(path / DESCRIPTION)) is not None


def _told_digest(path: Path, description: dict[str, Any]) -> Any:
    """Return the digest that the files of the numbers had; earlier versions told it elsewhere."""
    if "digest" in description or not (path / _FILES_DIGEST).exists():
        return description.get("digest")
    with open_plain(path / _FILES_DIGEST) as file:
        return file.read(100).decode(errors="replace")


def _codec(description: dict[str, Any]) -> Codec | TableCodec:
    """Return how rows become examples as stored.

    Raises:
        ValueError: the schema of a table is none, or is of other examples.
    """
    if "schema" in description:
        codec = TableCodec(Layout(Schema.from_json(description["schema"]), description["form"]))
        if description["example_shape"] != [len(codec.schema.columns)]:
            raise ValueError("description.json: its schema is of other records")
        return codec
    low, high = description["low"], description["high"]
    dtype = description.get("dtype", "uint8" if description["bytes"] else "float32")
    return Codec(low=low, high=high, shift=low, scale=high - low, dtype=dtype)


def _cells(stored: Any, codec: Any, names: tuple[str, ...], weights: Any) -> CellGenerator:
    """Return the generator of stored shares.

    Raises:
        ValueError: they are not shares of a table's cells.
    """
    shares = (
        np.asarray(stored["shares"]) if isinstance(stored, dict) and "shares" in stored else None
    )
    if not isinstance(codec, TableCodec) or weights is None or shares is None:
        raise ValueError("it lacks shares, weights or a schema")
    if shares.shape != (len(names), codec.layout.dim) or not np.all(shares >= 0):
        raise ValueError(f"its shares have shape {shares.shape}, or are no shares")
    return CellGenerator(
        shares=shares, class_names=names, codec=codec, class_weights=tuple(weights)
    )


def _tree(cells: CellGenerator, stored: Any, description: dict[str, Any]) -> TreeGenerator:
    """Return the generator of stored shares of cells given another column's.

    Raises:
        ValueError: its columns hang on none that is there, or its tables are of other columns.
    """
    layout, parents = cells.codec.layout, description["arguments"].get("parents")
    if not _are(int)(parents) or len(parents) != len(layout.blocks):
        raise ValueError("description.json: its parents are of other columns")
    in_order(tuple(parents))
    merged, given = Pairs(layout).widths, [np.empty(0)] * len(parents)
    for number in _hanging(parents):
        table = np.asarray(stored.get("given", {}).get(str(number), 0.0))
        shape = (len(cells.class_names), merged[parents[number]], layout.blocks[number].width)
        if table.shape != shape or not np.all(table >= 0) or not np.all(table.sum(axis=-1) > 0):
            raise ValueError(f"its shares of column {number} have shape {table.shape}, or are none")
        given[number] = table
    facts = {field.name: getattr(cells, field.name) for field in dataclasses.fields(cells)}
    return TreeGenerator(parents=tuple(parents), given=tuple(given), **facts)


def _hanging(parents: Sequence[int]) -> list[int]:
    """Return the columns that hang on another one."""
    return [number for number, parent in enumerate(parents) if parent != ROOT]


def _checked(description: dict[str, Any]) -> dict[str, Any]:
    """Return what a run has written of its generator.

    Raises:
        ValueError: no run writes this.
    """
    for name, holds in _DESCRIPTION.items():
        if name not in description or not holds(description[name]):
            found = str(description.get(name, "nothing"))[:40]
            raise ValueError(f"description.json holds {name} = {found}")
    if description.get("dtype", "float32") not in _PIXELS:
        raise ValueError("description.json holds no dtype of pixels")
    for name, holds in _TABLE.items():
        if "schema" in description and not holds(description.get(name)):
            raise ValueError(f"description.json holds no good {name}")
    shares = description.get("class_weights")
    if shares is not None and not _are_shares(shares):
        raise ValueError("description.json holds no good class_weights")
    return description


def _module(description: dict[str, Any]) -> Any:
    """Return the network that a description names.

    Raises:
        ValueError: it has other arguments.
    """
    arguments = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in description["arguments"].items()
    }
    try:
        return getattr(generators, description["module"])(**arguments)
    except TypeError as error:
        raise ValueError(f"description.json: {error}") from error


def _require_fit(
    module: Any, variables: Any, description: dict[str, Any], codec: Codec | TableCodec
) -> None:
    """Raise a `ValueError` where weights are not those of a network, or make other examples."""
    labels = jnp.zeros(1, jnp.int32)

    def rows(stored: Any) -> Any:
        codes = generators.sample_codes(jax.random.key(0), labels, description["code_dim"])
        return generators.generate(module, stored, codes, labels, train=False)[0]

    try:
        made = jax.eval_shape(rows, variables)
    except Exception as error:  # flax raises many kinds, of which some are of this module
        raise ValueError(f"its weights are of another network ({type(error).__name__})") from error
    wanted = math.prod(description["example_shape"])
    if isinstance(codec, TableCodec):
        wanted = codec.layout.dim
    if made.shape[1] != wanted:
        raise ValueError(f"it makes {made.shape[1]} values, not {description['example_shape']}")


def _are(kind: type) -> Callable[[Any], bool]:
    return lambda values: isinstance(values, list) and all(type(v) is kind for v in values)


def _are_shares(value: Any) -> bool:
    return bool(value) and _are(float)(value) and min(value) > 0 and math.isfinite(sum(value))


_CELLS, _TREE = "CellGenerator", "TreeGenerator"
_MODULES = (*(network.__name__ for network in generators.NETWORKS), _CELLS, _TREE)
# What a run writes of its generator, and what each part has to be.
_DESCRIPTION: dict[str, Callable[[Any], bool]] = {
    "module": lambda value: value in _MODULES,
    "arguments": lambda value: isinstance(value, dict),
    "code_dim": lambda value: type(value) is int and 0 < value < 2**20,
    "class_names": lambda value: bool(value) and _are(str)(value),
    "example_shape": lambda value: bool(value) and _are(int)(value),
    "low": lambda value: type(value) in (int, float) and math.isfinite(value),
    "high": lambda value: type(value) in (int, float) and math.isfinite(value),
    "bytes": lambda value: type(value) is bool,
}
_PIXELS = (*WHOLE_TYPES, "float32")
# What it writes beside for a table.
_TABLE: dict[str, Callable[[Any], bool]] = {
    "schema": lambda value: isinstance(value, dict),
    "form": lambda value: value in FORMS,
    "class_weights": _are_shares,
}
