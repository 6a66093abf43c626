"""Embedded features by name."""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.data import Spec
from jaxdp.features.base import FeatureMap
from jaxdp.methods import dp_ntk
from jaxdp.methods.dp_ntk import Released, finish
from jaxdp.methods.dp_ntk.features import FEATURES, FeatureOptions, build_features
from jaxdp.methods.dp_ntk.settings import COUNTS
from jaxdp.methods.settings import SettingsError, part_of
from jaxdp.methods.steps import compute_anew

pytestmark = pytest.mark.usefixtures("few_public_images")


@pytest.mark.parametrize("name", FEATURES)
def test_a_run_tells_every_option_of_its_features(name: str) -> None:
    """Else its embedding is not read again; an option that came later is a line of `UNTOLD`."""
    spec = Spec.images("toy", (10, 8, 8), class_names=["a", "b"])
    if name in COUNTS:
        spec = Spec.rows("toy", (10, 8), class_names=["a", "b"])
    complete = dp_ntk.complete(dp_ntk.Settings(features=name), spec)
    told = dataclasses.asdict(part_of(complete, FeatureOptions))
    assert [option for option, value in told.items() if value is None] == []


def test_a_fifth_of_the_scatter_rbf_kernel_is_one_of_pixels() -> None:
    """Without it images of another brightness have nearly the same normalised coefficients."""
    spec = Spec.images("toy", (10, 8, 8), class_names=["a", "b"])
    options = FeatureOptions(features="scatter_rbf", length_scale=0.7, moments=1, product_share=0.0)
    features = build_features(options, spec, 10, compute_anew)
    x = jax.random.uniform(jax.random.key(0), (1, 64))
    weighted_sum = jax.jit(features.weighted_sum)
    phi, dark = (weighted_sum(z, jnp.ones(1))[4000:] for z in (x, x / 2))
    squared = float(jnp.sum((x / 2) ** 2))
    expected = 0.2 * math.exp(-squared / (2 * (0.18 * 8) ** 2))
    assert float(phi @ phi) == pytest.approx(0.2, rel=2e-3)  # features keep a margin
    assert float(phi @ dark) == pytest.approx(expected, abs=0.02)


def rbf_features(name: str, side: int = 16) -> FeatureMap:
    spec = Spec.images("toy", (10, side, side), class_names=["a", "b"])
    options = FeatureOptions(features=name, length_scale=0.7, moments=1, product_share=0.0)
    return build_features(options, spec, 10, compute_anew)


def test_a_generator_is_trained_on_the_half_of_encoder_rbf_that_scatter_rbf_is() -> None:
    features, first = rbf_features("encoder_rbf"), rbf_features("scatter_rbf")
    x, weights = jax.random.uniform(jax.random.key(0), (3, 256)), jnp.array([1.0, 0.5, -2.0])
    mu = features.weighted_sum(x, weights)
    found = finish.leading_part(features, Released(mu[None], jnp.ones(1)))
    np.testing.assert_allclose(found.mu[0], first.weighted_sum(x, weights), atol=1e-6)
    assert features.leading is not None
    part, _ = features.leading
    np.testing.assert_array_equal(part.weighted_sum(x, weights), first.weighted_sum(x, weights))
    of_one = features.weighted_sum(x[:1], jnp.ones(1))
    assert float(of_one[first.dim :] @ of_one[first.dim :]) == pytest.approx(0.5, rel=2e-3)


def test_all_features_train_where_none_lead() -> None:
    features = rbf_features("scatter_rbf")
    released = Released(jnp.ones((1, features.dim)), jnp.ones(1))
    assert finish.leading_part(features, released) is released


def test_the_network_of_encoder_rbf_refuses_small_images() -> None:
    with pytest.raises(SettingsError, match="encoder_rbf: images need sides of at least 16"):
        rbf_features("encoder_rbf", side=8)
