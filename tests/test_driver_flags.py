"""Flags of DP-KIP's driver: one line, exit code 2 and nothing written where one is wrong."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from support.kip_runs import TOY, assert_refused, drive

from jaxdp.data import Spec
from jaxdp.methods import dp_kip, presets
from jaxdp.methods.dp_kip.kernels import KERNELS


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--dataset=nothing"], "--dataset=nothing: unknown dataset"),
        (["--eps=0"], "--eps=0.0: must be above 0"),
        (["--eps=-1"], "--eps=-1.0: must be above 0"),
        (["--eps=nan"], "--eps=nan: must be above 0"),
        (["--eps=1e-6", "--epochs=50"], "--eps=1e-06: not reachable in"),
        (["--eps=1e-7"], "--eps=1e-07: below 1e-06"),
        (["--eps=1e100"], "--eps=1e+100: promises nothing; give inf"),
        (["--delta=9e-11"], "--delta=9e-11: the arithmetic supports 1e-10 and more"),
        (["--delta=0"], "--delta=0.0: must be between 0 and 1"),
        (["--delta=1"], "--delta=1.0: must be between 0 and 1"),
        (["--ipc=0"], "--ipc=0: must be at least 1"),
        (["--ipc=two"], "--ipc"),
        (["--batch_size=1438"], "--batch_size=1438: larger than the 1437 training examples"),
        (["--batch_size=0"], "--batch_size=0: must be a number above 0"),
        (["--subset=0"], "--subset=0: must be a number above 0"),
        (["--epochs=0"], "--epochs=0.0: must be a number above 0"),
        (["--epochs=inf"], "--epochs=inf: must be a number above 0"),
        (["--steps=0"], "--steps=0: must be a number above 0"),
        (["--steps=5", "--epochs=2"], "--steps=5: give either --steps or --epochs"),
        (["--learning_rate=-1"], "--learning_rate=-1.0: must be a number above 0"),
        (["--clip_norm=inf"], "--clip_norm=inf: must be finite, or noise would be, too"),
        (["--clip_norm=0"], "--clip_norm=0.0: must be at least 1e-12"),
        (["--clip_norm=nan"], "--clip_norm=nan: must be at least 1e-12"),
        (["--init_scale=0"], "--init_scale=0.0: must be a number above 0"),
        (["--ridge=-1"], "--ridge=-1.0: must be 0 or above"),
        (["--smoothing=-1"], "--smoothing=-1.0: must be 0 or above"),
        (["--average_decay=1"], "--average_decay=1.0: must be in [0, 1)"),
        (["--depth=-1"], "--depth=-1: must be 0 or above"),
        (["--kernel=magic"], "--kernel=magic: unknown; known are fc_ntk"),
        (["--kernel=scatter", "--scatter_norm=batch"], "--scatter_norm=batch: unknown; known are"),
        (["--kernel=scatter", "--scatter_scales=4"], "--kernel=scatter on --dataset=digits: scatt"),
        (["--kernel=scatter", "--scatter_angles=0"], "--scatter_angles=0: must be a number above"),
        (["--evaluate=krr,resnet"], "--evaluate=krr,resnet: 'resnet' is unknown; known are krr"),
        (["--clip_space=labels"], "--clip_space=labels: unknown; known are pixels, features"),
        (["--clip_space=features"], "--clip_space=features: --kernel=fc_ntk has no features on"),
        (["--corrupt=1"], "--corrupt=1.0: must be in [0, 1)"),
        (["--corrupt=-0.1"], "--corrupt=-0.1: must be in [0, 1)"),
        (["--chunk_size=0"], "--chunk_size=0: must be a number above 0"),
        (["--accountant=guess"], "--accountant=guess: unknown; known are pld, rdp"),
        (["--eval_every=0"], "--eval_every=0: must be a number above 0"),
        (["--noise_seed=-1"], "--noise_seed=-1: must be a whole number"),
        (["--resume", "--overwrite"], "--resume and --overwrite: give one of the two"),
        (["--no_such_flag=1"], "no_such_flag"),
        (["mnist"], "mnist: unexpected argument"),
    ],
)
def test_bad_flags(
    arguments: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    flags = [*arguments, f"--data_dir={tmp_path}"]
    assert_refused(capsys, expected, *flags, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_missing_file_says_what_was_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    flags = ("--dataset=faces", f"--data_dir={tmp_path}")
    assert_refused(capsys, str(tmp_path / "faces.npz"), *flags, out=tmp_path / "run")


def test_values_of_unknown_range_have_no_bounds(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    x = np.linspace(0, 1, 60 * 16, dtype=np.float32).reshape(60, 4, 4)
    y = np.arange(60) % 2
    np.savez(tmp_path / "floats.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    flags = ("--dataset=floats", f"--data_dir={tmp_path}", "--bounded")
    assert_refused(capsys, "--bounded: the range of values is known", *TOY, *flags)


def test_images_only_for_kernels_and_classifiers_of_images(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    rows, labels = np.zeros((8, 5), np.float32), np.arange(8) % 2
    np.savez(
        tmp_path / "table.npz", x_train=rows, y_train=labels, x_test=rows[:2], y_test=labels[:2]
    )
    tiny = np.zeros((8, 3, 7), np.uint8)
    np.savez(
        tmp_path / "tiny.npz", x_train=tiny, y_train=labels, x_test=tiny[:2], y_test=labels[:2]
    )
    wide = np.full((8, 8, 8), 2.0, np.float32)  # floats are in [-1, 1]
    np.savez(
        tmp_path / "wide.npz", x_train=wide, y_train=labels, x_test=wide[:2], y_test=labels[:2]
    )
    common = (f"--data_dir={tmp_path}", "--batch_size=4", "--ipc=50")
    for dataset, flag, expected in (
        ("wide", "--evaluate=frechet", "holds values outside [-1, 1]"),
        ("table", "--kernel=scatter", "--kernel=scatter: works on images"),
        ("table", "--evaluate=convnet", "--evaluate=convnet: convnet works on images, and --data"),
        ("tiny", "--evaluate=frechet", "--evaluate=frechet: frechet needs images with sides of"),
        ("tiny", "--kernel=scatter", "sides of at least 4 pixels, got 3 x 7; use fewer scales"),
    ):
        flags = (*common, f"--dataset={dataset}", flag)
        assert_refused(capsys, expected, *flags, out=tmp_path / "run")


def test_a_diverged_run_says_so(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = tmp_path / "run"
    assert drive(*TOY, "--eps=inf", "--learning_rate=1e39", f"--out_dir={out}") == 2
    assert "--learning_rate=1e+39: the run has diverged" in capsys.readouterr().err


def test_defaults_are_complete_and_in_range() -> None:
    spec = Spec.images("anything", (60000, 32, 32, 3), class_names="0123456789")
    tuned = [name for name in presets.names() if name.startswith("tuned:")]
    for name, kernel in itertools.product((None, *tuned), KERNELS):
        settings = dp_kip.complete(dp_kip.Settings(kernel=kernel, preset=name), spec)
        missing = [k for k, v in vars(settings).items() if v is None]
        assert set(missing) <= {"noise_seed", "chunk_size", "preset", "defaults"}
        assert settings.epochs > 0
        assert settings.batch_size > 0
        assert 0 < settings.clip_norm < math.inf
