"""The methods, a folder each: `dp_kip`, `teacher`, `dp_ntk`, `marginals`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
