"""Datasets: what is public about them, what is private, and what is made from them.

`Spec` and `Codec` are public facts: plans and post-processing know these alone. `Private` holds the
examples themselves; only `release` functions of methods take one.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
