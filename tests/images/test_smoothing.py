import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.ndimage import gaussian_filter

from jaxdp.images import smoothing


def test_away_from_the_border_it_is_scipys_gaussian_filter() -> None:
    x = np.random.default_rng(0).normal(size=(3, 21 * 17 * 2)).astype(np.float32)
    ours = smoothing.smooth_rows(jnp.asarray(x), shape=(21, 17, 2), width=1.0)
    images = x.reshape(3, 21, 17, 2)
    expected = gaussian_filter(images, sigma=(0, 1, 1, 0), truncate=6.0)
    inner = np.s_[:, 6:-6, 6:-6, :]
    np.testing.assert_allclose(
        np.asarray(ours).reshape(images.shape)[inner], expected[inner], atol=1e-5
    )


def test_a_constant_image_stays_as_it_is() -> None:
    x = jnp.full((2, 7 * 5), 3.0)
    np.testing.assert_allclose(smoothing.smooth_rows(x, shape=(7, 5, 1), width=2.5), x, rtol=1e-6)


def test_noise_shrinks_and_a_smooth_signal_does_not() -> None:
    noise = np.random.default_rng(1).normal(size=(50, 28 * 28)).astype(np.float32)
    ramp = jnp.asarray(np.tile(np.linspace(0, 1, 28, dtype=np.float32), 28))[None]
    noise = smoothing.smooth_rows(jnp.asarray(noise), shape=(28, 28, 1), width=1.0)
    ramp_after = smoothing.smooth_rows(ramp, shape=(28, 28, 1), width=1.0)
    assert float(jnp.std(noise)) < 0.35  # 1 / (2 sqrt(pi)) = 0.28 away from the border
    assert float(jnp.abs(ramp_after - ramp).max()) < 0.05


def test_as_a_link_of_a_chain() -> None:
    optimizer = optax.chain(smoothing.smooth_gradients((4, 4, 1), 1.0), optax.sgd(1.0))
    x = jnp.zeros((2, 16))
    grads = jnp.asarray(np.random.default_rng(2).normal(size=(2, 16)), jnp.float32)
    updates, _ = optimizer.update(grads, optimizer.init(x), x)
    expected = -smoothing.smooth_rows(grads, shape=(4, 4, 1), width=1.0)
    np.testing.assert_allclose(updates, expected, rtol=1e-6)


def test_width_zero_changes_nothing_and_less_is_an_error() -> None:
    grads = jnp.ones((1, 4)).at[0, 0].set(5.0)
    link = smoothing.smooth_gradients((2, 2, 1), 0.0)
    updates, _ = link.update(grads, link.init(grads))
    np.testing.assert_array_equal(updates, grads)
    with pytest.raises(ValueError, match="width must be >= 0"):
        smoothing.smooth_gradients((2, 2, 1), -1.0)
