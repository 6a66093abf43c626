"""What a run says before its work: what was read, what it will take, and what is odd about it.

All of it is public: facts about the data, settings, and the test split, which no guarantee covers.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from jaxdp.data import Spec
from jaxdp.methods.runner import PUBLIC_MAP, PlainRunner
from jaxdp.methods.steps import Watch
from jaxdp.program.data.dataset import HeldOut
from jaxdp.program.runs import amounts, cautions, estimates, recommendation
from jaxdp.program.terminal import in_a_line


class Announcement:
    """The lines that a run begins with, which are said once.

    Attributes:
        warnings: what is odd about the data and the settings.
    """

    def __init__(
        self,
        method: Any,
        settings: Any,
        run_flags: Any,
        spec: Spec,
        test: HeldOut,
        notes: Sequence[str],
    ) -> None:
        """Take what is run.

        Args:
            method: of `jaxdp.methods` by its name, or another one.
            settings: complete.
            run_flags: of the run.
            spec: facts about the data.
            test: the test split.
            notes: on how the data were read.
        """
        self._method, self._settings, self._flags = method, settings, run_flags
        self._spec, self._test = spec, test
        # All is worked out here: where that fails, nothing has been entered into a ledger yet.
        self.warnings = cautions.before_work(settings, spec, test, reused=self._reuses)
        self._lines, self._odd = self._what_to_say(notes)
        self._said = False
        self._bar = PlainRunner().watched(PUBLIC_MAP)

    @property
    def watch(self) -> Watch:
        """What shows how far a public map is, and begins the run's lines if that comes first."""

        def watch(parts: Sequence[int]) -> Iterable[int]:
            self.say()
            return self._bar(parts)

        return watch

    def say(self) -> None:
        """Say it, unless it was said before."""
        if self._said:
            return
        self._said = True
        print(self._lines, flush=True)
        for line in self._odd:
            print(line, file=sys.stderr)

    def _what_to_say(self, notes: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        """Return the run's first lines, and what is odd about it."""
        found = self._estimate()
        whole, phases = amounts.in_words(found)
        preset = getattr(self._settings, "defaults", None)
        named = "" if preset is None else f"preset: {preset.name}, where no flag says otherwise\n"
        read = in_a_line(self._spec, num_test=len(self._test.y))
        expected = self._expected()
        expects = "" if expected is None else f"expect: {expected}\n"
        lack = memory_warning(found, available_bytes())
        odd = (*(f"WARNING: {each}" for each in (*lack, *self.warnings)), *notes)
        return f"{read}\n{named}{expects}estimate: {whole}\n  {phases}", odd

    def _expected(self) -> str | None:
        if self._reuses or not isinstance(self._method, str):
            return None
        return recommendation.of_run(self._method, self._settings, self._spec)

    @property
    def _reuses(self) -> bool:
        return any(getattr(self._flags, name, None) for name in ("teacher", "embedding", "counts"))

    def _estimate(self) -> estimates.Estimate:
        return estimates.of_run(
            self._method,
            self._settings,
            self._spec,
            num_test=len(self._test.y),
            judges=self._flags.evaluate,
            reused=self._reuses,
        )


def memory_warning(found: estimates.Estimate, available: float) -> tuple[str, ...]:
    """Return a line where a run takes more memory than there is."""
    if found.memory <= available:
        return ()
    return (
        f"about {amounts.size(found.memory)} of memory is needed, and "
        f"{amounts.size(available)} is available; lower {found.lower}",
    )


def available_bytes() -> float:
    """Return how much memory a program may still take; infinity where nobody says."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError):
        return float("inf")
