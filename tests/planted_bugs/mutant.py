"""What a planted bug is."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One small change of one file that breaks a promise of privacy.

    Attributes:
        name: what the bug does.
        file: where, from the root of the repository.
        old: text that occurs there exactly once.
        new: what takes its place.
        tests: pytest's names of the tests that ought to fail.
        hangs: whether it makes the tests run for ever, so that the time limit catches it.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    hangs: bool = False
