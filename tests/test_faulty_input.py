"""Whatever flags and files hold, a driver accepts it or refuses it in one line, and writes nothing.

A few inputs of each kind, always the same; `offline_fuzz.py` reads many.
"""

from __future__ import annotations

import collections
import json

import hypothesis
import pytest
from support import (
    dataset_probes,
    faulty_input,
    ledger_probes,
    run_probes,
    state_probes,
    table_probes,
)
from support.faulty_input import ACCEPTED, REFUSED, Probe

PROBES = (
    *(*dataset_probes.PROBES, *run_probes.PROBES, *state_probes.PROBES),
    *(*table_probes.PROBES, *ledger_probes.PROBES),
)
EACH = 15


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_input_is_accepted_or_refused_in_one_line(probe: Probe) -> None:
    found: collections.Counter[str] = collections.Counter()

    @hypothesis.settings(
        max_examples=EACH,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(probe.inputs())
    def look(given: object) -> None:
        found[faulty_input.outcome(probe, given)] += 1

    look()
    assert sum(found.values()) >= EACH
    assert found[REFUSED] > 0
    assert faulty_input.outcome(probe, probe.good()) == ACCEPTED


@pytest.mark.parametrize("value", [[1], "x", 5, True, None, [], {"steps": 1}])
@pytest.mark.parametrize(
    ("name", "key"),
    [("config.json", "ledger"), ("released.json", "files"), ("released.json", "step")],
)
def test_a_run_folder_with_other_types_is_refused(name: str, key: str, value: object) -> None:
    (probe,) = (probe for probe in PROBES if probe.name == "run folder")
    files = run_probes.run_files()
    content = json.loads(files[name]) | {key: value}
    given = files | {name: json.dumps(content).encode(), "y.npz.part": b""}
    found = faulty_input.outcome(probe, given)
    assert found == REFUSED


def test_a_traceback_a_second_line_and_a_written_file_are_found(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What the tests above rely on."""
    nothing = hypothesis.strategies.none()

    def probe(read: object) -> Probe:
        return Probe("any", lambda: nothing, lambda given, folder: None, read, dict)  # type: ignore[arg-type]

    def raises(given: object, folder: object) -> None:
        raise KeyError("epsilon")

    with pytest.raises(KeyError):
        faulty_input.outcome(probe(raises), None)
    with pytest.raises(AssertionError, match="wrote"):
        faulty_input.outcome(probe(lambda _, folder: (folder / "x").touch()), None)
    assert faulty_input.outcome(probe(lambda _, folder: None), None) == ACCEPTED
