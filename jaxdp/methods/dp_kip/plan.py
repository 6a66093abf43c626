"""From settings of DP-KIP to a checked run: the kernel, the noise, the algorithm."""

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Key

from jaxdp import kernels
from jaxdp.data import Private, Spec
from jaxdp.images import smoothing
from jaxdp.kernels import krr
from jaxdp.kernels.kip import SupportSet, initial_support, predict
from jaxdp.methods import base
from jaxdp.methods.base import DISTILLED_TABLE, Story
from jaxdp.methods.dp_kip import corruption
from jaxdp.methods.dp_kip import release as algorithm
from jaxdp.methods.dp_kip.kernels import KERNELS, KernelOptions
from jaxdp.methods.dp_kip.settings import Settings
from jaxdp.methods.dp_kip.story import COVERS, STORY
from jaxdp.methods.made import Classifier, Made, distilled, from_regression
from jaxdp.methods.noise import calibrated, poisson_steps
from jaxdp.methods.runner import num_columns
from jaxdp.methods.settings import SettingsError, bad, part_of
from jaxdp.methods.steps import Cached, RowMap, Rows, Runner, compute_anew
from jaxdp.methods.stored import NOTHING, Earlier
from jaxdp.numerics import ByBackend
from jaxdp.privacy import sampling
from jaxdp.privacy.ledger import FLOAT32_NOISE, OLD_NOISE, Ledger
from jaxdp.privacy.mechanism import SubsampledGaussian
from jaxdp.privacy.relations import REPLACE

# Targets processed at once: what stays in a CPU's cache, what fills a GPU.
_CHUNK_LIMIT = ByBackend(cpu=256, accelerator=4096)
# Beyond this, features are computed again at every step instead of being kept.
MAX_BYTES = 8 * 2**30


@dataclasses.dataclass(frozen=True, kw_only=True)
class KipPlan(base.Plan[SupportSet]):
    """A checked run: the kernel, the mechanism it is accounted by, the algorithm."""

    kernel: kernels.Kernel
    mechanism: SubsampledGaussian
    kip: algorithm.KIP

    @functools.cached_property
    def story(self) -> Story:
        """The words that describe the run."""
        settings, spec = self.settings, self.spec
        title = f"{spec.name}, {settings.ipc} per class, epsilon {settings.eps:g}"
        state = jax.tree.leaves(jax.eval_shape(self._initial_state, self._public_key))
        # Sums of other kernels were float32.
        exact = self.kernel.dot_product is not None or self.kernel.features is not None
        return dataclasses.replace(
            STORY,
            num_made=settings.ipc * spec.num_classes,
            covers=(*COVERS, *spec.kind.of_tables(DISTILLED_TABLE)),
            beside={"clip_space": settings.clip_space},
            num_bytes=4 * sum(leaf.size * leaf.dtype.itemsize for leaf in state) + 2**24,
            page_title=f"DP-KIP: {title}",
            picture_title=title,
            notice=self._notice(),
            old_noise=OLD_NOISE if exact else FLOAT32_NOISE,
        )

    def _notice(self) -> str | None:
        """What a step takes, for kernels where one should know before."""
        cost = KERNELS[self.settings.kernel].cost
        if cost is None:
            return None
        size = self.settings.ipc * self.spec.num_classes
        return cost(self.settings.batch_size, size, self.spec.image_shape)

    @property
    def ledger(self) -> Ledger:
        """What the run is accounted by."""
        return self.own_ledger(steps=self.mechanism, accountant=self.settings.accountant)

    @property
    def keeps_features(self) -> bool:
        """Whether the features of the training split are computed once and kept."""
        return _keeps_features(self.kernel, self.spec)

    @functools.cached_property
    def row_map(self) -> RowMap:
        """The map from stored rows to what the support is compared with."""
        options = dataclasses.asdict(part_of(self.settings, KernelOptions))
        options |= self.spec.codec.facts()
        if KERNELS[self.settings.kernel].seeded:
            options["seed"] = self.settings.seed
        return RowMap(_row_fn(self.kernel, self.spec), options, np.float32)

    def classifier(self, result: SupportSet, runner: Runner) -> Classifier:
        """Return kernel ridge regression on a support set.

        Its scores raise a `SettingsError` where the support has diverged.
        """

        def features(x: np.ndarray, what: str) -> np.ndarray:
            if self.kernel.features is None:
                return np.asarray(self.spec.codec.to_kernel(x))
            return runner.rows(self.row_map, x, what=what)

        scores = functools.partial(self._scores, result)
        return Classifier(self.spec, scores, from_regression, features)

    def _scores(self, result: SupportSet, rows: np.ndarray) -> np.ndarray:
        kernel, x_s = self.kernel, result.x
        if self.kernel.features is not None:
            kernel, x_s = kernels.linear(), _jitted(self.kernel.features)(x_s)
        support = SupportSet(x_s, result.y)
        try:
            return np.asarray(
                predict(kernel, support, jnp.asarray(rows), ridge=self.settings.ridge)
            )
        except krr.NotPositiveDefiniteError as error:
            raise bad(
                self.settings,
                "learning_rate",
                f"the run has diverged ({error}); lower it or raise --ridge={self.settings.ridge}",
            ) from error

    @property
    def _public_key(self) -> Key[Array, ""]:
        return jax.random.key(self.settings.seed)

    def _initial_state(self, key: Key[Array, ""]) -> algorithm.KIPState:
        support = initial_support(
            key,
            ipc=self.settings.ipc,
            num_classes=self.spec.num_classes,
            dim=self.spec.dim,
            init_scale=self.settings.init_scale,
        )
        return self.kip.init(support)

    def release(self, private: Private, key: Key[Array, ""], runner: Runner) -> SupportSet:
        """Return the distilled support set, by DP-SGD on all of its steps."""
        return algorithm.release(
            private,
            key,
            runner,
            row_map=self.row_map if self.keeps_features else None,
            kip=self.kip,
            # One program: by itself each of its parts would be compiled anew in every run.
            state=jax.jit(self._initial_state)(self._public_key),
            num_steps=self.mechanism.num_steps,
        )

    def finish(self, released: SupportSet, runner: Runner) -> Made:
        """Return the support set as labelled examples."""
        codec = self.spec.codec
        return distilled(
            self.spec,
            np.asarray(released.x),
            np.asarray(jnp.argmax(released.y, axis=1), np.int32),
            shift=codec.shift,
            scale=codec.scale,
            classifier=self.classifier(released, runner),
        )

    def config(self) -> dict[str, Any]:
        """Return what must be the same for a run and its resumption, as JSON."""
        clip_norm = self.mechanism.clip_norm
        return {
            "clip_norm": None if math.isinf(clip_norm) else clip_norm,
            "num_classes": self.spec.num_classes,
        }


