"""Distribution matching: a few images that random networks cannot tell from many, on average.

With `f` the trunk of a ConvNet with random weights and `T` a random movement of an image, both
drawn anew whenever the loss is computed, images `x_kj` of class k are compared with images `z_ki`:

    sum_k |mean_j f(T x_kj) - mean_i f(T z_ki)|^2 / sum_k |mean_i f(T z_ki) - m|^2,

where m is the mean of the second term over classes: 0 for equal means, 1 for images that do not
tell classes apart. The images `z` are released ones, such as a private generator's; then this costs
no privacy.

References:
    Zhao & Bilen (2023), "Dataset condensation with distribution matching", equation 6.
    Zhao & Bilen (2021), "Dataset condensation with differentiable Siamese augmentation" (the same
        random movement on both sides).
"""

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxdp.images.views import resampled, turned_and_stretched
from jaxdp.networks.classifiers import ConvNetTrunk


@dataclasses.dataclass(frozen=True, kw_only=True)
class MatchingConfig:
    """Static configuration of distribution matching; the defaults suit digits and clothes.

    Attributes:
        image_shape: (h, w, channels) of a row.
        batch_size: of the many images, drawn from each class for one value of the loss, >= 1.
        width: channels of the random network, >= 1.
        max_shift: along each side, as a part of it.
        max_scaling: each side's factor is uniform in [1 - max_scaling, 1 + max_scaling]; below 1.
        max_rotation: in degrees.

    Raises:
        ValueError: a value is out of range.
    """

    image_shape: tuple[int, int, int]
    batch_size: int = 32
    width: int = 64
    max_shift: float = 0.1
    max_scaling: float = 0.15
    max_rotation: float = 20.0

    def __post_init__(self) -> None:
        if min(self.batch_size, self.width) < 1:
            raise ValueError(
                f"batch_size and width must be >= 1, got {self.batch_size} and {self.width}"
            )
        if min(self.max_shift, self.max_scaling, self.max_rotation) < 0 or self.max_scaling >= 1:
            raise ValueError("movements must be >= 0, and max_scaling below 1")


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
    chosen = jax.random.randint(batch_key, (num_classes, config.batch_size), 0, count)
    batch = jnp.take_along_axis(images, chosen[:, :, None], axis=1).reshape(-1, dim)
    height, width, _ = config.image_shape
    matrix, shift = random_movement(movement_key, config, (height, width))
    network = ConvNetTrunk(config.width)
    variables = network.init(network_key, jnp.zeros((1, *config.image_shape), x.dtype))

    def means(rows: Array) -> Array:
        moved = jax.vmap(lambda image: resampled(image, matrix, shift))(
            rows.reshape(-1, *config.image_shape)
        )
        features: Array = network.apply(variables, moved)  # type: ignore[assignment]
        return jnp.mean(features.reshape(num_classes, -1, features.shape[1]), axis=1)

    target = jax.lax.stop_gradient(means(batch))
    spread = jnp.sum((target - jnp.mean(target, axis=0)) ** 2)
    return jnp.sum((means(x) - target) ** 2) / spread


def random_movement(
    key: Key[Array, ""], config: MatchingConfig, size: tuple[int, int]
) -> tuple[Float[Array, "2 2"], Float[Array, " 2"]]:
    """Return a random matrix and shift for `views.resampled`, of images of `size` pixels."""
    turn_key, scale_key, shift_key = jax.random.split(key, 3)
    draw = jax.random.uniform
    degrees = draw(turn_key, (), minval=-1.0) * config.max_rotation
    stretch = 1 + draw(scale_key, (2,), minval=-1.0) * config.max_scaling
    limit = config.max_shift * jnp.asarray(size, jnp.float32)
    return turned_and_stretched(degrees, stretch), draw(shift_key, (2,), minval=-1.0) * limit
