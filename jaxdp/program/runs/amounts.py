"""Time, memory and disk in words, as precise as an estimate is."""

from jaxdp.program.runs.estimates import Estimate

_GB = 1e9


def duration(seconds: float) -> str:
    """Return seconds in words, with the precision that an estimate has."""
    if seconds < 95:
        return f"{max(5, 5 * round(seconds / 5))} s"
    for unit, length, most in (("minutes", 60, 90), ("hours", 3600, 47.5), ("days", 86400, 0)):
        if seconds < most * length or not most:
            return f"{float(f'{max(2, round(seconds / length)):.2g}'):g} {unit}"
    raise AssertionError("days have no end")


def size(num_bytes: float) -> str:
    """Return bytes in words, with the precision that an estimate has."""
    if num_bytes < 0.95 * _GB:
        return f"{float(f'{num_bytes / 1e6:.1g}'):g} MB"
    return f"{float(f'{num_bytes / _GB:.2g}'):g} GB"


def in_words(estimate: Estimate) -> tuple[str, str]:
    """Return an estimate in two lines: the whole, and its phases."""
    whole = (
        f"about {duration(estimate.seconds)} on two CPU cores without other work, "
        f"{size(estimate.memory)} of memory and {size(estimate.disk)} of disk"
    )
    return whole, ", ".join(f"{name} {duration(seconds)}" for name, seconds in estimate.phases)
