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


class TablePoint(NamedTuple):
    """One table that was made, beside its private records.

    Attributes:
        data: its name.
        num_examples: n.
        num_columns: q.
        pair_cells: K, the mean number of cells of a pair of columns.
        epsilon: of the run.
        method: `model`, that of `jaxdp run marginals`; `cells`, private records drawn anew within
            their cells; `independent`, noisy counts of single columns.
        overlap: of pairs of columns, in percent.
        source: the table that it is from.
    """

    data: str
    num_examples: int
    num_columns: int
    pair_cells: float
    epsilon: float
    method: str
    overlap: float
    source: str


_FILE = Path(__file__).with_name("measured.json")  # written by `make results`
_ALL = [{**point, "epsilon": float(point["epsilon"])} for point in json.loads(_FILE.read_text())]
POINTS: tuple[Point, ...] = tuple(Point(**point) for point in _ALL if "score" in point)
"""All points; MNIST's, and those of its parts, are easy, and Fashion-MNIST's are harder."""
TABLES: tuple[TablePoint, ...] = tuple(TablePoint(**point) for point in _ALL if "overlap" in point)
"""Tables that were made, a mean over seeds each."""
