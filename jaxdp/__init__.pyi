from . import data, features, images, kernels, methods, networks, numerics, privacy, saved, tables
from .data import Private, Spec
from .methods.runner import run
from .methods.settings import SettingsError
from .saved.loading import load

__version__: str

__all__ = [
    "Private",
    "SettingsError",
    "Spec",
    "data",
    "features",
    "images",
    "kernels",
    "load",
    "methods",
    "networks",
    "numerics",
    "privacy",
    "run",
    "saved",
    "tables",
]
