"""The convolutional NTK: its errors, its cost model and, where it imports, its values."""

from __future__ import annotations

import pathlib
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.kernels import convolutional

NO_NEURAL_TANGENTS = "neural-tangents is not installed (it needs jax < 0.6: `make test-nt`)"


def test_without_neural_tangents_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "neural_tangents", None)
    with pytest.raises(ImportError, match=r"\.\[nt\].*jax < 0\.6.*make test-nt"):
        convolutional.conv_ntk((8, 8, 1))


def test_installed_but_broken_on_this_jax(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """On jax >= 0.6 the import fails with an AttributeError."""
    (tmp_path / "neural_tangents.py").write_text("raise AttributeError('jax.core.Jaxpr')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "neural_tangents", raising=False)
    with pytest.raises(ImportError, match=r"does not import here \(jax\.core\.Jaxpr\)"):
        convolutional.conv_ntk((8, 8, 1))


@pytest.mark.parametrize(("shape", "depth"), [((4, 8, 1), 3), ((8, 7, 3), 3), ((8, 8, 1), 0)])
def test_images_too_small_for_the_poolings(shape: tuple[int, int, int], depth: int) -> None:
    message = f"got depth {depth} for {shape[0]} x {shape[1]}"
    with pytest.raises(ValueError, match=message):
        convolutional.conv_ntk(shape, depth=depth)
    with pytest.raises(ValueError, match=message):
        convolutional.conv_ntk_cost(1, 1, shape, depth=depth)


def test_cost_model() -> None:
    one = convolutional.conv_ntk_cost(1, 1, (28, 28, 1))
    assert one.bytes == 6 * 4 * 784**2
    block = convolutional.conv_ntk_cost(1000, 200, (28, 28, 1))
    assert block.bytes == 200_000 * one.bytes
    assert block.flops / 200_000 == pytest.approx(90e6, rel=0.01)
    assert convolutional.conv_ntk_cost(1, 1, (28, 28, 1), itemsize=8).bytes == 2 * one.bytes
    # Only the number of pixels counts, with its square.
    assert convolutional.conv_ntk_cost(1, 1, (28, 28, 3)) == one
    wide = convolutional.conv_ntk_cost(3, 2, (32, 64, 1))
    square = convolutional.conv_ntk_cost(3, 2, (32, 32, 1))
    assert wide.flops == 4 * square.flops
    # By hand for a 2x2 image pair: 16 entries; the first convolution and ReLU on a covariance and
    # two of single images (51 each), then a block on 4 tensors (37) with 3 ReLUs (15).
    tiny = convolutional.conv_ntk_cost(1, 1, (2, 2, 1), depth=1)
    assert tiny.flops == 16 * (3 * 51 + 4 * 37 + 3 * 15)
    with pytest.raises(ValueError, match="got 0, 1 and 4"):
        convolutional.conv_ntk_cost(0, 1, (8, 8, 1))


def test_live_kernel_is_symmetric_positive_and_matches_its_cross_form() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("neural_tangents", reason=NO_NEURAL_TANGENTS, exc_type=ImportError)
        shape = (4, 4, 2)
        kernel = convolutional.conv_ntk(shape, depth=2)
        x = jnp.asarray(np.random.default_rng(0).normal(size=(5, 32)), jnp.float32)
        k = np.asarray(kernel.symmetric(x))
        np.testing.assert_allclose(k, k.T, rtol=1e-6)
        assert np.linalg.eigvalsh(k.astype(np.float64)).min() > 1e-3 * k.max()
        np.testing.assert_allclose(kernel.cross(x, x[:2]), k[:, :2], rtol=2e-4)
        # The order of pixels matters to it, as it does not to a fully connected network.
        swapped = x.reshape(5, *shape)[:, ::-1].reshape(5, 32).at[:, 0].add(0.5)
        assert np.abs(kernel.cross(swapped, x) - k).max() > 1e-2 * k.max()
        grad = jax.grad(lambda z: jnp.sum(kernel.cross(x, z)))(x[:2] + 0.1)
        assert bool(jnp.all(jnp.isfinite(grad)))
        assert float(jnp.max(jnp.abs(grad))) > 0
