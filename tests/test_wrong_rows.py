"""Maps of rows refuse whole numbers and other widths, which they would compute with in silence.

The cases run in a process of their own, as users have them: annotations are not checked there.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp import features
from jaxdp.rows import require_floats, require_rows

ROOT = Path(__file__).parents[1]
_GIVEN = """
import json, math, sys
import jax, numpy as np
import jax.numpy as jnp
from jaxdp import features, images, kernels
from jaxdp.features import levels, map_parts, public_encoder, patches
from jaxdp.networks import gradients

key, shape, small = jax.random.key(0), (16, 16, 3), (8, 8, 1)
weights = {"first": jnp.ones((4, 3)), "last": jnp.ones(3)}

def network(params, x):
    return jnp.tanh(x @ params["first"]) @ params["last"]

def summed(phi):
    return lambda x: phi.weighted_sum(x, jnp.ones(len(x)))

def itself(rows):
    return rows

def gram(kernel):
    return lambda x: kernel.cross(x, x)

fourier = features.fourier_features(key, 4, num_features=6, length_scale=1.0)
words = patches.dictionary(key, 2, 3)
packing = images.Packing(image_shape=small, factor=2)
of_images = features.scatter_features(small, max_scale=1, num_angles=2)
public = jnp.asarray(np.random.default_rng(0).normal(size=(9, 4)), jnp.float32)
MAPS = {
    "fourier": (4, fourier),
    "fourier of directions": (None, features.directional_fourier_features(
        itself, jnp.eye(4), key, num_features=6, length_scale=1.0)),
    "hermite": (4, features.hermite_features(4, order=3, variance=1.0)),
    "hermite pairs": (None, features.hermite_product_features(
        jnp.array([[0, 1]]), order=3, variance=1.0)),
    "directions": (None, features.public_directions(itself, public, gamma=0.1)),
    "directions of a kernel": (4, features.directions_of_kernel(
        lambda x, z: x @ z.T, public, gamma=0.1)),
    "unit features": (4, summed(features.unit_features(itself, 4))),
    "marginals": (None, summed(features.marginal_features(4, 2))),
    "entk": (4, summed(features.entk_map(network, weights, 4))),
    "scattering": (64, of_images),
    "images of scattering": (None, lambda x: features.scattering.scattering(
        x.reshape(-1, 8, 8), max_scale=1)),
    "colours": (None, map_parts.with_opponent_colours(itself)),
    "margins": (64, map_parts.padded(itself, small, margins=(1, 1))),
    "smaller": (64, levels.shrunk(small, 4)),
    "as large": (64, levels.shrunk(small, 8)),
    "brightness": (768, levels.brightness(shape)),
    "brightness of grey": (64, levels.brightness(small)),
    "patches": (768, patches.patch_features(shape, words, mirror=True)),
    "encoder": (768, public_encoder.encoder_features(shape, mirror=False)),
    "smoothing": (64, lambda x: images.smooth_rows(x, shape=small, width=1.0)),
    "views": (64, images.viewed(itself, small, images.FIVE_VIEWS)),
    "one view": (None, lambda x: images.resampled(
        x[0].reshape(8, 8, 1), jnp.eye(2), jnp.zeros(2))),
    "movements": (None, lambda x: images.siamese_augmented(
        key, x.reshape(-1, 8, 8, 1), reflect=False)),
    "augmentation": (None, lambda x: images.augmented(
        key, x.reshape(-1, 8, 8, 1), max_shift=1.0, max_scaling=0.1, max_rotation=5.0)),
    "enlarged": (16, packing.enlarged),
    "reduced": (64, packing.reduced),
    "packed": (16, packing.packed),
    "unpacked": (64, packing.unpacked),
    "one layer": (4, kernels.one_layer_features(key, dim=4, width=5)),
    "one layer's kernel": (4, gram(kernels.one_layer_entk(key, dim=4, width=5))),
    "entk's kernel": (None, gram(kernels.entk(network, weights, None))),
    "entk's features": (None, kernels.entk_features(network, weights)),
    "entk's norms": (None, lambda x: gradients.entk_norms(network, weights, x)),
    "linear": (None, gram(kernels.linear())),
    "ntk": (None, gram(kernels.fc_ntk())),
    "ntk of itself": (None, kernels.fc_ntk().symmetric),
    "kernel of features": (None, gram(kernels.from_features(itself))),
    "scaled": (None, kernels.unit_scale(itself, public)),
    "norms": (None, kernels.squared_norms),
}
WIDTHS = {"one view": 64, "movements": 64, "augmentation": 64, "images of scattering": 64,
          "colours": 6}

