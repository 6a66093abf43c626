from . import columns, frames, layout, pairs, schema
from .columns import Column, SchemaError
from .frames import decode, encode
from .layout import Layout
from .schema import Schema, read_schema

__all__ = [
    "Column",
    "Layout",
    "Schema",
    "SchemaError",
    "columns",
    "decode",
    "encode",
    "frames",
    "layout",
    "pairs",
    "read_schema",
    "schema",
]
