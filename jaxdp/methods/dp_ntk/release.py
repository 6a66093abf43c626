"""The one release of DP-NTK: a noisy mean embedding of private data, and noisy class weights.

    mu_k = (1/n) sum_{i: y_i = k} phi(x_i),    released once as mu + N(0, stddev^2 I)

The private data are touched in `release_embedding` alone. What follows (`finish`) sees the noisy
embedding only. Which features `phi` are is the caller's choice, as long as their norm is at most 1:
gradients of a random network (DP-NTK), random Fourier features (DP-MERF), Hermite polynomials
(DP-HP), scattering.

References:
    Yang et al. (2023), "Differentially private neural tangent kernels (DP-NTK) for
        privacy-preserving data generation", algorithm 1.
    Harder, Adamczewski & Park (2021), "DP-MERF", algorithm 1 (class weights: section 4.2).
"""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from jaxdp import numerics, processes
from jaxdp.data import Private
from jaxdp.features.base import FeatureMap
from jaxdp.methods.dp_ntk.released import Released
from jaxdp.methods.steps import Watch
from jaxdp.privacy import class_sums, relations
from jaxdp.privacy.class_sums import LabelledChunks
from jaxdp.privacy.releases import GaussianRelease, joint_noise_multiplier

EMBEDDING = "mean embedding"
WEIGHTS = "class weights"
_LEAST_WEIGHT = 1e-3
# Examples embedded at once: what stays in a CPU's cache, what fills a GPU.
_CHUNK = numerics.ByBackend(cpu=500, accelerator=4096)
_FACTORED_CHUNK = 4096  # smaller ones leave products of few rows of each class


def sensitivities(
    features: FeatureMap, num_examples: int, *, class_weights: bool, relation: str
) -> dict[str, float]:
    """Return how far one example of n moves what is released.

    Where it becomes empty, either moves by 1/n, as features have norm 1 at most. Where it is
    replaced, the embedding moves by the features' diameter over n if the class stays the same (2/n
    where features may be opposite), and by sqrt(2)/n, which is not more, if it does not. The class
    weights move by sqrt(2)/n.
    """
    is_replaced = relation == relations.REPLACE
    bounds = {EMBEDDING: (max(features.diameter, 2**0.5) if is_replaced else 1) / num_examples}
    if class_weights:
        bounds[WEIGHTS] = (2**0.5 if is_replaced else 1) / num_examples
    return bounds


def multiplier_by_removal(released: Sequence[GaussianRelease], num_examples: int) -> float:
    """Return the noise of releases over what one example of n contributes.

    An example contributes `phi / n` to the embedding and `1 / n` to the class weights, so at most
    `1 / n` to either. A ledger of steps counts what is released beside them so.

    Args:
        released: all that was released with an embedding.
        num_examples: n, by which sums were divided.

    Guarantee:
        All releases together are at most as revealing as one Gaussian release of sensitivity 1 with
        noise of this standard deviation, 0 where one of them has no noise.
    """
    return joint_noise_multiplier(
        [dataclasses.replace(release, sensitivity=1 / num_examples) for release in released]
    )


def release(
    private: Private,
    key: Key[Array, ""],
    features: FeatureMap,
    releases: tuple[GaussianRelease, ...],
    *,
    num_classes: int,
    watch: Watch = iter,
) -> Released:
    """Return the noisy embedding of private data; labels are not used for a single class.

    `watch` sees the numbers of chunks of examples, and nothing of what is in them.

    Guarantee:
        As `release_embedding`.
    """
    n = len(private.x)
    own, y = processes.own_part(n), private.y
    chunk = _CHUNK.here if features.factors is None else _FACTORED_CHUNK
    chunks = class_sums.labelled_chunks(
        private.rows[own],
        np.zeros_like(y[own]) if num_classes == 1 else y[own],
        num_classes=num_classes,
        chunk_size=min(n, chunk),
    )
    return release_embedding(
        key, features, chunks, releases, num_examples=n, num_classes=num_classes, watch=watch
    )


def release_embedding(
    key: Key[Array, ""],
    features: FeatureMap,
    chunks: LabelledChunks,
    releases: tuple[GaussianRelease, ...],
    *,
    num_examples: int,
    num_classes: int,
    watch: Watch = iter,
) -> Released:
    """Return the noisy class-wise mean embedding of private data, and noisy class weights.

    Args:
        key: of the noise, fresh and secret.
        features: `phi`, chosen without the data.
        chunks: the private data.
        releases: the embedding's, and the class weights' where they are wanted.
        num_examples: n, public.
        num_classes: c.
        watch: sees the numbers of the chunks, and nothing of what is in them.

    Raises:
        ValueError: a release is unknown, or claims less than the true sensitivity.

    Guarantee:
        Both are Gaussian releases as `releases` describes them: one example moves each by at most
        what `sensitivities` has in norm, and independent noise of the given standard deviations,
        drawn in float64, is added to every entry. Nothing else of the data is returned.
    """
    named = {release.name: release for release in releases}
    bounds = sensitivities(
        features,
        num_examples,
        class_weights=WEIGHTS in named,
        relation=relations.joint(release.relation for release in releases),
    )
    if set(named) != set(bounds):
        raise ValueError(f"releases must be {list(bounds)}, got {list(named)}")
    for name, bound in bounds.items():
        if named[name].sensitivity < bound * (1 - 1e-12):
            raise ValueError(f"{name}: sensitivity is {bound}, not {named[name].sensitivity}")
    embedding_key, weights_key = jax.random.split(key)
    mu = class_sums.release_sums(
        embedding_key,
        features,
        chunks,
        num_classes=num_classes,
        stddev=named[EMBEDDING].stddev * num_examples,
        divisor=float(num_examples),
        watch=watch,
    )
    uniform = jnp.full(num_classes, 1 / num_classes)
    if WEIGHTS not in named:
        return Released(mu, uniform)
    counts = np.bincount(chunks.labels, minlength=num_classes)[:, np.newaxis]
    exact = processes.summed(counts)
    stddev = named[WEIGHTS].stddev * num_examples
    weights = class_sums.noisy_sums(weights_key, exact, stddev=stddev, divisor=float(num_examples))[
        :, 0
    ]
    weights = jnp.maximum(weights, _LEAST_WEIGHT)
    return Released(mu, weights / jnp.sum(weights))
