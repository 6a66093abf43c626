"""What all methods have in common: they release something private, and finish it for free.

    release(private, key, runner) -> released      the only code that sees private data; accounted
    finish(released, runner) -> made               post-processing: free, repeatable, sees no data

A method is a package with `Settings`, `complete(settings, spec, earlier)` and
`make_plan(settings, spec, ...)`. Whoever runs it (`jaxdp.run`, or a driver that keeps files) hands
its plan a key, the private data and a `Runner`.
"""

import abc
import dataclasses
from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeVar

from jaxtyping import Array, Key

from jaxdp.data import Private, Spec
from jaxdp.methods.made import Classifier, Made
from jaxdp.methods.settings import SettingsError
from jaxdp.methods.steps import Runner
from jaxdp.methods.stored import NOTHING, Earlier, Form
from jaxdp.privacy import wording
from jaxdp.privacy.ledger import OLD_NOISE, Ledger

R = TypeVar("R")


DISTILLED_FILES = {
    "distilled.npz": "the distilled set: inputs, labels, class names and scaling",
    "distilled.csv": "the distilled records of a table, each the nearest valid one",
    "distilled.png": "the picture above",
}
DISTILLED_TABLE = "distilled.csv: the valid records that are nearest to the distilled ones"
FREE = (wording.ACCOUNT, "anything computed from these without the private data")
"""What every certificate covers beside its releases."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Story:
    """What is said of a run: values alone, of which nothing is computed.

    A method gives what differs. `covers`, `objection` and `beside` stand in certificates; all else
    is for the program.

    Attributes:
        kind: "distilled", a few examples, or "generated", as many as one likes.
        num_made: how many examples will be made.
        num_classes: that are told apart; None where those of the data are.
        covers: what is released under the guarantee, file by file.
        covers_again: the same for a release that is used again; None where its own words hold.
        objection: what speaks against a release beside its numbers.
        beside: what a certificate says beside its numbers about other releases.
        reused: what a certificate says where nothing is released anew.
        result: name of the file of what is made, without its ending.
        released: name of the file of what is released; None where the result is all there is.
        files: what each file holds that this method alone has.
        unlisted: settings that this run does not use.
        num_bytes: about what the files of a run take.
        page_title: heading of the report page.
        picture: name of the picture, with the ending.
        picture_title: heading in the picture.
        picture_heading: of the picture on the report page.
        curve_heading: of the curve on the report page.
        release_clock: name of the seconds that a release takes, among the metrics.
        finish_clock: the same of post-processing.
        watched: name of what looks at the loops' states tell, among the metrics.
        metrics: names and values before the first step.
        released_metric: name of the test accuracy of what is released; None where that is no
            classifier.
        makes_soft_labels: whether a probability of every class comes with each example.
        needs_range: whether values must be in the range that the facts declare.
        notice: what one should know before the first step.
        old_noise: how version 0.1.0 drew the noise of such a run.
    """

    kind: Literal["distilled", "generated"] = "distilled"
    num_made: int = 0
    num_classes: int | None = None
    covers: tuple[str, ...] = FREE
    covers_again: tuple[str, ...] | None = None
    objection: str | None = None
    beside: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    reused: str = (
        "what an earlier run released: this run has not used the private training data, and costs "
        "no privacy beyond that release"
    )
    result: str = "distilled"
    released: str | None = None
    files: Mapping[str, str] = dataclasses.field(default_factory=lambda: DISTILLED_FILES)
    unlisted: tuple[str, ...] = ()
    num_bytes: int = 2**26
    page_title: str = "What was made"
    picture: str = "distilled.png"
    picture_title: str = "What was made"
    picture_heading: str = "The distilled set"
    curve_heading: str = "Accuracy over the run"
    release_clock: str = "release_seconds"
    finish_clock: str = "finish_seconds"
    watched: str = ""
    metrics: tuple[tuple[str, Any], ...] = (
        ("release_seconds", 0.0),
        ("finish_seconds", 0.0),
        ("train_seconds", 0.0),
    )
    released_metric: str | None = None
    makes_soft_labels: bool = False
    needs_range: bool = True
    notice: str | None = None
    old_noise: str = OLD_NOISE


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan(abc.ABC, Generic[R]):
    """A checked run. It is made from settings and public facts alone, and holds no private data.

    Attributes:
        settings: complete: nothing is resolved later.
        spec: public facts about the data.
        earlier: what earlier runs have released.
    """

    settings: Any
    spec: Spec
    earlier: Earlier = NOTHING

    @property
    @abc.abstractmethod
    def story(self) -> Story:
        """What is said of the run."""

    @property
    @abc.abstractmethod
    def ledger(self) -> Ledger | None:
        """What the run releases itself, and what that is accounted beside; None where nothing."""

    @abc.abstractmethod
    def release(self, private: Private, key: Key[Array, ""], runner: Runner) -> R:
        """Return what the method releases of private data."""

    @abc.abstractmethod
    def finish(self, released: R, runner: Runner) -> Made:
        """Return what is made of a release: post-processing."""

    def config(self) -> dict[str, Any]:
        """Return what must be the same for a run and its resumption beside its settings."""
        return {}

    def classifier(self, result: Any, runner: Runner) -> Classifier:
        """Return the method's own classifier, of examples as stored: post-processing.

        Args:
            result: what was released, or what a loop shows of a state.
            runner: maps the rows.

        Raises:
            NotImplementedError: the method has none.
        """
        raise NotImplementedError

    @property
    def form(self) -> Form | None:
        """How what is released is kept; None where the result is all there is.

        Its options are those settings of the plan that have the same names.
        """
        return None


def require_image(spec: Spec, setting: str, instead: str) -> tuple[int, int, int]:
    """Return the shape of an image; the one message for what works on images alone.

    Args:
        spec: of the data.
        setting: what works on images, as --kernel=scatter.
        instead: what to do about it.

    Raises:
        SettingsError: examples are rows.
    """
    try:
        return spec.image_shape
    except ValueError as error:
        raise SettingsError(
            f"{setting}: works on images, and --dataset={spec.name} holds {spec.kind.holds(spec)}; "
            f"{instead}"
        ) from error
