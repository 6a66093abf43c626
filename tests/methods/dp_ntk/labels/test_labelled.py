"""A generator and a teacher under one budget: what is released is what is accounted."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np
import pytest

import jaxdp
from jaxdp.methods import certified, record
from jaxdp.methods.dp_ntk import labels as labelled
from jaxdp.methods.dp_ntk.drawing import balanced_labels
from jaxdp.methods.dp_ntk.labels import plan as planning
from jaxdp.methods.dp_ntk.labels import release as releasing
from jaxdp.methods.dp_ntk.labels.plan import by_removal
from jaxdp.methods.runner import PlainRunner
from jaxdp.methods.settings import SettingsError, part_of
from jaxdp.methods.stored import Earlier, Stored
from jaxdp.privacy import accounting, private_key

SCHEMA = jaxdp.tables.Schema.from_json(
    {
        "columns": {
            "size": {"type": "numeric", "lower": 0, "upper": 1, "bins": 4},
            "kind": {"type": "categorical", "categories": ["a", "b"]},
            "class": {"type": "categorical", "categories": ["no", "yes"], "target": True},
        }
    }
)
N = 400
SPEC = jaxdp.Spec.table("toy", SCHEMA, N)


def private(seed: int = 0) -> jaxdp.Private:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, N).astype(np.int32)
    size = np.clip(0.5 * rng.random(N) + 0.5 * y, 0, 1)
    return jaxdp.Private(np.stack([size, rng.integers(0, 2, N)], 1).astype(np.float32), y)


def plan_of(**settings: Any) -> Any:
    asked = labelled.Settings(labels="teacher", num_synthetic=50, **settings)
    return labelled.make_plan(labelled.complete(asked, SPEC), SPEC)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_guarantee_both_releases_together_spend_the_budget(share: float) -> None:
    plan = plan_of(eps=1.0, teacher_share=share)
    ledger = plan.ledger
    mechanisms = plan.teaching.mechanisms
    assert ledger.steps == mechanisms.steps
    assert 0.98 < ledger.epsilon() <= 1 + 1e-9
    multiplier = by_removal(plan.release_of_embedding, N)
    assert mechanisms.mean > 0
    assert ledger.also == (multiplier, mechanisms.mean, mechanisms.calibration)
    alone = accounting.gaussian_epsilon(multiplier, delta=plan.settings.delta)
    assert alone == pytest.approx(1 - share, rel=1e-3)
    assert certified.certificate(plan)["releasable"]


def test_guarantee_what_is_accounted_is_what_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mechanism of the training and the noise of the embedding are those of the ledger."""
    asked: dict[str, Any] = {}

    def teach(private: Any, key: Any, runner: Any, **given: Any) -> Any:
        training = given["training"]
        releases = training.first, training.last.mechanism
        asked["teacher"] = (key, training.mechanism, releases, given["means"])
        return jaxdp.methods.teacher.release.Released(np.zeros((9, 2), np.float32), None)

    def embed(private: Any, key: Any, features: Any, releases: Any, **given: Any) -> Any:
        asked["embedding"] = (key, releases, given["num_classes"])
        return jaxdp.methods.dp_ntk.Released(np.zeros((2, 9)), np.ones(2) / 2)

    monkeypatch.setattr(releasing.teaching, "release", teach)
    monkeypatch.setattr(releasing.embedding, "release", embed)
    plan, key = plan_of(eps=1.0), private_key(0)
    plan.release(private(), key, PlainRunner(progress=False))
    teacher_key, mechanism, (first, last), means = asked["teacher"]
    embedding_key, releases, num_classes = asked["embedding"]
    assert (mechanism, means, num_classes) == (plan.ledger.steps, None, 2)
    spent = [by_removal(each, N) for each in releases]
    assert (*spent, first.noise_multiplier, last.noise_multiplier) == plan.ledger.also
    keys = [jax.random.key_data(each).tobytes() for each in (key, teacher_key, embedding_key)]
    assert len(set(keys)) == 3


