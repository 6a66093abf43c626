"""The public maps of the teacher: constants alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.data import Spec
from jaxdp.methods.settings import SettingsError
from jaxdp.methods.steps import Watch, compute_anew, unwatched
from jaxdp.methods.teacher.public_maps import (
    mean_map,
    num_features,
    public_map,
    require_image_map,
)
from jaxdp.methods.teacher.settings import MapOptions

pytestmark = pytest.mark.usefixtures("few_public_images")

SPEC = Spec.images("toy", (10, 8, 8), class_names=["a", "b"])


def test_guarantee_the_public_map_is_the_same_in_every_run() -> None:
    """Computed twice: nothing that one run keeps is used by the other."""
    rows = jax.random.uniform(jax.random.key(0), (3, 64))
    options = MapOptions(whiten=0.2, mirror=False)
    found = [np.asarray(public_map(options, SPEC, compute_anew)(rows)) for _ in range(2)]
    np.testing.assert_array_equal(*found)


def test_what_is_computed_is_kept_under_all_that_it_depends_on() -> None:
    kept = []

    def cached(description: dict[str, Any], compute: Callable[[Watch], np.ndarray]) -> np.ndarray:
        kept.append(description)
        return compute(unwatched)

    for mirror in (False, True):
        public_map(MapOptions(whiten=0.2, mirror=mirror), SPEC, cached)
    for description, mirror in zip(kept, (False, True), strict=True):
        assert description["mirror"] == mirror
        assert {"what", "seed", "images"} < set(description)
        assert description["shape"] == [8, 8, 1]


def test_levels_are_whitened_each_by_itself_on_images_of_its_size() -> None:
    kept = []

    def cached(description: dict[str, Any], compute: Callable[[Watch], np.ndarray]) -> np.ndarray:
        kept.append(description)
        return np.eye(324 if "level" in description else 1296, dtype=np.float32)

    spec = Spec.images("toy", (10, 1024, 90), class_names=["a", "b"])
    phi = public_map(MapOptions(whiten=0.2, mirror=False), spec, cached)
    row = jax.ShapeDtypeStruct((1, spec.dim), jnp.float32)
    assert jax.eval_shape(phi, row).shape == (1, 1296 + 2 * 324)
    assert num_features(MapOptions(mirror=False), spec) == 1296 + 2 * 324
    shapes = {description.get("level"): description["shape"] for description in kept}
    assert shapes == {None: [32, 32, 1], 1: [64, 64, 1], 2: [128, 90, 1]}
    assert kept[1]["images"] == kept[0]["images"] // 5


@pytest.mark.parametrize(("mirror", "num_patches"), [(False, 64), (True, 32)])
def test_patches_stand_beside_scattering_features(mirror: bool, num_patches: int) -> None:
    kept = []

    def cached(description: dict[str, Any], compute: Callable[[Watch], np.ndarray]) -> np.ndarray:
        kept.append(description)
        return compute(unwatched)

    plain = MapOptions(whiten=0.2, mirror=mirror)
    more = MapOptions(whiten=0.2, mirror=mirror, patches=8)
    rows = jax.random.uniform(jax.random.key(0), (2, 64))
    alone = np.asarray(public_map(plain, SPEC, compute_anew)(rows))
    both = np.asarray(public_map(more, SPEC, cached)(rows))
    assert both.shape[1] == num_features(more, SPEC) == alone.shape[1] + num_patches
    np.testing.assert_array_equal(both[:, : alone.shape[1]], alone)
    assert np.all(np.ptp(both[:, alone.shape[1] :], axis=1) > 0)
    _, words, moment = kept
    assert words["what"] != moment["what"]
    assert words["words"] == moment["words"] == 8
    assert moment["mirror"] == mirror


@pytest.mark.parametrize(
    ("options", "sides", "message"),
    [
        ({"patches": 8, "whiten": 0.0}, (8, 8), "--patches=8: needs --whiten above 0"),
        ({"patches": 7, "whiten": 0.1}, (8, 8), "--patches=7: words must be an even number"),
        ({"patches": 8, "whiten": 0.1}, (5, 8), "--patches=8: images need sides of at least 6"),
    ],
)
def test_patches_that_images_do_not_have_are_refused(
    options: dict[str, Any], sides: tuple[int, int], message: str
) -> None:
    spec = Spec.images("toy", (10, *sides), class_names=["a", "b"])
    with pytest.raises(SettingsError, match=message):
        require_image_map(MapOptions(mirror=False, **options), spec)


def test_class_means_of_large_images_are_those_of_their_averages() -> None:
    small = jax.random.uniform(jax.random.key(0), (1, 32 * 32))
    large = jnp.repeat(jnp.repeat(small.reshape(32, 32), 3, axis=0), 3, axis=1).reshape(1, -1)
    few, many = mean_map((32, 32, 1)), mean_map((96, 96, 1))
    assert few.dim == many.dim
    np.testing.assert_allclose(
        jax.jit(many.weighted_sum)(large, jnp.ones(1)),
        jax.jit(few.weighted_sum)(small, jnp.ones(1)),
        atol=1e-5,
    )
