from . import buying, estimates, filled, grids, purchase, release, wanted
from .purchase import Planned, Purchase, buy_schema

__all__ = [
    "Planned",
    "Purchase",
    "buy_schema",
    "buying",
    "estimates",
    "filled",
    "grids",
    "purchase",
    "release",
    "wanted",
]
