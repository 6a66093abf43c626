from . import (
    bought,
    data,
    devices,
    features,
    images,
    kernels,
    large_arrays,
    methods,
    networks,
    numerics,
    privacy,
    processes,
    saved,
    tables,
)
from .data import Private, Spec
from .methods.runner import run
from .methods.settings import SettingsError
from .methods.warned import JaxdpWarning
from .saved.loading import load

__version__: str

__all__ = [
    "JaxdpWarning",
    "Private",
    "SettingsError",
    "Spec",
    "bought",
    "data",
    "devices",
    "features",
    "images",
    "kernels",
    "large_arrays",
    "load",
    "methods",
    "networks",
    "numerics",
    "privacy",
    "processes",
    "run",
    "saved",
    "tables",
]
