"""Runs whose plan is a stub with noise, counted in a ledger: what starting and noting them needs."""

from __future__ import annotations

from typing import Any

from old_runs import PlannedRun


class CountedRun(PlannedRun):
    """A run that is entered into the ledger of its dataset."""

    method = "toy"

    @property
    def counted(self) -> Any:
        return self.ledger

    def certificate(self, earlier: Any = None) -> dict[str, Any]:
        return _certificate(super().certificate, earlier)


_CERTIFICATES: dict[Any, dict[str, Any]] = {}


def _certificate(certify: Any, earlier: Any) -> dict[str, Any]:
    """Return a certificate that was computed before: accounting takes a moment."""
    if earlier not in _CERTIFICATES:
        _CERTIFICATES[earlier] = certify(earlier)
    return dict(_CERTIFICATES[earlier])


def counted_plan(*, noise: float = 4.0, seed: int = 0) -> Any:
    return CountedRun(noise, seed)
