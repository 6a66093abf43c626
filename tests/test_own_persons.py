"""Own data in which a person has several records: what is read, used, noised and certified."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import PIL.Image
import pytest
from support import drivers, toy_tables

import jaxdp
from jaxdp.methods.settings import rules
from jaxdp.privacy.mechanism import MOST_RECORDS_PER_PERSON
from jaxdp.program.commands import dp_kip, dp_ntk
from jaxdp.program.data import persons, table_files, tables
from jaxdp.program.data.load import dataset_for
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import KipFlags


def stored(folder: Path, **more: Any) -> Path:
    """Write a dataset of 90 images of 20 persons; pixels tell the record."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (90, 4, 4), dtype=np.uint8)
    x[:, 0, 0] = np.arange(90)
    arrays = {
        "x_train": x,
        "y_train": np.arange(90) % 2,
        "x_test": x[:10],
        "y_test": np.arange(10) % 2,
    }
    whose = rng.integers(0, 20, 90)
    np.savez(folder / "scans.npz", **(arrays | {"group_train": whose} | more))
    return folder


def read(*flags: str) -> Any:
    return dataset_for(drivers.settings(KipFlags, *flags), seed=0)


def test_guarantee_no_more_records_of_a_person_are_used_than_certified(tmp_path: Path) -> None:
    flags = ("--dataset=scans", f"--data_dir={stored(tmp_path)}", "--records_per_person=2")
    data = read(*flags)
    with np.load(tmp_path / "scans.npz") as arrays:
        whose = arrays["group_train"]
    used = data.private.x[:, 0, 0, 0]
    counts = np.bincount(whose[used], minlength=20)
    np.testing.assert_array_equal(counts, np.minimum(np.bincount(whose, minlength=20), 2))
    assert (data.spec.records_per_person, data.spec.persons_declared) == (2, True)
    assert read(*flags[:2], "--records_per_person=1").spec.persons_declared
    assert data.spec.num_examples == counts.sum()
    # Another person's records choose nothing: with all records of one replaced, others stay.
    with np.load(tmp_path / "scans.npz") as arrays:
        x, y = arrays["x_train"].copy(), arrays["y_train"].copy()
    one = whose == whose[0]
    x[one, 1:], y[one] = 255, 1 - y[one]
    stored(tmp_path, x_train=x, y_train=y)
    np.testing.assert_array_equal(read(*flags).private.x[:, 0, 0, 0], used)


