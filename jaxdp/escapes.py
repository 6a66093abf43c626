"""Texts of strangers, as a terminal and as Markdown show them: they steer neither.

A name of a class, a column or a file, and a word of a stored certificate, may hold anything: codes
that move a cursor or turn the direction of reading, line breaks, HTML, links.
"""

import re
import unicodedata

_LONGEST = 1000
# What means something in Markdown wherever it stands, and at the beginning of a line.
_MARKS = r"\`*_[]<>#|~&"
_LISTS = re.compile(r"^(\s*)([-+=:]|\d+(?=[.)]))")
_LINKS = re.compile(r"(:)(?=//)|(?<=www)(\.)|(@)", re.IGNORECASE)


def for_terminal(text: str) -> str:
    """Return a text as one line that a terminal shows as it is; letters of any script stay.

    Controls, format characters (of direction, and of no width), surrogates and separators of lines
    become `\\n`, `\\x1b`, `\\u202e`.
    """
    return "".join(mark if _is_shown(mark) else ascii(mark)[1:-1] for mark in text)


def _is_shown(mark: str) -> bool:
    return mark.isprintable() or unicodedata.category(mark) == "Zs"


def one_line(text: str) -> str:
    """Return a message for a terminal: a line of bounded length."""
    words = " ".join(text.split())
    if len(words) > _LONGEST:  # a value may be of any length
        words = f"{words[: _LONGEST // 2]} ... {words[-_LONGEST // 2 :]}"
    return for_terminal(words)


def for_markdown(text: str) -> str:
    """Return a text that Markdown shows as it is, in one line: no HTML, heading, list or link."""
    plain = for_terminal(" ".join(text.split()))
    plain = "".join(f"\\{mark}" if mark in _MARKS else mark for mark in plain)
    plain = _LINKS.sub(lambda found: f"\\{found.group()}", plain)
    return _LISTS.sub(_no_list, plain)


def _no_list(found: re.Match[str]) -> str:
    space, mark = found.groups()
    return f"{space}{mark}\\" if mark[0].isdigit() else f"{space}\\{mark}"
