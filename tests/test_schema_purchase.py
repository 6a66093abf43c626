"""`jaxdp table` on a table whose schema nobody has written: asked, guessed, bought, used again."""

from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support import drivers

from jaxdp.methods import facts
from jaxdp.privacy import DatasetLedger, GaussianRelease, Ledger
from jaxdp.program import interview
from jaxdp.program.commands import dp_ntk, draft_schema, marginals, recommend, registry_entry, table
from jaxdp.program.data import answers, drafts
from jaxdp.program.errors import InputError
from jaxdp.tables import OpenSchema, read_schema

FAST = ("--steps=2", "--num_synthetic=30", "--evaluate=none", "--eps=3")
NUM = 600
DAYS = {"type": "date", "format": "%d.%m.%Y", "lower": None, "upper": None, "nullable": None}


def frame_of(num: int = NUM) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "id": np.arange(1, num + 1),
            "age": rng.integers(18, 90, num),
            "city": rng.choice(["Rome", "Oslo"], num),
            "pay": np.round(rng.lognormal(8, 0.5, num), 2),
            "ill": rng.choice(["no", "yes"], num),
            "empty": "",
        }
    )


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    frame_of().to_csv(path, index=False)
    return path


def drive(csv: Path, *more: str) -> int:
    return drivers.drive(
        table.main, f"--csv={csv}", *FAST, f"--out_dir={csv.parent / 'out'}", *more
    )


