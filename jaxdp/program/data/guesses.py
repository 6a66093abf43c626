"""What a column may be, guessed by the name and by the looks of first records: for drafts alone.

What is guessed are types and formats. No bound and no category of the data is among them; a text
that stands for a missing value is named only if it is one of those that everybody uses.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from jaxdp.program.data import guessed_formats
from jaxdp.tables.columns import as_text
from jaxdp.tables.formats import MOST_DECIMALS

if TYPE_CHECKING:
    import pandas as pd

ALWAYS_MISSING = ("", "NA", "?", "N/A", "NaN", "null")
# None, as other words, is a category of its own in many tables: these are looked for in numbers.
_MISSING = ("n/a", "#N/A", "#NA", "#NULL!", "<NA>", "NULL", "None", "nan", "-", "--", ".",
            "missing", "unknown")  # fmt: skip
# A column of fewer different numbers is taken as one of categories.
_FEW = 10
# Texts of which as many are different are names or free text, if there are so many at all.
_DIFFERENT, _ENOUGH = 0.5, 50
# So many equal records are no chance.
_SAME = 5
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ZERO = re.compile(r"0\d+")
_WHOLE_WITH_ZEROS = re.compile(r"[-+]?[0-9]+\.(0+)")
_SHAPES = ((r"[0-9]", r"\d"), (r"[a-z]", "[a-z]"), (r"[A-Z]", "[A-Z]"))
_NAMES = (
    "all different: names, numbers of records or free text; drop it, or have new ones made by "
    '{"type": "identifier", "pattern": ...} or {"type": "text", "fake": "name"}'
)
OF_PERSONS = (
    "names or notes of persons, by its name and looks: drop it, or have new ones made by "
    '{"type": "text", "fake": "name"}'
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WHO = ("first", "last", "given", "family", "full", "middle", "maiden", "patient", "person",
        "customer", "client", "employee", "user", "contact", "doctor", "physician")  # fmt: skip
_CERTAIN = ("firstname", "lastname", "surname", "fullname", "forename", "email", "mail", "phone",
            "telephone", "mobile", "fax", "street", "address", "iban", "ssn", "passport", "note",
            "notes", "comment", "comments", "remark", "remarks", "freetext")  # fmt: skip
_ANSWERS = 3
_FULL_NAME = re.compile(r"[^\W\d_][\w'.-]*(,? [^\W\d_][\w'.-]*)+")
_EMPTY = "nothing stands in the first records: give the value that all records get, or drop it"
_ONE = "the first records are all the same: give that value, or another type if others can occur"
_CODES = "codes with zeros in front, so no numbers"
MIXED = (
    'numbers, but for some texts: name these in "missing", or clean them, and say '
    '{"type": "numeric"}; as categories most of them become "other"'
)
NAMIBIA = (
    'NA is read as a missing value, as "missing" says: take it out there if it is a code, as that '
    "of Namibia"
)
_PLACE = re.compile("[A-Z]{2}")
_COUNTED = (
    'whole numbers, all different: {"type": "identifier", "pattern": "counter"} where they number '
    'records, "numeric" with bounds where they measure something, or drop it'
)


def missing_in(values: pd.Series) -> set[str]:
    """Return which of the usual texts for a missing value a column holds beside others."""
    texts = _texts(values)
    others = texts[~texts.isin([*ALWAYS_MISSING, *_MISSING])]
    is_written = guessed_formats.of_dates(list(others), "") or guessed_formats.of_numbers(others)
    return {mark for mark in _MISSING if is_written and bool((texts == mark).any())}


def column(name: str, values: pd.Series, decimal: str | None = None) -> dict[str, Any]:
    """Return what a draft says of a column; null where a person is to fill something in.

    Args:
        name: of the column.
        values: first records of it.
        decimal: the decimal mark of other columns, where there is one alone.
    """
    typed = guessed_formats.of_type(values)
    if typed is not None:
        return typed | {"nullable": None}
    texts = _texts(values)
    marks = texts.isin([*ALWAYS_MISSING, *_MISSING])
    there = texts[~marks] if missing_in(values) else texts[~texts.isin(ALWAYS_MISSING)]
    if len(values) and not len(there):
        return {"type": "constant", "value": None, "about": _EMPTY}
    if len(there) == len(values) >= _SAME and there.nunique() == 1:
        return {"type": "constant", "value": None, "about": _ONE}
    mark = _own_decimal(values) or decimal
    found = _code(there) or _measured(name, there, mark) or _category(there)
    if found.get("integer"):
        found |= zeros(values.loc[there.index])
    if found["type"] == "categorical":
        found |= _about(name, there, has_na=bool((texts == "NA").any()))
    # Categories that are whole numbers are written as such anyway.
    of_numbers = found["type"] not in ("categorical", "identifier")
    dtype = guessed_formats.dtype_of(values) if of_numbers else {}
    if found["type"] == "numeric" and "integer" not in found:
        # No type of whole numbers is for those beyond 2^53, which count as others.
        dtype = {key: kind for key, kind in dtype.items() if "int" not in kind.lower()}
        if "decimals" not in found:
            found |= guessed_formats.few_decimals(values)
    return found | dtype


def zeros(values: pd.Series) -> dict[str, int]:
    """Return how many zeros stand behind the point of whole numbers, as in 866.0, if in all."""
    texts = [value.strip() for value in values if isinstance(value, str)]
    found = [_WHOLE_WITH_ZEROS.fullmatch(text) for text in texts]
    digits = {0 if match is None else len(match[1]) for match in found}
    num = digits.pop() if len(digits) == 1 and len(texts) == len(values) else 0
    return {"decimals": num} if 0 < num <= MOST_DECIMALS else {}


def _own_decimal(values: pd.Series) -> str | None:
    """Return the decimal mark of typed numbers, or of texts as 5.0; None where none tells it."""
    there = values.dropna()
    is_told = (not isinstance(value, str) or value.strip().endswith(".0") for value in there)
    return "." if any(is_told) else None


def _about(name: str, texts: pd.Series, *, has_na: bool) -> dict[str, str]:
    """Return a note about a column of categories, where something in it is odd."""
    if _are_mostly_numbers(texts):
        return {"about": MIXED}
    if _is_of_persons(name, texts):
        return {"about": OF_PERSONS}
    are_codes = texts.nunique() > _FEW and texts.map(_PLACE.fullmatch).notna().all()
    return {"about": NAMIBIA} if has_na and are_codes else {}


def _are_mostly_numbers(texts: pd.Series) -> bool:
    """Whether most texts are numbers of one way of writing, and too many for categories."""
    alike = texts[texts.map(guessed_formats.is_like_a_number)] if len(texts) else texts
    is_most = len(texts) / 2 <= len(alike) < len(texts) and alike.nunique() > _FEW
    return is_most and guessed_formats.of_numbers(alike) is not None


def _is_of_persons(name: str, texts: pd.Series) -> bool:
    """Whether a column seems to hold names, addresses or notes of persons."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or texts.nunique() <= _ANSWERS:  # has_phone
        return False
    if "".join(words) in _CERTAIN or words[-1] in _CERTAIN:
        return True
    if words[-1] not in ("name", "names"):
        return False
    if len(words) > 1:
        return words[-2] in _WHO
    # `name` alone may be of anything: two words that begin like names are of persons.
    return len(texts) > 0 and bool(texts.map(_looks_like_a_name).mean() > _DIFFERENT)


