"""`jaxdp.load` gives back what was made, and believes nothing that a folder says of itself."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import saved_folders
from support.classified import RELEASED, run_of, toy_place
from support.toy_tables import frame_of, schema_of

import jaxdp
from jaxdp.data import Private
from jaxdp.data.private import checked


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_place(tmp_path_factory.mktemp("load"))


@pytest.mark.parametrize("name", ["kip", "patched", "generated", "table generated"])
def test_what_a_run_has_made_is_there_again(name: str, place: Path) -> None:
    run = run_of(name, place)
    found = jaxdp.load(run.folder)
    assert found.x is not None
    np.testing.assert_allclose(found.x, run.made.x, rtol=1e-6)
    np.testing.assert_array_equal(found.y, run.made.y)
    assert found.class_names == run.made.class_names
    assert found.spec.stored_shape == run.made.spec.stored_shape
    assert found.predict(run.x).shape == run.y.shape
    assert found.predict_proba(run.x).shape == (len(run.y), len(found.class_names))
    if run.made.classifier is not None:
        np.testing.assert_array_equal(found.predict(run.x), run.made.classifier.predict(run.x))
    if found.spec.schema is not None:
        assert found.frame.equals(run.made.frame)


@pytest.mark.parametrize("name", ["teacher", "means"])
def test_runs_of_before_there_were_more_features_have_none(
    name: str, place: Path, tmp_path: Path
) -> None:
    run = run_of(name, place)
    copy = tmp_path / "run"
    shutil.copytree(run.folder, copy)
    expected = jaxdp.load(copy).predict_proba(run.x)
    config = json.loads((copy / "config.json").read_text())
    names = ("patches", "second_layer", "encoder", "brightness")
    assert {config.pop(name) for name in names} == {0}
    (copy / "config.json").write_text(json.dumps(config))
    np.testing.assert_array_equal(jaxdp.load(copy).predict_proba(run.x), expected)


@pytest.mark.parametrize("make", [saved_folders.images, saved_folders.distilled])
def test_a_folder_needs_three_files_and_no_commands(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    folder = make(tmp_path / "run")
    assert len(list(folder.iterdir())) == 3
    code = (
        "import sys, jaxdp; found = jaxdp.load(sys.argv[1]); print(found.predict(found.x))"
        "; assert not [name for name in sys.modules if name.startswith('jaxdp.program')]"
    )
    environment = {"PYTHONPATH": str(Path(__file__).parents[1]), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[")


def test_a_set_learns_what_it_shows(tmp_path: Path) -> None:
    found = jaxdp.load(saved_folders.images(tmp_path / "run"))
    np.testing.assert_array_equal(found.predict(found.x), found.y)
    assert "trained now on 12 examples" in found.about
    assert repr(found).startswith("Loaded(12 examples of scans, Certificate(epsilon=")


def test_distilled_sets_are_in_the_units_of_the_data(tmp_path: Path) -> None:
    found = jaxdp.load(saved_folders.distilled(tmp_path / "run"))
    assert found.x is not None
    assert found.x.shape == (3, 4, 4, 1)
    np.testing.assert_allclose([found.x.min(), found.x.max()], [-63.75, 318.75], rtol=1e-6)


def test_runs_of_before_whitening_open_where_their_kernel_is_the_same(tmp_path: Path) -> None:
    folder, x = saved_folders.distilled(tmp_path / "run"), np.zeros((2, 4, 4, 1), np.uint8)
    config = json.loads((folder / "config.json").read_text())
    scores = jaxdp.load(folder).predict_proba(x)
    assert config.pop("whiten") == 0
    (folder / "config.json").write_text(json.dumps(config))
    np.testing.assert_array_equal(jaxdp.load(folder).predict_proba(x), scores)
    saved_folders.changed(folder / "config.json", kernel="entk")
    with pytest.raises(jaxdp.SettingsError, match="another network's"):
        jaxdp.load(folder).predict_proba(x)


def test_records_are_told_as_frames_and_as_stored(tmp_path: Path) -> None:
    found, new = jaxdp.load(saved_folders.table(tmp_path / "run")), frame_of(9, seed=3)
    told = found.predict(new)
    np.testing.assert_array_equal(told, found.predict(Private.of_frame(new, schema_of()).x))
    np.testing.assert_array_equal(told, found.predict(new.drop(columns="ill")))
    with pytest.raises(ValueError, match="no records as the schema stores them"):
        found.predict(np.full((2, 5), 0.5))
    assert list(found.frame.columns) == ["age", "income", "debt", "smoker", "ill", "stage"]


def test_new_examples_of_another_scale_are_not_guessed_at(tmp_path: Path) -> None:
    found = jaxdp.load(saved_folders.images(tmp_path / "run"))
    bright = np.full((2, 4, 5), 300)
    for bad, said in (
        (bright, r"outside \[0, 255\]"),
        (np.full((2, 4, 5), np.nan), "no finite numbers"),
        (np.full((2, 4, 5), "dark"), "x has texts: give arrays"),
        (["a.png", "b.png"], "x has texts: give arrays .*; `jaxdp classify` reads files"),
        ([Path("a.png")], "x has texts: give arrays .*; `jaxdp classify` reads files"),
        (
            [np.zeros((4, 5)), np.zeros((3, 5))],
            r"of different shapes, and each has \(4, 5, 1\)",
        ),
        (np.zeros((2, 5, 5)), "an example has .*; `jaxdp classify` reads files of images, and re"),
        (np.zeros((4, 5)), r"an example has \(4, 5, 1\); for one example give x\[None\]"),
        (np.zeros((2, 1, 4, 5)), r"channels come first.*give np.moveaxis\(x, 1, -1\)"),
        (np.zeros((2, 5, 4)), r"an example has \(4, 5, 1\)"),
        (np.zeros((0, 4, 5)), "x holds no examples"),
    ):
        for method in (found.predict, found.predict_proba):
            with pytest.raises(ValueError, match=said):
                method(bad)
    with pytest.warns(UserWarning, match="x has fractions up to 0.5 alone, and the data go to 255"):
        found.predict(np.full((2, 4, 5), 0.5))
    floats = saved_folders.images(tmp_path / "floats", dtype="float32", low=-1, high=1)
    with pytest.warns(UserWarning, match=r"outside \[-1, 1\]"):
        jaxdp.load(floats).predict(np.full((2, 4, 5), 1.5))


@pytest.mark.parametrize("name", [*RELEASED, "generated", "table generated"])
def test_examples_of_the_set_are_predicted(name: str, place: Path) -> None:
    """In the units that the set is given in: distilled images have fractions, and go beyond."""
    found = jaxdp.load(run_of(name, place).folder)
    assert found.x is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = found.predict(found.x[:3])
        assert found.predict_proba(found.x[:3]).shape == (len(told), len(found.class_names))
    assert len(told) == min(3, len(found.x))
    np.testing.assert_array_equal(found.predict(found.x[:3].astype(np.float64)), told)


@pytest.mark.parametrize(
    "make",
    [
        *(saved_folders.images, saved_folders.distilled, saved_folders.table, saved_folders.rows),
        lambda folder: saved_folders.images(folder, dtype="float32", low=-1, high=1),
        lambda folder: saved_folders.images(folder, dtype="uint16", high=4095),
    ],
)
def test_examples_of_every_kind_of_set_are_predicted(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    found = jaxdp.load(make(tmp_path / "run"))
    assert found.x is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert found.predict(found.x[:3]).shape == (3,)


def test_others_beside_examples_of_the_set_are_not(tmp_path: Path) -> None:
    found = jaxdp.load(saved_folders.distilled(tmp_path / "run"))
    assert found.x is not None
    with pytest.raises(ValueError, match=r"outside \[0, 255\]"):
        found.predict(found.x + 0.25)
    with pytest.raises(ValueError, match=r"outside \[0, 255\]"):
        found.predict(np.concatenate([found.x, found.x[:1] + 1]))


def test_fractions_are_predicted_where_data_may_have_them(tmp_path: Path) -> None:
    """Floats from 0 to 255 are such data, though what is made of them is stored as bytes."""
    found = jaxdp.load(saved_folders.images(tmp_path / "whole"))
    assert found.x is not None
    assert found.spec.codec.dtype == "uint8"
    # Nearly the same once it is cut to bytes, and never above 255.
    x = (np.minimum(found.x[:4], 254) + 0.25).astype(np.float32)
    private = Private(x, np.arange(4) % 3)
    checked(private, dataclasses.replace(found.spec, num_examples=4))  # a run takes them, too
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = found.predict(x)
        probabilities = found.predict_proba(x)
    np.testing.assert_array_equal(told, found.classifier.predict(x))
    np.testing.assert_array_equal(probabilities, found.classifier.predict_proba(x))


def test_what_was_not_passed_on_is_none(tmp_path: Path) -> None:
    folder = saved_folders.distilled(tmp_path / "run")
    (folder / "distilled.npz").unlink()
    found = jaxdp.load(folder)
    assert (found.x, found.y, found.class_names) == (None, None, saved_folders.NAMES)
    with pytest.raises(jaxdp.SettingsError, match=r"distilled\.npz cannot be read"):
        found.predict(np.zeros((1, 4, 4)))
    with pytest.raises(ValueError, match="its set was not passed on"):
        _ = found.frame


def test_sets_without_classes_have_no_classifier(tmp_path: Path) -> None:
    found = jaxdp.load(saved_folders.unlabelled(tmp_path / "run"))
    assert found.class_names == ("all",)
    with pytest.raises(jaxdp.SettingsError, match="tells no classes apart"):
        found.predict(found.x)


# --- What is refused -----------------------------------------------------------------------------


def assert_refused(folder: Path, said: str) -> None:
    with pytest.raises(jaxdp.SettingsError, match=re.escape(said)) as caught:
        jaxdp.load(folder)
    assert str(caught.value).startswith(f"load('{folder}'): ")
    assert "\n" not in str(caught.value)


def test_guarantee_a_loaded_certificate_is_computed_anew(tmp_path: Path) -> None:
    folder = saved_folders.images(tmp_path / "run")
    epsilon = jaxdp.load(folder).certificate.epsilon
    assert jaxdp.load(folder).certificate.releasable
    saved_folders.changed(folder / "privacy.json", epsilon=epsilon / 2)
    assert_refused(folder, "its own numbers give")
    saved_folders.changed(folder / "privacy.json", epsilon=epsilon, verdict="strong")
    assert jaxdp.load(folder).certificate.facts["verdict"] != "strong"


@pytest.mark.parametrize(
    ("make", "name"),
    [(saved_folders.images, "synthetic.npz"), (saved_folders.distilled, "distilled.npz")],
)
def test_guarantee_files_that_are_loaded_are_those_of_the_certificate(
    make: Callable[[Path], Path], name: str, tmp_path: Path
) -> None:
    folder = make(tmp_path / "run")
    (folder / name).write_bytes((folder / name).read_bytes() + b"x")
    assert_refused(folder, f"{name} is not the file that privacy.json is about")


def test_folders_that_hold_something_else_are_refused(tmp_path: Path) -> None:
    assert_refused(tmp_path / "nowhere", "has no privacy.json")
    folder = saved_folders.images(tmp_path / "run")
    for name, change, said in (
        ("config.json", {"spec": None}, "tells of no data that a run has"),
        ("config.json", {"ledger": {}}, "are of different runs"),
        ("privacy.json", {"sha256": None}, "has not finished"),
    ):
        before = (folder / name).read_bytes()
        saved_folders.changed(folder / name, **change)
        assert_refused(folder, said)
        (folder / name).write_bytes(before)
    shutil.copy(saved_folders.rows(tmp_path / "rows") / "config.json", folder)
    assert_refused(folder, "cannot be used")


@pytest.mark.parametrize(
    ("news", "said"),
    [
        ({"shift": np.float32(np.nan)}, "its shift and scale are nan"),
        ({"scale": np.float32(0)}, "its shift and scale are"),
        ({"scale": np.ones(3)}, "its shift and scale are no numbers"),
        ({"class_names": np.array(["x", "y", "z"])}, "class_names are not those"),
        ({"class_names": np.arange(3)}, "class_names are not those"),
        ({"y": np.array([0, 1, 9])}, "labels beyond 3 classes"),
        ({"x": np.full((3, 4, 4, 1), "dark")}, "no numbers"),
    ],
)
def test_sets_of_other_data_are_refused(news: dict[str, Any], said: str, tmp_path: Path) -> None:
    folder = saved_folders.distilled(tmp_path / "run")
    loaded = jaxdp.load(folder)
    assert loaded.made is not None
    config, arrays = loaded.folder.config, loaded.made.arrays | news
    saved_folders.write(folder, "distilled", loaded.spec, arrays, options=config)
    assert_refused(folder, said)