FIRST_ROW = ("one view",)  # a map of one row

def told(fn, x):
    try:
        found = fn(x)
    except (TypeError, ValueError, ArithmeticError) as error:
        return f"{type(error).__name__}: {error}"
    return "finite" if bool(jnp.all(jnp.isfinite(found))) else "not finite"

said = {}
for name, (width, fn) in MAPS.items():
    dim = width or WIDTHS.get(name, 4)
    floats = jnp.ones((4, dim), jnp.float32) / 3
    said[name] = {
        "floats": told(fn, floats),
        "bytes": told(fn, jnp.full((4, dim), 200, jnp.uint8)),
        "numbers": told(fn, np.full((4, dim), 3, np.int32)),
        "none": "" if name in FIRST_ROW else told(fn, jnp.ones((0, dim), jnp.float32)),
    }
    if width:
        said[name]["wide"] = told(fn, jnp.ones((4, 2 * dim), jnp.float32))
        # As many values as two rows have.
        said[name]["narrow"] = told(fn, jnp.ones((4, dim // 2), jnp.float32))
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said() -> dict[str, dict[str, str]]:
    found = subprocess.run(
        [sys.executable, "-c", _GIVEN],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"},
        check=False,
    )
    assert found.returncode == 0, found.stderr
    told: dict[str, dict[str, str]] = json.loads(found.stdout.splitlines()[-1])
    return told


def test_rows_of_floats_are_taken(said: dict[str, dict[str, str]]) -> None:
    assert {name for name, told in said.items() if told["floats"] != "finite"} == set()


def test_no_rows_have_no_features(said: dict[str, dict[str, str]]) -> None:
    """A class may have no example: a map has nothing to say of it, and no error."""
    having = {name: told["none"] for name, told in said.items() if told["none"]}
    assert len(having) > 35
    assert {name for name, told in having.items() if told != "finite"} == set()


def test_whole_numbers_are_refused(said: dict[str, dict[str, str]]) -> None:
    for name, told in said.items():
        assert told["bytes"].startswith("TypeError: rows must be of floats, got uint8"), name
        assert told["numbers"].startswith("TypeError: rows must be of floats, got int32"), name


def test_rows_of_another_width_are_refused(said: dict[str, dict[str, str]]) -> None:
    having = {name: told for name, told in said.items() if "wide" in told}
    assert len(having) > 20
    for name, told in having.items():
        for kind in ("wide", "narrow"):
            assert re.match(r"ValueError: need rows of width \d+, got \d+", told[kind]), (
                name,
                told,
            )


def test_guarantee_features_of_bytes_have_no_norm_that_overflows() -> None:
    """Squares of 100 are 16 in bytes: the norm of two would be 6 and not 141, and features 25."""
    phi = features.unit_features(lambda rows: rows.astype(jnp.uint8), 2)
    with pytest.raises(TypeError, match="rows must be of floats, got uint8"):
        phi.weighted_sum(jnp.full((1, 2), 100.0), jnp.ones(1))


def test_no_rows_are_rows() -> None:
    require_rows(jnp.zeros((0, 3)), 3)
    require_rows(np.zeros((2, 3), np.float16), 3)
    jax.eval_shape(lambda x: require_rows(x, 3), jax.ShapeDtypeStruct((2, 3), jnp.bfloat16))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.complex64])
def test_other_types_are_refused(dtype: type) -> None:
    with pytest.raises(TypeError, match="rows must be of floats"):
        require_floats(np.zeros((2, 3), dtype))


@pytest.mark.parametrize("shape", [(3,), (2, 3, 1), (1, 1, 3), ()])
def test_what_is_no_table_of_rows_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="need rows of width 3, got an array of shape"):
        require_rows(np.zeros(shape, np.float32), 3)
