"""Columns that are made new: identifiers, constants and invented texts.

Nothing in a private table is looked at for them. They follow from the schema, from the number of
records and from a seed that anybody may know. So they tell nothing. Who takes the records made as
the seed gives different tables different identifiers, so that tables can be joined.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import re
import uuid
from typing import Any

import numpy as np

from jaxdp.tables.formulas import opens_as_formula

IDENTIFIER, CONSTANT, TEXT = "identifier", "constant", "text"
NEW_TYPES = (IDENTIFIER, CONSTANT, TEXT)
UUID, COUNTER = "uuid", "counter"
FAKES = ("name", "first_name", "last_name", "address", "street_address", "city", "postcode",
         "country", "email", "user_name", "phone_number", "company", "job", "word", "sentence",
         "paragraph")  # fmt: skip
"""What Faker is asked for."""
_ITEM = re.compile(r"(\[[^\[\]\\]+\]|\\d|\\[^A-Za-z0-9]|[^\[\]\\{}()*+?|^$.])(\{(\d{1,2})\})?")
_SIGNS = "=+-@"
_SEPARATORS = ";,\"'"
_LONGEST = 64


@dataclasses.dataclass(frozen=True, kw_only=True)
class NewColumn:
    """A column that is made without the data.

    Attributes:
        name: as in the table's header.
        type: "identifier", different in every record; "constant"; or "text", made by Faker.
        pattern: of identifiers: "uuid", "counter", or the form of each, of letters and digits as
            they are, `[A-Z0-9]` for one of several, `\\d` for a digit and `{6}` for six of these.
        start: of a counter: the first number.
        value: of a constant; None leaves the column empty.
        fake: of texts: what they are, one of `FAKES`.
        locale: of texts: language and country, as Faker has it.

    Raises:
        ValueError: something is missing, or texts could run as formulas in a spreadsheet.
    """

    name: str
    type: str
    pattern: str = UUID
    start: int = 1
    value: str | int | float | None = None
    fake: str | None = None
    locale: str = "en_US"

    def __post_init__(self) -> None:
        if opens_as_formula(self.name):
            raise ValueError("its name would run as a formula in a spreadsheet")
        if self.type == IDENTIFIER and self.pattern not in (UUID, COUNTER):
            _choices(self.pattern)
        if self.type == CONSTANT and opens_as_formula(str(self.value)):
            raise ValueError(f'"value" {self.value!r} would run as a formula in a spreadsheet')
        if self.type == TEXT and self.fake not in FAKES:
            raise ValueError(f'"fake" must be one of {", ".join(FAKES)}')

    def make(self, num: int, seed: bytes = b"") -> Any:
        """Return the cells of `num` records.

        Args:
            num: how many.
            seed: public; another one makes other identifiers and texts.

        Raises:
            ValueError: the library Faker is not installed.
        """
        if self.type == CONSTANT:
            kind = object if self.value is None or isinstance(self.value, str) else None
            return np.full(num, self.value, kind)
        if self.type == TEXT:
            return np.array(self._texts(num, self._start(seed)), object)
        if self.pattern == COUNTER:
            return np.arange(self.start, self.start + num)
        if self.pattern == UUID:
            rng = np.random.default_rng(self._start(seed))
            found = [str(uuid.UUID(bytes=rng.bytes(16), version=4)) for _ in range(num)]
            return np.array(found, object)
        return np.array(self._of_pattern(num, self._start(seed)), object)

    def require_packages(self) -> None:
        """Raise a `ValueError` where what makes the column is not installed."""
        if self.type == TEXT:
            self._faker()

    def to_json(self) -> dict[str, Any]:
        """Return what a schema file says of it."""
        fields = dataclasses.asdict(self)
        del fields["name"]
        default = {field.name: field.default for field in dataclasses.fields(self)}
        return {k: v for k, v in fields.items() if k == "type" or v != default[k]}

    def _start(self, seed: bytes) -> int:
        return int.from_bytes(hashlib.sha256(self.name.encode() + seed).digest()[:8], "big")

    def _of_pattern(self, num: int, start: int) -> list[str]:
        """Return different texts of the pattern, in an order that looks like chance.

        Where the pattern has fewer than there are records, the further ones end in -2, -3, ...
        """
        choices = _choices(self.pattern)
        size = math.prod(map(len, choices))
        step = start % size or 1
        while math.gcd(step, size) > 1:
            step = step % size + 1
        return [
            _text(choices, (start + number * step) % size)
            + (f"-{number // size + 1}" if number >= size else "")
            for number in range(num)
        ]

    def _texts(self, num: int, start: int) -> list[str]:
        faker = self._faker()
        faker.seed_instance(start)
        make = getattr(faker, str(self.fake))
        return [_harmless(make()) for _ in range(num)]

    def _faker(self) -> Any:
        try:
            import faker
        except ImportError as error:
            raise ValueError(
                "texts need the extra [fake]: pip install 'jaxdp-toolkit[fake]'"
            ) from error
        try:
            return faker.Faker(self.locale)
        except (AttributeError, ImportError) as error:
            raise ValueError(f'"locale" {self.locale!r} is unknown to Faker') from error


def _harmless(text: str) -> str:
    """Return a text on one line that no spreadsheet runs, as +1 555 ... without its sign."""
    text = " ".join(text.split())
    return text.lstrip(_SIGNS + " ") if opens_as_formula(text) else text


def _choices(pattern: str) -> list[str]:
    """Return which marks may stand at every place of a text of a pattern."""
    places: list[str] = []
    at = 0
    while at < len(pattern):
        found = _ITEM.match(pattern, at)
        if found is None:
            raise ValueError(
                f'"pattern" {pattern!r} is of letters and digits, [A-Z], \\d and {{n}}; a sign of '
                "these is written behind a \\"
            )
        places += [_marks(found[1])] * int(found[3] or 1)
        at = found.end()
    if not 0 < len(places) <= _LONGEST:
        raise ValueError(f'"pattern" must have 1 to {_LONGEST} marks')
    every = "".join(places)
    if not (every.isascii() and every.isprintable()) or set(every) & set(_SEPARATORS):
        raise ValueError('"pattern" must hold ASCII that can be seen, without commas and quotes')
    if set(places[0]) & set(_SIGNS + " "):
        raise ValueError('"pattern" begins with a sign that a spreadsheet runs as a formula')
    return places


def _marks(item: str) -> str:
    if item == "\\d":
        return "0123456789"
    if not item.startswith("["):
        return item.removeprefix("\\")
    found, inner = "", item[1:-1]
    while inner:
        if len(inner) > 2 and inner[1] == "-":
            if inner[0] > inner[2]:
                raise ValueError(f'"pattern" has {inner[:3]!r}, whose ends are in the wrong order')
            found += "".join(map(chr, range(ord(inner[0]), ord(inner[2]) + 1)))
            inner = inner[3:]
        else:
            found, inner = found + inner[0], inner[1:]
    return "".join(dict.fromkeys(found))


def _text(choices: list[str], number: int) -> str:
    """Return the text that a number stands for, from 0 to the number of all of them."""
    marks = []
    for at in reversed(choices):
        number, place = divmod(number, len(at))
        marks.append(at[place])
    return "".join(reversed(marks))
