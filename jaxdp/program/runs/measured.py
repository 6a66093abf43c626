"""Measured accuracies that recommendations go by, frozen, each with its source.

Noise and signal meet in one number, the strength `epsilon n / c`: epsilon times the examples of a
class. Sets of equal strength lose about equally much to the noise.
"""

import math
from typing import NamedTuple

_RESULTS = "docs/results.md"
_SMALL = "benchmarks/results/recommended_cpu.txt"


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
        source: where it is from.
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


def _points(
    method: str, kind: str, source: str, rows: list[tuple[str, int, float, float]]
) -> tuple[Point, ...]:
    return tuple(
        Point(data, kind, n, 10 if kind != "table" else 2, epsilon, method, score, source)
        for data, n, epsilon, score in rows
    )


POINTS: tuple[Point, ...] = (
    *_points(
        *("teacher", "grey", _SMALL),
        [
            ("300 of MNIST", 300, 1, 31.6),
            ("300 of MNIST", 300, 10, 86.6),
            ("1000 of MNIST", 1000, 1, 75.8),
            ("1000 of MNIST", 1000, 10, 92.0),
            ("5000 of MNIST", 5000, 1, 93.0),
            ("5000 of MNIST", 5000, 10, 94.1),
            ("300 of Fashion-MNIST", 300, 1, 37.1),
            ("300 of Fashion-MNIST", 300, 10, 73.4),
            ("1000 of Fashion-MNIST", 1000, 1, 64.1),
            ("1000 of Fashion-MNIST", 1000, 10, 81.9),
            ("5000 of Fashion-MNIST", 5000, 1, 80.7),
            ("5000 of Fashion-MNIST", 5000, 10, 83.2),
            ("digits", 1437, 1, 81.7),
            ("digits", 1437, 10, 90.3),
        ],
    ),
    *_points(
        *("teacher", "grey", _RESULTS),
        [
            ("MNIST", 60000, 1, 98.2),
            ("MNIST", 60000, 10, 98.6),
            ("Fashion-MNIST", 60000, 1, 87.5),
            ("Fashion-MNIST", 60000, 10, 89.9),
        ],
    ),
    *_points(
        *("teacher", "colour", _SMALL),
        [
            ("1000 of CIFAR-10", 1000, 1, 16.7),
            ("1000 of CIFAR-10", 1000, 10, 42.9),
            ("5000 of CIFAR-10", 5000, 1, 39.0),
            ("5000 of CIFAR-10", 5000, 10, 52.6),
        ],
    ),
    *_points(
        *("teacher", "colour", _RESULTS),
        [("CIFAR-10", 50000, 1, 66.3), ("CIFAR-10", 50000, 10, 69.0)],
    ),
    *_points(
        *("match", "grey", _RESULTS),
        [("MNIST", 60000, 1, 93.1), ("Fashion-MNIST", 60000, 1, 71.6)],
    ),
    *_points(
        *("generate", "grey", _RESULTS),
        [
            ("MNIST", 60000, 0.2, 85.7),
            ("MNIST", 60000, 1, 90.4),
            ("MNIST", 60000, 10, 90.7),
            ("Fashion-MNIST", 60000, 0.2, 74.1),
            ("Fashion-MNIST", 60000, 1, 78.9),
            ("Fashion-MNIST", 60000, 10, 78.4),
        ],
    ),
    *_points(
        *("generate", "grey", _SMALL),
        [("1000 of MNIST", 1000, 1, 20.1), ("5000 of MNIST", 5000, 1, 73.4)],
    ),
    *_points(
        *("dp_kip", "grey", _SMALL),
        [
            ("1000 of MNIST", 1000, 1, 45.6),
            ("1000 of MNIST", 1000, 10, 63.2),
            ("5000 of MNIST", 5000, 1, 73.4),
            ("digits", 1437, 1, 85.3),
        ],
    ),
    *_points(
        *("dp_kip", "grey", _RESULTS),
        [("MNIST", 60000, 1, 86.1), ("MNIST", 60000, 10, 87.5)],
    ),
    *_points(*("dp_kip", "grey", _RESULTS), [("MNIST", 60000, math.inf, 96.3)]),
    *_points(
        *("dp_kip", "colour", _RESULTS),
        [("CIFAR-10", 50000, 1, 37.3), ("CIFAR-10", 50000, 10, 37.8)],
    ),
    *_points(
        *("table", "table", _RESULTS),
        [
            ("adult", 23895, 1, 80.6),
            ("census", 19921, 1, 81.0),
            ("credit", 848, 1, 89.5),
            ("cervical", 212, 1, 62.3),
            ("epileptic", 8050, 1, 72.8),
        ],
    ),
    *_points(
        *("counts", "table", _RESULTS),
        [
            ("adult", 23895, 1, 78.8),
            ("credit", 848, 1, 89.3),
            ("cervical", 212, 1, 57.4),
            ("epileptic", 8050, 1, 74.1),
        ],
    ),
)
"""All points; MNIST's, and those of its parts, are easy, and Fashion-MNIST's are harder."""
