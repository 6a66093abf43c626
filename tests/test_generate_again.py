"""Generating runs that go on, are used again, or have been tampered with."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import drivers
from support.drivers import read
from support.generating import TOY, drive, finished_run, sample
from support.reuse import assert_certified_again, forbid_private_data, made

from jaxdp.methods import dp_ntk
from jaxdp.program.runs import generator_file, released

pytestmark = pytest.mark.usefixtures("few_public_images")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished private run on digits; tests that change it take a copy."""
    return finished_run(tmp_path_factory.mktemp("generate") / "run")


def test_evaluate_names_what_is_measured(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    stored = f"--embedding={finished / 'embedding.npz'}"
    assert drive(*TOY[1:], stored, "--evaluate=frechet", f"--out_dir={out}") == 0
    before, after = (read(folder, "metrics.json") for folder in (finished, out))
    assert "accuracy" not in after
    assert after["frechet"] == before["frechet"]


def test_guarantee_embedding_is_reused_at_no_cost_and_without_the_training_split(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_private_data(monkeypatch)
    out, stored = tmp_path / "again", finished / "embedding.npz"
    assert drive(*TOY[1:], f"--embedding={stored}", f"--out_dir={out}", "--evaluate=none") == 0
    assert_certified_again(out, finished)
    assert (out / "embedding.npz").read_bytes() == stored.read_bytes()


def test_resumed_run_uses_the_embedding_that_was_released(finished: Path, tmp_path: Path) -> None:
    """Killed after the release: a second noisy release would be one too many."""
    out = tmp_path / "run"
    shutil.copytree(finished, out)
    for name in ("checkpoints", "generator"):
        shutil.rmtree(out / name)
    (out / "synthetic.npz").unlink()
    before = (out / "embedding.npz").read_bytes()
    assert drive(*TOY, "--eps=5", f"--out_dir={out}", "--evaluate=none") == 2  # in use
    assert drive(*TOY, "--eps=5", f"--out_dir={out}", "--evaluate=none", "--resume") == 0
    assert (out / "embedding.npz").read_bytes() == before
    np.testing.assert_array_equal(made(out, "synthetic.npz"), made(finished, "synthetic.npz"))


def test_taken_folder_is_refused_before_features_are_built(
    finished: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: Any) -> None:
        raise AssertionError("features were built")

    monkeypatch.setattr("jaxdp.methods.dp_ntk.plan.build_features", forbidden)
    assert drive(*TOY, "--eps=5", f"--out_dir={finished}") == 2
    assert "already holds a run" in capsys.readouterr().err


@pytest.mark.slow
def test_killed_run_resumes_where_it_was(tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ["--ntk_width=8", "--steps=300", "--batch_size=40", "--evaluate=none", "--eps=5"]
    drivers.kill_when(
        "experiments.dp_ntk",
        *arguments,
        f"--out_dir={out}",
        ready=(out / "embedding.npz").exists,
    )
    before = (out / "embedding.npz").read_bytes()
    assert drive(*arguments, f"--out_dir={out}", "--resume", "--num_synthetic=100") == 0
    assert (out / "embedding.npz").read_bytes() == before
    assert read(out, "metrics.json")["finished"]


def test_embedding_of_other_data_or_features_is_refused(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = f"--embedding={finished / 'embedding.npz'}"
    out = f"--out_dir={tmp_path / 'run'}"
    for arguments in (
        ("--features=rff",),
        ("--ntk_width=9",),
        ("--unconditional",),
        ("--noise_seed=1",),
    ):
        assert drive(stored, *arguments, out) == 2
        assert capsys.readouterr().err.startswith("error: --")
    np.savez(tmp_path / "other.npz", mu=np.zeros((2, 3)))
    assert drive(f"--embedding={tmp_path / 'other.npz'}", out) == 2
    assert "lacks" in capsys.readouterr().err
    with np.load(finished / "embedding.npz") as saved:
        narrow = dict(saved) | {"mu": saved["mu"][:, :-1]}
    np.savez(tmp_path / "narrow.npz", **narrow)
    assert drive(f"--embedding={tmp_path / 'narrow.npz'}", out) == 2
    assert "another version made it" in capsys.readouterr().err


def test_released_file_survives_a_round_trip(finished: Path) -> None:
    found = released.read(finished / "embedding.npz", dp_ntk.FORM)
    assert found.options.ntk_width == "8"
    assert found.example_shape == (8, 8, 1)
    assert found.class_names == tuple("0123456789")
    expected = read(finished, "privacy.json")
    assert set(expected.pop("sha256")) == {
        *("embedding.npz", "synthetic.npz", "samples.png"),
        generator_file.DESCRIPTION,
    }
    assert found.certificate == expected


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    """A finished run, to be harmed."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def assert_not_resumed(copy: Path, capsys: pytest.CaptureFixture[str], said: str) -> None:
    before = {path: path.read_bytes() for path in copy.glob("*.*")}
    assert drive(*TOY, "--eps=5", "--resume", f"--out_dir={copy}") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert said in error
    assert {path: path.read_bytes() for path in copy.glob("*.*")} == before


@pytest.mark.parametrize("notes", [True, False])
def test_guarantee_a_release_that_was_moved_away_is_not_made_again(
    notes: bool, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the notes of this version, and without, as version 0.1.0 left its runs."""
    (copy / "embedding.npz").rename(copy.parent / "embedding.npz")
    if not notes:
        (copy / "released.json").unlink()
    assert_not_resumed(copy, capsys, f"{copy / 'embedding.npz'}: ")


def test_guarantee_a_run_does_not_go_on_under_other_numbers(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As if an older accountant had asked for less noise: its certificate must not be replaced."""
    config = read(copy, "config.json")
    config["ledger"]["releases"][0]["stddev"] /= 2
    (copy / "config.json").write_text(json.dumps(config))
    assert_not_resumed(copy, capsys, "config.json: the run was started with other numbers")


def test_guarantee_a_certificate_without_a_ledger_is_never_replaced(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Version 0.1.0: finished runs keep their own certificate, unfinished ones do not go on."""
    config, privacy = read(copy, "config.json"), read(copy, "privacy.json")
    del config["ledger"], privacy["ledger"]
    privacy["releases"][0]["stddev"] *= 2
    half = privacy["noise_multiplier"] = 2 * privacy["noise_multiplier"]
    (copy / "config.json").write_text(json.dumps(config))
    (copy / "privacy.json").write_text(json.dumps(privacy))
    assert drive(*TOY, "--eps=5", "--resume", f"--out_dir={copy}") == 0
    capsys.readouterr()
    assert read(copy, "privacy.json")["noise_multiplier"] == half
    assert read(copy, "config.json")["ledger"]["releases"][0]["stddev"] > 0
    metrics = read(copy, "metrics.json") | {"finished": False}
    (copy / "metrics.json").write_text(json.dumps(metrics))
    (copy / "config.json").write_text(json.dumps(config))
    assert_not_resumed(copy, capsys, "was started by version 0.1.0")


def test_guarantee_an_embedding_without_noise_does_not_become_private_by_editing(
    copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with np.load(copy / "embedding.npz") as saved:
        arrays = dict(saved)
    meta = json.loads(str(arrays.pop("meta")))
    for noise in (meta["certificate"]["ledger"], meta["certificate"]):
        noise["releases"][0]["stddev"] = 0.0
    meta["certificate"] |= {"noise_multiplier": 0.0}
    np.savez(tmp_path / "edited.npz", **arrays, meta=np.array(json.dumps(meta)))
    out = tmp_path / "again"
    assert drive(f"--embedding={tmp_path / 'edited.npz'}", f"--out_dir={out}") == 2
    assert re.search(r"edited\.npz: is not an embedding.*it says epsilon", capsys.readouterr().err)
    assert not out.exists()


@pytest.mark.parametrize("edit", [{"epsilon": 0.001}, {"ledger": {}}, {"releasable": "yes"}])
def test_guarantee_a_sample_is_not_drawn_under_an_edited_certificate(
    edit: dict[str, Any], copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    privacy = read(copy, "privacy.json")
    (copy / "privacy.json").write_text(json.dumps(privacy | edit))
    out = tmp_path / "more.npz"
    assert sample(f"--run={copy}", f"--out={out}") == 2
    assert "privacy.json cannot be trusted" in capsys.readouterr().err
    assert not out.exists()
