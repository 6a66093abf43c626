from . import data, features, images, kernels, methods, networks, numerics, privacy, tables
from .data import Private, Spec
from .methods.runner import run
from .methods.settings import SettingsError

__version__: str

__all__ = [
    "Private",
    "SettingsError",
    "Spec",
    "data",
    "features",
    "images",
    "kernels",
    "methods",
    "networks",
    "numerics",
    "privacy",
    "run",
    "tables",
]
