"""From settings to a checked run: a generator, a teacher, and what both release together."""

import dataclasses
import functools
import hashlib
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from jaxdp.data import Codec, Private, Spec
from jaxdp.features import base as feature_maps
from jaxdp.methods import base, bought_schema
from jaxdp.methods.base import Story
from jaxdp.methods.dp_ntk import plan as generation
from jaxdp.methods.dp_ntk import release as embedding
from jaxdp.methods.dp_ntk.labels import release as releasing
from jaxdp.methods.dp_ntk.labels import student
from jaxdp.methods.dp_ntk.labels.balance import as_drawn, labels_in_shares
from jaxdp.methods.dp_ntk.labels.candidates import with_copies
from jaxdp.methods.dp_ntk.labels.earlier import check_earlier
from jaxdp.methods.dp_ntk.labels.released import FORM, Options, Released
from jaxdp.methods.dp_ntk.labels.settings import Settings, generation_settings, teacher_settings
from jaxdp.methods.dp_ntk.labels.story import COVERS, STORY
from jaxdp.methods.dp_ntk.makers import CellMaker
from jaxdp.methods.dp_ntk.released import Released as Embedded
from jaxdp.methods.dp_ntk.story import TABLE
from jaxdp.methods.made import Classifier, Made, relabelled, softmax
from jaxdp.methods.settings import SettingsError, bad
from jaxdp.methods.steps import Cached, Runner, compute_anew
from jaxdp.methods.stored import NOTHING, Earlier, Form
from jaxdp.methods.teacher import classifier as linear
from jaxdp.methods.teacher.plan import TeacherPlan
from jaxdp.methods.teacher.planning import make_plan as make_teacher_plan
from jaxdp.methods.teacher.released import Released as Taught
from jaxdp.methods.teacher.settings import MapOptions
from jaxdp.privacy import accounting
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.releases import GaussianRelease


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledPlan(base.Plan[Released]):
    """A checked run of a generator and a teacher.

    Attributes:
        generation: the generator's plan, with all noise that is meant.
        teaching: the teacher's plan.
        release_of_embedding: the noise of the embedding.
    """

    generation: generation.NtkPlan
    teaching: TeacherPlan
    release_of_embedding: GaussianRelease

    @functools.cached_property
    def story(self) -> Story:
        """The words that describe the run."""
        drawn, taught = self.generation.story, self.teaching.story
        return dataclasses.replace(
            STORY,
            num_made=drawn.num_made,
            covers=(*COVERS, *self.spec.kind.of_tables(TABLE)),
            num_bytes=drawn.num_bytes + taught.num_bytes,
            unlisted=() if self.earlier.stored is None else ("priors",),
            page_title=f"{drawn.page_title}, labelled by a teacher",
            picture_title=f"{drawn.picture_title}, labelled by a teacher",
        )

    @property
    def ledger(self) -> Ledger | None:
        """Teacher and embedding under one relation; None where an earlier release is used."""
        if self.earlier.stored is not None:
            return None
        released = self.teaching.mechanisms
        return self.own_ledger(steps=released.steps, also=released.beside)

    @property
    def form(self) -> Form:
        """How the release is written to a file, with the options of both kinds of features."""
        ours, theirs = self.generation.options, self.teaching.options
        return FORM._replace(
            chosen=Options(**dataclasses.asdict(ours), **dataclasses.asdict(theirs))
        )

    def classifier(self, result: Any, runner: Runner) -> Classifier:
        """Return the teacher; `result` may be a state of its training."""
        return self.teaching.classifier(_taught(result), runner)

    def release(self, private: Private, key: Key[Array, ""], runner: Runner) -> Released:
        """Return a private teacher and a noisy embedding."""
        training = self.teaching.training
        assert training is not None
        plan = self.generation
        return releasing.release(
            private,
            key,
            runner,
            spec=self.spec,
            training=training,
            features=feature_maps.of_stored(plan.features, plan.spec.codec.to_unit),
            release_of_embedding=self.release_of_embedding,
        )

    def finish(self, released: Released, runner: Runner) -> Made:
        """Return what the generator draws, labelled by the teacher."""
        uniform = jnp.full(self.spec.num_classes, 1 / self.spec.num_classes)
        drawn = self.generation.finish(Embedded(released.mu, uniform), runner)
        label = self.spec.kind.choose(
            images=self._chosen, rows=self._all_labelled, table=self._all_labelled
        )
        made = label(drawn, released, runner)
        return dataclasses.replace(made, classifier=self.classifier(released, runner))

    def _all_labelled(self, drawn: Made, released: Released, runner: Runner) -> Made:
        """Return all records that were drawn, with what the teacher says of them."""
        probabilities = self._probabilities(released, drawn.x, runner)
        labels = None
        if isinstance(self.generation.maker, CellMaker):
            # Counts tell the classes' shares, with noise, and records are drawn in them: they are
            # of what was released already, and nothing is spent to keep them. Networks draw equally
            # many of each class, which says nothing.
            labels = labels_in_shares(probabilities, drawn.y)
        return relabelled(drawn, drawn.x, probabilities, labels)

    def _chosen(self, drawn: Made, released: Released, runner: Runner) -> Made:
        """Return the candidates that a network learns most from, of as many as were drawn."""
        several, codec, seed = self.settings.candidates, self.spec.codec, self.settings.seed
        assert isinstance(codec, Codec)
        assert several is not None
        images = drawn.x.reshape(-1, *self.spec.image_shape)
        images = with_copies(images, codec, several, seed=seed)
        probabilities = self._probabilities(released, images, runner)
        probabilities = as_drawn(probabilities, np.tile(drawn.y, several), len(drawn.y))
        if several > 1:
            count = len(drawn.y)
            kept = student.chosen(images, probabilities, codec, runner, count=count, seed=seed)
            images, probabilities = images[kept], probabilities[kept]
        return relabelled(drawn, images.reshape(drawn.x.shape), probabilities)

    def _probabilities(self, released: Released, x: np.ndarray, runner: Runner) -> np.ndarray:
        """Return what the teacher says of examples as stored; their features are not kept."""
        weights = jnp.asarray(released.weights)
        digest = hashlib.sha256(released.weights.tobytes()).hexdigest()
        features = self.teaching.row_map
        row_map = features._replace(
            options=features.options | {"scores_of": digest},
            then=functools.partial(linear.predict, weights),
        )
        return softmax(runner.rows(row_map, x.reshape(len(x), -1), what="labels"))

    def config(self) -> dict[str, Any]:
        """Return what must be the same for a run and its resumption, as JSON."""
        teacher = self.teaching.settings
        named = [field.name for field in dataclasses.fields(MapOptions)]
        if self.earlier.stored is None:
            named += ["epochs", "steps", "batch_size", "learning_rate", "clip_norm"]
            named += ["mean_share", "calibration_share", "priors"]
        return self.generation.config() | {
            f"teacher_{name}": getattr(teacher, name) for name in named
        }


