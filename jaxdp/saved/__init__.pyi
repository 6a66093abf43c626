from .loading import Loaded, load

__all__ = ["Loaded", "load"]
