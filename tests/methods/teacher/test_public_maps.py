"""The public maps of the teacher: constants alone."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.data import Private, Spec
from jaxdp.features import public_encoder, whitening
from jaxdp.methods import presets, teacher
from jaxdp.methods.runner import PlainRunner
from jaxdp.methods.settings import SettingsError
from jaxdp.methods.steps import Watch, compute_anew, unwatched
from jaxdp.methods.teacher.public_maps import (
    mean_map,
    num_features,
    public_map,
    require_image_map,
)
from jaxdp.methods.teacher.settings import MapOptions
from jaxdp.methods.teacher.view import CONSTANT
from jaxdp.privacy.mechanism import private_key

SHARE = 0.1
"""Of images of one's own."""

pytestmark = pytest.mark.usefixtures("few_public_images")

SPEC = Spec.images("toy", (10, 8, 8), class_names=["a", "b"])


def test_guarantee_the_public_map_is_the_same_in_every_run() -> None:
    """Computed twice: nothing that one run keeps is used by the other."""
    rows = jax.random.uniform(jax.random.key(0), (3, 64))
    options = MapOptions(whiten=0.2, mirror=False, brightness=0.1)
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


@pytest.mark.parametrize("mirror", [False, True])
def test_a_second_layer_stands_beside_patches(mirror: bool) -> None:
    kept = []

    def cached(description: dict[str, Any], compute: Callable[[Watch], np.ndarray]) -> np.ndarray:
        kept.append(description)
        return compute(unwatched)

    spec = Spec.images("toy", (10, 16, 16), class_names=["a", "b"])
    plain = MapOptions(whiten=0.2, mirror=mirror, patches=8)
    more = dataclasses.replace(plain, second_layer=6)
    rows = jax.random.uniform(jax.random.key(0), (3, 256))
    alone = np.asarray(public_map(plain, spec, compute_anew)(rows))
    both = np.asarray(public_map(more, spec, cached)(rows))
    assert both.shape[1] == num_features(more, spec) == alone.shape[1] + (24 if mirror else 48)
    np.testing.assert_allclose(both[:, : alone.shape[1]], alone, atol=2e-5)
    layer = kept[-1]
    assert layer["what"].startswith("second layer")
    assert (layer["patches"], layer["words"], layer["channels"]) == (8, 6, 1)
    assert layer["mirror"] == mirror
    # What is kept is for any floor and any size: its moment is whitened anew.
    assert {"gamma", "shape"}.isdisjoint(layer)
    above = both[:, alone.shape[1] :]
    assert np.all(np.ptp(above, axis=1) > 0)
    higher = np.asarray(public_map(dataclasses.replace(more, whiten=2.0), spec, compute_anew)(rows))
    assert np.linalg.norm(higher[:, alone.shape[1] :]) < 0.9 * np.linalg.norm(above)


@pytest.mark.parametrize("mirror", [False, True])
def test_an_encoder_stands_beside_what_whitens_it(mirror: bool) -> None:
    kept = []

    def cached(description: dict[str, Any], compute: Callable[[Watch], np.ndarray]) -> np.ndarray:
        kept.append(description)
        return compute(unwatched)

    spec = Spec.images("toy", (10, 16, 16, 3), class_names=["a", "b"])
    plain = MapOptions(whiten=0.2, mirror=mirror, patches=8)
    more = dataclasses.replace(plain, encoder=True)
    rows = jax.random.uniform(jax.random.key(0), (3, 768))
    alone = np.asarray(public_map(plain, spec, compute_anew)(rows))
    both = np.asarray(public_map(more, spec, cached)(rows))
    assert both.shape[1] == num_features(more, spec)
    np.testing.assert_allclose(both[:, : alone.shape[1]], alone, atol=2e-5)
    beside = both[:, alone.shape[1] :]
    assert beside.shape[1] == public_encoder.num_features()
    assert np.all(np.ptp(beside, axis=1) > 0)
    assert kept[-1]["weights"] == public_encoder.DIGEST
    assert kept[-1]["mirror"] == mirror
    turned = rows.reshape(3, 16, 16, 3)[:, :, ::-1].reshape(3, -1)
    mirrored = np.asarray(public_map(more, spec, compute_anew)(turned))[:, alone.shape[1] :]
    assert np.allclose(mirrored, beside, atol=1e-4) == mirror


def test_no_second_layer_is_made_before_work_may_begin() -> None:
    asked = []

    def cached(description: dict[str, Any], compute: Callable[[Watch], np.ndarray]) -> np.ndarray:
        asked.append(description["what"])
        return compute(unwatched)

    spec = Spec.images("toy", (10, 16, 16), class_names=["a", "b"])
    options = MapOptions(whiten=0.2, mirror=True, patches=8, second_layer=6, brightness=0.1)
    postponed = whitening.Postponed(cached)
    early = public_map(options, spec, postponed)
    row = jax.ShapeDtypeStruct((1, 256), jnp.float32)
    assert jax.eval_shape(early, row).shape == (1, num_features(options, spec))
    assert postponed.is_needed
    assert not any("second layer" in what for what in asked)
    postponed.may_begin = True
    public_map(options, spec, postponed)
    assert any("second layer" in what for what in asked)


