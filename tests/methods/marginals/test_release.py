"""What is released of a table: within its budget, and chosen by what was released alone."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from support.toy_tables import frame_of, schema_of

import jaxdp
from jaxdp.data import Private, Spec
from jaxdp.methods import marginals
from jaxdp.methods.marginals import queries
from jaxdp.methods.marginals import release as releasing
from jaxdp.methods.marginals.released import from_arrays
from jaxdp.methods.runner import PlainRunner
from jaxdp.methods.settings import SettingsError
from jaxdp.methods.stored import Earlier, Stored
from jaxdp.privacy import private_key
from jaxdp.privacy import releases as joint
from jaxdp.tables.domain import Domain, answers

SCHEMA = schema_of()
# So many columns that not all pairs are counted again.
MANY = schema_of(
    **{f"n{k}": {"type": "numeric", "lower": 0, "upper": 1, "bins": 4} for k in range(8)}
)


# So many records, or so much budget for a few, that all pairs are counted.
NUM, LOUD = 3000, 50.0


def plan_of(schema: Any = SCHEMA, num: int = NUM, persons: int = 1, **options: Any) -> Any:
    spec = Spec.table("toy", schema, num)
    spec = spec.of_persons(persons) if persons > 1 else spec
    settings = marginals.complete(marginals.Settings(**({"eps": 1.0} | options)), spec)
    return marginals.make_plan(settings, spec)


def no_queries(columns: np.ndarray) -> tuple[()]:
    """Stand for queries where no release answers them."""
    raise AssertionError(f"asked of {columns}")


def wide(num: int, seed: int = 0) -> Private:
    rng = np.random.default_rng(seed)
    import pandas as pd

    frame = frame_of(num)
    more = pd.DataFrame(rng.random((num, 8)), columns=[f"n{k}" for k in range(8)])
    frame = pd.concat([frame, more], axis=1)
    names = [name for name in (*MANY.order, *MANY.dropped) if name in frame]
    return Private.of_frame(frame[names], MANY)


def no_scores(columns: np.ndarray, pairs: np.ndarray) -> tuple[()]:
    """Stand for scores where no release needs them."""
    raise AssertionError(f"asked of {columns} and {pairs}")


# Columns that are counted with the target alone, and records enough to see how they move.
WIDE = schema_of(
    **{f"n{k}": {"type": "numeric", "lower": 0, "upper": 1, "bins": 4} for k in range(70)}
)


def records_of_wide(num: int) -> Private:
    rng = np.random.default_rng(0)
    domain = Domain(WIDE)
    cells = rng.integers(0, domain.widths, (num, len(domain.widths)))
    cells[:, 3:60] = np.where(rng.random((num, 57)) < 0.5, cells[:, [2]] % 3, cells[:, 3:60])
    cells = np.minimum(cells, np.array(domain.widths) - 1)
    return Private(*domain.stored(cells, rng))


@pytest.mark.parametrize("schema", [SCHEMA, MANY])
@pytest.mark.parametrize("eps", [0.3, 1.0, 8.0])
def test_guarantee_all_counts_together_are_within_the_budget(schema: Any, eps: float) -> None:
    plan = plan_of(schema, eps=eps, relation="replace")
    assert joint.epsilon(plan.releases, delta=1e-5) <= eps + 1e-9
    assert joint.epsilon(plan.releases, delta=1e-5) > 0.999 * eps
    assert plan.ledger.releases == plan.releases
    assert all(release.sensitivity >= math.sqrt(2) for release in plan.releases)


def test_guarantee_persons_get_noise_for_all_of_their_records() -> None:
    one, three = plan_of(), plan_of(persons=3)
    for release, more in zip(one.releases, three.releases, strict=True):
        assert more.stddev == pytest.approx(3 * release.stddev)
    assert three.ledger.records_per_person == 3


def test_pairs_are_counted_again_where_there_are_many() -> None:
    names = [release.name for release in plan_of(MANY).releases]
    assert names == [releasing.COLUMNS, releasing.PAIRS, releasing.AGAIN]
    names = [release.name for release in plan_of(SCHEMA).releases]
    assert names == [releasing.COLUMNS, releasing.PAIRS]


def test_guarantee_the_choice_of_pairs_sees_what_was_released_alone() -> None:
    """Whatever it is told comes with noise, and is what is kept."""
    plan, private, told = plan_of(MANY, num=60, eps=LOUD), wide(60), []

    def choose(columns: np.ndarray, pairs: np.ndarray) -> Any:
        told.append((columns, pairs))
        return plan.pairs[:4]

    found = releasing.release(
        private,
        private_key(3),
        plan.domain,
        {release.name: release for release in plan.releases},
        pairs=plan.pairs,
        choose=choose,
        score=no_scores,
        ask=no_queries,
        num_records=60,
    )
    ((columns, pairs),) = told
    np.testing.assert_array_equal(columns, found.columns)
    np.testing.assert_array_equal(pairs, found.pairs)
    exact = np.bincount(plan.domain.cells(private.x, private.y)[:, 0]) / 60
    assert np.min(np.abs(columns[: len(exact)] - exact)) > 1e-6
    assert [tuple(pair) for pair in found.chosen] == list(plan.pairs[:4])


def test_guarantee_noise_of_every_part_is_its_own() -> None:
    """Of one key columns, pairs, chosen pairs and answers get four that differ."""
    plan, private = plan_of(MANY, num=60, eps=LOUD, quality_share=0.2), wide(60)
    loud = {r.name: dataclasses.replace(r, stddev=1e6) for r in plan.releases}
    found = releasing.release(
        private,
        private_key(3),
        plan.domain,
        loud,
        pairs=plan.pairs,
        choose=lambda columns, pairs: plan.pairs[:40],
        score=no_scores,
        ask=lambda columns: queries.choose(plan.domain, columns),
        num_records=60,
    )
    parts = [
        each / np.std(each) for each in (found.columns, found.pairs, found.again, found.answers)
    ]
    for one, other in itertools.combinations(range(4), 2):
        size = min(len(parts[one]), len(parts[other]))
        assert np.max(np.abs(parts[one][:size] - parts[other][:size])) > 0.1
        assert abs(np.corrcoef(parts[one][:size], parts[other][:size])[0, 1]) < 0.5


def test_guarantee_the_plan_adds_the_noise_that_its_ledger_tells() -> None:
    plan, private = plan_of(MANY, num=60, eps=LOUD), wide(60)
    # As much noise as hides which pairs are counted again.
    loud = tuple(dataclasses.replace(r, stddev=30 * r.stddev) for r in plan.releases)
    plan = dataclasses.replace(plan, releases=loud)
    silent = dataclasses.replace(
        plan, releases=tuple(dataclasses.replace(r, stddev=0.0) for r in plan.releases)
    )
    exact = silent.release(private, private_key(0), PlainRunner(progress=False))
    found = [plan.release(private, private_key(k), PlainRunner(progress=False)) for k in range(8)]
    for name, number in (("columns", len(plan.domain.widths)), ("pairs", len(plan.pairs))):
        stddev = plan.releases[0 if name == "columns" else 1].stddev * math.sqrt(number) / 60
        noise = np.stack([getattr(each, name) - getattr(exact, name) for each in found])
        assert np.std(noise) == pytest.approx(stddev, rel=5 / math.sqrt(noise.size))
    stddev = plan.releases[2].stddev * math.sqrt(marginals.plan.num_again(plan.domain, plan.pairs))
    again = np.concatenate([each.again for each in found])
    assert np.std(again) == pytest.approx(stddev / 60, rel=0.2)


def test_guarantee_the_certificate_is_that_of_the_counts() -> None:
    spec = Spec.table("toy", SCHEMA, 200)
    asked = marginals.Settings(eps=2.0, steps=2, num_synthetic=50)
    made, certificate = jaxdp.run(
        marginals, asked, spec, Private.of_frame(frame_of(200), SCHEMA), progress=False
    )
    facts = json.loads(certificate.to_json())
    assert 1.9 < certificate.epsilon <= 2 + 1e-9
    assert certificate.releasable
    assert "zero-out" in str(certificate)
    assert [each["name"] for each in facts["ledger"]["releases"]] == [
        releasing.COLUMNS,
        releasing.PAIRS,
    ]
    assert list(made.frame.columns) == list(SCHEMA.order)
    assert len(made.frame) == 50


def test_shares_that_leave_nothing_are_refused() -> None:
    with pytest.raises(SettingsError, match="leave nothing"):
        marginals.Settings(column_share=0.5, choice_share=0.5)
    with pytest.raises(SettingsError, match="leave nothing for pairs"):
        marginals.Settings(column_share=0.5, factor_share=0.5)


def test_images_are_refused() -> None:
    spec = jaxdp.Spec.images("scans", (60, 8, 8), class_names=["no", "yes"])
    with pytest.raises(SettingsError, match="tables with a schema"):
        marginals.complete(marginals.Settings(), spec)


def test_wide_tables_pair_columns_with_the_target_alone() -> None:
    many = {str(k): {"type": "numeric", "lower": 0, "upper": 1} for k in range(80)}
    plan = plan_of(schema_of(**many))
    last = len(plan.domain.widths) - 1
    assert all(pair[1] == last for pair in plan.pairs)
    assert len(plan.pairs) == last
    assert "with the target" in plan.story.notice


@pytest.mark.parametrize("relation", ["zero-out", "replace"])
def test_guarantee_second_moments_have_their_share_of_the_budget(relation: str) -> None:
    plan = plan_of(WIDE, quality_share=0.1, relation=relation, eps=2.0)
    names = [release.name for release in plan.releases]
    assert names == [releasing.COLUMNS, releasing.PAIRS, releasing.MOMENTS, releasing.ANSWERS]
    assert 0.999 * 2 < joint.epsilon(plan.releases, delta=1e-5) <= 2 + 1e-9
    spent = [(each.sensitivity / each.stddev) ** 2 for each in plan.releases]
    np.testing.assert_allclose(np.array(spent) / sum(spent), [0.09, 0.63, 0.18, 0.1], rtol=1e-6)
    assert plan.releases[2].sensitivity == (1.0 if relation == "zero-out" else math.sqrt(2))
    assert "directions" in plan.story.notice


@pytest.mark.parametrize("change", [{"num": 300}, {"factor_share": 0.0}, {"schema": MANY}])
def test_second_moments_are_released_where_they_tell_something(change: dict[str, Any]) -> None:
    plan = plan_of(**({"schema": WIDE} | change))
    assert releasing.MOMENTS not in [release.name for release in plan.releases]
    assert 0.999 < joint.epsilon(plan.releases, delta=1e-5) <= 1 + 1e-9


def test_wide_tables_without_a_target_count_columns_and_second_moments() -> None:
    many = {f"n{k}": {"type": "numeric", "lower": 0, "upper": 1} for k in range(80)}
    plan = plan_of(schema_of(**many, ill=None))
    assert [each.name for each in plan.releases] == [releasing.COLUMNS, releasing.MOMENTS]
    assert "columns alone; and in which directions" in plan.story.notice
    alone = plan_of(schema_of(**many, ill=None), num=100)
    assert "columns alone; columns are independent" in alone.story.notice


def test_guarantee_cells_are_scored_by_what_was_released_alone() -> None:
    plan, told = plan_of(WIDE, num=4000), []
    private, widths = records_of_wide(4000), plan.domain.widths

    def score(columns: np.ndarray, pairs: np.ndarray) -> Any:
        told.append((columns, pairs))
        return [np.full((width, 2), 1e-3) for width in (*widths[:-1], 1)]

    found = releasing.release(
        private,
        private_key(3),
        plan.domain,
        {release.name: release for release in plan.releases},
        pairs=plan.pairs,
        choose=lambda columns, pairs: [],
        score=score,
        ask=no_queries,
        num_records=4000,
    )
    ((columns, pairs),) = told
    np.testing.assert_array_equal(columns, found.columns)
    np.testing.assert_array_equal(pairs, found.pairs)
    exact = np.bincount(plan.domain.cells(private.x, private.y)[:, 0]) / 4000
    assert np.min(np.abs(columns[: len(exact)] - exact)) > 1e-7
    # Scores are next to nothing, so that what is seen is the noise.
    stddev = plan.releases[2].stddev / 4000
    assert np.std(np.diag(found.moments)) == pytest.approx(stddev, rel=0.3)
    above = found.moments[np.triu_indices(len(found.moments), 1)]
    assert np.std(above) == pytest.approx(stddev / math.sqrt(2), rel=0.1)
    small = np.concatenate([found.columns, np.zeros(len(above))])[: len(above)]
    assert abs(np.corrcoef(small[:200], above[:200])[0, 1]) < 0.4


def test_guarantee_noise_of_moments_is_that_of_no_other_part() -> None:
    plan, private = plan_of(WIDE, num=4000, quality_share=0.2), records_of_wide(4000)
    found = releasing.release(
        private,
        private_key(3),
        plan.domain,
        {r.name: dataclasses.replace(r, stddev=1e6) for r in plan.releases},
        pairs=plan.pairs,
        choose=lambda columns, pairs: [],
        score=lambda columns, pairs: [np.zeros((w, 2)) for w in (*plan.domain.widths[:-1], 1)],
        ask=lambda columns: queries.choose(plan.domain, columns),
        num_records=4000,
    )
    upper = np.triu_indices(len(found.moments))
    noised = found.moments[upper] * np.where(upper[0] == upper[1], 1.0, math.sqrt(2))
    own = noised / np.std(noised)
    for other in (found.columns, found.pairs, found.answers):
        size = min(len(own), len(other))
        assert np.max(np.abs(own[:size] - (other / np.std(other))[:size])) > 0.1
        assert abs(np.corrcoef(own[:size], other[:size])[0, 1]) < 0.5


def test_moments_are_used_again_with_their_counts() -> None:
    plan, runner = plan_of(WIDE, num=4000, num_synthetic=2000), PlainRunner(progress=False)
    released = plan.release(records_of_wide(4000), private_key(1), runner)
    assert released.moments.shape == (len(plan.domain.widths),) * 2
    made = plan.finish(released, runner)
    cells = plan.domain.cells(made.x, made.y)
    assert np.corrcoef(cells[:, 10:50].T)[np.triu_indices(40, 1)].mean() > 0.1

    def stored(released: Any) -> Earlier:
        return Earlier(
            Stored(
                released=released,
                options=None,
                example_shape=plan.spec.stored_shape,
                num_classes=1,
                certificate={"ledger": plan.ledger.to_json()},
                source="--counts=FILE",
                schema=plan.spec.schema_json,
            )
        )

    again = marginals.make_plan(plan.settings, plan.spec, stored(from_arrays(released._asdict())))
    np.testing.assert_array_equal(again.finish(released, runner).x, made.x)
    for change in (np.zeros((3, 3)), np.empty((0, 0)), 1e200 * released.moments):
        with pytest.raises(SettingsError, match="--counts=FILE: its"):
            marginals.make_plan(plan.settings, plan.spec, stored(released._replace(moments=change)))


def test_pairs_are_those_that_tell_more_than_noise() -> None:
    """The rule knows the numbers of records and columns and the budget."""
    assert plan_of(MANY, num=NUM).pairs == plan_of(MANY, num=100, eps=LOUD).pairs
    for few in (plan_of(MANY, num=300), plan_of(MANY, num=NUM, eps=0.05)):
        last = few.domain.target
        assert few.pairs == tuple(pair for pair in few.domain.pairs if pair[1] == last)
        assert [each.name for each in few.releases] == [releasing.COLUMNS, releasing.PAIRS]
        assert "given it, columns are independent" in few.story.notice
        assert joint.epsilon(few.releases, delta=1e-5) <= few.settings.eps + 1e-9


def test_without_a_target_all_pairs_are_counted() -> None:
    plan = plan_of(schema_of(ill=None), num=50)
    assert plan.domain.target is None
    assert plan.pairs == plan.domain.pairs


def test_guarantee_counts_of_few_pairs_have_the_noise_that_is_told() -> None:
    plan, private = plan_of(MANY, num=60), wide(60)
    silent = dataclasses.replace(
        plan, releases=tuple(dataclasses.replace(r, stddev=0.0) for r in plan.releases)
    )
    exact = silent.release(private, private_key(0), PlainRunner(progress=False))
    found = [plan.release(private, private_key(k), PlainRunner(progress=False)) for k in range(8)]
    noise = np.stack([each.pairs - exact.pairs for each in found])
    stddev = plan.releases[1].stddev * math.sqrt(len(plan.pairs)) / 60
    assert np.std(noise) == pytest.approx(stddev, rel=5 / math.sqrt(noise.size))


def test_a_run_of_few_records_ends_and_goes_on_from_its_counts() -> None:
    plan, runner = plan_of(MANY, num=60, num_synthetic=20), PlainRunner(progress=False)
    released = plan.release(wide(60), private_key(1), runner)
    assert len(plan.finish(released, runner).y) == 20
    stored = Stored(
        released=released,
        options=None,
        example_shape=plan.spec.stored_shape,
        num_classes=1,
        certificate={"ledger": plan.ledger.to_json()},
        source="--counts=FILE",
        schema=plan.spec.schema_json,
    )
    again = marginals.make_plan(plan.settings, plan.spec, Earlier(stored))
    assert again.pairs == plan.pairs
    np.testing.assert_array_equal(again.finish(released, runner).x, plan.finish(released, runner).x)


def test_no_step_of_fitting_knows_the_records() -> None:
    """The same counts make the same table, whoever they are of."""
    plan, runner = (
        plan_of(MANY, num=60, eps=LOUD, steps=3, num_synthetic=20),
        PlainRunner(progress=False),
    )
    released = plan.release(wide(60), private_key(1), runner)
    first, second = (plan.finish(released, runner) for _ in range(2))
    np.testing.assert_array_equal(first.x, second.x)


@pytest.mark.parametrize(
    "change",
    [
        {"columns": slice(1, None)},
        {"pairs": slice(1, None)},
        {"again": slice(1, None)},
        {"chosen": slice(1, None)},
        {"chosen": [0] * 42},
    ],
)
def test_counts_of_another_schema_are_refused(change: dict[str, Any]) -> None:
    """As those of a file that somebody has edited: every index in it is looked at."""
    plan = plan_of(MANY, num=60, eps=LOUD)
    found = plan.release(wide(60), private_key(1), PlainRunner(progress=False))
    assert len(found.chosen) == 42
    ((name, which),) = change.items()
    spec = plan.spec
    stored = Stored(
        released=found._replace(**{name: getattr(found, name)[which]}),
        options=None,
        example_shape=spec.stored_shape,
        num_classes=1,
        certificate={"ledger": plan.ledger.to_json()},
        source="--counts=FILE",
        schema=spec.schema_json,
    )
    with pytest.raises(SettingsError, match="--counts=FILE: its counts are not those"):
        marginals.make_plan(plan.settings, spec, Earlier(stored))
    right = dataclasses.replace(stored, released=found)
    assert marginals.make_plan(plan.settings, spec, Earlier(right)).ledger is None


@pytest.mark.parametrize("relation", ["zero-out", "replace"])
def test_guarantee_answers_to_queries_have_their_share_of_the_budget(relation: str) -> None:
    plan = plan_of(MANY, quality_share=0.2, relation=relation)
    names = [release.name for release in plan.releases]
    assert names == [releasing.COLUMNS, releasing.PAIRS, releasing.AGAIN, releasing.ANSWERS]
    assert 0.999 < joint.epsilon(plan.releases, delta=1e-5) <= 1 + 1e-9
    spent = [(each.sensitivity / each.stddev) ** 2 for each in plan.releases]
    assert spent[-1] / sum(spent) == pytest.approx(0.2)
    assert plan.releases[-1].sensitivity == 1.0
    assert plan.ledger.releases == plan.releases


def test_guarantee_queries_are_chosen_by_what_was_released_and_answered_with_its_noise() -> None:
    plan, runner = plan_of(SCHEMA, num=200, quality_share=0.3), PlainRunner(progress=False)
    private = Private.of_frame(frame_of(200), SCHEMA)
    found = [plan.release(private, private_key(seed), runner) for seed in range(30)]
    noise = []
    for released in found:
        cells = plan.domain.cells(private.x, private.y)
        asked = queries.choose(plan.domain, released.columns)
        exact = np.array([np.mean(answers(cells, query)) for query in asked])
        noise.append(released.answers - exact)
    stddev = plan.releases[-1].stddev * queries.NUM**0.5 / 200
    assert np.std(noise) == pytest.approx(stddev, rel=0.1)
    assert abs(np.corrcoef(np.array(noise)[:, 0], np.array(noise)[:, 1])[0, 1]) < 0.6


def test_a_made_table_tells_how_far_it_is_from_the_private_one() -> None:
    spec = Spec.table("toy", SCHEMA, 200)
    private = Private.of_frame(frame_of(200), SCHEMA)
    for share in (0.0, 0.2):
        asked = marginals.Settings(eps=2.0, steps=2, num_synthetic=50, quality_share=share)
        made, _ = jaxdp.run(marginals, asked, spec, private, progress=False)
        assert (made.quality is None) == (share == 0)
    assert made.quality is not None
    assert made.quality["queries"] == queries.NUM
    low, high = made.quality["interval"]
    assert 0 <= low <= made.quality["error"] <= high < 1


def test_counts_of_before_there_were_answers_are_read() -> None:
    plan, runner = plan_of(SCHEMA, num=200), PlainRunner(progress=False)
    released = plan.release(Private.of_frame(frame_of(200), SCHEMA), private_key(0), runner)
    arrays = released._asdict()
    del arrays["answers"]
    assert len(from_arrays(arrays).answers) == 0
    with pytest.raises(ValueError, match="shapes"):
        from_arrays(arrays | {"answers": np.zeros((2, 2))})


def test_counts_of_other_bins_end_a_run_that_goes_on() -> None:
    plan, runner = plan_of(SCHEMA, num=200), PlainRunner(progress=False)
    released = plan.release(Private.of_frame(frame_of(200), SCHEMA), private_key(0), runner)
    with pytest.raises(SettingsError, match="another version of jaxdp has cut these"):
        plan.finish(released._replace(pairs=released.pairs[:-1]), runner)
