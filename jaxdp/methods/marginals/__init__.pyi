from .plan import MarginalsPlan, make_plan
from .released import FORM, Released
from .settings import Settings, complete, folder_name

__all__ = [
    "FORM",
    "MarginalsPlan",
    "Released",
    "Settings",
    "complete",
    "folder_name",
    "make_plan",
]
