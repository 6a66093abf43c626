"""Blocks that choose among the others: the README's headline, and where figures are from."""

from __future__ import annotations

from benchmarks.pages import distilled, generated, records
from benchmarks.pages.stored import Runs, cases, cited, papers
from benchmarks.pages.text import NAMES, above, fixed, percent, table

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
_RECORDS = "twelve classifiers on synthetic records (area under the ROC curve of predictions)"


def headline() -> str:
    """Our figures beside the papers', task by task."""
    rows = [
        (task, NAMES[runs.set("dataset")], runs.epsilon, theirs(runs), ours(runs))
        for task, several, theirs, ours in _IMAGES
        for runs in several
    ]
    roc = records.means(cases("tables_eps1_cpu.txt"), "adult", "labelled")[0]
    rows.append((_RECORDS, "adult", "1", fixed(cited("tables", "adult")[0], 3), fixed(roc, 3)))
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
    from jaxdp.program.runs import recommendation

    return recommendation.as_markdown()


def sources() -> str:
    """Where the papers' figures are printed."""
    return "\n".join(f"* {paper['source']}." for paper in papers().values())