def test_guarantee_the_embedding_has_the_noise_that_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cells in which no record lies hold noise alone."""
    taught = jaxdp.methods.teacher.release.Released(np.zeros((9, 2), np.float32), None)
    monkeypatch.setattr(releasing.teaching, "release", lambda *_, **__: taught)
    empty = jaxdp.Private(np.zeros((N, 2), np.float32), np.zeros(N, np.int32))
    plan = plan_of(eps=1.0, teacher_share=0.5)
    runner = PlainRunner(progress=False)
    drawn = [np.asarray(plan.release(empty, private_key(seed), runner).mu)[1] for seed in range(40)]
    assert np.std(drawn) == pytest.approx(plan.release_of_embedding.stddev, rel=0.15)


@pytest.mark.parametrize("shape", [(28, 28), (32, 32, 3)])
def test_a_labelling_teacher_has_all_features_however_few_images_are_drawn(shape: Any) -> None:
    spec = jaxdp.Spec.images("own", (60_000, *shape), class_names=["a", "b"])
    few, many = (
        planning.teacher_settings(labelled.complete(asked, spec), spec)
        for asked in (labelled.Settings(labels="teacher", num_synthetic=n) for n in (2, 60_000))
    )
    assert few == many
    assert few.encoder
    assert bool(few.second_layer) == (len(shape) == 3)


def test_a_teacher_that_was_released_before_keeps_its_features() -> None:
    """Defaults may have changed since, and its weights fit none but its own."""
    spec = jaxdp.Spec.images("own", (100, 16, 16), class_names=["a", "b"])
    asked = labelled.Settings(labels="teacher", features="rff", num_synthetic=50)
    plan = labelled.make_plan(labelled.complete(asked, spec), spec)
    assert plan.teaching.options.encoder
    then = {"whiten": 0.7, "encoder": False, "brightness": 0.0, "unit_norm": False}
    stored = Stored(
        released=labelled.Released(np.zeros((2, plan.generation.features.dim)), np.zeros((3, 2))),
        options=dataclasses.replace(plan.form.chosen, **then),
        example_shape=spec.shape,
        num_classes=2,
        certificate=certified.certificate(plan),
        source="labelled.npz",
    )
    earlier = Earlier(stored)
    again = labelled.make_plan(labelled.complete(asked, spec, earlier), spec, earlier)
    options = dataclasses.asdict(again.teaching.options)
    assert then.items() <= options.items()
    assert options.items() <= dataclasses.asdict(stored.options).items()


def test_the_teacher_labels_what_the_generator_draws() -> None:
    asked = labelled.Settings(labels="teacher", eps=10.0, num_synthetic=200)
    made, certificate = jaxdp.run(labelled, asked, SPEC, private(), progress=False)
    assert 9.8 < certificate.epsilon <= 10
    assert certificate.releasable
    np.testing.assert_array_equal(made.y, np.argmax(made.arrays["y_scores"], axis=1))
    np.testing.assert_array_equal(made.y, made.classifier.predict(made.frame))
    assert set(made.frame["class"]) == {"no", "yes"}
    size = made.frame["size"].to_numpy()
    assert size[made.y == 1].mean() > size[made.y == 0].mean() + 0.2


def test_a_class_of_few_records_keeps_the_share_in_which_it_is_drawn() -> None:
    """One record in ten is of it, and nothing tells which: it is hardly ever the likeliest."""
    rng = np.random.default_rng(0)
    y = (np.arange(N) % 10 == 0).astype(np.int32)
    x = np.stack([rng.random(N), rng.integers(0, 2, N)], 1).astype(np.float32)
    asked = labelled.Settings(labels="teacher", eps=50.0, num_synthetic=200)
    made, _ = jaxdp.run(labelled, asked, SPEC, jaxdp.Private(x, y), progress=False)
    assert np.sum(made.classifier.predict(made.frame)) < 10
    assert np.sum(made.y) == pytest.approx(20, abs=3)
    assert np.sum(made.frame["class"] == "yes") == np.sum(made.y)
    np.testing.assert_array_equal(made.arrays["y"], made.y)


def image_run(classes: int, **settings: Any) -> tuple[Any, Any]:
    """Return the settings and the data of a quick run on flat images, a level for each class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, N).astype(np.int32)
    x = np.clip(rng.normal(0.2 + 0.3 * y[:, None, None, None], 0.2, (N, 8, 8, 1)), 0, 1)
    few = {"features": "rff", "steps": 3, "batch_size": 10, "num_synthetic": 101}
    asked = labelled.Settings(labels="teacher", eps=50.0, **few, **settings)
    names = [str(k) for k in range(classes)]
    spec = jaxdp.Spec.images("toy", x.shape, class_names=names, low=0, high=1)
    return (labelled, asked, spec, jaxdp.Private(x.astype(np.float32), y)), spec


