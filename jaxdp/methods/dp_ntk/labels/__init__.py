"""A private generator whose examples a private teacher labels; one budget for both."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
