"""Tables from Python: a frame and its schema in, a frame and a certificate out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.toy_tables import MADE, frame_of, schema_of

import jaxdp
from jaxdp.tables import frames

SCHEMA = schema_of()
FRAME = frame_of(200)
SPEC = jaxdp.Spec.table("people", SCHEMA, len(FRAME))


def run(name: str, **settings: Any) -> Any:
    method = getattr(jaxdp.methods, name)
    asked = method.Settings(eps=5.0, delta=1e-3, **settings)
    return jaxdp.run(method, asked, SPEC, jaxdp.Private.of_frame(FRAME, SCHEMA), progress=False)


def test_marginals_give_a_frame_and_a_file(tmp_path: Path) -> None:
    made, certificate = run("dp_ntk", num_synthetic=50)
    assert list(made.frame.columns) == MADE
    assert len(made.frame) == 50
    assert certificate.releasable
    path = made.save(tmp_path / "made")
    assert path == tmp_path / "made" / "synthetic.csv"
    read = pd.read_csv(path, dtype=str, keep_default_na=False)
    for mine, wanted in zip(
        frames.encode(read, SCHEMA), frames.encode(made.frame, SCHEMA), strict=True
    ):
        np.testing.assert_allclose(mine, wanted, atol=1e-6)
    assert "<table" in made._repr_html_()


def test_without_labels_there_is_no_target() -> None:
    made, _ = run("dp_ntk", num_synthetic=20, unconditional=True)
    assert list(made.frame.columns) == [name for name in MADE if name != "ill"]


def test_a_distilled_table_classifies_frames(tmp_path: Path) -> None:
    made, _ = run("dp_kip", ipc=2, steps=2, batch_size=40)
    assert len(made.frame) == 4
    found = made.classifier.predict(FRAME)
    assert found.shape == (200,)
    without = FRAME.drop(columns=["ill", "name"])
    np.testing.assert_array_equal(made.classifier.predict(without), found)
    stored = jaxdp.Private.of_frame(FRAME, SCHEMA).x
    np.testing.assert_array_equal(made.classifier.predict(stored), found)
    assert made.save(tmp_path).name == "distilled.csv"


def test_records_that_are_not_stored_as_declared_are_refused() -> None:
    x, y = jaxdp.Private.of_frame(FRAME, SCHEMA)
    asked = jaxdp.methods.dp_ntk.Settings(eps=1.0, delta=1e-3, num_synthetic=5)
    for column, value in ((0, 1.5), (0, -1.0), (3, 0.5), (3, 4.0), (4, -1.0), (1, np.nan)):
        changed = x.copy()
        changed[7, column] = value
        with pytest.raises(ValueError, match="x h"):
            jaxdp.run(jaxdp.methods.dp_ntk, asked, SPEC, jaxdp.Private(changed, y))
    with pytest.raises(ValueError, match="spec says"):
        jaxdp.run(jaxdp.methods.dp_ntk, asked, SPEC, jaxdp.Private(x[:-1], y[:-1]))
