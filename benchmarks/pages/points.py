"""The figures that `jaxdp recommend` goes by, which a wheel holds as a file of its own."""

from __future__ import annotations

import json
import re
from typing import Any

from benchmarks.pages import records
from benchmarks.pages.stored import RESULTS, ROOT, Runs, cases, lines
from benchmarks.pages.text import NAMES

FILE = ROOT / "jaxdp" / "program" / "runs" / "measured.json"
_SMALL = "recommended_cpu.txt"
_TABLES = "tables_eps1_cpu.txt"
# A line of the recommendations, a stored run, and its figure.
_FULL = [
    *(
        ("teacher", f"dp_kip_teacher/{data}_ipc1_eps{eps}_?", "krr_test_accuracy")
        for data in NAMES
        for eps in (1, 10)
    ),
    *(
        ("match", f"dp_kip_teacher/{data}_both_ipc10_eps1_0", "evaluation.convnet.mean")
        for data in ("mnist", "fashion_mnist")
    ),
    *(
        ("generate", f"dp_ntk/{data}_scatter_rbf_eps{eps}_0", "accuracy.mlp.mean")
        for data in ("mnist", "fashion_mnist")
        for eps in (0.2, 1, 10)
    ),
    *(
        ("dp_kip", f"dp_kip/{run}_?", "krr_test_accuracy")
        for run in (
            "mnist_ipc1_eps1",
            "mnist_ipc1_eps10",
            "mnist_ipc10_epsinf",
            "cifar10_ipc1_eps1",
            "cifar10_ipc1_eps10",
        )
    ),
]
# A program of the small sets, and its line.
_PROGRAMS = {"dp_kip_teacher": "teacher", "dp_kip": "dp_kip", "dp_ntk": "generate"}
# A line of the recommendations, its method in the table of tables, and the tables.
_OF_TABLES = {
    "table": ("labelled", ("adult", "census", "credit", "cervical", "epileptic")),
    "counts": ("marginals", ("adult", "credit", "cervical", "epileptic")),
}


def measured() -> str:
    """Return the file: a point a line."""
    points = [*_small(), *_full(), *_tables()]
    return "[\n" + ",\n".join(f"  {json.dumps(point)}" for point in points) + "\n]\n"


def _small() -> list[dict[str, Any]]:
    """Parts of the sets and the bundled digits, from a table of text."""
    points = []
    for program, data, epsilon, shown, *_ in lines(_SMALL):
        name, n = data.split(", ")
        figures = re.findall(r"[\d.]+", shown.partition("(")[0])  # the MLP's is the last one
        points.append(
            {
                "data": name if name == "digits" else f"{n} of {name}",
                "kind": "colour" if name == NAMES["cifar10"] else "grey",
                "num_examples": int(n),
                "num_classes": 10,
                "epsilon": epsilon,
                "method": _PROGRAMS[program],
                "score": float(figures[-1]),
                "source": _source(_SMALL),
            }
        )
    return points


def _full() -> list[dict[str, Any]]:
    """Whole sets, from runs; accuracies in percent."""
    points = []
    for line, name, figure in _FULL:
        runs = Runs(name)
        points.append(
            {
                "data": NAMES[runs.set("dataset")],
                "kind": "grey" if runs.set("example_shape")[-1] == 1 else "colour",
                "num_examples": runs.set("num_examples"),
                "num_classes": runs.set("num_classes"),
                "epsilon": runs.epsilon,
                "method": line,
                "score": round(100 * runs.mean(figure), 1),
                "source": _source(name),
            }
        )
    return points


def _tables() -> list[dict[str, Any]]:
    """Tables of two classes: areas under the ROC curve times 100."""
    found = cases(_TABLES)
    return [
        {
            "data": name,
            "kind": "table",
            "num_examples": found[f"{name} {method} eps=1 seed=0"]["num_train"],
            "num_classes": 2,
            "epsilon": "1",
            "method": line,
            "score": round(100 * records.means(found, name, method)[0], 1),
            "source": _source(_TABLES),
        }
        for line, (method, names) in _OF_TABLES.items()
        for name in names
    ]


def _source(name: str) -> str:
    return str((RESULTS / name).relative_to(ROOT))