def test_images_are_labelled_in_the_shares_in_which_they_were_drawn() -> None:
    """Though nearly all private images are of one class, and the teacher says so of most drawn."""
    rng = np.random.default_rng(0)
    y = (rng.random(N) < 0.05).astype(np.int32)
    x = np.clip(rng.normal(0.3 + 0.2 * y[:, None, None, None], 0.2, (N, 8, 8, 1)), 0, 1)
    spec = jaxdp.Spec.images("toy", x.shape, class_names=["often", "seldom"], low=0, high=1)
    few = {"features": "rff", "steps": 3, "batch_size": 10, "num_synthetic": 100}
    asked = labelled.Settings(labels="teacher", eps=50.0, candidates=1, noise_seed=0, **few)
    images = jaxdp.Private(x.astype(np.float32), y)
    made, _ = jaxdp.run(labelled, asked, spec, images, progress=False)
    scores = made.arrays["y_scores"]
    np.testing.assert_allclose(scores.mean(axis=0), 0.5, atol=1e-3)
    np.testing.assert_array_equal(made.y, np.argmax(scores, axis=1))
    assert np.mean(made.classifier.predict(made.x)) < 0.4


def test_the_teacher_labels_every_candidate_as_it_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def every_third(images: Any, targets: Any, codec: Any, runner: Any, **given: Any) -> Any:
        seen.update(images=images, targets=targets, count=given["count"])
        return np.arange(given["count"]) * 3

    monkeypatch.setattr(planning.student, "chosen", every_third)
    run, _ = image_run(3, candidates=3)
    made, _ = jaxdp.run(*run, progress=False)
    assert seen["count"] == 101
    assert seen["images"].shape == (303, 8, 8, 1)
    kept = np.arange(101) * 3
    np.testing.assert_array_equal(made.x.reshape(-1, 8, 8, 1), seen["images"][kept])
    np.testing.assert_allclose(made.arrays["y_scores"], seen["targets"][kept], atol=1e-6)
    np.testing.assert_array_equal(made.y, np.argmax(made.arrays["y_scores"], axis=1))
    assert made.arrays["x"] is made.x
    np.testing.assert_allclose(made.rows, made.scaled(made.x).reshape(101, -1), atol=1e-6)
    # Odds differ from the teacher's by one factor for each class and one for each image, and by e
    # for the class of which an image was drawn: copies have that no more.
    odds = np.log(seen["targets"] / made.classifier.predict_proba(seen["images"]))
    drawn = balanced_labels(np.full(3, 1 / 3), 101, seed=0)
    odds[np.arange(101), drawn] -= 1
    odds -= odds.mean(axis=1, keepdims=True)
    for part in (odds[:101], odds[101:]):
        np.testing.assert_allclose(part, np.broadcast_to(part[:1], part.shape), atol=5e-3)


def test_without_candidates_what_is_drawn_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning.student, "chosen", None)
    run, spec = image_run(2, candidates=1)
    made, _ = jaxdp.run(*run, progress=False)
    plan = labelled.make_plan(labelled.complete(run[1], spec), spec)
    uniform = np.full(2, 0.5)
    embedded = jaxdp.methods.dp_ntk.Released(made.released.mu, uniform)
    drawn = plan.generation.finish(embedded, PlainRunner(progress=False))
    np.testing.assert_array_equal(made.x, drawn.x)


def test_the_same_release_makes_the_same_set() -> None:
    run, spec = image_run(2)
    made, _ = jaxdp.run(*run, progress=False)
    plan = labelled.make_plan(labelled.complete(run[1], spec), spec)
    again = plan.finish(made.released, PlainRunner(progress=False))
    np.testing.assert_array_equal(made.x, again.x)
    np.testing.assert_array_equal(made.arrays["y_scores"], again.arrays["y_scores"])


def test_images_alone_have_candidates_by_default() -> None:
    names = [str(k) for k in range(3)]
    for channels in (1, 3):
        spec = jaxdp.Spec.images("own", (300, 16, 16, channels), class_names=names)
        for preset, expected in (("full", 4 if channels == 1 else 2), ("fast", 2)):
            asked = labelled.Settings(labels="teacher", preset=preset)
            assert labelled.complete(asked, spec).candidates == expected
        asked = labelled.Settings(labels="teacher", candidates=7)
        assert labelled.complete(asked, spec).candidates == 7
    assert labelled.complete(labelled.Settings(labels="teacher"), SPEC).candidates == 1
    asked = labelled.Settings(labels="teacher", candidates=1)
    assert labelled.complete(asked, SPEC).candidates == 1