@functools.lru_cache(maxsize=4)
def _jitted(features: Any) -> Any:
    return jax.jit(features)


def make_plan(
    settings: Settings,
    spec: Spec,
    earlier: Earlier = NOTHING,
    *,
    cached: Cached = compute_anew,
) -> KipPlan:
    """Calibrate the noise and build the algorithm.

    Args:
        settings: as `complete` returns them.
        spec: facts about the data.
        earlier: nothing: DP-KIP uses no earlier release.
        cached: keeps public arrays; none is needed.

    Raises:
        SettingsError: whatever is wrong.
    """
    del earlier, cached
    kernel = KERNELS.fitting(settings.kernel, spec).build(settings, spec, settings.seed)
    if settings.clip_space == "features" and kernel.features is None:
        raise bad(
            settings,
            "clip_space",
            f"--kernel={settings.kernel} has no features on --dataset={spec.name}; leave the flag "
            "out",
        )
    if settings.whiten and kernel.features is None:
        raise bad(settings, "whiten", f"--kernel={settings.kernel} has no features; leave it out")
    if settings.accountant == "rdp" and spec.records_per_person > 1:
        raise bad(settings, "accountant", "knows no persons with several records; leave it out")
    if settings.accountant == "rdp" and settings.relation == REPLACE:
        raise bad(settings, "accountant", "knows no records that are replaced; leave it out")
    mechanism = poisson_steps(settings, spec)
    mechanism = calibrated(settings, spec, mechanism, accountant=settings.accountant)
    schedule = optax.cosine_decay_schedule(settings.learning_rate, mechanism.num_steps)
    config = algorithm.KIPConfig(
        ridge=settings.ridge,
        optimizer=optax.chain(_smoothing(settings, spec), optax.adam(schedule)),
        average_decay=settings.average_decay,
        chunk_size=settings.chunk_size or _chunk_size(mechanism),
        target_fn=_identity if _keeps_features(kernel, spec) else _row_fn(kernel, spec),
        clip_space=str(settings.clip_space),
        free=_free_columns(settings, spec),
        bounds=_bounds(settings, spec),
    )
    return KipPlan(
        settings=settings,
        spec=spec,
        kernel=kernel,
        mechanism=mechanism,
        kip=algorithm.dp_kip(kernel, mechanism, config),
    )


def _identity(rows: Array) -> Array:
    return rows


def _row_fn(kernel: kernels.Kernel, spec: Spec) -> Rows:
    to_kernel, features = spec.codec.to_kernel, kernel.features
    return to_kernel if features is None else lambda rows: features(to_kernel(rows))


def _keeps_features(kernel: kernels.Kernel, spec: Spec) -> bool:
    if kernel.features is None:
        return False
    return 4 * spec.num_examples * num_columns(kernel.features, spec.dim) <= MAX_BYTES


def _chunk_size(mechanism: SubsampledGaussian) -> int:
    limit = _CHUNK_LIMIT.here
    return sampling.chunk_size_for(mechanism.expected_batch_size, limit=limit)


def _free_columns(settings: Settings, spec: Spec) -> Array | None:
    """Return the columns that are distilled: all but a random subset of pixels, by the seed."""
    if settings.corrupt == 0:
        return None
    channels = spec.kind.choose(images=spec.shape[-1], rows=1, table=1)
    return corruption.free_columns(
        jax.random.fold_in(jax.random.key(settings.seed), 1),
        num_pixels=spec.dim // channels,
        channels=channels,
        corrupt=settings.corrupt,
    )


def _bounds(settings: Settings, spec: Spec) -> tuple[float, float] | None:
    """Return the range of scaled pixels, which is public where pixels are whole numbers."""
    if not settings.bounded:
        return None
    if not spec.kind.choose(images=spec.codec.is_whole, rows=False, table=False):
        raise SettingsError(
            f"--bounded: the range of values is known for images of whole numbers, and "
            f"--dataset={spec.name} holds others; leave it out"
        )
    return spec.codec.kernel_range


def _smoothing(settings: Settings, spec: Spec) -> optax.GradientTransformation:
    def of_images() -> optax.GradientTransformation:
        return smoothing.smooth_gradients(spec.image_shape, settings.smoothing)

    return spec.kind.choose(images=of_images, rows=optax.identity, table=optax.identity)()
