"""An embedding tells the classes' shares, and a generator is trained on them."""

from __future__ import annotations

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxdp
from jaxdp.features import base as feature_maps
from jaxdp.features import fourier
from jaxdp.features.base import FeatureMap
from jaxdp.methods.dp_ntk import Released, finish, shares
from jaxdp.program.commands.sample import labels_for

DIM = 16
SHARES = np.array([0.1, 0.6, 0.3])


def features(dim: int = DIM) -> FeatureMap:
    waves = fourier.fourier_features(jax.random.key(1), dim, num_features=400, length_scale=2.0)
    return feature_maps.unit_features(waves, dim)


def embedding(each: np.ndarray, dim: int = DIM, noise: float = 0.0) -> Released:
    """Return that of rows of which every class has its own range."""
    rng, found = np.random.default_rng(0), []
    for label, share in enumerate(each):
        rows = jnp.asarray(rng.random((200, dim), np.float32) * (0.7 + 0.1 * label))
        found.append(share * features(dim).weighted_sum(rows, jnp.full(200, 1 / 200)))
    mu = np.stack(found) + noise * rng.normal(size=(len(each), features(dim).dim))
    uniform = jnp.full(len(each), 1 / len(each))
    return Released(jnp.asarray(mu, jnp.float32), uniform)


def told(released: Released, *, shape: tuple[int, ...] = (DIM,), stddev: float = 0.0) -> np.ndarray:
    found = shares.with_shares(released, features(DIM), "rff", shape=shape, stddev=stddev)
    np.testing.assert_array_equal(found.mu, released.mu)
    return np.asarray(found.class_weights)


@pytest.mark.parametrize("shape", [(DIM,), (4, 4, 1), (4, 2, 2)])
def test_shares_are_those_of_the_data(shape: tuple[int, ...]) -> None:
    found = told(embedding(SHARES), shape=shape)
    np.testing.assert_allclose(found, SHARES, rtol=0.1)
    assert found.sum() == pytest.approx(1, abs=1e-6)


def test_shares_of_equal_classes_are_equal() -> None:
    np.testing.assert_allclose(told(embedding(np.full(3, 1 / 3))), 1 / 3, rtol=1e-6)


def test_noise_is_not_taken_for_shares() -> None:
    stddev = 0.05
    clear, noisy = told(embedding(SHARES)), told(embedding(SHARES, noise=stddev), stddev=stddev)
    np.testing.assert_allclose(noisy, clear, atol=4 * stddev)
    even, stddev = np.full(3, 1 / 3), 0.2
    taken = told(embedding(even, noise=stddev), stddev=0.0)
    assert np.abs(taken - even).max() > 0.1
    np.testing.assert_allclose(told(embedding(even, noise=stddev), stddev=stddev), even, rtol=1e-6)


def test_no_share_is_below_a_hundredth_of_an_equal_one() -> None:
    found = told(embedding(np.array([0.0, 0.5, 0.5])))
    assert found[0] == pytest.approx(0.01 / 3, rel=0.02)
    assert told(Released(-embedding(SHARES).mu, jnp.full(3, 1 / 3))) == pytest.approx(1 / 3)


def test_shares_follow_the_formula() -> None:
    given, noise, misread = np.array([1.0, 2.0, 5.0]), 0.4, 0.3
    beyond = given / 8 - 1 / 3
    varied = (beyond**2).sum() / 2
    error = (noise / 8) ** 2 + (misread / 3) ** 2
    expected = 1 / 3 + (1 - error / varied) * beyond
    found = shares._drawn_together(given, noise=noise, misread=misread)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_single_class_has_all() -> None:
    one = embedding(np.ones(1))
    assert shares.with_shares(one, features(), "rff", shape=(DIM,), stddev=0.0) is one


def test_guarantee_shares_take_no_private_data() -> None:
    taken = list(inspect.signature(shares.with_shares).parameters)
    assert taken == ["released", "features", "name", "shape", "stddev"]


def test_rare_classes_are_trained_on_as_much_as_others_where_noise_lets_them() -> None:
    given = Released(jnp.ones((3, 4)), jnp.asarray(SHARES, jnp.float32))
    clear = finish.evened(given, noise=0.0)
    np.testing.assert_allclose(clear.class_weights, clear.class_weights[0], rtol=1e-6)
    np.testing.assert_allclose(clear.mu * SHARES[:, None], clear.class_weights[0], rtol=1e-6)
    some = finish.evened(given, noise=0.02)
    factors = 1 / np.sqrt(SHARES**2 + 0.02 / finish._LEFT)
    factors /= np.sqrt((factors**2).mean())
    np.testing.assert_allclose(some.mu, factors[:, None] * np.ones((3, 4)), rtol=1e-6)
    np.testing.assert_allclose(some.class_weights, SHARES * factors, rtol=1e-6)
    even = Released(given.mu, jnp.full(3, 1 / 3))
    for found, expected in zip(finish.evened(even, noise=0.02), even, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def run(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], **given: Any) -> tuple[Any, Any]:
    """Return what a run made of 1 : 3 examples, and the shares that its training got."""
    rng, seen = np.random.default_rng(0), []
    x = rng.integers(0, 256, (400, *shape)).astype(np.uint8)
    y = (np.arange(400) % 4 > 0).astype(int)
    kind = jaxdp.Spec.images
    if len(shape) == 1:
        kind, x = jaxdp.Spec.rows, (x / 127.5 - 1).astype(np.float32)
    spec = kind("toy", x.shape, class_names=["rare", "common"])
    given = {"features": "rff", "steps": 2, "num_synthetic": 100, "noise_seed": 1} | given
    trained = finish.finish

    def training(training: Any, released: Released, *rest: Any, **more: Any) -> Any:
        seen.append(np.asarray(released.class_weights))
        return trained(training, released, *rest, **more)

    monkeypatch.setattr(finish, "finish", training)
    noises: list[float] = []
    monkeypatch.setattr(finish, "evened", lambda rel, noise: noises.append(noise) or rel)
    method = jaxdp.methods.dp_ntk
    asked = method.Settings(eps=100.0, **given)
    made, _ = jaxdp.run(method, asked, spec, jaxdp.Private(x, y), progress=False)
    (noise,) = noises
    assert 0 < noise < 1
    return made, seen[0]


@pytest.mark.parametrize(
    ("shape", "given"),
    [((8, 8), {}), ((5,), {"priors": "equal"}), ((5,), {"weights_share": 0.0})],
    ids=["images", "equal priors", "no share"],
)
def test_a_generator_is_trained_on_told_shares_and_draws_equally(
    shape: tuple[int, ...], given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, found = run(monkeypatch, shape, **given)
    np.testing.assert_allclose(found, [0.25, 0.75], atol=0.02)
    np.testing.assert_array_equal(np.bincount(made.y), [50, 50])
    if len(shape) == 1:
        assert made.generator.class_weights == (0.5, 0.5)


@pytest.mark.parametrize("shape", [(8, 8), (5,)])
def test_shares_that_are_released_are_drawn(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError("shares were released, and are told again")

    monkeypatch.setattr(shares, "with_shares", forbidden)
    made, found = run(monkeypatch, shape, weights_share=0.2)
    np.testing.assert_allclose(found, [0.25, 0.75], atol=0.01)
    np.testing.assert_allclose(np.bincount(made.y), [25, 75], atol=1)
    np.testing.assert_allclose(made.generator.class_weights, [0.25, 0.75], atol=0.01)
    more = labels_for(made.generator, 200, seed=0)
    np.testing.assert_allclose(np.bincount(more), [50, 150], atol=2)
