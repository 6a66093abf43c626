"""A schema that is bought: what it tells, what it costs, and that nothing else gets into it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from jaxdp.bought import Planned, Purchase, UncertainClassesError, buy_schema, filled, release
from jaxdp.bought.wanted import Wanted
from jaxdp.privacy import (
    Ledger,
    cell_counts,
    ordered_counts,
    private_key,
    releases,
    unknown_texts,
)
from jaxdp.tables import (
    Column,
    Domain,
    OpenSchema,
    Schema,
    SchemaError,
    decode,
    encode,
    raw,
    scales,
)

NUM = 4000
NUMBER: dict[str, Any] = {"type": "numeric", "lower": None, "upper": None, "nullable": None}
DRAFT: dict[str, Any] = {
    "columns": {
        "age": NUMBER | {"integer": True},
        "pay": NUMBER | {"decimals": 2},
        "score": {"type": "numeric", "lower": 0, "upper": 1000, "decimals": 1},
        "sensor": NUMBER,
        "rating": {"type": "numeric", "lower": 1, "upper": 5, "integer": True},
        "day": {"type": "date", "format": "%Y-%m-%d", "lower": None, "upper": None},
        "city": {"type": "categorical", "categories": None, "nullable": None},
        "ill": {"type": "categorical", "categories": ["no", "yes"], "target": True},
    }
}


def frame_of(num: int = NUM, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2015-03-01") + pd.to_timedelta(rng.integers(0, 900, num), unit="D")
    pay = np.where(rng.random(num) < 0.3, 0, np.round(rng.lognormal(8, 0.7, num), 2))
    frame = pd.DataFrame(
        {
            "age": np.clip(rng.normal(50, 15, num), 18, 95).astype(int).astype(str),
            "pay": [f"{each:.2f}" for each in pay],
            "score": np.round(rng.beta(5, 2, num) * 100, 1).astype(str),
            "sensor": np.where(rng.random(num) < 0.2, -200, rng.normal(20, 5, num)).astype(str),
            "rating": rng.integers(1, 6, num).astype(str),
            "day": days.strftime("%Y-%m-%d"),
            "city": rng.choice(["Rome", "Oslo", "Bern", "NA"], num, p=[0.5, 0.3, 0.05, 0.15]),
            "ill": rng.choice(["no", "yes"], num),
        }
    )
    frame.loc[0, "city"] = "Nobody else"
    return frame


def bought(
    frame: pd.DataFrame | None = None, *, epsilon: float = 20.0, draft: Any = DRAFT, **more: Any
) -> Schema:
    purchase = Purchase(epsilon=epsilon, delta=1e-6, **more)
    return buy_schema(frame_of() if frame is None else frame, draft, purchase)


def column(schema: Schema, name: str) -> Any:
    return next(each for each in schema.declared if each.name == name)


@pytest.mark.parametrize("epsilon", [20.0, math.inf])
def test_a_schema_tells_what_is_in_the_table(epsilon: float) -> None:
    schema = bought(epsilon=epsilon)
    age, pay, score, sensor, rating, day, city, _ = (
        column(schema, name) for name in DRAFT["columns"]
    )
    assert 10 <= age.lower <= 20
    assert 85 <= age.upper <= 110
    assert not age.nullable
    assert pay.lower == 0
    assert 0.0 in pay.spikes
    assert 10_000 < pay.upper < 150_000
    assert score.bounds == (0, 1000), "what is public stays"
    assert 20 < len(score.inner_edges) < 40
    assert np.mean(np.array(score.inner_edges) <= 100) > 0.9, "bins lie where records do"
    assert sensor.spikes == (-200.0,)
    assert (rating.bins, rating.spikes) == (5, ())
    assert "2015-01" <= day.lower <= "2015-03-04"
    assert "2017-08-10" <= day.upper <= "2018-03"
    assert city.nullable
    assert set(city.categories) >= {"Rome", "Oslo", "Bern"}
    assert "NA" not in city.categories, "it stands for a missing value"
    assert ("Nobody else" in city.categories) == (epsilon == math.inf)
    x, y = encode(frame_of(), schema)
    assert np.isfinite(x).all()
    assert set(y) == {0, 1}


def test_spikes_of_many_digits_are_bought_and_come_back() -> None:
    rng, sizes = np.random.default_rng(2), np.log(np.arange(1, 5))
    values = np.where(rng.random(NUM) < 0.8, rng.choice(sizes, NUM), rng.uniform(0, 4, NUM))
    values[0] = 1.0986132  # beside the spike log(3), in its leaf
    frame = pd.DataFrame({"size": np.round(values, 6).astype(str)})
    draft = {"columns": {"size": NUMBER | {"nullable": False}}}
    schema = bought(frame, draft=draft, epsilon=3.0, noise_seed=0)
    size = column(schema, "size")
    assert size.spikes == (0.0, 0.693147, 1.098612, 1.386294)
    short = np.diff([size.lower, *(edge for edge in size.bins), size.upper])
    assert np.min(short) > 0.02, "a leaf of nothing but its spike is no bin of its own"
    domain, rng = Domain(schema), np.random.default_rng(0)
    x, y = domain.stored(domain.cells(*encode(frame, schema)), rng)
    made = decode(x, y, schema)["size"].to_numpy()
    for spike in size.spikes:
        assert np.sum(made == spike) == np.sum(np.round(values, 6) == spike)


@pytest.mark.parametrize("bounds", [(None, None), (0, 100)])
def test_bought_spikes_have_the_digits_of_their_column(bounds: tuple[Any, Any]) -> None:
    """The schema refuses others."""
    rng = np.random.default_rng(0)
    values = np.where(rng.random(NUM) < 0.7, 49.95, rng.uniform(0, 100, NUM))
    low, high = bounds
    pay = {"type": "numeric", "lower": low, "upper": high, "decimals": 1}
    schema = bought(
        pd.DataFrame({"pay": values}), draft={"columns": {"pay": pay}}, epsilon=5.0, noise_seed=0
    )
    (spike,) = column(schema, "pay").spikes
    assert spike in (49.9, 50.0)


def test_an_upper_bound_of_0_is_bought_as_a_spike() -> None:
    """The next number of float64 is 5e-324."""
    depth = {"type": "numeric", "lower": -200, "upper": 0}
    values = np.where(np.arange(NUM) % 2 == 0, 0.0, -np.arange(NUM) / NUM * 150)
    frame = pd.DataFrame({"depth": values})
    schema = bought(frame, draft={"columns": {"depth": depth}}, epsilon=5.0, noise_seed=0)
    assert column(schema, "depth").spikes == (0.0,)


@pytest.mark.parametrize("facts", [{}, {"decimals": 1}, {"upper": 99.97}, {"integer": True}])
def test_what_many_records_have_at_the_upper_bound_is_a_spike(facts: dict[str, Any]) -> None:
    score: dict[str, Any] = {"type": "numeric", "lower": 0, "upper": 100} | facts
    rng = np.random.default_rng(0)
    values = np.round(rng.uniform(0, 90, NUM))
    values[: NUM // 5] = 500  # it is read as the upper bound
    values[: NUM // 8] = score["upper"]
    frame = pd.DataFrame({"score": values})
    schema = bought(frame, draft={"columns": {"score": score}}, epsilon=5.0, noise_seed=0)
    assert score["upper"] in column(schema, "score").spikes
    domain, rng = Domain(schema), np.random.default_rng(0)
    x, y = domain.stored(domain.cells(*encode(frame, schema)), rng)
    made = decode(x, y, schema)["score"].astype(float).to_numpy()
    assert np.sum(made == score["upper"]) == NUM // 5


def test_guarantee_a_number_of_few_records_is_no_spike() -> None:
    values = np.full(NUM, 5.0)
    values[: NUM // 2] = np.linspace(4.99, 5.01, NUM // 2)
    numbers = {"a": values, "b": np.append(values[:-1], 5.0012345)}
    (made,) = releases.calibrate({"all": math.sqrt(2)}, target_epsilon=1.0, delta=1e-6)
    inside, likely = [(4.9, 5.1)], [5.0, 4.95]
    found = release.spikes(
        private_key(0),
        numbers,
        dict.fromkeys(numbers, inside),
        dict.fromkeys(numbers, likely),
        made,
        threshold_delta=1e-7,
        records_per_person=1,
    )
    assert [set(counts) for counts in found.values()] == [{5.0, 4.95}] * 2
    assert abs(found["a"][5.0] - NUM / 2) < 60
    assert abs(found["a"][4.95]) < 60


def test_guarantee_thresholds_share_the_chance_that_the_ledger_tells() -> None:
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        for name in ("texts", "spikes"):
            original = getattr(release, name)

            def watched(*args: Any, _f: Any = original, **more: Any) -> Any:
                seen.append(more["threshold_delta"])
                return _f(*args, **more)

            patch.setattr(release, name, watched)
        schema = bought()
    assert len(seen) == 2
    assert schema.bought is not None
    assert sum(seen) == pytest.approx(Ledger.from_json(schema.bought.ledger).threshold_delta)


def test_guarantee_a_purchase_costs_its_share_of_the_budget() -> None:
    for share, most in ((1.0, 1), (0.2, 1), (0.2, 3)):
        schema = bought(epsilon=1.0, share=share, records_per_person=most)
        assert schema.bought is not None
        ledger = Ledger.from_json(schema.bought.ledger)
        whole = releases.calibrate(
            {"all": 1.0}, target_epsilon=1.0, delta=0.9e-6, records_per_person=most
        )[0]
        assert ledger.noise_multiplier == pytest.approx(whole.stddev / math.sqrt(share))
        assert ledger.records_per_person == most
        assert ledger.threshold_delta == pytest.approx(1e-7)
        assert ledger.epsilon() <= 1 + 1e-6
        assert not ledger.seeded_noise
    assert Ledger.from_json(bought(noise_seed=1).bought.ledger).seeded_noise  # type: ignore[union-attr]


def test_nothing_open_costs_nothing() -> None:
    columns = {"rating": DRAFT["columns"]["rating"], "ill": DRAFT["columns"]["ill"]}
    closed = {"columns": columns | {"rating": columns["rating"] | {"bins": 5}}}
    frame = frame_of()[["rating", "ill"]]
    assert bought(frame, draft=closed).bought is None
    few = bought(frame, draft={"columns": columns})
    assert few.bought is None, "five values are known in public"
    assert column(few, "rating").bins == 5


class Watched:
    """All exact sums, in the order in which noise is added; fixed noisy ones take their place."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.exact: list[np.ndarray] = []
        self.stddevs: list[float] = []
        self.kept: list[np.ndarray] | None = None
        for module in (cell_counts, ordered_counts, unknown_texts):
            monkeypatch.setattr(module, "noisy_sums", self._noisy)

    def _noisy(self, key: Any, exact: np.ndarray, release: Any) -> np.ndarray:
        self.exact.append(exact)
        self.stddevs.append(release.stddev)
        if self.kept is None:
            return exact + release.stddev * np.random.default_rng(len(self.exact)).normal(
                size=len(exact)
            )
        kept = self.kept[len(self.exact) - 1]
        # A text that is new has a count of its own, which is far from the threshold.
        return np.append(kept, exact[len(kept) :])

    def again(self) -> list[np.ndarray]:
        exact, self.exact = self.exact, []
        return exact


