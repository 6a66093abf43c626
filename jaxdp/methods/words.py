"""How messages name a setting: as an argument in Python, as a flag on the command line.

Messages are written with flags, `--eps=-1: must be above 0`. The program says so once that it
shows flags; until then they are put into Python's words, `eps=-1: must be above 0`.
"""

import re

_PHRASES = (
    (r"(give|take)( a table with)? --csv and --schema", r"take jaxdp.Spec.table"),
    (r"name (it|one) by --target", r"name \1 in the schema"),
    (r"(declare the columns) by --schema", r"\1 by jaxdp.Spec.table"),
    (r'"?jaxdp run ([a-z_]+)"?', r"jaxdp.methods.\1"),
    (r"^--dataset=([^:;, ]+):", r"spec of \1:"),
    (r"--dataset=([^:;, ]+)", r"the spec of \1"),
    (r"--(allow_delta|allow_epsilon)\b", r"\1=True"),
    (r"--(schema|csv)\b", r"the \1"),
    (r"--(?=[a-z])", ""),
)
_shown = {"flags": False}


def show_flags(flags: bool = True) -> None:
    """Let messages name settings as flags, as the command line does."""
    _shown["flags"] = flags


def said(message: str) -> str:
    """Return a message in the words of whoever reads it.

    Args:
        message: with flags.

    Examples:
        >>> from jaxdp.methods import words
        >>> words.said("--batch_size=500: is more than there are; lower --batch_size")
        'batch_size=500: is more than there are; lower batch_size'
    """
    if _shown["flags"]:
        return message
    for pattern, words in _PHRASES:
        message = re.sub(pattern, words, message)
    return message
