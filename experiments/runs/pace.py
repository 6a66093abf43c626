"""How many steps are run between two looks at the clock."""

_SECONDS = 1.0


def next_length(length: int, seconds: float) -> int:
    """Return how many steps take about a second, at most twice as many as the last ones.

    Args:
        length: of the last slice.
        seconds: that it took; 0 or less where the clock stands still or goes backwards.
    """
    if seconds * 2 * length <= _SECONDS * length:
        return 2 * length
    return max(1, int(length * _SECONDS / seconds))