CHANGES: dict[str, Callable[[pd.DataFrame], None]] = {
    "other values": lambda f: f.__setitem__("age", _first(f.age, "77")),
    "a missing value": lambda f: f.__setitem__("age", _first(f.age, "NA")),
    "far beyond": lambda f: f.__setitem__("pay", _first(f.pay, "1e12")),
    "below zero": lambda f: f.__setitem__("pay", _first(f.pay, "-5000000")),
    "outside of public bounds": lambda f: f.__setitem__("score", _first(f.score, "99999")),
    "a category that nobody has": lambda f: f.__setitem__("city", _first(f.city, "Atlantis")),
    "no category": lambda f: f.__setitem__("city", _first(f.city, "")),
    "another year": lambda f: f.__setitem__("day", _first(f.day, "1850-01-01")),
    "another class": lambda f: f.__setitem__("ill", _first(f.ill, "yes")),
}


def _first(values: pd.Series, value: str) -> pd.Series:
    return pd.Series([value, *values[1:]])


@pytest.mark.parametrize("change", CHANGES)
def test_guarantee_a_record_moves_noised_sums_alone(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever one record holds: sums move by their sensitivity, and nothing else moves."""
    watched = Watched(monkeypatch)
    before = bought(epsilon=3.0)
    sums = watched.again()
    watched.kept = [
        each + stddev * np.random.default_rng(number).normal(size=len(each))
        for number, (each, stddev) in enumerate(zip(sums, watched.stddevs, strict=True), 1)
    ]
    changed = frame_of()
    CHANGES[change](changed)
    after = bought(changed, epsilon=3.0)
    assert after.to_json()["columns"] == before.to_json()["columns"]
    # By release, of which some add noise column by column.
    parts: dict[float, float] = {}
    for then, now, stddev in zip(sums, watched.again(), watched.stddevs, strict=False):
        moved = now.astype(float).copy()
        moved[: len(then)] -= then
        parts[stddev] = parts.get(stddev, 0.0) + float(np.sum(moved**2))
    assert max(parts.values()) <= 2 + 1e-6
    assert len(parts) == 4, "each release has its own noise"


def test_guarantee_releases_have_keys_of_their_own() -> None:
    schema = bought(noise_seed=3)
    assert bought(noise_seed=3).to_json()["columns"] == schema.to_json()["columns"]
    assert bought(noise_seed=4).to_json()["columns"] != schema.to_json()["columns"]
    seen = []
    original = {name: getattr(release, name) for name in ("look", "texts", "sums", "spikes")}
    with pytest.MonkeyPatch.context() as patch:
        for name, function in original.items():
            patch.setattr(
                release,
                name,
                lambda key, *rest, _f=function, **more: (seen.append(key), _f(key, *rest, **more))[
                    1
                ],
            )
        bought(noise_seed=3)
    assert len({str(np.asarray(key_data(key)).tolist()) for key in seen}) == 4


def key_data(key: Any) -> Any:
    import jax

    return jax.random.key_data(key)


def test_guarantee_a_purchase_is_for_as_many_records_as_were_planned() -> None:
    opened = OpenSchema.from_json(DRAFT)
    planned = Planned(opened, Purchase(epsilon=1.0, delta=1e-6), NUM + 1)
    with pytest.raises(ValueError, match="records were planned"):
        planned.buy(raw.read(frame_of(), opened.schema))


def test_a_target_is_bought_with_a_class_of_others() -> None:
    draft = {
        "columns": {
            "age": DRAFT["columns"]["age"],
            "city": {"type": "categorical", "categories": None, "target": True},
        }
    }
    frame = frame_of()[["age", "city"]].replace({"city": {"NA": "Rome"}})
    frame.loc[:200, "city"] = [f"village {number}" for number in range(201)]
    schema = bought(frame, draft=draft)
    assert schema.class_names[-1] == "other"
    _, y = encode(frame, schema)
    assert (y[:201] == len(schema.class_names) - 1).all()
    assert Schema.from_json(schema.to_json()) == schema


def test_a_target_without_two_certain_classes_loses_nothing_else() -> None:
    age, classes = DRAFT["columns"]["age"], {"type": "categorical", "target": True}
    open_classes = classes | {"categories": None, "nullable": None}
    draft = {"columns": {"age": age, "city": open_classes}}
    frame = frame_of()[["age", "city"]].assign(city="Rome")
    with pytest.raises(UncertainClassesError, match="fewer than two classes") as caught:
        bought(frame, draft=draft)
    kept = caught.value.schema
    assert kept.target is None
    assert 10 <= column(kept, "age").lower <= 20
    declared = {"columns": {"age": age, "city": classes | {"categories": ["Rome", "Oslo"]}}}
    again = OpenSchema.from_json(declared).filled_by(kept)
    assert again is not None
    assert again.class_names == ("Rome", "Oslo")
    assert column(again, "age") == column(kept, "age")
    assert again.bought is not None
    assert again.bought.ledger == kept.bought.ledger  # type: ignore[union-attr]
    assert set(again.bought.facts) == {"age"}, "nobody bought what is declared"
    named = classes | {"categories": ["Rome", "Oslo"], "classes": {"no": ["Rome"], "yes": ["Oslo"]}}
    for facts in (named, {"type": "boolean", "target": True}):
        other = OpenSchema.from_json({"columns": {"age": age, "city": facts}}).filled_by(kept)
        assert other is not None
        assert other.class_names == (("no", "yes") if facts is named else ("False", "True"))
        assert column(other, "age") == column(kept, "age")
    with pytest.raises(SchemaError, match="no category of it"):
        encode(frame.assign(city="Bern"), again)
    with pytest.raises(SchemaError, match="at least two classes"):
        OpenSchema.from_json(draft).filled_by(kept)


@pytest.mark.parametrize("text", ["", "NA", "?", None])
def test_guarantee_a_class_that_is_missing_is_found_before_anything_is_counted(
    text: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would become another class."""
    monkeypatch.setattr("jaxdp.bought.purchase.facts_of", lambda *_, **__: pytest.fail("counted"))
    classes = {"type": "categorical", "categories": None, "target": True}
    columns = {"age": DRAFT["columns"]["age"], "ill": classes}
    draft = {"missing": ["", "NA", "?"], "columns": columns}
    frame = frame_of()[["age", "ill"]]
    frame.loc[7, "ill"] = text
    with pytest.raises(SchemaError, match="is the target, and values are missing there"):
        bought(frame, draft=draft)


@pytest.mark.parametrize("num", [1, 2, 30])
def test_few_records_make_a_schema_all_the_same(num: int) -> None:
    schema = bought(frame_of(num), epsilon=1.0)
    x, _ = encode(frame_of(num), schema)
    assert np.isfinite(x).all()


def test_columns_of_nothing_make_a_schema_all_the_same() -> None:
    frame = frame_of().assign(age="", city="NA", pay="7")
    schema = bought(frame, epsilon=1.0)
    assert column(schema, "age").nullable
    assert column(schema, "city").nullable
    encode(frame, schema)


@pytest.mark.parametrize(
    "wrong", [{"epsilon": 0.0}, {"delta": 0.0}, {"delta": 1.0}, {"share": 0.0}, {"share": 1.1}]
)
def test_a_purchase_out_of_range_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="need epsilon"):
        Purchase(**{"epsilon": 1.0, "delta": 1e-6} | wrong)


