"""The figures that `jaxdp recommend` goes by, which a wheel holds as a file of its own."""

from __future__ import annotations

import json
import math
import re
import statistics
from typing import Any

from benchmarks.pages import records
from benchmarks.pages.stored import RESULTS, ROOT, Runs, cases, lines
from benchmarks.pages.text import NAMES
from jaxdp.methods.teacher import schedule
from jaxdp.program.runs.pair_cells import pair_cells
from jaxdp.tables import Schema, read_schema

FILE = ROOT / "jaxdp" / "program" / "runs" / "measured.json"
_SMALL = "recommended_cpu.txt"
_TEACHERS = "teacher_schedule_cpu.txt"
_TABLES = "tables_eps1_cpu.txt"
# Made tables beside private ones; the second file has other epsilons.
_MADE = ("synthetic_tables_eps1_cpu.txt", "synthetic_tables_epsilons_cpu.txt")
_MADE_BY = ("model", "cells", "independent")
_SCHEMAS = (ROOT / "benchmarks" / "schemas", ROOT / "jaxdp" / "tables" / "schemas")
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
# A program of the small sets, and its line; teachers are in a table of their own.
_PROGRAMS = {"dp_kip": "dp_kip", "dp_ntk": "generate"}
# A set of the teachers' table: its name, its kind, its classes.
_SETS = {
    "mnist": ("MNIST", "grey", 10),
    "fashion_mnist": ("Fashion-MNIST", "grey", 10),
    "digits": ("digits", "grey", 10),
    "pneumonia": ("chest X-rays", "grey", 2),
    "cifar10": ("CIFAR-10", "colour", 10),
    "tissues": ("drawn tissues", "colour", 3),
    "leaves": ("drawn leaves", "colour", 5),
}
# A line of the recommendations, its method in the table of tables, and the tables.
_OF_TABLES = {
    "table": ("labelled", ("adult", "census", "credit", "cervical", "epileptic")),
    "counts": ("marginals", ("adult", "credit", "cervical", "epileptic")),
    "model": ("model", ("adult", "credit", "cervical")),
}


def measured() -> str:
    """Return the file: a point a line."""
    points = [*_teachers(), *_small(), *_full(), *_tables(), *_made_tables()]
    return "[\n" + ",\n".join(f"  {json.dumps(point)}" for point in points) + "\n]\n"


def _teachers() -> list[dict[str, Any]]:
    """Teachers by today's rules, on parts of training data; accuracies in percent."""
    points = []
    for case in cases(_TEACHERS).values():
        n, epsilon = case["n"], float(case["eps"])
        noise = 0.0 if math.isinf(epsilon) else schedule.single_release(epsilon, 1e-5)
        floor = schedule.floor(min(1.0, math.hypot(noise, schedule.SAMPLING) / n))
        if case["set"] not in _SETS or case["floor"] != floor:
            continue
        name, kind, num_classes = _SETS[case["set"]]
        points.append(
            {
                "data": name,
                "kind": kind,
                "num_examples": n,
                "num_classes": num_classes,
                "epsilon": f"{epsilon:g}",
                "method": "teacher",
                "score": round(case["accuracies"][case["noises"].index(2.0)], 1),
                "source": _source(_TEACHERS),
            }
        )
    return points


def _small() -> list[dict[str, Any]]:
    """Parts of the sets and the bundled digits, from a table of text."""
    points = []
    for program, data, epsilon, shown, *_ in lines(_SMALL):
        if program not in _PROGRAMS:
            continue
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


def _made_tables() -> list[dict[str, Any]]:
    """Overlaps of pairs in percent, means over seeds, of tables that were made."""
    found: dict[tuple[str, str, float, str], list[dict[str, Any]]] = {}
    for file in _MADE:
        if not (RESULTS / file).exists():
            continue
        for name, case in cases(file).items():
            data, method, epsilon, _ = name.split()
            if method in _MADE_BY and case["tv2"] is not None:
                key = (data, method, float(epsilon.removeprefix("eps=")), file)
                found.setdefault(key, []).append(case)
    return [
        {
            "data": data.replace("_", " "),
            "num_examples": several[0]["num_train"],
            "num_columns": several[0]["num_columns"],
            "pair_cells": round(pair_cells(_schema(data)), 1),
            "epsilon": f"{epsilon:g}",
            "method": method,
            "overlap": round(100 * (1 - statistics.fmean(case["tv2"] for case in several)), 1),
            "source": _source(file),
        }
        for (data, method, epsilon, file), several in sorted(found.items())
    ]


def _schema(data: str) -> Schema:
    name = data.removesuffix("_all")
    return read_schema(
        next(path for folder in _SCHEMAS if (path := folder / f"{name}.json").exists())
    )


def _source(name: str) -> str:
    return str((RESULTS / name).relative_to(ROOT))
