"""What drivers say on the terminal."""

import sys
from typing import Any

from experiments.report.values import round_up


def bar_style() -> dict[str, Any]:
    """Return how progress bars look: a log file gets a line now and then, not ten a second."""
    return {} if sys.stderr.isatty() else {"mininterval": 10.0, "ascii": True}


def print_guarantee(certificate: dict[str, Any]) -> None:
    """Print what a certificate promises, and whether the result may be released."""
    if certificate["epsilon"] is None:
        print("NOT private: no noise was added")
    else:
        print(
            f"({round_up(certificate['epsilon'])}, {certificate['delta']:g})-DP, "
            f"{certificate['relation'].split(':')[0]}; privacy.json says which files may leave"
        )
    print(certificate["verdict"])
