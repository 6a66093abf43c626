"""The public maps of the teacher: constants alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from jaxdp.data import Spec
from jaxdp.methods.steps import compute_anew
from jaxdp.methods.teacher.public_maps import public_map
from jaxdp.methods.teacher.settings import MapOptions

pytestmark = pytest.mark.usefixtures("quick_compilation", "few_public_images")

SPEC = Spec.images("toy", (10, 8, 8), class_names=["a", "b"])


def test_guarantee_the_public_map_is_the_same_in_every_run() -> None:
    """Computed twice: nothing that one run keeps is used by the other."""
    rows = jax.random.uniform(jax.random.key(0), (3, 64))
    options = MapOptions(whiten=0.2, mirror=False)
    found = [np.asarray(public_map(options, SPEC, compute_anew)(rows)) for _ in range(2)]
    np.testing.assert_array_equal(*found)


def test_what_is_computed_is_kept_under_all_that_it_depends_on() -> None:
    kept = []

    def cached(description: dict[str, Any], compute: Callable[[], np.ndarray]) -> np.ndarray:
        kept.append(description)
        return compute()

    for mirror in (False, True):
        public_map(MapOptions(whiten=0.2, mirror=mirror), SPEC, cached)
    for description, mirror in zip(kept, (False, True), strict=True):
        assert description["mirror"] == mirror
        assert {"what", "seed", "images"} < set(description)
        assert description["shape"] == [8, 8, 1]
