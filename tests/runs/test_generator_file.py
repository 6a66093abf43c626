"""What a stored generator says of itself is checked before any of it is used."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import faulty_input, state_probes
from support.faulty_input import ACCEPTED, REFUSED


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dtype", []),
        ("dtype", None),
        ("dtype", "float64"),
        ("low", float("nan")),
        ("high", float("inf")),
        ("high", True),
    ],
)
def test_how_values_are_stored_is_checked(key: str, value: Any) -> None:
    (probe,) = (probe for probe in state_probes.PROBES if probe.name == "generator")
    name, files = "generator/description.json", probe.good()
    changed = json.loads(files[name]) | {key: value}
    assert faulty_input.outcome(probe, files) == ACCEPTED
    assert faulty_input.outcome(probe, files | {name: json.dumps(changed).encode()}) == REFUSED
