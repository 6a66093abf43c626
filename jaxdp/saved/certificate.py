"""Certificates that files hold: whether each has the form of one, and says what its numbers say."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxdp.methods.settings import InputError
from jaxdp.privacy.stored_certificates import recertified
from jaxdp.saved.files import json_object, open_plain

_Check = Callable[[Any], bool]


def of_run(path: Path, flag: str, *, wanted: str) -> dict[str, Any]:
    """Return the certificate in the folder of a run, computed anew from its ledger.

    Args:
        path: of the folder.
        flag: that names it, with its value.
        wanted: whose run it ought to be.

    Raises:
        InputError: there is none, or it says something else than its numbers.
    """
    try:
        with open_plain(path / "privacy.json") as file:
            return recertified(json_object(file.read()))
    except FileNotFoundError as error:
        raise InputError(
            f"{flag}: has no privacy.json; name a folder in which {wanted} has finished"
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(
            f"{flag}: its privacy.json cannot be trusted ({error}); start a new run"
        ) from error


def checked_form(certificate: Any) -> dict[str, Any]:
    """Return a certificate in which everything that is read from it later has its type.

    Raises:
        ValueError: something has not.
    """
    if not isinstance(certificate, dict):
        raise ValueError("its certificate is no JSON object")
    for name, holds in _FORM.items():
        if name not in certificate or not holds(certificate[name]):
            found = str(certificate.get(name, "nothing"))[:40]
            raise ValueError(f"its certificate holds {name} = {found}")
    for name, holds in _OPTIONAL.items():
        if name in certificate and not holds(certificate[name]):
            raise ValueError(f"its certificate holds {name} = {str(certificate[name])[:40]}")
    return certificate


def _is_positive(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def _is_zero(value: Any) -> bool:
    """Whether a value is the noise of what was released without any."""
    return type(value) in (int, float) and value == 0


def _or_none(holds: _Check) -> _Check:
    return lambda value: value is None or holds(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _all(holds: _Check) -> _Check:
    return lambda values: isinstance(values, list) and all(map(holds, values))


_FORM: dict[str, _Check] = {
    "mechanism": _is_text,
    "relation": _is_text,
    "unit": _is_text,
    "epsilon": _or_none(_is_positive),
    "delta": lambda value: _is_positive(value) and value < 1,
    "target_epsilon": _or_none(_is_positive),
    "num_examples": lambda value: type(value) is int and value > 0,
    "releasable": lambda value: isinstance(value, bool),
    "not_releasable_reason": _or_none(_is_text),
    "warnings": _all(_is_text),
    "covers": _all(_is_text),
    "does_not_cover": _all(_is_text),
}
_OPTIONAL: dict[str, _Check] = {
    "releases": _all(lambda value: isinstance(value, dict)),
    "also_released": _all(lambda value: _is_positive(value) or _is_zero(value)),
    "also_released_digests": _all(_is_text),
    "reused": _is_text,
}
