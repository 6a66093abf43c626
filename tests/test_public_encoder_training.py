"""The script that trains the public encoder: its images, its loss, and what it writes."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments import public_encoder as script
from jaxdp.features import public_encoder


@pytest.fixture(scope="module")
def images() -> np.ndarray:
    key = jax.random.key(0)
    return np.concatenate([*script.textured_leaves(key, 5), *script.network_images(key, 5)])


def test_images_are_drawn_anew_in_every_place_and_alike_in_every_run(images: np.ndarray) -> None:
    assert images.shape == (55, 48, 48, 3)  # a network makes 50
    assert images.dtype == np.uint8
    assert len(np.unique(images.reshape(55, -1), axis=0)) == 55
    assert np.all(images.reshape(55, -1).std(axis=1) > 5)
    again = np.concatenate([*script.textured_leaves(jax.random.key(0), 5)])
    np.testing.assert_array_equal(again, images[:5])


def test_views_are_parts_of_their_image(images: np.ndarray) -> None:
    x = jnp.asarray(images[:4], jnp.float32) / 255
    keys = jax.random.split(jax.random.key(1), (2, 4))
    views = [np.asarray(jax.vmap(script.view)(each, x)) for each in keys]
    assert views[0].shape == (4, 32, 32, 3)
    assert np.abs(views[0]).max() <= 2
    assert np.abs(views[0] - views[1]).max() > 0.1
    flat = jnp.full((48, 48, 3), 0.5)
    assert np.ptp(np.asarray(script.view(keys[0, 0], flat)), axis=(0, 1)).max() < 1e-5


def test_loss_is_alignment_and_uniformity() -> None:
    rng = np.random.default_rng(0)
    a, b = (z / np.linalg.norm(z, axis=1, keepdims=True) for z in rng.normal(size=(2, 5, 3)))
    alignment = np.mean([np.sum((u - v) ** 2) for u, v in zip(a, b, strict=True)])
    uniformity = [
        np.log(
            np.mean(
                [
                    np.exp(-2 * np.sum((z[i] - z[j]) ** 2))
                    for i in range(5)
                    for j in range(5)
                    if i != j
                ]
            )
        )
        for z in (a, b)
    ]
    found = script.loss(jnp.asarray(a, jnp.float32), jnp.asarray(b, jnp.float32))
    assert float(found) == pytest.approx(alignment + np.mean(uniformity), rel=1e-5)


def test_what_is_written_are_the_weights_of_the_features(
    images: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "_BATCH", 2)
    out = tmp_path / "encoder.npz"
    script.train(images, 1, 0, out)
    with np.load(out) as made, np.load(public_encoder.FILE) as shipped:
        assert {name: made[name].shape for name in made.files} == {
            name: shipped[name].shape for name in shipped.files
        }
        assert {made[name].dtype for name in made.files} == {np.dtype(np.float16)}
