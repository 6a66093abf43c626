"""A trained generator as a folder: its weights, and what is needed to build it again."""

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments.data.outside_files import json_object, open_plain
from experiments.errors import InputError
from experiments.runs.checkpoints import files_digest, restore_tree, save_tree
from experiments.runs.folder import RunFolder
from jaxdp.data import Codec
from jaxdp.methods.dp_ntk.drawing import Generator
from jaxdp.networks import generators


def write(folder: RunFolder, generator: Generator) -> None:
    """Write a generator into its place in the folder of a run."""
    arguments = dataclasses.asdict(generator.module)
    codec = generator.codec
    description = {
        "module": type(generator.module).__name__,
        "arguments": {k: v for k, v in arguments.items() if k not in ("parent", "name")},
        "code_dim": generator.code_dim,
        "class_names": list(generator.class_names),
        "example_shape": list(generator.shape),
        "low": codec.low,
        "high": codec.high,
        "bytes": codec.is_bytes,
    }
    save_tree(folder.generator / "variables", jax.tree.map(np.asarray, generator.variables))
    description["digest"] = files_digest(folder.generator / "variables")
    folder.write_bytes(
        f"{folder.generator.name}/description.json", json.dumps(description, indent=2).encode()
    )


def read(path: Path, flag: str) -> Generator:
    """Return the generator in the folder of a run.

    Args:
        path: of the run's folder.
        flag: that names it, with its value.

    Raises:
        InputError: there is none, or it is not one that a run writes.
    """
    path = path / "generator"
    try:
        return _read(path)
    except FileNotFoundError as error:
        raise InputError(
            f"{flag}: holds no finished generator; name a folder in which experiments.dp_ntk has "
            "finished"
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(
            f"{flag}: its generator cannot be read ({error}); give its run --resume to write it "
            "again"
        ) from error


def _read(path: Path) -> Generator:
    with open_plain(path / "description.json") as file:
        description = _checked(json_object(file.read()))
    module = _module(description)
    if description.get("digest") not in (None, files_digest(path / "variables")):
        raise ValueError("its numbers are not those that were saved")
    stored = restore_tree(path / "variables")
    _require_fit(module, stored, description)
    low, high = description["low"], description["high"]
    return Generator(
        module=module,
        variables=jax.tree.map(jnp.asarray, stored),
        code_dim=description["code_dim"],
        class_names=tuple(description["class_names"]),
        shape=tuple(description["example_shape"]),
        codec=Codec(low=low, high=high, shift=low, scale=high - low, is_bytes=description["bytes"]),
    )


def _checked(description: dict[str, Any]) -> dict[str, Any]:
    """Return what a run has written of its generator.

    Raises:
        ValueError: no run writes this.
    """
    for name, holds in _DESCRIPTION.items():
        if name not in description or not holds(description[name]):
            found = str(description.get(name, "nothing"))[:40]
            raise ValueError(f"description.json holds {name} = {found}")
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


def _require_fit(module: Any, variables: Any, description: dict[str, Any]) -> None:
    """Raise a `ValueError` where weights are not those of a network, or make other examples."""
    labels = jnp.zeros(1, jnp.int32)

    def rows(stored: Any) -> Any:
        codes = generators.sample_codes(jax.random.key(0), labels, description["code_dim"])
        return generators.generate(module, stored, codes, labels, train=False)[0]

    try:
        made = jax.eval_shape(rows, variables)
    except Exception as error:  # flax raises many kinds, of which some are of this module
        raise ValueError(f"its weights are of another network ({type(error).__name__})") from error
    if made.shape[1] != math.prod(description["example_shape"]):
        raise ValueError(f"it makes {made.shape[1]} values, not {description['example_shape']}")


def _are(kind: type) -> Callable[[Any], bool]:
    return lambda values: isinstance(values, list) and all(type(v) is kind for v in values)


# What a run writes of its generator, and what each part has to be.
_DESCRIPTION: dict[str, Callable[[Any], bool]] = {
    "module": lambda value: value in ("ConvCondGen", "ResnetG", "DenseGen", "TabularGen"),
    "arguments": lambda value: isinstance(value, dict),
    "code_dim": lambda value: type(value) is int and 0 < value < 2**20,
    "class_names": lambda value: bool(value) and _are(str)(value),
    "example_shape": lambda value: bool(value) and _are(int)(value),
    "low": lambda value: type(value) in (int, float),
    "high": lambda value: type(value) in (int, float),
    "bytes": lambda value: type(value) is bool,
}
