from .plan import KipPlan, initial_support, make_plan, predict
from .release import (
    KIP,
    KIPConfig,
    KIPState,
    SupportSet,
    clipped_sum,
    dp_kip,
    loss,
    total_loss,
)
from .settings import CLIP_SPACES, Settings, complete, folder_name

__all__ = [
    "CLIP_SPACES",
    "KIP",
    "KIPConfig",
    "KIPState",
    "KipPlan",
    "Settings",
    "SupportSet",
    "clipped_sum",
    "complete",
    "dp_kip",
    "folder_name",
    "initial_support",
    "loss",
    "make_plan",
    "predict",
    "total_loss",
]
