"""The README.md of a folder says what is in it, and nothing that is private; others' files stay."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import classified, saved_folders
from support.toy_tables import schema_of

import jaxdp
from jaxdp.data import Spec
from jaxdp.methods import card, learnt
from jaxdp.methods.dp_ntk.settings import COUNTS
from jaxdp.methods.dp_ntk.story import COVERS
from jaxdp.methods.made import Made
from jaxdp.privacy import certificates
from jaxdp.privacy.promises import Certificate
from jaxdp.privacy.stored_certificates import recertified
from jaxdp.program.runs.folder import RunFolder
from jaxdp.tables.dialects import Dialect
from jaxdp.tables.schema import Schema

IMAGES = Spec.images("digits", (60, 8, 9), class_names=["a", "b"])
SPECS = {
    "images": IMAGES,
    "table": Spec.table("people", schema_of(), 60),
    "rows": Spec.rows("rows", (60, 4), class_names=["a", "b"]),
}
FOREIGN = "# Our notes\n"


def certificate_of(spec: Spec, *, stddev: float = 1.0) -> dict[str, Any]:
    terms = certificates.Terms(covers=("x.npz: all of it",), target_epsilon=1.0)
    return certificates.certify(saved_folders.ledger_of(spec, stddev=stddev), terms)


def card_of(spec: Spec, kind: str, **changes: Any) -> str:
    given: dict[str, Any] = {
        "name": "distilled" if kind == "distilled" else "synthetic",
        "num_made": 20,
        "class_names": spec.class_names,
        "certificate": certificate_of(spec),
        "config": {},
        "files": {"synthetic.npz", *(["synthetic.csv", "distilled.csv"] if spec.schema else [])},
    }
    return card.text(spec=spec, kind=kind, **(given | changes))


@pytest.mark.parametrize("kind", ["distilled", "generated"])
@pytest.mark.parametrize("name", SPECS)
def test_a_card_fits_the_data(name: str, kind: str) -> None:
    spec, text = SPECS[name], card_of(SPECS[name], kind)
    what = {
        "images": "20 images of 9x8 pixels, grey",
        "table": "20 records of 6 columns, with the class",
        "rows": "20 rows of 4 numbers",
    }
    assert f"holds {what[name]}. There are 2 classes: {', '.join(spec.class_names)}." in text
    assert ("read_csv" in text) == (name == "table")
    assert ("made.frame" in text) == (name == "table")
    assert ('data["scale"]' in text) == (kind == "distilled" and name != "table")
    new = {"images": "new.png folder/ new.npz", "table": "new.csv", "rows": "new.npz"}[name]
    assert f"jaxdp classify --run=FOLDER {new}\n" in text
    assert f"`pip install jaxdp_toolkit-{jaxdp.__version__}-py3-none-any.whl`" in text
    assert ("read.csv(" in text) == (name == "table")
    record = {"images": "one image", "table": "one record", "rows": "one row"}[name]
    assert f"What is protected is {record} of the training split" in text
    assert 40 <= len(text.splitlines()) <= 90


def test_a_card_reads_the_table_as_it_is_written(tmp_path: Path) -> None:
    """As of a file with semicolons and decimal commas, in latin-1."""
    dialect = Dialect(separator=";", decimal=",", encoding="latin-1").to_json()
    german = Schema.from_json(SPECS["table"].schema.to_json() | {"csv": dialect})
    spec = Spec.table("german", german, 60)
    text = card_of(spec, "generated")
    code = text.partition("Without it:\n\n```python\n")[2].partition("\n```")[0]
    x, y = np.full((3, 5), 0.5, np.float32).round(), np.zeros(3, np.int32)
    made = Made(
        spec=spec,
        x=x,
        y=y,
        class_names=spec.class_names,
        rows=x,
        shift=0.0,
        scale=1.0,
        arrays={"x": x},
        name="synthetic",
    )
    assert made.save(tmp_path) == tmp_path / "synthetic.csv"
    found: dict[str, Any] = {}
    exec(code.replace("synthetic.csv", str(tmp_path / "synthetic.csv")), found)
    assert list(found["frame"].columns) == list(german.order)
    numbers = {column.name for column in german.declared if column.type == "numeric"}
    kinds = found["frame"].dtypes.items()
    assert {name for name, kind in kinds if kind.kind in "if"} == numbers != set()
    for option in ('sep = ";"', 'dec = ","', 'fileEncoding = "latin-1"'):
        assert option in text


def test_guarantee_a_card_says_what_the_certificate_says() -> None:
    certificate = certificate_of(IMAGES)
    text = card_of(IMAGES, "generated", certificate=certificate)
    for said in (certificate["verdict"], *certificate["may_leave"], *certificate["must_stay"]):
        assert said in text
    promise = Certificate(certificate).promise
    assert promise.replace("one image or one row", "one image") in text
    assert "Replace one of the 60 training records by any other" in text
    assert (
        card.NAME
        in certificates.certify(
            saved_folders.ledger_of(IMAGES, stddev=1.0),
            certificates.Terms(covers=COVERS, target_epsilon=1.0),
        )["may_leave"][-2]
    )


def test_guarantee_each_paragraph_of_a_card_is_of_one_sum() -> None:
    """That with earlier runs comes first, and what the run is by itself has its name."""
    ledger = saved_folders.ledger_of(IMAGES, stddev=1.0)
    terms = certificates.Terms(covers=COVERS, target_epsilon=1.0, earlier=(ledger, ledger))
    facts = certificates.certify(ledger, terms)
    text = card_of(IMAGES, "generated", certificate=facts)
    first, _, second = text.partition("\n\n**This run by itself.** Replace one of")
    first = first.partition("**This run and 2 earlier runs on the same data, together.** Repl")[2]
    together, alone = Certificate(facts).statements
    for part, said, other in ((first, together, alone), (second, alone, together)):
        assert f"at most e^{said.promise.partition('e^')[2].split()[0]} times" in part
        assert said.attack in part
        assert other.attack not in part


def test_guarantee_a_card_of_what_must_stay_says_so() -> None:
    certificate = certificate_of(IMAGES, stddev=0.0)
    text = card_of(IMAGES, "distilled", certificate=certificate)
    assert "**MUST NOT BE RELEASED: no noise was added" in text
    assert "May leave:\n\n* nothing\n" in text
    assert "* everything in this folder\n" in text
    assert "There is no guarantee" in text
    assert "Do not pass on anything of this folder" in text


def test_relations_are_said_in_words() -> None:
    emptied = certificate_of(IMAGES) | {"relation": "zero-out: one record is emptied"}
    assert "training records by an empty one" in card_of(IMAGES, "distilled", certificate=emptied)
    reused = certificate_of(IMAGES) | {"reused": "what an earlier run released"}
    text = card_of(IMAGES, "distilled", certificate=reused)
    assert "It is made from what an earlier run released." in text


def test_without_classes_nothing_is_classified() -> None:
    text = card_of(IMAGES, "generated", class_names=("all",))
    assert "There are no classes." in text
    assert "predict" not in text
    assert "jaxdp classify" not in text


def test_names_cannot_change_a_card() -> None:
    names = ("a\n# b", "<script>", "`c`", *(f"class {number}" for number in range(40)))
    spec = Spec.images("x\n# y", (60, 8, 8), class_names=names)
    text = card_of(spec, "generated")
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings[0] == "# Synthetic images of x \\# y"
    assert headings[1:] == ["## May it leave", "## How to load it", "## What not to do"]
    assert "a \\# b, \\<script\\>, \\`c\\`" in text
    assert "class 30" not in text


@pytest.mark.parametrize(
    "make", [saved_folders.images, saved_folders.table], ids=["images", "table"]
)
def test_its_code_runs(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(tmp_path / "run")
    found = jaxdp.load(folder)
    files = {path.name for path in folder.iterdir()}
    if found.spec.schema is not None:
        found.frame.to_csv(folder / "synthetic.csv", index=False)
        files.add("synthetic.csv")
    text = card_of(found.spec, "generated", files=files)
    monkeypatch.chdir(folder)
    session: dict[str, Any] = {"images": found.x}
    if found.spec.schema is not None:
        session["frame"] = found.frame
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        exec(block.replace("FOLDER", str(folder)), session)
    np.testing.assert_array_equal(session["classes"], found.predict(session["made"].x))


def test_guarantee_a_stored_certificate_is_of_persons_only_where_somebody_declared_them() -> None:
    terms = certificates.Terms(covers=("x.npz: all of it",), target_epsilon=1.0)
    facts = certificates.certify(saved_folders.ledger_of(IMAGES, stddev=1.0), terms)
    older = {key: value for key, value in facts.items() if key != "persons_declared"}
    for stored in (facts, older, facts | {"persons_declared": "no"}):
        again = recertified(stored)
        assert again["unit"] == facts["unit"]
        assert "as a group of k" in again["unit"]


# --- Where it is written -------------------------------------------------------------------------


def made_with(text: str) -> Made:
    """Return a made set that has a card."""

    def beside(made: Made, folder: Path, files: Any) -> dict[str, bytes]:
        return {card.NAME: text.encode()} if card.may_write(folder / card.NAME) else {}

    x = np.zeros((2, 8, 9, 1), np.uint8)
    return Made(
        spec=IMAGES,
        x=x,
        y=np.arange(2),
        class_names=IMAGES.class_names,
        rows=x.reshape(2, -1),
        shift=0.0,
        scale=1.0,
        arrays={"x": x, "y": np.arange(2)},
        name="synthetic",
        beside=beside,
    )


def test_cards_are_written_anew_but_not_over_what_others_wrote(tmp_path: Path) -> None:
    text = card_of(IMAGES, "generated")
    made_with(text).save(tmp_path)
    made_with(text + "more").save(tmp_path)
    path = tmp_path / card.NAME
    assert path.read_text() == text + "more"
    path.write_text(FOREIGN)
    made_with(text).save(tmp_path)
    assert path.read_text() == FOREIGN
    path.write_bytes(b"\xff")
    assert not card.may_write(path)


def test_a_run_keeps_the_cards_of_others(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run", resume=False, overwrite=False) as folder:
        folder.write_json("config.json", {})
        folder.write_card(card_of(IMAGES, "generated"))
    path = tmp_path / "run" / card.NAME
    assert path.read_text() == card_of(IMAGES, "generated")
    with RunFolder(tmp_path / "run", resume=False, overwrite=True):
        assert not path.exists()
    path.write_text(FOREIGN)
    (tmp_path / "run" / "config.json").write_text("{}")
    with RunFolder(tmp_path / "run", resume=False, overwrite=True) as folder:
        folder.write_card(card_of(IMAGES, "generated"))
    assert path.read_text() == FOREIGN


def test_a_card_says_whom_the_guarantee_is_about() -> None:
    of_records = card_of(IMAGES, "generated")
    assert "it is about one record" in of_records
    assert "Replace one of the 60 training records by any other" in of_records
    ledger = dataclasses.replace(saved_folders.ledger_of(IMAGES, stddev=1.0), records_per_person=3)
    terms = certificates.Terms(covers=("x.npz: all of it",), target_epsilon=1.0)
    of_persons = card_of(IMAGES, "generated", certificate=certificates.certify(ledger, terms))
    assert "it is about one record" not in of_persons
    assert "Replace all that one person has of the 60 training records by any others" in of_persons
    assert "What is protected is one person with at most 3 records" in of_persons
    terms = dataclasses.replace(terms, persons_declared=True)
    facts = certificates.certify(dataclasses.replace(ledger, records_per_person=1), terms)
    assert recertified(facts) == facts
    declared = card_of(IMAGES, "generated", certificate=facts)
    assert "it is about one record" not in declared
    assert "What is protected is one person with at most one record" in declared


@pytest.mark.parametrize(
    ("priors", "said"),
    [
        ("equal", "taken to be equally common"),
        ("data", "taken to be as common as in the data"),
        (None, None),
    ],
)
def test_a_card_says_how_common_classes_are_taken_to_be(
    priors: str | None, said: str | None
) -> None:
    text = card_of(IMAGES, "distilled", config={"priors": priors})
    assert ("taken to be" in text) == (said is not None)
    assert said is None or said in text
    assert "taken to be" not in card_of(
        IMAGES, "generated", config={"priors": priors}, class_names=["all"]
    )


@pytest.mark.parametrize(
    ("config", "kind", "said"),
    [
        ({"priors": "data"}, "distilled", "data"),
        ({"priors": "equal"}, "distilled", "equal"),
        ({}, "distilled", None),
        ({"priors": "data", "features": "scatter_rbf", "weights_share": 0.0}, "generated", "equal"),
        ({"priors": "data", "features": "rff", "weights_share": 0.1}, "generated", "data"),
        ({"priors": "data", "features": "pairs", "weights_share": 0.0}, "generated", "data"),
        ({"features": "pairs"}, "generated", None),
    ],
)
def test_a_generator_that_knows_no_shares_draws_classes_equally(
    config: dict[str, Any], kind: str, said: str | None
) -> None:
    assert card.priors_of(config, kind) == said


CONFIGS: dict[str, tuple[str, dict[str, Any]]] = {
    "dp_kip": ("distilled", {"kernel": "scatter"}),
    "teacher": ("distilled", {"mirror": False, "match": "teacher"}),
    "a teacher of before": ("distilled", {"mirror": False}),
    "both": ("distilled", {"match": "both"}),
    "embedding": ("distilled", {"match": "embedding"}),
    "dp_ntk": ("generated", {"features": "scatter_rbf"}),
    "labelled": ("generated", {"features": "scatter_rbf", "labels": "teacher"}),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_what_models_learn_is_what_was_measured_on_public_data(name: str) -> None:
    """Its figures stand in tables that stored runs have written."""
    root = Path(__file__).parents[1] / "docs"
    pages = (root / "which.md").read_text() + (root / "results.md").read_text()
    kind, config = CONFIGS[name]
    said = learnt.sentence(config, kind, IMAGES)
    for figure in re.findall(r"\d+\.\d", said):
        assert re.search(rf"\| \**{re.escape(figure)}\b", pages), figure
    if name == "labelled":
        readme = (root.parent / "README.md").read_text()
        for data, figure in zip(
            ("MNIST", "Fashion-MNIST"), re.findall(r"\d+\.\d", said), strict=True
        ):
            assert re.search(rf"\| {data} \| 1 \| [\d.]+ \| \*\*{figure}\*\* \|", readme), figure
    assert said in " ".join(card_of(IMAGES, kind, config=config).split())
    assert "in the place of many" not in card_of(IMAGES, kind, config=config)
    if kind == "distilled" and name not in ("both", "embedding"):
        assert "Other models learn much less from them" in said
    other = learnt.sentence(config, kind, SPECS["table"])
    assert "MNIST" not in other
    assert "match=both" not in other


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kip", "a convolutional network 27.1"),
        ("teacher", "Other models learn much less from them; a run"),
        ("means", "They were made to look like their classes: of MNIST"),
        ("generated", "logistic regression learnt"),
        ("table kip", "Other models learn much less from them, or as much"),
        ("table generated", "differs from table to table"),
    ],
)
def test_cards_of_runs_know_their_method(
    name: str, said: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = classified.toy_place(tmp_path_factory.mktemp("cards"))
    assert said in (classified.run_of(name, place).folder / "README.md").read_text()


def test_a_card_knows_the_features_that_count_cells() -> None:
    assert card._COUNTS == COUNTS
