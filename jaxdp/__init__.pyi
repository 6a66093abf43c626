from . import features, images, kernels, methods, networks, numerics, privacy

__version__: str

__all__ = [
    "features",
    "images",
    "kernels",
    "methods",
    "networks",
    "numerics",
    "privacy",
]
