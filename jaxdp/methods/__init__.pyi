from . import dp_kip, dp_ntk, marginals, presets, teacher
from .made import Classifier, Made
from .runner import PlainRunner, run
from .settings import SettingsError
from .warned import JaxdpWarning

__all__ = [
    "Classifier",
    "JaxdpWarning",
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
