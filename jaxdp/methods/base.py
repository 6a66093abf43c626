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

import numpy as np
from jaxtyping import Array, Key

from jaxdp.data import Private, Spec
from jaxdp.kernels.kip import SupportSet
from jaxdp.methods.made import Classifier, Made, shares, softmax
from jaxdp.methods.settings import SettingsError
from jaxdp.methods.steps import Runner
from jaxdp.methods.stored import NOTHING, Earlier, Form, NoOptions
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

    @property
    def earlier_certificate(self) -> dict[str, Any] | None:
        """The certificate of an earlier run, where nothing is released anew."""
        return self.earlier.certificate()

    @property
    def num_classes(self) -> int:
        """Number of classes that are told apart."""
        return self.spec.num_classes

    def rows(self, x: np.ndarray, runner: Runner, what: str) -> np.ndarray:
        """Return what stored rows (n, d) are to the method's own classifier."""
        raise NotImplementedError

    def scores(self, result: Any, rows: np.ndarray) -> np.ndarray:
        """Return the class scores of the method's own classifier.

        Args:
            result: what was released, or what a loop shows of a state.
            rows: as `rows` returns them.
        """
        raise NotImplementedError

    def classifier(self, result: Any, runner: Runner) -> Classifier:
        """Return the method's own classifier, of examples as stored: post-processing.

        Args:
            result: what was released, or a support set.
            runner: maps the rows.
        """
        to_probabilities = shares if isinstance(result, SupportSet) else softmax

        def scores(x: np.ndarray) -> np.ndarray:
            return self.scores(result, self.rows(x, runner, "features"))

        return Classifier(self.spec, scores, to_probabilities)

    @property
    def form(self) -> Form | None:
        """How what is released is kept; None where the result is all there is."""
        return None

    @property
    def stored_options(self) -> Any:
        """How features of what is released are made, where there are options."""
        return NoOptions()


def require_image(spec: Spec, setting: str, instead: str) -> tuple[int, int, int]:
    """Return the shape of an image; the one message for what works on images alone.

    Args:
        spec: of the data.
        setting: what works on images, as --kernel=scatter.
        instead: what to do about it.

    Raises:
        SettingsError: examples are rows.
    """
    if not spec.is_image:
        raise SettingsError(
            f"{setting}: works on images, and --dataset={spec.name} holds rows of {spec.dim} "
            f"values; {instead}"
        )
    return spec.image_shape
