"""Rules hold in all that commands make, whichever method it is of, and drafts propose some."""

from __future__ import annotations

import io
import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support import drivers, ruled_tables

import jaxdp
from jaxdp.program import interview
from jaxdp.program.commands import dp_ntk, draft_schema, export, marginals, sample, table
from jaxdp.program.data import proposed_rules, words_of_rules
from jaxdp.tables import read_schema

FAST = ("--steps=3", "--num_synthetic=60", "--evaluate=none", "--eps=2", "--delta=1e-3")
DATE = {"type": "date", "format": "%Y-%m-%d"}
SECONDS = {"type": "timestamp", "format": "%Y-%m-%d %H:%M:%S"}
NUMBER = {"type": "numeric"}
WORD = {"type": "categorical"}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return ruled_tables.write_table(tmp_path_factory.mktemp("table"))


@pytest.fixture(scope="module")
def run(source: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "first"
    more = (*FAST, "--check_fidelity", f"--out_dir={out}")
    assert drivers.drive(marginals.main, *source, *more) == 0
    return out


def made_in(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def require_obeying(made: pd.DataFrame, num: int) -> None:
    assert len(made) == num
    assert list(made.columns) == list(ruled_tables.COLUMNS)
    assert set(ruled_tables.broken(made).values()) == {0}


def test_what_a_run_makes_obeys(run: Path) -> None:
    require_obeying(made_in(run / "synthetic.csv"), 60)
    frame = jaxdp.load(run).frame
    assert frame.end.notna().any()
    assert (frame.pregnant.notna() == ((frame.sex == "f") & frame.age.between(15, 45))).all()


@pytest.mark.parametrize("more", [(), ("--features=pairs",), ("--features=rff", "--steps=3")])
def test_other_methods_obey(source: tuple[str, str], more: tuple[str, ...], tmp_path: Path) -> None:
    out = tmp_path / "out"
    flags = ("--num_synthetic=60", "--evaluate=none", "--eps=2", "--delta=1e-3", *more)
    assert drivers.drive(dp_ntk.main, *source, *flags, f"--out_dir={out}") == 0
    require_obeying(made_in(out / "synthetic.csv"), 60)
    drawn = tmp_path / "more.csv"
    assert drivers.drive(sample.main, f"--run={out}", "--num=30", f"--out={drawn}") == 0
    require_obeying(made_in(drawn), 30)
    with np.load(out / "synthetic.npz") as stored:
        schema = read_schema(source[1].partition("=")[2])
        values = jaxdp.tables.obeying.read(stored["x"], schema)
        known = tuple(rule for rule in schema.rules if "cost" not in rule.names)
        broken = jaxdp.tables.obeying.breaking(values, schema, of=known)
        assert set(broken.values()) == {0}, "records as stored obey, too"


def test_more_records_of_a_kind_obey(run: Path, tmp_path: Path) -> None:
    """Conditions may be on columns that follow from others: on totals, too."""
    out = tmp_path / "more.csv"
    given = "--given=cost=$100..$400,land=CH,start=01.01.2020..31.12.2021"
    assert drivers.drive(sample.main, f"--run={run}", "--num=40", given, f"--out={out}") == 0
    made = made_in(out)
    require_obeying(made, 40)
    cost = made.cost.str.replace("[$,]", "", regex=True).astype(float)
    assert cost.between(100, 400).all()
    assert set(made.land) == {"CH"}


@pytest.mark.parametrize(
    ("given", "why"),
    [("cost=$9000..", "LOW..HIGH"), ("cost=5", "say LOW..HIGH"), ("cost=x", "none of it")],
)
def test_totals_that_cannot_be_are_refused(
    given: str, why: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drivers.drive(sample.main, f"--run={run}", f"--given={given}") == 2
    assert why in capsys.readouterr().err


def test_an_export_obeys(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "export"
    flags = (f"--run={run}", "--format=huggingface", f"--out={out}")
    assert drivers.drive(export.main, *flags) == 0
    require_obeying(made_in(next(out.rglob("*.csv"))), 60)


def test_python_obeys() -> None:
    schema, frame = ruled_tables.schema_of(), ruled_tables.frame_of(300)
    method = jaxdp.methods.marginals
    made, _ = jaxdp.run(
        method,
        method.Settings(eps=2.0, delta=1e-3, num_synthetic=50, steps=3),
        jaxdp.Spec.table("stays", schema, len(frame)),
        jaxdp.Private.of_frame(frame, schema),
        progress=False,
    )
    require_obeying(pd.read_csv(io.StringIO(made.to_csv()), dtype=str, keep_default_na=False), 50)


def test_a_comparison_says_how_many_records_break_rules(run: Path) -> None:
    """There alone: how many private ones do is private."""
    beside = run.with_name(f"{run.name}.not_for_release")
    said = json.loads((beside / "fidelity.json").read_text())["rules"]
    assert [each["made"] for each in said] == [0] * 5
    by_name = {each["rule"]: each["private"] for each in said}
    assert 30 < by_name["start <= end"] <= 40  # a tenth, of records that are not held out
    assert by_name["cost = drugs + care"] is None
    assert "start &lt;= end" in (beside / "fidelity.html").read_text()
    for path in run.rglob("*"):
        assert not path.is_file() or b'"rule"' not in path.read_bytes()


def test_rules_are_kept_with_what_is_bought(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = {
        name: {k: None if k in ("lower", "upper", "categories") else v for k, v in facts.items()}
        for name, facts in ruled_tables.COLUMNS.items()
    }
    columns["cost"]["nullable"] = None
    del columns["care"]["spikes"]  # bounds that are bought need not reach it
    flags = ruled_tables.write_table(tmp_path, columns=columns)
    out = tmp_path / "out"
    more = (*FAST, f"--out_dir={out}")
    assert drivers.drive(table.main, *flags, *more) == 0
    stored = json.loads((tmp_path / "ruled.bought.json").read_text())
    assert stored["rules"] == ruled_tables.RULES
    assert "cost" not in stored["bought"]["facts"], "nobody buys what follows"
    assert "nullable" not in stored["bought"]["facts"]["weeks"]
    made = made_in(out / "synthetic.csv")
    assert {k: v for k, v in ruled_tables.broken(made).items() if k != "map"} == {
        **dict.fromkeys(("order", "pregnant", "weeks", "cost", "land"), 0)
    }
    capsys.readouterr()
    again = (*flags, *FAST, f"--out_dir={tmp_path / 'again'}")
    assert drivers.drive(table.main, *again) == 0
    assert "bought of" not in capsys.readouterr().out, "and nothing is bought again"


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"start_date": DATE, "end_date": DATE}, [{"order": ["start_date", "end_date"]}]),
        ({"EndDate": DATE, "StartDate": DATE}, [{"order": ["StartDate", "EndDate"]}]),
        ({"min_age": NUMBER, "max_age": NUMBER}, [{"order": ["min_age", "max_age"]}]),
        ({"start": DATE, "end": DATE | {"format": "%Y"}}, []),
        ({"start": DATE, "end": DATE | {"format": "%d.%m.%Y"}}, [{"order": ["start", "end"]}]),
        ({"start": DATE, "end": DATE | {"type": "timestamp", "format": "%Y-%m-%d %H"}}, []),
        ({"start": SECONDS, "end": SECONDS}, [{"order": ["start", "end"]}]),
        ({"start": SECONDS, "end": SECONDS | {"zone": "Asia/Tokyo"}}, []),
        ({"first_name": WORD, "last_name": WORD}, []),
        ({"start": {"type": "time", "format": "%H:%M"}, "end": {"type": "time"}}, []),
        ({"start": DATE, "end": {"drop": True}}, []),
        (
            {"total_cost": NUMBER, "drug_cost": NUMBER, "care_cost": NUMBER, "rent": NUMBER},
            [{"total": "total_cost", "sum": ["drug_cost", "care_cost"]}],
        ),
        ({"total_cost": NUMBER, "drug_cost": NUMBER}, []),
        ({"total": NUMBER, "a": NUMBER, "b": NUMBER}, []),
        (
            {"zip": WORD, "city": WORD, "state": WORD, "country": WORD},
            [
                {"determined": "city", "by": "zip"},
                {"determined": "state", "by": "city"},
                {"determined": "country", "by": "state"},
            ],
        ),
        ({"home_city": WORD, "work_country": WORD, "zip": NUMBER, "city": WORD}, []),
        ({"postal_code": WORD, "town": WORD}, [{"determined": "town", "by": "postal_code"}]),
    ],
)
def test_names_suggest_rules(columns: dict, expected: list) -> None:
    found = proposed_rules.of(columns)
    assert found == [{"proposed": True, **rule} for rule in expected]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Aufnahme", "Entlassung"),
        ("aufnahmedatum", "entlassungsdatum"),
        ("Geburtstag", "Todestag"),
        ("Behandlungsbeginn", "Behandlungsende"),
        ("gueltig_von", "gueltig_bis"),
        ("gültigVon", "gültigBis"),
        ("ERÖFFNET", "GESCHLOSSEN"),
        ("eroeffnet", "geschlossen"),
        ("größe_untere", "größe_obere"),
        ("startdate", "enddate"),
        ("date_début", "date_fin"),
        ("DateDebut", "DateFin"),
        ("date_d_entre\u0301e", "date_de_sortie"),
        ("naissance", "décès"),
        ("fecha_ingreso", "fecha_alta"),
        ("Fecha de nacimiento", "Fecha de defunción"),
        ("data_inizio", "data_fine"),
        ("data di ricovero", "data di dimissione"),
        ("valido_da", "valido_a"),
        ("data_início", "data_término"),
        ("desde", "até"),
        ("begindatum", "einddatum"),
        ("Opnamedatum", "Ontslagdatum"),
        ("overlijden_van", "overlijden_tot"),
        ("geboortedatum", "overlijdensdatum"),
        ("admission", "discharge"),
        ("order_date", "delivery_date"),
    ],
)
def test_names_in_other_languages_suggest_orders(first: str, then: str) -> None:
    expected = [{"proposed": True, "order": [first, then]}]
    assert proposed_rules.of({first: DATE, then: DATE}) == expected
    assert proposed_rules.of({then: DATE, first: DATE}) == expected


