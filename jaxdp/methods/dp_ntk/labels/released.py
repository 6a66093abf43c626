"""What is released: a generator's embedding, and the weights of a teacher."""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxdp.methods.dp_ntk.features import UNTOLD, FeatureOptions
from jaxdp.methods.stored import Form
from jaxdp.methods.teacher.settings import MapOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(FeatureOptions, MapOptions):
    """What the features of the embedding, and those of the teacher, are made from."""

    def __post_init__(self) -> None:
        FeatureOptions.__post_init__(self)
        MapOptions.__post_init__(self)


class Released(NamedTuple):
    """What left the private data: noisy, and free to use from here on.

    Attributes:
        mu: the embedding, one row per class.
        weights: of the teacher.
    """

    mu: Float[Array, "c p"]
    weights: np.ndarray

    @property
    def num_classes(self) -> int:
        """Number of classes c."""
        return len(self.mu)


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Released:
    """Return what a file holds.

    Raises:
        KeyError: it lacks something.
        ValueError: it holds something else.
    """
    mu, weights = arrays["mu"], arrays["weights"]
    if mu.ndim != 2 or weights.ndim != 2 or weights.shape[1] != len(mu):
        raise ValueError(f"its arrays have shapes {mu.shape} and {weights.shape}")
    return Released(jnp.asarray(mu), weights)


FORM = Form(
    flag="embedding",
    what="an embedding and a teacher that a run has released",
    options_key="labelled_config",
    options=Options,
    from_arrays=from_arrays,
    untold=UNTOLD
    | {"patches": 0, "second_layer": 0, "encoder": False, "brightness": 0.0, "unit_norm": False},
)
