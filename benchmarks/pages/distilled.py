"""Blocks of distilled images."""

from __future__ import annotations

import itertools

from benchmarks.pages.generated import mean_of
from benchmarks.pages.stored import Runs, cases, cited, papers
from benchmarks.pages.text import NAMES, above, code, fixed, percent, table

KRR = "krr_test_accuracy"


def _cell(runs: Runs) -> tuple[object, ...]:
    return runs.set("dataset"), runs.set("ipc"), runs.epsilon


def _data(runs: Runs) -> str:
    corrupted = runs.configs[0].get("corrupt", 0.0)
    part = f", {fixed(100 * corrupted)} % corrupted" if corrupted else ""
    return f"{NAMES[runs.set('dataset')]}{part}"


def _ipc(runs: Runs) -> str:
    return str(runs.set("ipc"))


def _epsilon(runs: Runs) -> str:
    return runs.epsilon


def _count(runs: Runs) -> str:
    return str(len(runs.metrics))


def krr(runs: Runs) -> str:
    """Return the accuracy of kernel regression."""
    return percent(runs.mean(KRR))


def _fastest(runs: Runs) -> str:
    return fixed(min(runs.values("train_seconds")))


def _seconds(runs: Runs) -> str:
    return fixed(runs.mean("train_seconds"))


def _of_dp_kip(runs: Runs) -> str:
    kernel, corrupted = runs.set("kernel"), runs.configs[0].get("corrupt", 0.0)
    if runs.epsilon == "inf":
        return percent(cited("kip", kernel, *_cell(runs)) / 100)
    if corrupted:
        return percent(cited("dp_kip_corrupted", corrupted, runs.epsilon) / 100)
    return percent(cited(f"dp_kip_{kernel}", *_cell(runs)) / 100)


def of_scatter(runs: Runs) -> str:
    """Return the paper's figure of the same cell."""
    return percent(cited("dp_kip_scatter", *_cell(runs)) / 100)


# --- Private teacher ---------------------------------------------------------------------------

TEACHERS = [
    Runs(f"dp_kip_teacher/{data}_ipc{ipc}_eps{eps}_?")
    for data, eps, ipc in itertools.product(NAMES, (1, 10), (1, 10, 50))
]


def teacher() -> str:
    """Kernel regression on images that are distilled from a private teacher; fastest seconds."""
    return table(
        TEACHERS,
        {
            "data": _data,
            "ipc": _ipc,
            "eps": _epsilon,
            "DP-KIP-ScatterNet (paper)": of_scatter,
            "here": lambda runs: above(krr(runs), of_scatter(runs)),
            "the teacher itself": lambda runs: percent(runs.mean("teacher_test_accuracy")),
            "runs": _count,
            "seconds": _fastest,
            "command (`jaxdp run teacher`)": lambda runs: code(runs.command),
        },
    )


def _published(runs: Runs) -> str:
    table, key = (
        {"3": "dpsur", "8": "de_et_al"}[runs.epsilon],
        f"{runs.set('dataset')} {runs.epsilon}",
    )
    return percent(papers()[table][key] / 100) if key in papers()[table] else ""


def teacher_of_others() -> str:
    """The same at two more epsilons, beside private networks, which release no images."""
    return table(
        [
            Runs(f"dp_kip_teacher/{data}_ipc10_eps{eps}_?")
            for data, eps in itertools.product(NAMES, (3, 8))
        ],
        {
            "data": _data,
            "eps": _epsilon,
            "private network (paper)": _published,
            "the teacher": lambda runs: percent(runs.mean("teacher_test_accuracy")),
            "ten images per class": krr,
            "runs": _count,
            "command (`jaxdp run teacher`)": lambda runs: code(runs.command),
        },
    )


def teacher_of_ten() -> str:
    """The same with ten images per class, for the page on choosing."""
    return table(
        [runs for runs in TEACHERS if runs.set("ipc") == 10],
        {
            "data": _data,
            "epsilon": _epsilon,
            "command (`jaxdp run teacher`)": lambda runs: code(runs.command),
            "accuracy": krr,
            "seconds": _fastest,
        },
    )


# --- DP-KIP ------------------------------------------------------------------------------------

