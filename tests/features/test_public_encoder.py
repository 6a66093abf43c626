"""The public encoder: the file that is shipped, and its features against a slow version."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.signal import correlate2d

from jaxdp.features import public_encoder
from jaxdp.features.levels import averaging
from jaxdp.methods.teacher import schedule

MOST_BYTES = 1_000_000


def rows_of(shape: tuple[int, int, int], count: int = 2) -> jax.Array:
    dim = int(np.prod(shape))
    return jnp.asarray(np.random.default_rng(0).random((count, dim)), jnp.float32)


def slow_features(image: np.ndarray) -> np.ndarray:
    """Return the features of one image (h, w, 3), without its mirror image, one loop at a time."""
    x, found = (image.astype(float) - 0.5) / 0.25, []
    layers = public_encoder.weights()
    for number in range(3):
        kernel = layers[f"Conv_{number}"]["kernel"].astype(float)
        norm = layers[f"GroupNorm_{number}"]
        y = np.zeros((*x.shape[:2], kernel.shape[3]))
        for i in range(kernel.shape[2]):
            for o in range(kernel.shape[3]):
                y[..., o] += correlate2d(x[..., i], kernel[:, :, i, o], mode="same")
        groups = y.reshape(*y.shape[:2], 8, -1)
        mean = groups.mean(axis=(0, 1, 3), keepdims=True)
        variance = groups.var(axis=(0, 1, 3), keepdims=True)
        y = ((groups - mean) / np.sqrt(variance + 1e-6)).reshape(y.shape)
        y = np.maximum(y * norm["scale"] + norm["bias"], 0)
        high, wide = (side // 2 for side in y.shape[:2])
        y = y[: 2 * high, : 2 * wide].reshape(high, 2, wide, 2, -1)
        x = y.mean(axis=(1, 3))
        down, across = (averaging(side, 2) for side in x.shape[:2])
        found.append(np.einsum("ia,jb,abc->ijc", down, across, x))
    return np.concatenate(found[1:], axis=-1).ravel()


@pytest.mark.parametrize("shape", [(16, 16, 3), (17, 22, 3)])
def test_features_are_those_of_a_slow_version(shape: tuple[int, int, int]) -> None:
    rows = rows_of(shape)
    found = np.asarray(jax.jit(public_encoder.encoder_features(shape, mirror=False))(rows))
    expected = np.stack([slow_features(row.reshape(shape)) for row in np.asarray(rows)])
    np.testing.assert_allclose(found, expected, atol=2e-4 * np.abs(expected).max())
    both = np.asarray(public_encoder.encoder_features(shape, mirror=True)(rows))
    turned = np.stack([slow_features(row.reshape(shape)[:, ::-1]) for row in np.asarray(rows)])
    np.testing.assert_allclose(both, expected + turned, atol=4e-4 * np.abs(expected).max())


def test_many_rows_have_the_features_and_the_gradients_of_a_few() -> None:
    features = public_encoder.encoder_features((16, 16, 3), mirror=True)
    rows = rows_of((16, 16, 3), 19)

    def looks(rows: jax.Array) -> jax.Array:
        return jnp.sum(features(rows) ** 2)

    for found in (features, jax.grad(looks)):
        few = np.concatenate([found(rows[at : at + 1]) for at in range(len(rows))])
        np.testing.assert_allclose(jax.jit(found)(rows), few, atol=2e-5 * np.abs(few).max())


@pytest.mark.parametrize("count", [3, 19])
def test_guarantee_a_row_has_the_same_features_whatever_others_are_beside_it(count: int) -> None:
    """Of a few rows, and of so many that they are seen in parts."""
    features = jax.jit(public_encoder.encoder_features((16, 16, 3), mirror=True))
    rows = rows_of((16, 16, 3), count)
    others = rows.at[1].set(1e6).at[2:].set(jnp.nan)
    np.testing.assert_array_equal(features(rows)[0], features(others)[0])


def test_grey_images_are_seen_in_equal_colours_and_a_fourth_channel_is_not_seen() -> None:
    grey = rows_of((16, 16, 1))
    colours = jnp.repeat(grey.reshape(2, 16, 16, 1), 3, axis=3)
    seen = {
        channels: np.asarray(
            public_encoder.encoder_features((16, 16, channels), mirror=False)(images.reshape(2, -1))
        )
        for channels, images in (
            (1, grey),
            (3, colours),
            (4, jnp.concatenate([colours, 1 - colours[..., :1]], axis=3)),
        )
    }
    np.testing.assert_array_equal(seen[1], seen[3])
    np.testing.assert_array_equal(seen[4], seen[3])


@pytest.mark.parametrize("shape", [(16, 40, 3), (32, 32, 1)])
def test_features_are_as_many_as_is_said(shape: tuple[int, int, int]) -> None:
    found = jax.eval_shape(public_encoder.encoder_features(shape, mirror=True), rows_of(shape))
    assert found.shape[1] == public_encoder.num_features() == schedule.OF_ENCODER


def test_small_images_are_refused() -> None:
    with pytest.raises(ValueError, match="sides of at least 16 pixels, got 15 x 16"):
        public_encoder.encoder_features((15, 16, 3), mirror=True)


def test_guarantee_weights_are_the_public_ones_of_this_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert public_encoder.FILE.stat().st_size < MOST_BYTES
    other = tmp_path / "public_encoder.npz"
    other.write_bytes(public_encoder.FILE.read_bytes() + b"\0")
    public_encoder.weights.cache_clear()
    try:
        public_encoder.weights()
        public_encoder.weights.cache_clear()
        monkeypatch.setattr(public_encoder, "FILE", other)
        with pytest.raises(ValueError, match="is not the encoder of this version"):
            public_encoder.weights()
    finally:
        public_encoder.weights.cache_clear()
