"""The two steps that every method has: a release, which costs privacy, and a free finish.

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
from jaxdp.methods import bought_schema
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
"""Covered by every certificate, whatever the method releases."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Story:
    """The words and constants that describe a run: in its certificate, its report and its files.

    A method sets the fields that differ from the defaults. Certificates use `covers`,
    `covers_again`, `objection`, `beside` and `reused`. The command line uses the others.

    Attributes:
        kind: "distilled" (a few examples) or "generated" (as many as you like).
        num_made: number of examples that the run makes.
        num_classes: number of classes that the method tells apart; None for all of the data's.
        covers: the files and values that the guarantee covers, in words.
        covers_again: `covers` of a run that reuses an earlier release; None keeps the words of the
            earlier certificate.
        objection: a reason against releasing the result, besides the numbers; None for no reason.
        beside: further entries of the certificate, about other releases.
        reused: sentence of the certificate of a run that releases nothing, and reuses an earlier
            release.
        result: file name of the made set, without its ending.
        released: file name of the release; None where the made set is the release.
        files: descriptions of the files that only this method writes, by file name.
        unlisted: settings that this run ignores.
        num_bytes: estimate of the disk space that the run needs.
        page_title: title of the report page.
        picture: file name of the picture, with its ending.
        picture_title: title in the picture.
        picture_heading: heading above the picture on the report page.
        curve_heading: heading above the curve on the report page.
        release_clock: name of the metric for the seconds of the release.
        finish_clock: name of the metric for the seconds of post-processing.
        watched: name of the metric that the loops record as they run.
        metrics: names and values of the metrics before the first step.
        released_metric: name of the metric for the test accuracy of the release; None where the
            release is no classifier.
        makes_soft_labels: whether each example comes with a probability of every class.
        needs_range: whether the data's values must lie in the range that `Spec` declares.
        notice: message to show before the first step; None for no message.
        old_noise: how version 0.1.0 drew the noise of such a run.

    Examples:
        >>> from jaxdp.methods.base import Story
        >>> Story(kind="generated", num_made=6000, result="synthetic").result
        'synthetic'
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
    """A run whose settings were checked. It knows public facts alone, and holds no private data.

    A method subclasses it: `story`, `ledger`, `release` and `finish` are required.

    Attributes:
        settings: complete settings, without a None that stands for a default.
        spec: public facts about the data.
        earlier: releases of earlier runs that this run uses.
    """

    settings: Any
    spec: Spec
    earlier: Earlier = NOTHING

    @property
    @abc.abstractmethod
    def story(self) -> Story:
        """The words that describe the run."""

    @property
    @abc.abstractmethod
    def ledger(self) -> Ledger | None:
        """Everything that the run's epsilon is computed from; None where it releases nothing."""

    @abc.abstractmethod
    def release(self, private: Private, key: Key[Array, ""], runner: Runner) -> R:
        """Release something of the private data. No other function of a method sees them."""

    @abc.abstractmethod
    def finish(self, released: R, runner: Runner) -> Made:
        """Make the result from a release. This is post-processing, and costs no privacy."""

    def own_ledger(self, **released: Any) -> Ledger:
        """Return the ledger of what a method releases, and of what was bought of the schema.

        Whatever is released, how many records there are, what delta is, who is protected and
        whether somebody knows the noise are facts of the run.

        Args:
            released: the other fields of a `Ledger`: `steps` and `also`, or `releases`.
        """
        own = Ledger(
            num_examples=self.spec.num_examples,
            delta=self.settings.delta,
            seeded_noise=self.settings.noise_seed is not None,
            records_per_person=self.spec.records_per_person,
            **released,
        )
        return bought_schema.joint(own, self.spec)

    def config(self) -> dict[str, Any]:
        """Return the values, besides the settings, that a resumed run must share with its start."""
        return {}

    def classifier(self, result: Any, runner: Runner) -> Classifier:
        """Return the method's own classifier. It takes examples as stored, and costs no privacy.

        Args:
            result: a release, or the part of a loop's state that `Steps.shown` returns.
            runner: maps the rows.

        Raises:
            NotImplementedError: the method has none.
        """
        raise NotImplementedError

    @property
    def form(self) -> Form | None:
        """How the release is written to a file; None where the made set is the release.

        Its options are the settings of the plan that have the same names.
        """
        return None


def require_image(spec: Spec, setting: str, instead: str) -> tuple[int, int, int]:
    """Return the shape of an image, or raise the error of a setting that needs images.

    Args:
        spec: facts about the data.
        setting: the setting that needs images, such as "--kernel=scatter".
        instead: advice for the error message.

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
