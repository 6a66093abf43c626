"""The README.md of an export."""

from jaxdp.methods import card
from jaxdp.program.exports.formats import Exported
from jaxdp.saved.loading import Loaded
from jaxdp.saved.sets import SavedSet

NAME = card.NAME


def text(loaded: Loaded, made: SavedSet, exported: Exported) -> str:
    """Return the card of an export, with YAML at its top where its form has some."""
    facts = loaded.certificate.facts
    kind = "distilled" if made.file.startswith("distilled") else "generated"
    priors = card.priors_of(loaded.folder.config, kind)
    files = (
        *exported.files,
        "`privacy.json`: the certificate, with the numbers of all releases",
    )
    parts = [
        f"# {card.title(loaded.spec, kind)}",
        card.what(loaded.spec, kind, len(made.x), made.class_names, facts, priors),
        card.as_list(files),
        f"## How to load it\n\nFOLDER is this folder.\n\n{exported.loading}",
        f"## What is guaranteed\n\n{card.verdict(facts)}",
        card.guarantee(facts),
        f"## What not to do\n\n{card.dont(facts)}",
    ]
    front = f"---\n{exported.front}\n---\n\n" if exported.front else ""
    return front + "\n\n".join(parts) + "\n"
