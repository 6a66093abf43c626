"""Reading what a generating run left: the images, their scale, what they have cost."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from support.generated_folder import GENERATED_EPS, written

from jaxdp.methods import teacher
from jaxdp.methods.settings import SettingsError
from jaxdp.methods.stored import Earlier
from jaxdp.methods.teacher.earlier import check_earlier
from jaxdp.program.data.dataset import Dataset
from jaxdp.program.data.load import load_dataset
from jaxdp.program.errors import InputError
from jaxdp.program.runs import generated_images


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load_dataset("digits", data_dir="nowhere")


def test_images_come_by_class_and_in_the_unit_range(tmp_path: Path, digits: Dataset) -> None:
    found = generated_images.read(str(written(tmp_path / "run")), digits.spec, ipc=4).images
    assert found.x.shape == (10, 4, 64)
    np.testing.assert_allclose(found.x[2, :, 0], np.array([8, 9, 10, 11]) / 16)
    assert found.x.max() == 1
    assert found.certificate["epsilon"] == pytest.approx(GENERATED_EPS, rel=1e-6)


def test_classes_of_different_sizes_are_cut_to_the_smallest(
    tmp_path: Path, digits: Dataset
) -> None:
    y = np.repeat(np.arange(10), 4)
    y[0] = 9
    found = generated_images.read(str(written(tmp_path / "run", y=y)), digits.spec, ipc=3).images
    assert found.x.shape == (10, 3, 64)


def test_images_that_a_teacher_is_surest_of_come_first(
    tmp_path: Path, digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is chosen to train networks is hard to tell, and not what a class looks like."""
    monkeypatch.setattr(generated_images, "_MOST", 2)
    scores = np.full((40, 10), 0.02)
    scores[np.arange(40), np.repeat(np.arange(10), 4)] = np.tile([0.5, 0.9, 0.6, 0.9], 10)
    folder = written(tmp_path / "run", y_scores=scores)
    found = generated_images.read(str(folder), digits.spec, ipc=2).images
    # Images 9 and 11 are of class 2, and all pixels have the number of the image.
    np.testing.assert_allclose(found.x[2, :, 0], np.array([9, 11]) / 16)
    plain = generated_images.read(str(written(tmp_path / "plain")), digits.spec, ipc=2).images
    np.testing.assert_allclose(plain.x[2, :, 0], np.array([8, 9]) / 16)


def test_guarantee_the_multiplier_is_that_of_all_releases_for_a_removed_example(
    tmp_path: Path, digits: Dataset
) -> None:
    """Half the budget each: in units of its noise, removal moves one by 1/2, the other by 1/sqrt 2
    of what replacement does."""
    found = generated_images.read(str(written(tmp_path / "run")), digits.spec, ipc=1).images
    replaced = found.certificate["noise_multiplier"]
    expected = replaced / math.sqrt(0.5 * 0.5**2 + 0.5 * 0.5)
    assert found.noise_multiplier == pytest.approx(expected, rel=1e-6)
    folder = written(tmp_path / "plain", eps=math.inf)
    plain = generated_images.read(str(folder), digits.spec, ipc=1).images
    assert plain.noise_multiplier == 0


def test_guarantee_a_teacher_for_persons_is_trained_beside_images_for_persons(
    tmp_path: Path, digits: Dataset
) -> None:
    found = generated_images.read(str(written(tmp_path / "run")), digits.spec, ipc=1).images
    spec, both = digits.spec.of_persons(1), teacher.Settings(match="both", packing=1)
    with pytest.raises(SettingsError, match="--records_per_person=1"):
        check_earlier(both, spec, Earlier(images=found))
    check_earlier(both, digits.spec, Earlier(images=found))
    check_earlier(teacher.Settings(match="embedding", packing=1), spec, Earlier(images=found))
    declared = found._replace(certificate=found.certificate | {"persons_declared": True})
    check_earlier(both, spec, Earlier(images=declared))


def test_guarantee_another_release_has_another_digest(tmp_path: Path, digits: Dataset) -> None:
    digests = [
        generated_images.read(
            str(written(tmp_path / name, mu=mu)), digits.spec, ipc=1
        ).images.digest
        for name, mu in (("a", 0.0), ("b", 0.0), ("c", 1e-6))
    ]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"x": np.zeros((40, 8, 9, 1), np.float32)}, "images of shape [8, 9, 1]"),
        ({"y": np.repeat(np.arange(5), 8)}, "0 images of class 5"),
        ({"y": np.repeat(np.arange(10), 4) + 1}, "beyond 10 classes"),
        ({"y": np.zeros(39, int)}, "labels do not fit"),
        ({"x": np.full((40, 8, 8, 1), np.nan)}, "not finite"),
        ({"y_scores": np.full((40, 10), np.nan)}, "not finite"),
        ({"y_scores": np.ones((40, 9))}, "soft labels do not fit"),
    ],
)
def test_images_that_do_not_fit_are_refused(
    arrays: dict[str, np.ndarray], said: str, tmp_path: Path, digits: Dataset
) -> None:
    folder = written(tmp_path / "run", **arrays)
    with pytest.raises(InputError) as raised:
        generated_images.read(str(folder), digits.spec, ipc=2)
    assert said in str(raised.value)
    assert str(folder) in str(raised.value)


