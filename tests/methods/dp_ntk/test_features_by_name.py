"""Embedded features by name."""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
import pytest

from jaxdp.data import Spec
from jaxdp.methods import dp_ntk
from jaxdp.methods.dp_ntk.features import FEATURES, FeatureOptions, build_features
from jaxdp.methods.settings import part_of
from jaxdp.methods.steps import compute_anew

pytestmark = pytest.mark.usefixtures("few_public_images")


@pytest.mark.parametrize("name", FEATURES)
def test_a_run_tells_every_option_of_its_features(name: str) -> None:
    """Else its embedding is not read again; an option that came later is a line of `UNTOLD`."""
    spec = Spec.images("toy", (10, 8, 8), class_names=["a", "b"])
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
