"""Train the public encoder on random images, and write its weights.

    python -m experiments.public_encoder --out=FILE [--steps=N] [--seed=K]

No data are read: images are dead leaves in several sizes with noise of several spectra on them,
and what networks with random weights make of random codes. The network learns which two views are
of one image (alignment), and to spread images over a sphere (uniformity). The trunk's weights are
stored as float16. Another machine rounds otherwise, so its weights differ.

References:
    Baradad et al. (2021), "Learning to see by looking at noise" (images of random processes).
    Wang & Isola (2020), "Understanding contrastive representation learning through alignment and
        uniformity on the hypersphere", section 4 (the loss).
    Tang et al. (2023), "Differentially private image classification by learning priors from random
        processes" (for private training).
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key, UInt8
from tqdm import tqdm

from jaxdp.features import dead_leaves_images
from jaxdp.features.public_encoder import centred
from jaxdp.networks.encoder import Encoder

_SIDE, _SEEN = 48, 32  # pixels of a side of an image, and of a view of it
_BATCH, _RATE, _DECAY = 256, 3e-3, 1e-4
_UNIFORMITY_SCALE = 2.0
_GREY = 0.5
# Leaves of an image, their radii in pixels, and their contrast.
_LEAVES = (
    (150, (1.0, 16.0), 0.25),
    (60, (3.0, 20.0), 0.3),
    (300, (1.0, 10.0), 0.25),
    (100, (2.0, 24.0), 0.2),
    (40, (4.0, 24.0), 0.35),
)
_OF_ONE_NETWORK = 50
_CHANNELS, _CODE = 64, 64  # of a random network
_LEAST = 1e-6


def textured_leaves(key: Key[Array, ""], count: int) -> Iterator[UInt8[np.ndarray, "b s s 3"]]:
    """Yield dead leaves of all kinds, with noise whose power falls with frequency."""
    frequencies = np.hypot(*np.meshgrid(*(2 * [np.fft.fftfreq(_SIDE)])))
    frequencies[0, 0] = 1
    for kind, (leaves, radii, contrast) in enumerate(_LEAVES):
        leaves_key, noise_key = jax.random.split(jax.random.fold_in(key, kind))
        shape, each = (_SIDE, _SIDE, 3), count // len(_LEAVES)
        images = dead_leaves_images(
            leaves_key, each, shape, num_leaves=leaves, radii=radii, contrast=contrast
        )
        images = images.reshape(-1, _SIDE, _SIDE, 3)
        rng = np.random.default_rng(np.asarray(jax.random.key_data(noise_key)))
        for start in range(0, len(images), 1000):
            some = np.asarray(images[start : start + 1000])
            slopes = rng.uniform(0.5, 2, (len(some), 1, 1))
            white = np.fft.fft2(rng.standard_normal(some.shape[:3]))
            noise = np.fft.ifft2(white / frequencies**slopes).real
            noise *= rng.uniform(0, 0.15, (len(some), 1, 1)) / noise.std(axis=(1, 2), keepdims=True)
            yield _stored(some + noise[..., None])


def network_images(key: Key[Array, ""], count: int) -> Iterator[UInt8[np.ndarray, "b s s 3"]]:
    """Yield what networks with random weights make of random codes, 50 images of each network."""
    for number in range(-(-count // _OF_ONE_NETWORK)):
        yield _stored(np.asarray(_of_one_network(jax.random.fold_in(key, number))))


@jax.jit
def _of_one_network(key: Key[Array, ""]) -> Float[Array, "b s s 3"]:
    keys = iter(jax.random.split(key, 64))

    def normal(*shape: int) -> Array:
        return jax.random.normal(next(keys), shape)

    def convolved(x: Array, kernel: Array) -> Array:
        numbers = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=numbers)

    b, size = _OF_ONE_NETWORK, _SIDE // 8
    codes = 1.4 * jax.nn.leaky_relu(normal(b, _CODE) @ normal(_CODE, _CODE) / np.sqrt(_CODE), 0.2)
    x = jnp.repeat(normal(1, size, size, _CHANNELS), b, axis=0)
    image: Array = jnp.zeros((b, size, size, 3))
    for side in (size, 2 * size, 4 * size, 8 * size):
        x = jax.image.resize(x, (b, side, side, _CHANNELS), "linear")
        for _ in range(2):
            styles = 1 + codes @ normal(_CODE, _CHANNELS) / np.sqrt(_CODE)
            kernel = normal(3, 3, _CHANNELS, _CHANNELS) / np.sqrt(9 * _CHANNELS)
            x = convolved(x * styles[:, None, None], kernel)
            x = x / jnp.sqrt(jnp.mean(x**2, axis=(1, 2), keepdims=True) + _LEAST)
            noise = 0.2 * normal(b, side, side, 1) * normal(1, 1, 1, _CHANNELS)
            x = jax.nn.leaky_relu(x + 0.3 * normal(1, 1, 1, _CHANNELS) + noise, 0.2)
        colours = convolved(x, normal(1, 1, _CHANNELS, 3) / np.sqrt(_CHANNELS))
        image = colours + jax.image.resize(image, (b, side, side, 3), "linear")
    image = image - image.mean(axis=(1, 2), keepdims=True)
    image = image / image.std(axis=(1, 2, 3), keepdims=True)
    grey = image.mean(axis=3, keepdims=True)
    pale = grey + 0.6 * (image - grey)  # photographs differ more in light than in colour
    return _GREY + 0.1 * normal(b, 1, 1, 1) + 0.22 * pale


def _stored(images: np.ndarray) -> UInt8[np.ndarray, "b s s 3"]:
    return (255 * np.clip(images, 0, 1)).astype(np.uint8)


def view(key: Key[Array, ""], image: Float[Array, "s s 3"]) -> Float[Array, "v v 3"]:
    """Return a part of an image in [0, 1], perhaps mirrored, in other colours; of mean 0, about."""
    keys = jax.random.split(key, 7)
    area = jax.random.uniform(keys[0], minval=0.1)
    ratio = jnp.exp(jax.random.uniform(keys[1], minval=-0.29, maxval=0.29))
    sides = jnp.minimum(_SIDE * jnp.sqrt(area * jnp.stack([ratio, 1 / ratio])), _SIDE)
    start = jax.random.uniform(keys[2], (2,)) * (_SIDE - sides)
    scale = _SEEN / sides
    part = jax.image.scale_and_translate(
        image, (_SEEN, _SEEN, 3), (0, 1), scale, -start * scale, method="linear"
    )
    part = jnp.where(jax.random.bernoulli(keys[3]), part[:, ::-1], part)
    light, contrast, colour = 1 + 0.4 * jax.random.uniform(keys[4], (3,), minval=-1)
    part = part * light
    part = (part - part.mean()) * contrast + part.mean()
    grey = part.mean(axis=2, keepdims=True)
    part = grey + colour * (part - grey) + 0.1 * jax.random.uniform(keys[5], (3,), minval=-1)
    part = jnp.where(jax.random.bernoulli(keys[6], 0.2), part.mean(axis=2, keepdims=True), part)
    return centred(jnp.clip(part, 0, 1))


def loss(a: Float[Array, "n z"], b: Float[Array, "n z"]) -> Float[Array, ""]:
    """Return alignment of two views of each image, and uniformity of images, on the sphere."""

    def uniformity(z: Array) -> Array:
        distances = 2 - 2 * z @ z.T
        others = jnp.exp(-_UNIFORMITY_SCALE * distances) * (1 - jnp.eye(len(z)))
        return jnp.log(others.sum() / (len(z) * (len(z) - 1)))

    alignment = jnp.mean(jnp.sum((a - b) ** 2, axis=1))
    return alignment + (uniformity(a) + uniformity(b)) / 2


def train(images: UInt8[np.ndarray, "n s s 3"], steps: int, seed: int, out: Path) -> None:
    """Train an encoder on images, and write its trunk now and then."""
    network: Any = Encoder()
    start_key, steps_key = jax.random.split(jax.random.key(seed))
    params = network.init(start_key, jnp.zeros((1, _SEEN, _SEEN, 3)))
    schedule = optax.cosine_onecycle_schedule(steps, _RATE, pct_start=0.05)
    optimizer = optax.adamw(schedule, weight_decay=_DECAY)
    state = optimizer.init(params)

    @jax.jit
    def step(key: Array, params: Any, state: Any, stored: Array) -> tuple[Any, Any, Array]:
        x = stored.astype(jnp.float32) / 255
        keys = jax.random.split(key, (2, len(x)))

        def of(params: Any) -> Array:
            return loss(*(network.apply(params, jax.vmap(view)(each, x)) for each in keys))

        value, gradient = jax.value_and_grad(of)(params)
        updates, state = optimizer.update(gradient, state, params)
        return optax.apply_updates(params, updates), state, value

    rng = np.random.default_rng(seed)
    with tqdm(range(steps), unit="step") as bar:
        for number in bar:
            chosen = images[rng.integers(0, len(images), _BATCH)]
            key = jax.random.fold_in(steps_key, number)
            params, state, value = step(key, params, state, chosen)
            if number % 100 == 99 or number + 1 == steps:
                bar.set_postfix(loss=f"{float(value):.3f}")
                write(params["params"]["trunk"], out)


def write(trunk: Any, out: Path) -> None:
    """Write a trunk's weights as float16, by their paths."""
    paths = jax.tree_util.tree_leaves_with_path(trunk)
    named = {jax.tree_util.keystr(path, simple=True, separator="/"): leaf for path, leaf in paths}
    np.savez(out, **{name: np.asarray(leaf, np.float16) for name, leaf in named.items()})  # type: ignore[arg-type]


def main() -> None:
    """Draw images, and train."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="file for the weights (npz)")
    parser.add_argument(
        "--steps", type=int, default=1900, help="of 256 images, 1.8 s each on two cores"
    )
    parser.add_argument("--seed", type=int, default=0, help="of images, weights and views")
    parser.add_argument("--num_images", type=int, default=50_000, help="half of them are leaves")
    args = parser.parse_args()
    if args.steps < 1 or args.num_images < 10:
        parser.error("--steps is at least 1, and --num_images at least 10")
    started = time.perf_counter()
    leaves_key, networks_key = jax.random.split(jax.random.key(args.seed + 1))
    half = args.num_images // 2
    images = [*textured_leaves(leaves_key, half), *network_images(networks_key, half)]
    print(f"{sum(map(len, images))} images in {time.perf_counter() - started:.0f} s")
    train(np.concatenate(images), args.steps, args.seed, args.out)


if __name__ == "__main__":
    main()
