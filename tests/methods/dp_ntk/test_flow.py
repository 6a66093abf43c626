"""Drawn images come nearer to the embedding, down to its noise, by the moves of the formula."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxdp
from jaxdp.features import base as feature_maps
from jaxdp.features.base import FeatureMap
from jaxdp.methods.dp_ntk import Released, flow
from jaxdp.numerics import ByBackend

SHAPE, DIM, CLASSES = (4, 4, 1), 16, 2
WEIGHTS = np.float32([0.25, 0.75])


def features() -> FeatureMap:
    linear = jax.random.normal(jax.random.key(1), (DIM, 24))
    return feature_maps.unit_features(lambda x: jnp.cos(x @ linear), DIM)


def drawn(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.random((count, DIM), np.float32), np.arange(count) % CLASSES


def embedding(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    phi, found = features(), []
    for label, share in enumerate(WEIGHTS):
        each = share * (labels == label) / max(1, (labels == label).sum())
        found.append(phi.weighted_sum(jnp.asarray(rows), jnp.asarray(each, jnp.float32)))
    return np.stack(found)


def released(count: int = 400) -> Released:
    rows, labels = drawn(count, seed=7)
    return Released(jnp.asarray(embedding(rows**2, labels)), jnp.asarray(WEIGHTS))


def moved(
    rows: np.ndarray, labels: np.ndarray, *, passes: int, noise: float = 0.0, seed: int = 0
) -> np.ndarray:
    return flow.moved(
        features(), rows, labels, released(), shape=SHAPE, noise=noise, passes=passes, seed=seed
    )


def distance(rows: np.ndarray, labels: np.ndarray) -> float:
    return float(((embedding(rows, labels) - np.asarray(released().mu)) ** 2).sum())


def slowly_moved(rows: np.ndarray, labels: np.ndarray, passes: int, noise: float) -> np.ndarray:
    """Return what the formula says, the embedding computed anew before every chunk."""
    rows, rng, size = (
        rows.copy(),
        np.random.default_rng(0),
        flow._AT_ONCE * min(flow._CHUNK.here, len(rows)),
    )
    distances = np.subtract.outer(np.arange(4), np.arange(4)) ** 2
    smooth = np.exp(-distances / (2 * 0.8**2))
    smooth /= smooth.sum(axis=1, keepdims=True)
    mu = np.asarray(released().mu)
    for number in range(passes):
        length = 0.03 * (1 + math.cos(math.pi * number / passes)) / 2
        order = rng.permutation(len(rows))
        for start in range(0, len(rows), size):
            at = order[start : start + size]
            gap = embedding(rows, labels) - mu
            beyond = max(0.0, 1 - noise / (gap**2).sum())

            def dot(row: jax.Array, label: int, gap: np.ndarray = gap) -> jax.Array:
                phi = features().weighted_sum(row[None], jnp.ones(1))
                return phi @ gap[label]

            gradients = [np.asarray(jax.grad(dot)(rows[each], labels[each])) for each in at]
            smoothed = [(smooth @ each.reshape(4, 4) @ smooth.T).ravel() for each in gradients]
            ahead = np.stack(smoothed) * np.sqrt(rows[at] * (1 - rows[at]) + 0.001)
            usual = np.sqrt((ahead**2).mean(axis=1, keepdims=True))
            rows[at] = np.clip(rows[at] - beyond * length * ahead / usual, 0, 1)
    return rows


@pytest.mark.parametrize(("count", "noise"), [(10, 0.0), (13, 0.0), (13, 0.02)])
def test_moves_are_those_of_the_formula(
    count: int, noise: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow, "_CHUNK", ByBackend(cpu=3, accelerator=3))
    rows, labels = drawn(count)
    found = moved(rows, labels, passes=2, noise=noise)
    np.testing.assert_allclose(found, slowly_moved(rows, labels, 2, noise), atol=2e-5)


def test_images_come_nearer_to_the_embedding() -> None:
    rows, labels = drawn(300)
    assert distance(moved(rows, labels, passes=8), labels) < 0.1 * distance(rows, labels)


def test_no_nearer_than_the_noise() -> None:
    rows, labels = drawn(300)
    noise = 0.5 * distance(rows, labels)
    left = distance(moved(rows, labels, passes=40, noise=noise), labels)
    assert 0.999 * noise <= left < 1.2 * noise
    np.testing.assert_array_equal(moved(rows, labels, passes=3, noise=10.0), rows)


def test_images_that_have_the_embedding_stay() -> None:
    """Without noise the distance may be 0, of which nothing is a part."""
    aim = flow._Aim(jnp.ones((2, 3)), jnp.ones(2), jnp.float32(0.0))
    assert flow._beyond(aim, aim.mu) == 0
    assert flow._beyond(aim, 2 * aim.mu) == 1
    assert flow._beyond(aim._replace(noise=jnp.float32(1.5)), 2 * aim.mu) == 0.75
    assert flow._beyond(aim._replace(noise=jnp.float32(7.0)), 2 * aim.mu) == 0


def test_all_parts_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "_CHUNK", ByBackend(cpu=3, accelerator=3))
    done = []

    def watch(parts: Sequence[int]) -> Iterator[int]:
        for part in parts:
            yield part
            done.append(part)

    rows, labels = drawn(10)
    flow.moved(
        *(features(), rows, labels, released()),
        **{"shape": SHAPE, "noise": 0.0, "passes": 2, "seed": 0, "watch": watch},
    )
    assert done == list(range(8))


def test_values_stay_in_their_range_and_what_is_given_stays() -> None:
    rows, labels = drawn(40)
    rows[:, :8] = 0.0
    before = rows.copy()
    found = moved(rows, labels, passes=5)
    assert found.min() >= 0
    assert found.max() <= 1
    assert np.abs(found - rows)[:, :8].mean() < 0.3 * np.abs(found - rows)[:, 8:].mean()
    np.testing.assert_array_equal(rows, before)


def test_no_passes_and_classes_that_nothing_was_drawn_for() -> None:
    rows, labels = drawn(12)
    np.testing.assert_array_equal(moved(rows, labels, passes=0), rows)
    assert np.all(np.isfinite(moved(rows, np.zeros(12, int), passes=2)))


def test_runs_of_one_seed_are_the_same_and_others_are_not() -> None:
    rows, labels = drawn(700)
    first, again = moved(rows, labels, passes=1), moved(rows, labels, passes=1)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, moved(rows, labels, passes=1, seed=1))


def test_guarantee_moving_takes_no_private_data() -> None:
    taken = list(inspect.signature(flow.moved).parameters)
    assert taken == [
        *("features", "rows", "labels", "released"),
        *("shape", "noise", "passes", "seed", "watch"),
    ]


def test_a_run_moves_what_its_generator_draws() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (300, 4, 4)).astype(np.uint8), np.arange(300) % 2
    spec = jaxdp.Spec.images("toy", x.shape, class_names=["a", "b"])
    few = {"features": "rff", "generator": "dense", "steps": 3, "batch_size": 20}

    def made(eps: float, passes: int) -> Any:
        method = jaxdp.methods.dp_ntk
        asked = method.Settings(
            eps=eps, num_synthetic=60, flow_passes=passes, noise_seed=1, length_scale=1.0, **few
        )
        found, _ = jaxdp.run(method, asked, spec, jaxdp.Private(x, y), progress=False)
        return found

    drawn, moved = made(50.0, 0), made(50.0, 4)
    np.testing.assert_array_equal(drawn.y, moved.y)
    change = moved.rows - drawn.rows
    assert 0.01 < np.abs(change).mean() < 0.1
    np.testing.assert_allclose(moved.x.reshape(60, -1) / 255, moved.rows, atol=1 / 255)
    # With much noise there is nothing to move to.
    np.testing.assert_array_equal(made(0.05, 0).rows, made(0.05, 4).rows)
