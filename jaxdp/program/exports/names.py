"""Names of classes as names of folders, and texts as YAML has them."""

import unicodedata
from collections.abc import Iterable

_LONGEST = 80
_KEPT = "-_."
# Windows has no files of these names, whatever their ending.
_OURS = {"metadata.csv"}  # a file beside the folders
_RESERVED = {
    *("con", "prn", "aux", "nul"),
    *(f"{port}{number}" for port in ("com", "lpt") for number in range(10)),
}


def folder_names(names: Iterable[str]) -> list[str]:
    """Return a name of a folder for each class: safe on every file system, and each another one.

    Letters and digits of any script stay, and so do `-`, `_` and `.`; anything else becomes `_`.
    """
    found: list[str] = []
    for number, name in enumerate(names):
        plain = _plain(name)
        if not plain or plain.casefold() in _OURS or plain.split(".")[0].casefold() in _RESERVED:
            plain = f"class_{number}"
        taken = {each.casefold() for each in found}
        while plain.casefold() in taken:
            plain = f"{plain}_{number}"
        found.append(plain)
    return found


def _plain(name: str) -> str:
    marks = (mark if _is_kept(mark) else "_" for mark in unicodedata.normalize("NFC", name))
    # A dot in front hides a folder, a dash looks like a flag, and Windows drops a dot at the end.
    short = "".join(marks).lstrip(".-").encode()[:_LONGEST]
    return short.decode(errors="ignore").rstrip(".")


def _is_kept(mark: str) -> bool:
    return mark in _KEPT or unicodedata.category(mark)[0] in "LMN"


def quoted(text: str) -> str:
    """Return a text as YAML's double-quoted scalar."""
    marks = (_escaped(mark) for mark in text)
    return f'"{"".join(marks)}"'


def _escaped(mark: str) -> str:
    if mark in '"\\':
        return f"\\{mark}"
    if unicodedata.category(mark) == "Cs":  # no text of UTF-8 has them
        return "\\uFFFD"
    return mark if mark.isprintable() else f"\\U{ord(mark):08X}"
