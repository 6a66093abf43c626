from . import augmentation, colours, mixing, packing, siamese, smoothing, views
from .augmentation import augmented
from .colours import colour_jittered
from .mixing import cutmix
from .packing import Packing
from .siamese import siamese_augmented
from .smoothing import smooth_gradients, smooth_rows
from .views import FIVE_VIEWS, View, resampled, turned_and_stretched, viewed

__all__ = [
    "FIVE_VIEWS",
    "Packing",
    "View",
    "augmentation",
    "augmented",
    "colour_jittered",
    "colours",
    "cutmix",
    "mixing",
    "packing",
    "resampled",
    "siamese",
    "siamese_augmented",
    "smooth_gradients",
    "smooth_rows",
    "smoothing",
    "turned_and_stretched",
    "viewed",
    "views",
]
