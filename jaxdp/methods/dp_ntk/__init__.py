"""DP-NTK and its relatives: one noisy mean embedding, and a generator trained on it for free."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
