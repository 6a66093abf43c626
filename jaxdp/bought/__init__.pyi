from . import buying, estimates, filled, grids, purchase, release, wanted
from .purchase import Planned, Purchase, UncertainClassesError, buy_schema

__all__ = [
    "Planned",
    "Purchase",
    "UncertainClassesError",
    "buy_schema",
    "buying",
    "estimates",
    "filled",
    "grids",
    "purchase",
    "release",
    "wanted",
]
