"""What every method gives who calls the library: a made set, and the certificate of it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from sklearn.datasets import load_digits

import jaxdp
from jaxdp.methods import certified
from jaxdp.methods import runner as runner_module
from jaxdp.methods.base import Story
from jaxdp.methods.made import from_regression, shares, softmax
from jaxdp.methods.runner import PlainRunner, in_chunks, slices
from jaxdp.methods.settings import Budget, SettingsError
from jaxdp.methods.steps import RowMap
from jaxdp.methods.stored import NOTHING
from jaxdp.numerics import ByBackend
from jaxdp.privacy import GaussianRelease, Ledger

PIXELS, LABELS = load_digits(return_X_y=True)
X, Y = PIXELS[:300].reshape(-1, 8, 8).astype(np.uint8), LABELS[:300]
NAMES = [f"digit {label}" for label in range(10)]
SPEC = jaxdp.Spec.images("mine", X.shape, class_names=NAMES, low=0, high=16)
SETTINGS: dict[str, dict[str, Any]] = {
    "dp_kip": {"ipc": 1, "steps": 4, "batch_size": 50},
    "dp_ntk": {"steps": 3, "batch_size": 20, "ntk_width": "8", "num_synthetic": 40},
    "teacher": {"ipc": 1, "steps": 4, "batch_size": 50, "distill_steps": 2, "whiten": 0.0},
}


def run(name: str, **settings: Any) -> Any:
    method = getattr(jaxdp.methods, name)
    asked = method.Settings(**(SETTINGS[name] | settings))
    return jaxdp.run(method, asked, SPEC, jaxdp.Private(X, Y), progress=False)


@pytest.fixture(scope="module", params=list(SETTINGS))
def found(request: pytest.FixtureRequest) -> Any:
    return (request.param, *run(request.param, eps=2.0))


def test_a_made_set_fits_the_data(found: Any) -> None:
    name, made, _ = found
    assert made.x.shape[1:] == (8, 8, 1)
    assert made.class_names == tuple(NAMES)
    assert sorted(set(made.y)) == list(range(10))
    np.testing.assert_allclose(made.scaled(made.x).reshape(made.rows.shape), made.rows, atol=0.05)
    assert (made.classifier is None) == (name == "dp_ntk")
    assert (made.generator is None) != (name == "dp_ntk")
    assert len(made.released[0]) > 1


def test_guarantee_the_certificate_is_that_of_what_was_released(found: Any) -> None:
    _, _, certificate = found
    facts = json.loads(certificate.to_json())
    assert 1.9 < certificate.epsilon <= 2 + 1e-9
    assert (certificate.delta, certificate.releasable) == (1e-5, True)
    assert facts["num_examples"] == 300
    assert "the operating system" in facts["randomness"]
    assert facts["ledger"]["delta"] == 1e-5
    assert "zero-out" in str(certificate)
    assert "MAY BE RELEASED" in str(certificate)
    assert str(certificate).count(". ") == 1
    assert "0x" not in repr(certificate)


@pytest.mark.parametrize("name", list(SETTINGS))
def test_guarantee_a_certificate_says_that_classes_were_counted(name: str) -> None:
    """How many classes there are was then read off private labels: that is taken as public."""
    method, said = getattr(jaxdp.methods, name), []
    for counted in (False, True):
        spec = dataclasses.replace(SPEC, counted_classes=counted)
        settings = method.complete(method.Settings(**SETTINGS[name]), spec)
        said.append(certified.certificate(method.make_plan(settings, spec))["public"])
    counted = [[what for what in public if "counted from the labels" in what] for public in said]
    assert [len(found) for found in counted] == [0, 1]


@pytest.mark.parametrize(
    ("forgotten", "said"),
    [
        (
            {"records_per_person": 1},
            "60 records, 1 of a person at most, and the data have 60 and 3",
        ),
        ({"num_examples": 50}, "50 records, 3 of a person at most"),
        ({"seeded_noise": False}, "does not say that its noise has a seed"),
    ],
)
def test_guarantee_a_ledger_that_is_not_about_its_run_gets_no_certificate(
    forgotten: dict[str, Any], said: str
) -> None:
    """As of a method that forgets persons: each would be promised what one record has."""
    release = GaussianRelease(name="sums", sensitivity=2.0, stddev=30.0)
    told = {"num_examples": 60, "records_per_person": 3, "seeded_noise": True}
    plan: Any = SimpleNamespace(
        settings=Budget(noise_seed=1),
        spec=jaxdp.Spec.images("mine", (60, 8, 8), class_names="01").of_persons(3),
        story=Story(),
        earlier=NOTHING,
    )
    plan.ledger = Ledger(delta=1e-5, releases=(release,), **told)
    assert not certified.certificate(plan)["releasable"]
    plan.ledger = Ledger(delta=1e-5, releases=(release,), **(told | forgotten))
    with pytest.raises(ValueError, match=said):
        certified.certificate(plan)


def test_a_classifier_predicts_examples_as_stored(found: Any) -> None:
    _, made, _ = found
    if made.classifier is None:
        assert made.generator(np.arange(10), seed=1).shape == (10, 8, 8, 1)
        return
    classes = made.classifier.predict(X[:7])
    probabilities = made.classifier.predict_proba(X[:7])
    np.testing.assert_array_equal(classes, probabilities.argmax(axis=1))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    assert probabilities.min() > 0
    np.testing.assert_array_equal(made.classifier.predict(X[:7].reshape(7, 64)), classes)
    assert made.classifier.score(X[:7], classes) == 1
    np.testing.assert_array_equal(made.classifier.classes_, np.arange(10))
    with pytest.raises(ValueError, match="an example has"):
        made.classifier.predict(X[:7, :4])


def test_a_made_set_is_saved_and_shown(found: Any, tmp_path: Path) -> None:
    _, made, _ = found
    with np.load(made.save(tmp_path / "new" / "folder"), allow_pickle=False) as saved:
        assert set(saved) == set(made.arrays)
        np.testing.assert_array_equal(saved["y"], made.y)
    assert "data:image/png;base64," in made._repr_html_()
    assert repr(made) == f"Made({len(made.x)} examples of 10 classes, mine)"


def test_a_saved_set_is_loaded_with_its_classifier_and_certificate(
    found: Any, tmp_path: Path
) -> None:
    name, made, certificate = found
    folder = made.save(tmp_path).parent
    assert {"README.md", "config.json", "privacy.json"} <= {path.name for path in folder.iterdir()}
    again = jaxdp.load(folder)
    assert again.x is not None
    np.testing.assert_allclose(again.x, made.x, rtol=1e-6)
    np.testing.assert_array_equal(again.y, made.y)
    assert (again.class_names, again.spec) == (made.class_names, SPEC)
    assert dict(again.certificate.facts) | {"sha256": None} == (
        json.loads(certificate.to_json()) | {"sha256": None}
    )
    told = again.classifier.predict_proba(X[:20])
    if made.classifier is not None:
        np.testing.assert_allclose(told, made.classifier.predict_proba(X[:20]), atol=1e-3)
    release = {"teacher": "teacher.npz", "dp_ntk": "embedding.npz"}.get(name)
    assert release is None or (folder / release).is_file()


def test_guarantee_a_saved_certificate_is_about_every_file_of_its_release(
    found: Any, tmp_path: Path
) -> None:
    """Or another release could be put in the place of the one that it certifies."""
    folder = found[1].save(tmp_path).parent
    named = json.loads((folder / "privacy.json").read_text())["sha256"]
    there = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    assert named == {name: each for name, each in there.items() if name.endswith(".npz")}
    assert len(named) == (1 if found[0] == "dp_kip" else 2)


def test_guarantee_a_saved_release_tells_of_earlier_runs(tmp_path: Path) -> None:
    """Its own file has the certificate, too: who uses it again learns what all runs have spent."""
    method, settings = jaxdp.methods.teacher, SETTINGS["teacher"] | {"eps": 2.0}
    for _ in range(2):
        made, certificate = jaxdp.run(
            method,
            method.Settings(**settings),
            SPEC,
            jaxdp.Private(X, Y),
            progress=False,
            ledger=tmp_path / "ledger.jsonl",
        )
    with np.load(made.save(tmp_path / "run").with_name("teacher.npz")) as saved:
        stored = json.loads(str(saved["meta"]))["certificate"]
    assert len(stored["earlier_runs"]) == 1
    assert stored["earlier_runs"] == json.loads(certificate.to_json())["earlier_runs"]


def test_guarantee_no_generator_of_another_certificate_stays_beside_a_saved_set(
    tmp_path: Path,
) -> None:
    made, _ = run("dp_kip")
    (tmp_path / "generator/variables").mkdir(parents=True)
    (tmp_path / "generator/description.json").write_text("{}")
    (tmp_path / "privacy.json").write_text('{"sha256": {"generator/description.json": "0"}}')
    made.save(tmp_path, overwrite=True)
    assert not (tmp_path / "generator").exists()
    (tmp_path / "generator").mkdir()
    (tmp_path / "generator/mine.txt").write_text("of somebody")
    (tmp_path / "privacy.json").write_text('{"sha256": {"generator": "0", "x.npz": "0"}}')
    made.save(tmp_path, overwrite=True)
    assert (tmp_path / "generator/mine.txt").exists(), "no certificate names it"


def test_a_file_of_yours_is_not_replaced_by_a_saved_set(tmp_path: Path) -> None:
    made, _ = run("dp_kip")
    (tmp_path / "config.json").write_text("mine")
    with pytest.raises(ValueError, match=r"holds config\.json, which is another one"):
        made.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]
    made.save(tmp_path, overwrite=True)
    assert (tmp_path / "config.json").read_text() != "mine"


def test_guarantee_no_file_of_another_certificate_stays_beside_a_saved_set(
    tmp_path: Path,
) -> None:
    (teachers, first), (kernels, second) = run("teacher"), run("dp_kip")
    folder = teachers.save(tmp_path / "mix").parent
    teachers.save(folder)  # the same again
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for other in (kernels, dataclasses.replace(kernels, beside=None)):
        with pytest.raises(ValueError, match="holds another result"):
            other.save(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    (tmp_path / "teacher.npz").write_bytes(b"outside")
    stored = json.loads(before["privacy.json"])
    (folder / "mine").mkdir()
    stored["sha256"] |= dict.fromkeys(
        ("../teacher.npz", "..", "", ".", "mine", "privacy.json"), "0"
    )
    (folder / "privacy.json").write_text(json.dumps(stored))
    kernels.save(folder, overwrite=True)
    names = {path.name for path in folder.iterdir()}
    assert names == {"distilled.npz", "config.json", "privacy.json", "README.md", "mine"}
    assert "teacher.npz" in before
    assert (tmp_path / "teacher.npz").exists()
    assert first.facts["ledger"] != second.facts["ledger"]
    assert jaxdp.load(folder).certificate.facts["ledger"] == second.facts["ledger"]
    for strange in ("[]", "{", '{"sha256": [1]}', '{"sha256": "x"}'):
        (folder / "privacy.json").write_text(strange)
        with pytest.raises(ValueError, match="holds another result"):
            kernels.save(folder)


def test_guarantee_noise_is_fresh_unless_it_is_seeded_and_then_not_releasable() -> None:
    (first, certificate), (second, _) = (run("dp_ntk", noise_seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.released.mu, second.released.mu)
    assert not certificate.releasable
    fresh = [run("dp_ntk")[0].released.mu for _ in range(2)]
    assert np.any(fresh[0] != fresh[1])


def test_guarantee_without_noise_nothing_is_promised() -> None:
    certificate = run("dp_kip", eps=math.inf)[1]
    assert certificate.epsilon == math.inf
    assert not certificate.releasable
    assert str(certificate).startswith("There is no privacy")


def test_data_that_contradict_their_facts_are_refused_before_any_work() -> None:
    method = jaxdp.methods.teacher
    with pytest.raises(ValueError, match="has shape"):
        jaxdp.run(method, method.Settings(), SPEC, jaxdp.Private(X[:20], Y[:20]))
    table = jaxdp.Spec.rows("rows", (300, 64), class_names=NAMES, low=0, high=16)
    rows = jaxdp.Private(PIXELS[:300], Y)
    with pytest.raises(SettingsError, match="works on images, and --dataset=rows holds rows of 64"):
        jaxdp.run(method, method.Settings(), table, rows)


def test_rows_of_a_table_are_distilled_and_generated() -> None:
    table = jaxdp.Spec.rows("rows", (300, 64), class_names=NAMES, low=0, high=16)
    for name in ("dp_kip", "dp_ntk"):
        method = getattr(jaxdp.methods, name)
        settings = method.Settings(**SETTINGS[name])
        made, _ = jaxdp.run(method, settings, table, jaxdp.Private(PIXELS[:300], Y), progress=False)
        assert made.x.shape[1:] == (64,)
        assert "<img" not in made._repr_html_()


def test_probabilities_of_scores() -> None:
    scores = np.array([[900.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(softmax(scores), [[1, 0, 0], [1 / 3] * 3])
    np.testing.assert_allclose(shares(np.array([[2 / 3, -1 / 3, -1 / 3]])), [[1, 0, 0]], atol=1e-5)
    # Of two classes a margin of .5 is odds of e to the 1 / .49, and of ten one of .16 is that.
    two, ten = from_regression(np.array([[0.25, -0.25]])), from_regression(np.eye(10)[:1] * 0.16)
    np.testing.assert_allclose(two[0, 0] / two[0, 1], np.exp(0.5 * 2**0.7 / 0.4))
    np.testing.assert_allclose(ten[0, 0] / ten[0, 1], np.exp(0.16 * 10**0.7 / 0.4))
    np.testing.assert_allclose(ten.sum(), 1)


@pytest.mark.parametrize("total", [0, 1, 2, 37])
def test_slices_are_all_steps_and_begin_with_one(total: int) -> None:
    counts = list(slices(total))
    assert sum(counts) == total
    assert counts[:1] == [1][:total]


def test_rows_are_mapped_in_their_order_whatever_the_chunks() -> None:
    rows = np.arange(600, dtype=np.float32).reshape(300, 2)
    row_map = RowMap(lambda x: 2 * x, {}, np.float16)
    mapped = PlainRunner(progress=False).rows(row_map, rows, what="doubled")
    assert mapped.dtype == np.float16
    np.testing.assert_array_equal(mapped, (2 * rows).astype(np.float16))
    with pytest.raises(ValueError, match="no rows"):
        in_chunks(row_map, rows[:0])


def test_few_programs_serve_any_number_of_rows() -> None:
    """Whoever predicts batches of many sizes waits for the compiler once, or a few times."""
    traced = []

    def double(x: jax.Array) -> jax.Array:
        traced.append(len(x))
        return 2 * x

    rows = np.arange(400, dtype=np.float32).reshape(200, 2)
    runner, row_map = PlainRunner(progress=False), RowMap(double, {}, np.float32)
    for number in (6, 4, 1, 8, 20, 9, 200, 33, 5):
        found = runner.rows(row_map, rows[:number], what="doubled")
        np.testing.assert_array_equal(found, 2 * rows[:number])
    assert traced == [8, 32, 128]


def test_maps_of_one_runner_have_programs_of_their_own() -> None:
    rows = np.arange(12, dtype=np.float32).reshape(6, 2)
    runner = PlainRunner(progress=False)
    doubled, tripled = (RowMap(fn, {}, np.float32) for fn in (lambda x: 2 * x, lambda x: 3 * x))
    for row_map, factor in ((doubled, 2), (tripled, 3), (doubled, 2)):
        np.testing.assert_array_equal(runner.rows(row_map, rows, what="rows"), factor * rows)


def test_wide_rows_are_mapped_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_module, "_MOST_VALUES", ByBackend(cpu=2 * 5, accelerator=2 * 5))
    traced = []

    def double(x: jax.Array) -> jax.Array:
        traced.append(len(x))
        return 2 * x

    rows = np.arange(44, dtype=np.float32).reshape(22, 2)
    found = PlainRunner(progress=False).rows(RowMap(double, {}, np.float32), rows, what="doubled")
    np.testing.assert_array_equal(found, 2 * rows)
    assert traced == [5]


def test_guarantee_a_plan_made_again_has_the_ledger_that_was_entered() -> None:
    one, other = (SimpleNamespace(ledger=ledger) for ledger in ("one", "other"))
    certified.require_same_ledger(one, one)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="nothing was released"):
        certified.require_same_ledger(other, one)  # type: ignore[arg-type]
