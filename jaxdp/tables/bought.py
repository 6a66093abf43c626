"""What was bought of a schema: which of its facts are not public but released, with noise."""

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

BOUNDS, BINS, CATEGORIES, NULLABLE = "bounds", "bins", "categories", "nullable"
FACTS = (BOUNDS, BINS, CATEGORIES, NULLABLE)
"""Facts of a column that can be bought."""
_NAME_LENGTH, _PERSONS = 32, "persons_declared"


@dataclasses.dataclass(frozen=True)
class Bought:
    """Facts that were bought, and what was released for them.

    Attributes:
        name: 32 hexadecimal digits that nobody else has drawn; dataset ledgers know it by these.
        facts: for each column which of `FACTS`.
        ledger: what was released, as `jaxdp.privacy.Ledger.to_json` has it; who computes with it
            reads it as a ledger, and believes nothing else.
        persons_declared: whether somebody had declared how many records a person has at most, even
            as 1; records of persons with more were left out then.

    Raises:
        ValueError: they are other than a purchase writes.

    Examples:
        >>> import jaxdp
        >>> jaxdp.tables.Bought("0" * 32, {"age": ("bounds", "bins")}, {}).to_json()["facts"]
        {'age': ['bounds', 'bins']}
    """

    name: str
    facts: Mapping[str, tuple[str, ...]]
    ledger: Mapping[str, Any]
    persons_declared: bool = False

    def __post_init__(self) -> None:
        digits = set("0123456789abcdef")
        if len(self.name) != _NAME_LENGTH or not set(self.name) <= digits:
            raise ValueError(f'"name" must be {_NAME_LENGTH} hexadecimal digits')
        for column, facts in self.facts.items():
            if not facts or not set(facts) <= set(FACTS):
                raise ValueError(f"column {column!r}: facts are {', '.join(FACTS)}")

    def without(self, fact: str, columns: Collection[str]) -> "Bought":
        """Return the same where a fact of some columns is declared now; the ledger stays."""
        left = {
            column: tuple(each for each in facts if each != fact or column not in columns)
            for column, facts in self.facts.items()
        }
        return dataclasses.replace(self, facts={k: v for k, v in left.items() if v})

    def to_json(self) -> dict[str, Any]:
        """Return what a schema file says of it."""
        facts = {column: list(each) for column, each in self.facts.items()}
        persons = {_PERSONS: True} if self.persons_declared else {}
        return {"name": self.name, "facts": facts, "ledger": dict(self.ledger), **persons}

    @classmethod
    def from_json(cls, stored: Any) -> "Bought":
        """Return what a schema file says.

        Raises:
            ValueError: it is nothing that a purchase writes.
        """
        kinds = {"name": str, "facts": Mapping, "ledger": Mapping}
        if not isinstance(stored, Mapping) or set(stored) - {_PERSONS} != set(kinds):
            raise ValueError(f'"bought" has {", ".join(kinds)}')
        if stored.get(_PERSONS, True) is not True:
            raise ValueError(f'"bought": "{_PERSONS}" is true, or is not there')
        for key, kind in kinds.items():
            if not isinstance(stored[key], kind):
                raise ValueError(f'"bought": {key!r} is of another kind than a purchase writes')
        lists = stored["facts"].values()
        if not all(isinstance(each, list) and all(map(_is_text, each)) for each in lists):
            raise ValueError('"bought": "facts" are lists of names')
        facts = {str(column): tuple(each) for column, each in stored["facts"].items()}
        return cls(stored["name"], facts, stored["ledger"], _PERSONS in stored)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
