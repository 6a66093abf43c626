"""From settings to a checked run: which pairs are counted, with which noise."""

import dataclasses
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from jaxdp.data import Private, Spec, TableCodec
from jaxdp.methods import base, bought_schema, certified
from jaxdp.methods.base import Story
from jaxdp.methods.made import Made
from jaxdp.methods.marginals import apart, factors, given, maps, model, queries
from jaxdp.methods.marginals import release as releasing
from jaxdp.methods.marginals.estimates import Counts, counts_of
from jaxdp.methods.marginals.given import Given
from jaxdp.methods.marginals.released import FORM, Released
from jaxdp.methods.marginals.settings import MOST_PAIRED, NUM_CHAINS, Settings
from jaxdp.methods.marginals.story import STORY
from jaxdp.methods.settings import SettingsError
from jaxdp.methods.steps import Cached, Runner, Steps, Watch, compute_anew
from jaxdp.methods.stored import NOTHING, Earlier, Form, Stored, require_same_data
from jaxdp.privacy import cell_counts
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.tables.domain import Domain, Pair
from jaxdp.tables.obeying import obey
from jaxdp.tables.rules import Rule

# Pairs that are counted again, for each column; beside those with the target.
_AGAIN = 2
# Of all pairs' counts, in shares of the records. With more, those with the target tell more.
_MOST_NOISE = 0.05
# Noise on second moments of records of norm 1, as an eigenvalue; and most columns that have them.
_MOST_EDGE, _MOST_TOGETHER = 0.09, 3000
# Larger ones, as of a stranger's file, overflow.
_MOST_MOMENT = 1e100
# Counts without noise are taken as if they had this much, in records.
_LEAST_NOISE = 0.5
_POINTS = 40
# Of counts that are used again: their ledger tells the noise, and any share stands for it.
_STORED_SHARE = 0.5
# Rounds of drawing in which as many records are found as a condition asks for, or not.
_MOST_ROUNDS, _FIRST_ROUNDS = 300, 10
_Round = tuple[Sequence[Pair], Sequence[np.ndarray], float]


