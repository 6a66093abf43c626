"""Examples from a generator: their labels, and how they are stored."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp import networks
from jaxdp.data import Codec
from jaxdp.methods.dp_ntk import drawing
from jaxdp.methods.dp_ntk.drawing import Generator, balanced_labels


def test_labels_follow_the_weights_exactly() -> None:
    found = balanced_labels(np.array([0.5, 0.3, 0.2]), 11, seed=0)
    np.testing.assert_array_equal(np.bincount(found), [6, 3, 2])
    np.testing.assert_array_equal(found, balanced_labels(np.array([0.5, 0.3, 0.2]), 11, seed=0))


@pytest.mark.parametrize(
    ("shape", "codec", "expected"),
    [
        ((2, 2, 1), Codec(low=0.0, high=16.0, shift=0.0, scale=5.0), [0, 8, 16, 8]),
        (
            (4,),
            Codec(low=-1.0, high=1.0, shift=0.0, scale=1.0, dtype="float32"),
            [-1, 0, 1, -0.002],
        ),
    ],
)
def test_stored_examples_are_scaled_back_and_rounded(
    shape: tuple[int, ...], codec: Codec, expected: list[float]
) -> None:
    generator = Generator(
        module=None, variables=None, code_dim=1, class_names=("a",), shape=shape, codec=codec
    )
    found = generator.stored(np.array([[0.0, 0.5, 1.0, 0.499]]), np.array([0]))
    assert found.shape == (1, *shape)
    assert (found.dtype == np.uint8) == codec.is_whole
    np.testing.assert_allclose(found.ravel(), expected, atol=1e-9)


@pytest.mark.parametrize("labels", [[], [[0]], [-1], [2], [0.5], [2**32]])
def test_labels_of_no_class_are_refused(labels: list) -> None:
    generator = Generator(
        module=None,
        variables=None,
        code_dim=1,
        class_names=("a", "b"),
        shape=(4,),
        codec=Codec(low=0.0, high=1.0, shift=0.0, scale=1.0),
    )
    with pytest.raises(ValueError, match="labels must be"):
        generator(np.array(labels), seed=0)


def test_a_generator_is_traced_once_for_all_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its network: one that is opened again is another object."""
    module, traced = networks.DenseGen(dim=4, hidden=(5, 6)), []
    variables = networks.generators.init(module, jax.random.key(0), 3, 2)
    generate = networks.generators.generate

    def counted(*args: Any, **kwargs: Any) -> Any:
        traced.append(args[0])
        return generate(*args, **kwargs)

    monkeypatch.setattr(drawing.generators, "generate", counted)
    labels, key = np.array([0, 1, 1], np.int32), jax.random.key(1)
    found = []
    for scale in (1, 1, 2):
        weights = jax.tree.map(lambda leaf, scale=scale: scale * leaf, variables)
        again = networks.DenseGen(dim=4, hidden=(5, 6))
        found.append(drawing.draw_rows(again, weights, labels, key, code_dim=3))
    assert len(traced) == 1
    np.testing.assert_array_equal(found[0], found[1])
    assert np.any(found[0] != found[2])


def test_a_network_without_a_hash_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that is described by a list."""
    monkeypatch.setattr(
        drawing.generators, "generate", lambda module, *_, **__: (jnp.asarray(module), None)
    )
    found = drawing.draw_rows([[0.5]], None, np.array([0]), jax.random.key(0), code_dim=2)
    np.testing.assert_array_equal(found, [[0.5]])


def test_every_row_is_of_its_own_label_however_many_chunks_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last chunk is a part of one: its rows are all there, and no others."""

    def row_of_label(module: object, variables: object, codes: object, labels: object, **_: object):
        return jnp.asarray(labels, jnp.float32)[:, None] * jnp.array([1.0, 10.0]), None

    monkeypatch.setattr(drawing, "_CHUNK", 4)
    monkeypatch.setattr(drawing.generators, "generate", row_of_label)
    labels = np.array([1, 2, 3, 1, 2, 3, 1, 2, 2, 3], np.int32)
    found = drawing.draw_rows(None, None, labels, jax.random.key(0), code_dim=8)
    np.testing.assert_array_equal(found, labels[:, None] * np.float32([1, 10]))
    assert found.dtype == np.float32
