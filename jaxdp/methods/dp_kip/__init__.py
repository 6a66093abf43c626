"""DP-KIP: kernel inducing points by DP-SGD."""

from jaxdp.kernels.kip import SupportSet, initial_support, loss, predict, total_loss
from jaxdp.methods.dp_kip.release import CLIP_SPACES, KIP, KIPConfig, KIPState, dp_kip

__all__ = [
    "CLIP_SPACES",
    "KIP",
    "KIPConfig",
    "KIPState",
    "SupportSet",
    "dp_kip",
    "initial_support",
    "loss",
    "predict",
    "total_loss",
]
