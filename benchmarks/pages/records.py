"""Blocks of tables: synthetic and distilled records."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.pages.stored import cases, cited
from benchmarks.pages.text import above, code, fixed, percent, table

NAMES = ("adult", "census", "intrusion", "credit", "cervical", "epileptic", "covtype", "isolet")
_MULTICLASS = ("intrusion", "covtype")
_WIDE = ("epileptic", "isolet")  # whose pairs of columns are too many
_AT_ONE = "tables_eps1_cpu.txt"
_OTHERS = {"0.2": "tables_eps02_cpu.txt", "10": "tables_eps10_cpu.txt"}
_DISTILLED = "tables_distilled_eps1_cpu.txt"
_BY_VALUES = "synthetic_tables_eps1_cpu.txt"
_OF_PAPERS = "synthetic_tables_papers_cpu.txt"
_BY_EPSILON = "synthetic_tables_epsilons_cpu.txt"
_UNPREPARED = "unprepared_tables_cpu.txt"
# Methods of that table, in its order.
_BESIDE = ("independent", "mst", "opendp_mst", "opendp_aim", "aim", "model")
Found = Mapping[str, Mapping[str, Any]]


def means(found: Found, name: str, method: str, epsilon: str = "1") -> list[float]:
    """Return a method's figures on a table, means over splits: ROC and PRC, or F1; or none."""
    seeds = [found.get(f"{name} {method} eps={epsilon} seed={seed}") for seed in range(5)]
    measured = [case for case in seeds if case]
    figures = ("f1",) if name in _MULTICLASS else ("roc", "prc")
    return [statistics.fmean(case[figure] for case in measured) for figure in figures if measured]


def _shown(figures: list[float]) -> str:
    return " / ".join(fixed(figure, 3) for figure in figures)


def _made(file: str, method: str, epsilon: str, paper: str = "tables") -> Callable[[str], str]:
    found = cases(file)

    def cell(name: str) -> str:
        figures = means(found, name, method, epsilon)
        if method == "pairs" and name in _WIDE:
            return "too many columns"
        return above(_shown(figures), _shown(cited(paper, name))) if figures else ""

    return cell


def _name(name: str) -> str:
    return name


def _real(name: str) -> str:
    return _shown(means(cases(_AT_ONE), name, "real"))


def _of_papers(name: str) -> str:
    return _shown(cited("tables", name))


def synthetic() -> str:
    """Twelve classifiers on records that were made at epsilon 1, beside the papers."""
    methods = ("mst", "aim", "independent", "marginals", "pairs", "labelled")
    return table(
        NAMES,
        {"table": _name, "papers": _of_papers}
        | {code(method): _made(_AT_ONE, method, "1") for method in methods}
        | {"real records": _real},
    )


def other_budgets() -> str:
    """The same at epsilon 0.2 and 10; one split and one draw each."""
    columns = {
        f"{code(method)}, {epsilon}": _made(file, method, epsilon)
        for epsilon, file in _OTHERS.items()
        for method in ("marginals", "pairs", "labelled")
    }
    return table(
        NAMES,
        {"table": _name, "papers, epsilon 1": _of_papers} | columns | {"real records": _real},
    )


def seconds() -> str:
    """How long making the records took at epsilon 1, over all tables and splits."""
    found = cases(_AT_ONE)
    taken = {
        method: [case["seconds"] for name, case in found.items() if name.split()[1] == method]
        for method in ("marginals", "pairs", "labelled", "mst", "aim")
    }
    return table(
        taken.items(),
        {
            "method": lambda row: code(row[0]),
            "seconds, shortest": lambda row: fixed(min(row[1])),
            "longest": lambda row: fixed(max(row[1])),
        },
    )


def distilled() -> str:
    """Ten records of each class: distilled ones, and the first that are drawn."""
    return table(
        NAMES,
        {"table": _name, "DP-KIP (paper)": lambda name: _shown(cited("dp_kip_tables", name))}
        | {
            code(method): _made(_DISTILLED, method, "1", "dp_kip_tables")
            for method in ("dp_kip", "dp_kip_teacher", "drawn")
        },
    )


def rare_class() -> str:
    """What is learnt of a rare class: logistic regression and trees, means of three tables."""
    found = cases("rare_class_eps1_cpu.txt") | cases("rare_class_eps10_cpu.txt")

    def mean(row: tuple[str, str], method: str, figure: str) -> float:
        part, epsilon = row
        return statistics.fmean(
            found[f"{part} {method} eps={epsilon} seed={seed}"][figure] for seed in range(3)
        )

    def area(method: str) -> Callable[[tuple[str, str]], str]:
        return lambda row: _shown([mean(row, method, "logistic"), mean(row, method, "trees")])

    methods = ("likeliest", "labelled", "drawn")
    return table(
        itertools.product(("0.03", "0.1", "0.5"), ("1", "10")),
        {
            "positive": lambda row: f"{fixed(100 * float(row[0]))} %",
            "epsilon": lambda row: row[1],
        }
        | {
            f"made positive, {code(name)}": lambda row, name=name: (
                f"{percent(mean(row, name, 'positive'))} %"
            )
            for name in methods[:2]
        }
        | {code(name): area(name) for name in methods}
        | {"real records": area("real")},
    )


