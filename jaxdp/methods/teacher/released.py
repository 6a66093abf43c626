"""What the private teacher releases: all that images are distilled from."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from jaxdp.methods.stored import Form
from jaxdp.methods.teacher.settings import ReleaseOptions
from jaxdp.methods.teacher.view import from_array


class Released(NamedTuple):
    """What left the private data, a teacher or class means: noisy, and free to use from here on.

    Attributes:
        weights: (p, c) of the teacher on `public_maps.public_map`; None without one.
        means: (c, q) noisy class means of a public map; None without them.
        view: (2, p) how the teacher's training saw its features (`view.View`); None as they
            are.
    """

    weights: np.ndarray | None = None
    means: np.ndarray | None = None
    view: np.ndarray | None = None

    @property
    def num_classes(self) -> int:
        """Number of classes c."""
        if self.weights is not None:
            return self.weights.shape[1]
        assert self.means is not None
        return len(self.means)


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Released:
    """Return what a file holds.

    Raises:
        ValueError: it holds something else.
    """
    if not arrays:
        raise ValueError("it has neither weights nor means")
    for name, array in arrays.items():
        if array.ndim != 2:
            raise ValueError(f"{name} has shape {array.shape}")
    weights, view = arrays.get("weights"), arrays.get("view")
    if view is not None and (weights is None or from_array(view).centre.shape != weights.shape[:1]):
        raise ValueError(f"its view has shape {view.shape}, which fits no weights")
    return Released(weights, arrays.get("means"), view)


FORM = Form(
    flag="teacher",
    what="a teacher that a run has released",
    options_key="map_config",
    options=ReleaseOptions,
    from_arrays=from_arrays,
    float32_arrays=("weights",),
    nothing=Released(),
    untold={
        **{"patches": 0, "second_layer": 0, "encoder": False, "brightness": 0.0},
        **{"unit_norm": False, "networks": 0},
    },
)
