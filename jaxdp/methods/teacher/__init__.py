"""The private teacher: a linear classifier by DP-SGD, and distillation from it for free."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
