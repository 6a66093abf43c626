"""Distillation from a private teacher: support images that induce the teacher's classifier.

Kernel ridge regression on a support `(x_s, y_s)` with `k(x, z) = phi(x) . phi(z)` is a linear
classifier on `phi` with the weights

    W(x_s) = Phi_s^T (K_ss + lambda I)^-1 y_s,   lambda = ridge tr(K_ss) / s,

and only their direction, up to a vector common to all classes, decides what is predicted. So the
support is moved until `W(x_s)` points where the weights `V` of a teacher point:

    minimise  1 - cos(W(x_s) - mean_c W(x_s), V - mean_c V)   over x_s.

Privacy in plain words: nothing here is given private data, only the teacher's weights, a public
feature map and random images. If the weights were released under differential privacy (see
`jaxdp.methods.teacher.release`), so is everything computed from them, however many steps it takes:
the support costs nothing on top of the teacher.

References:
    Dwork & Roth (2014), "The algorithmic foundations of differential privacy", proposition 2.1
    (post-processing).
    Nguyen, Chen & Lee (2021), "Dataset meta-learning from kernel ridge-regression" (KIP).
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key

from jaxdp.data import Spec
from jaxdp.features import levels
from jaxdp.features.base import FeatureMap
from jaxdp.features.random_networks import RandomNetworks
from jaxdp.images.packing import Packing
from jaxdp.kernels.kip import SupportSet
from jaxdp.methods.steps import Runner, Steps
from jaxdp.methods.teacher import matching, targets
from jaxdp.methods.teacher.regression import Taught, centred, induced_weights
from jaxdp.methods.teacher.released import Released
from jaxdp.methods.teacher.settings import Settings

_SMOOTH_MODULUS = 1e-6

FeatureFn = Callable[[Array], Array]


class DistillState(NamedTuple):
    """What distillation carries: `step` () counts finished steps, `support` is the result."""

    step: Array
    support: SupportSet
    opt_state: Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class DistillConfig:
    """Static configuration of distillation.

    The loss is `1 - cosine + total_variation TV(x_s) + extra_weight extra_loss(x_s)`, and what
    `extra_gradient` is the gradient of beside `extra_loss`.

    Attributes:
        num_steps: of the whole run, >= 1; the learning rate falls to 0 over them, as a cosine.
        ridge: relative ridge of the regression, > 0.
        learning_rate: of Adam at the first step, in units of pixels, > 0.
        cosine_weight: >= 0.
        learn_labels: whether the support's labels are moved, too.
        total_variation: weight of `total_variation`, >= 0; needs `image_shape`.
        image_shape: (h, w, channels) of a row of the support, where total variation is asked for.
        extra_loss: another target, `(x (s, d), key, extra_data) -> ()`: a distance to released
            class means or images. It must not see private data. `key` is a fresh public one at
            every step.
        extra_gradient: the gradient of one more, `(x (s, d), key, extra_data) -> (s, d)`, which is
            called as it is and not compiled with the step; None for none.
        extra_weight: the weight of both, >= 0.
        seed: public; of the keys that `extra_loss` is given.
        bounds: pixels are kept between these two; None for no bounds.
        enlarged: from rows of the support (s, e) to those that features and `extra_loss` see
            (s, d), differentiable; None where they are the same. Total variation is that of the
            support itself.

    Raises:
        ValueError: a value is out of range.
    """

    num_steps: int
    ridge: float = 1e-3
    learning_rate: float = 0.02
    cosine_weight: float = 1.0
    learn_labels: bool = False
    total_variation: float = 0.0
    image_shape: tuple[int, int, int] | None = None
    extra_loss: Callable[[Array, Array, Any], Array] | None = None
    extra_gradient: Callable[[Array, Array, Any], Array] | None = None
    extra_weight: float = 1.0
    seed: int = 0
    bounds: tuple[float, float] | None = None
    enlarged: Callable[[Array], Array] | None = None

    def __post_init__(self) -> None:
        if self.num_steps < 1:
            raise ValueError(f"num_steps must be >= 1, got {self.num_steps}")
        for name in ("ridge", "learning_rate"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be > 0 and finite, got {getattr(self, name)}")
        for name in ("cosine_weight", "total_variation", "extra_weight"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be >= 0 and finite, got {getattr(self, name)}")
        if self.total_variation > 0 and self.image_shape is None:
            raise ValueError("total_variation needs image_shape")
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise ValueError(f"bounds must be (low, high) with low < high, got {self.bounds}")


class Distillation(NamedTuple):
    """The pair of functions that `distill` returns."""

    init: Callable[..., DistillState]
    update: Callable[..., DistillState]


def cosine(a: Float[Array, "p c"], b: Float[Array, "p c"]) -> Float[Array, ""]:
    """Return the cosine of two classifiers' weights, the mean over classes removed from both."""
    a, b = (centred(w) for w in (a, b))
    return jnp.sum(a * b) / (jnp.linalg.norm(a) * jnp.linalg.norm(b))


