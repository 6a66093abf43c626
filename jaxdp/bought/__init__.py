"""Facts of a schema that nobody knows, bought with a part of epsilon."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