@pytest.mark.parametrize(("one", "other"), [("arrival", "departure"), ("Ankunft", "Abfahrt")])
def test_of_arrival_and_departure_that_is_first_which_stands_first(one: str, other: str) -> None:
    for first, then in ((one, other), (other, one)):
        found = proposed_rules.of({first: DATE, then: DATE})
        assert found == [{"proposed": True, "order": [first, then]}]


@pytest.mark.parametrize(
    ("one", "other"),
    [("Aufnahme", "Aufnahmeart"), ("update", "enddate"), ("ende_a", "beginn_b"), ("da", "de")],
)
def test_names_that_are_alike_by_chance_suggest_nothing(one: str, other: str) -> None:
    assert proposed_rules.of({one: DATE, other: DATE}) == []


def test_totals_and_places_in_other_languages_are_proposed() -> None:
    places = {"Postleitzahl": WORD, "Stadt": WORD, "Bundesland": WORD, "Land": WORD}
    found = [(rule["by"], rule["determined"]) for rule in proposed_rules.of(places)]
    assert found == list(itertools.pairwise(places))
    assert proposed_rules.of({"Code postal": WORD, "Ville": WORD})[0]["by"] == "Code postal"
    costs = {"kosten_gesamt": NUMBER, "kosten_labor": NUMBER, "kosten_pflege": NUMBER}
    (rule,) = proposed_rules.of(costs)
    assert (rule["total"], rule["sum"]) == ("kosten_gesamt", ["kosten_labor", "kosten_pflege"])


