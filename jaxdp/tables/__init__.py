"""Tables: what their schemas declare, and how their records become rows of numbers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
