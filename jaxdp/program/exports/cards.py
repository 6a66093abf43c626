"""The README.md of an export, and of a packed run."""

from collections.abc import Sequence

from jaxdp.methods import card
from jaxdp.methods.record import CERTIFICATE, CONFIG
from jaxdp.program.exports import how_to
from jaxdp.program.exports.contents import LICENCE
from jaxdp.program.exports.figures import NAME as FIGURES
from jaxdp.program.exports.figures import Figures
from jaxdp.program.exports.formats import Exported
from jaxdp.saved import seal
from jaxdp.saved.loading import Loaded
from jaxdp.saved.sets import SavedSet

NAME = card.NAME
_BESIDE = {
    how_to.NUMPY: "a program that uses the set with numpy alone",
    how_to.TORCH: "one with torch",
    how_to.JAXDP: "one with jaxdp",
    FIGURES: "what models learnt from the set, which the guarantee does not cover",
}
_LOAD = """With the library, which checks every file:

```python
import jaxdp

made = jaxdp.load("FOLDER")
```

Without: what may be believed is told by `jaxdp verify FOLDER`, and `sha256sum --check SHA256SUMS`
finds files that were changed."""
_LICENSED = f"`{LICENCE}` says under which terms these files were passed on."
_UNLICENSED = "No licence was given: ask whoever passed it on."


def text(
    loaded: Loaded, names: Sequence[str], exported: Exported, figures: Figures | None = None
) -> str:
    """Return the card of an export, with YAML at its top where its form has some.

    Args:
        loaded: what is passed on.
        names: of files that go with any form.
        exported: what the form tells.
        figures: what models learnt from the set, where they are told.
    """
    facts, made = loaded.certificate.facts, loaded.made
    kind = "generated" if made is not None and made.file.startswith("synthetic") else "distilled"
    loading = "\n\n".join(filter(None, (exported.loading, _LOAD)))
    parts = [
        f"# {card.title(loaded.spec, kind)}",
        _what(loaded, made, kind),
        card.as_list((*exported.files, *_told(loaded, names))),
        *([] if figures is None else [f"## What models learn from it\n\n{figures.in_markdown()}"]),
        f"## How to load it\n\nFOLDER is this folder.\n\n{loading}",
        f"## What is guaranteed\n\n{card.verdict(facts)}",
        card.guarantee(facts),
        f"## Licence\n\n{_LICENSED if LICENCE in names else _UNLICENSED}",
        f"## What not to do\n\n{card.dont(facts, card.DONT_EDIT)}",
    ]
    front = f"---\n{exported.front}\n---\n\n" if exported.front else ""
    return front + "\n\n".join(parts) + "\n"


def _what(loaded: Loaded, made: SavedSet | None, kind: str) -> str:
    if made is None:
        n = loaded.certificate.facts["num_examples"]
        return f"This folder holds what was released of {n} private examples, without a made set."
    facts, config = loaded.certificate.facts, loaded.folder.config
    return card.what(loaded.spec, kind, len(made.x), made.class_names, facts, config)


def _told(loaded: Loaded, names: Sequence[str]) -> list[str]:
    """Return lines on the files that go with any form."""
    released = [name for name in names if loaded.folder.has(name)]
    lines = [
        f"`{name}`: what was made and released, of which the guarantee is" for name in released
    ]
    lines += [f"`{name}`: {about}" for name, about in _BESIDE.items() if name in names]
    return [
        *lines,
        f"`{CONFIG}`: the settings of the run, and public facts about its data",
        f"`{CERTIFICATE}`: the certificate, with the numbers of all releases",
        f"`{seal.NAME}`: the digests of all files, of which `{CERTIFICATE}` has the digest",
    ]
