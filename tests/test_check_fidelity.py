"""Comparisons of made tables with private ones: right, and nowhere but where they may be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import drivers
from support.drivers import assert_refused, names_in, read
from support.generating import drive
from support.public_releases import everything_in, release_in_public, same_time
from support.toy_tables import frame_of, strange_frame_of, write_table

from jaxdp.program.commands import dp_kip, dp_ntk

DRAWN = ("--eps=5", "--delta=1e-3", "--num_synthetic=90", "--noise_seed=1", "--evaluate=none")


def beside(out: Path) -> Path:
    return out.with_name(f"{out.name}.not_for_release")


def numbers_in(value: Any) -> Iterator[float]:
    """Yield the numbers with many digits in a JSON value."""
    if isinstance(value, float) and len(str(value)) > 8:
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from numbers_in(each)


def test_guarantee_a_comparison_changes_nothing_that_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With releases that do not depend on the data, nothing in the folder does: to the byte."""
    release_in_public(monkeypatch)
    frame_of(40, seed=9).to_csv(tmp_path / "test.csv", index=False)
    out, found = tmp_path / "run", []
    runs = ((frame_of(200), True), (strange_frame_of(200), True), (frame_of(200), False))
    for frame, flag in runs:
        flags = (*write_table(tmp_path, frame), f"--test_csv={tmp_path / 'test.csv'}")
        flags = (*flags, f"--check_fidelity={flag}", "--overwrite", f"--out_dir={out}")
        assert drive(*DRAWN[:4], "--evaluate=logistic", *flags) == 0
        said = "\n".join(capfd.readouterr()).splitlines()
        found.append((everything_in(out), said, everything_in(beside(out))))
    (files, said, private), (others, said_again, others_private), (without, less, none) = found
    assert len(files) > 8
    assert files == others == without
    assert said == said_again
    assert less == [line for line in said if not line.startswith("NOT FOR RELEASE: ")]
    assert set(private) == {"fidelity.json", "fidelity.html"}
    assert all(private[name] != others_private[name] for name in private)
    assert none == {}  # what was there went with the run that it was about
    # No figure that depends on private records is in a file that leaves.
    figures = [json.loads(each["fidelity.json"]) for each in (private, others_private)]
    numbers = set(numbers_in(figures[0])) - set(numbers_in(figures[1]))
    assert len(numbers) > 50
    assert not any(str(n).encode() in held for n in numbers for held in files.values())


