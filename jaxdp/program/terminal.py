"""What drivers say on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jaxdp.escapes import for_terminal
from jaxdp.privacy.relations import REPLACE, ZERO_OUT
from jaxdp.program.report.values import round_up

if TYPE_CHECKING:
    from jaxdp.data import Spec

# How many classes a line names.
_NAMED = 6


def bar_style() -> dict[str, Any]:
    """Return how progress bars look: a log file gets a line now and then, not ten a second."""
    return {} if sys.stderr.isatty() else {"mininterval": 10.0, "ascii": True}


def in_a_line(spec: Spec, *, num_test: int) -> str:
    """Say what was read, of which all is public: how much, of what shape, which classes."""
    what = spec.kind.in_a_line(spec)
    said = f"{spec.num_examples} training {what}; "
    if spec.num_classes < 2:
        said += "no classes"
    else:
        said += f"{spec.num_classes} classes{_named(spec.class_names)}"
    if spec.counted_classes:
        said += (
            f", counted from the labels 0 to {spec.num_classes - 1}: labels begin at 0, and "
            "--class_names declares the classes"
        )
    return f"{for_terminal(spec.name)}: {said}; {num_test} test examples"


def _named(names: Sequence[str]) -> str:
    """Return the first names of classes in brackets, where they say more than their number does."""
    if list(names) == [str(place) for place in range(len(names))]:
        return ""
    # Anybody may have named a folder.
    shown = [for_terminal(each) for each in names[:_NAMED]]
    return f" ({', '.join([*shown, '...'] if len(names) > _NAMED else shown)})"


def print_guarantee(certificate: dict[str, Any]) -> None:
    """Print what a certificate promises, and whether the result may be released."""
    from jaxdp.privacy.promises import Certificate  # accountants take a second to import

    print(for_terminal(certificate["verdict"]))
    if certificate["epsilon"] is None:
        print("NOT private: no noise was added")
    elif Certificate(certificate).promises_nothing:
        print("nothing is guaranteed, whatever its epsilon is")
    else:
        most = certificate.get("ledger", {}).get("records_per_person", 1)
        relation = certificate["relation"].split(":")[0]
        whose = f"of all of a person's up to {most} records"
        if most == 1:
            whose = {ZERO_OUT: "(one record emptied)", REPLACE: "(one record exchanged)"}[relation]
        # The verdict has told the sum with earlier runs.
        alone = "by itself: " if certificate.get("earlier_runs") else ""
        print(
            f"{alone}({round_up(certificate['epsilon'])}, {certificate['delta']:g})-DP, "
            f"{relation} {whose}; privacy.json says which files may leave"
        )