def _looks_like_a_name(text: str) -> bool:
    parts = text.replace(",", " ").split()
    return _FULL_NAME.fullmatch(text) is not None and all(part[0].isupper() for part in parts)


def _texts(values: pd.Series) -> pd.Series:
    # One by one: pandas would decode bytes, which need not be text.
    return values.dropna().map(as_text).astype(str)


def _code(texts: pd.Series) -> dict[str, Any] | None:
    """Return what is said of identifiers, and of codes that are no numbers."""
    are_different = len(texts) >= _ENOUGH and texts.nunique() > _DIFFERENT * len(texts)
    if are_different and texts.map(lambda text: bool(_UUID.fullmatch(text))).all():
        return {"type": "identifier", "pattern": "uuid"}
    has_zeros = texts.map(lambda text: bool(_ZERO.fullmatch(text)))
    if not (has_zeros.any() and texts.map(str.isdecimal).all()):
        return None
    if guessed_formats.of_dates(list(texts), ""):
        return None
    if are_different:
        return {"type": "identifier", "pattern": rf"\d{{{texts.map(len).max()}}}", "about": _CODES}
    return {"type": "categorical", "categories": None, "nullable": None, "about": _CODES}


def _measured(name: str, texts: pd.Series, decimal: str | None) -> dict[str, Any] | None:
    """Return what is said of dates, times and numbers."""
    found = guessed_formats.of_dates(list(texts), name)
    if found is not None:
        return found | {"nullable": None}
    form = guessed_formats.of_numbers(texts, decimal)
    if form is None:
        return None
    if texts.nunique() <= _FEW and not form.marks:
        return None
    are_numbered = len(texts) >= _ENOUGH and texts.nunique() == len(texts)
    if form.are_whole and not (form.marks or form.about) and are_numbered:
        return {"type": None, "about": _COUNTED}
    whole = guessed_formats.as_whole(texts) if form.are_whole else {}
    found = {"type": "numeric", "lower": None, "upper": None} | whole | form.marks
    return found | {"nullable": None} | ({"about": form.about} if form.about else {})


def _category(texts: pd.Series) -> dict[str, Any]:
    words = set(texts)
    for pair in (("False", "True"), ("false", "true"), ("FALSE", "TRUE")):
        if words and words <= set(pair):
            named = {} if pair == ("False", "True") else {"categories": list(pair)}
            return {"type": "boolean"} | named | {"nullable": None}
    if len(texts) >= _ENOUGH and texts.nunique() > _DIFFERENT * len(texts):
        shapes = {_shape(text) for text in texts}
        if len(shapes) == 1 and len(shape := shapes.pop()) > 0 and texts.nunique() == len(texts):
            return {"type": "identifier", "pattern": shape, "about": _NAMES}
        return {"type": "categorical", "categories": None, "nullable": None, "about": _NAMES}
    return {"type": "categorical", "categories": None, "nullable": None}


def _shape(text: str) -> str:
    """Return which kinds of marks a text is of, as [A-Z]{2}\\d{6}; empty for other marks."""
    found = ""
    for run in re.finditer(r"[0-9]+|[a-z]+|[A-Z]+|-|_|.", text, re.DOTALL):
        kind = next((name for known, name in _SHAPES if re.match(known, run[0])), None)
        if kind is None and run[0] not in "-_":
            return ""
        found += run[0] if kind is None else f"{kind}{{{len(run[0])}}}"
    return found if len(text) <= 64 and not found.startswith("-") else ""
