"""Texts of strangers: what a terminal and Markdown are given of them."""

from __future__ import annotations

import unicodedata

import pytest

from jaxdp.escapes import for_markdown, for_terminal, one_line
from jaxdp.methods.settings import SettingsError
from jaxdp.program.exports.names import quoted

STEERING = [
    "\x1b[31m",
    "\x07",
    "\x9b2J",
    "\n# b",
    "\r",
    "\u2028",
    "\u202e",
    "\u2066",
    "\u200b",
    "\ud800",
]


def steers(text: str) -> bool:
    """Whether a text has controls, marks of direction, surrogates or separators of lines."""
    return any(unicodedata.category(mark) in ("Cc", "Cf", "Cs", "Zl", "Zp") for mark in text)


@pytest.mark.parametrize("code", STEERING, ids=ascii)
def test_a_terminal_gets_no_codes(code: str) -> None:
    for shown in (for_terminal(f"a{code}b"), one_line(f"a{code}b"), for_markdown(f"a{code}b")):
        assert not steers(shown)
        assert shown.startswith("a")
    assert not steers(str(SettingsError(f"--run=x: {code}")))


def test_letters_of_any_script_stay() -> None:
    for text in ("Größe", "猫　犬", "عربي", "क्षत्रिय", "a b", "x-1 (y)", "🐈"):
        assert for_terminal(text) == text


def test_messages_are_of_bounded_length() -> None:
    assert len(one_line("x" * 10**6)) < 1100
    assert one_line(" a\n b ") == "a b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# a", r"\# a"),
        ("- a", r"\- a"),
        ("12. a", r"12\. a"),
        ("3) a", r"3\) a"),
        ("> a", r"\> a"),
        ("===", r"\==="),
        ("<img src=x>", r"\<img src=x\>"),
        ("[a](b)", r"\[a\](b)"),
        ("![a](b)", r"!\[a\](b)"),
        ("```", r"\`\`\`"),
        ("&lt;", r"\&lt;"),
        ("https://a.b", r"https\://a.b"),
        ("www.a.b", r"www\.a.b"),
        ("a@b.c", r"a\@b.c"),
        ("a\n\n# b", r"a \# b"),
        ("lower --delta, or 1.5", "lower --delta, or 1.5"),
    ],
)
def test_markdown_gets_no_marks(text: str, shown: str) -> None:
    assert for_markdown(text) == shown


def test_yaml_gets_one_line_of_text() -> None:
    import yaml

    for text in ('a"\n---\nb: c', "\\", "\x1b\u202e", "a: &b *c", "🐈"):
        line = quoted(text)
        assert not steers(line)
        assert yaml.safe_load(f"name: {line}") == {"name": text}
    assert yaml.safe_load(quoted("a\ud800")) == "a\ufffd"
