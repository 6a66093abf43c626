"""What is learnt without privacy, and images side by side: right, and only where they may be."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from support import drivers
from support.drivers import assert_refused, read
from support.generating import drive
from support.public_releases import everything_in, release_in_public
from support.toy_runs import DRIVERS, private_data
from support.toy_tables import frame_of, write_table

import jaxdp
from jaxdp.data import Private, Spec
from jaxdp.program.commands import dp_ntk
from jaxdp.program.runs import ceiling

DRAWN = ("--eps=5", "--delta=1e-3", "--num_synthetic=90", "--noise_seed=1", "--evaluate=none")


def beside(out: Path) -> Path:
    return out.with_name(f"{out.name}.not_for_release")


def of_the_data(
    spec: Spec, private: Private, x_test: np.ndarray, seed: int
) -> tuple[str, np.ndarray]:
    """Stand for a teacher: classes that the private records alone say."""
    del seed
    return "a teacher", np.resize(private.rows.astype(int).sum(axis=1), len(x_test)) % (
        spec.num_classes
    )


def test_guarantee_a_ceiling_and_private_images_change_nothing_that_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With releases that do not depend on the data, nothing in the folder does: to the byte."""
    release_in_public(monkeypatch)
    monkeypatch.setattr(ceiling, "_of_teacher", of_the_data)
    driver, flags = DRIVERS["dp_kip"]
    out, found = tmp_path / "run", []
    for seed, asked in ((0, True), (1, True), (0, False)):
        private_data(tmp_path / "mine.npz", seed=seed)
        places = ("--dataset=mine", f"--data_dir={tmp_path}", "--delta=1e-3", "--overwrite")
        more = (f"--ceiling={asked}", f"--check_fidelity={asked}", "--ledger=none")
        assert drivers.drive(driver.main, *flags, *places, *more, f"--out_dir={out}") == 0
        said = "\n".join(capfd.readouterr()).splitlines()
        found.append((everything_in(out), said, everything_in(beside(out))))
    (files, said, private), (others, said_again, others_private), (without, less, none) = found
    assert len(files) > 5
    assert files == others == without
    marked = [line for line in said if line.startswith("NOT FOR RELEASE: ")]
    assert len(marked) == 2
    assert less == [line for line in said if line not in marked]
    assert less == [line for line in said_again if not line.startswith("NOT FOR RELEASE: ")]
    assert set(private) == {"ceiling.json", "side_by_side.html"}
    assert none == {}  # what was there went with the run that it was about
    assert private["side_by_side.html"] != others_private["side_by_side.html"]
    numbers = [json.loads(each["ceiling.json"])["accuracy"] for each in (private, others_private)]
    assert numbers[0] != numbers[1]
    assert beside(out).stat().st_mode & 0o077 == 0
    assert b"stays here" in private["side_by_side.html"]
    assert re.search(f"without privacy a teacher has {numbers[0]:.2%} .*stays here", marked[1])


def test_of_a_table_it_is_the_logistic_regression_of_the_private_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    flags = (*write_table(tmp_path, frame_of(200)), *DRAWN, f"--out_dir={out}")
    assert drive(*flags, "--ceiling") == 0
    found = read(beside(out), "ceiling.json")
    low, high = found["interval"]
    assert 0.5 < low < found["accuracy"] < high <= 1
    assert found["num_test"] == 20
    assert "do not release it" in found["note"]
    assert "--ceiling" in " ".join(read(out, "privacy.json")["must_stay"])
    assert "logistic regression has" in capsys.readouterr().out
    refused = (*flags[:2], *DRAWN, "--ceiling", "--unconditional")
    assert_refused(dp_ntk.main, capsys, "--ceiling: trains a", *refused, out=tmp_path / "other")


def test_rows_of_numbers_are_scaled_by_public_bounds() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (60, 3)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    spec = jaxdp.Spec.rows("rows", (40, 3), class_names=["no", "yes"])
    name, found = ceiling._of_regression(spec, jaxdp.Private(x[:40], y[:40]), x[40:], 0)
    naive = LogisticRegression(max_iter=300).fit((x[:40] + 1) / 2, y[:40])
    assert name == "logistic regression"
    np.testing.assert_array_equal(found, naive.predict((x[40:] + 1) / 2))


@pytest.mark.slow
def test_of_images_it_is_a_teacher_without_noise(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    x: Any = rng.integers(0, 60, (80, 8, 8, 1)) + 120 * y[:, None, None, None]
    x = x.astype(np.uint8)
    spec = jaxdp.Spec.images("drawn", (60, 8, 8, 1), class_names=["dark", "bright"])
    name, found = ceiling._of_teacher(spec, jaxdp.Private(x[:60], y[:60]), x[60:], 0)
    assert name == "a teacher"
    assert np.mean(found == y[60:]) > 0.9
