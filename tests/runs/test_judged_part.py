"""How much of a long table judges see."""

from __future__ import annotations

import numpy as np
import pytest

from jaxdp.program.evaluation.facts import MOST_JUDGED
from jaxdp.program.runs import judging


def test_records_that_fit_are_all_seen() -> None:
    x, y = np.arange(20.0).reshape(10, 2), np.arange(10)
    for seen, given in zip(judging.some(x, y), (x, y), strict=True):
        assert seen is given


def test_of_more_records_some_are_seen_with_their_own_classes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert MOST_JUDGED == judging.MOST_JUDGED
    monkeypatch.setattr(judging, "MOST_JUDGED", 50)
    x, y = np.arange(1000.0)[:, None], np.arange(1000) % 7
    seen, classes = judging.some(x, y)
    assert len(seen) == len(classes) == 50
    assert len(np.unique(seen)) == 50
    np.testing.assert_array_equal(seen[:, 0] % 7, classes)
    assert np.min(seen) < 150
    assert np.max(seen) > 850
    np.testing.assert_array_equal(judging.some(x, y)[0], seen)
