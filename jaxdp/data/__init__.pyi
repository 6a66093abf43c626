from . import codecs, hints, kinds, private, spec
from .codecs import WHOLE_TYPES, Codec, TableCodec
from .kinds import Kind
from .private import Private, checked
from .spec import Spec

__all__ = [
    "WHOLE_TYPES",
    "Codec",
    "Kind",
    "Private",
    "Spec",
    "TableCodec",
    "checked",
    "codecs",
    "hints",
    "kinds",
    "private",
    "spec",
]
