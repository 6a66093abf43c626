"""The error a driver raises for input that its user can put right."""


class InputError(ValueError):
    """Report one bad input: a single line naming a flag, its value and what to do."""
