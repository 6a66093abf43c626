"""`jaxdp.run` warns of what the command line warns of, each once, by a class of its own."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import jaxdp
from jaxdp.methods import warned

X, Y = np.random.default_rng(0).integers(0, 255, (60, 8, 8)).astype(np.uint8), np.arange(60) % 2
SPEC = jaxdp.Spec.images("scans", X.shape, class_names=["no", "yes"])
NTK = jaxdp.methods.dp_ntk


def run(**settings: Any) -> Any:
    asked = NTK.Settings(
        features="rff", generator="dense", steps=1, batch_size=20, num_synthetic=40, **settings
    )
    return jaxdp.run(NTK, asked, SPEC, jaxdp.Private(X, Y), progress=False)


@pytest.mark.filterwarnings("error")
def test_a_run_with_enough_of_everything_warns_of_nothing() -> None:
    run(eps=5.0)


@pytest.mark.filterwarnings("always::jaxdp.JaxdpWarning")
@pytest.mark.usefixtures("python_words")
def test_a_run_warns_once_in_the_words_of_python() -> None:
    with pytest.warns(jaxdp.JaxdpWarning) as found:
        run(eps=0.5)
    lines = [str(each.message) for each in found]
    assert len(lines) == len(set(lines))
    [weak] = [line for line in lines if line.startswith("epsilon times the examples of a class")]
    assert "eps=3" in weak
    assert not re.search("--[a-z]", weak)


@pytest.mark.filterwarnings("error")
def test_warnings_are_filtered_by_their_class() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jaxdp.JaxdpWarning)
        run(eps=0.5)
    with pytest.raises(jaxdp.JaxdpWarning):
        run(eps=0.5)


@pytest.mark.filterwarnings("always::jaxdp.JaxdpWarning")
def test_a_line_that_was_said_is_not_said_again() -> None:
    said: set[str] = set()
    lines = ["a class is lost", "noise hides most"]
    with warnings.catch_warnings(record=True) as found:
        warned.warn(lines, said=said, stacklevel=1)
        warned.warn(lines, said=said, stacklevel=1)
    assert [str(each.message) for each in found] == lines
