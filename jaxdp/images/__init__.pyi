from . import augmentation, smoothing, views
from .augmentation import augmented
from .smoothing import smooth_gradients, smooth_rows
from .views import FIVE_VIEWS, View, resampled, turned_and_stretched, viewed

__all__ = [
    "FIVE_VIEWS",
    "View",
    "augmentation",
    "augmented",
    "resampled",
    "smooth_gradients",
    "smooth_rows",
    "smoothing",
    "turned_and_stretched",
    "viewed",
    "views",
]
