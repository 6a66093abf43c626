"""The generating driver at toy size: files, errors, resumption, reuse of an embedding."""

from __future__ import annotations

import functools
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import drivers
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drivers import names_in, read
from PIL import Image

from experiments import dp_ntk as driver
from experiments import ntk_settings
from experiments import sample as sampling_driver
from experiments.data.load import load_dataset
from experiments.drawing import as_stored, balanced_labels
from experiments.feature_registry import build_features
from experiments.ntk_plan import make_plan
from experiments.runs import generate, released_file, synthetic_images

drive = functools.partial(drivers.drive, driver.main)
sample = functools.partial(drivers.drive, sampling_driver.main)
settings = functools.partial(drivers.settings, ntk_settings.NtkSettings)

pytestmark = pytest.mark.usefixtures("quick_compilation", "few_public_images")

TOY = ("--ntk_width=8", "--steps=4", "--batch_size=40", "--num_synthetic=200")
FILES = {
    "synthetic.npz",
    "samples.png",
    "embedding.npz",
    "generator",
    "report.html",
    "metrics.json",
    "privacy.json",
    "released.json",
    "config.json",
    "checkpoints",
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished private run on digits; tests that change it take a copy."""
    out = tmp_path_factory.mktemp("generate") / "run"
    assert drive(*TOY, "--eps=5", f"--out_dir={out}") == 0
    return out


def test_leaves_exactly_the_documented_files(finished: Path) -> None:
    assert {path.name for path in finished.iterdir()} == FILES


def test_synthetic_set_is_typed_and_balanced_like_the_data(finished: Path) -> None:
    with np.load(finished / "synthetic.npz", allow_pickle=False) as saved:
        assert saved["x"].shape == (200, 8, 8, 1)
        assert saved["x"].dtype == np.uint8
        assert saved["x"].max() <= 16
        np.testing.assert_array_equal(np.bincount(saved["y"]), 20)
        assert list(saved["class_names"]) == list("0123456789")


def test_metrics_have_accuracies_and_end_finished(finished: Path) -> None:
    metrics = read(finished, "metrics.json")
    assert metrics["finished"]
    assert set(metrics["accuracy"]) == {"logistic", "mlp"}
    assert len(metrics["accuracy"]["mlp"]["test_accuracies"]) == 5
    assert metrics["history"][-1]["step"] == 4
    assert metrics["frechet"]["name"] == "scatter Frechet distance"


def test_evaluate_names_what_is_measured(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    stored = f"--embedding={finished / 'embedding.npz'}"
    assert drive(*TOY[1:], stored, "--evaluate=frechet", f"--out_dir={out}") == 0
    before, after = (read(folder, "metrics.json") for folder in (finished, out))
    assert "accuracy" not in after
    assert after["frechet"] == before["frechet"]


def test_certificate_is_of_one_release(finished: Path) -> None:
    found = read(finished, "privacy.json")
    assert found["epsilon"] == pytest.approx(5, rel=1e-6)
    assert found["releasable"]
    n = found["num_examples"]
    assert [r["sensitivity"] for r in found["releases"]] == [2 / n]


def test_a_finished_run_can_be_distilled_from(finished: Path) -> None:
    data = load_dataset("digits", data_dir="nowhere")
    found = synthetic_images.read(str(finished), data, ipc=20)
    assert found.x.shape == (10, 20, 64)
    assert 0 <= found.x.min() < found.x.max() <= 1
    # Replacing an example moves the embedding by twice as much as removing it.
    assert found.noise_multiplier == pytest.approx(2 * found.certificate["noise_multiplier"])


def test_picture_and_report_open(finished: Path) -> None:
    with Image.open(finished / "samples.png") as picture:
        assert picture.width > 300
    text = (finished / "report.html").read_text()
    for word in ("Synthetic digits", "Samples of the synthetic set", "embedding.npz", "replaced"):
        assert word in text


def test_guarantee_the_exact_embedding_is_nowhere_on_disk(finished: Path) -> None:
    plan = make_plan(settings(*TOY, "--eps=inf", "--out_dir=unused"))
    exact = np.asarray(plan.release().mu)
    with np.load(finished / "embedding.npz") as saved:
        assert np.abs(saved["mu"] - exact).max() > 1e-4
    found = {path.name for path in finished.rglob("*.npz")}
    assert found == {"synthetic.npz", "embedding.npz"}


def test_guarantee_embedding_is_reused_at_no_cost_and_without_the_training_split(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(self: Any) -> None:
        raise AssertionError("the private data were embedded")

    monkeypatch.setattr("experiments.ntk_plan.NtkPlan.release", forbidden)
    out, stored = tmp_path / "again", finished / "embedding.npz"
    assert drive(*TOY[1:], f"--embedding={stored}", f"--out_dir={out}", "--evaluate=none") == 0
    certificate = read(out, "privacy.json")
    assert "no privacy beyond that release" in certificate["reused"]
    original = read(finished, "privacy.json")
    assert certificate.pop("sha256")["embedding.npz"] != original.pop("sha256")["embedding.npz"]
    assert {k: certificate[k] for k in original} == original
    with np.load(stored) as a, np.load(out / "embedding.npz") as b:
        np.testing.assert_array_equal(a["mu"], b["mu"])


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
    with np.load(out / "synthetic.npz") as a, np.load(finished / "synthetic.npz") as b:
        np.testing.assert_array_equal(a["x"], b["x"])


def test_taken_folder_is_refused_before_features_are_built(
    finished: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: Any) -> None:
        raise AssertionError("features were built")

    monkeypatch.setattr("experiments.ntk_plan.build_features", forbidden)
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


def test_two_runs_have_different_noise_and_seeded_ones_are_not_releasable(
    finished: Path, tmp_path: Path
) -> None:
    flags = (*TOY, "--eps=5", f"--out_dir={tmp_path / 'run'}")
    plan = make_plan(settings(*flags))
    first, second = (np.asarray(plan.release().mu) for _ in range(2))
    assert np.abs(first - second).max() > 1e-6
    seeded = make_plan(settings(*flags, "--noise_seed=1"))
    np.testing.assert_array_equal(seeded.release().mu, seeded.release().mu)
    assert not generate.certificate_of(seeded)["releasable"]


def test_sample_draws_more_from_a_finished_run(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "more.npz"
    code = sample(f"--run={finished}", "--num=25", f"--out={out}")
    assert code == 0
    with np.load(out) as saved:
        assert saved["x"].shape == (25, 8, 8, 1)
        assert saved["x"].dtype == np.uint8
        np.testing.assert_array_equal(saved["y"], np.arange(25) % 10)
    generator = sampling_driver.Generator(finished)
    x = generator(np.array([3, 3]), seed=1)
    np.testing.assert_array_equal(x, generator(np.array([3, 3]), seed=1))
    assert sample(f"--run={tmp_path}") == 2
    assert sample() == 2
    assert sample(f"--run={finished}", "--num=0") == 2
    missing = tmp_path / "no" / "x.npz"
    assert sample(f"--run={finished}", f"--out={missing}") == 2


@pytest.mark.parametrize(
    ("features", "options"),
    [
        ("rff", ("--moments=2", "--check_copies")),
        ("hermite", ()),
        ("hermite", ("--product_share=0",)),
        ("scatter", ("--unconditional",)),
        ("scatter_rbf", ("--length_scale=0.5",)),
        ("entk", ("--network=cnn2d", "--ntk_width=2", "--schedule=published")),
    ],
)
def test_every_kind_of_features_runs(
    features: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    common = (
        "--steps=2",
        "--batch_size=40",
        "--num_synthetic=50",
        "--evaluate=none",
        "--subset=100",
    )
    assert drive(f"--features={features}", *common, *options, f"--out_dir={out}") == 0
    with np.load(out / "synthetic.npz") as saved:
        assert len(saved["x"]) == 50
        assert len(saved["class_names"]) == (1 if "--unconditional" in options else 10)
    if "--check_copies" in options:
        found = read(out.with_name(f"{out.name}.not_for_release"), "copies.json")
        assert found["computed_on_private_data"]
        assert not any("release" in name and "released" not in name for name in names_in(out))
        assert "held_out" not in json.dumps(read(out, "metrics.json"))


def test_images_of_odd_sides_get_dense_layers_and_can_be_drawn_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (40, 7, 9), dtype=np.uint8), np.arange(40) % 3
    np.savez(tmp_path / "odd.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    out = tmp_path / "run"
    data = ("--dataset=odd", f"--data_dir={tmp_path}", "--eps=5")
    assert drive(*TOY[:2], *data, "--batch_size=30", "--num_synthetic=12", f"--out_dir={out}") == 0
    assert read(out, "config.json")["generator"] == "DenseGen"
    metrics = read(out, "metrics.json")
    assert set(metrics["accuracy"]) == {"logistic", "mlp"}
    assert "frechet" not in metrics  # scattering wants even sides
    with np.load(out / "synthetic.npz") as saved:
        assert (saved["x"].shape[1:3], saved["x"].dtype) == ((7, 9), np.uint8)
    assert sample(f"--run={out}", "--num=5", f"--out={tmp_path / 'more.npz'}") == 0
    with np.load(tmp_path / "more.npz") as more:
        assert more["x"].shape[:3] == (5, 7, 9)


def test_a_fifth_of_the_scatter_rbf_kernel_is_one_of_pixels() -> None:
    """Without it images of another brightness have nearly the same normalised coefficients."""
    config = ntk_settings.FeatureConfig(features="scatter_rbf", length_scale=0.7)
    features = build_features(config, (8, 8, 1), 10)
    x = jax.random.uniform(jax.random.key(0), (1, 64))
    phi, dark = (features.weighted_sum(z, jnp.ones(1))[4000:] for z in (x, x / 2))
    squared = float(jnp.sum((x / 2) ** 2))
    expected = 0.2 * math.exp(-squared / (2 * (0.18 * 8) ** 2))
    assert float(phi @ phi) == pytest.approx(0.2, rel=2e-3)  # features keep a margin
    assert float(phi @ dark) == pytest.approx(expected, abs=0.02)


def test_tables_run_with_noisy_class_weights(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.2).astype(int)
    x = rng.normal(size=(300, 5)).astype(np.float32) + y[:, None]
    np.savez(tmp_path / "table.npz", x_train=x, y_train=y, x_test=x[:50], y_test=y[:50])
    out = tmp_path / "run"
    network = ("--network=fc_2l", "--ntk_width=8_4", *TOY[1:])
    arguments = ("--dataset=table", f"--data_dir={tmp_path}", *network, "--eps=10")
    assert drive(*arguments, "--delta=1e-3", "--check_copies", f"--out_dir={out}") == 2
    assert drive(*arguments, "--delta=1e-3", f"--out_dir={out}") == 0
    assert [r["name"] for r in read(out, "privacy.json")["releases"]] == [
        "mean embedding",
        "class weights",
    ]
    with np.load(out / "synthetic.npz") as saved:
        assert saved["x"].shape == (200, 5)
        assert np.mean(saved["y"] == 1) == pytest.approx(0.2, abs=0.15)
    metrics = read(out, "metrics.json")
    assert set(metrics["accuracy"]) == {"logistic", "mlp"}
    assert len(metrics["accuracy"]["mlp"]["test_accuracies"]) == 3  # of the whole set
    assert "frechet" not in metrics


BAD = {
    "unknown features": ("--features=nothing", "--features=nothing"),
    "unknown network": ("--network=deep", "--network=deep"),
    "widths": ("--ntk_width=a_b", "--ntk_width=a_b"),
    "too many widths": ("--ntk_width=8_8", "--ntk_width=8_8"),
    "moments": ("--moments=3", "--moments=3"),
    "moments of entk": ("--moments=2", "--moments=2"),
    "share": ("--weights_share=1", "--weights_share=1"),
    "weights": ("--inception_weights=none.pth", "--inception_weights=none.pth: no such file"),
    "product share": ("--product_share=-0.1", "--product_share=-0.1"),
    "product of entk": ("--product_share=0.1", "has no product kernel; use hermite"),
    "decay": ("--ema_decay=1", "--ema_decay=1"),
    "batch": ("--batch_size=5", "--batch_size=5"),
    "eps": ("--eps=0", "--eps=0"),
    "number": ("--num_synthetic=0", "--num_synthetic=0"),
    "generator": ("--generator=table", "--generator=table"),
    "judge": ("--evaluate=krr", "--evaluate=krr: krr is for distilled sets"),
    "unknown judge": ("--evaluate=magic", "--evaluate=magic: 'magic' is unknown; known are krr"),
    "judge of labels": (
        "--unconditional --evaluate=mlp",
        "--evaluate=mlp: mlp tells classes apart",
    ),
    "preset": ("--preset=slow", "--preset=slow"),
    "embedding": ("--embedding=nowhere.npz", "no such file"),
    "dataset": ("--dataset=none", "--dataset=none"),
    "code": ("--code_dim=0", "--code_dim=0"),
    "length": ("--length_scale=-1", "--length_scale=-1"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_input_gets_one_line_and_writes_nothing(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, said = BAD[name]
    out = tmp_path / "run"
    data = f"--data_dir={tmp_path}"
    drivers.assert_refused(driver.main, capsys, said, *arguments.split(), data, out=out)
    assert not out.exists()


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
    found = released_file.read(finished / "embedding.npz")
    assert found.feature_config.ntk_width == "8"
    assert found.example_shape == [8, 8, 1]
    expected = read(finished, "privacy.json")
    assert set(expected.pop("sha256")) == {"embedding.npz", "synthetic.npz", "samples.png"}
    assert found.certificate == expected


def test_labels_follow_the_weights_exactly() -> None:
    found = balanced_labels(np.array([0.5, 0.3, 0.2]), 11, seed=0)
    np.testing.assert_array_equal(np.bincount(found), [6, 3, 2])
    np.testing.assert_array_equal(found, balanced_labels(np.array([0.5, 0.3, 0.2]), 11, seed=0))


def test_stored_examples_are_scaled_back_and_rounded() -> None:
    rows = np.array([[0.0, 0.5, 1.0, 0.499]])
    found = as_stored(rows, (2, 2, 1), low=0, high=16, as_bytes=True)
    np.testing.assert_array_equal(found.ravel(), [0, 8, 16, 8])
    assert as_stored(rows, (4,), low=-1, high=1, as_bytes=False).ravel() == pytest.approx(
        [-1, 0, 1, -0.002]
    )


def test_settings_are_the_flags() -> None:
    assert settings("--eps=inf").eps == math.inf
    assert settings("--features=rff").features == "rff"


@pytest.mark.parametrize(
    ("flags", "features", "expected"),
    [
        (("--dataset=mnist",), "entk", (2000, 5000, 5)),
        (("--dataset=mnist", "--preset=fast"), "entk", (1200, 500, 16)),
        (("--dataset=mnist",), "scatter", (2000, 500, 5)),
        (("--dataset=mnist",), "scatter_rbf", (2000, 500, 16)),
        (("--dataset=mnist", "--preset=fast"), "scatter_rbf", (600, 300, 16)),
        (("--dataset=mnist",), "rff", (2000, 500, 5)),
        (("--dataset=mnist",), "hermite", (2000, 200, 15)),
        (("--dataset=cifar10",), "scatter_rbf", (20000, 500, 31)),
        (("--dataset=mnist", "--batch_size=60", "--code_dim=4"), "scatter_rbf", (2000, 60, 4)),
    ],
)
def test_training_defaults_depend_on_data_and_features(
    flags: tuple[str, ...], features: str, expected: tuple[int, int, int]
) -> None:
    hyper = ntk_settings.hyper_for(settings(*flags), features)
    assert (hyper.steps, hyper.batch_size, hyper.code_dim) == expected


@pytest.mark.parametrize(
    ("flags", "features", "shape", "expected"),
    [
        ((), "entk", (28, 28, 1), "conv"),
        ((), "entk", (30, 28, 1), "dense"),
        ((), "entk", (32, 32, 3), "resnet"),
        ((), "entk", (28, 28, 3), "conv"),
        ((), "entk", (32, 30, 3), "dense"),
        ((), "entk", (9,), "table"),
        (("--dataset=mnist",), "hermite", (28, 28, 1), "dense"),
        (("--dataset=mnist", "--generator=conv"), "hermite", (28, 28, 1), "conv"),
        (("--dataset=fashion_mnist",), "hermite", (28, 28, 1), "conv"),
    ],
)
def test_generator_depends_on_the_shape_of_an_example(
    flags: tuple[str, ...], features: str, shape: tuple[int, ...], expected: str
) -> None:
    assert ntk_settings.generator_for(settings(*flags), features, shape) == expected


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
    assert drivers.drive(sampling_driver.main, f"--run={copy}", f"--out={out}") == 2
    assert "privacy.json cannot be trusted" in capsys.readouterr().err
    assert not out.exists()
