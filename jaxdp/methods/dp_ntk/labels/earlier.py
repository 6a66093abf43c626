"""Whether what an earlier run has released fits a run of a generator and a teacher."""

import dataclasses

from jaxdp.data import Spec
from jaxdp.methods.dp_ntk.features import FeatureOptions
from jaxdp.methods.settings import part_of
from jaxdp.methods.stored import Earlier, require_same_data, require_width


def for_generation(earlier: Earlier | None) -> Earlier | None:
    """Return an earlier release as the generator alone knows it: by its own options."""
    if earlier is None or earlier.stored is None:
        return earlier
    options = part_of(earlier.stored.options, FeatureOptions)
    return earlier._replace(stored=dataclasses.replace(earlier.stored, options=options))


def check_earlier(earlier: Earlier, spec: Spec, num_features: int) -> None:
    """Raise a `SettingsError` where an earlier release is of other data or features."""
    stored = earlier.stored
    if stored is None:
        return
    require_same_data(stored, spec, spec.num_classes)
    require_width(stored, stored.released.mu.shape[1], num_features)
