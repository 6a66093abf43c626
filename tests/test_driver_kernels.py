"""Runs of DP-KIP's driver with other kernels and on other data."""

from __future__ import annotations

import functools
import warnings
from pathlib import Path

import jax
import numpy as np
import pytest
from support.drivers import names_in, read
from support.kip_runs import FILES, TOY, assert_refused, drive

from jaxdp.features import perceptual
from jaxdp.kernels.kip import initial_support
from jaxdp.methods.dp_kip import plan
from jaxdp.methods.dp_kip.settings import defaults
from jaxdp.networks import classifiers


def test_tabular_rows_run_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    x = (rng.normal(size=(60, 5)) + y[:, None]).astype(np.float32)
    np.savez(tmp_path / "rows.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    out = tmp_path / "run"
    assert drive(*TOY, "--dataset=rows", f"--data_dir={tmp_path}", f"--out_dir={out}") == 0
    assert names_in(out) == FILES
    with np.load(out / "distilled.npz") as saved:
        assert saved["x"].shape == (2, 5)


def test_bounded_pixels_stay_in_the_stored_range(tmp_path: Path) -> None:
    flags = (*TOY, "--bounded", "--init_scale=5", "--learning_rate=1")
    assert drive(*flags, f"--out_dir={tmp_path / 'run'}") == 0
    with np.load(tmp_path / "run" / "distilled.npz") as saved:
        stored = saved["x"] * saved["scale"] + saved["shift"]
    np.testing.assert_allclose([stored.min(), stored.max()], [0, 16], atol=1e-5)


def test_scatter_run_with_fixed_pixels_and_classifiers(tmp_path: Path) -> None:
    out = tmp_path / "run"
    flags = ("--kernel=scatter", "--scatter_angles=2", "--corrupt=0.25", "--smoothing=1")
    assert drive(*TOY, *flags, "--evaluate=logistic,krr", "--eps=5", f"--out_dir={out}") == 0
    stored = np.load(out / "distilled.npz")["x"].reshape(10, 64)
    start = initial_support(
        jax.random.key(0),
        ipc=1,
        num_classes=10,
        dim=64,
        init_scale=defaults("scatter")["init_scale"],
    )
    # To the last digit but one: a run draws them in one program with what follows.
    fixed = np.all(np.isclose(stored, start.x, rtol=1e-6, atol=0), axis=0)
    assert fixed.sum() == 16  # a quarter of the pixels, the same ones in every image
    assert np.all(stored[:, ~fixed] != np.asarray(start.x)[:, ~fixed])
    metrics, config = read(out, "metrics.json"), read(out, "config.json")
    assert set(metrics["evaluation"]) == {"logistic"}
    assert 0 <= metrics["evaluation"]["logistic"]["mean"] <= 1
    assert config["kernel"] == "scatter"
    assert config["clip_space"] == "features"
    # What the certificate says does not depend on which pixels are distilled.
    privacy = read(out, "privacy.json")
    assert privacy["epsilon"] <= 5
    assert privacy["clip_space"] == "features"
    assert "logistic" in (out / "report.html").read_text()


@pytest.mark.parametrize("kernel", ["perceptual", "entk"])
def test_kernels_of_networks_run(
    kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = functools.partial(perceptual.perceptual_features, width=8)
    monkeypatch.setattr(perceptual, "perceptual_features", narrow)
    monkeypatch.setattr(classifiers, "_STAGES", (1, 1))  # compilation is all of the time
    out = tmp_path / "run"
    flags = (f"--kernel={kernel}", "--subset=40", "--batch_size=10", "--steps=2", "--eps=5")
    assert drive(*flags, f"--out_dir={out}") == 0
    assert names_in(out) == FILES
    assert read(out, "privacy.json")["sampling_rate"] == pytest.approx(10 / 40)
    assert read(out, "config.json")["num_examples"] == 40
    assert np.all(np.isfinite(np.load(out / "distilled.npz")["x"]))


def test_conv_ntk_says_what_it_needs(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it takes names that jax will drop
            import neural_tangents  # noqa: F401
    except ImportError:
        assert_refused(capsys, 'pip install -e ".[nt]"', "--kernel=conv_ntk", out=tmp_path / "run")
        return
    flags = ("--kernel=conv_ntk", "--subset=6", "--batch_size=4", "--steps=1", "--eps=5")
    assert drive(*flags, f"--out_dir={tmp_path}/run") == 0
    assert "conv_ntk: a step needs about" in capsys.readouterr().err
    assert names_in(tmp_path / "run") == FILES


def test_features_on_the_fly_give_the_same_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = (*TOY, "--kernel=scatter", "--scatter_angles=1", "--eps=5", "--noise_seed=1")
    assert drive(*flags, f"--out_dir={tmp_path}/kept") == 0
    monkeypatch.setattr(plan, "MAX_BYTES", 0)
    assert drive(*flags, f"--out_dir={tmp_path}/computed") == 0
    kept, computed = (
        np.load(tmp_path / run / "distilled.npz")["x"] for run in ("kept", "computed")
    )
    # Six of Adam's steps make more of what is rounded in another order.
    np.testing.assert_allclose(kept, computed, atol=3e-3)
