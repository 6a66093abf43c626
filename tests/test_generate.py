"""The generating driver at toy size: its files, what it measures, kinds of features and data."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support import drivers
from support.drivers import COMMON_FILES, names_in, read
from support.generating import TOY, drive, finished_run, plan_of, sample
from support.toy_runs import begun

from jaxdp.methods import certified, dp_ntk
from jaxdp.methods.runner import PlainRunner
from jaxdp.privacy.mechanism import private_key
from jaxdp.program.commands import sample as sampling_driver
from jaxdp.program.data.load import load_dataset
from jaxdp.program.errors import InputError
from jaxdp.program.runs import generated_images, generator_file
from jaxdp.program.runs.folder import RunFolder
from jaxdp.saved import seal
from jaxdp.saved.folder import SavedFolder

pytestmark = pytest.mark.usefixtures("few_public_images")


DIGITS = load_dataset("digits", data_dir="nowhere")
FILES = COMMON_FILES | {"synthetic.npz", "samples.png", "embedding.npz", "generator"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished private run on digits; tests that change it take a copy."""
    return finished_run(tmp_path_factory.mktemp("generate") / "run")


def test_leaves_exactly_the_documented_files(finished: Path) -> None:
    assert names_in(finished) == FILES


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


def test_config_tells_how_images_were_drawn(finished: Path) -> None:
    config = json.loads((finished / "config.json").read_text())
    assert (config["num_synthetic"], config["flow_passes"]) == (200, 0)


def test_certificate_is_of_one_release(finished: Path) -> None:
    found = read(finished, "privacy.json")
    assert found["epsilon"] == pytest.approx(5, rel=1e-6)
    assert found["releasable"]
    n = found["num_examples"]
    assert [r["sensitivity"] for r in found["releases"]] == [1 / n]


def test_a_finished_run_can_be_distilled_from(finished: Path) -> None:
    found = generated_images.read(str(finished), DIGITS.spec, ipc=20).images
    assert found.x.shape == (10, 20, 64)
    assert 0 <= found.x.min() < found.x.max() <= 1
    assert found.noise_multiplier == pytest.approx(found.certificate["noise_multiplier"])


def test_picture_and_report_open(finished: Path) -> None:
    with Image.open(finished / "samples.png") as picture:
        assert picture.width > 300
    text = (finished / "report.html").read_text()
    for word in ("Synthetic digits", "Samples of the synthetic set", "embedding.npz", "replaced"):
        assert word in text


def test_guarantee_a_generator_that_the_certificate_does_not_name_is_not_taken(
    finished: Path, tmp_path: Path
) -> None:
    """One of an earlier run in the folder would have the certificate of this one."""
    shutil.copytree(finished, tmp_path / "run")
    facts, flag = read(tmp_path / "run", "privacy.json"), "--run"
    numbers = [name for name in seal.names_in(tmp_path / "run") if "generator/variables" in name]
    assert numbers
    assert not set(numbers) & set(seal.uncovered(SavedFolder(tmp_path / "run", flag)))
    assert generator_file.read(tmp_path / "run", flag, facts)
    del facts["sha256"]["generator/description.json"]
    with pytest.raises(InputError, match="its generator is not the one"):
        generator_file.read(tmp_path / "run", flag, facts)
    (tmp_path / "run/privacy.json").write_text(json.dumps(facts))
    assert set(numbers) < set(seal.uncovered(SavedFolder(tmp_path / "run", flag)))


def test_guarantee_the_exact_embedding_is_nowhere_on_disk(finished: Path) -> None:
    plan = plan_of(*TOY, "--eps=inf", "--out_dir=unused")
    exact = plan.release(DIGITS.private, private_key(), PlainRunner(progress=False)).mu
    with np.load(finished / "embedding.npz") as saved:
        assert np.abs(saved["mu"] - exact).max() > 1e-4
    found = {path.name for path in finished.rglob("*.npz")}
    assert found == {"synthetic.npz", "embedding.npz"}


