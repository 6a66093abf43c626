"""From flags to a checked plan: what to run, on which data, with which noise.

Everything that can be wrong is found here, before anything is computed or written.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from experiments.data.load import Dataset, dataset_for, require_range
from experiments.defaults import Hyperparameters, defaults_for
from experiments.errors import InputError
from experiments.evaluation import registry
from experiments.evaluation.recipe import DISTILLED
from experiments.kernel_registry import KERNELS
from experiments.runs import start as run_start
from experiments.runs.rows import MAX_BYTES, cache_for, features_of, num_features
from experiments.settings import Settings, check
from jaxdp import kernels
from jaxdp.images import smoothing
from jaxdp.kernels import preprocess
from jaxdp.methods import dp_kip
from jaxdp.methods.dp_kip import corruption
from jaxdp.privacy import accounting, sampling
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.mechanism import SubsampledGaussian

# Targets processed at once: what stays in a CPU's cache, what fills a GPU.
_CHUNK_LIMIT = {"cpu": 256}
_CHUNK_LIMIT_ACCELERATOR = 4096
# What the features of a row depend on, beside its scaling and the kernel's defaults.
_KERNEL_FLAGS = ("kernel", "scatter_scales", "scatter_angles")
_NOT_FIXED = (
    *("out_dir", "data_dir", "eval_every", "chunk_size", "evaluate"),
    *("feature_cache", "resume", "overwrite", "allow_delta", "allow_epsilon"),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """A checked run: the data, the algorithm, the mechanism it is accounted by."""

    settings: Settings
    hyper: Hyperparameters
    data: Dataset
    kernel: kernels.Kernel
    mechanism: SubsampledGaussian
    kip: dp_kip.KIP
    evaluators: tuple[str, ...]

    @property
    def ledger(self) -> Ledger:
        """What the run is accounted by."""
        return Ledger(
            num_examples=len(self.data.x_train),
            delta=self.settings.delta,
            steps=self.mechanism,
            accountant=self.settings.accountant,
            seeded_noise=self.settings.noise_seed is not None,
        )

    @property
    def eval_every(self) -> int:
        """Steps between two evaluations, a tenth of the run unless given."""
        return self.settings.eval_every or math.ceil(self.mechanism.num_steps / 10)

    @property
    def out_dir(self) -> str:
        """Where results go."""
        s = self.settings
        return s.out_dir or f"runs/{s.dataset}_ipc{s.ipc}_eps{s.eps:g}"

    @property
    def scaling(self) -> dict[str, float]:
        """The public constants between stored values and what the kernel sees."""
        return {"shift": self.data.scaling.shift, "scale": self.data.scaling.scale}

    @property
    def cost(self) -> str | None:
        """What a step takes, in words, for kernels where one should know before."""
        cost = KERNELS[self.settings.kernel].cost
        if cost is None:
            return None
        support_size = self.settings.ipc * self.data.num_classes
        height, width, channels = self.data.shape
        return cost(self.hyper.batch_size, support_size, (height, width, channels))

    @functools.cached_property
    def targets(self) -> Array:
        """The training split as the algorithm takes it: as stored, or its features."""
        rows = _flat(self.data.x_train)
        if self.keeps_features:
            return self._features(rows, "features of the training split")
        return jnp.asarray(rows)

    @functools.cached_property
    def _test_rows(self) -> Array:
        rows = _flat(self.data.x_test)
        if self.kernel.features is None:
            return self.row_fn(jnp.asarray(rows))
        return self._features(rows, "features of the test split")

    def _features(self, rows: np.ndarray, description: str) -> Array:
        config = {name: getattr(self.settings, name) for name in _KERNEL_FLAGS}
        config |= {"scatter_norm": self.hyper.scatter_norm, **self.scaling}
        if KERNELS[self.settings.kernel].seeded:
            config["seed"] = self.settings.seed
        cache = cache_for(self.settings.feature_cache, config)
        features = features_of(self.row_fn, rows, description=description, cache=cache)
        return jnp.asarray(features)

    @property
    def keeps_features(self) -> bool:
        """Whether the features of the training split are computed once and kept."""
        return _keeps_features(self.kernel, self.data)

    @property
    def row_fn(self) -> Callable[[Array], Array]:
        """The map from stored rows to what the support is compared with."""
        return _row_fn(self.kernel, self.data)

    def test_scores(self, x_s: Array, y_s: Array) -> Array:
        """Return the class scores of kernel ridge regression on the test split.

        Raises:
            krr.NotPositiveDefiniteError: the support has diverged.
        """
        kernel, rows = self.kernel, x_s
        if self.kernel.features is not None:
            kernel, rows = kernels.linear(), jax.jit(self.kernel.features)(x_s)
        support = dp_kip.SupportSet(rows, y_s)
        return dp_kip.predict(kernel, support, self._test_rows, ridge=self.hyper.ridge)

    def initial_state(self) -> dp_kip.KIPState:
        """Return the state before the first step; it does not depend on the data."""
        support = dp_kip.initial_support(
            jax.random.key(self.settings.seed),
            ipc=self.settings.ipc,
            num_classes=self.data.num_classes,
            dim=self.data.dim,
            init_scale=self.hyper.init_scale,
        )
        return self.kip.init(support)

    def fixed_config(self) -> dict[str, Any]:
        """Return what must be the same for a run and its resumption, as JSON."""
        config = run_start.fixed_config(
            (self.settings, self.hyper), leave_out=_NOT_FIXED, eps=self.settings.eps, data=self.data
        )
        return config | {
            "clip_space": self.settings.resolved_clip_space(),
            "steps": self.mechanism.num_steps,
            "clip_norm": None if math.isinf(self.mechanism.clip_norm) else self.hyper.clip_norm,
            "num_classes": self.data.num_classes,
        }

    def config(self) -> dict[str, Any]:
        """Return the content of config.json."""
        return self.fixed_config() | {
            "eval_every": self.eval_every,
            "data_source": self.data.source,
            "versions": run_start.versions(),
        }


def make_plan(settings: Settings) -> Plan:
    """Check flags and data, calibrate the noise and build the algorithm.

    Raises:
        InputError: whatever is wrong; nothing has been written yet.
    """
    check(settings)
    data = dataset_for(settings)
    evaluators = _evaluators(settings, data)
    hyper = _hyperparameters(settings, len(data.x_train))
    kernel = KERNELS[settings.kernel].build(settings, hyper, data)
    if settings.clip_space == "features" and kernel.features is None:
        raise InputError(
            f"--clip_space=features: --kernel={settings.kernel} has no features on "
            f"--dataset={settings.dataset}; leave the flag out"
        )
    mechanism = _calibrated(settings, hyper, len(data.x_train))
    schedule = optax.cosine_decay_schedule(hyper.learning_rate, mechanism.num_steps)
    config = dp_kip.KIPConfig(
        ridge=hyper.ridge,
        optimizer=optax.chain(_smoothing(hyper, data), optax.adam(schedule)),
        average_decay=settings.average_decay,
        chunk_size=settings.chunk_size or _chunk_size(mechanism),
        target_fn=_identity if _keeps_features(kernel, data) else _row_fn(kernel, data),
        clip_space=settings.resolved_clip_space(),
        free=_free_columns(settings, data),
        bounds=_bounds(settings, data),
    )
    kip = dp_kip.dp_kip(kernel, mechanism, config)
    return Plan(
        settings=settings,
        hyper=hyper,
        data=data,
        kernel=kernel,
        mechanism=mechanism,
        kip=kip,
        evaluators=evaluators,
    )


def _evaluators(settings: Settings, data: Dataset) -> tuple[str, ...]:
    """Return the evaluators beside the kernel regression that every run reports."""
    facts = registry.Facts(
        holder=f"--dataset={settings.dataset}",
        shape=data.shape,
        num_classes=data.num_classes,
        num_made=settings.ipc * data.num_classes,
        recipe=DISTILLED,
    )
    names = registry.chosen(settings.evaluate, facts)
    if registry.needs_range(names):
        require_range(data)
    return names


def _flat(x: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), -1)


def _identity(rows: Array) -> Array:
    return rows


def _row_fn(kernel: kernels.Kernel, data: Dataset) -> Callable[[Array], Array]:
    scale = functools.partial(preprocess.scale, shift=data.scaling.shift, scale=data.scaling.scale)
    features = kernel.features
    return scale if features is None else lambda rows: features(scale(rows))


def _keeps_features(kernel: kernels.Kernel, data: Dataset) -> bool:
    if kernel.features is None:
        return False
    return 4 * len(data.x_train) * num_features(kernel.features, data.dim) <= MAX_BYTES


def _chunk_size(mechanism: SubsampledGaussian) -> int:
    limit = _CHUNK_LIMIT.get(jax.default_backend(), _CHUNK_LIMIT_ACCELERATOR)
    return sampling.chunk_size_for(mechanism.expected_batch_size, limit=limit)


def _free_columns(settings: Settings, data: Dataset) -> Array | None:
    """Return the columns that are distilled: all but a random subset of pixels, by the seed."""
    if settings.corrupt == 0:
        return None
    channels = data.shape[-1] if data.is_image else 1
    return corruption.free_columns(
        jax.random.fold_in(jax.random.key(settings.seed), 1),
        num_pixels=data.dim // channels,
        channels=channels,
        corrupt=settings.corrupt,
    )


def _bounds(settings: Settings, data: Dataset) -> tuple[float, float] | None:
    """Return the range of scaled pixels, which is public where pixels are stored as bytes."""
    if not settings.bounded:
        return None
    if not (data.is_image and data.x_train.dtype == np.uint8):
        raise InputError(
            f"--bounded: the range of values is known for images of bytes, and "
            f"--dataset={settings.dataset} holds others; leave it out"
        )
    return data.scaling.bounds


def _smoothing(hyper: Hyperparameters, data: Dataset) -> optax.GradientTransformation:
    if not data.is_image:
        return optax.identity()
    height, width, channels = data.shape
    return smoothing.smooth_gradients((height, width, channels), hyper.smoothing)


def _hyperparameters(settings: Settings, num_examples: int) -> Hyperparameters:
    """Return the dataset's defaults with the flags that were given in their place."""
    defaults = defaults_for(settings.dataset, settings.kernel)
    given = {
        field.name: getattr(settings, field.name)
        for field in dataclasses.fields(defaults)
        if getattr(settings, field.name) is not None
    }
    if settings.batch_size is None:
        given["batch_size"] = min(defaults.batch_size, num_examples)
    elif settings.batch_size > num_examples:
        raise InputError(
            f"--batch_size={settings.batch_size}: larger than the {num_examples} training "
            f"examples of {settings.dataset}"
        )
    if settings.steps is not None:
        given["epochs"] = settings.steps * given.get("batch_size", 1) / num_examples
    return dataclasses.replace(defaults, **given)


