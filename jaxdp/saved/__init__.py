"""Folders that runs and `made.save` have written, read again: nothing in them is believed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
