"""The README.md of an export, and of a packed run."""

from collections.abc import Sequence

from jaxdp.methods import card, table_code
from jaxdp.methods.record import CERTIFICATE, CONFIG
from jaxdp.program.exports import contents, how_to
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
_FOLDER = (
    "FOLDER is this folder. The library takes the zip file of `jaxdp pack` in its place: "
    '`jaxdp.load("FILE.zip")`, `jaxdp classify --run=FILE.zip`.'
)
_LOAD = """With the library, which checks every file:

```python
import jaxdp

made = jaxdp.load("FOLDER")
{lines}
```

On the command line:

```bash
{commands}
```

`jaxdp verify` says what may be believed. `sha256sum --check SHA256SUMS` finds files that were
changed, without the library."""
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
    first = exported.first or _first(made, names)
    parts = [
        f"# {card.title(loaded.spec, kind)}",
        _what(loaded, made, kind),
        *(
            [f"Open `{first}` first: it has the {loaded.spec.kind.records}.{_looks(kind, loaded)}"]
            if first
            else []
        ),
        card.as_list((*exported.files, *_told(loaded, names))),
        _covered(loaded, names),
        *([] if figures is None else [f"## What models learn from it\n\n{figures.in_markdown()}"]),
        f"## How to load it\n\n{_loading(loaded, exported, names)}",
        f"## What is guaranteed\n\n{card.verdict(facts)}",
        card.guarantee(facts, loaded.spec),
        f"## Licence\n\n{_LICENSED if LICENCE in names else _UNLICENSED}",
        f"## What not to do\n\n{card.dont(facts, card.DONT_EDIT)}",
    ]
    front = f"---\n{exported.front}\n---\n\n" if exported.front else ""
    return front + "\n\n".join(parts) + "\n"


def _looks(kind: str, loaded: Loaded) -> str:
    """Say that distilled images look like noise, which somebody could take for damage."""
    if kind != "distilled" or loaded.spec.kind.choose(images=False, rows=True, table=True):
        return ""
    return " They look like noise, and are not damaged: a classifier learns from them."


def _what(loaded: Loaded, made: SavedSet | None, kind: str) -> str:
    if made is None:
        n = loaded.certificate.facts["num_examples"]
        return f"This folder holds what was released of {n} private examples, without a made set."
    facts, config = loaded.certificate.facts, loaded.folder.config
    return card.what(loaded.spec, kind, len(made.x), made.class_names, facts, config)


def _first(made: SavedSet | None, names: Sequence[str]) -> str:
    """Return the file of what was made, as a person opens it; empty where it is not there."""
    if made is None:
        return ""
    table = made.file.replace(".npz", ".csv")
    return table if table in names else made.file


def _covered(loaded: Loaded, names: Sequence[str]) -> str:
    """Say which files the guarantee is about."""
    found = [f"`{name}`" for name in names if loaded.folder.has(name)]
    return f"The guarantee is about what a run has released: {', '.join(found)}."


def _loading(loaded: Loaded, exported: Exported, names: Sequence[str]) -> str:
    """Say how to get the library, and how to use the files with it and without."""
    spec, made = loaded.spec, loaded.made
    lines, commands = ["print(made.certificate)"], ["jaxdp verify FOLDER"]
    if made is not None:
        lines.append(spec.kind.use.show)
        if len(made.class_names) > 1:
            lines += card.predicting(spec)
            commands.append(f"jaxdp classify --run=FOLDER {spec.kind.use.files}")
    parts = [card.get_jaxdp(), _FOLDER]
    parts.append(_LOAD.format(lines="\n".join(lines), commands="\n".join(commands)))
    table = _first(made, names)
    if exported.loading:
        parts.append(f"Without the library:\n\n{exported.loading}")
    elif table.endswith(".csv"):
        parts.append(f"Without the library:\n\n{table_code.reading(f'FOLDER/{table}', spec)}")
    return "\n\n".join(parts)


def _told(loaded: Loaded, names: Sequence[str]) -> list[str]:
    """Return lines on the files that go with any form."""
    about = contents.described()
    there = {f"{name.split('/')[0]}/" if "/" in name else name: None for name in names}
    lines = [f"`{name}`: {about[name]}" for name in there if name in about]
    lines += [f"`{name}`: {about}" for name, about in _BESIDE.items() if name in names]
    return [
        *lines,
        f"`{CONFIG}`: the settings of the run, and public facts about its data",
        f"`{CERTIFICATE}`: the certificate, with the numbers of all releases",
        f"`{seal.NAME}`: the digests of all files, of which `{CERTIFICATE}` has the digest",
    ]
