"""A labelled dataset as it was read: public facts, the private split, the test split."""

import dataclasses
from typing import NamedTuple

import numpy as np

from jaxdp.data import Private, Spec


class HeldOut(NamedTuple):
    """Labelled examples to test on, as stored. No guarantee is about them.

    Attributes:
        x: (t, *shape) examples.
        y: (t,) labels in 0..c-1.
    """

    x: np.ndarray
    y: np.ndarray


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """A labelled dataset. Who needs facts alone is given `spec`, and no examples.

    Attributes:
        spec: what is public about it.
        private: the training split.
        test: the test split.
        source: where it was read from.
        notes: lines for the terminal.
        names: (n,) that tell training examples apart where their places depend on what others are,
            as in a folder that is sorted by class and name.

    Raises:
        ValueError: the facts are about another number of examples, or of another shape.

    Guarantee:
        Noise and sampling go by the n of `spec`, and that is the number of private examples.
    """

    spec: Spec
    private: Private
    test: HeldOut
    source: str
    notes: tuple[str, ...] = ()
    names: np.ndarray | None = None

    def __post_init__(self) -> None:
        told = (self.spec.num_examples, *self.spec.stored_shape)
        if self.private.x.shape != told or len(self.private.y) != told[0]:
            raise ValueError(
                f"facts are about examples of shape {told}, and there are {self.private.x.shape}"
            )
