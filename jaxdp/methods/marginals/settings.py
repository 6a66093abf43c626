"""Settings of tables from noisy counts, and what they are by default."""

import dataclasses
from typing import Any

from jaxdp.methods.settings import (
    LEAST_SHARE,
    Budget,
    ByData,
    SettingsError,
    bad,
    budget,
    filled,
    setting,
)

# Held out on adult, diamonds, flights, houses and lending at epsilon 1.
_COLUMN_SHARE, _CHOICE_SHARE = 0.1, 0.35
# Held out on isolet, epileptic and credit.
_FACTOR_SHARE = 0.2
_STEPS = 150
MOST_PAIRED = 60
"""Of more columns, only pairs with the target are counted."""
NUM_CHAINS = 3000
"""Records that are drawn side by side."""
_BETWEEN, _MANY_ROUNDS = 3, 34


def steps_before(round_number: int) -> int:
    """Return how many steps are taken before a round of records, numbered from 0.

    Fewer where a table has many of them: two records of one chain are the more alike, and what a
    hundred thousand say together hardly changes.
    """
    return _BETWEEN if round_number < _MANY_ROUNDS else 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(Budget):
    """Settings of tables from noisy counts; None stands for a default that depends on the data.

    Examples:
        >>> import jaxdp
        >>> marginals = jaxdp.methods.marginals
        >>> spec = jaxdp.Spec.table("census", jaxdp.tables.read_schema("adult"), 5000)
        >>> marginals.complete(marginals.Settings(eps=1.0), spec).num_synthetic
        5000
    """

    num_synthetic: ByData[int] = setting(
        None,
        "Number of records to make (default: as many as the table has).",
        above=0,
        fixed=False,
        usual=True,
    )
    given: str | None = setting(
        None,
        "Make records of which this holds alone, as region=North,age=18..30. It costs nothing: "
        "with --counts, after any run.",
        fixed=False,
        usual=True,
    )
    column_share: float = setting(
        _COLUMN_SHARE,
        "Part of the budget that counts columns one by one; the rest counts pairs.",
        at_least=LEAST_SHARE,
        at_most=1 - LEAST_SHARE,
    )
    choice_share: float = setting(
        _CHOICE_SHARE,
        "Part of the budget that counts all pairs of columns, so as to choose those that are "
        "counted again.",
        at_least=LEAST_SHARE,
        at_most=1 - LEAST_SHARE,
    )
    factor_share: float = setting(
        _FACTOR_SHARE,
        "Part of the budget that tells in which directions columns move together, where pairs with "
        "the target are counted alone, or none, and noise leaves something to be seen (0: none).",
        at_least=0,
        at_most=0.5,
    )
    quality_share: float = setting(
        0.0,
        "Part of the budget that tells how far the table is from the private one, with noise, in "
        "quality.json, which may leave (5 %: 0.05; 0 tells nothing).",
        at_least=0,
        at_most=0.5,
    )
    steps: int = setting(_STEPS, "Steps in which the model is fitted to the counts.", above=0)

    def check(self) -> None:
        """Raise a `SettingsError` where shares leave nothing."""
        super().check()
        if self.column_share + self.choice_share > 1 - LEAST_SHARE:
            raise SettingsError(
                "--column_share and --choice_share leave nothing for chosen pairs: lower one"
            )
        if self.column_share + self.factor_share > 1 - LEAST_SHARE:
            raise SettingsError(
                "--column_share and --factor_share leave nothing for pairs: lower one"
            )
        if self.quality_share and self.given is not None:
            raise bad(self, "quality_share", "tells of a whole table: leave it or --given out")


def complete(settings: Settings, spec: Any, earlier: Any = None) -> Settings:
    """Return settings in which nothing is None that has a default.

    Args:
        settings: as given.
        spec: facts about the data.
        earlier: what an earlier run has released.

    Raises:
        SettingsError: the data are no table, or have no column that a condition names.
    """
    del earlier
    if spec.schema is None:
        raise SettingsError(
            f"--dataset={spec.name}: counts are of tables with a schema; give --csv and --schema"
        )
    if settings.given is not None:
        from jaxdp.methods.marginals import given  # numpy: not before flags are parsed

        given.require_columns(settings.given, spec.schema)
    return filled(settings, {"num_synthetic": spec.num_examples})


def folder_name(settings: Settings, spec: Any, earlier: Any = None) -> str:
    """Return a name that tells runs of different settings apart."""
    eps = budget(settings, None if earlier is None else earlier.certificate())
    return f"{spec.name}_marginals_eps{eps:g}"
