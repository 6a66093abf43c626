"""Tables from noisy counts: columns, their pairs, and the least presuming model that fits both."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
