"""No Gram matrix, and no feature that is released or stored, has a product that GPUs round."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from support import products

from jaxdp.data import Spec
from jaxdp.features import base as feature_maps
from jaxdp.features.base import FeatureMap
from jaxdp.methods.dp_kip.kernels import KERNELS, KernelOptions
from jaxdp.methods.dp_ntk.features import FEATURES, FeatureOptions, build_features
from jaxdp.methods.steps import compute_anew
from jaxdp.methods.teacher.public_maps import public_map
from jaxdp.methods.teacher.settings import MapOptions

pytestmark = pytest.mark.usefixtures("few_public_images")

IMAGES = Spec.images("toy", (10, 8, 8), class_names=["a", "b"])
LARGER = Spec.images("toy", (10, 16, 16), class_names=["a", "b"])
ON_IMAGES = [name for name in FEATURES if "image" in FEATURES[name].kinds]
ROWS = jax.ShapeDtypeStruct((4, IMAGES.dim), jnp.float32)


def test_a_product_at_default_precision_is_found() -> None:
    def product(x: jax.Array) -> jax.Array:
        return jax.lax.map(lambda row: row @ x.T, x)

    assert products.rounded(product, ROWS)
    with jax.default_matmul_precision("highest"):
        assert not products.rounded(lambda x: product(x), ROWS)


def test_a_product_at_default_precision_is_found_in_what_gpus_get() -> None:
    def product(x: jax.Array) -> jax.Array:
        return x @ x.T

    def image(x: jax.Array) -> jax.Array:
        shape = (1, 1, 4, IMAGES.dim)
        ones = jnp.ones((1, 1, 2, 2))
        return jax.lax.conv_general_dilated(x.reshape(shape), ones, (1, 1), "SAME")

    for fn in (product, image):
        on_gpus = products.ForCuda(fn, ROWS)
        assert len(on_gpus.products) == len(on_gpus.rounded()) == 1
        with jax.default_matmul_precision("highest"):
            assert not products.ForCuda(lambda x, fn=fn: fn(x), ROWS).rounded()
    assert products.ForCuda(lambda x: x.astype(jnp.bfloat16) + 1, ROWS).rounded()
    assert products.ForCuda(jnp.linalg.qr, ROWS).rounded()  # not one of the calls that are known


@pytest.mark.parametrize(
    ("name", "whiten"),
    [("fc_ntk", 0.0), ("fc_nngp", 0.0)]
    + [(name, whiten) for name in ("scatter", "perceptual", "entk") for whiten in (0.0, 0.2)],
)
def test_gram_matrices_are_not_rounded(name: str, whiten: float) -> None:
    norm = "group_and_brightness" if whiten else "group"
    options = KernelOptions(kernel=name, scatter_norm=norm, whiten=whiten)
    kernel = KERNELS.fitting(name, IMAGES).build(options, IMAGES, 0)
    assert not products.rounded(kernel.symmetric, ROWS)
    assert not products.rounded(jax.grad(lambda x: jnp.sum(kernel.cross(x, x + 1))), ROWS)


def check_embedding(features: FeatureMap, dim: int = IMAGES.dim) -> None:
    weights = jax.ShapeDtypeStruct((4,), jnp.float32)
    rows = jax.ShapeDtypeStruct((4, dim), jnp.float32)
    blocks = jax.ShapeDtypeStruct((2, 2, dim), jnp.float32)
    shares = jax.ShapeDtypeStruct((2,), jnp.float32)
    assert not products.rounded(features.weighted_sum, rows, weights)
    on_gpus = products.ForCuda(features.weighted_sum, rows, weights)
    assert not on_gpus.rounded()
    if features.explicit:  # see `numerics.rounded_once`
        assert on_gpus.rounded_once >= 1

    def mean(x: jax.Array, shares: jax.Array) -> jax.Array:
        return jnp.sum(feature_maps.block_means(features, x, shares) ** 2)

    assert not products.rounded(jax.grad(mean), blocks, shares)


@pytest.mark.parametrize("name", ON_IMAGES)
def test_embedded_features_are_not_rounded(name: str) -> None:
    options = FeatureOptions(
        features=name,
        network="fc_1l",
        ntk_width="16",
        moments=1,
        length_scale=0.7,
        product_share=0.2 if name == "hermite" else 0.0,
    )
    images = LARGER if name == "encoder_rbf" else IMAGES
    check_embedding(build_features(options, images, 10, compute_anew), images.dim)


@pytest.mark.parametrize("network", ["cnn2d", "lenet5", "cnn_2l"])
def test_gradients_of_networks_are_not_rounded(network: str) -> None:
    widths = {"cnn_2l": "8_4"}.get(network, "8")
    options = FeatureOptions(
        features="entk", network=network, ntk_width=widths, moments=1, product_share=0.0
    )
    check_embedding(build_features(options, IMAGES, 10, compute_anew))


def test_the_features_of_teachers_are_not_rounded() -> None:
    options = MapOptions(whiten=0.2, mirror=True, patches=16, brightness=0.1)
    features = public_map(options, IMAGES, compute_anew)
    assert not products.rounded(features, ROWS)
    assert not products.ForCuda(features, ROWS).rounded()