def stays(folder: Path) -> Path:
    """Write a table in which every stay ends before it starts."""
    path, num = folder / "stays.csv", 120
    days = pd.Series(pd.date_range("2020-01-01", periods=num)).dt.strftime("%Y-%m-%d")
    frame = pd.DataFrame({"start": days[::-1].to_numpy(), "end": days, "kind": ["a", "b"] * 60})
    frame.to_csv(path, index=False)
    return path


def test_a_draft_proposes_what_names_suggest_whatever_records_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    csv = stays(tmp_path)
    assert drivers.drive(draft_schema.main, f"--csv={csv}") == 0
    text = (tmp_path / "stays.json").read_text()
    assert '\n  {"proposed": true, "order": ["start", "end"]}\n' in text
    assert 'take "proposed" out' in json.loads(text)["about"]
    (tmp_path / "stays.json").unlink()
    for answer, rules in (("y", [{"order": ["start", "end"]}]), ("", None)):
        monkeypatch.setattr("sys.stdin", io.StringIO(f"a\n{answer}\n"))
        assert drivers.drive(draft_schema.main, f"--csv={csv}", "--ask") == 0
        assert json.loads((tmp_path / "stays.json").read_text()).get("rules") == rules
        (tmp_path / "stays.json").unlink()
    assert "start <= end (y: yes, Enter: no)" in capsys.readouterr().err


