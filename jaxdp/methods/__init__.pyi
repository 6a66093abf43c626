from . import dp_kip, dp_ntk, teacher

__all__ = ["dp_kip", "dp_ntk", "teacher"]