def test_guesses_count_when_somebody_accepts_them(
    csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drive(csv) == 2
    said = capsys.readouterr().err
    assert "has no schema" in said
    assert "age whole numbers" in said
    assert "--accept_guesses" in said
    assert drive(csv, "--accept_guesses", "--target=il") == 2
    assert "has no such column; did you mean 'ill'?" in capsys.readouterr().err
    assert not csv.with_suffix(".json").exists()
    assert "Rome" not in said
    assert {path.name for path in csv.parent.iterdir()} == {"people.csv"}, "nothing was written"

    assert drive(csv, "--accept_guesses", "--target=ill", "--eps=20") == 0
    said = capsys.readouterr().err
    priced = (
        r"with a share of 0\.2 of the budget \(--schema_share; by itself that would be epsilon \d"
    )
    assert re.search(priced, said)
    made = pd.read_csv(csv.parent / "out" / "synthetic.csv")
    assert list(made.columns) == ["id", "age", "city", "pay", "ill"]
    assert len(made) == 30
    assert made.id.is_unique
    assert made.age.between(0, 130).all()
    schema = read_schema(csv.parent / "people.bought.json", target="ill")
    assert schema.bought is not None
    facts = drivers.read(csv.parent / "out", "privacy.json")
    assert facts["releasable"]
    assert 19 < facts["epsilon"] <= 20 + 1e-6
    entries = DatasetLedger(csv.parent / "people.ledger.jsonl").read().entries
    assert [entry.method for entry in entries] == ["schema", "marginals"]
    assert entries[0].name == schema.bought.name


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("a,b\n", "holds no records"),
        ("a,b\n1,x\n", "two records are needed"),
        ("a,b\n" + "".join(f"{n}.5,x\n{n},y\n" for n in range(700)) + "old,x\n", "'a': is num"),
        ("a,b\n" + "1.5,x\n2.5,y\n" * 700 + '1,"x\n2,y"\n', "record 1401 has a line break"),
        ("a,b\n" + "1.5,x\n2.5,y\n" * 700 + "1.5,\n", "is the target, and values are missing"),
    ],
)
def test_no_draft_is_left_of_a_table_that_cannot_be_read(
    content: str, why: str, csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    csv.write_text(content)
    assert drive(csv, "--accept_guesses", "--target=b") == 2
    assert why in capsys.readouterr().err
    assert {path.name for path in csv.parent.iterdir()} == {"people.csv"}


def test_odd_texts_among_numbers_are_told_with_the_guesses(
    csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = frame_of()
    odd["pay"] = [f"({pay})" if n % 3 == 0 else str(pay) for n, pay in enumerate(odd.pay)]
    odd.to_csv(csv, index=False)
    assert drive(csv, "--accept_guesses", "--budget=0.1") == 2
    assert "\npay: numbers, but for some texts: name these" in capsys.readouterr().err


def test_an_order_of_day_and_month_that_nobody_can_tell_is_told(
    csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    days = [f"0{1 + n % 9}/0{1 + n // 9 % 9}/2020" for n in range(NUM)]
    frame_of().assign(day=days).to_csv(csv, index=False)
    assert drive(csv, "--accept_guesses", "--budget=0.1") == 2
    assert "\nday: day and month could be the other way round" in capsys.readouterr().err


def test_a_mark_of_which_nobody_can_tell_what_it_means_is_told(
    csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pay = [f"{1 + n}.{7 * n % 1000:03}" for n in range(NUM)]
    frame_of().assign(pay=pay).to_csv(csv, index=False)
    assert drive(csv, "--accept_guesses", "--budget=0.1") == 2
    assert "\npay: three digits follow each point, which is taken for" in capsys.readouterr().err


def test_a_guess_of_classes_that_later_records_break_says_what_to_do(
    csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{n % 50},{n // 1500}\n" for n in range(4500))
    csv.write_text(f"age,label\n{rows}")
    assert drive(csv, "--accept_guesses", "--target=label") == 2
    said = capsys.readouterr().err
    assert "that are no category of it" in said
    assert said.rstrip().endswith("`jaxdp schema` begins a schema that says otherwise")


def test_a_run_that_says_how_much_a_schema_takes_is_resumed(csv: Path) -> None:
    share = ("--accept_guesses", "--schema_share=0.3")
    assert drive(csv, *share) == 0
    ledger = (csv.parent / "people.ledger.jsonl").read_bytes()
    assert drive(csv, *share, "--resume") == 0
    assert (csv.parent / "people.ledger.jsonl").read_bytes() == ledger


def test_a_purchase_is_made_once(csv: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert drive(csv, "--accept_guesses") == 0
    bought = (csv.parent / "people.bought.json").read_bytes()
    assert drive(csv, "--overwrite") == 0
    assert drive(csv, "--resume") == 0
    counts = f"--counts={csv.parent / 'out' / 'counts.npz'}"
    both = (f"--csv={csv}", f"--schema={csv.parent / 'people.json'}", *FAST, counts)
    assert drivers.drive(marginals.main, *both, f"--out_dir={csv.parent / 'again'}") == 0
    assert (csv.parent / "people.bought.json").read_bytes() == bought
    entries = DatasetLedger(csv.parent / "people.ledger.jsonl").read().entries
    assert [entry.method for entry in entries] == ["schema", "marginals", "marginals"]
    capsys.readouterr()
    draft = f"--schema={csv.parent / 'people.json'}"
    assert drive(csv, draft, "--schema_share=0.3", "--overwrite") == 2
    assert "was bought before" in capsys.readouterr().err
    stored = json.loads((csv.parent / "people.json").read_text())
    stored["columns"]["age"]["lower"], stored["columns"]["age"]["upper"] = 0, 120
    (csv.parent / "people.json").write_text(json.dumps(stored))
    assert drive(csv, draft, "--overwrite") == 0
    assert "used again at no cost" in capsys.readouterr().err
    spec = facts.from_config(drivers.read(csv.parent / "out", "config.json"))
    (age,) = (column for column in spec.schema.declared if column.name == "age")
    assert (age.lower, age.upper) == (0, 120)
    entries = DatasetLedger(csv.parent / "people.ledger.jsonl").read().entries
    assert [entry.method for entry in entries] == ["schema", *["marginals"] * 3]
    del stored["columns"]["age"]["integer"]
    stored["columns"]["age"]["lower"] = stored["columns"]["age"]["upper"] = None
    (csv.parent / "people.json").write_text(json.dumps(stored))
    assert drive(csv, draft, "--overwrite") == 2
    assert "was bought for another schema" in capsys.readouterr().err


def test_guarantee_a_run_that_is_resumed_buys_nothing(
    csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drive(csv, "--accept_guesses") == 0
    ledger = (csv.parent / "people.ledger.jsonl").read_bytes()
    (csv.parent / "people.bought.json").unlink()
    own = (f"--csv={csv}", *FAST, "--resume")  # into a folder that is named after the data
    for resumed in ((*own, f"--out_dir={csv.parent / 'out'}"), own):
        assert drivers.drive(table.main, *resumed) == 2
        assert "people.bought.json is gone" in capsys.readouterr().err
    assert (csv.parent / "people.ledger.jsonl").read_bytes() == ledger


def test_a_registry_finds_a_run_and_what_was_bought_for_it_in_a_ledger(
    csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--accept_guesses", "--target=ill", "--eps=20")
    assert drive(csv, *flags) == 0
    run, out = csv.parent / "out", csv.parent / "entry.yaml"
    asked = (f"--run={run}", f"--out={out}", f"--ledger={csv.parent / 'people.ledger.jsonl'}")
    assert drivers.drive(registry_entry.main, *asked) == 0
    capsys.readouterr()
    (_, own) = DatasetLedger(csv.parent / "people.ledger.jsonl").read().entries
    DatasetLedger(csv.parent / "other.jsonl").enter(own.name, own.method, own.ledger)
    asked = (f"--run={run}", f"--out={out}", f"--ledger={csv.parent / 'other.jsonl'}")
    assert drivers.drive(registry_entry.main, *asked) == 2
    assert "does not hold all runs" in capsys.readouterr().err


def test_other_methods_take_a_bought_schema(csv: Path) -> None:
    assert drive(csv, "--accept_guesses", "--target=ill", "--eps=20") == 0
    flags = (f"--csv={csv}", f"--schema={csv.parent / 'people.bought.json'}", "--target=ill")
    out = f"--out_dir={csv.parent / 'ntk'}"
    assert drivers.drive(dp_ntk.main, *flags, *FAST, out, "--eps=20") == 0
    facts = drivers.read(csv.parent / "ntk", "privacy.json")
    assert facts["epsilon"] <= 20 + 1e-6
    assert len(facts["releases"]) > 1


def test_a_complete_schema_gets_bins_by_quantiles(csv: Path) -> None:
    columns = {
        "id": {"drop": True},
        "age": {"type": "numeric", "lower": 0, "upper": 120, "integer": True},
        "city": {"type": "categorical", "categories": ["Rome", "Oslo"]},
        "pay": {"type": "numeric", "lower": 0, "upper": 1e6},
        "ill": {"type": "categorical", "categories": ["no", "yes"], "target": True},
        "empty": {"drop": True},
    }
    schema = csv.parent / "mine.json"
    schema.write_text(json.dumps({"columns": columns}))
    assert drive(csv, f"--schema={schema}") == 0
    bought = read_schema(csv.parent / "people.bought.json").bought
    assert bought is not None
    assert dict(bought.facts) == {"age": ("bins",), "pay": ("bins",)}
    (csv.parent / "people.bought.json").unlink()
    assert drive(csv, f"--schema={schema}", "--schema_share=0", "--overwrite") == 0
    assert not (csv.parent / "people.bought.json").exists()


def test_guarantee_a_purchase_is_entered_before_its_noise_and_within_the_budget(
    csv: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drive(csv, "--accept_guesses", "--budget=0.5") == 2
    assert "budget" in capsys.readouterr().err
    assert not (csv.parent / "people.bought.json").exists()
    shutil.rmtree(csv.parent / "out", ignore_errors=True)
    (csv.parent / "people.ledger.jsonl").unlink(missing_ok=True)

    from jaxdp.bought import purchase

    def killed(*args: Any, **options: Any) -> Any:
        raise RuntimeError("killed")

    monkeypatch.setattr(purchase, "facts_of", killed)
    with pytest.raises(RuntimeError, match="killed"):
        drive(csv)
    entries = DatasetLedger(csv.parent / "people.ledger.jsonl").read().entries
    assert [entry.method for entry in entries] == ["schema"]
    assert not (csv.parent / "people.bought.json").exists()


def test_guarantee_a_run_goes_on_with_the_schema_by_which_it_has_released(
    csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drive(csv, "--accept_guesses", "--ledger=none") == 0
    schema, before = f"--schema={csv.parent / 'people.json'}", csv.parent / "before.json"
    (csv.parent / "people.bought.json").rename(before)
    stored = json.loads(before.read_text())
    stored["bought"]["name"] = "0" * 32
    (csv.parent / "people.bought.json").write_text(json.dumps(stored))
    assert drive(csv, schema, "--resume", "--ledger=none") == 2
    assert "another schema" in capsys.readouterr().err
    before.rename(csv.parent / "people.bought.json")
    assert drive(csv, schema, "--resume", "--ledger=none") == 0


def test_a_target_of_one_class_is_declared_and_nothing_else_is_paid_again(
    csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame_of().assign(ill="no").to_csv(csv, index=False)
    assert drive(csv, "--accept_guesses", "--target=ill") == 2
    said = capsys.readouterr().err
    assert "fewer than two classes certain. All else is bought and in" in said
    assert drive(csv, "--target=ill") == 2
    said = capsys.readouterr().err
    assert "at least two classes; declare it otherwise in the schema of the run" in said
    stored = json.loads((csv.parent / "people.json").read_text())
    stored["columns"]["ill"] |= {"categories": ["no", "yes"]}
    (csv.parent / "people.json").write_text(json.dumps(stored))
    assert drive(csv, "--target=ill") == 0
    assert "used again at no cost" in capsys.readouterr().err
    entries = DatasetLedger(csv.parent / "people.ledger.jsonl").read().entries
    assert [entry.method for entry in entries] == ["schema", "marginals"]


def test_guarantee_several_processes_take_a_schema_that_one_has_bought(
    csv: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("jaxdp.processes.are_several", lambda: True)
        assert drive(csv, "--accept_guesses") == 2
    assert "in one process first" in capsys.readouterr().err
    assert not (csv.parent / "people.ledger.jsonl").exists()


@pytest.mark.parametrize("more", ["--eps=inf", "--noise_seed=1"])
def test_guarantee_facts_without_secret_noise_are_said_to_stay(
    csv: Path, more: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drive(csv, "--accept_guesses", more) == 0
    said = capsys.readouterr().err
    assert "must stay" in said
    assert "may leave with" not in said


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--budget=2.9"], "budget"),
        (["--subset=100"], "bought of all records"),
        (["--delta=0.01"], "is not below 1/n"),
        (["--ipc=5"], "--ipc=5: is for --method="),
        (["--given=nope=1"], "say COLUMN=VALUE"),
    ],
)
def test_guarantee_nothing_is_bought_for_a_run_that_cannot_follow(
    flags: list[str], why: str, csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drive(csv, "--accept_guesses", *flags) == 2
    assert why in capsys.readouterr().err
    assert not (csv.parent / "people.bought.json").exists()
    assert not DatasetLedger(csv.parent / "people.ledger.jsonl").read().entries


def test_guarantee_nothing_is_bought_where_earlier_runs_keep_the_result_from_leaving(
    csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = csv.parent / "people.ledger.jsonl"
    before = GaussianRelease(name="embedding", sensitivity=1.0, stddev=0.16)
    earlier = Ledger(num_examples=NUM, delta=1e-5, releases=(before,))
    assert 40 < earlier.epsilon() < 50
    DatasetLedger(path).enter("0" * 32, "dp_ntk", earlier)
    assert drive(csv, "--accept_guesses", "--eps=30") == 2
    assert "with earlier runs is above 50" in capsys.readouterr().err
    assert [entry.method for entry in DatasetLedger(path).read().entries] == ["dp_ntk"]
    assert not (csv.parent / "people.bought.json").exists()
    assert drive(csv, "--accept_guesses", "--eps=30", "--allow_epsilon") == 0
    assert len(DatasetLedger(path).read().entries) == 3


def test_what_stands_beside_a_table_and_may_never_end_is_not_read(
    csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (csv.parent / "people.json").symlink_to("/dev/zero")
    assert drive(csv, "--accept_guesses") == 2
    assert "is no plain file, and stands where a schema" in capsys.readouterr().err


def test_nothing_is_spent_where_the_schema_cannot_be_kept(
    csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = csv.parent / "file"
    there.touch()
    assert drive(csv, "--accept_guesses", f"--schema_out={there / 'x.json'}") == 2
    assert "--schema_out" in capsys.readouterr().err
    assert not (csv.parent / "people.ledger.jsonl").exists()


def test_a_schema_that_is_open_needs_to_be_bought(
    csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drive(csv, "--accept_guesses", "--schema_share=0") == 2
    assert "leaves open age: bounds" in capsys.readouterr().err
    counts = csv.with_name("counts.npz")
    counts.touch()
    assert drive(csv, f"--counts={counts}") == 2
    assert "leaves open" in capsys.readouterr().err


def test_persons_are_bought_for(csv: Path) -> None:
    frame = frame_of().assign(person=np.arange(NUM) // 3)
    frame.to_csv(csv, index=False)
    more = ("--person_column=person", "--records_per_person=2", "--accept_guesses")
    assert drive(csv, *more) == 0
    made = pd.read_csv(csv.parent / "out" / "synthetic.csv")
    assert "person" not in made
    facts = drivers.read(csv.parent / "out", "privacy.json")
    assert facts["ledger"]["records_per_person"] == 2
    assert facts["epsilon"] <= 3 + 1e-6


def said(*lines: str) -> interview.Ask:
    left = list(lines)

    def asks(prompt: str) -> str:
        if not left:
            raise InputError("ended")
        return left.pop(0)

    return asks


def test_a_walk_takes_what_a_person_says(capsys: pytest.CaptureFixture[str]) -> None:
    frame = frame_of(50).astype(str)
    proposed = {
        "id": answers.COUNTER,
        "age": answers.WHOLE,
        "city": answers.CATEGORY,
        "pay": answers.NUMBER,
        "ill": answers.CATEGORY,
        "empty": {"drop": True},
    }
    lines = ("?", "x", "", "oops", "120 0", "0 120", "", "Rome, Oslo, Bern", "a")
    found, num_asked = interview.walk(proposed, frame, asks=said(*lines))
    assert num_asked == 4, "what follows the answer a was accepted, and not asked about"
    assert found["id"] == {"drop": True}
    assert (found["age"]["lower"], found["age"]["upper"]) == (0, 120)
    assert found["city"]["categories"] == ["Rome", "Oslo", "Bern"]
    assert found["city"]["other"] is False
    assert found["pay"] == answers.NUMBER
    assert found["ill"] == answers.CATEGORY
    assert "identifiers, made new" in capsys.readouterr().err
    dated = interview.walk(
        {"age": answers.WHOLE}, frame[["age"]], asks=said("d", "%d.%m.%Y", "")
    ).columns
    assert (dated["age"]["format"], dated["age"]["lower"]) == ("%d.%m.%Y", None)
    with pytest.raises(InputError):
        interview.walk(proposed, frame, asks=said("", ""))


@pytest.mark.parametrize(
    ("values", "drafted", "expected"),
    [
        (["1", "2"], {"type": None}, "whole numbers"),
        (["1", "2"], {"type": "categorical", "categories": None}, "whole numbers"),
        (["01", "02"], {"type": "categorical", "categories": None}, "categories"),
        (["a", "a"], {"type": "constant", "value": None}, "categories"),
        (["", ""], {"type": "constant", "value": None}, "left out"),
        ([f"n{i}" for i in range(60)], {"type": "categorical", "categories": None}, "left out"),
        (["3", "1"], {"type": "ordinal", "categories": None}, "categories"),
        (["x"], {"type": "text"}, "left out"),
    ],
)
def test_a_draft_gets_an_answer_for_every_column(
    values: list[str], drafted: dict[str, Any], expected: str
) -> None:
    frame = pd.DataFrame({"x": values})
    found = answers.settled({"x": drafted | {"about": "a note"}}, frame)["x"]
    assert answers.in_words(found) == expected
    assert "about" not in found


NO_YES = {"type": "boolean", "categories": ["0", "1"], "nullable": None}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["0", "1", "1"], NO_YES),
        (["0", "0", "NA"], NO_YES),
        (["2", "1", "", "NA"], answers.CATEGORY),
        (["0", "1", "2"], answers.WHOLE),
        (["2", "2", "2"], answers.WHOLE),
        (["0.5", "1.5"] * 6, answers.WHOLE),
    ],
)
def test_a_target_of_two_whole_numbers_is_one_of_classes(
    values: list[str], said: dict[str, Any]
) -> None:
    columns, frame = {"x": answers.WHOLE}, pd.DataFrame({"x": values})
    assert answers.settled(columns, frame, target="x")["x"] == said
    assert answers.settled(columns, frame)["x"] == answers.WHOLE
    assert answers.settled(columns, frame, target="y")["x"] == answers.WHOLE


@pytest.mark.parametrize("every", [2, 60])
def test_a_target_of_0_and_1_has_classes_however_rare_one_is(csv: Path, every: int) -> None:
    ill = (np.arange(NUM) % every == every - 1).astype(int)
    frame_of().assign(ill=ill).to_csv(csv, index=False)
    assert drive(csv, "--accept_guesses", "--target=ill") == 0
    assert read_schema(csv.parent / "people.bought.json", target="ill").class_names == ("0", "1")


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (answers.NUMBER | {"decimals": 2}, "numbers with 2 decimals"),
        (answers.WHOLE | {"decimals": 1}, "whole numbers as 1.0"),
        (
            answers.NUMBER | {"decimals": 2, "decimal": ",", "thousands": ".", "suffix": " EUR"},
            "numbers as 1 EUR with 2 decimals after ',', '.' between thousands",
        ),
        (answers.WHOLE | {"dtype": "Int64"}, "whole numbers, of type Int64"),
        (answers.COUNTER, "identifiers, made new"),
        (answers.COUNTER | {"pattern": r"QX-\d{6}"}, r"identifiers, made new as QX-\d{6}"),
        ({"type": "boolean", "categories": ["FALSE", "TRUE"]}, "yes or no as TRUE, FALSE"),
        (answers.CATEGORY | {"dtype": "category"}, "categories, of type category"),
    ],
)
def test_all_that_was_guessed_of_a_column_is_said(facts: dict[str, Any], words: str) -> None:
    assert answers.in_words(facts) == words


def test_how_a_table_is_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "codes.csv"
    lines = [f"{each % 40};{'unknown' if each % 9 == 0 else each % 30}" for each in range(300)]
    path.write_text("size;weight\n" + "\n".join(lines) + "\n")
    assert drivers.drive(table.main, f"--csv={path}", *FAST) == 2
    said = capsys.readouterr().err
    marks = "'', 'NA', '?', 'N/A', 'NaN', 'null', 'unknown'"
    assert f"missing values are written as {marks}; separator ';'" in said
    frame = pd.DataFrame({"age": ["1"]})
    interview.walk({"age": answers.WHOLE}, frame, asks=lambda _: "x", reading="separator ';'")
    assert "By its first records, separator ';'." in capsys.readouterr().err


def test_whole_numbers_that_number_records_are_made_new() -> None:
    frame = pd.DataFrame({"patient_id": ["1", "2"], "width": ["3", "4"]})
    found = answers.settled({name: {"type": None} for name in frame}, frame)
    assert found["patient_id"] == answers.COUNTER
    assert found["width"] == answers.WHOLE


def test_records_that_are_numbered_in_their_order_are_made_new() -> None:
    up = np.arange(80)
    frame = pd.DataFrame({"kunde": up + 1, "year": up + 1900, "rank": up[::-1] + 1, "sold": up * 5})
    frame = frame.astype(str)
    frame["pay"] = [f"{7 * n}.0" if n else "" for n in up]
    drafted = drafts.draft(frame, {})["columns"]
    found = answers.settled(drafted, frame)
    assert found["kunde"] == answers.COUNTER
    assert found["year"] == found["rank"] == found["sold"] == answers.WHOLE
    assert found["pay"] == answers.WHOLE | {"decimals": 1}
    assert answers.settled(drafted, frame, target="kunde")["kunde"] == answers.WHOLE


@pytest.mark.parametrize("target", ["", "--target=ill", "--target=pay"])
def test_a_command_is_recommended_for_a_draft(
    csv: Path, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drivers.drive(draft_schema.main, f"--csv={csv}") == 0
    draft = json.loads((csv.parent / "people.json").read_text())
    draft["columns"]["id"] = {"drop": True}
    (csv.parent / "people.json").write_text(json.dumps(draft))
    flags = [
        f"--csv={csv}",
        f"--schema={csv.parent / 'people.json'}",
        *([target] if target else []),
    ]
    capsys.readouterr()
    assert drivers.drive(recommend.main, *flags) == 0
    assert "jaxdp run marginals" in capsys.readouterr().out
    assert not (csv.parent / "people.bought.json").exists(), "nothing is spent"


def test_a_recommendation_takes_the_schema_beside_a_table(
    csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drivers.drive(recommend.main, f"--csv={csv}") == 2
    assert "--schema" in capsys.readouterr().err
    columns = {"age": answers.WHOLE, "ill": answers.CATEGORY}
    columns |= {name: {"drop": True} for name in ("id", "city", "pay", "empty")}
    (csv.parent / "people.json").write_text(json.dumps({"columns": columns}))
    assert drivers.drive(recommend.main, f"--csv={csv}") == 0
    said = capsys.readouterr()
    assert f"--schema={csv.parent / 'people.json'}: is there, and is used" in said.err
    assert f"--schema={csv.parent / 'people.json'}" in said.out, "and the command names it"
    other = f"--schema={csv.parent / 'other.json'}"
    assert drivers.drive(recommend.main, f"--csv={csv}", other) == 2


def test_a_draft_is_walked_through(
    csv: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert drivers.drive(draft_schema.main, f"--csv={csv}", "--ask") == 2
    assert "ended early" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO("\n" * 2 + "0 120\nc\nRome\nRome, Oslo\na\n"))
    assert drivers.drive(draft_schema.main, f"--csv={csv}", "--ask") == 0
    assert "a run buys what is null" in capsys.readouterr().out
    stored = json.loads((csv.parent / "people.json").read_text())
    assert "of the first 4 columns were confirmed" in stored["about"]
    columns = stored["columns"]
    assert (columns["age"]["lower"], columns["age"]["upper"]) == (0, 120)
    assert columns["city"]["categories"] == ["Rome", "Oslo"]
    assert columns["ill"]["categories"] is None


@pytest.mark.parametrize("words", ["0 inf", "-inf 5", "0.2 0.7", "5 1"])
def test_bounds_that_no_column_has_are_asked_for_again(words: str) -> None:
    found = interview.walk(
        {"age": dict(answers.WHOLE)}, pd.DataFrame({"age": ["1"]}), asks=said("w", words, "0 9")
    ).columns
    assert (found["age"]["lower"], found["age"]["upper"]) == (0, 9)


def walked(facts: dict[str, Any], *lines: str, csv: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what a walk through one column finds."""
    frame = pd.DataFrame({"x": ["1"]})
    return interview.walk({"x": facts}, frame, asks=said(*lines), csv=csv).columns["x"]


@pytest.mark.parametrize(
    ("marks", "typed", "bounds"),
    [
        ({"decimal": ",", "decimals": 1}, "-40,0 45,5", (-40.0, 45.5)),
        ({"thousands": ".", "decimal": ",", "decimals": 2}, "0 30.000,00", (0.0, 30000.0)),
        ({"suffix": "%", "integer": True}, "0% 100%", (0, 100)),
        ({"suffix": "%", "integer": True}, "0 100", (0, 100)),
        ({"decimals": 1, "integer": True}, "0 100.0", (0, 100)),
        ({"suffix": " EUR", "decimals": 2}, "-5 EUR  1.50 EUR", (-5.0, 1.5)),
        ({"prefix": "$", "thousands": ",", "integer": True}, "$1,000 $2,500", (1000, 2500)),
        ({"thousands": " ", "integer": True}, "0 1 000 000", (0, 1000000)),
        ({"thousands": "\u202f", "integer": True}, "1 000 ; 2 000", (1000, 2000)),
    ],
)
def test_bounds_are_read_as_numbers_of_the_column_are(
    marks: dict[str, Any], typed: str, bounds: tuple[float, float]
) -> None:
    found = walked(answers.NUMBER | marks, "", typed)
    assert (found["lower"], found["upper"]) == bounds
    assert {type(found["lower"])} == {type(bounds[0])}
    assert OpenSchema.from_json({"columns": {"x": found}}).open == {"x": ("bins", "nullable")}


def test_the_decimal_mark_of_a_table_is_that_of_bounds() -> None:
    csv = {"separator": ";", "decimal": ","}
    found = walked(answers.NUMBER | {"decimals": 1}, "", "0,5 1,5", csv=csv)
    assert (found["lower"], found["upper"]) == (0.5, 1.5)


@pytest.mark.parametrize(
    ("facts", "typed", "why"),
    [
        (answers.NUMBER, "0,5 1,5", "two values are needed, as the column has them: 0 120"),
        (answers.NUMBER, "5", "two values are needed"),
        (answers.NUMBER, "0 inf", "two values are needed"),
        (answers.NUMBER, "5 1", "the first must be less than the second"),
        (answers.WHOLE, "0.2 0.7", "bounds of whole numbers are whole"),
        (answers.NUMBER | {"decimals": 1}, "0.25 1", 'more digits than "decimals": 1'),
        (answers.NUMBER, "0 1e400", "needs finite numbers"),
        (answers.WHOLE | {"thousands": " "}, "1 200 300 400", "put a semicolon between"),
        (DAYS, "2020-01-01 2021-01-01", "has them: 01.01.2000 31.12.2025"),
        (DAYS, "01.01.2021 01.01.2020", "the first must be less"),
        (answers.CATEGORY, "Rome", "name at least two"),
        (answers.CATEGORY, "Rome, =1+1", "would run as a formula"),
    ],
)
def test_a_walk_says_why_it_asks_again(
    facts: dict[str, Any], typed: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert walked(facts, "", typed, "") == facts
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("type", "format", "typed", "bounds"),
    [
        ("date", "%d.%m.%Y", "01.01.2020 31.12.2024", ["01.01.2020", "31.12.2024"]),
        ("date", "%d %b %Y", "1 Jan 2020 31 Dec 2024", ["1 Jan 2020", "31 Dec 2024"]),
        ("timestamp", "%Y-%m-%d %H:%M", "2020-01-01 00:00 2020-02-01 00:00",
         ["2020-01-01 00:00", "2020-02-01 00:00"]),
        ("time", "%H:%M", "08:00 17:30", ["08:00", "17:30"]),
        ("duration", "H:MM", "0:00;30:00", ["0:00", "30:00"]),
    ],
)  # fmt: skip
def test_a_walk_asks_for_bounds_of_dates_and_times(
    type: str, format: str, typed: str, bounds: list[str]
) -> None:
    facts: dict[str, Any] = {"type": type, "format": format, "nullable": None}
    facts |= {} if type == "time" else {"lower": None, "upper": None}
    found = walked(facts, "", typed)
    assert [found["lower"], found["upper"]] == bounds
    assert "bounds" not in OpenSchema.from_json({"columns": {"x": found}}).open["x"]
    assert walked(facts, "", "") == facts


def test_a_format_tells_whether_dates_or_times_are_meant(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert walked(answers.CATEGORY, "d", "%H:%M", "")["type"] == "time"
    assert walked(answers.CATEGORY, "d", "%d.%m.%Y %H:%M", "")["type"] == "timestamp"
    assert walked(answers.CATEGORY, "d", "%d.%m", "%d.%m.%Y", "")["format"] == "%d.%m.%Y"
    assert "says no year" in capsys.readouterr().err


def test_who_lists_other_has_a_category_of_all_else() -> None:
    found = walked(answers.CATEGORY, "", "Rome, Oslo, other")
    assert (found["categories"], "other" in found) == (["Rome", "Oslo", "other"], False)


def test_a_type_that_holds_no_missing_value_is_not_asked_about_it() -> None:
    columns = {"age": answers.WHOLE | {"dtype": "int8"}, "on": {"type": "boolean", "dtype": "bool"}}
    columns["on"]["nullable"] = None
    frame = pd.DataFrame({"age": np.arange(9, dtype=np.int8), "on": [True, False, True] * 3})
    found = answers.settled(columns, frame)
    assert OpenSchema.from_json({"columns": found}).open == {"age": ("bounds", "bins")}
