"""From settings of DP-NTK to a checked run: features, releases, generator."""

import dataclasses
import functools
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from jaxdp.data import Private, Spec
from jaxdp.features import base as feature_maps
from jaxdp.features.base import FeatureMap
from jaxdp.methods import base, bought_schema, certified
from jaxdp.methods.base import Story
from jaxdp.methods.dp_ntk import flow, shares
from jaxdp.methods.dp_ntk import release as releasing
from jaxdp.methods.dp_ntk.drawing import balanced_labels
from jaxdp.methods.dp_ntk.features import FeatureOptions, build_features
from jaxdp.methods.dp_ntk.makers import Maker, NetworkMaker, maker_for
from jaxdp.methods.dp_ntk.released import FORM, Released
from jaxdp.methods.dp_ntk.settings import COUNTS, Settings
from jaxdp.methods.dp_ntk.story import COVERS, STORY, TABLE
from jaxdp.methods.made import Made
from jaxdp.methods.settings import SettingsError, bad, part_of
from jaxdp.methods.steps import Cached, Runner, compute_anew
from jaxdp.methods.stored import NOTHING, Earlier, Form, Stored, require_same_data, require_width
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.tables.schema import BINS


@dataclasses.dataclass(frozen=True, kw_only=True)
class NtkPlan(base.Plan[Released]):
    """A checked run: the features, what is released, the generator.

    Attributes:
        options: what the features are made from.
        features: the map of rows in [0, 1].
        releases: the embedding's, and the class weights' where there are any.
        maker: of examples.
    """

    options: FeatureOptions
    features: FeatureMap
    releases: tuple[GaussianRelease, ...]
    maker: Maker

    @functools.cached_property
    def story(self) -> Story:
        """The words that describe the run."""
        spec, drawn = self.spec, self.settings.num_synthetic
        title = (
            f"{spec.name}, {self.options.features} features, epsilon {certified.epsilon(self):g}"
        )
        kept = 4 * len(self.class_names) * self.features.dim
        return dataclasses.replace(
            STORY,
            num_made=drawn,
            num_classes=len(self.class_names),
            covers=(*COVERS, *spec.kind.of_tables(TABLE)),
            num_bytes=self.maker.num_bytes + kept + drawn * spec.dim,
            page_title=f"Synthetic {title}",
            picture_title=f"synthetic {title}",
        )

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes that are told apart; one where labels are not used."""
        return class_names_of(self.settings, self.spec)

    @property
    def ledger(self) -> Ledger | None:
        """Everything that the run's epsilon is computed from; None with an earlier release."""
        if self.earlier.stored is not None:
            return None
        return self.own_ledger(releases=self.releases)

    @property
    def form(self) -> Form:
        """How the release is written to a file."""
        return FORM

    def release(self, private: Private, key: Key[Array, ""], runner: Runner) -> Released:
        """Return the noisy embedding of private data."""
        released = releasing.release(
            private,
            key,
            feature_maps.of_stored(self.features, self.spec.codec.to_unit),
            self.releases,
            num_classes=len(self.class_names),
            watch=runner.watched("mean embedding"),
        )
        return jax.block_until_ready(released)

    def finish(self, released: Released, runner: Runner) -> Made:
        """Return what a generator draws that was trained on the embedding."""
        settings, codec = self.settings, self.spec.codec
        informed = self._with_shares(released)
        generator, weights = self.maker.make(informed, runner)
        # Told shares are for training alone.
        if informed is not released or settings.takes_equal_priors:
            weights = np.full(len(weights), 1 / len(weights))
            if generator.class_weights is not None:
                equal = tuple(map(float, weights))
                generator = dataclasses.replace(generator, class_weights=equal)
        labels = balanced_labels(weights, settings.num_synthetic, seed=settings.seed)
        key = jax.random.fold_in(jax.random.key(settings.seed), 3)
        x, rows = generator.drawn(labels, key, watch=runner.watched("drawing"))
        if not np.all(np.isfinite(rows)):
            raise bad(settings, "learning_rate", "training has diverged; lower it")
        if settings.flow_passes:
            rows = self._moved(rows, labels, informed, runner)
            x = generator.stored(rows, labels)
        return Made(
            spec=self.spec,
            x=x,
            y=labels,
            class_names=self.class_names,
            rows=rows,
            shift=codec.low,
            scale=codec.high - codec.low,
            arrays={"x": x, "y": labels, "class_names": np.array(self.class_names)},
            name=STORY.result,
            generator=generator,
        )

    @property
    def _all_releases(self) -> tuple[GaussianRelease, ...]:
        """Of this run, or of the earlier one."""
        return self.releases or _stored_releases(self.earlier.stored)

    def _with_shares(self, released: Released) -> Released:
        """Return an embedding with the classes' shares that it tells a network, if none has left.

        Counts of cells tell theirs by themselves.
        """
        named = {release.name for release in self._all_releases}
        if releasing.WEIGHTS in named or not isinstance(self.maker, NetworkMaker):
            return released
        return shares.with_shares(
            released,
            self.features,
            str(self.options.features),
            shape=self.spec.shape,
            stddev=_stddev(self._all_releases),
        )

    def _moved(
        self, rows: np.ndarray, labels: np.ndarray, released: Released, runner: Runner
    ) -> np.ndarray:
        """Return drawn images, in [0, 1], where they have the released embedding."""
        passes = self.settings.flow_passes
        assert passes is not None
        stddev = _stddev(self._all_releases)
        return flow.moved(
            self.features,
            rows,
            labels,
            released,
            shape=self.spec.image_shape,
            noise=stddev**2 * released.mu.size,
            passes=passes,
            seed=self.settings.seed,
            watch=runner.watched("moving images"),
        )

    def config(self) -> dict[str, Any]:
        """Return what must be the same for a run and its resumption, as JSON."""
        return dataclasses.asdict(self.options) | {
            "num_features": self.features.dim,
            "generator": self.maker.name,
            "num_classes": len(self.class_names),
        }


