"""What DP-NTK releases: all that a generator is trained from."""

from typing import NamedTuple

from jaxtyping import Array, Float


class Released(NamedTuple):
    """What left the private data: noisy, and free to use from here on.

    Attributes:
        mu: the embedding, one row per class.
        class_weights: the classes' shares of the data, positive and with sum 1; uniform where they
            were not released.
    """

    mu: Float[Array, "c p"]
    class_weights: Float[Array, " c"]