def test_without_privacy_nothing_is_releasable() -> None:
    plan = plan_of(eps=float("inf"))
    assert plan.release_of_embedding.stddev == 0
    assert not certified.certificate(plan)["releasable"]


def test_seeded_noise_is_not_releasable() -> None:
    assert not certified.certificate(plan_of(noise_seed=1))["releasable"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"unconditional": True}, "tells classes apart"),
        ({"weights_share": 0.2}, "weights_share"),
        ({"teacher_share": 1.0}, "teacher_share"),
        ({"teacher_share": 1 - 1e-6, "eps": 1e-3}, "teacher_share=0.99.*leaves too little"),
        ({"candidates": 2}, "--candidates=2: is for images"),
        ({"candidates": 0}, "candidates"),
    ],
)
def test_settings_that_do_not_do_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        plan_of(**settings)


def _asked(method: Any, **given: Any) -> Any:
    return method.Settings(**given, **({"labels": "teacher"} if method is labelled else {}))


def stored_of(method: Any, certificate: Any = None) -> Stored[Any]:
    """Return what an earlier run has released, under a certificate of its own or another one."""
    asked = _asked(method, num_synthetic=50)
    plan = method.make_plan(method.complete(asked, SPEC), SPEC)
    return Stored(
        released=method.Released(np.zeros((2, SPEC.in_form("bins").dim)), np.zeros((7, 2))),
        options=plan.form.chosen or part_of(plan.settings, plan.form.options),
        example_shape=SPEC.stored_shape,
        num_classes=2,
        certificate=certified.certificate(plan) if certificate is None else certificate,
        source="--embedding=edited.npz",
        schema=SCHEMA.to_json(),
    )


@pytest.mark.parametrize("method", [labelled, jaxdp.methods.dp_ntk])
def test_a_stored_ledger_without_an_embedding_is_refused(method: Any) -> None:
    """As an edited file may hold it: of a teacher, or of class means, alone."""
    asked = _asked(method, num_synthetic=50)
    teacher = jaxdp.methods.teacher
    alone = teacher.complete(teacher.Settings(mean_share=0.0, calibration_share=0.0), SPEC)
    spent = certified.certificate(teacher.make_plan(alone, SPEC))
    stored = stored_of(method, spent)
    with pytest.raises(SettingsError, match=r"^--embedding=edited.npz: its ledger has no"):
        method.make_plan(method.complete(asked, SPEC), SPEC, Earlier(stored))


@pytest.mark.parametrize("method", [labelled, jaxdp.methods.dp_ntk], ids=["labelled", "dp_ntk"])
def test_guarantee_what_was_released_about_records_serves_no_run_about_persons(method: Any) -> None:
    asked, persons = _asked(method, num_synthetic=50), SPEC.of_persons(3)
    earlier = Earlier(stored_of(method))
    method.make_plan(method.complete(asked, SPEC), SPEC, earlier)
    with pytest.raises(SettingsError, match="protects persons with at most 1 records"):
        method.make_plan(method.complete(asked, persons), persons, earlier)


def test_images_are_embedded_by_the_features_that_networks_learn_most_of() -> None:
    names = [str(k) for k in range(3)]
    images = jaxdp.Spec.images("own", (300, 16, 16, 3), class_names=names)
    found = labelled.complete(labelled.Settings(labels="teacher"), images)
    assert found.features == "scatter_rbf"
    asked = labelled.Settings(labels="teacher", features="entk")
    assert labelled.complete(asked, images).features == "entk"
    large = jaxdp.Spec.images("own", (300, 32, 32, 3), class_names=names)
    for spec, expected in ((images, "scatter_rbf"), (large, "entk")):
        fast = labelled.Settings(labels="teacher", preset="fast")
        assert labelled.complete(fast, spec).features == expected
    assert labelled.complete(labelled.Settings(labels="teacher"), SPEC).features == "marginals"


