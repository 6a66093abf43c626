"""What judges a made set, by name: one list for distilled and for generated sets.

A new judge is one entry of `EVALUATIONS`. Nothing here imports numpy or jax before a set is
judged, so `--help` can show the list.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxdp.program.errors import InputError
from jaxdp.program.evaluation.facts import IMAGE, TABLE, Facts

if TYPE_CHECKING:
    from jaxdp.program.evaluation.problem import Problem

KRR = "krr"
"""Kernel ridge regression with the run's own kernel, which the run measures itself."""
NONE = "none"
"""What `--evaluate` says for nothing but what the run measures itself."""
_INCEPTION = "inception"
# Keys of the others in a generating run's metrics.json.
_DISTANCES = {"frechet": "frechet", _INCEPTION: "frechet_inception_distance"}
# Test images of which a Frechet distance can be computed.
_LEAST_TEST = 2
_KINDS = {IMAGE: "images", TABLE: "rows"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A judge of made sets.

    Attributes:
        judge: takes the problem, and returns what metrics.json says of it.
        help: one line, without a full stop.
        kinds: of examples that it works on.
        needs_labels: whether it tells classes apart; then it is a classifier that is trained.
        objection: says what else is in its way, if anything, in words that follow its name.
    """

    judge: Callable[[Problem], dict[str, Any]]
    help: str
    kinds: tuple[str, ...] = (IMAGE, TABLE)
    needs_labels: bool = False
    objection: Callable[[Facts], str | None] = lambda facts: None


def _of_the_run(problem: Problem) -> dict[str, Any]:
    raise ValueError(f"{KRR} needs the run's kernel: the run measures it itself")


def _judge(module: str, function: str) -> Callable[[Problem], dict[str, Any]]:
    """Return a judge whose module is imported when it is called: most runs need none of flax."""

    def judge(problem: Problem) -> dict[str, Any]:
        loaded = importlib.import_module(f"jaxdp.program.evaluation.{module}")
        return getattr(loaded, function)(problem)

    return judge


def _frechet(problem: Problem) -> dict[str, Any]:
    from jaxdp.program.evaluation import frechet

    height, width, channels = problem.facts.shape
    return frechet.scatter_frechet(
        problem.unit_rows, problem.unit_test_rows, (height, width, channels), seed=0
    )


def _inception(problem: Problem) -> dict[str, Any]:
    from jaxdp.program.evaluation import inception

    assert problem.inception_weights is not None  # checked
    height, width, channels = problem.facts.shape
    return inception.inception_fid(
        problem.unit_rows,
        problem.unit_test_rows,
        (height, width, channels),
        problem.inception_weights,
    )


def _no_krr(facts: Facts) -> str | None:
    return None if facts.recipe.krr else "is for distilled sets, and this one is generated"


def _no_soft_labels(facts: Facts) -> str | None:
    if facts.soft_labels:
        return None
    return (
        "needs soft labels, as --labels=teacher of dp_ntk makes them, and teachers of "
        "teacher for images"
    )


def _no_frechet(facts: Facts) -> str | None:
    if min(facts.shape[:2]) < 4:
        sides = " x ".join(map(str, facts.shape[:2]))
        return f"needs images with sides of at least 4 pixels, and these have {sides}"
    if facts.num_made < facts.recipe.least_images:
        return (
            f"needs {facts.recipe.least_images} images or more, as a covariance of fewer says "
            f"nothing, and {facts.num_made} are made"
        )
    return _no_spread(facts)


def _no_spread(facts: Facts) -> str | None:
    """Return why real images have no covariance, before a run spends anything for that."""
    if facts.num_test is None or facts.num_test >= _LEAST_TEST:
        return None
    return (
        f"needs {_LEAST_TEST} test images or more, as one has no covariance, and the test split "
        f"has {facts.num_test}"
    )


def _no_xgboost(facts: Facts) -> str | None:
    del facts
    if importlib.util.find_spec("xgboost") is None:
        return "needs xgboost, which the extra [tables] brings"
    return None


def _no_inception(facts: Facts) -> str | None:
    if facts.inception_weights is None:
        return "needs --inception_weights=FILE, a flag of dp_ntk"
    return _no_spread(facts)


def _network(module: str, function: str, help_text: str) -> Evaluation:
    """Return a network for images that is trained on a made set."""
    judge = _judge(module, function)
    return Evaluation(judge=judge, help=help_text, kinds=(IMAGE,), needs_labels=True)


def _on_soft_labels(module: str, function: str) -> Evaluation:
    hard = _network(module, function, "the same, on soft labels")
    return dataclasses.replace(hard, objection=_no_soft_labels)


EVALUATIONS: Mapping[str, Evaluation] = {
    KRR: Evaluation(
        judge=_of_the_run,
        help="kernel ridge regression, which distilling runs measure anyway",
        objection=_no_krr,
    ),
    "convnet": _network(
        "convnet", "convnet", "the papers' ConvNet, two minutes of a CPU per seed and 100 images"
    ),
    "convnet_soft": _on_soft_labels("convnet", "convnet_soft"),
    "convnet_dsa": _network(
        "convnet",
        "convnet_dsa",
        "convnet with 1000 epochs and the augmentation of dataset condensation",
    ),
    "convnet_dsa_soft": _on_soft_labels("convnet", "convnet_dsa_soft"),
    "cnn": _network("cnn", "cnn", "small convolutional network, on the whole set"),
    "cnn_soft": _on_soft_labels("cnn", "cnn_soft"),
    "wrn": _network("cnn", "wrn", "wide residual network, on the whole set, an hour of a CPU core"),
    "wrn_soft": _on_soft_labels("cnn", "wrn_soft"),
    "logistic": Evaluation(
        judge=_judge("classifiers", "logistic"), help="logistic regression", needs_labels=True
    ),
    "mlp": Evaluation(
        judge=_judge("classifiers", "mlp"), help="perceptron of one hidden layer", needs_labels=True
    ),
    "forest": Evaluation(
        judge=_judge("classifiers", "forest"), help="random forest", needs_labels=True
    ),
    "twelve": Evaluation(
        judge=_judge("twelve", "twelve"),
        help="the papers' twelve classifiers of tables, one setting each",
        kinds=(TABLE,),
        needs_labels=True,
        objection=_no_xgboost,
    ),
    "frechet": Evaluation(
        judge=_frechet,
        help="Frechet distance of scattering features",
        kinds=(IMAGE,),
        objection=_no_frechet,
    ),
    _INCEPTION: Evaluation(
        judge=_inception,
        help="Frechet inception distance, of generated sets",
        kinds=(IMAGE,),
        objection=_no_inception,
    ),
}
"""All judges by name."""


def help_text(kind: str = "") -> str:
    """Return what `--help` says of `--evaluate`, of a kind of data alone where one is named."""
    stored = {"images": IMAGE, "table": TABLE}.get(kind)
    found = {k: v for k, v in EVALUATIONS.items() if stored is None or stored in v.kinds}
    names = ", ".join(f"{name} ({each.help})" for name, each in found.items())
    generated = ",".join(name for name in ("logistic", "mlp", "frechet") if name in found)
    return (
        f"How the result is judged, separated by commas: {names}; or {NONE} (default: "
        f"krr,logistic,forest for a distilled set; {generated} for a generated one, as far "
        "as they fit it)."
    )


def chosen(text: str | None, facts: Facts) -> tuple[str, ...]:
    """Return the judges that a run's flags name, checked before any work.

    Args:
        text: of `--evaluate`, such as "krr,convnet"; None stands for those that the recipe names,
            as far as they fit the set.
        facts: of the set. Weights of the Inception network name `inception`.

    Returns:
        The names in the order given, each once, without krr.

    Raises:
        InputError: a name is unknown, or a judge does not work on such a set.
    """
    if text is None:
        recipe, sizes = facts.recipe, (math.prod(facts.shape), facts.num_made * facts.num_classes)
        limits = (recipe.most_values, recipe.most_counts)
        fits = all(most is None or size <= most for size, most in zip(sizes, limits, strict=True))
        asked = recipe.by_default if fits else ()
        names = tuple(name for name in asked if _objection(name, facts) is None)
    else:
        names = parse(text)
        check(names, facts, flag=f"--evaluate={text}")
    if facts.inception_weights is not None and _INCEPTION not in names:
        check((_INCEPTION,), facts, flag=f"--inception_weights={facts.inception_weights}")
        names += (_INCEPTION,)
    return tuple(name for name in names if name != KRR)


def parse(text: str) -> tuple[str, ...]:
    """Return the names in a text such as "krr,convnet", each once; none in "none".

    Raises:
        InputError: a name is unknown, or there is none.
    """
    if text.strip() == NONE:
        return ()
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in EVALUATIONS:
            raise InputError(
                f"--evaluate={text}: {name!r} is unknown; known are {', '.join(EVALUATIONS)}, or "
                f"{NONE} alone"
            )
    return names


def check(names: Sequence[str], facts: Facts, *, flag: str = "--evaluate") -> None:
    """Raise an `InputError`, which begins with the flag, where a judge does not fit a set."""
    for name in names:
        objection = _objection(name, facts)
        if objection is not None:
            raise InputError(f"{flag}: {name} {objection}; leave it out")


def check_kinds(names: Sequence[str], kind: str, *, flag: str) -> None:
    """Raise an `InputError` where a judge does not work on a kind of examples, whatever they are.

    Args:
        names: of judges.
        kind: of examples.
        flag: that names the judges.
    """
    for name in names:
        if kind not in EVALUATIONS[name].kinds:
            works = " and ".join(_KINDS[each] for each in EVALUATIONS[name].kinds)
            raise InputError(
                f"{flag}: {name} works on {works}, not on {_KINDS[kind]}; leave it out"
            )


def _objection(name: str, facts: Facts) -> str | None:
    """Return why a judge does not work on a set, in words that follow its name."""
    evaluation = EVALUATIONS[name]
    if facts.kind not in evaluation.kinds:
        holds = "images" if facts.kind == IMAGE else f"rows of {facts.shape[0]} values"
        works = " and ".join(_KINDS[kind] for kind in evaluation.kinds)
        return f"works on {works}, and {facts.holder} holds {holds}"
    if evaluation.needs_labels and facts.num_classes < 2:
        return "tells classes apart, and here all examples are one class"
    return evaluation.objection(facts)


def evaluate(names: Sequence[str], problem: Problem) -> dict[str, dict[str, Any]]:
    """Judge a made set.

    The same set gets the same figures on the same machine. Elsewhere, sums in another order may
    turn a few predictions.

    Args:
        names: of judges, as `chosen` returns them.
        problem: the set, the test set, and how they are compared.

    Returns:
        By name, ready for JSON.

    Raises:
        InputError: a judge does not work on such a set.
    """
    check(names, problem.facts, flag=f"--evaluate={','.join(names)}")
    return {name: EVALUATIONS[name].judge(problem) for name in names}


def needs_range(names: Sequence[str]) -> bool:
    """Return whether a judge looks at values on the scale of their public range."""
    return any(not EVALUATIONS[name].needs_labels for name in names)


def generated_metrics(found: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return what `evaluate` found by the keys of a generating run's metrics.json."""
    accuracy = {name: each for name, each in found.items() if EVALUATIONS[name].needs_labels}
    distances = {key: found[name] for name, key in _DISTANCES.items() if name in found}
    return ({"accuracy": accuracy} if accuracy else {}) | distances


def as_lines(metrics: Mapping[str, Any]) -> list[str]:
    """Return what the judges of a run's metrics.json found, a line for each."""
    found = {**metrics.get("evaluation", {}), **metrics.get("accuracy", {})}
    found |= {name: metrics[key] for name, key in _DISTANCES.items() if key in metrics}
    return [as_line(name, each) for name, each in found.items()]


def as_line(name: str, found: Mapping[str, Any]) -> str:
    """Return what a judge found as one line of a run's summary."""
    if EVALUATIONS[name].needs_labels:
        ends = found.get("figures", {}).get("interval")
        where = "" if ends is None else f"; 95 %: {100 * ends[0]:.1f} to {100 * ends[1]:.1f}%"
        return f"{name} test accuracy {found['mean']:.2%} (std {found['std']:.2%}{where})"
    line = f"{name} distance {found.get('distance', found.get('value')):.4g}"
    if found.get("coverage") is None:
        return line
    return f"{line}, density {found['density']:.2f}, coverage {found['coverage']:.2f}"
