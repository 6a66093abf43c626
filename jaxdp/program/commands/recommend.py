"""Recommend a command for a dataset, by public facts alone: shape, numbers of examples and classes.

jaxdp recommend data/scans --eps=1
jaxdp recommend --dataset=mnist --eps=1
jaxdp recommend patients.csv --eps=1                               # with patients.json beside it
jaxdp recommend --shape=28,28,1 --n=60000 --classes=10 --eps=1     # without data

The curve says what is likely to be reached at other epsilons, by measured public sets.
"""

import dataclasses
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from jaxdp import new_files
from jaxdp.data import Spec
from jaxdp.methods import warned
from jaxdp.methods.settings import bad, rules, setting
from jaxdp.privacy import relations
from jaxdp.program import command_line, named_data
from jaxdp.program.data.outside_files import TABLE_ENDINGS
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import DataFlags, RunFlags
from jaxdp.program.runs import amounts, expected_curve, recommendation
from jaxdp.program.runs.expected_curve import Curve
from jaxdp.tables.open_schema import OpenSchema


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecommendFlags(DataFlags):
    """The flags of this program."""

    eps: float = setting(
        1.0, "Privacy budget epsilon; inf switches privacy off.", above=0, infinite=True
    )
    relation: str = setting(
        relations.ZERO_OUT,
        "Which datasets count as neighbours, as for runs: one record emptied, or replaced by any "
        "other.",
        among=relations.NAMES,
    )
    shape: str | None = setting(
        None,
        "Without data: height,width,channels of an image, or the number of columns of a table.",
    )
    n: int | None = setting(None, "Without data: training examples.", at_least=1)
    classes: int | None = setting(None, "Without data: classes.", at_least=2)
    curve: str | None = setting(
        None,
        "Also draw what is expected over epsilon into a file that is not there yet: FILE.svg or "
        "FILE.png.",
        fixed=False,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.curve is not None and not self.curve.lower().endswith((".svg", ".png")):
            raise bad(self, "curve", "must be a file that ends in .svg or .png")
        if self.curve is not None and os.path.lexists(self.curve):
            raise bad(self, "curve", "is there already; name another file")


KINDS = command_line.define(RecommendFlags)
_OF_PERSONS = "records_per_person"
"""The one flag of data that changes what is expected without any."""
USAGE = "[FOLDER_OR_FILE] [--flag=value ...]"
TAKES_FILES = True

_CAVEAT = (
    "All of this is by shape, numbers of examples and classes, and epsilon: your classes may be "
    "easier or harder to tell than measured ones. Nothing of the data was looked at but these."
)

_TO_BE_BOUGHT = (
    "What the schema leaves open is bought by the first run: until then columns are taken as large "
    "as is common, and what is expected changes a little with it."
)


class Found(NamedTuple):
    """What is recommended by.

    Attributes:
        spec: public facts.
        source: the flags that name the data.
        line: what the data are.
        notes: on how they were read.
        opened: their schema where something of it is still to be bought.
        relation: which datasets are neighbours.
    """

    spec: Spec
    source: str
    line: str
    notes: tuple[str, ...] = ()
    opened: OpenSchema | None = None
    relation: str = relations.ZERO_OUT

    @property
    def contributions(self) -> int:
        """As `relations.contributions`."""
        return relations.contributions(self.relation)


def _require_no_data() -> None:
    """Raise an `InputError` where a flag is given of how data are read, and none are."""
    for name in rules(DataFlags):
        if name != _OF_PERSONS and command_line.is_given(name):
            raise InputError(
                f"--{name}={command_line.FLAGS[name].value}: is of data that are read, and --shape "
                "stands for these; leave it out"
            )


def facts_from_flags(asked: RecommendFlags) -> Found:
    """Return what `--shape`, `--n` and `--classes` say.

    Raises:
        InputError: one is missing, or the shape is none.
    """
    for name in ("shape", "n", "classes"):
        if getattr(asked, name) is None:
            raise InputError(
                f"--{name}: give it as well, as in --shape=28,28,1 --n=60000 --classes=10; or name "
                "data by --dataset or --csv"
            )
    parts = str(asked.shape).split(",")
    if len(parts) not in (1, 2, 3) or not all(p.isdecimal() and 0 < int(p) < 10**6 for p in parts):
        raise bad(asked, "shape", "must be height,width,channels, or a number of columns")
    sizes = tuple(int(part) for part in parts)
    shape = (*sizes, 1) if len(sizes) == 2 else sizes
    if len(shape) == 3 and shape[2] not in (1, 3, 4):
        raise bad(asked, "shape", "has neither 1, 3 nor 4 channels")
    assert asked.n is not None
    assert asked.classes is not None
    what, asked_shape = _in_words(shape), shape
    if len(shape) == 3:  # as a run without --image_size brings images to a size
        from jaxdp.program.data import resizing  # imports numpy: not before flags are parsed

        shape = (*resizing.BY_DEFAULT.of(shape), shape[2])
    if shape != asked_shape:
        what += f", which runs resize to {_in_words(shape)} where no --image_size is given"
    line = f"{what}, {asked.n} training examples, {asked.classes} classes"
    spec = recommendation.spec_of(shape, asked.n, asked.classes)
    images, table = "--dataset=NAME", "--csv=FILE.csv --schema=FILE.json"
    source = spec.kind.choose(images=images, rows=images, table=table)
    if asked.records_per_person is not None:
        spec = spec.of_persons(asked.records_per_person)
        source += f" --records_per_person={spec.records_per_person}"
    return Found(spec, source, line + _persons(spec), relation=asked.relation)


def _in_words(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) if len(shape) > 1 else f"{shape[0]} columns"


def _persons(spec: Spec) -> str:
    """Return how many records a person has, to follow other facts; empty where one is a person."""
    most = spec.records_per_person
    return f", at most {most} records of a person" if most > 1 else ""


def facts_of_data(asked: RecommendFlags) -> Found:
    """Return the public facts of a dataset; nothing else of what is read is used.

    Raises:
        InputError: it cannot be read.
    """
    # They import numpy: not before flags are parsed.
    from jaxdp.program.data.load import dataset_for
    from jaxdp.program.runs.foreseen import Foreseen
    from jaxdp.program.runs.schema_purchase import file_of
    from jaxdp.program.terminal import in_a_line

    foreseen = Foreseen(None if asked.csv is None else file_of(RunFlags(csv=asked.csv)))
    data = dataset_for(asked, seed=0, completes=foreseen)
    line = foreseen.line(in_a_line(data.spec, num_test=len(data.test.y))) + _persons(data.spec)
    notes, opened = data.notes, None
    if foreseen.opened is not None and foreseen.opened.open and not foreseen.is_bought:
        opened = foreseen.opened
        notes += (_TO_BE_BOUGHT,) if opened.must_be_bought else ()
    source = recommendation.source_of(asked)
    return Found(foreseen.likely(data.spec), source, line, notes, opened, asked.relation)


def curve_of(found: Found, epsilon: float) -> Curve | None:
    """Return what is expected over epsilon; None where no measured set is like the data."""
    spec = expected_curve.with_all_noise(found.spec, found.contributions)
    return expected_curve.curve(spec, expected_curve.epsilons_with(epsilon))


def drawn(found: Found, epsilon: float, encoding: str | None) -> str:
    """Return the curve in lines for a terminal, or why there is none."""
    from jaxdp.program.report import curve_text

    curve = curve_of(found, epsilon)
    if curve is None:
        return f"no curve over epsilon: {expected_curve.why_none(found.spec)}"
    return curve_text.text(curve, chosen=epsilon, marks=curve_text.marks_for(encoding))


def write_curve(found: Found, epsilon: float, path: str) -> None:
    """Draw the curve into a file.

    Raises:
        InputError: there is no curve, or the file cannot be written.
    """
    from jaxdp.program.report import curve_svg, curves

    curve = curve_of(found, epsilon)
    if curve is None:
        raise InputError(f"--curve={path}: there is none: {expected_curve.why_none(found.spec)}")
    if path.lower().endswith(".png"):
        content = curves.expected_png(curve, chosen=epsilon)
    else:
        content = curve_svg.alone(curve, chosen=epsilon).encode()
    try:
        new_files.write(Path(path), content)
    except OSError as error:
        raise InputError(f"--curve={path}: {error.strerror}") from error


def text(found: Found, epsilon: float, encoding: str | None = "utf-8") -> str:
    """Return what is recommended, in lines for a terminal of an encoding."""
    chosen = recommendation.choices(
        found.spec, epsilon, source=found.source, relation=found.relation
    )
    parts = [found.line, *found.notes]
    lack = warned.too_weak(found.spec, epsilon, contributions=found.contributions)
    parts += [f"WARNING: {lack}"] if lack else []
    for number, choice in enumerate(chosen):
        whole, phases = amounts.in_words(choice.estimate)
        parts += [
            "",
            f"{'Take this' if number == 0 else 'Or'}: {choice.purpose}",
            f"  {choice.command}",
            f"  why: {choice.why}",
            f"  expected: {choice.expected}",
            f"  takes: {whole} ({phases})",
        ]
    return "\n".join([*parts, "", drawn(found, epsilon, encoding), "", _CAVEAT])


def _name_data(words: Sequence[str]) -> None:
    """Put --csv where a table is named, --dataset and --data_dir where images are."""
    if words:  # or flags name the data, or say their facts
        is_table = Path(words[0]).suffix.lower() in TABLE_ENDINGS
        (named_data.name_table if is_table else named_data.name_data)(words)


def _with_schema(asked: RecommendFlags) -> RecommendFlags:
    """Return flags with the schema beside the table where none is given, as `jaxdp table` does."""
    if asked.csv is None or asked.schema is not None:
        return asked
    from jaxdp.program.runs import schema_purchase  # numpy: not before flags are parsed

    there = schema_purchase.found_beside(RunFlags(csv=asked.csv))
    if there is None:
        return asked
    print(f"--schema={there}: is there, and is used", file=sys.stderr)
    return dataclasses.replace(asked, schema=str(there))


def main(argv: Sequence[str]) -> None:
    """Print what is recommended; bad input ends it with one line and exit code 2."""
    with command_line.one_line_errors(), named_data.as_typed(argv[1:]):
        _name_data(argv[1:])
        asked = _with_schema(command_line.settings_of(RecommendFlags))
        if asked.shape is None and (asked.n, asked.classes) == (None, None):
            found = facts_of_data(asked)
        elif asked.csv is not None or asked.dataset != "digits":
            raise InputError("--shape, --n and --classes are instead of data: leave them out")
        else:
            _require_no_data()
            found = facts_from_flags(asked)
        if asked.curve is not None:
            write_curve(found, asked.eps, asked.curve)
        print(text(found, asked.eps, sys.stdout.encoding))
        if asked.curve is not None:
            print(f"\nwritten: {asked.curve}")
