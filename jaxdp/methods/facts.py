"""What config.json tells of a run's data: public facts, by which its classifier takes new ones."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from jaxdp.data import Codec, Spec, TableCodec
from jaxdp.data.kinds import kind_of
from jaxdp.tables.layout import Layout
from jaxdp.tables.schema import Schema

KEY = "spec"
"""Of config.json."""
_RESUME = "an earlier version wrote it: give its run --resume, which adds them"


def to_json(spec: Spec) -> dict[str, Any]:
    """Return what `from_config` reads."""
    codec = spec.codec
    return {
        "name": spec.name,
        "kind": spec.kind.stored,
        "shape": list(spec.shape),
        "class_names": list(spec.class_names),
        "preparation": spec.preparation,
        "codec": codec.facts() if isinstance(codec, TableCodec) else dataclasses.asdict(codec),
    }


def from_config(config: Mapping[str, Any]) -> Spec:
    """Return the facts about the data of a run.

    Args:
        config: content of config.json, as it was read.

    Raises:
        ValueError: it does not tell them.
    """
    if KEY not in config:
        raise ValueError(f"config.json has no facts about the data, as {_RESUME}")
    try:
        return _spec(config[KEY], config["num_examples"])
    except KeyError as error:
        raise ValueError(f"config.json does not tell {error.args[0]} of the data") from error
    except (TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"config.json tells of no data that a run has ({error})") from error


def _spec(stored: Mapping[str, Any], num_examples: Any) -> Spec:
    shape, names = tuple(stored["shape"]), tuple(stored["class_names"])
    if not all(type(each) is int for each in (num_examples, *shape)):
        raise ValueError("sizes are whole numbers")
    if not all(isinstance(name, str) for name in (stored["name"], *names)):
        raise ValueError("names are texts")
    preparation = stored["preparation"]
    if preparation is not None and not isinstance(preparation, str):
        raise ValueError("its preparation is no text")
    codec = _codec(stored["codec"])
    if kind_of(shape, codec).stored != stored["kind"]:
        raise ValueError(f"{str(stored['kind'])[:20]} is no kind of such data")
    if isinstance(codec, TableCodec):
        if names != codec.schema.class_names:
            raise ValueError("its schema is of other data")
        return Spec.table(stored["name"], codec.schema, num_examples, form=codec.layout.form)
    return Spec(
        name=stored["name"],
        shape=shape,
        class_names=names,
        num_examples=num_examples,
        codec=codec,
        preparation=preparation,
    )


def _codec(stored: Mapping[str, Any]) -> Codec | TableCodec:
    if "schema" not in stored:
        return Codec(**stored)
    return TableCodec(Layout(Schema.from_json(stored["schema"]), stored["form"]))
