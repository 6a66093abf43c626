"""What is known of a made set before it is there: enough to choose its judges."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxdp.program.evaluation.recipe import Recipe

IMAGE, TABLE = "image", "table"
MOST_JUDGED = 100_000
"""Records of a table, made or to be tested on, that judges see."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known of a made set before it is there.

    Attributes:
        holder: who has the examples, in errors: a flag, such as "--dataset=adult".
        shape: of one example: (h, w, ch) of an image, (d,) of a table's row.
        num_classes: classes that are told apart; 1 where labels are not used.
        num_made: how many examples are made.
        recipe: how they will be judged.
        inception_weights: file of the Inception network, where there is one.
        soft_labels: whether a score of every class comes with each example.
        num_test: how many real examples it is compared with; None where nobody knows.
    """

    holder: str
    shape: tuple[int, ...]
    num_classes: int
    num_made: int
    recipe: Recipe
    inception_weights: str | None = None
    soft_labels: bool = False
    num_test: int | None = None

    @property
    def kind(self) -> str:
        """Kind of the examples: "image" or "table"."""
        return IMAGE if len(self.shape) == 3 else TABLE