def test_two_runs_have_different_noise_and_seeded_ones_are_not_releasable(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run", resume=False, overwrite=False) as folder:
        run = begun("dp_ntk", folder, "--eps=5")
        first, second = (np.asarray(run._release().mu) for _ in range(2))
        assert np.abs(first - second).max() > 1e-6
        seeded = begun("dp_ntk", folder, "--eps=5", "--noise_seed=1")
        np.testing.assert_array_equal(seeded._release().mu, seeded._release().mu)
    assert certified.certificate(run._plan)["releasable"]
    assert not certified.certificate(seeded._plan)["releasable"]


def test_sample_draws_more_from_a_finished_run(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "more.npz"
    code = sample(f"--run={finished}", "--num=25", f"--out={out}")
    assert code == 0
    with np.load(out) as saved:
        assert saved["x"].shape == (25, 8, 8, 1)
        assert saved["x"].dtype == np.uint8
        np.testing.assert_array_equal(saved["y"], np.arange(25) % 10)
    generator, certificate = sampling_driver.generator_of(finished)
    assert certificate["releasable"]
    x = generator(np.array([3, 3]), seed=1)
    np.testing.assert_array_equal(x, generator(np.array([3, 3]), seed=1))
    assert sample(f"--run={tmp_path}") == 2
    assert sample() == 2
    assert sample(f"--run={finished}", "--num=0") == 2
    missing = tmp_path / "no" / "x.npz"
    assert sample(f"--run={finished}", f"--out={missing}") == 2


def test_sample_says_what_a_run_has_done_after_drawing(tmp_path: Path) -> None:
    assert sampling_driver.done_after_drawing(str(tmp_path)) is None
    for config, expected in (
        ({"flow_passes": 0, "labels": "generator"}, None),
        ({"flow_passes": 2}, "those of the run were then moved to its embedding"),
        (
            {"flow_passes": 2, "labels": "teacher"},
            "those of the run were then moved to its embedding and labelled by a teacher",
        ),
    ):
        (tmp_path / "config.json").write_text(json.dumps(config))
        found = sampling_driver.done_after_drawing(str(tmp_path))
        assert found is None if expected is None else str(found).endswith(expected)


def test_guarantee_another_generator_is_not_the_one_that_was_certified(
    finished: Path, tmp_path: Path
) -> None:
    """One that was trained on the data without noise would be drawn from as if it had had some."""
    copy = Path(shutil.copytree(finished, tmp_path / "copy"))
    sampling_driver.generator_of(copy)
    generator, _ = sampling_driver.generator_of(finished)
    other = dataclasses.replace(generator, class_names=tuple("abcdefghij"))
    with RunFolder(tmp_path / "other", resume=False, overwrite=False) as folder:
        generator_file.write(folder, other)
    shutil.rmtree(copy / "generator")
    shutil.copytree(tmp_path / "other/generator", copy / "generator")
    with pytest.raises(InputError, match=r"is not the one that privacy\.json is about"):
        sampling_driver.generator_of(copy)
    stored = read(copy, "privacy.json")
    del stored["sha256"]  # as runs of before wrote it
    (copy / "privacy.json").write_text(json.dumps(stored))
    assert sampling_driver.generator_of(copy)[0].class_names == other.class_names


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
    assert metrics["frechet"]["num_images"] == 12
    with np.load(out / "synthetic.npz") as saved:
        assert (saved["x"].shape[1:3], saved["x"].dtype) == ((7, 9), np.uint8)
    assert sample(f"--run={out}", "--num=5", f"--out={tmp_path / 'more.npz'}") == 0
    with np.load(tmp_path / "more.npz") as more:
        assert more["x"].shape[:3] == (5, 7, 9)


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


def test_settings_are_the_flags() -> None:
    settings = functools.partial(drivers.settings, dp_ntk.Settings)
    assert settings("--eps=inf").eps == math.inf
    assert settings("--features=rff").features == "rff"