def total_variation(
    x: Float[Array, "s d"], *, image_shape: tuple[int, int, int]
) -> Float[Array, ""]:
    """Return the mean over pixels of the modulus of the image gradient, by forward differences.

    References:
        Rudin, Osher & Fatemi (1992), "Nonlinear total variation based noise removal algorithms".
    """
    images = x.reshape(-1, *image_shape)
    down = jnp.diff(images, axis=1, append=images[:, -1:])
    right = jnp.diff(images, axis=2, append=images[:, :, -1:])
    return jnp.mean(jnp.sqrt(down**2 + right**2 + _SMOOTH_MODULUS))


def loss(
    support: SupportSet,
    teacher_weights: Float[Array, "p c"] | None,
    feature_fn: FeatureFn,
    config: DistillConfig,
    *,
    key: Key[Array, ""],
    extra_data: Any = None,
    extra_gradient: Float[Array, "s d"] | None = None,
) -> Float[Array, ""]:
    """Return what distillation minimises; see `DistillConfig`.

    Of a target that is known by its gradient alone, something that has this gradient.
    """
    total = jnp.zeros((), support.x.dtype)
    rows = support.x if config.enlarged is None else config.enlarged(support.x)
    if teacher_weights is not None and config.cosine_weight > 0:
        induced = induced_weights(feature_fn(rows), support.y, ridge=config.ridge)
        total += config.cosine_weight * (1 - cosine(induced, teacher_weights))
    if config.image_shape is not None and config.total_variation > 0:
        total += config.total_variation * total_variation(support.x, image_shape=config.image_shape)
    if config.extra_loss is not None:
        total += config.extra_weight * config.extra_loss(rows, key, extra_data)
    if extra_gradient is not None:
        total += config.extra_weight * jnp.sum(extra_gradient * rows)
    return total


def distill(
    teacher_weights: Float[Array, "p c"] | None,
    feature_fn: FeatureFn,
    config: DistillConfig,
    extra_data: Any = None,
) -> Distillation:
    """Return `(init, update)` that move a support towards a teacher's weights.

    `init(support) -> DistillState`.
    `update(state, num_steps) -> DistillState` runs `num_steps` steps, fewer where
    `config.num_steps` comes first; a run may be cut into calls anywhere.

    The loop over steps is Python's, on purpose: inside a compiled one, XLA's convolutions on the
    CPU have gradients about twenty times slower (jax issue 12868).

    Args:
        teacher_weights: V, released under differential privacy or public; None where
            `config.cosine_weight` is 0.
        feature_fn: public map of rows (s, d) to features (s, p), differentiable.
        config: static configuration.
        extra_data: what `config.extra_loss` compares with: arrays that were released or are
            public.

    Raises:
        ValueError: no weights, and a cosine with them is asked for.

    Guarantee:
        Post-processing: the result is a function of the teacher's weights, of `feature_fn`,
        `config` and `extra_data` and of the support that `init` is given, and no argument takes
        private data.
    """
    if teacher_weights is None and config.cosine_weight > 0:
        raise ValueError(f"cosine_weight={config.cosine_weight} needs the weights of a teacher")
    optimizer = optax.adam(optax.cosine_decay_schedule(config.learning_rate, config.num_steps))

    def init(support: SupportSet) -> DistillState:
        return DistillState(jnp.zeros((), jnp.int32), support, optimizer.init(support))

    def key_of(state: DistillState) -> Array:
        return jax.random.fold_in(jax.random.key(config.seed), state.step)

    @jax.jit
    def seen(state: DistillState) -> tuple[Array, Array]:
        x = state.support.x
        return x if config.enlarged is None else config.enlarged(x), key_of(state)

    @jax.jit
    def step(state: DistillState, weights: Any, extra_data: Any, extra: Any) -> DistillState:
        grads = jax.grad(loss)(
            state.support,
            weights,
            feature_fn,
            config,
            key=key_of(state),
            extra_data=extra_data,
            extra_gradient=extra,
        )
        updates, opt_state = optimizer.update(grads, state.opt_state, state.support)
        x, y = optax.apply_updates(state.support, updates)
        if config.bounds is not None:
            x = jnp.clip(x, *config.bounds)
        return DistillState(
            state.step + 1, SupportSet(x, y if config.learn_labels else state.support.y), opt_state
        )

    def update(state: DistillState, num_steps: int) -> DistillState:
        for _ in range(min(num_steps, config.num_steps - int(state.step))):
            extra = None
            if config.extra_gradient is not None:
                rows, key = seen(state)
                extra = config.extra_gradient(rows, key, extra_data)
            state = step(state, teacher_weights, extra_data, extra)
        return state

    return Distillation(init, update)


