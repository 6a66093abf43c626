"""Bugs of calibration, and of releases that share a budget."""

from planted_bugs.mutant import Mutant

_SEARCH, _S = "jaxdp/privacy/calibration.py", "tests/privacy/test_calibration.py::"
_RELEASES, _R = "jaxdp/privacy/releases.py", "tests/privacy/test_releases.py::"
_CALIBRATED = f"{_S}test_guarantee_calibrate_never_exceeds_the_target"
_COARSE = f"{_S}test_guarantee_a_coarse_search_does_not_exceed_the_target_either"
_JOINTLY = f"{_R}test_guarantee_releases_are_jointly_within_the_budget"

MUTANTS = (
    Mutant(
        "calibration is at a larger delta",
        _SEARCH,
        "spent = epsilon(candidate, delta=delta,",
        "spent = epsilon(candidate, delta=10 * delta,",
        (f"{_CALIBRATED}[1.0-pld]",),
    ),
    Mutant(
        "calibration is by another accountant than the one that was asked for",
        _SEARCH,
        "accountant=accountant, also=also)\n        found",
        "also=also)\n        found",
        (f"{_CALIBRATED}[1.0-rdp]",),
    ),
    Mutant(
        "calibration leaves a part of its tolerance on the wrong side",
        _SEARCH,
        "return 0.0 if -tolerance < found <= 0 else found + tolerance / 2",
        "return 0.0 if -tolerance < found <= 0 else found - tolerance / 2",
        (f"{_CALIBRATED}[1.0-pld]", f"{_COARSE}[pld-1.0]"),
    ),
    Mutant(
        "shares are parts of the largest one",
        _RELEASES,
        "total = sum(shares.values())",
        "total = max(shares.values())",
        (f"{_JOINTLY}[shares1-1.0]",),
    ),
    Mutant(
        "all releases have the noise of the least sensitive one",
        _RELEASES,
        "stddev=sensitivity * unit / math.sqrt",
        "stddev=min(sensitivities.values()) * unit / math.sqrt",
        (f"{_JOINTLY}[shares1-1.0]",),
    ),
    Mutant(
        "noise that is no number passes for noise",
        _RELEASES,
        "        if self.stddev != 0:\n",
        "        if self.stddev > 0:\n",
        (f"{_R}test_impossible_releases_are_refused",),
    ),
    Mutant(
        "variances of several releases are averaged",
        _RELEASES,
        "return 1 / math.sqrt(sum((r.sensitivity / r.stddev) ** 2 for r in releases))",
        "squares = [(r.sensitivity / r.stddev) ** 2 for r in releases]\n"
        "    return 1 / math.sqrt(sum(squares) / len(squares))",
        (f"{_JOINTLY}[None-1.0]",),
    ),
)
