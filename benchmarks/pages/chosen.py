"""Blocks that choose among the others: the README's headline, and where figures are from."""

from __future__ import annotations

import itertools
from operator import itemgetter

from benchmarks.pages import distilled, generated, records
from benchmarks.pages.stored import Runs, cases, cited, papers
from benchmarks.pages.text import NAMES, above, code, fixed, percent, table

# A task, its stored runs, the paper's figure of a run and ours.
_IMAGES = [
    (
        "kernel regression on 10 distilled images per class",
        [runs for runs in distilled.TEACHERS if runs.set("ipc") == 10],
        distilled.of_scatter,
        distilled.krr,
    ),
    (
        "a ConvNet on 10 distilled images per class (best published: Dosser)",
        distilled.CONVNETS,
        distilled.of_dosser,
        lambda runs: percent(runs.mean("judged.convnet_dsa")),
    ),
    (
        "a small network on 60,000 generated images with hard labels of a teacher "
        "(best published: FETA-Pro)",
        generated.LABELLED,
        generated.of_feta,
        lambda runs: percent(runs.mean(generated.HARD)),
    ),
    (
        "logistic regression / MLP on generated images",
        [Runs(f"dp_ntk/{data}_scatter_rbf_eps1_0") for data in ("mnist", "fashion_mnist")],
        lambda runs: generated.of_paper("dp_ntk", runs),
        generated.both,
    ),
]
_RECORDS = {
    "model": "twelve classifiers on synthetic records of `jaxdp table` (area under the ROC curve "
    "of predictions)",
    "labelled": "the same on records that a teacher has labelled",
}

# Shape, examples, classes and epsilon of what the program is asked for.
_ASKED = [
    *itertools.product([(28, 28, 1)], [300, 1000, 5000, 60000], [10], [1, 10]),
    *itertools.product([(32, 32, 3)], [5000, 50000], [10], [1, 10]),
    ((224, 224, 1), 2000, 3, 10),
    *itertools.product([(14,)], [500, 20000], [2], [1]),
]


def headline() -> str:
    """Our figures beside the papers', task by task."""
    rows = [
        (task, NAMES[runs.set("dataset")], runs.epsilon, theirs(runs), ours(runs))
        for task, several, theirs, ours in _IMAGES
        for runs in several
    ]
    for method, task in _RECORDS.items():
        roc = records.means(cases("tables_eps1_cpu.txt"), "adult", method)[0]
        rows.append((task, "adult", "1", fixed(cited("tables", "adult")[0], 3), fixed(roc, 3)))
    first = [i == 0 or rows[i - 1][0] != row[0] for i, row in enumerate(rows)]
    return table(
        zip(first, rows, strict=True),
        {
            "task": lambda row: row[1][0] if row[0] else "",
            "data": lambda row: row[1][1],
            "eps": lambda row: row[1][2],
            "paper": lambda row: row[1][3],
            "here": lambda row: above(row[1][4], row[1][3]),
        },
    )


def demo() -> str:
    """What a newcomer sees first."""
    made = Runs("dp_kip_teacher/digits_demo_ipc10_eps3_?")
    return (
        "The demo makes ten images of each digit, some of which can be read, in about a minute. "
        f"Kernel regression on them tells {fixed(100 * made.mean(distilled.KRR))} % of real test "
        f"digits, as a mean of {len(made.metrics)} runs; guessing tells 10 %."
    )


def recommended() -> str:
    """First choices of the program."""
    from jaxdp.methods import warned
    from jaxdp.program.runs import amounts, recommendation  # whose figures are written first

    def row(shape: tuple[int, ...], n: int, classes: int, epsilon: float) -> tuple[str, ...]:
        spec = recommendation.spec_of(shape, n, classes)
        source = "--csv=FILE --schema=FILE" if len(shape) == 1 else "--dataset=NAME"
        first = recommendation.choices(spec, epsilon, source=source)[0]
        weak = "noise hides most; " if warned.too_weak(spec, epsilon) else ""
        return (
            *(_examples(shape), f"{n:,}", str(classes), f"{epsilon:g}", code(first.command)),
            *(weak + first.expected.split(" (")[0], amounts.duration(first.estimate.seconds)),
        )

    headings = ("examples", "n", "classes", "epsilon", "command", "expected", "about")
    rows = [row(*facts) for facts in _ASKED]
    return table(rows, {name: itemgetter(i) for i, name in enumerate(headings)})


def _examples(shape: tuple[int, ...]) -> str:
    if len(shape) == 1:
        return f"tables of {shape[0]} columns"
    return f"{'grey' if shape[2] == 1 else 'colour'} images of {shape[1]} x {shape[0]}"


def sources() -> str:
    """Where the papers' figures are printed."""
    return "\n".join(f"* {paper['source']}." for paper in papers().values())
