"""Measured accuracies that recommendations go by, each with its source.

Noise and signal meet in one number, the strength `epsilon n / c`: epsilon times the examples of a
class. Sets of equal strength lose about equally much to the noise.
"""

import json
from pathlib import Path
from typing import NamedTuple


class Point(NamedTuple):
    """One measured run.

    Attributes:
        data: its name.
        kind: of examples: grey, colour or table.
        num_examples: n.
        num_classes: c.
        epsilon: of the run.
        method: a name of `LINES`.
        score: test accuracy in percent, of a table the area under the ROC curve times 100.
        source: the stored runs or the table that it is from.
    """

    data: str
    kind: str
    num_examples: int
    num_classes: int
    epsilon: float
    method: str
    score: float
    source: str

    @property
    def strength(self) -> float:
        """Epsilon times the examples of a class."""
        return self.epsilon * self.num_examples / self.num_classes


_FILE = Path(__file__).with_name("measured.json")  # written by `make results`
POINTS: tuple[Point, ...] = tuple(
    Point(**{**point, "epsilon": float(point["epsilon"])})
    for point in json.loads(_FILE.read_text())
)
"""All points; MNIST's, and those of its parts, are easy, and Fashion-MNIST's are harder."""
