from . import (
    bought,
    columns,
    domain,
    frames,
    layout,
    obeying,
    open_schema,
    pairs,
    raw,
    rules,
    schema,
)
from .bought import Bought
from .columns import Column, SchemaError
from .domain import Domain
from .formats import NumberFormat
from .frames import decode, encode
from .layout import Layout
from .open_schema import OpenSchema
from .schema import Schema, read_schema

__all__ = [
    "Bought",
    "Column",
    "Domain",
    "Layout",
    "NumberFormat",
    "OpenSchema",
    "Schema",
    "SchemaError",
    "bought",
    "columns",
    "decode",
    "domain",
    "encode",
    "frames",
    "layout",
    "obeying",
    "open_schema",
    "pairs",
    "raw",
    "read_schema",
    "rules",
    "schema",
]
