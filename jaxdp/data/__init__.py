"""Descriptions of a dataset, and the dataset itself: public facts in one type, data in another.

`Spec` and `Codec` hold public facts, the only ones that plans and post-processing know. `Private`
holds the examples; only the `release` functions of methods take it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
