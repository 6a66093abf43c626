"""Sets that no default was chosen on, built from what packages ship or drawn from a fixed seed."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np

from jaxdp.features.levels import averaging

_SEED = 1809
_NUM_TEST = 500
_TISSUES = ("sparse nuclei", "dense nuclei", "fibres")
# Lobes, length over width, depth of the teeth.
_LEAVES = ((0, 1.0, 0.0), (0, 2.2, 0.0), (3, 1.2, 0.0), (5, 1.2, 0.25), (0, 1.4, 0.3))
_STAIN, _GROUND = np.array([0.35, 0.2, 0.55]), np.array([0.92, 0.75, 0.85])


@dataclasses.dataclass(frozen=True)
class Set:
    """Images uint8 (n, h, w, channels) with labels, in two parts."""

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return int(self.y_test.max()) + 1


def split(x: np.ndarray, y: np.ndarray, size: int) -> Set | None:
    """Return `size` examples and a test part of the others; None where there are too few."""
    order = np.random.default_rng(_SEED).permutation(len(x))
    train, rest = order[:size], order[size:][:_NUM_TEST]
    if len(train) < size or len(rest) < 100:
        return None
    return Set(x[train], y[train].astype(np.int32), x[rest], y[rest].astype(np.int32))


def coloured_digits(size: int, data_dir: Path) -> Set | None:
    """Return scikit-learn's digits, 16 x 16, in a light colour on a dark one."""
    del data_dir
    from sklearn.datasets import load_digits

    digits = load_digits()
    grey = np.kron(digits.images / 16, np.ones((1, 2, 2)))[..., None]
    rng = np.random.default_rng(_SEED)
    ground = 0.5 * rng.random((len(grey), 1, 1, 3))
    ink = 0.5 + 0.5 * rng.random((len(grey), 1, 1, 3))
    return split(_bytes(ground + grey * (ink - ground)), digits.target, size)


def small_digits(size: int, data_dir: Path) -> Set | None:
    """Return MNIST's digits averaged down to 16 x 16, the size of the USPS digits."""
    file = data_dir / "mnist.npz"
    if not file.exists():
        return None
    with np.load(file) as arrays:
        x, y = arrays["x_train"][:6000], arrays["y_train"][:6000]
    down = averaging(28, 16)
    grey = np.einsum("ih,nhw,jw->nij", down, x.reshape(-1, 28, 28) / 255, down)
    return split(_bytes(grey[..., None]), y, size)


def tissues(size: int, data_dir: Path) -> Set | None:
    """Return drawings like stained tissue, 16 x 16 in colour, of three kinds."""
    del data_dir
    rng = np.random.default_rng(_SEED)
    y = rng.integers(0, len(_TISSUES), size + _NUM_TEST)
    return split(np.stack([_tissue(rng, kind) for kind in y]), y, size)


def _tissue(rng: np.random.Generator, kind: int, side: int = 16) -> np.ndarray:
    rows, columns = np.mgrid[:side, :side]
    dark = np.zeros((side, side))
    count, long, short = ((3, 1.8, 1.6), (9, 1.3, 1.1), (4, 5.0, 0.7))[kind]
    slant = rng.uniform(0, np.pi)  # fibres of an image lie alike
    for _ in range(rng.poisson(count) + 1):
        angle = slant + rng.normal(0, 0.2) if kind == 2 else rng.uniform(0, np.pi)
        down, right = rows - rng.uniform(0, side), columns - rng.uniform(0, side)
        along = np.cos(angle) * down + np.sin(angle) * right
        across = np.cos(angle) * right - np.sin(angle) * down
        far = (along / (long * rng.uniform(0.7, 1.3))) ** 2 + (across / short) ** 2
        dark = np.maximum(dark, rng.uniform(0.5, 1) * np.exp(-(far**2)))
    stain = _STAIN + rng.normal(0, 0.08, 3)
    ground = _GROUND + rng.normal(0, 0.06, 3)
    image = ground + dark[..., None] * (stain - ground) + rng.normal(0, 0.05, (side, side, 3))
    return _bytes(image)


def leaves(size: int, data_dir: Path) -> Set | None:
    """Return drawings of leaves on paper, 32 x 32 in colour, of five kinds."""
    del data_dir
    rng = np.random.default_rng(_SEED)
    y = rng.integers(0, len(_LEAVES), size + _NUM_TEST)
    return split(np.stack([_leaf(rng, *_LEAVES[kind]) for kind in y]), y, size)


def _leaf(
    rng: np.random.Generator, lobes: int, long: float, teeth: float, side: int = 32
) -> np.ndarray:
    rows, columns = np.mgrid[:side, :side] + 0.5
    slant, size = rng.uniform(0, 2 * np.pi), side * rng.uniform(0.28, 0.42)
    down, right = (axis - side / 2 - rng.normal(0, 1.5) for axis in (rows, columns))
    along = np.cos(slant) * down + np.sin(slant) * right
    across = (np.cos(slant) * right - np.sin(slant) * down) * long * rng.uniform(0.9, 1.1)
    angle = np.arctan2(across, along)
    waves = 0.28 * np.cos(lobes * angle) * rng.uniform(0.6, 1.2) if lobes else 0.0
    notches = 0.35 * teeth * np.sign(np.sin(rng.integers(14, 20) * angle))
    inside = np.clip(0.7 * (size * (1 + waves + notches) - np.hypot(along, across)) + 0.5, 0, 1)
    vein = 0.15 * np.exp(-(across**2)) * (along < size)
    paper = np.array([0.9, 0.88, 0.82]) + rng.normal(0, 0.05, 3)
    leaf = np.array([0.25, 0.45, 0.18]) + rng.normal(0, 0.09, 3) + vein[..., None]
    image = paper + inside[..., None] * (leaf - paper)
    light = rng.uniform(0, 2 * np.pi)
    shade = 1 + 0.25 * (np.cos(light) * down + np.sin(light) * right) / side
    return _bytes(image * shade[..., None] + rng.normal(0, 0.04, image.shape))


def _bytes(unit: np.ndarray) -> np.ndarray:
    return np.rint(255 * np.clip(unit, 0, 1)).astype(np.uint8)


SETS: dict[str, Callable[[int, Path], Set | None]] = {
    "coloured_digits": coloured_digits,
    "small_digits": small_digits,
    "tissues": tissues,
    "leaves": leaves,
}
