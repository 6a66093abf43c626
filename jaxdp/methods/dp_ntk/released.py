"""What DP-NTK releases: all that a generator is trained from."""

from collections.abc import Mapping
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxdp.methods.dp_ntk.features import UNTOLD, FeatureOptions
from jaxdp.methods.stored import Form


class Released(NamedTuple):
    """What left the private data: noisy, and free to use from here on.

    Attributes:
        mu: the embedding, one row per class.
        class_weights: the classes' shares of the data, positive and with sum 1; uniform where they
            were not released.
    """

    mu: Float[Array, "c p"]
    class_weights: Float[Array, " c"]

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
    mu, weights = arrays["mu"], arrays["class_weights"]
    if mu.ndim != 2 or weights.shape != (len(mu),):
        raise ValueError(f"its arrays have shapes {mu.shape} and {weights.shape}")
    return Released(jnp.asarray(mu), jnp.asarray(weights))


FORM = Form(
    flag="embedding",
    what="an embedding that a run has released",
    options_key="feature_config",
    options=FeatureOptions,
    from_arrays=from_arrays,
    untold=UNTOLD,
)
