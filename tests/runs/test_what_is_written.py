"""What runs write beside their releases, and which programs they keep: nothing of the data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache
from support import drivers
from support.public_releases import everything_in, release_in_public
from support.toy_runs import DRIVERS, planned, private_data
from support.toy_tables import frame_of, schema_of

from jaxdp.data import Private, Spec
from jaxdp.methods import marginals
from jaxdp.methods.runner import PlainRunner
from jaxdp.privacy import GaussianRelease, private_key, unknown_texts
from jaxdp.privacy.unknown_texts import Texts
from jaxdp.program import program_cache
from jaxdp.program.runs import start as run_start


@pytest.fixture
def kept_programs(tmp_path: Path) -> Iterator[Path]:
    """Keep every program that is compiled in a folder of the test."""
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    folder = tmp_path / "programs"
    for name, value in zip(names, (str(folder), 0.0), strict=True):
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    yield folder
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


@pytest.mark.slow
@pytest.mark.skipif(not program_cache.is_right(), reason="keeps no programs")
@pytest.mark.parametrize("name", [*DRIVERS, "moved"])
def test_guarantee_kept_programs_tell_nothing_of_the_data(
    name: str, tmp_path: Path, kept_programs: Path
) -> None:
    """A program's name is a digest of it, constants included: other data need no other program."""
    driver, flags = DRIVERS.get(name, DRIVERS["dp_ntk"])
    if name == "moved":
        flags = (*flags, "--features=rff", "--flow_passes=1")
    found = []
    for seed in (0, 1):
        jax.clear_caches()  # or the second run would not look for programs
        private_data(tmp_path / "mine.npz", seed=seed)
        out = tmp_path / f"run-{seed}"
        places = (f"--data_dir={tmp_path}", "--dataset=mine", f"--out_dir={out}")
        assert drivers.drive(driver.main, *flags, "--delta=1e-3", *places) == 0
        found.append({path.name for path in kept_programs.glob("*-cache")})
    assert len(found[0]) > 10
    assert found[1] == found[0]


@pytest.mark.skipif(not program_cache.is_right(), reason="keeps no programs")
def test_guarantee_kept_programs_tell_not_how_many_texts_occur(kept_programs: Path) -> None:
    """That number is private: noise is drawn for blocks of one length."""
    release = GaussianRelease(name="texts", sensitivity=2**0.5, stddev=1.0)
    found = []
    for count in (3, 70, 5000):
        jax.clear_caches()
        column = Texts(np.arange(count), [str(number) for number in range(count)])
        unknown_texts.release_texts(private_key(0), [column], release, threshold_delta=1e-6)
        found.append({path.name for path in kept_programs.glob("*-cache")})
    assert found[0]
    assert found[2] == found[1] == found[0]


@pytest.mark.skipif(not program_cache.is_right(), reason="keeps no programs")
def test_guarantee_kept_programs_of_counts_tell_nothing_of_the_records(
    kept_programs: Path,
) -> None:
    """Nor of the counts, which are private without noise, or of which columns depend on others."""
    schema, runner = schema_of(), PlainRunner(progress=False)
    spec = Spec.table("toy", schema, 200)
    settings = marginals.complete(marginals.Settings(eps=500.0, steps=2, num_synthetic=50), spec)
    plan, found, depending = marginals.make_plan(settings, spec), [], []
    frame, rng = frame_of(200), np.random.default_rng(0)
    shuffled = frame.apply(lambda column: rng.permutation(column.to_numpy()))
    for each in (frame, frame_of(200, seed=1), shuffled):
        jax.clear_caches()
        released = plan.release(Private.of_frame(each, schema), private_key(0), runner)
        depending.append(len(plan.counts(released).dependences))
        plan.finish(released, runner)
        found.append({path.name for path in kept_programs.glob("*-cache")})
    assert depending[2] < depending[0]
    assert found[0]
    assert found[2] == found[1] == found[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", list(DRIVERS))
def test_guarantee_nothing_private_is_written_beside_releases(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With releases that do not depend on the data, nothing does: no file, no line, to the byte.

    Nor does what runs keep of public computations, which each of the two does anew.
    """
    driver, flags = DRIVERS[name]
    extra = ("--check_copies",) if name == "dp_ntk" else ()
    release_in_public(monkeypatch)
    out, found = tmp_path / "run", []
    for seed in (0, 1):
        private_data(tmp_path / "mine.npz", seed=seed)
        kept = tmp_path / f"kept-{seed}"
        monkeypatch.setenv("XDG_CACHE_HOME", str(kept))
        common = ("--dataset=mine", f"--data_dir={tmp_path}", "--delta=1e-3", "--overwrite")
        common += ("--ledger=none",)  # that the first run is before the second is no secret
        assert drivers.drive(driver.main, *flags, *extra, *common, f"--out_dir={out}") == 0
        found.append((capfd.readouterr(), everything_in(out), everything_in(kept / "jaxdp")))
    (said, first, kept_first), (said_again, second, kept_second) = found
    assert said == said_again
    assert kept_first == kept_second
    assert sorted(first) == sorted(second)
    changed = {n: (held, second[n]) for n, held in first.items() if held != second[n]}
    assert changed == {}
    steps = planned(name).ledger.steps
    assert drivers.read(out, "released.json")["step"] == (0 if steps is None else steps.num_steps)
    copies = out.with_name("run.not_for_release")
    assert copies.exists() == (name == "dp_ntk")
    assert not copies.exists() or copies.stat().st_mode & 0o077 == 0


def test_a_checkout_runs_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_start, "_PACKAGES", ("jax", "jaxdp-no-such-package"))
    found = run_start.versions()
    assert found["jax"] == jax.__version__
    assert found["jaxdp-no-such-package"] == "not installed"
