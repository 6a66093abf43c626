"""Noisy class means of features: one Gaussian release, a target that images can be moved towards.

    m_k = (c / n) (sum_{y_i = k} phi(x_i) + N(0, sigma^2 I)),   |phi| <= 1,

are the class means where all c classes are equally large, and in proportion to the sizes where
they are not; dividing by exact sizes would release these.

References:
    Zhao & Bilen (2023), "Dataset condensation with distribution matching", equation 5 (the target).
    Harder, Adamczewski & Park (2021), "DP-MERF" (its release).
"""

from jaxtyping import Array, Float, Key

from jaxdp.features.base import FeatureMap
from jaxdp.privacy import class_sums
from jaxdp.privacy.class_sums import ClassChunks
from jaxdp.privacy.mechanism import SubsampledGaussian


def one_release(num_examples: int, *, noise_multiplier: float) -> SubsampledGaussian:
    """Return what the class means are accounted as: one step that every example takes part in.

    Args:
        num_examples: n, public.
        noise_multiplier: standard deviation of the noise over the norm of one example's features.
    """
    return SubsampledGaussian(
        num_examples=num_examples,
        sampling_rate=1.0,
        num_steps=1,
        clip_norm=1.0,
        noise_multiplier=noise_multiplier,
    )


def release_class_means(
    key: Key[Array, ""],
    features: FeatureMap,
    chunks: ClassChunks,
    *,
    num_classes: int,
    num_examples: int,
    noise_multiplier: float,
) -> Float[Array, "c p"]:
    """Return noisy class means of private features, all classes taken as equally large.

    Args:
        key: of the noise, fresh and secret.
        features: `phi`, chosen without the data, of norm 1 at most.
        chunks: the private data.
        num_classes: c.
        num_examples: n, public.
        noise_multiplier: as accounted by `one_release`; 0 is not private.

    Guarantee:
        One Gaussian release under the zero-out relation (`jaxdp.privacy.ledger`): one example moves
        the exact sums by at most 1 in Euclidean norm, and the noise on them has standard deviation
        `noise_multiplier`. They are divided by n/c afterwards, a public constant.
    """
    return class_sums.release_sums(
        key,
        features,
        chunks,
        num_classes=num_classes,
        stddev=noise_multiplier,
        divisor=num_examples / num_classes,
    )