def test_images_of_classes_by_other_names_are_refused(tmp_path: Path, digits: Dataset) -> None:
    names = digits.spec.class_names
    same = written(tmp_path / "same", class_names=names)
    assert generated_images.read(str(same), digits.spec, ipc=2).images.x.shape[0] == 10
    turned = written(tmp_path / "turned", class_names=(names[1], names[0], *names[2:]))
    with pytest.raises(SettingsError, match="turned: was made from other names of classes, or in"):
        generated_images.read(str(turned), digits.spec, ipc=2)


def test_guarantee_images_that_the_run_did_not_make_are_refused(
    tmp_path: Path, digits: Dataset
) -> None:
    """Training images in the place of synthetic ones were taken for a private release."""
    folder = written(tmp_path / "run")
    np.savez(folder / "synthetic.npz", x=digits.private.x, y=digits.private.y)
    with pytest.raises(InputError, match=r"synthetic\.npz is not the file that privacy\.json"):
        generated_images.read(str(folder), digits.spec, ipc=1)


def test_guarantee_an_embedding_of_another_release_is_refused(
    tmp_path: Path, digits: Dataset
) -> None:
    folder, other = written(tmp_path / "run"), written(tmp_path / "other", eps=math.inf)
    (other / "privacy.json").write_bytes((folder / "privacy.json").read_bytes())
    with pytest.raises(InputError, match="of different releases"):
        generated_images.read(str(other), digits.spec, ipc=1)
    folder, other = written(tmp_path / "c"), written(tmp_path / "d", mu=1.0)
    (folder / "embedding.npz").write_bytes((other / "embedding.npz").read_bytes())
    with pytest.raises(InputError, match=r"embedding\.npz is not the file"):
        generated_images.read(str(folder), digits.spec, ipc=1)


def test_guarantee_images_that_nothing_ties_to_a_release_are_not_releasable(
    tmp_path: Path, digits: Dataset
) -> None:
    """As version 0.1.0 left them: they can be used, and the certificate says what is missing."""
    folder = written(tmp_path / "run")
    certificate = json.loads((folder / "privacy.json").read_text())
    del certificate["sha256"]
    (folder / "privacy.json").write_text(json.dumps(certificate))
    found = generated_images.read(str(folder), digits.spec, ipc=1).images.certificate
    assert not found["releasable"]
    assert "version 0.1.0" in found["verdict"]


@pytest.mark.parametrize("edit", [{"epsilon": 0.1}, {"ledger": {}}, {"sha256": []}])
def test_guarantee_a_certificate_that_disagrees_is_refused_by_name(
    edit: dict, tmp_path: Path, digits: Dataset
) -> None:
    folder = written(tmp_path / "run")
    certificate = json.loads((folder / "privacy.json").read_text())
    (folder / "privacy.json").write_text(json.dumps(certificate | edit))
    with pytest.raises(InputError, match=r"--synthetic=.*privacy\.json"):
        generated_images.read(str(folder), digits.spec, ipc=1)


def test_too_few_images_are_refused(tmp_path: Path, digits: Dataset) -> None:
    with pytest.raises(InputError, match="--ipc=5 asks for more"):
        generated_images.read(str(written(tmp_path / "run")), digits.spec, ipc=5)


def test_a_run_that_was_stopped_is_refused(tmp_path: Path, digits: Dataset) -> None:
    folder = written(tmp_path / "run")
    (folder / "metrics.json").write_text('{"finished": true}')
    generated_images.read(str(folder), digits.spec, ipc=1)
    for content, said in (('{"finished": false}', "has not finished"), ("{", "cannot be read")):
        (folder / "metrics.json").write_text(content)
        with pytest.raises(InputError, match=f"--synthetic=.*{said}"):
            generated_images.read(str(folder), digits.spec, ipc=1)


def test_folders_of_other_kinds_are_refused(tmp_path: Path, digits: Dataset) -> None:
    with pytest.raises(InputError, match="is not the folder of a finished run"):
        generated_images.read(str(tmp_path), digits.spec, ipc=1)
    folder = written(tmp_path / "run")
    (folder / "synthetic.npz").write_bytes(b"broken")
    with pytest.raises(InputError, match="cannot be used"):
        generated_images.read(str(folder), digits.spec, ipc=1)