@dataclasses.dataclass(frozen=True, kw_only=True)
class MarginalsPlan(base.Plan[Released]):
    """A checked run: what is counted, and how large its noise is.

    Attributes:
        domain: the cells of all columns.
        pairs: that are counted.
        releases: of columns, of pairs, of those that are counted again, and of answers to queries.
        given: what holds of the records to make; None for nothing.
    """

    domain: Domain
    pairs: tuple[Pair, ...]
    releases: tuple[GaussianRelease, ...]
    given: Given | None = None

    @functools.cached_property
    def story(self) -> Story:
        """The words that describe the run."""
        drawn = self.settings.num_synthetic
        title = f"{self.spec.name}, noisy counts, epsilon {certified.epsilon(self):g}"
        counted = 8 * sum(map(self.domain.size_of, self.pairs))
        return dataclasses.replace(
            STORY,
            num_made=drawn,
            num_bytes=4 * counted + drawn * (self.spec.dim + 8 * len(self.domain.widths)),
            notice=self._taken(),
            page_title=f"Synthetic {title}",
            picture_title=f"synthetic {title}",
        )

    def _taken(self) -> str:
        """Say in a line which pairs are counted."""
        every, counted = len(self.domain.pairs), len(self.pairs)
        if counted < every:
            return self._taken_apart()
        if self._num_again == 0:
            return f"counts all {every} pairs of columns"
        share = 1 - self.settings.column_share - self.settings.choice_share
        share *= 1 - self.settings.quality_share
        return (
            f"counts all {every} pairs of columns, and {self._num_again} of them again, with "
            f"{share:.0%} of the budget: those that depend on each other most"
        )

    def _taken_apart(self) -> str:
        """Say in a line what is counted where it is not all pairs."""
        every, counted = len(self.domain.pairs), len(self.pairs)
        some = f"{counted} of {every} pairs of columns, those with the target"
        given = ("given it, " if counted else "") + "columns are independent in the table made"
        found = f"counts {some if counted else 'columns alone'}"
        if any(release.name == releasing.MOMENTS for release in self.releases):
            given = "and in which directions columns move together"
        return f"{found}; {given}"

    @property
    def _num_again(self) -> int:
        return num_again(self.domain, self.pairs)

    @property
    def ledger(self) -> Ledger | None:
        """Everything that the run's epsilon is computed from; None with earlier counts."""
        if self.earlier.stored is not None:
            return None
        return self.own_ledger(releases=self.releases)

    @property
    def form(self) -> Form:
        """How the release is written to a file."""
        return FORM

    def release(self, private: Private, key: Key[Array, ""], runner: Runner) -> Released:
        """Return noisy counts of private records."""
        del runner
        return releasing.release(
            private,
            key,
            self.domain,
            {release.name: release for release in self.releases},
            pairs=self.pairs,
            choose=self._choose,
            score=self._score,
            ask=functools.partial(queries.choose, self.domain),
            num_records=self.spec.num_examples,
        )

    def _choose(self, columns: np.ndarray, pairs: np.ndarray) -> tuple[Pair, ...]:
        """Return the pairs that are counted again, by what was released."""
        counts = self._first_counts(columns, pairs)
        return counts.strongest(self._num_again, always=self.domain.target)

    def _score(self, columns: np.ndarray, pairs: np.ndarray) -> Sequence[np.ndarray]:
        """Return scores of cells, by what was released."""
        return apart.scores_of(self._first_counts(columns, pairs)).values

    def _first_counts(self, columns: np.ndarray, pairs: np.ndarray) -> Counts:
        """Return counts of columns, and of pairs where there are any, with their noise."""
        if not self.pairs:
            return self._counts(columns)
        found = _matrices(self.domain, self.pairs, pairs)
        return self._counts(columns, (self.pairs, found, self._noise(releasing.PAIRS)))

    def _noise(self, name: str) -> float:
        """Return the standard deviation of a release's noise on a share of the records."""
        stddev = next(each.stddev for each in self.releases if each.name == name)
        number = {
            releasing.COLUMNS: len(self.domain.widths),
            releasing.PAIRS: len(self.pairs),
            releasing.AGAIN: self._num_again,
            releasing.MOMENTS: 1,
            releasing.ANSWERS: queries.NUM,
        }[name]
        return max(stddev * number**0.5, _LEAST_NOISE) / self.spec.num_examples

    def _counts(self, columns: np.ndarray, *rounds: _Round) -> Counts:
        stddev = self._noise(releasing.COLUMNS)
        return counts_of(self.domain, self.spec.num_examples, columns, stddev, rounds)

    def counts(self, released: Released) -> Counts:
        """Return what was released as counts with their noise."""
        rounds: list[_Round] = []
        if self.pairs:
            found = _matrices(self.domain, self.pairs, released.pairs)
            rounds.append((self.pairs, found, self._noise(releasing.PAIRS)))
        if len(released.chosen):
            chosen = [(int(first), int(second)) for first, second in released.chosen]
            found = _matrices(self.domain, chosen, released.again)
            rounds.append((chosen, found, self._noise(releasing.AGAIN)))
        counts = self._counts(released.columns, *rounds)
        if not len(released.moments):
            return counts
        noise = self._noise(releasing.MOMENTS)
        return dataclasses.replace(counts, moments=released.moments, moment_stddev=noise)

    def finish(self, released: Released, runner: Runner) -> Made:
        """Return records that are drawn of a model of the counts.

        Raises:
            SettingsError: a run that goes on has counts of other cells.
        """
        _require_counts(released, self.domain, self.pairs, "--resume")
        counts, settings = self.counts(released), self.settings
        training = model.train_model(counts, settings.steps)
        key = jax.random.key(settings.seed)
        own, rng = jax.random.fold_in(key, 1), np.random.default_rng(settings.seed)

        def advance(state: Any, count: int) -> tuple[Any, Array]:
            for _ in range(count):
                state, misfit = training.update(state, own)
            return state, misfit

        state = runner.loop(
            Steps(
                name="training",
                state=training.init(key),
                advance=advance,
                num_steps=training.num_steps,
                free=True,
                every=max(1, training.num_steps // _POINTS),
            )
        )
        rules = maps.completed(self.domain.schema.rules, counts)
        if self.given is not None:
            drawn = model.rounds(training, state, own)
            return self._made(*self._chosen(drawn, rng, rules, runner.watched("drawing")))
        count, watch = settings.num_synthetic, runner.watched("drawing")
        cells = model.draw(training, state, own, count, watch=watch)
        x, y = self._obeying(*self.domain.stored(cells, rng), rules)
        return dataclasses.replace(self._made(x, y), quality=self._quality(released, x, y))

    def _obeying(
        self, x: np.ndarray, y: np.ndarray, rules: Sequence[Rule]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return records that obey the rules of the schema, and their classes."""
        return obey(x, y, self.domain.schema, of=rules), y

    def _quality(self, released: Released, x: np.ndarray, y: np.ndarray) -> dict[str, Any] | None:
        """Return how far made records are from the private ones; None where nothing tells."""
        if not len(released.answers):
            return None
        asked = queries.choose(self.domain, released.columns)
        noise = self._noise(releasing.ANSWERS)
        return queries.error(self.domain.cells(x, y), asked, released.answers, noise)

    def _chosen(
        self,
        drawn: Iterator[np.ndarray],
        rng: np.random.Generator,
        rules: Sequence[Rule],
        watch: Watch,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return as many records as are asked for of which the condition holds, and their classes.

        Raises:
            SettingsError: it holds of too few that are drawn.
        """
        assert self.given is not None
        parts, count = list[tuple[np.ndarray, np.ndarray]](), self.settings.num_synthetic
        for done in watch(range(_MOST_ROUNDS)):
            x, y = self._obeying(*self.domain.stored(next(drawn), rng), rules)
            chosen = self.given.holds(x, y)
            parts.append((x[chosen], y[chosen]))
            if sum(len(each) for _, each in parts) >= count:
                # Together, too: of a map that no counts tell, records of all rounds have one.
                x, y = (np.concatenate(each) for each in zip(*parts, strict=True))
                x, y = self._obeying(x, y, rules)
                chosen = self.given.holds(x, y)
                parts = [(x[chosen], y[chosen])]
            found = sum(len(each) for _, each in parts)
            if found >= count:
                break
            are_few = found * _MOST_ROUNDS < count * _FIRST_ROUNDS / 2
            if done + 1 == _MOST_ROUNDS or (done + 1 == _FIRST_ROUNDS and are_few):
                raise SettingsError(
                    f"--given={self.settings.given}: holds of {found} of "
                    f"{NUM_CHAINS * (done + 1)} records that were drawn; ask for less, or lower "
                    "--num_synthetic"
                )
        x, y = (np.concatenate(each)[:count] for each in zip(*parts, strict=True))
        return x, y

    def _made(self, x: np.ndarray, y: np.ndarray) -> Made:
        codec = self.spec.codec
        assert isinstance(codec, TableCodec)
        names = self.spec.class_names
        return Made(
            spec=self.spec,
            x=x,
            y=y,
            class_names=names,
            rows=codec.to_unit(x),
            shift=codec.low,
            scale=codec.high - codec.low,
            arrays={"x": x, "y": y, "class_names": np.array(names)},
            name=STORY.result,
        )


def _matrices(domain: Domain, pairs: Sequence[Pair], values: np.ndarray) -> list[np.ndarray]:
    """Return each pair's matrix of all, which lie one after another."""
    sizes = np.cumsum([0, *map(domain.size_of, pairs)])
    return [
        values[start:end].reshape(domain.widths[first], domain.widths[second])
        for (first, second), start, end in zip(pairs, sizes[:-1], sizes[1:], strict=True)
    ]


def num_again(domain: Domain, pairs: Sequence[Pair]) -> int:
    """Return how many pairs are counted again; 0 where they would be nearly all of them."""
    few = (_AGAIN + 1) * len(domain.widths)
    return few if len(pairs) == len(domain.pairs) and len(pairs) > 1.5 * few else 0


def make_plan(
    settings: Settings,
    spec: Spec,
    earlier: Earlier = NOTHING,
    *,
    cached: Cached = compute_anew,
) -> MarginalsPlan:
    """Share the budget out.

    Args:
        settings: as `complete` returns them.
        spec: facts about the data.
        earlier: counts to use again.
        cached: keeps public arrays; there are none.

    Raises:
        SettingsError: the counts are of other data.
    """
    del cached
    assert spec.schema is not None  # `complete` has looked
    domain = Domain(spec.schema)
    pairs = _counted_pairs(settings, spec, domain, earlier.stored)
    if earlier.stored is not None:
        require_same_data(earlier.stored, spec, 1)
        _require_counts(earlier.stored.released, domain, pairs, earlier.stored.source)
    shares = {releasing.COLUMNS: settings.column_share}
    if num_again(domain, pairs):
        shares[releasing.PAIRS] = settings.choice_share
        shares[releasing.AGAIN] = 1 - settings.column_share - settings.choice_share
    elif pairs:
        shares[releasing.PAIRS] = 1 - settings.column_share
    else:
        shares[releasing.COLUMNS] = 1.0
    shares = _with_factors(shares, settings, spec, domain, pairs, earlier.stored)
    shares = _with_answers(shares, settings, earlier.stored)
    return MarginalsPlan(
        settings=settings,
        spec=spec,
        earlier=earlier,
        domain=domain,
        pairs=pairs,
        releases=_releases(settings, spec, shares, earlier.stored),
        given=None if settings.given is None else given.parse(settings.given, spec.schema),
    )


def _counted_pairs(
    settings: Settings, spec: Spec, domain: Domain, stored: Stored[Any] | None
) -> tuple[Pair, ...]:
    """Return all pairs, where their counts tell more than noise, or those with the target.

    Of stored counts their number says which. A table of few columns without a target has all pairs.
    """
    every = domain.pairs
    with_target = tuple(pair for pair in every if domain.target in pair)
    if len(domain.widths) > MOST_PAIRED:
        return with_target
    if stored is not None:
        are_all = len(stored.released.pairs) == sum(map(domain.size_of, every))
        return every if are_all else with_target
    if not with_target:
        return every
    part = settings.choice_share if num_again(domain, every) else 1 - settings.column_share
    part *= 1 - settings.quality_share
    (one,) = _releases(settings, spec, {releasing.PAIRS: 1.0}, None)
    noise = one.stddev * math.sqrt(len(every) / part) / spec.num_examples
    return every if noise <= _MOST_NOISE else with_target


def _with_factors(
    shares: Mapping[str, float],
    settings: Settings,
    spec: Spec,
    domain: Domain,
    pairs: Sequence[Pair],
    stored: Stored[Any] | None,
) -> dict[str, float]:
    """Return shares of the budget, that of second moments among them, where they are told."""
    found, num = dict(shares), len(domain.widths)
    *_, last = found
    if stored is not None:
        if len(stored.released.moments):
            found[releasing.MOMENTS] = _STORED_SHARE * found[last]
            found[last] -= found[releasing.MOMENTS]
        return found
    if len(pairs) == len(domain.pairs) or not settings.factor_share or num > _MOST_TOGETHER:
        return found
    share = settings.factor_share * (1 - settings.quality_share)
    (one,) = _releases(settings, spec, {releasing.MOMENTS: 1.0}, None)
    edge = factors.noise_edge(one.stddev / math.sqrt(share), num) / spec.num_examples
    if edge <= _MOST_EDGE:
        found[last] -= settings.factor_share
        found[releasing.MOMENTS] = settings.factor_share
    return found


def _with_answers(
    shares: Mapping[str, float], settings: Settings, stored: Stored[Any] | None
) -> dict[str, float]:
    """Return shares of the budget, that of answers to queries among them, where there are any."""
    own = settings.quality_share
    if stored is not None:  # it has answers or not, whatever this run asks for
        own = _STORED_SHARE if len(stored.released.answers) else 0.0
    if not own:
        return dict(shares)
    return {name: (1 - own) * part for name, part in shares.items()} | {releasing.ANSWERS: own}


def _releases(
    settings: Settings, spec: Spec, shares: Mapping[str, float], stored: Stored[Any] | None
) -> tuple[GaussianRelease, ...]:
    """Return what is released, or what an earlier run has released.

    Raises:
        SettingsError: its ledger has other releases.
    """
    if stored is None:
        bounds = dict.fromkeys(shares, cell_counts.sensitivity(settings.relation))
        if releasing.ANSWERS in bounds:
            bounds[releasing.ANSWERS] = cell_counts.SENSITIVITY_OF_ANSWERS
        return bought_schema.calibrate(settings, spec, bounds, dict(shares))
    found = bought_schema.own_part(Ledger.from_json(stored.certificate["ledger"]), spec).releases
    if [release.name for release in found] != list(shares):
        raise SettingsError(f"{stored.source}: its ledger has no {' and '.join(shares)}")
    return found


def _require_counts(released: Released, domain: Domain, pairs: Sequence[Pair], source: str) -> None:
    """Raise a `SettingsError` where stored counts are not those that the schema asks for."""
    chosen = [(int(first), int(second)) for first, second in released.chosen]
    are_chosen = set(chosen) <= set(pairs) and len(set(chosen)) == len(chosen)
    sizes = domain.dim, sum(map(domain.size_of, pairs))
    others = len(domain.widths) + (domain.target is None)
    if not (
        are_chosen
        and len(chosen) == num_again(domain, pairs)
        and (len(released.columns), len(released.pairs)) == sizes
        and len(released.again) == sum(map(domain.size_of, chosen))
        and len(released.answers) in (0, queries.NUM)
        and released.moments.shape in ((0, 0), (others, others))
        and np.max(np.abs(released.moments), initial=0.0) < _MOST_MOMENT
    ):
        raise SettingsError(
            f"{source}: its counts are not those of the schema's columns and pairs, or another "
            "version of jaxdp has cut these into other bins"
        )
