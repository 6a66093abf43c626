from . import dp_kip, dp_ntk, marginals, presets, teacher
from .made import Classifier, Made
from .runner import PlainRunner, run
from .settings import SettingsError

__all__ = [
    "Classifier",
    "Made",
    "PlainRunner",
    "SettingsError",
    "dp_kip",
    "dp_ntk",
    "marginals",
    "presets",
    "run",
    "teacher",
]
