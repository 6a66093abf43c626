"""The page for an officer says the chances of an attacker as certificates compute them."""

from __future__ import annotations

import re
from pathlib import Path

from jaxdp import privacy

PAGE = Path(__file__).parents[1] / "docs" / "officer.md"


def attack(epsilon: float) -> str:
    """Return what a certificate says of one release of Gaussian noise at delta 1e-5."""
    n, delta = 1000, 1e-5
    stddev = privacy.analytic_gaussian_stddev(epsilon=epsilon, delta=delta, sensitivity=1.0)
    release = privacy.GaussianRelease(name="counts", sensitivity=1 / n, stddev=stddev / n)
    ledger = privacy.Ledger(num_examples=n, delta=delta, releases=(release,))
    terms = privacy.Terms(covers=("counts",), target_epsilon=epsilon)
    return privacy.Certificate(privacy.certify(ledger, terms)).attack


def test_chances_are_those_that_certificates_say() -> None:
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) % \| ([\d.]+) % \|$", PAGE.read_text(), re.MULTILINE)
    assert [epsilon for epsilon, *_ in rows] == ["1", "3", "10"]
    for epsilon, right, found in rows:
        said = attack(float(epsilon))
        assert f"is right at most {right} % of the time" in said
        assert f"at most {found} % of what was used is found" in said
