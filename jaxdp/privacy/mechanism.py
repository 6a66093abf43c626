"""The Gaussian mechanism, and where its randomness comes from.

All noise of the package is made by `add_gaussian_noise`. What floating point leaves of the ideal
mechanism:

* A draw is `sqrt(2) erf_inv(u)` of one of 2^52 values of `u`, and a sample is the sum of two draws,
  so it takes one of up to 2^103 values. A noisy sum is rounded to a grid that its noise alone
  decides, of about a thousandth of its deviation. Every place of it within eleven deviations can be
  met, whatever the sum under the noise is, so that no sum can be recognised by the values that its
  noise can take. Rounding to float32 would not do: it leaves numbers near 0 as they are.
* What float64 rounds before that, and what `erf_inv` is off by, change the chance of a place of the
  grid by a factor of 1 +- 2^-37 within five deviations: two times 7e-12 of epsilon for a number.
  Farther out it is up to 1 +- 2^-27, which adds 1e-16 to delta.
* A draw ends at -8.29 and 8.16 standard deviations, and the sum of two at -11.7 and 11.5. What that
  adds to delta is derived in `jaxdp.privacy.limits`: 5e-17 for a number at epsilon 10.
* Sums are float64, with a rounding error of about 1e-16 of the sum.

References:
    Dwork & Roth (2014), "The algorithmic foundations of differential privacy", appendix A.
    Mironov (2012), "On significance of the least significant bits for differential privacy"
        (noisy sums are rounded to a public grid).
    Holohan & Braghin (2021), "Secure random sampling in differential privacy", section 4 (sums of
        several draws hide the lattice of each).
"""

import dataclasses
import math
import os

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from jaxdp import numerics, plain_numbers, processes
from jaxdp.privacy import relations
from jaxdp.privacy.chacha import CHACHA20, KEY_WORDS

