from . import columns, domain, frames, layout, pairs, schema
from .columns import Column, SchemaError
from .domain import Domain
from .formats import NumberFormat
from .frames import decode, encode
from .layout import Layout
from .schema import Schema, read_schema

__all__ = [
    "Column",
    "Domain",
    "Layout",
    "NumberFormat",
    "Schema",
    "SchemaError",
    "columns",
    "decode",
    "domain",
    "encode",
    "frames",
    "layout",
    "pairs",
    "read_schema",
    "schema",
]