def test_guarantee_several_processes_buy_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jaxdp.processes.are_several", lambda: True)
    with pytest.raises(ValueError, match="by one process"):
        bought(epsilon=1.0)


@pytest.mark.parametrize(
    ("facts", "values"),
    [
        ({"type": "numeric", "integer": True, "dtype": "uint8"}, range(256)),
        ({"type": "numeric", "integer": True, "dtype": "int8"}, range(-128, 128)),
        ({"type": "numeric", "suffix": " apples"}, [f"-{each} apples" for each in range(99)]),
        ({"type": "date", "format": "%d/%m/%y"}, ["05/01/69", "31/12/68", "02/02/99"]),
        ({"type": "duration", "format": "H:MM:SS"}, ["-0:10:00", "0:00:00"]),
    ],
)
def test_bounds_are_those_that_a_column_may_have(facts: dict[str, Any], values: Any) -> None:
    frame = pd.DataFrame({"it": np.resize(np.array(values), NUM)})
    schema = bought(frame, draft={"columns": {"it": facts | {"lower": None, "upper": None}}})
    assert Schema.from_json(schema.to_json()) == schema


@pytest.mark.parametrize(
    ("facts", "first", "last"),
    [
        ({"type": "date", "format": "%d.%m.%Y"}, "03.02.1780", "30.11.1889"),
        ({"type": "date", "format": "%Y-%m-%d"}, "1990-01-01", "9999-12-31"),
        ({"type": "timestamp", "format": "%Y-%m-%d %H:%M"}, "1021-01-01 00:00", "1400-05-06 07:08"),
        ({"type": "numeric", "integer": True}, 1.6e15, 1.7e15),
        ({"type": "numeric", "decimals": 0}, 1.6e18, 1.7e18),
        ({"type": "numeric"}, -4e25, 3e25),
    ],
)
def test_bounds_are_found_wherever_numbers_lie(
    facts: dict[str, Any], first: Any, last: Any
) -> None:
    """Nanoseconds since 1970, dates of birth of a register, days that never come."""
    written = Column(name="it", **facts, lower=first, upper=last)
    low, high = written.bounds
    numbers = np.random.default_rng(0).uniform(low, high, NUM)
    numbers[: NUM // 5] = high
    is_number = facts["type"] == "numeric"
    texts = [str(int(number)) if is_number else written.write(number) for number in numbers]
    frame = pd.DataFrame({"it": texts})
    schema = bought(
        frame, draft={"columns": {"it": facts | dict.fromkeys(["lower", "upper"])}}, epsilon=2.0
    )
    found = schema.columns[0]
    reach = (high - low) / 5
    assert low - reach <= found.bounds[0] <= low + reach
    assert high - reach <= found.bounds[1] <= high + reach
    stored, _ = encode(frame, schema)
    assert len(np.unique(stored)) > 100


def test_whole_numbers_beyond_what_is_exact_end_there() -> None:
    """The made table tells it, by a warning."""
    frame = pd.DataFrame({"it": [str(10**17 + n) for n in range(NUM)]})
    draft = {"columns": {"it": {"type": "numeric", "integer": True, "lower": None, "upper": None}}}
    found = bought(frame, draft=draft).columns[0]
    assert found.bounds[1] == 2**53 - 1
    assert scales.beyond(found) == (False, True)


@pytest.mark.parametrize(
    ("facts", "values"),
    [
        ({"type": "numeric"}, (0.0, 100.0)),
        ({"type": "date", "format": "%d.%m.%Y"}, ("01.01.2023", "31.12.2024")),
    ],
)
def test_bounds_of_ordered_columns_reach_as_far_as_each_other(
    facts: dict[str, Any], values: tuple[Any, Any]
) -> None:
    """The end of a stay is bought, and noise may put its last day before that of all admissions."""
    low, high = values
    free = facts | {"lower": None, "upper": None}
    columns = {"start": facts | {"lower": low, "upper": high}, "middle": free, "end": free}
    rule = {"order": ["start", "middle", "end"]}
    wanted = Wanted(OpenSchema.from_json({"columns": columns, "rules": [rule]}))
    inside = ("20.02.2023", "26.11.2024") if facts["type"] == "date" else (20.0, 50.0)
    bounds = dict(zip(("lower", "upper"), inside, strict=True))
    found = {"middle": dict(bounds), "end": dict(bounds)}
    filled.in_order(wanted, found)
    assert [found[name]["upper"] for name in found] == [high, high]
    assert [found[name]["lower"] for name in found] == [inside[0]] * 2
    found = {"middle": dict(bounds), "end": dict(bounds)}
    wanted = Wanted(OpenSchema.from_json({"columns": columns}))
    filled.in_order(wanted, found)
    assert found == {"middle": bounds, "end": bounds}


def test_a_bin_for_each_value_stays_one_where_bounds_are_widened() -> None:
    whole = {"type": "numeric", "integer": True}
    columns = {
        "start": whole | {"lower": 0, "upper": 200},
        "end": whole | dict.fromkeys(["lower", "upper"]),
    }
    draft = {"columns": columns, "rules": [{"order": ["start", "end"]}]}
    found: dict[str, dict[str, Any]] = {"end": {"lower": 5, "upper": 8, "bins": 4}}
    filled.in_order(Wanted(OpenSchema.from_json(draft)), found)
    assert found == {"end": {"lower": 5, "upper": 200, "bins": [6, 7, 8, 9]}}
    columns["end"] |= found["end"]
    assert Schema.from_json(draft).columns[1].bounds == (5, 200)


@pytest.mark.parametrize("frame", [frame_of(), frame_of().drop(columns="ill")])
def test_guarantee_what_is_no_class_is_found_before_anything_is_counted(
    frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jaxdp.bought.purchase.facts_of", lambda *_, **__: pytest.fail("counted"))
    if "ill" in frame:
        frame.loc[7, "ill"] = "perhaps"
    with pytest.raises(SchemaError, match="is the target, and the table"):
        bought(frame)


@pytest.mark.parametrize("bins", [None, 4])
@pytest.mark.parametrize("spikes", [[-99], [0, 7.5], [5000]])
def test_declared_spikes_are_within_what_is_bought(bins: int | None, spikes: list[float]) -> None:
    """No record has them, so the part in use does not hold them."""
    frame = pd.DataFrame({"pay": np.random.default_rng(0).uniform(100, 200, NUM)})
    pay = {"type": "numeric", "lower": None, "upper": None, "spikes": spikes}
    pay |= {} if bins is None else {"bins": bins}
    schema = buy_schema(frame, {"columns": {"pay": pay}}, Purchase(epsilon=5.0, delta=1e-5))
    (found,) = schema.columns
    assert set(spikes) <= set(found.spikes)
    assert found.bounds[0] <= min(spikes)
    assert found.bounds[1] >= max(spikes)
    closed = {"type": "numeric", "lower": -100, "upper": max(300, *spikes, 0), "spikes": spikes}
    schema = buy_schema(frame, {"columns": {"pay": closed}}, Purchase(epsilon=5.0, delta=1e-5))
    assert set(spikes) <= set(schema.columns[0].spikes)