def test_whether_guessed_rules_hold_is_asked_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    csv = stays(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert drivers.drive(table.main, f"--csv={csv}", *FAST, "--accept_guesses") == 2
    said = capsys.readouterr().err
    assert "names of columns suggest rules: start <= end" in said
    assert "--accept_rules" in said
    assert "--noaccept_rules" in said
    assert sorted(tmp_path.iterdir()) == before


def test_accepted_rules_hold(tmp_path: Path) -> None:
    csv = stays(tmp_path)
    flags = (f"--csv={csv}", *FAST, "--accept_guesses", "--accept_rules")
    assert drivers.drive(table.main, *flags, f"--out_dir={tmp_path / 'out'}") == 0
    stored = json.loads((tmp_path / "stays.json").read_text())
    assert stored["rules"] == [{"order": ["start", "end"]}]
    assert "--accept_guesses" in stored["about"]
    made = made_in(tmp_path / "out" / "synthetic.csv")
    assert not (made.end < made.start).any()


def test_accepted_guesses_are_no_rules(tmp_path: Path) -> None:
    csv = stays(tmp_path)
    flags = (f"--csv={csv}", *FAST, "--accept_guesses", "--noaccept_rules")
    assert drivers.drive(table.main, *flags, f"--out_dir={tmp_path / 'out'}") == 0
    assert json.loads((tmp_path / "stays.json").read_text())["rules"][0]["proposed"] is True
    assert "rules" not in json.loads((tmp_path / "stays.bought.json").read_text())
    made = made_in(tmp_path / "out" / "synthetic.csv")
    assert (made.end < made.start).any()


def test_a_walk_asks_about_each_rule() -> None:
    lines = iter(["", "yes"])
    columns = {"start": DATE, "end": DATE, "zip": WORD, "city": WORD}
    found = interview.agreed_rules(columns, asks=lambda prompt: next(lines))
    assert found == [{"determined": "city", "by": "zip"}]


def test_orders_are_those_of_all_pairs_of_names_and_cost_nothing_for_others() -> None:
    words = ["start", "end", "admitted", "discharged", "Aufnahmedatum", "Entlassungsdatum", "von"]
    words += ["bis", "date_d_entree", "date_de_sortie", "x", "birth", "death", "min", "max", "2"]
    pairs = [f"{a}_{b}" for a in ("visit", "stay") for b in words[:6]]
    names = list(dict.fromkeys([*words, *pairs, *(f"{b} of a" for b in words)]))
    said = {name: words_of_rules.words_of(name) for name in names}
    expected = [
        [first, then]
        for (place, first), (other, then) in itertools.permutations(enumerate(names), 2)
        if words_of_rules.is_ordered(said[first], said[then], in_this_order=place < other)
    ]
    numbers = {name: {"type": "numeric"} for name in names}
    found = [rule["order"] for rule in proposed_rules.of(numbers) if "order" in rule]
    assert found == expected
    assert len(found) > 12
    genes = {f"gene_{number}_start": {"type": "numeric"} for number in range(3000)}
    assert proposed_rules.of(genes) == []
    same = {f"start{'_' * number}": {"type": "numeric"} for number in range(300)}
    assert proposed_rules.of({**same, "end": {"type": "numeric"}}) == []