# A run and its flags beside data, images per class and epsilon.
_FC_NTK = {
    "mnist_ipc1_eps1": "--clip_norm=0.02 --smoothing=1",
    "mnist_ipc1_eps10": "--clip_norm=0.05 --smoothing=1",
    "mnist_ipc10_eps1": "--epochs=10 --batch_size=500",
    "mnist_ipc10_eps10": "--clip_norm=0.005 --batch_size=500",
    "mnist_ipc10_epsinf": "--smoothing=0 --init_scale=1 --steps=5000 --batch_size=2000 "
    "--learning_rate=0.2",
    "mnist_ipc50_eps1": "--epochs=10 --batch_size=500 --average_decay=0.98 --init_scale=0.1",
    "mnist_ipc50_eps10": "",
    "cifar10_ipc1_eps1": "",
    "cifar10_ipc1_eps10": "",
    "cifar10_ipc10_eps1": "",
    "cifar10_ipc10_eps10": "--clip_norm=0.003",
    "cifar10_ipc50_eps1": "",
    "cifar10_ipc50_eps10": "--clip_norm=0.003",
    "fashion_mnist_ipc10_eps1": "",
    "fashion_mnist_ipc10_eps10": "--clip_norm=0.03",
    "fashion_mnist_ipc50_eps1": "",
    "fashion_mnist_ipc50_eps10": "--clip_norm=0.03",
}
_STEADY = "--clip_norm=0.15 --batch_size=2000"
_FEW = "--clip_norm=0.0005 --epochs=10"
_SCATTER = {
    "mnist_scatter_ipc1_eps1": "--bounded --batch_size=4000 --epochs=40",
    "mnist_scatter_ipc1_eps10": "--bounded --epochs=60",
    "mnist_scatter_ipc10_eps1": _STEADY,
    "mnist_scatter_ipc10_eps10": "--clip_norm=0.15 --batch_size=4000 --epochs=40",
    "mnist_scatter_ipc50_eps1": _STEADY,
    "mnist_scatter_ipc50_eps10": _STEADY,
    "fashion_mnist_scatter_ipc1_eps1": "",
    "fashion_mnist_scatter_ipc1_eps10": "",
    "fashion_mnist_scatter_ipc10_eps1": "--clip_norm=0.001 --batch_size=2000 --epochs=10",
    "fashion_mnist_scatter_ipc10_eps10": "--clip_norm=0.001 --batch_size=2000 --epochs=40",
    "fashion_mnist_scatter_ipc50_eps1": "--clip_norm=0.001 --batch_size=2000 --epochs=10",
    "fashion_mnist_scatter_ipc50_eps10": "--clip_norm=0.001 --batch_size=2000 --epochs=10",
    "cifar10_scatter_ipc1_eps1": "",
    "cifar10_scatter_ipc1_eps10": "",
    **{f"cifar10_scatter_ipc{ipc}_eps{eps}": _FEW for ipc in (10, 50) for eps in (1, 10)},
    **{f"cifar10_scatter_corrupt_ipc10_eps{eps}": f"{_FEW} --corrupt=0.01" for eps in (1, 10)},
    **{
        f"cifar10_scatter_corrupt{part}_ipc10_eps{eps}": f"{_FEW} --corrupt={part / 100:g}"
        for part in (5, 10, 40, 80)
        for eps in (1, 10)
    },
    **{f"cifar10_scatter_corrupt_ipc10_eps{eps}": f"{_FEW} --corrupt=0.01" for eps in (0.1, 100)},
}


def _dp_kip(rows: dict[str, str], kernel: str = "") -> str:
    return table(
        [Runs(f"dp_kip/{name}_?", f"{kernel} {flags}") for name, flags in rows.items()],
        {
            "data": _data,
            "ipc": _ipc,
            "eps": _epsilon,
            "paper": _of_dp_kip,
            "here": lambda runs: above(krr(runs), _of_dp_kip(runs)),
            "runs": _count,
            "seconds": _seconds,
            "command (`jaxdp run dp_kip`)": lambda runs: code(runs.command),
        },
    )


def fc_ntk() -> str:
    """DP-KIP with the fully connected NTK beside the paper."""
    return _dp_kip(_FC_NTK)


def scatter() -> str:
    """DP-KIP with scattering features beside the paper, images with corrupted pixels included."""
    return _dp_kip(_SCATTER, "--kernel=scatter")


def clip_spaces() -> str:
    """One run that clips in feature space and one that clips in pixels."""
    words = "--kernel=scatter --subset=6000 --batch_size=200 --steps=300 --bounded"
    rows = [
        Runs("dp_kip/mnist_scatter_subset6000_features_eps10_0", f"{words} --clip_norm=0.4"),
        Runs(
            "dp_kip/mnist_scatter_subset6000_pixels_eps10_0",
            f"{words} --clip_space=pixels --clip_norm=0.075",
        ),
    ]
    where = {"features": "in feature space", "pixels": "in pixels, as the papers do"}
    return table(
        rows,
        {
            "clipped": lambda runs: where[runs.set("clip_space")],
            "command (`jaxdp run dp_kip`)": lambda runs: code(runs.command),
            "accuracy": krr,
            "seconds": _seconds,
        },
    )


