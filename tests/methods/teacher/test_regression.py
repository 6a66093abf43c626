"""Kernel ridge regression on a distilled set, with what its teacher tells beside the images."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxdp
from jaxdp.kernels.kip import SupportSet
from jaxdp.methods.runner import PlainRunner
from jaxdp.methods.teacher import regression
from jaxdp.methods.teacher import view as views
from jaxdp.methods.teacher.released import Released
from jaxdp.privacy.mechanism import private_key
from jaxdp.saved.classifier import support_of

S, D, P, C = 5, 8, 9, 3
_RNG = np.random.default_rng(0)
_MAP = jnp.asarray(_RNG.normal(size=(D, P - 1)), jnp.float32)
WEIGHTS = _RNG.normal(size=(P, C)).astype(np.float32)
VIEW = views.centred_on(jnp.asarray(_RNG.normal(size=P) / 5, jnp.float32), noise=0.0)
RELEASED = Released(weights=WEIGHTS, view=VIEW.as_array())


def features(x: jax.Array) -> jax.Array:
    """Return features of norm 1 beside the constant."""
    phi = x @ _MAP
    phi = phi / jnp.linalg.norm(phi, axis=1, keepdims=True)
    return jnp.concatenate([phi, jnp.full((len(x), 1), views.CONSTANT)], axis=1)


def support(count: int = S) -> SupportSet:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(count, D)), rng.normal(size=(count, C))
    return SupportSet(jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32))


def regressed(small: SupportSet, *, unit_norm: bool = True, ridge: float = 1e-3) -> Any:
    taught = regression.taught_by(RELEASED, unit_norm=unit_norm)
    return regression.as_taught(small, taught, features, ridge=ridge)


def centred(scores: Any) -> np.ndarray:
    return np.asarray(scores) - np.mean(np.asarray(scores), axis=1, keepdims=True)


def test_scores_are_those_of_the_formula() -> None:
    seen = regressed(support())
    new = support(20).x
    phi_s, phi = (np.asarray(VIEW.seen(features(x)), float)[:, :-1] for x in (seen.x, new))
    kernel = phi_s @ phi_s.T
    alpha = np.linalg.solve(kernel + 1e-3 * np.trace(kernel) / S * np.eye(S), np.asarray(seen.y))
    intercept = views.CONSTANT * np.asarray(VIEW.on_seen(jnp.asarray(WEIGHTS)))[-1]
    slow = seen.scale * phi @ phi_s.T @ alpha + intercept
    found = features(new) @ regression.weights_of(seen, features, ridge=1e-3)
    np.testing.assert_allclose(found, slow, rtol=1e-3, atol=1e-3)


def test_a_set_that_can_say_all_says_what_its_teacher_says() -> None:
    """Enough examples, with the teacher's scores as labels, in whatever units."""
    many = support(60)
    taught = regression.taught_by(RELEASED, unit_norm=True)
    y = 0.01 * taught.shown(features(many.x)) @ taught.weights
    seen = regressed(SupportSet(many.x, y), ridge=1e-5)
    assert seen.scale == pytest.approx(100, rel=0.02)
    new = features(support(20).x)
    found = new @ regression.weights_of(seen, features, ridge=1e-5)
    np.testing.assert_allclose(centred(found), centred(new @ WEIGHTS), atol=0.05)


def test_a_regression_never_turns_round() -> None:
    taught = regression.taught_by(RELEASED, unit_norm=True)
    small = support()
    y = -taught.shown(features(small.x)) @ taught.weights
    assert 0 < regressed(SupportSet(small.x, y)).scale < 1e-5


def test_features_without_a_constant_are_seen_as_they_are() -> None:
    seen = regressed(support(), unit_norm=False)
    assert seen.view is None
    np.testing.assert_array_equal(seen.intercept, 0)
    phi = features(seen.x)
    plain = seen.scale * regression.induced_weights(phi, seen.y, ridge=1e-3)
    np.testing.assert_allclose(regression.weights_of(seen, features, ridge=1e-3), plain, atol=1e-4)