def test_data_that_name_persons_need_a_bound(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    with pytest.raises(InputError, match=r"--records_per_person: .* names the person"):
        read("--dataset=scans", f"--data_dir={folder}")
    for bad in (np.zeros(89, int), np.zeros(90), np.zeros((90, 1), int)):
        stored(tmp_path, group_train=bad)
        with pytest.raises(InputError, match="group_train"):
            read("--dataset=scans", f"--data_dir={folder}", "--records_per_person=2")
    assert rules(KipFlags)["records_per_person"].at_most == MOST_RECORDS_PER_PERSON


def test_a_single_number_instead_of_images_is_refused(tmp_path: Path) -> None:
    stored(tmp_path, x_train=np.uint8(1))
    with pytest.raises(InputError, match="x_train"):
        read("--dataset=scans", f"--data_dir={tmp_path}", "--records_per_person=2")


def images(folder: Path) -> Path:
    """Write a folder of images of 12 persons, up to 9 of each, in class folders alone."""
    rng = np.random.default_rng(1)
    for number in range(60):
        path = folder / "scans" / "ab"[number % 2] / f"p{number * 7 % 12}_{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        PIL.Image.fromarray(rng.integers(0, 256, (8, 8), dtype=np.uint8)).save(path)
    return folder


def test_names_of_image_files_tell_persons_and_none_is_in_both_splits(tmp_path: Path) -> None:
    flags = (f"--data_dir={images(tmp_path)}", "--dataset=scans", "--test_fraction=0.25")
    data = read(*flags, "--person_separator=_", "--records_per_person=3")
    assert (len(data.private.x), len(data.test.x)) == (9 * 3, 3 * 5)
    assert "0.25 of all persons' images are held out" in "\n".join(data.notes)
    with pytest.raises(InputError, match=r"--person_separator=-: .* names no person"):
        read(*flags, "--person_separator=-", "--records_per_person=3")
    with pytest.raises(InputError, match="--records_per_person"):
        read(*flags, "--person_separator=_")


@pytest.mark.parametrize("blank", ["", " ", "NA", "-9"])
def test_guarantee_records_of_nobody_are_not_one_persons(blank: str, tmp_path: Path) -> None:
    """Naming one of them would change which of the others are used."""
    whose = [blank if number % 9 == 0 else f"p{number % 20}" for number in range(90)]
    frame = toy_tables.frame_of(90).assign(patient=whose)
    frame.to_csv(tmp_path / "visits.csv", index=False)
    schema = {"missing": ["", "NA", "-9.0"], "columns": toy_tables.COLUMNS}
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    flags = (f"--csv={tmp_path}/visits.csv", f"--schema={tmp_path}/schema.json")
    with pytest.raises(InputError, match="names no person for some records"):
        read(*flags, "--person_column=patient", "--records_per_person=2")
    if not blank.strip():
        folder = stored(tmp_path, group_train=np.array(whose))
        with pytest.raises(InputError, match="names no person for some records"):
            read("--dataset=scans", f"--data_dir={folder}", "--records_per_person=2")


def test_guarantee_persons_that_no_files_name_are_not_certified(tmp_path: Path) -> None:
    x, y = np.zeros((20, 4, 4), np.uint8), np.arange(20) % 2
    np.savez(tmp_path / "scans.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    flags = ("--dataset=scans", f"--data_dir={tmp_path}", "--records_per_person=3")
    with pytest.raises(InputError, match="names no persons; it is for files of images"):
        read(*flags, "--person_separator=_")
    path = images(tmp_path / "own") / "scans" / "a" / "_1.png"
    PIL.Image.fromarray(x[0]).save(path)
    flags = (f"--data_dir={tmp_path / 'own'}", "--dataset=scans", "--test_fraction=0.25")
    with pytest.raises(InputError, match=r"_1\.png names no person"):
        read(*flags, "--person_separator=_", "--records_per_person=3")


def test_guarantee_a_person_ends_at_the_first_separator(tmp_path: Path) -> None:
    """And each training image is counted for the person whom it shows: pixels tell which."""
    for number in range(60):
        person, visit = number % 12, number // 12
        path = tmp_path / "scans" / "ab"[visit % 2] / f"p{person}_{visit}_{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        PIL.Image.fromarray(np.full((8, 8), 20 * person, np.uint8)).save(path)
    flags = (f"--data_dir={tmp_path}", "--dataset=scans", "--person_separator=_")
    data = read(*flags, "--records_per_person=1", "--test_fraction=0.25")
    used, held_out = (sorted(x[:, 0, 0, 0]) for x in (data.private.x, data.test.x))
    assert len(used) == len(set(used)) == 9
    assert len(set(held_out)) == 3
    assert not set(used) & set(held_out)


def test_guarantee_another_person_moves_one_person_between_splits() -> None:
    whose = np.repeat([f"p{number}" for number in range(30)], 3)
    test = persons.held_out_persons(whose, 0.2, seed=0)
    assert test.sum() == 18
    for new in ("a", "b", "c", "p"):
        changed = np.where(whose == "p3", new, whose)
        moved = persons.held_out_persons(changed, 0.2, seed=0)
        kept, other = set(whose[~test]) - {"p3"}, set(changed[~moved]) - {new}
        assert len(kept - other) <= 1
        assert len(other - kept) <= 1
    with pytest.raises(InputError, match="of one person"):
        persons.held_out_persons(np.array(["a", "a"]), 0.5, seed=0)


@pytest.mark.parametrize("place", ["npz", "table"])
def test_guarantee_another_person_changes_one_person_of_a_subset_at_most(
    place: str, tmp_path: Path
) -> None:
    """Which records of a person are used depends on the name, and so do places after them."""

    def chosen(name: str) -> set[int]:
        whose = [name if number in (0, 30, 60) else f"p{number}" for number in range(90)]
        if place == "npz":
            flags = ("--dataset=scans", f"--data_dir={stored(tmp_path, group_train=whose)}")
            found = read(*flags, "--records_per_person=1", "--subset=40").private.x[:, 0, 0, 0]
            return set(found.tolist())
        frame = toy_tables.frame_of(90).assign(patient=whose, debt=np.arange(90))
        frame.to_csv(tmp_path / "visits.csv", index=False)
        (tmp_path / "schema.json").write_text(json.dumps({"columns": toy_tables.COLUMNS}))
        flags = (f"--csv={tmp_path}/visits.csv", f"--schema={tmp_path}/schema.json")
        found = read(*flags, "--person_column=patient", "--records_per_person=1", "--subset=40")
        return set(found.private.x[:, 2].tolist())

    before = chosen("q0")
    assert len(before) == 40
    for number in range(1, 8):
        assert len(before - chosen(f"q{number}")) <= 1


def test_a_column_of_a_table_tells_persons(tmp_path: Path) -> None:
    frame = toy_tables.frame_of(100)
    frame["patient"] = [f"p{number % 25}" for number in range(100)]
    frame.to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "schema.json").write_text(json.dumps({"columns": toy_tables.COLUMNS}))
    flags = (f"--csv={tmp_path}/visits.csv", f"--schema={tmp_path}/schema.json")
    data = read(*flags, "--person_column=patient", "--records_per_person=3", "--test_fraction=0.2")
    assert (len(data.private.x), len(data.test.x)) == (20 * 3, 5 * 4)
    assert data.spec.records_per_person == 3
    source = table_files.Source("csv", str(tmp_path / "visits.csv"))
    table = tables.read_table(source, toy_tables.schema_of(), "patient")
    np.testing.assert_array_equal(table.persons, frame["patient"])
    for column, said in (("doctor", "has no column 'doctor'"), ("ill", "names the target")):
        with pytest.raises(InputError, match=said):
            read(*flags, f"--person_column={column}", "--records_per_person=3")


@pytest.mark.parametrize("dtype", ["Int64", "float", "string"])
def test_guarantee_a_missing_person_leaves_those_of_others_as_they_are(
    dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a part of the table with one, 17 was read as 17.0, or cut off to 1."""
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(table_files, "_CHUNK", 10)
    whose = pd.Series([17, 18] * 10).astype(dtype)
    whose[3] = pd.NA if dtype != "float" else np.nan
    frame = toy_tables.frame_of(20).assign(patient=whose)
    frame.to_parquet(tmp_path / "visits.parquet")
    source = table_files.Source("csv", str(tmp_path / "visits.parquet"))
    found = tables.read_table(source, toy_tables.schema_of(), "patient").persons
    assert found is not None
    assert found.tolist() == ["17", "18", "17", "", *["17", "18"] * 8]


def test_guarantee_a_missing_whole_number_leaves_those_of_others_as_they_are(
    tmp_path: Path,
) -> None:
    """Floats do not hold 2**53 + 1: with one missing number, others were of no category."""
    large = 2**53 + 1
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    choice = {"type": "categorical", "categories": [large, 1], "nullable": True}
    stored = []
    for value in (1, None):
        values = pyarrow.array([large, large, value])
        table = pyarrow.table({"x": values, "t": ["no"] * 3})
        pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
        source = table_files.Source("csv", str(tmp_path / "a.parquet"))
        stored.append(tables.read_table(source, toy_tables.one_column(choice)).x[:, 0].tolist())
    assert stored == [[0, 0, 1], [0, 0, 3]]


TOY = {
    "dp_ntk": ("--features=rff", "--generator=dense", "--steps=1", "--num_synthetic=20"),
    "dp_kip": ("--kernel=fc_ntk", "--steps=50", "--batch_size=5"),
}


@pytest.mark.parametrize(("method", "main"), [("dp_ntk", dp_ntk.main), ("dp_kip", dp_kip.main)])
def test_guarantee_certificates_of_runs_say_whom_they_protect(
    method: str, main: Any, tmp_path: Path
) -> None:
    folder, out = stored(tmp_path / "data"), tmp_path / "run"
    flags = ("--dataset=scans", f"--data_dir={folder}", f"--out_dir={out}", "--delta=1e-3")
    run = (*TOY[method], *flags, "--records_per_person=3", "--evaluate=none")
    assert drivers.drive(main, *run) == 0
    found = drivers.read(out, "privacy.json")
    assert found["unit"].startswith("one person with at most 3 records")
    assert found["epsilon"] <= 1.0 + 1e-6
    assert found["ledger"]["records_per_person"] == 3
    if method == "dp_ntk":
        again = (*TOY[method], *flags[:2], f"--embedding={out}/embedding.npz", "--evaluate=none")
        other = (f"--out_dir={tmp_path}/again", "--records_per_person=2")
        assert drivers.drive(main, *again, *other) == 2
        assert drivers.drive(main, *again, other[0], "--records_per_person=3") == 0


METHODS = {
    "dp_kip": {"batch_size": 10, "steps": 300},
    "teacher": {"batch_size": 10, "steps": 300, "match": "both"},
    "dp_ntk": {"features": "rff"},
    "labelled": {"labels": "teacher", "features": "rff"},
}


@pytest.mark.parametrize("name", list(METHODS))
def test_guarantee_every_method_adds_the_noise_that_persons_need(name: str) -> None:
    """The same budget for persons with 4 records takes more noise, in all that is released."""
    package = getattr(jaxdp.methods, "dp_ntk" if name == "labelled" else name)
    spec = jaxdp.Spec.images("scans", (200, 8, 8), class_names=["no", "yes"])
    settings = package.complete(package.Settings(eps=1.0, delta=1e-4, **METHODS[name]), spec)
    one, four = (package.make_plan(settings, each).ledger for each in (spec, spec.of_persons(4)))
    assert four.records_per_person == 4
    for ledger in (one, four):
        assert 0.9 < ledger.epsilon() <= 1 + 1e-6
    assert dataclasses.replace(four).epsilon() == four.epsilon()
    if one.steps is not None:
        assert four.steps.noise_multiplier > 1.5 * one.steps.noise_multiplier
    # What a teacher releases beside its steps, after the embedding, has shares by the noise.
    compared = slice(1) if name == "labelled" else slice(None)
    for before, after in zip(one.also[compared], four.also[compared], strict=True):
        assert after == pytest.approx(4 * before)
    for before, after in zip(one.releases, four.releases, strict=True):
        assert after.stddev == pytest.approx(4 * before.stddev)
        assert after.sensitivity == before.sensitivity


@pytest.mark.parametrize("name", list(METHODS))
def test_guarantee_every_method_adds_the_noise_that_persons_of_a_table_need(name: str) -> None:
    """Records become one-hot rows or cells on the way, and are still those of persons."""
    package, table = (
        getattr(jaxdp.methods, "dp_ntk" if name == "labelled" else name),
        METHODS[name] | {"match": "teacher"},
    )
    spec = jaxdp.Spec.table("visits", toy_tables.schema_of(), 200)
    names = {field.name for field in dataclasses.fields(package.Settings)} - {"features"}
    asked = {key: value for key, value in table.items() if key in names}
    epsilons = []
    for each in (spec, spec.of_persons(4)):
        settings = package.complete(package.Settings(eps=1.0, delta=1e-4, **asked), each)
        ledger = package.make_plan(settings, each).ledger
        assert 0.9 < ledger.epsilon() <= 1 + 1e-6
        assert ledger.records_per_person == each.records_per_person
        alone = {} if ledger.steps is None else {"steps": of_single_records(ledger.steps)}
        epsilons.append(dataclasses.replace(ledger, records_per_person=1, **alone).epsilon())
    assert epsilons[1] < 0.6 * epsilons[0]


def of_single_records(steps: Any) -> Any:
    return dataclasses.replace(steps, records_per_person=1)


def test_renyi_accounting_of_persons_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--accountant=rdp", "--records_per_person=2", "--steps=1")
    assert drivers.drive(dp_kip.main, *flags) == 2
    assert "--accountant=rdp: knows no persons" in capsys.readouterr().err
