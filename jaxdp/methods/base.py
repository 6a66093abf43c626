"""What all methods have in common: they release something private, and finish it for free.

    release(private, key, runner) -> released      the only code that sees private data; accounted
    finish(released, runner) -> made               post-processing: free, repeatable, sees no data

A method is a package with `Settings`, `complete(settings, spec, earlier)` and
`make_plan(settings, spec, ...)`. Whoever runs it (`jaxdp.run`, or a driver that keeps files) hands
its plan a key, the private data and a `Runner`.
"""

import abc
import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Array, Key

from jaxdp.data import Private, Spec
from jaxdp.kernels.kip import SupportSet
from jaxdp.methods.made import Classifier, Made, shares, softmax
from jaxdp.methods.settings import SettingsError, budget
from jaxdp.methods.steps import Runner
from jaxdp.methods.stored import NOTHING, Earlier, Form
from jaxdp.privacy import certificates, wording
from jaxdp.privacy.certificates import Terms
from jaxdp.privacy.ledger import OLD_NOISE, Ledger
from jaxdp.privacy.stored_certificates import recertified

R = TypeVar("R")


DISTILLED_FILES = {
    "distilled.npz": "the distilled set: inputs, labels, class names and scaling",
    "distilled.csv": "the distilled records of a table, each the nearest valid one",
    "distilled.png": "the picture above",
}
DISTILLED_TABLE = "distilled.csv: the valid records that are nearest to the distilled ones"
FREE = (wording.ACCOUNT, "anything computed from these without the private data")
"""What every certificate covers beside its releases."""


class Words(NamedTuple):
    """What a method makes, in words and names of files.

    Attributes:
        kind: "distilled", a few examples, or "generated", as many as one likes.
        result: name of the file of what is made, without its ending.
        picture: name of its picture, with the ending.
        picture_heading: of the picture on the report page.
        curve_heading: of the curve on the report page.
        released: name of the file of what is released; None where the result is all there is.
        release_clock: name of the seconds that a release takes, among the metrics.
        finish_clock: the same of post-processing.
        reused: what a certificate says where nothing is released anew.
        files: what each file holds that this method alone has.
        watched: name of what looks at the loops' states tell, among the metrics.
        metrics: names and values before the first step.
    """

    kind: Literal["distilled", "generated"]
    result: str
    picture: str
    picture_heading: str
    curve_heading: str
    released: str | None
    release_clock: str
    finish_clock: str
    reused: str
    files: Mapping[str, str]
    watched: str
    metrics: tuple[tuple[str, Any], ...]


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
    def words(self) -> Words:
        """Names of files and headings."""

    @property
    @abc.abstractmethod
    def ledger(self) -> Ledger | None:
        """What the run releases itself, and what that is accounted beside; None where nothing."""

    @property
    @abc.abstractmethod
    def covers(self) -> tuple[str, ...]:
        """What is released under the guarantee, file by file."""

    @property
    @abc.abstractmethod
    def num_made(self) -> int:
        """How many examples will be made."""

    @property
    @abc.abstractmethod
    def titles(self) -> tuple[str, str]:
        """Headings of the report page and of the picture."""

    @property
    @abc.abstractmethod
    def num_bytes(self) -> int:
        """About what the files of a run take."""

    @abc.abstractmethod
    def release(self, private: Private, key: Key[Array, ""], runner: Runner) -> R:
        """Return what the method releases of private data."""

    @abc.abstractmethod
    def finish(self, released: R, runner: Runner) -> Made:
        """Return what is made of a release: post-processing."""

    @abc.abstractmethod
    def config(self) -> dict[str, Any]:
        """Return what must be the same for a run and its resumption, as JSON."""

    @property
    def earlier_certificate(self) -> dict[str, Any] | None:
        """The certificate of an earlier run, where nothing is released anew."""
        return self.earlier.certificate()

    @property
    def covers_again(self) -> tuple[str, ...] | None:
        """What a release that is used again is called here; None where its own words hold."""
        return None

    @property
    def eps(self) -> float:
        """The budget: by setting, or that of what is used again; inf without privacy."""
        return budget(self.settings, self.earlier_certificate)

    @property
    def num_classes(self) -> int:
        """Number of classes that are told apart."""
        return self.spec.num_classes

    @property
    def draws_noise(self) -> bool:
        """Whether anything is released that was not released before."""
        return self.earlier.stored is None

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
    def released_metric(self) -> str | None:
        """Name of the test accuracy of what is released; None where that is no classifier."""
        return None

    @property
    def makes_soft_labels(self) -> bool:
        """Whether a probability of every class will come with each example."""
        return False

    @property
    def needs_range(self) -> bool:
        """Whether values must be in the range that the facts declare."""
        return True

    @property
    def form(self) -> Form | None:
        """How what is released is kept; None where the result is all there is."""
        return None

    @property
    def stored_options(self) -> Any:
        """How features of what is released are made."""
        raise NotImplementedError

    @property
    def objection(self) -> str | None:
        """What speaks against a release beside its numbers."""
        return None

    @property
    def beside(self) -> dict[str, Any]:
        """What a certificate says beside its numbers about other releases."""
        return {}

    @property
    def old_noise(self) -> str:
        """How version 0.1.0 drew the noise of such a run."""
        return OLD_NOISE

    @property
    def unlisted(self) -> tuple[str, ...]:
        """Settings that this run does not use."""
        return ()

    @property
    def notice(self) -> str | None:
        """What one should know before the first step."""
        return None

    @property
    def method(self) -> str:
        """Name of the method: that of its package."""
        return type(self).__module__.rpartition(".")[0].rpartition(".")[2]

    @property
    def counted(self) -> Ledger | None:
        """What the run adds to all that is released of its data; None where nothing may leave.

        Without noise, or with noise that somebody knows, a result must not be released.
        """
        ledger = self.ledger
        if ledger is None or not ledger.is_private or ledger.seeded_noise:
            return None
        return ledger

    def certificate(self, earlier: tuple[Ledger, ...] | None = None) -> dict[str, Any]:
        """Return the certificate: of what is to be released, or of what is used again.

        Args:
            earlier: what earlier runs have released of the same data; None where nobody counts
                them.
        """
        settings = self.settings
        if self.earlier_certificate is not None:
            again = recertified(
                self.earlier_certificate,
                allow_delta=settings.allow_delta,
                allow_epsilon=settings.allow_epsilon,
                covers=self.covers_again,
            )
            return again | {"reused": self.words.reused}
        terms = Terms(
            covers=self.covers,
            target_epsilon=settings.eps if settings.eps < math.inf else None,
            allow_delta=settings.allow_delta,
            allow_epsilon=settings.allow_epsilon,
            counted_classes=self.spec.counted_classes,
            preparation=self.spec.preparation,
            objection=self.objection,
            earlier=earlier,
            persons_declared=self.spec.persons_declared,
        )
        assert self.ledger is not None
        return certificates.certify(self.ledger, terms) | self.beside


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
