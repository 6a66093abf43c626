"""Blocks of generated images."""

from __future__ import annotations

import itertools
from typing import Any

from benchmarks.pages.stored import Runs, cases, cited
from benchmarks.pages.text import NAMES, above, code, fixed, percent, significant, table

_LINEAR = ("logistic", "mlp")
_FULL = "--features=scatter_rbf"
_CONV = "--generator=conv"
# What a row's features are called, its runs, its flags and the paper's method.
_ROWS: list[tuple[str, str, str, str]] = [
    *(
        ("Gaussian of scattering and pixels", f"{data}_scatter_rbf_eps{eps}_0", _FULL, "dp_ntk")
        for data in ("mnist", "fashion_mnist")
        for eps in (10, 1, 0.2)
    ),
    *(
        (
            "the same, twice the steps",
            f"{data}_scatter_rbf4000_eps1_0",
            f"{_FULL} --steps=4000",
            "dp_ntk",
        )
        for data in ("mnist", "fashion_mnist")
    ),
    ("scattering", "mnist_scatter_eps1_0", "--features=scatter", "dp_ntk"),
    ("e-NTK, the paper's batches", "mnist_entkdefault_eps1_0", "", "dp_ntk"),
    *(
        ("e-NTK", f"{data}_entk_eps{eps}_0", "--batch_size=2000", "dp_ntk")
        for data in ("mnist", "fashion_mnist")
        for eps in (10, 1, 0.2)
    ),
    ("random Fourier (DP-MERF)", "mnist_rff_eps1_0", "--features=rff --batch_size=500", "dp_merf"),
    ("Hermite (DP-HP)", "mnist_hermite_eps1_0", "--features=hermite --steps=3000", "dp_hp"),
    (
        "Gaussian of scattering and pixels, fast",
        "mnist_scatter_rbffast_eps10_0",
        f"{_FULL} --preset=fast",
        "dp_ntk",
    ),
    ("e-NTK, fast", "mnist_entkfast_eps10_0", "--preset=fast", "dp_ntk"),
    (
        "e-NTK (`fc_2l`, 3000_200)",
        "cifar10_entk_eps10_0",
        f"{_CONV} --steps=600 --batch_size=500",
        "",
    ),
]


def _data(runs: Runs) -> str:
    return NAMES[runs.set("dataset")]


def both(runs: Runs) -> str:
    """Return the accuracies of logistic regression and the MLP."""
    return " / ".join(percent(runs.mean(f"accuracy.{judge}.mean")) for judge in _LINEAR)


def of_paper(method: str, runs: Runs) -> str:
    """Return what a paper prints of these two."""
    if not method:
        return ""
    return " / ".join(percent(f / 100) for f in cited(method, runs.set("dataset"), runs.epsilon))


def generation() -> str:
    """Logistic regression and MLP on images of each map of features; one run a row."""
    rows = [(name, Runs(f"dp_ntk/{run}", flags), paper) for name, run, flags, paper in _ROWS]
    return table(
        rows,
        {
            "data": lambda row: _data(row[1]),
            "features": lambda row: row[0],
            "eps": lambda row: row[1].epsilon,
            "papers": lambda row: of_paper(row[2], row[1]),
            "here": lambda row: (
                above(both(row[1]), of_paper(row[2], row[1])) if row[2] else both(row[1])
            ),
            "seconds": lambda row: fixed(row[1].mean("train_seconds")),
            "command (`jaxdp run dp_ntk`)": lambda row: code(row[1].command),
        },
    )


def generation_of_runs() -> str:
    """Means and standard deviations of three runs, which differ by their seeds."""
    rows = [Runs(f"dp_ntk/{data}_scatter_rbf_eps1_?", _FULL) for data in ("mnist", "fashion_mnist")]
    return table(
        rows,
        {
            "data": _data,
            "eps": lambda runs: runs.epsilon,
            "runs": lambda runs: str(len(runs.metrics)),
            "logistic regression": lambda runs: mean_of(runs, "accuracy.logistic.mean"),
            "MLP": lambda runs: mean_of(runs, "accuracy.mlp.mean"),
        },
    )


def mean_of(runs: Runs, path: str) -> str:
    """Return a mean over runs with their standard deviation, where there are several."""
    mean = percent(runs.mean(path))
    return f"{mean} ({percent(runs.deviation(path))})" if len(runs.metrics) > 1 else mean


def choose_features() -> str:
    """The default features of images, for the page on choosing."""
    order = [
        *(f"mnist_scatter_rbf_eps{eps}_0" for eps in (0.2, 1, 10)),
        "mnist_scatter_rbffast_eps10_0",
        *(f"fashion_mnist_scatter_rbf_eps{eps}_0" for eps in (0.2, 1, 10)),
    ]
    return table(
        [Runs(f"dp_ntk/{name}", _FULL + " --preset=fast" * ("fast" in name)) for name in order],
        {
            "data": lambda runs: _data(runs) + ", in a hurry" * ("fast" in runs.name),
            "epsilon": lambda runs: runs.epsilon,
            "command (`jaxdp run dp_ntk`)": lambda runs: code(runs.command),
            "logistic regression": lambda runs: percent(runs.mean("accuracy.logistic.mean")),
            "MLP": lambda runs: percent(runs.mean("accuracy.mlp.mean")),
            "seconds": lambda runs: fixed(runs.mean("train_seconds")),
        },
    )


# --- With labels of a private teacher ----------------------------------------------------------

# Runs of teachers that have the public network. Earlier ones are those of later tables.
_RUNS_OF = {
    ("mnist", 1): "5",
    ("mnist", 10): "3",
    ("fashion_mnist", 1): "3",
    ("fashion_mnist", 10): "3",
}
_TEACHER = "--labels=teacher"


