"""The networks that make examples, by name: how each is built for the data's shape.

This file imports the standard library alone until a network is built.
"""

from typing import Any

from jaxdp.methods.registry import Entry, Registry
from jaxdp.methods.settings import SettingsError

CELLS = "cells"
"""No network: records are drawn from the released counts."""


def build_network(name: str, spec: Any) -> Any:
    """Return a generator's network.

    Args:
        name: of it.
        spec: facts about the data, with rows as features see them.

    Raises:
        SettingsError: it does not make examples of that shape.
    """
    try:
        return GENERATORS.fitting(name, spec).build(spec)
    except ValueError as error:
        raise SettingsError(f"--generator={name} on --dataset={spec.name}: {error}") from error


def _conv(spec: Any) -> Any:
    from jaxdp.networks import generators

    return _tried(generators.ConvCondGen(spec.image_shape))


def _resnet(spec: Any) -> Any:
    from jaxdp.networks import generators

    return _tried(generators.ResnetG(spec.image_shape))


def _dense(spec: Any) -> Any:
    from jaxdp.networks import generators

    return generators.DenseGen(spec.dim)


def _table(spec: Any) -> Any:
    from jaxdp.networks import generators

    widths = widths_of(spec)
    return generators.TableGen(widths) if widths else generators.TabularGen(spec.dim)


def _cells(spec: Any) -> Any:
    del spec
    raise ValueError("draws from --features=marginals or pairs; leave it out")


def _tried(module: Any) -> Any:
    """Return a network of which some shapes are refused when it is first called."""
    import jax

    from jaxdp.networks import generators

    classes, code_dim = 2, 2
    jax.eval_shape(lambda key: generators.init(module, key, code_dim, classes), jax.random.key(0))
    return module


def widths_of(spec: Any) -> tuple[int, ...]:
    """Return how many places each choice takes in a row: 1 for a number and for its absence.

    Rows without a schema have none.
    """
    from jaxdp.tables.schema import BINS

    found: list[int] = []
    for block in spec.codec.layout.blocks if spec.columns else ():
        one = block.column.is_numeric and spec.codec.layout.form != BINS
        found += [1] * block.width if one else [block.width]
    return tuple(found)


GENERATORS = Registry(
    "generator",
    {
        "conv": Entry(build=_conv, help="two convolutions", kinds=("image",)),
        "resnet": Entry(build=_resnet, help="residual blocks, for a GPU", kinds=("image",)),
        "dense": Entry(build=_dense, help="for images of any size", kinds=("image",)),
        "table": Entry(build=_table, help="for rows and records", kinds=("table",)),
        CELLS: Entry(build=_cells, help="draws from noisy counts", kinds=("table",)),
    },
    otherwise="leave it out",
)
