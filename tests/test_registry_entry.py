"""An entry for the registry of deployments tells what the certificate and the ledger tell."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from absl.testing import flagsaver
from support import saved_folders

import jaxdp
from jaxdp.privacy.certificates import Terms, certify
from jaxdp.privacy.dataset_ledger import DatasetLedger
from jaxdp.privacy.ledger import UNROUNDED_NOISE, Ledger, joint_epsilon, joint_profile, one_release
from jaxdp.program import command_line
from jaxdp.program.commands import registry_entry, spent

# Headings of the registry's own template of an entry, and those that it does not ask for.
TEMPLATE = {
    "basic": "name data_curators description intended_use data_product_type data_product_region "
    "data_product_sector publication_date",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details privacy_parameters "
    "privacy_parameters_details",
    "deployment_model": "model_name trust_assumptions actors release_type release_type_details "
    "data_source_type access_type",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms composition "
    "post_processing justification utility",
    "administrative": "evidence_sources status registry_authors tier",
}


def run(*arguments: str) -> int:
    with flagsaver.flagsaver():
        try:
            registry_entry.main(command_line.parse(["registry_entry", *arguments]))
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def written(folder: Path, *flags: str) -> dict[str, Any]:
    out = folder.with_suffix(".yaml")
    out.unlink(missing_ok=True)
    assert run(f"--run={folder}", f"--out={out}", *flags) == 0
    return yaml.safe_load(out.read_text())["deployment"]


def ledger_of(folder: Path) -> Ledger:
    return Ledger.from_json(jaxdp.load(folder).certificate.facts["ledger"])


def test_an_entry_has_the_headings_of_the_registry_and_the_numbers_of_the_certificate(
    tmp_path: Path,
) -> None:
    folder = saved_folders.images(tmp_path / "run")
    found, facts = written(folder), jaxdp.load(folder).certificate.facts
    assert {name: " ".join(part) for name, part in found.items()} == TEMPLATE
    loss = found["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": facts["epsilon"], "delta": facts["delta"]}
    assert loss["privacy_unit"] == "Record"
    assert facts["attacker"]["in_words"] in loss["privacy_parameters_details"]
    assert found["deployment_model"]["release_type"] == "One release"
    assert found["basic"]["description"].startswith("12 images of 5x4 pixels, grey, made from 90")
    assert found["basic"]["intended_use"] == registry_entry.FILL_IN


def test_guarantee_an_entry_tells_the_sum_of_all_runs_in_the_ledger(tmp_path: Path) -> None:
    folder = saved_folders.images(tmp_path / "run")
    own = ledger_of(folder)
    file = DatasetLedger(tmp_path / "scans.ledger.jsonl")
    for number in range(3):
        file.enter(f"{number:032x}", "dp_ntk", own)
    named(folder, f"{1:032x}")
    found = written(folder, f"--ledger={file.path}")
    told = found["privacy_loss"]["privacy_parameters"]
    assert told["epsilon"] == joint_epsilon([own] * 3, delta=own.delta)
    assert found["deployment_model"]["release_type"] == "Many releases"
    mu = joint_profile([own] * 3).mu
    assert f"mu = {mu:.2f}"[:-1] in found["privacy_loss"]["privacy_parameters_details"]
    assert found["basic"]["publication_date"] == file.read().entries[0].at[:10]


def named(folder: Path, name: str) -> None:
    """Note the name of a run in its ledger."""
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"ledger_entry": name}))


def test_guarantee_an_entry_is_about_persons_where_all_runs_are(tmp_path: Path) -> None:
    folder = saved_folders.images(tmp_path / "run")
    own = ledger_of(folder)
    certificate = certify(own, Terms(covers=("a",), target_epsilon=1.0, persons_declared=True))
    stored = json.loads((folder / "privacy.json").read_text())
    (folder / "privacy.json").write_text(json.dumps(certificate | {"sha256": stored["sha256"]}))
    file = DatasetLedger(tmp_path / "scans.ledger.jsonl")
    file.enter(f"{1:032x}", "dp_ntk", own, persons=True)
    named(folder, f"{1:032x}")
    alone = written(folder, f"--ledger={file.path}")["privacy_loss"]
    assert alone["privacy_unit"] == "Person, with at most 1 record"
    assert spent.lines(str(file.path), None)[2] == "protected are persons"
    file.enter(f"{2:032x}", "dp_ntk", own)
    found = written(folder, f"--ledger={file.path}")["privacy_loss"]
    assert found["privacy_unit"] == "Record"
    assert "one person" not in found["privacy_unit_details"]
    assert "single records" in spent.lines(str(file.path), None)[3]


def test_guarantee_an_entry_claims_no_less_than_the_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a ledger it tells the certificate's sum, and a ledger that lacks a run is refused."""
    folder = saved_folders.images(tmp_path / "run")
    own = ledger_of(folder)
    steps = one_release(90, noise_multiplier=9.0)
    other = Ledger(num_examples=90, delta=1e-4, steps=steps)
    terms = Terms(covers=("a",), target_epsilon=1.0, earlier=(other, own))
    stored = json.loads((folder / "privacy.json").read_text())
    facts = certify(own, terms) | {"sha256": stored["sha256"]}
    (folder / "privacy.json").write_text(json.dumps(facts))
    told = written(folder)["privacy_loss"]
    parameters = {"epsilon": facts["epsilon_with_earlier_runs"], "delta": facts["delta"]}
    assert told["privacy_parameters"] == parameters
    assert "Neighbours: zero-out" in told["privacy_unit_details"]
    file = DatasetLedger(tmp_path / "scans.ledger.jsonl")
    file.enter(f"{1:032x}", "dp_ntk", other)
    file.enter(f"{2:032x}", "dp_ntk", own)
    named(folder, f"{2:032x}")
    assert run(f"--run={folder}", f"--out={tmp_path / 'e'}", f"--ledger={file.path}") == 2
    assert "does not hold all runs" in capsys.readouterr().err
    named(folder, f"{9:032x}")
    file.enter(f"{3:032x}", "dp_ntk", own)
    assert run(f"--run={folder}", f"--out={tmp_path / 'e'}", f"--ledger={file.path}") == 2
    assert "is not in it" in capsys.readouterr().err