def _by_teacher(data: str) -> str:
    """Return what a command has beside its data and epsilon."""
    return " ".join([_TEACHER, *[_CONV, "--steps=2000"] * (data == "cifar10")])


def _drawn(data: str, eps: int) -> Runs:
    """Return runs whose images are as they were drawn, which is the default at epsilon 1 alone."""
    features = "--features=scatter_rbf " * (eps == 10)
    run = _RUNS_OF.get((data, eps), "?")
    return Runs(f"dp_ntk/{data}_labelled_eps{eps}_{run}", features + _by_teacher(data))


DRAWN = {(data, eps): _drawn(data, eps) for data, eps in itertools.product(NAMES, (1, 10))}
_MOVED = {
    (data, 10): Runs(f"dp_ntk/{data}_labelled_encoder_eps10_?", _by_teacher(data)) for data in NAMES
}
LABELLED = list((DRAWN | _MOVED).values())
HARD, SOFT = "accuracy.cnn.mean", "accuracy.cnn_soft.mean"


def of_feta(runs: Runs) -> str:
    """Return the best published figure."""
    return percent(cited("feta_pro", runs.set("dataset"), runs.epsilon) / 100)


def labelled() -> str:
    """A small network on 60,000 generated images that a teacher labels; means over runs."""
    return table(
        [*LABELLED, *(DRAWN[which] for which in _MOVED)],
        {
            "data": _data,
            "eps": lambda runs: runs.epsilon,
            "published (FETA-Pro)": of_feta,
            "hard labels": lambda runs: above(mean_of(runs, HARD), of_feta(runs)),
            "soft labels": lambda runs: above(mean_of(runs, SOFT), of_feta(runs)),
            "runs": lambda runs: str(len(runs.metrics)),
            "teacher": lambda runs: percent(runs.mean("teacher_test_accuracy")),
            "seconds": lambda runs: fixed(min(runs.values("train_seconds"))),
            "command (`jaxdp run dp_ntk`)": lambda runs: code(runs.command),
        },
    )


def labelled_at_their_delta() -> str:
    """One of these commands at the delta of the published figure."""
    runs = Runs("dp_ntk/mnist_labelled_small_delta_eps1_?", f"--delta=1.5e-6 {_TEACHER}")
    return table(
        [runs],
        {
            "data": _data,
            "eps": lambda runs: runs.epsilon,
            "delta": lambda runs: f"{runs.set('delta'):g}",
            "published (FETA-Pro)": of_feta,
            "hard labels": lambda runs: above(mean_of(runs, HARD), of_feta(runs)),
            "soft labels": lambda runs: above(mean_of(runs, SOFT), of_feta(runs)),
            "teacher": lambda runs: percent(runs.mean("teacher_test_accuracy")),
            "command (`jaxdp run dp_ntk`)": lambda runs: code(runs.command),
        },
    )


def labelled_at_one() -> str:
    """The same at epsilon 1 with hard labels, for the page on choosing."""
    return table(
        [runs for runs in LABELLED if runs.epsilon == "1"],
        {
            "data": _data,
            "command (`jaxdp run dp_ntk`)": lambda runs: code(runs.command),
            "a small network": lambda runs: percent(runs.mean(HARD)),
            "seconds": lambda runs: fixed(min(runs.values("train_seconds"))),
        },
    )


def linear_of_labelled() -> str:
    """Logistic regression and MLP on 6000 of these images; the first run that has them."""
    grey = [runs for (data, _), runs in DRAWN.items() if data != "cifar10"]
    return table(
        grey,
        {
            "data": _data,
            "eps": lambda runs: runs.epsilon,
            "logistic regression": lambda runs: percent(runs.values("accuracy.logistic.mean")[0]),
            "MLP": lambda runs: percent(runs.values("accuracy.mlp.mean")[0]),
        },
    )


def linear_of_all() -> str:
    """The same on all 60,000 images of the third runs at epsilon 10, beside DPDM."""
    rows = [Runs(f"dp_ntk/{data}_labelled_eps10_2") for data in ("mnist", "fashion_mnist")]

    def ours(runs: Runs) -> str:
        return " / ".join(percent(runs.mean(f"judged.{judge}")) for judge in _LINEAR)

    return table(
        rows,
        {
            "data": _data,
            "eps": lambda runs: runs.epsilon,
            "DPDM": lambda runs: of_paper("dpdm", runs),
            "here": lambda runs: above(ours(runs), of_paper("dpdm", runs)),
        },
    )


def wide_network() -> str:
    """A wide residual network beside the small one, with soft labels, on one run."""
    (run,) = [Runs("dp_ntk/fashion_mnist_labelled_eps1_2")]
    return table(
        [("the small network", SOFT), ("a wide residual network", "judged.wrn_soft")],
        {
            "network, Fashion-MNIST at epsilon 1": lambda row: row[0],
            "accuracy": lambda row: percent(run.mean(row[1])),
        },
    )


def fidelity() -> str:
    """How near generated images are to real ones, beside other real images."""

    def said(case: dict[str, Any]) -> str:
        data, _, what = case["case"].partition(": ")
        return f"{NAMES[data]}, {what}"

    return table(
        cases("fidelity_cpu.txt").values(),
        {
            "images": said,
            "Frechet distance of scattering features": lambda case: (
                f"{case['distance']:.1e}".replace("e-0", "e-")
            ),
            "density": lambda case: significant(case["density"]),
            "coverage": lambda case: significant(case["coverage"]),
        },
    )
