"""What models learn from made sets, in a sentence of a card: by method, as public data showed.

The figures are those of docs/which.md and docs/results.md, and tests/test_card.py compares them.
Nothing here is about the set in whose card it stands: that may be measured by its holder alone.
"""

from collections.abc import Mapping
from typing import Any

from jaxdp.data import Spec

_FEW = "They are few."
_OF_A_KERNEL = (
    f"{_FEW} They were made for the kernel classifier that comes with them, which `predict` uses. "
    "Other models learn much less from them"
)
_KIP_IMAGES = (
    f"{_OF_A_KERNEL}: of MNIST and Fashion-MNIST at epsilon 10 the kernel told 97.0 and 86.4 %, "
    "and a convolutional network 27.1 and 47.5 %."
)
_TEACHER = f"{_OF_A_KERNEL}; a run with `--match=both` makes images that train networks."
_TABLE = f"{_OF_A_KERNEL}, or as much: try it on real records."
_BOTH = (
    f"{_FEW} They were made to look like their classes, for networks, too: of MNIST and "
    "Fashion-MNIST at epsilon 1, ten images a class, the kernel classifier that comes with them "
    "told 97.5 and 87.1 %, and a convolutional network 93.1 and 71.6 %."
)
_MEANS = (
    f"{_FEW} They were made to look like their classes: of MNIST at epsilon 1, ten images a class, "
    "the kernel classifier told 93.3 %, and a convolutional network 94.4 %."
)
_IMAGES = (
    "A generator drew them, for any model to be trained on: of MNIST and Fashion-MNIST at epsilon "
    "1 logistic regression learnt to tell 88.0 and 77.7 %."
)
_LABELLED = (
    "A generator drew them and a private teacher labelled them, for any model to be trained on: of "
    "MNIST and Fashion-MNIST at epsilon 1 a small network learnt to tell 98.5 and 85.5 %."
)
_RECORDS = (
    "A generator drew them. How much models learn from them differs from table to table, and is "
    "less than from real records."
)


def sentence(config: Mapping[str, Any], kind: str, spec: Spec) -> str:
    """Return what models learn from such sets.

    Args:
        config: content of config.json.
        kind: of what was made, "distilled" or "generated".
        spec: public facts about the data.
    """
    if kind == "generated":
        images = _LABELLED if config.get("labels") == "teacher" else _IMAGES
    elif "kernel" in config:
        images = _KIP_IMAGES
    else:
        match = str(config.get("match") or "teacher")
        images = {"both": _BOTH, "embedding": _MEANS}.get(match, _TEACHER)
    other = _RECORDS if kind == "generated" else _TABLE
    return spec.kind.choose(images=images, rows=other, table=other)