def by_epsilon() -> str:
    """The same tables at four epsilons: what boosting learns, and distances of pairs of columns."""
    rows: dict[tuple[str, str], dict[str, list[Any]]] = {}
    others = cases(_BY_EPSILON)
    tables = {case["case"].split()[0] for case in others.values()}
    for case in [*cases(_BY_VALUES).values(), *others.values()]:
        name, method, epsilon, _ = case["case"].split()
        if name in tables and method in ("real", "independent", "aim", "model"):
            own = rows.setdefault((name, method), {})
            own.setdefault(epsilon.removeprefix("eps="), []).append(case)

    def learnt(row: tuple[str, str], epsilon: str) -> str:
        found = [case for case in rows[row].get(epsilon, []) if case.get("note") is None]
        if not found:
            return "-"
        figure = "auc" if found[0]["auc"] is not None else "r2"
        return fixed(statistics.fmean(case[figure] for case in found), 2)

    def apart(row: tuple[str, str], epsilon: str) -> str:
        found = [c["tv2"] for c in rows[row].get(epsilon, []) if c.get("tv2") is not None]
        return fixed(statistics.fmean(found), 3) if found else "-"

    each = ("0.2", "1", "3", "10")
    columns: dict[str, Callable[[tuple[str, str]], str]] = {
        "table": lambda row: row[0],
        "made by": lambda row: code(row[1]),
        "learns, real": lambda row: learnt((row[0], "real"), "inf"),
    }
    columns |= {f"at {e}": lambda row, e=e: learnt(row, e) for e in each}  # type: ignore[misc]
    columns |= {f"two-way at {e}": lambda row, e=e: apart(row, e) for e in each}  # type: ignore[misc]
    return table([row for row in rows if row[1] != "real"], columns)


def unprepared() -> str:
    """Tables that nobody prepared, made by one command."""
    return table(
        list(cases(_UNPREPARED).values()),
        {
            "table": lambda case: case["case"].split()[0],
            "records": lambda case: str(case["num_records"]),
            "columns": lambda case: str(case["num_columns"]),
            "seconds": lambda case: fixed(case["seconds"]),
            "score": lambda case: fixed(case["score"], 3),
            "of columns": lambda case: fixed(case["columns"], 3),
            "of pairs": lambda case: fixed(case["pairs"], 3),
            "told apart (AUC)": lambda case: fixed(case["apart"], 3),
        },
    )


def by_values() -> str:
    """Made tables judged by values, beside AIM: means of splits by table and method."""
    rows: dict[tuple[str, str], list[Any]] = {}
    for case in (cases(_BY_VALUES) | cases(_OF_PAPERS)).values():
        name, method = case["case"].split()[:2]
        if method in ("real", *_BESIDE):
            rows.setdefault((name, method), []).append(case)
    names = list(dict.fromkeys(name for name, _ in rows))
    ordered = sorted(rows, key=lambda row: (names.index(row[0]), ("real", *_BESIDE).index(row[1])))

    def mean(row: tuple[str, str], figure: str) -> float | None:
        found = [case[figure] for case in rows[row] if case.get(figure) is not None]
        return statistics.fmean(found) if found else None

    def learnt(row: tuple[str, str]) -> str:
        if rows[row][0].get("note"):
            return str(rows[row][0]["note"])
        area = mean(row, "auc")
        return f"{fixed(mean(row, 'r2'), 2)} (R2)" if area is None else f"{fixed(area, 2)} (AUC)"

    def told(figure: str) -> Callable[[tuple[str, str]], str]:
        return lambda row: "" if mean(row, figure) is None else fixed(mean(row, figure), 3)

    return table(
        ordered,
        {
            "table": lambda row: row[0],
            "records": lambda row: str(rows[row][0]["num_train"]),
            "columns": lambda row: str(rows[row][0]["num_columns"]),
            "splits": lambda row: str(len(rows[row])),
            "made by": lambda row: code(row[1]),
            "boosting learns": learnt,
            "two-way": told("tv2"),
            "three-way": told("three_way"),
            "correlations": told("strong"),
            "seconds": lambda row: "" if row[1] == "real" else fixed(mean(row, "seconds")),
        },
    )
