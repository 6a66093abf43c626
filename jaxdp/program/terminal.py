"""What drivers say on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jaxdp.escapes import for_terminal
from jaxdp.program.report.values import round_up

if TYPE_CHECKING:
    from jaxdp.program.data.dataset import Dataset

# How many classes a line names.
_NAMED = 6


def bar_style() -> dict[str, Any]:
    """Return how progress bars look: a log file gets a line now and then, not ten a second."""
    return {} if sys.stderr.isatty() else {"mininterval": 10.0, "ascii": True}


def colours(channels: int) -> str:
    """Return what the channels of an image are, in a word or two."""
    return {1: "grey", 3: "RGB"}.get(channels, f"{channels} channels")


def in_a_line(data: Dataset) -> str:
    """Say what was read, of which all is public: how much, of what shape, which classes."""
    spec, what = data.spec, "rows"
    if spec.is_image:
        height, width, channels = spec.image_shape
        bits = "" if spec.codec.dtype == "uint8" else f" {spec.codec.dtype}"
        what = f"images of {width}x{height} pixels, {colours(channels)}{bits}"
    elif spec.schema is not None:
        what = "records"
    said = f"{spec.num_examples} training {what}; {spec.num_classes} classes"
    said += _named(spec.class_names)
    if spec.counted_classes:
        said += (
            f", counted from the labels 0 to {spec.num_classes - 1}: labels begin at 0, and "
            "--class_names declares the classes"
        )
    return f"{for_terminal(spec.name)}: {said}; {len(data.x_test)} test examples"


def _named(names: Sequence[str]) -> str:
    """Return the first names of classes in brackets, where they say more than their number does."""
    if list(names) == [str(place) for place in range(len(names))]:
        return ""
    # Anybody may have named a folder.
    shown = [for_terminal(each) for each in names[:_NAMED]]
    return f" ({', '.join([*shown, '...'] if len(names) > _NAMED else shown)})"


def print_guarantee(certificate: dict[str, Any]) -> None:
    """Print what a certificate promises, and whether the result may be released."""
    print(for_terminal(certificate["verdict"]))
    if certificate["epsilon"] is None:
        print("NOT private: no noise was added")
    else:
        most = certificate.get("ledger", {}).get("records_per_person", 1)
        persons = "" if most == 1 else f" of all of a person's up to {most} records"
        print(
            f"({round_up(certificate['epsilon'])}, {certificate['delta']:g})-DP, "
            f"{certificate['relation'].split(':')[0]}{persons}, mu = "
            f"{round_up(certificate['gaussian_dp_mu'])}; privacy.json says which files may leave"
        )