def means_of(rows: np.ndarray, spec: Spec) -> np.ndarray:
    """The means of channels about grey."""
    return rows.reshape(len(rows), -1, spec.image_shape[2]).mean(axis=1) - 0.5


@pytest.mark.parametrize(
    ("shape", "patches"), [((8, 8), 8), ((9, 8, 3), 0), ((7, 8, 4), 0), ((40, 8), 0)]
)
def test_guarantee_brightness_is_of_a_row_and_of_constants(
    shape: tuple[int, ...], patches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oracle is in float64; whatever is in [0, 1] has finite features of bounded norm."""
    asked: list[dict[str, Any]] = []
    kept: dict[str, np.ndarray] = {}
    moments: list[np.ndarray] = []
    whiten = whitening.whitening

    def cached(description: dict[str, Any], compute: Callable[[Watch], np.ndarray]) -> np.ndarray:
        asked.append(description)
        name = json.dumps(description)
        if name not in kept:
            kept[name] = compute(unwatched)
        return kept[name]

    def watched(moment: jax.Array, *, gamma: float) -> jax.Array:
        moments.append(np.asarray(moment, np.float64))
        return whiten(moment, gamma=gamma)

    spec = Spec.images("toy", (10, *shape), class_names=["a", "b"])
    none = MapOptions(whiten=0.2, mirror=False, patches=patches, brightness=0.0)
    more = dataclasses.replace(none, brightness=0.1)
    unit = np.random.default_rng(0).random((4, spec.dim), np.float32)
    unit[2], unit[3] = 0, 1
    rows = jnp.asarray(unit)
    alone = np.asarray(public_map(none, spec, cached)(rows))
    unsaid = dataclasses.replace(none, brightness=None)
    np.testing.assert_array_equal(np.asarray(public_map(unsaid, spec, cached)(rows)), alone)
    monkeypatch.setattr(whitening, "whitening", watched)
    both = np.asarray(public_map(more, spec, cached)(rows))
    assert both.shape[1] == num_features(more, spec) == alone.shape[1] + spec.image_shape[2]
    assert num_features(none, spec) == alone.shape[1]
    np.testing.assert_array_equal(both[:, : alone.shape[1]], alone)

    assert {"what", "seed", "images", "shape", "gamma"} == set(asked[-1])
    moment = moments[-1]
    size = len(moment)
    ridge = moment + 0.2 * np.trace(moment) / size * np.eye(size)
    values, vectors = np.linalg.eigh(ridge)
    phi = means_of(unit.astype(np.float64), spec) @ (vectors / np.sqrt(size * values) @ vectors.T)
    bounded = phi / np.sqrt(1 + np.sum(phi**2, axis=1, keepdims=True))
    squared = np.sum(alone.astype(np.float64) ** 2, axis=1, keepdims=True)
    found = both[:, alone.shape[1] :].astype(np.float64)
    np.testing.assert_allclose(found, np.sqrt(0.1 / 0.9 * squared) * bounded, rtol=1e-3, atol=1e-4)
    assert np.all(np.sum(found**2, axis=1) <= 0.1 * np.sum(both.astype(np.float64) ** 2, axis=1))


def test_guarantee_a_private_image_has_the_same_features_whatever_others_are_beside_it() -> None:
    """Clipping bounds what one image adds to a sum, and nothing bounds what it does to others."""
    sizes = {"scattering": 81, "patches": 64, "brightness": 1}

    def cached(description: dict[str, Any], compute: Callable[[Watch], np.ndarray]) -> np.ndarray:
        size = [size for name, size in sizes.items() if name in description["what"]]
        words = description["what"].startswith("dictionary")
        return compute(unwatched) if words else np.eye(size[0], dtype=np.float32)

    options = MapOptions(whiten=0.2, mirror=False, patches=8, brightness=0.1)
    phi = jax.jit(public_map(options, SPEC, cached))
    rows = np.random.default_rng(0).random((4, 64), np.float32)
    expected = np.asarray(phi(rows))[2]
    assert expected.shape == (sum(sizes.values()),)
    assert np.ptp(expected[:81]) > 0
    assert np.ptp(expected[81:]) > 0
    for others in (0.0, 1.0, np.random.default_rng(1).random((4, 64), np.float32)):
        beside = np.broadcast_to(np.float32(others), rows.shape).copy()
        beside[2] = rows[2]
        np.testing.assert_allclose(np.asarray(phi(beside))[2], expected, rtol=1e-5, atol=1e-6)


def test_features_of_a_black_image_have_a_gradient() -> None:
    """All its features are zero, and so is their length."""
    options = MapOptions(whiten=0.2, mirror=False, brightness=0.1)
    phi = public_map(options, SPEC, compute_anew)
    row = jnp.zeros((1, SPEC.dim))
    assert np.all(np.isfinite(phi(row)))
    assert np.all(np.isfinite(jax.grad(lambda rows: jnp.sum(phi(rows)))(row)))


@pytest.mark.parametrize("channels", [1, 3])
def test_classes_that_differ_in_brightness_or_colour_alone_are_told_apart(channels: int) -> None:
    """They were not: without brightness the teacher is near chance, whatever it was trained on."""
    rng = np.random.default_rng(0)
    y = np.tile(np.arange(2, dtype=np.int32), 60)
    apart = np.zeros(channels)
    apart[-1] = 30
    noise = rng.normal(size=(120, 16, 16, channels))
    x = np.clip(120 + 50 * noise + apart * y[:, None, None, None], 0, 255).astype(np.uint8)
    spec = Spec.images("toy", (60, 16, 16, channels), class_names=["a", "b"])

    def accuracy(**options: Any) -> float:
        asked = teacher.Settings(eps=math.inf, noise_seed=0, **options)
        plan = teacher.make_plan(teacher.complete(asked, spec), spec)
        released = plan.release(
            Private(x[:60], y[:60]), private_key(0), PlainRunner(progress=False)
        )
        found = plan.classifier(released, PlainRunner(progress=False))
        return float(np.mean(found.predict(x[60:]) == y[60:]))

    assert accuracy() > 0.9
    assert accuracy(brightness=0.0, patches=0, encoder=False) < 0.75


@pytest.mark.parametrize(
    ("changes", "share"),
    [
        *(({"preset": name}, SHARE) for name in presets.names() if name.startswith("tuned:")),
        ({"whiten": 0.0}, 0.0),
        ({"brightness": 0.3}, 0.3),
        ({"preset": "tuned:mnist", "brightness": 0.3}, 0.3),
        ({}, SHARE),
        ({"eps": 10.0}, SHARE),
    ],
)
def test_images_of_ones_own_have_brightness_beside(changes: dict[str, Any], share: float) -> None:
    spec = Spec.images("mnist", (5000, 16, 16, 3), class_names=["a", "b"])
    assert teacher.complete(teacher.Settings(**changes), spec).brightness == share


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_share_of_brightness_is_below_one(share: float) -> None:
    with pytest.raises(SettingsError, match=r"--brightness=.*must be in \[0, 1\)"):
        MapOptions(brightness=share)


@pytest.mark.parametrize(
    ("options", "sides", "message"),
    [
        ({"brightness": 0.1, "whiten": 0.0}, (8, 8), "--brightness=0.1: needs --whiten above 0"),
        ({"patches": 8, "whiten": 0.0}, (8, 8), "--patches=8: needs --whiten above 0"),
        ({"second_layer": 8, "whiten": 0.0}, (16, 16), "--second_layer=8: needs --whiten above 0"),
        ({"encoder": True, "whiten": 0.0}, (16, 16), "--encoder=True: needs --whiten above 0"),
        ({"encoder": True, "whiten": 0.1}, (16, 15), "--encoder: images need sides of at least 16"),
        ({"second_layer": 8, "whiten": 0.1}, (16, 16), "--second_layer=8: needs --patches above 0"),
        (
            {"second_layer": 7, "patches": 8, "whiten": 0.1},
            (16, 16),
            "--second_layer=7: words must be an even number",
        ),
        (
            {"second_layer": 8, "patches": 8, "whiten": 0.1},
            (15, 16),
            "--second_layer=8: images need sides of at least 16 pixels, got 15 x 16; 0 takes none",
        ),
        ({"patches": 7, "whiten": 0.1}, (8, 8), "--patches=7: words must be an even number"),
        ({"patches": 8, "whiten": 0.1}, (5, 8), "--patches=8: images need sides of at least 6"),
    ],
)
def test_features_that_images_do_not_have_are_refused(
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


def test_features_of_norm_one_have_a_constant_beside_that_float16_holds() -> None:
    options = MapOptions(whiten=0.1, mirror=False, brightness=0.1)
    rows = jnp.asarray(np.random.default_rng(0).random((3, SPEC.dim), np.float32)).at[2].set(0.0)
    plain = np.asarray(public_map(options, SPEC, compute_anew)(rows))
    options = dataclasses.replace(options, unit_norm=True)
    unit = np.asarray(public_map(options, SPEC, compute_anew)(rows))
    assert unit.shape[1] == num_features(options, SPEC) == plain.shape[1] + 1
    np.testing.assert_allclose(np.linalg.norm(unit[:2, :-1], axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(unit[2, :-1], 0)
    np.testing.assert_array_equal(unit[:, -1].astype(np.float16), CONSTANT)
    lengths = np.linalg.norm(plain, axis=1, keepdims=True)
    np.testing.assert_allclose(unit[:2, :-1] * lengths[:2], plain[:2], rtol=1e-4, atol=1e-5)