@pytest.mark.parametrize(
    ("n", "side", "given", "expected"),
    [
        (3000, 16, {"eps": 10.0}, "encoder_rbf"),
        (2999, 16, {"eps": 10.0}, "scatter_rbf"),
        (2999, 16, {"eps": 10.0, "teacher_share": 0.4}, "encoder_rbf"),
        (30_000, 16, {"eps": 1.0}, "encoder_rbf"),
        (3000, 15, {"eps": 10.0}, "scatter_rbf"),
        (3000, 16, {"eps": 10.0, "flow_passes": 2}, "encoder_rbf"),
        (3000, 16, {"eps": 10.0, "preset": "fast"}, "scatter_rbf"),
        (300, 16, {"eps": float("inf")}, "encoder_rbf"),
    ],
)
def test_where_noise_is_small_images_are_moved_to_a_finer_embedding(
    n: int, side: int, given: dict[str, Any], expected: str
) -> None:
    images = jaxdp.Spec.images("own", (n, side, side, 1), class_names=["a", "b", "c"])
    found = labelled.complete(labelled.Settings(labels="teacher", **given), images)
    assert found.features == expected
    assert (found.flow_passes > 0) == (expected == "encoder_rbf")


def test_noise_of_persons_is_counted_where_an_embedding_is_chosen() -> None:
    images = jaxdp.Spec.images("own", (3000, 16, 16, 1), class_names=["a", "b", "c"])
    asked = labelled.Settings(labels="teacher", eps=10.0)
    found = [labelled.complete(asked, spec).features for spec in (images, images.of_persons(2))]
    assert found == ["encoder_rbf", "scatter_rbf"]


def test_a_generator_knows_the_noise_that_is_drawn_beside_a_teacher() -> None:
    asked = labelled.Settings(labels="teacher", eps=1.0, teacher_share=0.9)
    plan = labelled.make_plan(labelled.complete(asked, SPEC), SPEC)
    assert plan.generation.maker.stddev == plan.release_of_embedding.stddev


@pytest.mark.parametrize("method", [labelled, jaxdp.methods.dp_ntk], ids=["labelled", "dp_ntk"])
def test_what_was_released_of_other_examples_has_their_noise(method: Any) -> None:
    """As where a run with `--subset` takes it again."""
    asked, fewer = _asked(method, num_synthetic=50), dataclasses.replace(SPEC, num_examples=N // 8)
    made = method.make_plan(method.complete(asked, SPEC), SPEC)
    earlier = Earlier(stored_of(method))
    again = method.make_plan(method.complete(asked, fewer, earlier), fewer, earlier)
    generators = (getattr(plan, "generation", plan) for plan in (made, again))
    before, now = (generator.maker.stddev for generator in generators)
    assert now == pytest.approx(before)


def test_equal_priors_draw_and_label_all_classes_equally() -> None:
    """Nine records in ten are of one class."""
    rng = np.random.default_rng(0)
    y = (np.arange(N) % 10 == 0).astype(np.int32)
    x = np.stack([0.3 * rng.random(N) + 0.3 * y, rng.integers(0, 2, N)], 1).astype(np.float32)
    parts = {}
    for priors in ("data", "equal"):
        asked = labelled.Settings(labels="teacher", eps=50.0, num_synthetic=200, priors=priors)
        plan = labelled.make_plan(labelled.complete(asked, SPEC), SPEC)
        assert plan.teaching.training.last.by_size == (priors == "equal")
        made, _ = jaxdp.run(labelled, asked, SPEC, jaxdp.Private(x, y), progress=False)
        parts[priors] = np.mean(made.y), np.mean(made.classifier.predict_proba(made.frame)[:, 1])
    assert parts["data"][0] < 0.2
    assert 0.3 < parts["equal"][0] < 0.7
    assert parts["equal"][1] > parts["data"][1] + 0.05


def test_priors_are_those_of_the_training_and_not_of_what_is_used_again() -> None:
    earlier = Earlier(stored_of(labelled))
    asked = _asked(labelled, num_synthetic=50)
    with pytest.raises(SettingsError, match=r"priors.*was trained already"):
        labelled.complete(dataclasses.replace(asked, priors="equal"), SPEC, earlier)
    plan = labelled.make_plan(labelled.complete(asked, SPEC, earlier), SPEC, earlier)
    told = record.config_of(plan)
    assert "priors" not in told
    assert "teacher_calibration_share" not in told
    assert "teacher_unit_norm" in told