def test_guarantee_no_entry_is_made_of_what_must_not_be_released(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved_folders.write(
        tmp_path / "open",
        "synthetic",
        jaxdp.Spec.images("scans", (90, 2, 2, 1), class_names=saved_folders.NAMES, high=255),
        {},
        stddev=0.0,
    )
    assert run(f"--run={folder}", f"--out={tmp_path / 'e'}") == 2
    assert "MUST NOT BE RELEASED" in capsys.readouterr().err
    assert not (tmp_path / "e.yaml").exists()


def test_what_is_missing_or_of_other_data_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved_folders.images(tmp_path / "run")
    other = DatasetLedger(tmp_path / "other.ledger.jsonl")
    other.enter("0" * 32, "dp_ntk", saved_folders.ledger_of(jaxdp.load(folder).spec, stddev=2.0))
    cases = {
        (): "--run: name the folder",
        (f"--run={folder}",): "--out: name the file",
        (f"--run={folder}", "--out=x", "--ledger=nowhere"): "there is no such file",
        (f"--run={folder}", "--out=x", f"--ledger={other.path}"): "does not hold all runs",
        (f"--run={tmp_path}", "--out=x"): "has no privacy.json",
    }
    for flags, said in cases.items():
        assert run(*flags) == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1


def test_hostile_names_stay_texts_of_the_entry(tmp_path: Path) -> None:
    names = ("a: b", "- c\n# d", "e' \"f")
    found = written(saved_folders.images(tmp_path / "run", names=names))
    assert {name: " ".join(part) for name, part in found.items()} == TEMPLATE


def test_the_sum_of_a_ledger_comes_with_mu_and_what_an_attacker_can_do(tmp_path: Path) -> None:
    own = saved_folders.ledger_of(
        jaxdp.Spec.images("scans", (90, 2, 2, 1), class_names=("a", "b"), high=255), stddev=1.0
    )
    file = DatasetLedger(tmp_path / "scans.ledger.jsonl")
    for number in range(4):
        file.enter(f"{number:032x}", "dp_ntk", own)
    *runs, together, _, mu, attack = spent.lines(str(file.path), None)
    assert len(runs) == 4
    assert together.startswith("all 4 together: epsilon")
    assert together.endswith(", less than the sum because losses compose")
    alone = DatasetLedger(tmp_path / "one.ledger.jsonl")
    alone.enter(f"{9:032x}", "dp_ntk", own)
    assert "losses compose" not in "\n".join(spent.lines(str(alone.path), None))
    before = dataclasses.replace(own, noise=UNROUNDED_NOISE)
    alone.enter(f"{8:032x}", "dp_ntk", before)
    assert spent.lines(str(alone.path), None)[-1].startswith("WARNING: 1 of 2 earlier runs have")
    bought = dataclasses.replace(own, threshold_delta=1e-6)
    alone.enter(f"{7:032x}", "schema", bought)
    assert spent.lines(str(alone.path), None)[-3].endswith(
        "beside a chance of 1e-06 that a threshold fails"
    )
    assert mu == "mu = 0.2 of Gaussian differential privacy"  # 2 of one release of a tenth
    assert "which of two records was used is right at most 53.99 %" in attack


def test_the_ledger_is_found_by_its_data(tmp_path: Path) -> None:
    (tmp_path / "scans" / "ill").mkdir(parents=True)
    for name in ("people.2024.csv", "cells.npz"):
        (tmp_path / name).touch()
    for data, name in (
        ("people.2024.csv", "people.2024"),
        ("cells.npz", "cells"),
        ("scans", "scans"),
        ("scans/", "scans"),
    ):
        expected = str(tmp_path / f"{name}.ledger.jsonl")
        assert spent._file_of(f"{tmp_path}/{data}") == expected
        assert spent._file_of(expected) == expected


def test_no_entry_is_made_where_noise_of_an_earlier_run_promises_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved_folders.images(tmp_path / "run")
    own = ledger_of(folder)
    ledger = DatasetLedger(tmp_path / "data.ledger.jsonl")
    ledger.enter(f"{9:032x}", "dp_ntk", own)
    ledger.enter(f"{8:032x}", "dp_ntk", dataclasses.replace(own, noise=UNROUNDED_NOISE))
    out = tmp_path / "entry.yaml"
    assert run(f"--run={folder}", f"--out={out}", f"--ledger={ledger.path}") == 2
    assert "no epsilon holds of all runs together: its noisy sums" in capsys.readouterr().err
    assert not out.exists()
