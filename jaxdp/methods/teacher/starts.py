"""The images before the first step of distillation: noise of a public seed, or generated ones."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from jaxdp.data import Spec
from jaxdp.images import smoothing
from jaxdp.images.packing import Packing
from jaxdp.kernels import preprocess
from jaxdp.kernels.kip import SupportSet
from jaxdp.methods.teacher.settings import Settings

# Images that have to look like something start as blurs, not as white noise: digits and garments
# as dark ones, for such is their background, and photographs as grey ones.
_DARK = {"mean": 0.1, "scale": 0.15, "smooth": 2.0}
_GREY = {"mean": 0.5, "scale": 0.15, "smooth": 1.0}


def initial_support(
    settings: Settings,
    spec: Spec,
    packing: Packing | None,
    *,
    blurred: bool,
    images: np.ndarray | None,
) -> SupportSet:
    """Return the images before the first step, each of which may be a small one.

    Args:
        settings: complete.
        spec: of the images.
        packing: of small images; None for records of a table.
        blurred: whether they start as blurs: grey ones where images have colours, or dark ones.
        images: (c, m, d) generated images to start from; None for noise.
    """
    if packing is None:
        # White noise, as one row of pixels.
        return initial_images(
            jax.random.key(settings.seed),
            ipc=settings.ipc,
            num_classes=spec.num_classes,
            image_shape=(1, spec.dim, 1),
        )
    each = settings.ipc * packing.count
    if images is not None:
        x = packing.reduced(jnp.asarray(representatives(images, each, seed=settings.seed)))
        labels = jnp.repeat(jnp.arange(spec.num_classes), each)
        return SupportSet(x, preprocess.centred_one_hot(labels, spec.num_classes))
    blur = _DARK if spec.shape[2] == 1 else _GREY
    return initial_images(
        jax.random.key(settings.seed),
        ipc=each,
        num_classes=spec.num_classes,
        image_shape=packing.small_shape,
        **(blur if blurred else {}),
    )


def initial_images(
    key: Key[Array, ""],
    *,
    ipc: int,
    num_classes: int,
    image_shape: tuple[int, int, int],
    mean: float = 0.5,
    scale: float = 0.25,
    smooth: float = 0.0,
) -> SupportSet:
    """Return `ipc` images of noise per class, in [0, 1], with centred one-hot labels.

    `clip(mean + scale N(0, 1), 0, 1)`; rows are ordered by class and independent of any data.

    Args:
        key: public.
        ipc: images per class, >= 1.
        num_classes: >= 2.
        image_shape: (h, w, channels); `d = h w channels`.
        mean: grey level of the start; near 0 for a dark one.
        scale: standard deviation before clipping.
        smooth: width in pixels of a Gaussian filter over the noise, whose standard deviation
            stays what it was; 0 for white noise.

    Raises:
        ValueError: fewer than one row per class or two classes, or a negative width.
    """
    if ipc < 1 or num_classes < 2:
        raise ValueError(f"need ipc >= 1 and num_classes >= 2, got {ipc} and {num_classes}")
    if not smooth >= 0:
        raise ValueError(f"smooth must be >= 0 pixels, got {smooth}")
    height, width, channels = image_shape
    labels = jnp.repeat(jnp.arange(num_classes), ipc)
    noise = jax.random.normal(key, (ipc * num_classes, height * width * channels), jnp.float32)
    if smooth > 0:
        noise = smoothing.smooth_rows(noise, shape=image_shape, width=smooth)
        noise = noise / jnp.std(noise)
    x = jnp.clip(mean + scale * noise, 0.0, 1.0)
    return SupportSet(x, preprocess.centred_one_hot(labels, num_classes))


def representatives(images: np.ndarray, ipc: int, *, seed: int) -> np.ndarray:
    """Return `ipc` of each class's images, the nearest to the centres that k-means finds.

    Centres themselves would be blurs.

    Args:
        images: (c, m, d), m of each class, m >= ipc.
        ipc: images per class, >= 1.
        seed: of k-means' start.

    Returns:
        (c * ipc, d), ordered by class; all different, where images are.
    """
    from sklearn.cluster import KMeans

    chosen = []
    for of_class in images:
        means = KMeans(ipc, n_init=1, random_state=seed).fit(of_class)
        distances = means.transform(of_class)  # (m, ipc)
        # An image stands for its own cluster alone, so none is chosen twice.
        distances[means.labels_[:, None] != np.arange(ipc)] = np.inf
        chosen.append(of_class[np.argmin(distances, axis=0)])
    return np.concatenate(chosen)