def test_guarantee_released_files_are_the_same_with_and_without_a_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same for the real release, of one noise seed."""
    same_time(monkeypatch)
    flags = write_table(tmp_path, frame_of(200))
    found = []
    for name, flag in (("one", "--check_fidelity"), ("other", "--nocheck_fidelity")):
        assert drive(*flags, *DRAWN, flag, f"--out_dir={tmp_path / name}") == 0
        found.append(everything_in(tmp_path / name))
    assert found[0] == found[1]
    assert beside(tmp_path / "one").stat().st_mode & 0o077 == 0
    assert not beside(tmp_path / "other").exists()


def test_a_comparison_says_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = (*write_table(tmp_path, frame_of(200)), *DRAWN)
    out = tmp_path / "run"
    assert drive(*flags, f"--out_dir={out}") == 0
    assert not beside(out).exists()
    capsys.readouterr()
    # A finished run is compared later.
    assert drive(*flags, f"--out_dir={out}", "--resume", "--check_fidelity") == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "NOT FOR RELEASE" in line]
    assert len(lines) == 1
    said = read(beside(out), "fidelity.json")
    page = (beside(out) / "fidelity.html").read_text()
    for text in (said["note"], page):
        assert "computed from private records without noise." in text
        assert "The guarantee does not cover it: do not release it." in text
    assert said["records"] == {"private": 180, "made": 90, "test": 20}
    assert any("--check_fidelity" in text for text in read(out, "privacy.json")["must_stay"])
    # A second run on what was released has the records of --csv.
    again = ("--num_synthetic=30", f"--embedding={out / 'embedding.npz'}", "--evaluate=none")
    second = tmp_path / "second"
    assert drive(*flags[:2], *again, "--check_fidelity", f"--out_dir={second}") == 0
    assert read(beside(second), "fidelity.json")["records"]["made"] == 30


def test_private_records_are_compared_as_their_file_has_them(tmp_path: Path) -> None:
    """A column whose bounds cut most of it off looked well: both sides were cut."""
    frame = frame_of(200)
    frame.loc[frame.index % 4 > 0, "income"] = "5000000"  # the schema ends at 1000
    out = tmp_path / "run"
    flags = (*write_table(tmp_path, frame), *DRAWN)
    assert drive(*flags, "--check_fidelity", f"--out_dir={out}") == 0
    income = read(beside(out), "fidelity.json")["columns"]["income"]
    assert income["ks"] > 0.7
    assert "5000000" in str(income).replace(".0", "")


@pytest.mark.parametrize("flags", ["--subset=50", "--person_column=who --records_per_person=1"])
def test_the_records_that_a_run_used_are_compared(flags: str, tmp_path: Path) -> None:
    frame = frame_of(200)
    if "who" in flags:
        frame["who"] = np.minimum(np.arange(200), 39) // 2
    out = tmp_path / "run"
    both = (*write_table(tmp_path, frame), *DRAWN, *flags.split())
    assert drive(*both, "--check_fidelity", f"--out_dir={out}") == 0
    said = read(beside(out), "fidelity.json")
    used = read(out, "config.json")["num_examples"]
    assert said["records"]["private"] == used <= 50


def test_without_labels_the_target_is_not_compared(tmp_path: Path) -> None:
    flags = write_table(tmp_path, frame_of(60))
    out = tmp_path / "run"
    assert drive(*flags, *DRAWN, "--unconditional", "--check_fidelity", f"--out_dir={out}") == 0
    said = read(beside(out), "fidelity.json")
    assert "ill" not in said["columns"]
    assert said["models"] == []


@pytest.mark.slow
def test_a_distilled_table_is_compared(tmp_path: Path) -> None:
    flags = write_table(tmp_path, frame_of(100))
    steps = ("--steps=2", "--batch_size=40", "--ipc=2", "--eps=5", "--delta=1e-3")
    out = tmp_path / "run"
    flags = [*flags, *steps, "--eval_every=2", "--check_fidelity", f"--out_dir={out}"]
    assert drivers.drive(dp_kip.main, *flags) == 0
    assert read(beside(out), "fidelity.json")["records"]["made"] == 4
    assert not any("fidelity" in name for name in names_in(out))


def test_what_cannot_be_compared_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(expected: str, *flags: str) -> None:
        out = tmp_path / "run"
        assert_refused(dp_ntk.main, capsys, expected, "--check_fidelity", *flags, out=out)

    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (40, 3)).astype(np.float32), np.arange(40) % 2
    np.savez(tmp_path / "mine.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    rows = ("--dataset=mine", f"--data_dir={tmp_path}")
    refused("compares images, and tables with a schema, and --dataset=mine holds rows", *rows)
    flags = write_table(tmp_path, frame_of(20))
    (tmp_path / "run.not_for_release").write_text("mine")
    refused("is a link, a file or holds a run", *flags, *DRAWN)
    (tmp_path / "run.not_for_release").unlink()
    beside(tmp_path / "run").mkdir()
    (beside(tmp_path / "run") / "config.json").write_text("{}")
    refused("is a link, a file or holds a run", *flags, *DRAWN)


def test_a_run_in_the_working_folder_has_its_comparison_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = write_table(tmp_path, frame_of(40))
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path / "run")
    assert drive(*flags, *DRAWN, "--check_fidelity", "--out_dir=.") == 0
    assert names_in(beside(tmp_path / "run")) == {"fidelity.json", "fidelity.html"}
