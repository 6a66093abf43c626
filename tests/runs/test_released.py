"""Files of what was released: a round trip, and one clear line for whatever else they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.teaching import SCATTERING_ALONE

from jaxdp.data import Spec
from jaxdp.methods import dp_ntk, teacher
from jaxdp.methods.settings import SettingsError
from jaxdp.methods.stored import Form, Stored, require_same_data
from jaxdp.methods.teacher.settings import ReleaseOptions
from jaxdp.privacy import certificates
from jaxdp.privacy.certificates import Terms
from jaxdp.privacy.ledger import FLOAT32_NOISE, Ledger, one_release
from jaxdp.program.errors import InputError
from jaxdp.program.runs import released
from jaxdp.program.runs.folder import RunFolder
from jaxdp.program.runs.release_log import ReleaseLog

MECHANISM = one_release(100, noise_multiplier=5.0)
LEDGER = Ledger(num_examples=100, delta=1e-5, steps=MECHANISM)
CERTIFICATE = certificates.certify(LEDGER, Terms(covers=("everything",), target_epsilon=2.0))
RELEASED = teacher.Released(weights=np.eye(3))
OPTIONS = ReleaseOptions(**SCATTERING_ALONE, networks=0)


def written(folder: Path, **changes: Any) -> Path:
    """A file of a teacher of three classes."""
    values: dict[str, Any] = {
        "released": RELEASED,
        "options": OPTIONS,
        "example_shape": (8, 8, 1),
        "num_classes": 3,
        "certificate": CERTIFICATE,
        "source": "",
    }
    with RunFolder(str(folder), resume=False, overwrite=False) as run:
        released.write(ReleaseLog(run), "teacher.npz", teacher.FORM, Stored(**values | changes))
    return folder / "teacher.npz"


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    return written(tmp_path / "run")


def read(path: Path, form: Form = teacher.FORM) -> Stored[Any]:
    return released.read(path, form)


def contents(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    with np.load(path) as saved:
        arrays = dict(saved)
    return arrays, json.loads(str(arrays.pop("meta")))


def edited(path: Path, arrays: dict[str, Any] | None = None, **meta: Any) -> Path:
    """The same file with other arrays and parts of the description; None leaves a part out."""
    before, description = contents(path)
    description = {k: v for k, v in (description | meta).items() if v is not None}
    other = path.with_name("edited.npz")
    np.savez(other, **before | (arrays or {}), meta=np.array(json.dumps(description)))
    return other


def test_round_trip(stored: Path) -> None:
    found = read(stored)
    assert found.released.means is None
    np.testing.assert_array_equal(found.released.weights, RELEASED.weights)
    assert found.options == OPTIONS
    assert (found.example_shape, found.num_classes) == ((8, 8, 1), 3)
    assert found.certificate == CERTIFICATE
    assert found.source == f"--teacher={stored}"


def test_names_of_classes_are_stored_and_must_be_those_of_the_data(tmp_path: Path) -> None:
    """A folder of class cat that is renamed zebra comes last, and labels would be exchanged."""
    spec = Spec.images("pets", (100, 8, 8), class_names=["cat", "dog", "yak"])
    found = read(written(tmp_path / "run", class_names=spec.class_names))
    assert found.class_names == spec.class_names
    require_same_data(found, spec, 3)
    renamed = Spec.images("pets", (100, 8, 8), class_names=["dog", "yak", "zebra"])
    with pytest.raises(SettingsError) as raised:
        require_same_data(found, renamed, 3)
    assert str(raised.value) == (
        f"{found.source}: was made from other names of classes, or in another order (class 0 was "
        "'cat', and is 'dog' in --dataset=pets); put them back, or release anew"
    )
    older = read(written(tmp_path / "older"))
    assert older.class_names is None
    require_same_data(older, renamed, 3)


def test_keys_are_those_of_earlier_versions(stored: Path) -> None:
    arrays, meta = contents(stored)
    assert set(arrays) == {"weights"}
    assert set(meta) == {"map_config", "example_shape", "certificate"}
    assert meta["map_config"] == {
        **{
            "whiten": 0.1,
            "mirror": False,
            "patches": 0,
            "second_layer": 0,
            "encoder": False,
            "brightness": 0.0,
        },
        **{"unit_norm": True, "networks": 0},
    }
    assert dp_ntk.FORM.options_key == "feature_config"


def test_earlier_versions_had_neither_patches_nor_brightness_nor_unit_norm(stored: Path) -> None:
    old = edited(stored, map_config={"whiten": 0.1, "mirror": False})
    then = SCATTERING_ALONE | {"unit_norm": False}
    assert read(old).options == ReleaseOptions(**then, networks=0)


def test_nan_is_refused_on_both_sides(stored: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--teacher=.*weights is not finite"):
        read(edited(stored, {"weights": np.array([[np.nan]])}))
    with pytest.raises(ValueError, match="not JSON compliant"):
        written(tmp_path / "other", certificate=CERTIFICATE | {"epsilon": float("nan")})


def test_guarantee_epsilon_is_computed_anew(stored: Path) -> None:
    with pytest.raises(InputError, match=r"--teacher=.*it says epsilon"):
        read(edited(stored, certificate=CERTIFICATE | {"epsilon": 0.1}))


def test_guarantee_a_certificate_without_a_ledger_is_of_float32_noise(stored: Path) -> None:
    """As version 0.1.0 left teachers; the noise of its class means was float64."""
    old = {key: value for key, value in CERTIFICATE.items() if key not in ("ledger", "objection")}
    found = read(edited(stored, certificate=old)).certificate
    assert found["ledger"]["noise"] == FLOAT32_NOISE
    assert not found["releasable"]
    means = written(stored.parent.parent / "means", released=teacher.Released(means=np.eye(3)))
    assert read(edited(means, certificate=old)).certificate["ledger"]["noise"] != FLOAT32_NOISE


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        ({"map_config": None}, "it lacks map_config"),
        ({"example_shape": None}, "it lacks example_shape"),
        ({"certificate": None}, "it lacks certificate"),
        ({"map_config": {"whiten": 0.1}}, "it does not say mirror"),
        ({"map_config": {"whiten": -1.0, "mirror": False}}, "--whiten=-1.0"),
        ({"map_config": {"whiten": 0.1, "mirror": "no"}}, "mirror"),
        ({"map_config": {"depth": 1}}, "unexpected keyword argument"),
        ({"certificate": [1]}, "no JSON object"),
        ({"class_names": ["a", "b"]}, "class_names are not a name for each"),
        ({"class_names": [1, 2, 3]}, "class_names are not a name for each"),
    ],
)
def test_descriptions_of_something_else_are_refused(
    meta: dict[str, Any], said: str, stored: Path
) -> None:
    with pytest.raises(InputError, match=r"--teacher=.*: is not a teacher") as raised:
        read(edited(stored, **meta))
    assert said in str(raised.value)


def test_arrays_of_another_kind_are_refused(stored: Path) -> None:
    for path, form, said in (
        (edited(stored, {"weights": np.ones(3)}), teacher.FORM, r"weights has shape \(3,\)"),
        (stored, dp_ntk.FORM, "--embedding=.*is not an embedding .*it lacks mu"),
    ):
        with pytest.raises(InputError, match=said):
            read(path, form)


def bad_file(kind: str, good: Path) -> Path:
    path = good.with_name(f"{kind}.npz")
    if kind == "truncated":
        path.write_bytes(good.read_bytes()[:200])
    elif kind == "text":
        path.write_text("epsilon = 1")
    elif kind == "empty":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    elif kind == "array":
        with path.open("wb") as file:
            np.save(file, np.eye(3))
    elif kind == "objects":
        np.savez(path, weights=np.array([{}], dtype=object), meta=np.array("{}"))
    elif kind == "json":
        np.savez(path, weights=np.eye(3), meta=np.array("{"))
    elif kind == "bare":
        np.savez(path, weights=np.eye(3))
    return path


KINDS = ("truncated", "text", "empty", "folder", "array", "objects", "json", "bare", "missing")


@pytest.mark.parametrize("kind", KINDS)
def test_any_other_file_is_one_clear_error(kind: str, stored: Path) -> None:
    with pytest.raises(InputError, match=rf"--teacher=.*{kind}\.npz: (is not a teacher|there is)"):
        read(bad_file(kind, stored))