def _calibrated(
    settings: Settings, hyper: Hyperparameters, num_examples: int
) -> SubsampledGaussian:
    """Return the mechanism with the noise that `--eps` asks for.

    For inf there is none, and gradients are clipped only where `--clip_norm` asks for that, which
    keeps the few targets with the largest gradients from steering a step.
    """
    private = settings.eps < math.inf
    per_epoch = math.ceil(num_examples / hyper.batch_size)
    mechanism = SubsampledGaussian(
        num_examples=num_examples,
        sampling_rate=sampling.realised_rate(hyper.batch_size / num_examples),
        num_steps=settings.steps or math.ceil(hyper.epochs * per_epoch),
        clip_norm=hyper.clip_norm if private else settings.clip_norm or math.inf,
        noise_multiplier=0.0,
    )
    if not private:
        return mechanism
    try:
        return accounting.calibrate(
            mechanism,
            target_epsilon=settings.eps,
            delta=settings.delta,
            accountant=settings.accountant,
        )
    except accounting.UnreachableEpsilonError as error:
        raise InputError(
            f"--eps={settings.eps}: not reachable in {mechanism.num_steps} steps of sampling "
            f"rate {mechanism.sampling_rate:.3g} ({error}); raise --eps or --delta, or lower "
            "--epochs"
        ) from error
