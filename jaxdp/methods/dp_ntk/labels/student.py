"""Which images a network learns most from: those on which a student is furthest from its teacher.

A small network, the student, learns what a private teacher says of some candidates. Then it is
asked about all. Where it says what the teacher says, there is little left to learn; where it does
not, there is. Candidates are drawn at random, the further apart both are, the likelier.

All of this is post-processing: a teacher that was released, and images that a released generator
drew. No argument takes private data.

References:
    Cohn, Atlas & Ladner (1994), "Improving generalization with active learning" (ask where the
        learner is not sure).
    Fang et al. (2019), "Data-free adversarial distillation" (images on which student and teacher
        differ).
"""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Shaped

from jaxdp.data import Codec
from jaxdp.methods.steps import Runner
from jaxdp.networks.classifiers import SmallCnn

# By held-out training images: a second round, or more steps, found no better ones.
_MOST, _EPOCHS, _BATCH, _LEARNING_RATE = 30_000, 3, 100, 1e-3
_POWER, _LEAST = 0.75, 1e-4
_CHUNK = 1000


def chosen(
    images: Shaped[np.ndarray, "k h w ch"],
    targets: Float[np.ndarray, "k c"],
    codec: Codec,
    runner: Runner,
    *,
    count: int,
    seed: int,
) -> Int[np.ndarray, " count"]:
    """Return the numbers of images that a network learns most from, in rising order.

    They are drawn without replacement, with weights `KL(teacher | student)^0.75`.

    Args:
        images: candidates, as stored.
        targets: what the teacher says of each.
        codec: of the images' values.
        runner: takes the student's steps.
        count: how many, at most k.
        seed: public.

    References:
        Kullback & Leibler (1951), "On information and sufficiency", equation 2.4.
    """
    said = _student(images, targets, codec, runner, seed)
    apart = divergence(targets, said)
    weights = np.maximum(apart, _LEAST) ** _POWER
    rng = np.random.default_rng([seed, 1])
    drawn = rng.choice(len(images), count, replace=False, p=weights / weights.sum())
    return np.sort(drawn)


def divergence(p: Float[np.ndarray, "k c"], q: Float[np.ndarray, "k c"]) -> Float[np.ndarray, " k"]:
    """Return `sum_c p log(p / q)` of every row, at least 0; q is raised to 1e-6."""
    from scipy.special import rel_entr  # takes a while

    return np.maximum(rel_entr(p, np.maximum(q, 1e-6)).sum(axis=1), 0.0)


def _student(
    images: np.ndarray, targets: np.ndarray, codec: Codec, runner: Runner, seed: int
) -> np.ndarray:
    """Return what a network says of all images that has learnt the targets of some."""
    rng = np.random.default_rng([seed, 0])
    some = rng.permutation(len(images))[:_MOST]
    seen = codec.to_unit(images[some])
    # An argument of what is compiled: programs are kept, and hold public constants alone.
    scale = np.array([seen.mean(), seen.std() or 1.0], np.float32)
    steps = _EPOCHS * -(-len(some) // _BATCH)
    model: Any = SmallCnn(targets.shape[1])
    optimizer = optax.adam(optax.cosine_decay_schedule(_LEARNING_RATE, steps))

    def logits(params: Any, stored: Array, scale: Array) -> Array:
        return model.apply(params, (codec.to_unit(stored) - scale[0]) / scale[1])

    def loss(params: Any, stored: Array, wanted: Array, scale: Array) -> Array:
        return jnp.mean(optax.softmax_cross_entropy(logits(params, stored, scale), wanted))

    @jax.jit
    def step(
        params: Any, opt_state: Any, stored: Array, wanted: Array, scale: Array
    ) -> tuple[Any, Any]:
        gradient = jax.grad(loss)(params, stored, wanted, scale)
        updates, opt_state = optimizer.update(gradient, opt_state)
        return optax.apply_updates(params, updates), opt_state

    @jax.jit
    def said(params: Any, stored: Array, scale: Array) -> Array:
        return jax.nn.softmax(logits(params, stored, scale))

    params = model.init(jax.random.key(seed), jnp.zeros((1, *images.shape[1:])))
    opt_state = optimizer.init(params)
    batches = _batches(rng, some)
    # Python's loop, on purpose: see `jaxdp.methods.teacher.finish`.
    for _ in runner.watched("student")(range(steps)):
        rows = next(batches)
        params, opt_state = step(params, opt_state, images[rows], targets[rows], scale)
    starts = range(0, len(images), _CHUNK)
    parts = [np.asarray(said(params, images[at : at + _CHUNK], scale)) for at in starts]
    return np.concatenate(parts)


def _batches(rng: np.random.Generator, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield batches of one size, in a new order for every pass."""
    size = min(_BATCH, len(rows))
    while True:
        order = rng.permutation(rows)
        yield from (order[at : at + size] for at in range(0, len(rows) - size + 1, size))
