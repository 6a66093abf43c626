"""What a certificate promises, in sentences: for who calls the library, for pages and for cards.

All of it is worked out from the facts of a certificate, as `certificates.certify` gives them.
"""

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxdp.privacy.certificates import why_void
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.wording import (
    ALONE,
    FLAWED,
    NO_PROMISE,
    NO_SUM,
    PROMISE,
    PROTECTED,
    TOGETHER,
    VOID,
    beside_mu,
    earlier_runs,
    rounded_up,
)


class Statement(NamedTuple):
    """What a certificate says of its run, or of that run and all earlier ones together.

    Attributes:
        of: what it is of, in words; empty where nothing else is said.
        runs: how many runs that are.
        epsilon: what holds at the certificate's delta; inf where none does.
        relation: what is exchanged for what, in words.
        promise: the guarantee, for somebody who knows nothing of the field.
        attack: what an attacker can do at most.
    """

    of: str
    runs: int
    epsilon: float
    relation: str
    promise: str
    attack: str


@dataclasses.dataclass(frozen=True, repr=False)
class Certificate:
    """A certificate for who calls the library: two sentences, and all of its facts.

    Attributes:
        facts: as `certify` gives them.

    Examples:
        >>> from jaxdp.privacy import Certificate, GaussianRelease, Ledger, Terms, certify
        >>> release = GaussianRelease(name="class means", sensitivity=2.0, stddev=8.0)
        >>> ledger = Ledger(num_examples=1000, delta=1e-5, releases=(release,))
        >>> terms = Terms(covers=("the means",), target_epsilon=1.0)
        >>> certificate = Certificate(certify(ledger, terms))
        >>> certificate
        Certificate(epsilon=0.9264, delta=1e-05, releasable=True)
        >>> print(certificate)
        What was made is (0.9264, 1e-05)-differentially private for 1000 records (replace).
        MAY BE RELEASED, under a strong guarantee (epsilon 0.9264).
    """

    facts: Mapping[str, Any]

    @property
    def epsilon(self) -> float:
        """What is guaranteed at `delta`; inf without privacy."""
        epsilon = self.facts["epsilon"]
        return math.inf if epsilon is None else epsilon

    @property
    def delta(self) -> float:
        """See `epsilon`."""
        return self.facts["delta"]

    @property
    def mu(self) -> float:
        """The least mu of Gaussian differential privacy that is certified; inf without privacy."""
        mu = self.facts["gaussian_dp_mu"]
        return math.inf if mu is None else mu

    @property
    def attack(self) -> str:
        """What an attacker can do at most who sees this and all earlier runs; in plain words.

        Empty where nothing keeps an attacker from more.
        """
        if math.isinf(self.promised_epsilon):
            return ""
        runs = " This counts all earlier runs on the same data." if self._earlier else ""
        return f"{self._attack_on(together=bool(self._earlier))}{runs}"

    def _attack_on(self, *, together: bool) -> str:
        """Return what an attacker can do who sees this run, or who sees all of them."""
        loss = self.facts["loss_with_earlier_runs"] if together else self.facts
        if loss.get("attacker") is None:
            return ""
        mu = loss["gaussian_dp_mu"]
        ledgers = (self.facts.get("ledger", {}), *(self._earlier if together else ()))
        besides = beside_mu(each.get("threshold_delta", 0.0) for each in ledgers)
        number = (
            ""
            if mu is None
            else f" In numbers: {rounded_up(mu)}-Gaussian differential privacy{besides}."
        )
        return f"{loss['attacker']['in_words']}{number}"

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What is guaranteed: by this run; before that, where others were counted, by all of them.

        Examples:
            >>> from jaxdp.privacy import Certificate, GaussianRelease, Ledger, Terms, certify
            >>> release = GaussianRelease(name="class means", sensitivity=2.0, stddev=8.0)
            >>> ledger = Ledger(num_examples=1000, delta=1e-5, releases=(release,))
            >>> terms = Terms(covers=("the means",), target_epsilon=1.0, earlier=(ledger,))
            >>> for said in Certificate(certify(ledger, terms)).statements:
            ...     print(f"{said.of}: epsilon {said.epsilon:.2f}")
            This run and an earlier run on the same data, together: epsilon 1.36
            This run by itself: epsilon 0.93
        """
        epsilon = math.inf if self.promises_nothing else self.epsilon
        together = bool(self._earlier) and not math.isinf(epsilon)
        of = ALONE if together else ""
        attack = "" if math.isinf(epsilon) else self._attack_on(together=False)
        alone = Statement(of, 1, epsilon, self.facts["relation"], self.promise, attack)
        return (self._of_all(), alone) if together else (alone,)

    def _of_all(self) -> Statement:
        """Return what is guaranteed by this run and all earlier ones together."""
        epsilon, number = self.promised_epsilon, len(self._earlier)
        relation = self.facts["relation_with_earlier_runs"]
        promise, attack = NO_SUM.format(delta=rounded_up(self.delta)), ""
        if not math.isinf(epsilon):
            promise = self._promised(epsilon, relation, "all of them", "both times")
            attack = self._attack_on(together=True)
        elif self._num_flawed:
            promise = FLAWED.format(number=self._num_flawed, of=number) + "."
        of = TOGETHER.format(runs=earlier_runs(len(self._earlier)))
        return Statement(of, 1 + number, epsilon, relation, promise, attack)

    @property
    def _earlier(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(self.facts.get("earlier_runs") or ())

    @property
    def promised_epsilon(self) -> float:
        """What holds of this run and all earlier ones: inf where noise of one promises nothing.

        So it is with noise that somebody knows, and with noise that may tell the sums under it.
        """
        if self.promises_nothing or self._num_flawed:
            return math.inf
        epsilon = self.facts["epsilon_with_earlier_runs" if self._earlier else "epsilon"]
        return math.inf if epsilon is None else epsilon

    @property
    def promises_nothing(self) -> bool:
        """Whether this run guarantees nothing, whatever its epsilon is."""
        return math.isinf(self.epsilon) or self._void is not None

    @property
    def _void(self) -> str | None:
        """Why this run's noise promises nothing, whatever its epsilon is."""
        ledger = self.facts.get("ledger")
        return None if ledger is None else why_void(Ledger.from_json(ledger))

    @property
    def _num_flawed(self) -> int:
        """How many earlier runs may have told the sums under their noise."""
        return sum(Ledger.from_json(each).has_flawed_noise for each in self._earlier)

    @property
    def releasable(self) -> bool:
        """Whether what it covers may be released."""
        return self.facts["releasable"]

    @property
    def _most(self) -> int:
        """Most records of a person."""
        return self.facts.get("ledger", {}).get("records_per_person", 1)

    @property
    def promise(self) -> str:
        """What this run guarantees by itself, for somebody who knows nothing of the field."""
        if math.isinf(self.epsilon):
            return NO_PROMISE
        if self._void is not None:
            return VOID.format(reason=self._void)
        said = self._promised(self.epsilon, self.facts["relation"], "the program", "in both runs")
        return f"{said} {PROTECTED.format(unit=self.facts['unit'])}"

    def _promised(self, epsilon: float, relation: str, again: str, times: str) -> str:
        emptied = relation.startswith("zero-out")
        what, other = "one", "an empty one" if emptied else "any other"
        if self._most > 1:
            what, other = "all that one person has", "empty ones" if emptied else "any others"
        return PROMISE.format(
            what=f"{what} of the {self.facts['num_examples']} training records",
            other=other,
            again=again,
            times=times,
            epsilon=rounded_up(epsilon),
            delta=rounded_up(self.delta),
        )

    def __str__(self) -> str:
        """Return the guarantee in a sentence, and the verdict in another; the sum comes first."""
        if math.isinf(self.epsilon):
            return f"There is no privacy: no noise was added. {self.facts['verdict']}."
        if self._void is not None:
            return f"Nothing is guaranteed. {self.facts['verdict']}."
        relation, epsilon = self.facts["relation"].split(":")[0], self.promised_epsilon
        whom = "" if self._most == 1 else f"persons with up to {self._most} of "
        records = f"{whom}{self.facts['num_examples']} records"
        own = f"({rounded_up(self.epsilon)}, {rounded_up(self.delta)})"
        alone = f"is {own}-differentially private"
        if not self._earlier:
            return f"What was made {alone} for {records} ({relation}). {self.facts['verdict']}."
        runs = f"With {earlier_runs(len(self._earlier))} on the same data"
        if math.isinf(epsilon):
            return (
                f"{runs} no epsilon holds for what was made; by itself it {alone} for {records} "
                f"({relation}). {self.facts['verdict']}."
            )
        of_all = self.facts["relation_with_earlier_runs"].split(":")[0]
        return (
            f"{runs}, what was made is ({rounded_up(epsilon)}, {rounded_up(self.delta)})"
            f"-differentially private for {records} ({of_all}); by itself it is {own} "
            f"({relation}). {self.facts['verdict']}."
        )

    def __repr__(self) -> str:
        """Show the numbers and whether it may leave, in a line."""
        return (
            f"Certificate(epsilon={rounded_up(self.epsilon)}, delta={rounded_up(self.delta)}, "
            f"releasable={self.releasable})"
        )

    def to_json(self) -> str:
        """Return all facts as JSON: what a run writes as privacy.json."""
        return json.dumps(dict(self.facts), indent=2, allow_nan=False)
