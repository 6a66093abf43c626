"""Losses of kernel inducing points: what they are of, and what they refuse."""

from __future__ import annotations

import inspect
import re

import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from jaxdp import kernels
from jaxdp.kernels import SupportSet, kip

SUPPORT = SupportSet(x=jnp.eye(2), y=jnp.array([[0.5, -0.5], [-0.5, 0.5]]))
ROWS, LABELS = jnp.array([[1.0, 0.5], [0.0, 2.0]]), jnp.array([[0.5, -0.5], [-0.5, 0.5]])
ALL = jnp.ones(2, bool)


def total(labels: Array, mask: Array = ALL, support: SupportSet = SUPPORT) -> float:
    """Return the loss as users have it: annotations are not checked."""
    loss = inspect.unwrap(kip.total_loss)
    return float(loss(kernels.linear(), support, ROWS, labels, mask, ridge=0.5))


def test_the_total_is_that_of_the_formula() -> None:
    gram = np.eye(2)
    alpha = np.linalg.solve(gram + 0.5 * np.trace(gram) / 2 * np.eye(2), np.asarray(SUPPORT.y))
    each = np.mean((np.asarray(ROWS) @ alpha - np.asarray(LABELS)) ** 2, axis=1) / 2
    assert total(LABELS) == pytest.approx(each.sum(), rel=1e-6)
    assert total(LABELS, jnp.array([False, True])) == pytest.approx(each[1], rel=1e-6)
    one = kip.loss(kernels.linear(), SUPPORT, ROWS[0], LABELS[0], ridge=0.5)
    assert float(one) == pytest.approx(each[0], rel=1e-6)


@pytest.mark.parametrize(
    ("labels", "kind", "said"),
    [
        (LABELS[:, :1], ValueError, "need labels of shape (2, 2)"),
        (LABELS[:1], ValueError, "need labels of shape (2, 2)"),
        (LABELS[0], TypeError, "the target's labels are float32 of shape (2,)"),
        (jnp.array([0, 1]), TypeError, "the target's labels are int32 of shape (2,)"),
        (jnp.array([[1, 0], [0, 1]]), TypeError, "the target's labels are int32"),
    ],
)
def test_labels_that_would_be_spread_over_targets_are_refused(
    labels: Array, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=re.escape(said)):
        total(labels)


@pytest.mark.parametrize("label", [LABELS[0, :1], LABELS[0, 0], jnp.array(1)])
def test_a_label_of_another_shape_is_refused(label: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kip, "total_loss", inspect.unwrap(kip.total_loss))
    loss = inspect.unwrap(kip.loss)
    with pytest.raises((TypeError, ValueError), match=r"labels"):
        loss(kernels.linear(), SUPPORT, ROWS[0], label, ridge=0.5)


@pytest.mark.parametrize(
    ("mask", "kind"),
    [(ALL[:1], ValueError), (ALL[:, None], ValueError), (jnp.ones(2), TypeError)],
)
def test_a_mask_of_another_shape_or_type_is_refused(mask: Array, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="the mask must"):
        total(LABELS, mask)


def test_a_support_with_classes_for_labels_is_refused() -> None:
    with pytest.raises(TypeError, match="the support's labels are int32"):
        total(LABELS, support=SUPPORT._replace(y=jnp.array([0, 1])))
