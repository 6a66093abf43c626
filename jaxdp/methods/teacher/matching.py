"""Distribution matching: a few images that random networks cannot tell from many, on average.

With `f` the trunk of a ConvNet with random weights and `T` a random movement of all images, both
drawn anew whenever the loss is computed, images `x_kj` of class k are compared with images `z_ki`:

    sum_k |mean_j f(T x_kj) - mean_i f(T z_ki)|^2 / sum_k |mean_i f(T z_ki) - m|^2,

where m is the mean of the second term over classes: 0 for equal means, 1 for images that do not
tell classes apart. The images `z` are released ones, such as a private generator's; then this costs
no privacy. Images are brought to mean 0 and deviation 1 of all `z` first (`config_for`), as `T`
moves brightness by up to a half.

References:
    Zhao & Bilen (2023), "Dataset condensation with distribution matching", equation 6.
    Zhao & Bilen (2021), "Dataset condensation with differentiable Siamese augmentation" (the same
        random movement on both sides, and which movements there are).
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxdp.images.siamese import siamese_augmented
from jaxdp.networks.classifiers import ConvNetTrunk

# Where a generator draws one image only, nothing may be divided by 0.
_LEAST = 1e-3


@dataclasses.dataclass(frozen=True, kw_only=True)
class MatchingConfig:
    """Static configuration of distribution matching.

    Attributes:
        image_shape: (h, w, channels) of a row.
        batch_size: of the many images, drawn from each class for one value of the loss, >= 1.
        width: channels of the random network, >= 1.
        mean, deviation: of the values of the many images; deviation > 0.

    Raises:
        ValueError: a value is out of range.
    """

    image_shape: tuple[int, int, int]
    batch_size: int = 32
    width: int = 64
    mean: float = 0.0
    deviation: float = 1.0

    def __post_init__(self) -> None:
        if min(self.batch_size, self.width) < 1:
            raise ValueError(
                f"batch_size and width must be >= 1, got {self.batch_size} and {self.width}"
            )
        if not self.deviation > 0:
            raise ValueError(f"deviation must be > 0, got {self.deviation}")


def config_for(images: np.ndarray, image_shape: tuple[int, int, int]) -> MatchingConfig:
    """Return the configuration for images (c, m, d), which are looked at once."""
    deviation = max(float(images.std()), _LEAST)
    return MatchingConfig(image_shape=image_shape, mean=float(images.mean()), deviation=deviation)


def matching_distance(
    x: Float[Array, "s d"],
    key: Key[Array, ""],
    images: Float[Array, "c m d"],
    *,
    config: MatchingConfig,
) -> Float[Array, ""]:
    """Return the distance above for one random network, one movement and one batch of images.

    Args:
        x: rows ordered by class, equally many of each.
        key: public; of the network, the movement and the batch.
        images: m of each class.
        config: see there.
    """
    network_key, movement_key, batch_key = jax.random.split(key, 3)
    num_classes, count, dim = images.shape
    size = (num_classes, config.batch_size)
    chosen = jax.random.randint(batch_key, size, 0, count, jnp.int32)
    batch = jnp.take_along_axis(images, chosen[:, :, None], axis=1).reshape(-1, dim)
    network = ConvNetTrunk(config.width)
    variables = network.init(network_key, jnp.zeros((1, *config.image_shape), x.dtype))

    def means(rows: Array) -> Array:
        seen = (rows.reshape(-1, *config.image_shape) - config.mean) / config.deviation
        # Photographs have colours; digits and letters are not reflected.
        reflect = config.image_shape[2] > 1
        moved = siamese_augmented(movement_key, seen, reflect=reflect, alike=True)
        features: Array = network.apply(variables, moved)  # type: ignore[assignment]
        return jnp.mean(features.reshape(num_classes, -1, features.shape[1]), axis=1)

    target = jax.lax.stop_gradient(means(batch))
    spread = jnp.sum((target - jnp.mean(target, axis=0)) ** 2)
    return jnp.sum((means(x) - target) ** 2) / jnp.maximum(spread, _LEAST)
