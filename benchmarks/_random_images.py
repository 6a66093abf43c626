"""Runs of methods on random images, for what does not depend on what images show."""

from typing import Any

import numpy as np


def run(name: str, settings: dict[str, Any], shape: tuple[int, ...], count: int) -> None:
    """Run a method of `jaxdp.methods` at epsilon 1.

    Args:
        name: of the method.
        settings: of it, others than epsilon.
        shape: (h, w, ch) of an image.
        count: how many there are, of ten classes.
    """
    import jaxdp  # not before: what a benchmark patches is in place by now
    from jaxdp.methods import dp_kip, dp_ntk, teacher

    method = {"dp_kip": dp_kip, "dp_ntk": dp_ntk, "teacher": teacher}[name]
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (count, *shape), np.uint8)
    spec = jaxdp.Spec.images("images", x.shape, class_names=list("0123456789"), low=0, high=255)
    private = jaxdp.Private(x, np.arange(count, dtype=np.int32) % 10)
    jaxdp.run(method, method.Settings(eps=1.0, **settings), spec, private, progress=False)
