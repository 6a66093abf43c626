"""What the page takes from a form, and what it says of data before a run."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from absl.testing import flagsaver
from support.own_folder import write_shapes

from jaxdp.bought import Purchase, buy_schema
from jaxdp.methods import certified, marginals
from jaxdp.methods.settings import SettingsError, types_of
from jaxdp.methods.stored import Earlier
from jaxdp.privacy import DatasetLedger, GaussianRelease, Ledger
from jaxdp.program import command_line, first_schema
from jaxdp.program.commands import recommend
from jaxdp.program.data import answers
from jaxdp.program.data.outside_files import table_name
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import RunFlags
from jaxdp.program.runs import dataset_ledgers, recommendation, schema_purchase
from jaxdp.program.ui import inputs, spending, typed_words
from jaxdp.program.ui.columns import facts_of
from jaxdp.tables import raw

SPEC = recommendation.spec_of((28, 28, 1), 6000, 10)


@pytest.fixture
def table(tmp_path: Path) -> inputs.Table:
    path = tmp_path / "stays.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "ward"])
        writer.writerows([[20 + number % 60, "ab"[number % 2]] for number in range(80)])
    found = inputs.read(str(path), {})
    assert isinstance(found, inputs.Table)
    return found


def test_columns_that_would_be_classes_are_found(tmp_path: Path) -> None:
    path = tmp_path / "stays.csv"
    path.write_text("age,ill,ward\n" + "".join(f"{n % 60},{n % 2},a\n" for n in range(80)))
    found = inputs.read(str(path), {})
    assert isinstance(found, inputs.Table)
    assert list(found.classes) == ["ill"]
    assert found.columns["ill"] == answers.WHOLE
    told = inputs.read(str(path), {"target": "ill"})
    assert isinstance(told, inputs.Table)
    assert told.columns["ill"] == found.classes["ill"]


def test_the_first_way_is_what_the_command_takes_by_itself() -> None:
    first, *others = inputs.ways(SPEC, 1.0)
    assert first.words == []
    assert "accuracy" in first.expected
    assert "two CPU cores" in first.takes
    assert {way.words[0] for way in others} == {
        "--method=teacher",
        "--method=dp_ntk",
        "--method=dp_kip",
    }
    assert not any("--eps" in word for way in others for word in way.words)


def test_a_weak_case_is_warned_of() -> None:
    few = recommendation.spec_of((28, 28, 1), 40, 10)
    assert "noise" in inputs.ways(few, 0.3)[0].expected


def test_a_typed_relation_is_expected_by_and_stands_in_no_way_twice() -> None:
    more = "--steps=3 --relation=replace"
    assert typed_words.relation_of(more) == "replace"
    for unreadable in ("", "--relation=none", '--relation="'):
        assert typed_words.relation_of(unreadable) == "zero-out"
    plain, replaced = (inputs.ways(SPEC, 1.0, relation) for relation in ("zero-out", "replace"))
    assert [way.words for way in plain] == [way.words for way in replaced]
    assert plain[0].expected != replaced[0].expected
    assert inputs.curve(SPEC, 1.0) != inputs.curve(SPEC, 1.0, "replace")


def test_a_curve_is_a_picture_or_nothing() -> None:
    found = inputs.curve(SPEC, 1.0)
    assert found is not None
    assert found.startswith("<svg ")
    assert inputs.curve(recommendation.spec_of((28, 28, 1), 6000, 5000), 1.0) is None


def test_what_an_epsilon_means_grows_with_it() -> None:
    said = [
        spending.attack(spending.of_next_run(epsilon, SPEC, None, ""))
        for epsilon in (0.3, 1.0, 10.0)
    ]
    right = [float(re.findall(r"at most ([\d.]+) %", text)[0]) for text in said]
    assert 50 < right[0] < right[1] < right[2] <= 100


def test_all_runs_are_added_up_with_the_next_one(table: inputs.Table) -> None:
    spends = spending.of_next_run(1.0, SPEC, None, "")
    assert spending.has_ledger(table)
    assert spending.spent_before(table) == "Nothing, by their ledger."
    assert spending.together(table, spends) == ""
    assert spending.ledger_stamp(table) is None
    file = dataset_ledgers.of_run(RunFlags(csv=str(table.path)))
    assert file is not None
    release = GaussianRelease(name="counts", sensitivity=1.0, stddev=5.0)
    ledger = Ledger(num_examples=80, delta=1e-5, releases=(release,))
    file.enter("a run", "marginals", ledger)
    assert spending.ledger_stamp(table) is not None
    assert "all 1 together" in spending.spent_before(table)
    found = re.search(r"epsilon ([\d.]+)", spending.together(table, spends))
    assert found is not None
    assert max(1.0, ledger.epsilon()) < float(found[1]) < 1 + ledger.epsilon()


def test_a_ledger_that_was_changed_is_told(table: inputs.Table) -> None:
    table.path.with_suffix(".ledger.jsonl").write_text("{}\n")
    assert spending.has_ledger(table)
    spends = spending.of_next_run(1.0, SPEC, None, "")
    assert spending.together(table, spends).startswith("nobody can say: ")
    assert spending.spent_before(table).startswith("Nobody can say: ")


def test_public_data_have_no_ledger() -> None:
    digits = inputs.read("digits", {})
    assert isinstance(digits, inputs.Images)
    assert not spending.has_ledger(digits)
    assert spending.together(digits, spending.of_next_run(1.0, digits.spec, None, "")) == ""


def test_a_schema_that_is_there_is_told_in_words(table: inputs.Table) -> None:
    ward = {"type": "categorical", "categories": ["a", "b"], "target": True}
    columns = {"age": {"type": "numeric", "lower": 0, "upper": 120, "integer": True}, "ward": ward}
    table.path.with_suffix(".json").write_text(json.dumps({"columns": columns}))
    again = inputs.read(str(table.path), {})
    assert isinstance(again, inputs.Table)
    assert again.known == {
        "age": "whole numbers, 0 to 120",
        "ward": "categories, a, b, is predicted",
    }
    spec, line, opened = inputs.spec_of(again, None)
    assert opened is not None
    assert not opened.must_be_bought
    assert spec.class_names == ("a", "b")
    assert line.startswith("stays: 72 training records")


def test_how_data_are_read_goes_to_the_run(table: inputs.Table, tmp_path: Path) -> None:
    write_shapes(tmp_path / "shapes", 12)
    typed = {"image_size": " 16 ", "channels": "3", "person_column": "", "pixel_bits": ""}
    unsaid = inputs.read(str(tmp_path / "shapes"), {})
    assert isinstance(unsaid, inputs.Images)
    assert unsaid.spec.shape == (64, 64, 1)
    found = inputs.read(str(tmp_path / "shapes"), typed)
    assert isinstance(found, inputs.Images)
    assert found.spec.shape == (16, 16, 3)
    assert inputs.reading_words(found) == ["--image_size=16", "--channels=3"]

    of_persons = {"person_column": "ward", "records_per_person": "2", "image_size": "16"}
    again = inputs.read(str(table.path), of_persons)
    assert isinstance(again, inputs.Table)
    assert again.columns["ward"] == {"drop": True}
    assert inputs.reading_words(again) == ["--person_column=ward", "--records_per_person=2"]
    facts = inputs.spec_of(again, inputs.schema_of(again, again.columns, []))
    assert facts.spec.records_per_person == 2
    spends = spending.of_next_run(1.0, facts.spec, facts.opened, "")
    assert "certain person" in spending.attack(spends)
    for text in ("many", "0"):
        with pytest.raises(SettingsError):
            inputs.spec_of(inputs.read(str(table.path), {"records_per_person": text}), None)


def test_every_flag_of_reading_is_one_of_the_commands() -> None:
    assert set(typed_words.READING) <= set(types_of(RunFlags))


def test_a_path_that_looks_like_a_flag_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "--overwrite").mkdir()
    with pytest.raises(InputError):
        inputs.read("--overwrite", {})  # it is a folder without images, and no flag
    with pytest.raises(InputError, match="name a folder"):
        inputs.read(" ", {})


@pytest.mark.parametrize("text", ["", "  "])
def test_nothing_typed_is_no_flag(text: str) -> None:
    assert typed_words.budget_words(text) == []
    assert typed_words.more_words(text, ["--eps=1"]) == []


def test_a_limit_is_a_number_above_0() -> None:
    assert typed_words.budget_words(" 4 ") == ["--budget=4.0"]
    for text in ("1.2345678", "0.99999999"):
        assert typed_words.budget_words(text) == [f"--budget={text}"], "no digit is rounded"
    for text in ("many", "0", "-1", "inf", "nan"):
        with pytest.raises(InputError, match="is a number above 0"):
            typed_words.budget_words(text)


def test_more_flags_are_words_and_none_of_the_form() -> None:
    found = typed_words.more_words('--ipc=2 --evaluate="a b,c"', ["--eps=1"])
    assert found == ["--ipc=2", "--evaluate=a b,c"]
    for text, said in (
        ("--eps=9", "is asked for in the form"),
        ("--csv=/etc/passwd", "is asked for in the form"),
        ("--schema=other.json", "is asked for in the form"),
        ("--records_per_person=5", "is asked for in step 1, as 'Most records of a person'"),
        ("--flagfile=flags", "write the flags themselves"),
        ("; rm -rf /", "is no flag"),
        ('--name="a', "a quote is not closed"),
    ):
        with pytest.raises(InputError, match=said):
            typed_words.more_words(text, ["--eps=1"])


def test_another_ledger_that_a_flag_names_is_read(table: inputs.Table, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    release = GaussianRelease(name="counts", sensitivity=1.0, stddev=5.0)
    DatasetLedger(other).enter(
        "a run", "marginals", Ledger(num_examples=80, delta=1e-5, releases=(release,))
    )
    more = f"--ledger='{other}'"
    spends = spending.of_next_run(1.0, SPEC, None, more)
    assert "all 1 together" in spending.spent_before(table, more)
    assert spending.together(table, spends, more).startswith("about epsilon")
    assert spending.ledger_stamp(table, more) != spending.ledger_stamp(table)
    assert "no ledger counts" in spending.spent_before(table, "--ledger=none")


def test_a_ledger_that_is_a_link_to_nothing_is_told(table: inputs.Table, tmp_path: Path) -> None:
    table.path.with_suffix(".ledger.jsonl").symlink_to(tmp_path / "not mounted")
    assert spending.spent_before(table).startswith("Nobody can say: ")


@pytest.mark.parametrize(
    "more", ["--delta=many", "--relation=other", "--delta=2", "--delta='1e-5", "--schema_share=x"]
)
def test_flags_that_cannot_be_read_are_told(more: str) -> None:
    with pytest.raises(SettingsError):
        spending.of_next_run(1.0, SPEC, None, more)


def test_flags_are_read_as_a_shell_does() -> None:
    spends = spending.of_next_run(1.0, SPEC, None, "--delta='1e-6' --relation=\"replace\"")
    assert (spends.budget.delta, spends.budget.relation) == (1e-6, "replace")
    seeded = spending.of_next_run(1.0, SPEC, None, "--noise_seed=3")
    assert spending.attack(seeded).startswith("nothing is guaranteed: ")


def test_a_result_gets_a_new_folder(tmp_path: Path) -> None:
    assert typed_words.folder_of(f" {tmp_path / 'new'} ") == tmp_path / "new"
    assert typed_words.folder_of(str(tmp_path / "a" / ".." / "b")) == tmp_path / "b"
    for text in ("~nobody-of-this-name/x", "x" * 300, "a\0b"):
        assert not typed_words.is_begun(text)
        with pytest.raises(InputError):
            typed_words.folder_of(text)
    with pytest.raises(InputError, match="name a folder for the result"):
        typed_words.folder_of(" ")
    with pytest.raises(InputError, match="is there already"):
        typed_words.folder_of(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    assert typed_words.folder_of(str(tmp_path)) == tmp_path, "it goes on"
    (tmp_path / "metrics.json").write_text('{"finished": true}')
    with pytest.raises(InputError, match="is there already"):
        typed_words.folder_of(str(tmp_path))


def test_facts_are_those_of_recommend(table: inputs.Table) -> None:
    stored = inputs.schema_of(table, table.columns, [])
    facts = inputs.spec_of(table, stored)
    path = inputs.write_schema(table, stored)
    asked = recommend.RecommendFlags(csv=str(table.path), schema=str(path))
    found = recommend.facts_of_data(asked)
    assert (found.spec, found.opened) == (facts.spec, facts.opened)
    assert facts.line.splitlines() == [found.line, *found.notes]
    assert inputs.write_schema(table, stored) == path, "it says the same"
    with pytest.raises(InputError, match="read the table again to use it"):
        inputs.write_schema(table, stored | {"about": "another"})


def test_what_a_run_will_spend_is_what_its_certificate_says(table: inputs.Table) -> None:
    """With the schema that is bought for a part of it, before and after the purchase."""
    stored = inputs.schema_of(table, table.columns, [])
    facts = inputs.spec_of(table, stored)
    assert facts.opened is not None
    more = "--delta=1e-6 --schema_share=0.3"
    before = spending.of_next_run(2.0, facts.spec, facts.opened, more)
    assert before.budget.delta == 1e-6
    purchase = Purchase(epsilon=2.0, delta=1e-6, share=0.3)
    records = raw.read(pd.read_csv(table.path).iloc[:72], facts.opened.schema)
    schema_purchase.write(table.bought, buy_schema(records, facts.opened, purchase))
    bought = inputs.as_bought(table, facts)
    assert bought.opened is None
    after = spending.of_next_run(2.0, bought.spec, None, more)
    settings = marginals.complete(marginals.Settings(eps=2.0, delta=1e-6), bought.spec)
    plan = marginals.make_plan(settings, bought.spec, Earlier(None))
    told = certified.certificate(plan)["attacker"]["in_words"]
    assert spending.attack(before) == spending.attack(after) == told
    assert after.own.threshold_delta == 0 < after.planned.threshold_delta
    assert inputs.spec_of(table, stored).spec == bought.spec, "it is used again"
    ways = [recommendation.choices(each, 2.0, source="") for each in (bought.spec, plan.spec)]
    assert ways[0] == ways[1]
    without = inputs.schema_of(table, table.columns | {"age": {"drop": True}}, [])
    assert "age" not in [each.name for each in inputs.spec_of(table, without).spec.schema.declared]
    otherwise = dict.fromkeys(("lower", "upper")) | {"type": "numeric", "decimals": 3}
    changed = inputs.schema_of(table, table.columns | {"age": otherwise}, [])
    with pytest.raises(InputError, match="was bought for another schema"):
        inputs.spec_of(table, changed)


def test_what_nobody_has_seen_is_said_to_be_accepted(table: inputs.Table) -> None:
    seen, unseen = (
        inputs.schema_of(table, table.columns, [], num_seen=number)["about"] for number in (2, 1)
    )
    assert seen.startswith("Types and formats were confirmed by a person")
    assert "of the first 1 columns were confirmed by a person. Those of all others" in unseen


def test_flags_of_reading_are_typed_as_words(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [20 + each % 60 for each in range(80)], "ward": ["a", "b"] * 40})
    frame.to_csv(tmp_path / "stays.csv", index=False)
    frame[:20].to_csv(tmp_path / "test.csv", index=False)
    typed = {"no_header": "No", "target": "ward", "test_csv": str(tmp_path / "test.csv")}
    found = inputs.read(str(tmp_path / "stays.csv"), typed | {"validation": "yes"})
    assert isinstance(found, inputs.Table)
    assert found.reading == {**typed, "no_header": False}, "what is of images is left aside"
    facts = inputs.spec_of(found, inputs.schema_of(found, found.columns, []))
    assert facts.spec.num_examples == 80
    assert facts.spec.num_classes >= 2
    for name, text in (("no_header", "2"), ("test_fraction", "a part"), ("channels", "1.5")):
        with pytest.raises(InputError, match=f"{text} is n"):
            typed_words.flags_of({name: text}, [name])


def test_columns_are_said_anew_and_the_old_file_is_kept(table: inputs.Table) -> None:
    ward = {"type": "categorical", "categories": ["a", "b", "c, d"], "other": False, "target": True}
    age = {"type": "numeric", "lower": 0, "upper": 120, "integer": True, "bins": [18, 65]}
    text = json.dumps({"columns": {"age": age, "ward": ward}, "missing": ["", "?"]})
    path = table.path.with_suffix(".json")
    path.write_text(text)
    seen = inputs.read(str(table.path), {})
    assert isinstance(seen, inputs.Table)
    again, rows = inputs.again(seen)
    found, faults = facts_of(rows)
    assert not faults
    same = {"age": age | {"nullable": False}, "ward": ward | {"nullable": False}}
    assert found == same, "nothing was changed"
    rows[0].upper = "99"
    stored = inputs.schema_of(again, facts_of(rows)[0], again.rules)
    assert stored["missing"] == ["", "?"]
    assert inputs.write_schema(again, stored) == path
    assert json.loads(path.read_text())["columns"]["age"]["upper"] == 99
    old = path.with_name("stays.json.old")
    assert old.read_text() == text
    inputs.write_schema(again, stored | {"about": "once more"})
    assert old.read_text() == text
    assert path.with_name("stays.json.old1").exists()


@pytest.mark.parametrize("name", ["2024.01.csv", "stays.CSV.GZ", "stays.v2.parquet"])
def test_a_schema_is_where_the_command_looks_for_it(tmp_path: Path, name: str) -> None:
    frame = pd.DataFrame({"age": [20 + each % 60 for each in range(80)]})
    path = tmp_path / name
    if name.endswith(".parquet"):
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, compression="gzip" if "GZ" in name else None)
    found = inputs.read(str(path), {})
    assert isinstance(found, inputs.Table)
    written = inputs.write_schema(found, inputs.schema_of(found, found.columns, []))
    assert written.name == f"{table_name(path)}.json"
    with flagsaver.flagsaver():
        command_line.define(RunFlags)
        command_line.parse(["table", f"--csv={path}"])
        assert first_schema.of_run(str(path), accept_guesses=False) == written
    again = inputs.read(str(path), {})
    assert isinstance(again, inputs.Table)
    assert again.schema == written


def test_what_was_bought_stays_so_where_columns_are_said_anew(table: inputs.Table) -> None:
    """Though the file of the purchase alone is left."""
    drafted = inputs.schema_of(table, table.columns, [])
    opened = inputs.spec_of(table, drafted).opened
    assert opened is not None
    records = raw.read(pd.read_csv(table.path), opened.schema)
    schema_purchase.write(
        table.bought, buy_schema(records, opened, Purchase(epsilon=9.0, delta=1e-5))
    )
    seen = inputs.read(str(table.path), {})
    assert isinstance(seen, inputs.Table)
    assert seen.schema == table.bought
    again, rows = inputs.again(seen)
    assert again.replaced is None
    assert [row.lower for row in rows] == ["", ""]
    stored = inputs.schema_of(again, facts_of(rows)[0], again.rules)
    facts = inputs.spec_of(again, stored)
    assert facts.opened is None
    assert facts.spec.schema is not None
    assert facts.spec.schema.bought is not None
