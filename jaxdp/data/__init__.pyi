from . import codecs, hints, private, spec
from .codecs import WHOLE_TYPES, Codec, TableCodec
from .private import Private, checked
from .spec import Spec

__all__ = [
    "WHOLE_TYPES",
    "Codec",
    "Private",
    "Spec",
    "TableCodec",
    "checked",
    "codecs",
    "hints",
    "private",
    "spec",
]
