"""The README.md of a folder: what is in it, what is guaranteed, how to load it, what not to do.

It is made of public facts, the certificate and names of files alone; no number of it is private.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import jaxdp
from jaxdp.data import Spec, TableCodec
from jaxdp.escapes import for_markdown
from jaxdp.methods import learnt, table_code
from jaxdp.methods.settings import DATA_PRIORS, EQUAL_PRIORS
from jaxdp.privacy import wording
from jaxdp.privacy.promises import Certificate

NAME = "README.md"
_MARK = "<!-- jaxdp wrote this file, and may write it again. -->"
_PRIORS = {
    DATA_PRIORS: "\nClasses are taken to be as common as in the data.",
    EQUAL_PRIORS: "\nAll classes are taken to be equally common, which may be untrue of the data.",
}
# Features of a generator that count cells: `dp_ntk.settings.COUNTS`, which a card may not import.
_COUNTS = ("marginals", "pairs")
_USE = """
```python
import jaxdp

made = jaxdp.load("FOLDER")  # checks every file that it takes
print(made.certificate)
{lines}
```
"""
_DONT = (
    "Do not take these examples for the data. What is rare in the data may be missing here, and "
    "what holds here may not hold there. Test on real data what you train on this.",
    "Do not release another run on the same training records as if that were free: budgets add up.",
)
_DONT_TAKE_FOR_PERSONS = "Do not read the guarantee as one about a person: it is about one record."
DONT_EDIT = (
    "Do not change files: `jaxdp.load` refuses a file whose digest is not the one in "
    "`privacy.json`. The certificate is not signed: take this folder from somebody you trust."
)
_DONT_RELEASE = "Do not pass on anything of this folder: the reason is above."


def may_write(path: Path) -> bool:
    """Whether a card may be written there: nobody else has written a file of this name."""
    try:
        return path.read_text("utf-8").startswith(_MARK)
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False


def text(
    *,
    spec: Spec,
    kind: str,
    name: str,
    num_made: int,
    class_names: Collection[str],
    certificate: Mapping[str, Any],
    files: Collection[str],
    config: Mapping[str, Any],
    quality: Mapping[str, Any] | None = None,
) -> str:
    """Return the card of a folder.

    Args:
        spec: public facts about the data.
        kind: of what was made, "distilled" or "generated".
        name: of its file, without the ending.
        num_made: how many examples it has.
        class_names: it tells apart; one where labels were not used.
        certificate: its facts.
        files: names of what is in the folder.
        config: content of config.json.
        quality: how far they are from the private ones, as `Made` has it.
    """
    parts = [
        _MARK,
        f"# {title(spec, kind)}",
        what(spec, kind, num_made, class_names, certificate, config),
        *([] if quality is None else [apart(quality)]),
        "## May it leave",
        _leaving(certificate),
        guarantee(certificate, spec),
        "## How to load it",
        _loading(spec, kind, name, len(class_names) > 1, files),
        "## What not to do",
        dont(certificate, DONT_EDIT),
    ]
    return "\n\n".join(parts) + "\n"


def guarantee(certificate: Mapping[str, Any], spec: Spec) -> str:
    """Return what a certificate guarantees, in plain sentences; the sum of all runs comes first."""
    parts = []
    for said in Certificate(certificate).statements:
        name = f"**{said.of}.** " if said.of else ""
        parts += [name + wording.of_kind(said.promise, record(spec)), said.attack]
    if "reused" in certificate:
        parts.append(f"It is made from {for_markdown(certificate['reused'])}.")
    return "\n\n".join(filter(None, parts))


def record(spec: Spec) -> str:
    """Return what one record of the data is called, as "one image"."""
    return spec.kind.choose(images="one image", rows="one row", table="one record")


def describe(spec: Spec) -> str:
    """Say what examples are; of a table with all columns of its file, class and identifiers too."""
    if spec.schema is None:
        return spec.kind.describe(spec)
    of_class = "" if spec.schema.target is None else ", with the class"
    return f"records of {len(spec.schema.order)} columns{of_class}"


def get_jaxdp() -> str:
    """Say how a recipient who has nothing else gets the library that opens a folder."""
    version = jaxdp.__version__
    return (
        f"jaxdp {version} wrote this. Get it by "
        f"`pip install jaxdp_toolkit-{version}-py3-none-any.whl`. "
        "Ask whoever passed this on for that wheel: `pip wheel --no-deps .` makes it of a checkout."
    )


def priors_of(config: Mapping[str, Any], kind: str) -> str | None:
    """Return how common classes are taken to be, of `settings.PRIORS`; None where nobody said.

    A generator draws equally many of each class where nothing tells their shares: counts of cells
    do, and shares that were released.

    Args:
        config: content of config.json.
        kind: of what was made, "distilled" or "generated".
    """
    told = config.get("priors")
    knows_shares = config.get("features") in _COUNTS or config.get("weights_share")
    return EQUAL_PRIORS if told and kind == "generated" and not knows_shares else told


def verdict(certificate: Mapping[str, Any]) -> str:
    """Return whether what a certificate is of may be released, in bold letters."""
    return f"**{for_markdown(certificate['verdict'])}**"


def dont(certificate: Mapping[str, Any], *more: str) -> str:
    """Return what not to do, as a list."""
    first = () if certificate["releasable"] else (_DONT_RELEASE,)
    several = certificate["ledger"].get("records_per_person", 1) > 1
    of_persons = several or certificate.get("persons_declared", False)
    persons = () if of_persons else (_DONT_TAKE_FOR_PERSONS,)
    return as_list((*first, *_DONT, *persons, *more))


def title(spec: Spec, kind: str) -> str:
    """Return the heading of a card."""
    made = "Distilled" if kind == "distilled" else "Synthetic"
    return f"{made} {spec.kind.records} of {for_markdown(spec.name)}"


def what(
    spec: Spec,
    kind: str,
    num_made: int,
    class_names: Collection[str],
    certificate: Mapping[str, Any],
    config: Mapping[str, Any],
) -> str:
    """Say what was made of how much, and what models learn from it; as for `text`."""
    priors = priors_of(config, kind)
    named = [for_markdown(each) for each in class_names]
    listed = ", ".join(named[:20]) + (", ..." if len(named) > 20 else "")
    classes = f"{len(named)} classes: {listed}" if len(named) > 1 else "no classes"
    return (
        f"This folder holds {num_made} {describe(spec)}. There are {classes}.\n"
        f"They were made from {certificate['num_examples']} private ones. "
        f"{learnt.sentence(config, kind, spec)}"
        f"{_PRIORS.get(str(priors), '') if len(named) > 1 else ''}"
    )


def apart(quality: Mapping[str, Any]) -> str:
    """Say how far a table is from the private one, by what `Made.quality` has."""
    low, high = quality["interval"]
    return (
        f"Shares of records that meet three conditions at once are off by {quality['error']:.1%} "
        f"({low:.1%} to {high:.1%}, 95 %): the root mean square over {quality['queries']} random "
        "queries that nothing was fitted to, told with noise."
    )


def as_list(lines: Collection[str]) -> str:
    """Return lines as a list in Markdown."""
    return "\n".join(f"* {line}" for line in lines)


def _leaving(certificate: Mapping[str, Any]) -> str:
    leaves = as_list([*map(for_markdown, certificate["may_leave"])]) or "* nothing"
    return (
        f"{verdict(certificate)}\n\nMay leave:\n\n{leaves}\n\n"
        f"Must stay, wherever it is:\n\n{as_list(certificate['must_stay'])}"
    )


def _loading(spec: Spec, kind: str, name: str, labelled: bool, files: Collection[str]) -> str:
    table = isinstance(spec.codec, TableCodec) and f"{name}.csv" in files
    use = spec.kind.use
    lines = [use.show]
    if labelled:
        lines += predicting(spec)
    said = (
        f"{get_jaxdp()}\n\nFOLDER is this folder, or the zip file that `jaxdp pack` makes of it. "
    )
    said += f"With the library:\n{_USE.format(lines=chr(10).join(lines))}"
    own = f"```python\n{_npz(kind).format(name=name)}\n```"
    said += f"\nWithout it:\n\n{table_code.reading(f'{name}.csv', spec) if table else own}"
    said += "\n\nOn the command line"
    commands = ["jaxdp export --run=FOLDER --format=huggingface --out=shared"]
    if labelled:
        commands.insert(0, f"jaxdp classify --run=FOLDER {use.files}")
    return said + ":\n\n```bash\n" + "\n".join(commands) + "\n```"


def predicting(spec: Spec) -> tuple[str, ...]:
    """Return lines of Python that tell the classes of new examples by a set `made`."""
    return (
        f"classes = made.predict({spec.kind.use.new})  # of your own, as the data were stored",
        "names = [made.class_names[each] for each in classes]  # classes are numbers",
    )


_NPZ = """import numpy as np

with np.load("{name}.npz") as data:
    x, y, class_names = data["x"], data["y"], data["class_names"]"""


def _npz(kind: str) -> str:
    scaled = '\n    x = x * data["scale"] + data["shift"]  # in the units of the data'
    return _NPZ + (scaled if kind == "distilled" else "")
