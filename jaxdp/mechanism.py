"""The Gaussian mechanism, and where its randomness comes from.

References:
    Dwork & Roth (2014), "The algorithmic foundations of differential privacy", appendix A.
"""

import dataclasses
import os

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree


@dataclasses.dataclass(frozen=True, kw_only=True)
class SubsampledGaussian:
    """Sums clipped to `clip_norm` over Poisson samples, each released once with Gaussian noise.

    The single description of a private run: the sampler, the noise and the accountant all read
    their numbers from it.

    Attributes:
        num_examples: n, public under the usual convention for the sampling rate.
        sampling_rate: probability q in (0, 1] with which a step draws an example.
        num_steps: number of releases T, >= 1.
        clip_norm: L2 bound C on one example's contribution, > 0; `math.inf` for none.
        noise_multiplier: standard deviation of the noise over `clip_norm`, >= 0.

    Raises:
        ValueError: a number is out of range, or noise is asked for without a clip norm.
    """

    num_examples: int
    sampling_rate: float
    num_steps: int
    clip_norm: float
    noise_multiplier: float

    def __post_init__(self) -> None:
        if self.num_examples < 1:
            raise ValueError(f"num_examples must be >= 1, got {self.num_examples}")
        if not 0 < self.sampling_rate <= 1:
            raise ValueError(f"sampling_rate must be in (0, 1], got {self.sampling_rate}")
        if self.num_steps < 1:
            raise ValueError(f"num_steps must be >= 1, got {self.num_steps}")
        if not self.clip_norm > 0:
            raise ValueError(f"clip_norm must be > 0, got {self.clip_norm}")
        if not 0 <= self.noise_multiplier < float("inf"):
            raise ValueError(f"noise_multiplier must be >= 0, got {self.noise_multiplier}")
        if self.noise_multiplier > 0 and self.clip_norm == float("inf"):
            raise ValueError("noise needs a finite clip_norm: sensitivity is unbounded without")

    @property
    def is_private(self) -> bool:
        """Whether there is noise at all."""
        return self.noise_multiplier > 0

    @property
    def stddev(self) -> float:
        """Standard deviation of the noise on every entry of a released sum."""
        return self.noise_multiplier * self.clip_norm if self.is_private else 0.0

    @property
    def expected_batch_size(self) -> float:
        """Mean number of examples of a step, the public constant that sums are divided by."""
        return self.sampling_rate * self.num_examples


def private_key(noise_seed: int | None = None) -> Key[Array, ""]:
    """Return the key of a run's noise and sampling.

    Args:
        noise_seed: None takes 64 bits from the operating system, which nobody can repeat.
            A number makes the run reproducible, and so its noise removable by anybody who
            guesses the number: such a run must not be released.

    Guarantee:
        Without a seed the key does not depend on the data, on the program's arguments or on
        any earlier key. Callers never store it.
    """
    if noise_seed is not None:
        return jax.random.key(noise_seed)
    words = np.frombuffer(os.urandom(8), dtype=np.uint32)
    return jax.random.wrap_key_data(jnp.asarray(words), impl="threefry2x32")


def add_gaussian_noise(key: Key[Array, ""], tree: PyTree, *, stddev: float) -> PyTree:
    """Add independent `N(0, stddev^2)` to every entry of every leaf.

    Drawn in the leaf's own type: float64 leaves get noise without float32's cut-off at 5.4
    standard deviations.

    Args:
        key: fresh for every release.
        tree: what to release; L2 sensitivity `stddev / noise_multiplier`.
        stddev: noise scale, >= 0, in the units of the tree. Zero returns the tree unchanged.

    Raises:
        ValueError: `stddev` is negative or not finite.

    Guarantee:
        The Gaussian mechanism with noise multiplier `stddev / sensitivity`, up to
        floating-point rounding.
    """
    if not 0 <= stddev < float("inf"):
        raise ValueError(f"stddev must be >= 0 and finite, got {stddev}")
    if stddev == 0:
        return tree
    leaves, structure = jax.tree.flatten(tree)
    keys = jax.random.split(key, len(leaves))
    noisy = [_noisy(k, leaf, stddev) for k, leaf in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(structure, noisy)


def _noisy(key: Array, leaf: Float[Array, "..."], stddev: float) -> Array:
    return leaf + stddev * jax.random.normal(key, leaf.shape, leaf.dtype)
