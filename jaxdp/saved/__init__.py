"""`jaxdp.load`: open a folder that a run or `made.save` has written, and check every file first."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