def finish(
    released: Released,
    start: SupportSet,
    runner: Runner,
    *,
    taught: Taught | None,
    shown: Callable[[SupportSet], Any],
    settings: Settings,
    spec: Spec,
    packing: Packing | None,
    feature_fn: FeatureFn,
    mean_map: FeatureMap | RandomNetworks | None,
    images: np.ndarray | None,
) -> SupportSet:
    """Return a support, of images as small as packed, moved towards what was released.

    It starts anew in a run that goes on: it is short and free.

    Args:
        released: a teacher, class means, or both.
        start: the support before the first step.
        runner: takes the steps.
        taught: the released teacher; None where none is matched.
        shown: makes what a runner may test of a support.
        settings: complete.
        spec: of the images.
        packing: of small images; None for records of a table.
        feature_fn: the teacher's public map.
        mean_map: the public map of class means; None where none are matched.
        images: (c, m, d) generated images to match; None where none are.

    Guarantee:
        Post-processing: no argument takes private data.
    """
    extra: dict[str, Any] = {}
    extra_data = None
    if mean_map is not None:
        if isinstance(mean_map, RandomNetworks):
            extra["extra_gradient"] = targets.network_gradient(mean_map)
        else:
            distance = functools.partial(targets.embedding_distance, features=mean_map)
            extra["extra_loss"] = distance
        extra_data = jnp.asarray(released.means)
    elif images is not None:
        many = matching.config_for(images, spec.image_shape)
        extra["extra_loss"] = functools.partial(matching.matching_distance, config=many)
        extra_data = jnp.asarray(images)
    weights = None
    if taught is not None:
        weights, feature_fn = taught.weights, levels.then(feature_fn, taught.shown)
    config = _config(settings, packing, extra)
    algorithm = distill(weights, feature_fn, config, extra_data)
    state = runner.loop(
        Steps(
            name="distilling",
            state=algorithm.init(start),
            advance=lambda now, count: (algorithm.update(now, count), None),
            num_steps=settings.distill_steps,
            free=True,
            kept=False,
            shown=lambda now: shown(now.support),
        )
    )
    return state.support


def _config(settings: Settings, packing: Packing | None, extra: dict[str, Any]) -> DistillConfig:
    return DistillConfig(
        num_steps=settings.distill_steps,
        ridge=settings.ridge,
        learning_rate=settings.distill_learning_rate,
        cosine_weight=settings.cosine_weight,
        learn_labels=settings.learn_labels,
        total_variation=settings.total_variation,
        image_shape=None if packing is None else packing.small_shape,
        enlarged=None if packing is None else packing.enlarged,
        seed=settings.seed,
        bounds=(0.0, 1.0),  # pixels that can be shown; costs next to no accuracy
        **extra,
    )
