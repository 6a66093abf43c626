from . import estimates, grids, purchase, release
from .purchase import Purchase, buy_schema

__all__ = ["Purchase", "buy_schema", "estimates", "grids", "purchase", "release"]