KEY_BITS = 32 * KEY_WORDS
NOISE = f"float64, two draws, rounded to a grid, keys of {KEY_BITS} bits"
"""How noise is drawn, as certificates and stored runs name it."""
LEAST_STDDEV = 1e-30
"""Smaller noise would be flushed to zero where results are float32."""
MOST_RECORDS_PER_PERSON = plain_numbers.MOST_RECORDS_PER_PERSON
_DRAWS = 2
# Rounding adds a millionth of the noise's variance, at most.
_GRID_BITS = 10
ROUNDED_BY = 0.5 ** (_GRID_BITS + 1)
"""Most that rounding moves a noisy sum by, in standard deviations of its noise."""


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
        records_per_person: most examples k that the unit of privacy has, >= 1. Sampling, clipping
            and noise are those of single examples whatever it is: the accountant alone reads it.
        relation: which datasets are neighbours (`relations`); the accountant alone reads it, too.

    Raises:
        ValueError: a number is out of range, noise is asked for without a clip norm, or its
            standard deviation is below `LEAST_STDDEV`.

    Examples:
        >>> from jaxdp.privacy import SubsampledGaussian
        >>> steps = SubsampledGaussian(
        ...     num_examples=1000,
        ...     sampling_rate=0.1,
        ...     num_steps=100,
        ...     clip_norm=0.5,
        ...     noise_multiplier=2.0,
        ... )
        >>> steps.stddev, steps.expected_batch_size, steps.is_private
        (1.0, 100.0, True)
    """

    num_examples: int
    sampling_rate: float
    num_steps: int
    clip_norm: float
    noise_multiplier: float
    records_per_person: int = 1
    relation: str = relations.ZERO_OUT

    def __post_init__(self) -> None:
        plain_numbers.settle(self)
        require_records_per_person(self.records_per_person)
        relations.require(self.relation)
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
        if self.is_private:
            require_stddev(self.stddev)

    @property
    def is_private(self) -> bool:
        """Whether there is noise at all."""
        return self.noise_multiplier > 0

    @property
    def stddev(self) -> float:
        """Standard deviation of the noise on every entry of a released sum."""
        return self.noise_multiplier * self.clip_norm if self.is_private else 0.0

    @property
    def most_moved(self) -> int:
        """How many contributions of single examples a neighbour moves a sum by, at most."""
        return self.records_per_person * relations.contributions(self.relation)

    @property
    def expected_batch_size(self) -> float:
        """Mean number of examples of a step, the public constant that sums are divided by."""
        return self.sampling_rate * self.num_examples


def require_stddev(stddev: float) -> None:
    """Raise a `ValueError` unless noise of this standard deviation is noise in float32, too."""
    if not LEAST_STDDEV <= stddev < math.inf:
        raise ValueError(f"noise must have a stddev of at least {LEAST_STDDEV:g}, got {stddev:g}")


def require_records_per_person(number: int) -> None:
    """Raise a `ValueError` unless a person can have so many records at most."""
    plain_numbers.records_per_person(number, "records_per_person")


def private_key(noise_seed: int | None = None) -> Key[Array, ""]:
    """Return the key of a run's noise and sampling; that of the first where there are several.

    Args:
        noise_seed: None takes 256 bits from the operating system, which nobody can repeat.
            A number makes the run reproducible, and so its noise removable by anybody who
            guesses the number: such a run must not be released.

    Raises:
        ValueError: the seed is negative or has more than 256 bits.
        RuntimeError: there is no seed, and jax traces the caller, as inside `jit` or `vmap`: the
            key would be a constant of the compiled program, and all its calls would have the same
            noise. Make the key outside, and hand it over.

    Guarantee:
        Without a seed the key does not depend on the data, on the program's arguments or on
        any earlier key, and no two calls of a compiled program have the same one. Callers never
        store it.

    Examples:
        >>> from jaxdp.privacy import private_key
        >>> bool(private_key() == private_key()), bool(private_key(7) == private_key(7))
        (False, True)
    """
    if noise_seed is None:
        if numerics.is_traced():
            raise RuntimeError(
                "private_key() inside jit or vmap would be drawn once for all calls, whose noise "
                "could be subtracted; call it outside, and hand over the key"
            )
        secret = os.urandom(4 * KEY_WORDS)
    elif 0 <= noise_seed < 2**KEY_BITS:
        secret = int(noise_seed).to_bytes(4 * KEY_WORDS, "little")
    else:
        raise ValueError(f"noise_seed must be in 0..2^{KEY_BITS}-1, got {noise_seed}")
    words = jnp.asarray(np.frombuffer(secret, "<u4"))
    return processes.told_key(jax.random.wrap_key_data(words, impl=CHACHA20))


def require_private(key: Key[Array, "..."]) -> None:
    """Raise a `TypeError` unless a key comes from `private_key`, split and folded keys included."""
    if jax.random.key_impl(key) != CHACHA20:
        raise TypeError(
            "private randomness needs a key of jaxdp.privacy.mechanism.private_key(), which has "
            f"{KEY_BITS} bits of the operating system; a key of jax.random.key() can be guessed"
        )


def add_gaussian_noise(key: Key[Array, ""], tree: PyTree, *, stddev: float) -> PyTree:
    """Add independent `N(0, stddev^2)` to every entry of every leaf, in float64.

    A sample is `stddev / sqrt(2)` times the sum of two draws (Holohan & Braghin 2021). What is
    returned is a whole multiple of the largest power of 2 up to `stddev / 1024` (Mironov 2012).

    Args:
        key: of `private_key`, fresh for every release.
        tree: what to release, of float64; L2 sensitivity `stddev / noise_multiplier`.
        stddev: noise scale in the units of the tree: 0, which returns the tree unchanged, or at
            least `LEAST_STDDEV`.

    Raises:
        ValueError: `stddev` is negative, not finite, or too small to be noise.
        TypeError: the key is not a private one, or a leaf is not of float64 (sums of float32
            show by their last bits what was added to them).

    Guarantee:
        The Gaussian mechanism with noise multiplier `stddev / sensitivity`, up to what the
        head of this file says of floating point.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import numerics
        >>> from jaxdp.privacy import add_gaussian_noise, private_key
        >>> with numerics.float64():
        ...     noisy = add_gaussian_noise(private_key(), jnp.zeros(10_000), stddev=3.0)
        ...     print(2.8 < noisy.std() < 3.2, (noisy % 2**-9).max() == 0)
        True True
    """
    if stddev == 0:
        return tree
    require_stddev(stddev)
    require_private(key)
    leaves, structure = jax.tree.flatten(tree)
    noisy = [_noisy(jax.random.fold_in(key, i), leaf, stddev) for i, leaf in enumerate(leaves)]
    return jax.tree.unflatten(structure, noisy)


def _noisy(key: Array, leaf: Float[Array, "..."], stddev: float) -> Array:
    if leaf.dtype != jnp.float64 or not numerics.has_float64():
        raise TypeError(f"noise is added to float64 in jax's 64-bit mode, not to {leaf.dtype}")
    draws = jax.random.normal(key, (_DRAWS, *leaf.shape), jnp.float64)
    return _rounded(leaf + stddev / math.sqrt(_DRAWS) * jnp.sum(draws, axis=0), stddev)


def _rounded(noisy: Float[Array, "..."], stddev: float) -> Array:
    """Return the nearest places of a grid that depends on the noise's deviation alone."""
    _, exponent = math.frexp(stddev)  # of stddev = m 2^exponent, m in [1/2, 1)
    grid = math.ldexp(1.0, exponent - 1 - _GRID_BITS)
    return jnp.rint(noisy / grid) * grid