def class_names_of(settings: Settings, spec: Spec) -> tuple[str, ...]:
    """Return the names of the classes that are told apart."""
    return ("all",) if settings.unconditional else spec.class_names


def num_classes_of(settings: Settings, spec: Spec) -> int:
    """Return the number of classes that are told apart."""
    return 1 if settings.unconditional else spec.num_classes


def make_plan(
    settings: Settings,
    spec: Spec,
    earlier: Earlier = NOTHING,
    *,
    cached: Cached = compute_anew,
) -> NtkPlan:
    """Calibrate the noise and build the generator.

    Args:
        settings: as `complete` returns them.
        spec: facts about the data.
        earlier: an embedding to train on again.
        cached: keeps the whitening of scattering features.

    Raises:
        SettingsError: whatever is wrong.
    """
    stored, num_classes = earlier.stored, num_classes_of(settings, spec)
    options = part_of(settings, FeatureOptions)
    if stored is not None:
        require_same_data(stored, spec, num_classes)
        options = stored.options
    if options.features in COUNTS:
        spec = spec.in_form(BINS)
    features = build_features(options, spec, num_classes, cached)
    if stored is not None:
        require_width(stored, stored.released.mu.shape[1], features.dim)
    released = _releases(settings, spec, features) if stored is None else ()
    return NtkPlan(
        settings=settings,
        spec=spec,
        earlier=earlier,
        options=options,
        features=features,
        releases=released,
        maker=maker_for(
            settings,
            spec,
            features,
            stddev=_stddev(released or _stored_releases(stored)),
            class_names=class_names_of(settings, spec),
        ),
    )


def _releases(settings: Settings, spec: Spec, features: FeatureMap) -> tuple[GaussianRelease, ...]:
    share = settings.weights_share or 0.0
    parts = {releasing.EMBEDDING: 1 - share}
    if share:
        parts[releasing.WEIGHTS] = share
    bounds = releasing.sensitivities(
        features, spec.num_examples, class_weights=share > 0, relation=settings.relation
    )
    return bought_schema.calibrate(settings, spec, bounds, parts)


def _stored_releases(stored: Stored[Any] | None) -> tuple[GaussianRelease, ...]:
    """Return what a stored embedding was released as.

    Raises:
        SettingsError: its ledger has no embedding.
    """
    if stored is None:
        return ()
    found = Ledger.from_json(stored.certificate["ledger"]).releases
    if releasing.EMBEDDING not in {release.name for release in found}:
        raise SettingsError(f"{stored.source}: its ledger has no {releasing.EMBEDDING}")
    return found


def _stddev(released: tuple[GaussianRelease, ...]) -> float:
    return next(release.stddev for release in released if release.name == releasing.EMBEDDING)