def without_privacy() -> str:
    """KIP without noise on features of three kinds, beside the paper."""
    common = "--ridge=1e-3 --clip_norm=1000"
    return table(
        [
            Runs(f"dp_kip/mnist_{kernel}_ipc1_epsinf_0", f"--kernel={kernel} {flags}")
            for kernel, flags in {
                "scatter": f"--whiten=0.01 {common} --learning_rate=0.1 --steps=6000",
                "perceptual": f"--whiten=0.01 {common} --learning_rate=0.1 --steps=6000 "
                "--batch_size=500",
                "entk": f"--whiten=0.1 {common} --learning_rate=0.03 --steps=6000",
            }.items()
        ],
        {
            "KIP (paper)": _of_dp_kip,
            "here": lambda runs: above(krr(runs), _of_dp_kip(runs)),
            "seconds": _seconds,
            "command (`jaxdp run dp_kip`)": lambda runs: code(runs.command),
        },
    )


def defaults_without_privacy() -> str:
    """The defaults of `--eps=inf`, one run each."""
    kernels = {
        "mnist_default_ipc10": "",
        "fashion_mnist_default_ipc10": "",
        "cifar10_default_ipc10": "",
        "mnist_entk_default_ipc1": "--kernel=entk",
        "mnist_scatter_default_ipc1": "--kernel=scatter",
        "mnist_perceptual_default_ipc1": "--kernel=perceptual",
    }
    return table(
        [Runs(f"dp_kip/{name}_epsinf_0", flags) for name, flags in kernels.items()],
        {
            "command (`jaxdp run dp_kip`)": lambda runs: code(runs.command),
            "accuracy": krr,
            "seconds": _seconds,
        },
    )


def other_classifiers() -> str:
    """A ConvNet on images that were distilled for one kernel."""
    return table(
        [
            Runs(f"dp_kip/{name}", "--kernel=scatter")
            for name in ("mnist_scatter_ipc10_eps10_1", "fashion_mnist_scatter_ipc10_eps10_2")
        ],
        {
            "data": _data,
            "eps": _epsilon,
            "the kernel": krr,
            "ConvNet here": lambda runs: percent(runs.mean("evaluation.convnet.mean")),
            "ConvNet in the paper": lambda runs: percent(
                cited("dp_kip_convnet", *_cell(runs)) / 100
            ),
        },
    )


# --- Data that nobody tuned on -----------------------------------------------------------------

# A set, its number of examples and epsilon, with the words that name it.
_SETS = {
    ("coloured_digits", 1000, 10): "1000 digits in colour, 16 x 16",
    ("small_digits", 1000, 10): "1000 of MNIST, averaged to 16 x 16",
    ("small_digits", 1000, 1): "1000 of MNIST, averaged to 16 x 16",
    ("small_digits", 5000, 10): "5000 of MNIST, averaged to 16 x 16",
    ("small_digits", 5000, 1): "5000 of MNIST, averaged to 16 x 16",
    ("tissues", 300, 10): "300 drawings of tissue, 3 classes",
    ("tissues", 300, 1): "300 drawings of tissue, 3 classes",
    ("tissues", 1000, 10): "1000 drawings of tissue, 3 classes",
    ("tissues", 1000, 1): "1000 drawings of tissue, 3 classes",
}
_METHODS = {
    "teacher": "teacher",
    **{f"`{name}`": f"kernel:{name}" for name in ("fc_ntk", "scatter", "perceptual", "entk")},
    **{f"generated by `{name}`": f"maps:{name}" for name in ("entk", "rff", "hermite")},
}


def untuned() -> str:
    """Every method by its defaults on small sets; one draw each."""
    # Scattering features have been normalised anew since the others were measured.
    found = cases("untuned_sets_cpu.txt") | cases("untuned_scatter_cpu.txt")

    def accuracy(row: tuple[str, int, int], method: str) -> str:
        case = found.get("{} n={} eps={} {}".format(*row, method))
        return fixed(case["accuracy"], 1) if case else ""

    return table(
        _SETS,
        {"set": _SETS.__getitem__, "eps": lambda row: str(row[2])}
        | {
            heading: lambda row, method=method: accuracy(row, method)
            for heading, method in _METHODS.items()
        },
    )


def digits() -> str:
    """Kernels of features on the bundled digits."""
    return table(
        [
            Runs(f"dp_kip/digits_{kernel}_ipc1_eps10_0", f"--kernel={kernel}")
            for kernel in ("entk", "scatter", "perceptual")
        ],
        {
            "command (`jaxdp run dp_kip`)": lambda runs: code(runs.command),
            "accuracy": krr,
            "seconds": _seconds,
        },
    )


# --- Images that look like their classes -------------------------------------------------------