def _taught(result: Any) -> Any:
    return Taught(weights=result.weights) if isinstance(result, Released) else result


def by_removal(release: GaussianRelease, num_examples: int) -> float:
    """Return the noise of an embedding over what one example contributes."""
    return embedding.multiplier_by_removal((release,), num_examples)


def make_plan(
    settings: Settings,
    spec: Spec,
    earlier: Earlier = NOTHING,
    *,
    cached: Cached = compute_anew,
) -> LabelledPlan:
    """Share the budget out, and check that everything fits.

    Args:
        settings: as `complete` returns them.
        spec: facts about the data.
        earlier: an embedding and a teacher to use again.
        cached: keeps public arrays.

    Raises:
        SettingsError: whatever is wrong.
    """
    generator = generation.make_plan(generation_settings(settings), spec, cached=cached)
    check_earlier(earlier, spec, generator.features.dim)
    noise = _embedding_release(settings, generator, earlier)
    beside = (by_removal(noise, spec.num_examples),) if earlier.stored is None else ()
    asked = teacher_settings(settings, spec, earlier)
    taught = make_teacher_plan(asked, spec, cached=cached, beside=beside)
    return LabelledPlan(
        settings=settings,
        spec=spec,
        earlier=earlier,
        generation=_with_noise(generator, noise),
        teaching=taught,
        release_of_embedding=noise,
    )


def _embedding_release(
    settings: Settings, generator: generation.NtkPlan, earlier: Earlier
) -> GaussianRelease:
    """Return the release of the embedding: with the noise that its own share of epsilon asks for.

    The teacher is calibrated beside it, and gets all that is left.
    """
    n, multiplier = generator.spec.num_examples, 0.0
    if earlier.stored is not None:
        stored = Ledger.from_json(earlier.stored.certificate["ledger"])
        also = bought_schema.own_part(stored, generator.spec).also
        if not also:
            raise SettingsError(f"{earlier.stored.source}: its ledger has no embedding of its own")
        # Its noise is for as many examples as there were then; a teacher's mean comes after it.
        n, multiplier = stored.num_examples, also[0]
    elif settings.is_private:
        assert settings.teacher_share is not None
        try:
            multiplier = accounting.analytic_gaussian_stddev(
                epsilon=(1 - settings.teacher_share) * settings.eps,
                delta=settings.delta,
                sensitivity=float(generator.spec.records_per_person * settings.contributions),
            )
        except accounting.TooMuchNoiseError as error:
            raise bad(
                settings, "teacher_share", f"leaves too little to the embedding ({error}); lower it"
            ) from error
    bounds = embedding.sensitivities(
        generator.features, n, class_weights=False, relation=settings.relation
    )
    return GaussianRelease(
        name=embedding.EMBEDDING,
        sensitivity=bounds[embedding.EMBEDDING],
        stddev=multiplier / n,
        relation=settings.relation,
    )


def _with_noise(plan: generation.NtkPlan, noise: GaussianRelease) -> generation.NtkPlan:
    maker = dataclasses.replace(plan.maker, stddev=noise.stddev)
    return dataclasses.replace(plan, releases=(noise,), maker=maker)