SPEC = jaxdp.Spec.images("toy", (200, 8, 8), class_names=["a", "b"])


def arrays_of(**other: Any) -> dict[str, Any]:
    x = np.zeros((2, 8, 8, 1), np.float32)
    arrays = {"x": x, "y": np.array([0, 1], np.int32), "class_names": np.array(["a", "b"])}
    told = {"scale_of_scores": np.float32(2.0), "intercept": np.zeros(2, np.float32)}
    told = {name: np.asarray(each) for name, each in told.items()}
    return arrays | {"shift": np.float32(0), "scale": np.float32(1)} | told | other


@pytest.mark.parametrize(
    "other",
    [
        {"scale_of_scores": np.asarray(-1.0)},
        {"scale_of_scores": np.asarray(np.nan)},
        {"scale_of_scores": np.ones(2)},
        {"intercept": np.zeros(3)},
        {"intercept": np.array([0.0, np.inf])},
        {"scale_of_scores": np.asarray(1e300)},
        {"scale_of_scores": np.asarray(1 + 0j)},
        {"scale_of_scores": np.asarray(True)},
        {"intercept": np.array([0, 1], "m8[s]")},
        {"intercept": np.array(["0", "1"])},
    ],
)
def test_stored_numbers_are_checked(other: dict[str, Any]) -> None:
    assert isinstance(support_of(arrays_of(), SPEC), regression.SeenSupport)
    with pytest.raises(ValueError, match=r"its (scale_of_scores|intercept)"):
        support_of(arrays_of(**other), SPEC)


@pytest.mark.parametrize(
    "view",
    [
        np.ones((3, 4)),
        np.ones(4),
        np.array([[0.0, 0.0], [1.0, -1.0]]),
        np.array([[np.nan, 0.0], [1.0, 1.0]]),
        np.ones((2, 4), complex),
        np.full((2, 4), "1"),
    ],
)
def test_a_stored_view_is_checked_when_it_is_read(view: np.ndarray) -> None:
    with pytest.raises(ValueError, match="view"):
        support_of(arrays_of(view=view), SPEC)


def test_a_set_that_lacks_a_part_of_what_its_teacher_tells_is_refused() -> None:
    for names in (["scale_of_scores"], ["intercept"]):
        arrays = arrays_of(view=np.ones((2, 4)))
        for name in names:
            del arrays[name]
        with pytest.raises(ValueError, match=f"it lacks {names[0]}: another version"):
            support_of(arrays, SPEC)


def test_a_set_of_an_earlier_version_is_read_as_it_was() -> None:
    arrays = arrays_of()
    del arrays["scale_of_scores"], arrays["intercept"]
    assert isinstance(support_of(arrays, SPEC), SupportSet)


@pytest.mark.parametrize("share", [0.1, 0.0])
def test_a_loaded_regression_says_what_its_teacher_says(share: float) -> None:
    teacher, rng = jaxdp.methods.teacher, np.random.default_rng(0)
    y = (np.arange(200) % 4 == 0).astype(np.int32)
    x = np.clip(rng.normal(100 + 40 * y[:, None, None], 30, (200, 8, 8)), 0, 255).astype(np.uint8)
    settings = teacher.Settings(eps=20.0, ipc=1, distill_steps=200, mean_share=share)
    plan = teacher.make_plan(teacher.complete(settings, SPEC), SPEC)
    runner = PlainRunner(progress=False)
    released = plan.release(jaxdp.Private(x[..., None], y), private_key(0), runner)
    made = plan.finish(released, runner)
    again = plan.classifier(support_of(made.arrays, SPEC), runner)
    assert made.arrays["view"].shape == (2, len(released.weights))
    said, taught = again.predict_proba(x[..., None]), made.classifier.predict_proba(x[..., None])
    assert np.mean(np.argmax(said, axis=1) == np.argmax(taught, axis=1)) > 0.9
    assert np.abs(said - taught).mean() < 0.1
