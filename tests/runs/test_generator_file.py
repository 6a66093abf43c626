"""What a stored generator says of itself is checked before any of it is used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import faulty_input, state_probes
from support.faulty_input import ACCEPTED, REFUSED

from jaxdp.program.errors import InputError
from jaxdp.program.runs import generator_file


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


def test_who_names_a_run_without_a_generator_hears_which_runs_have_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="which dp_ntk or marginals has finished"):
        generator_file.read(tmp_path, f"--run={tmp_path}")