_OWN = "--synthetic=runs/{}_scatter_rbf_eps1"
_MATCHED = {
    "mnist_generated_ipc10_eps1": ("a teacher and a generator", _OWN.format("mnist")),
    "mnist_generated_ipc20_eps1": (
        "a teacher and a generator",
        f"--cosine_weight=0.05 {_OWN.format('mnist')} "
        "--teacher=runs/mnist_teacher_ipc10_eps1/teacher.npz",
    ),
    "mnist_both_ipc10_eps1": ("a teacher and class means", ""),
    "mnist_means_ipc10_eps1": ("class means", "--match=embedding"),
    "fashion_mnist_generated_ipc10_eps1": (
        "a teacher and a generator",
        _OWN.format("fashion_mnist"),
    ),
    "fashion_mnist_both_ipc10_eps1": ("a teacher and class means", ""),
}


def matched() -> str:
    """Kernel and ConvNet on matched images, the ConvNet by the papers' recipe."""
    rows = [
        (
            source,
            Runs(
                f"dp_kip_teacher/{name}_0",
                flags if "--match" in flags else f"--match=both {flags}",
            ),
        )
        for name, (source, flags) in _MATCHED.items()
    ]
    return table(
        rows,
        {
            "data": lambda row: _data(row[1]),
            "ipc": lambda row: _ipc(row[1]),
            "from": lambda row: row[0],
            "kernel": lambda row: krr(row[1]),
            "the papers' ConvNet": lambda row: percent(row[1].mean("evaluation.convnet.mean")),
            "seconds": lambda row: _seconds(row[1]),
            "command (`jaxdp run teacher`)": lambda row: code(row[1].command),
        },
    )


_LABELLED = "--match=both --synthetic=runs/{}_scatter_rbf_labelled_eps1"
CONVNETS = [
    Runs("dp_kip_teacher/mnist_labelled_ipc10_eps1_?", _LABELLED.format("mnist")),
    Runs("dp_kip_teacher/fashion_mnist_labelled_ipc10_eps1_?", _LABELLED.format("fashion_mnist")),
    Runs("dp_kip_teacher/cifar10_networks_ipc10_eps1_?", "--match=embedding"),
]


def of_dosser(runs: Runs) -> str:
    """Return the published figure by the recipe of condensation."""
    return percent(cited("dosser", *_cell(runs)) / 100)


_AMPLE = Runs("dp_kip_teacher/cifar10_networks_ipc10_eps10_?", "--match=embedding")
_FIFTY = tuple(
    Runs(f"dp_kip_teacher/cifar10_networks_ipc50_eps{eps}_?", "--match=embedding")
    for eps in (1, 10)
)


def by_condensation() -> str:
    """A ConvNet by the recipe of dataset condensation; the papers' ConvNet is of the first run."""
    return table(
        [*CONVNETS, _AMPLE, *_FIFTY],
        {
            "data": _data,
            "ipc": _ipc,
            "kernel": krr,
            "the papers' ConvNet": lambda runs: (
                percent(runs.values("judged.convnet")[0]) if _has(runs, "convnet") else ""
            ),
            "by the recipe of condensation (`convnet_dsa`)": lambda runs: above(
                mean_of(runs, "judged.convnet_dsa"), of_dosser(runs)
            ),
            "each run": lambda runs: ", ".join(
                fixed(100 * figure, 2) for figure in runs.values("judged.convnet_dsa")
            ),
            "best published (Dosser)": of_dosser,
            "seconds": _seconds,
            "command (`jaxdp run teacher`)": lambda runs: code(runs.command),
        },
    )


def _has(runs: Runs, judge: str) -> bool:
    return any(judge in run["judged"] for run in runs.metrics)


def train_networks() -> str:
    """What ten images per class teach a ConvNet, for the page on choosing."""
    papers = {
        name: Runs(f"dp_kip_teacher/{name}_ipc10_eps1_0", f"--match={match}")
        for name, match in {
            "mnist_both": "both",
            "fashion_mnist_both": "both",
            "mnist_means": "embedding",
        }.items()
    }
    return table(
        [*CONVNETS, *papers.values()],
        {
            "data": _data,
            "command (`jaxdp run teacher`)": lambda runs: code(runs.command),
            "ConvNet by condensation's recipe": lambda runs: (
                percent(runs.mean("judged.convnet_dsa")) if _has(runs, "convnet_dsa") else ""
            ),
            "by the papers' recipe": lambda runs: (
                percent(runs.values("judged.convnet")[0])
                if _has(runs, "convnet")
                else percent(runs.mean("evaluation.convnet.mean"))
                if "evaluation" in runs.metrics[0]
                else ""
            ),
            "kernel": krr,
            "seconds": _seconds,
        },
    )
