"""Write fc_kernels.npz: neural-tangents' own values of the fully connected kernels.

Run in an environment with neural-tangents (`pip install -e ".[nt]"`):

    python tests/kernels/golden/make_fc_kernels.py
"""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
from neural_tangents import stax

DEPTHS = (0, 1, 2, 5)
STDS = ((2**0.5, 0.1), (2**0.5, 0.0), (1.0, 1.0), (1.7, 0.05))  # of weights and of biases
KINDS = ("ntk", "nngp")


def points() -> tuple[np.ndarray, np.ndarray]:
    """Return rows of every awkward kind: `z` looks back at `x`."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 12))
    z = np.stack(
        [
            rng.normal(size=12),
            rng.uniform(size=12),
            x[0],
            -x[1],
            3.7 * x[2],
            -0.01 * x[2],
            x[3] + 1e-2 * rng.normal(size=12),
            np.zeros(12),
            1e-6 * rng.normal(size=12),
            1e4 * rng.normal(size=12),
        ]
    )
    x = np.concatenate([x, np.zeros((1, 12)), 1e-6 * x[:1], 1e4 * x[1:2]])
    return x, z


def main() -> None:
    """Compute and save."""
    jax.config.update("jax_enable_x64", True)
    x, z = points()
    shape = (len(KINDS), len(DEPTHS), len(STDS), len(x))
    cross, symmetric = np.zeros((*shape, len(z))), np.zeros((*shape, len(x)))
    for i, depth in enumerate(DEPTHS):
        for j, (weight_std, bias_std) in enumerate(STDS):
            dense = stax.Dense(1, W_std=weight_std, b_std=bias_std)
            kernel_fn = stax.serial(*[dense, stax.Relu()] * depth, dense)[2]
            for kind, get in enumerate(KINDS):
                cross[kind, i, j] = kernel_fn(x, z, get)
                symmetric[kind, i, j] = kernel_fn(x, None, get)
    np.savez_compressed(
        Path(__file__).with_name("fc_kernels.npz"),
        x=x,
        z=z,
        kinds=KINDS,
        depths=DEPTHS,
        stds=STDS,
        cross=cross,
        symmetric=symmetric,
    )


if __name__ == "__main__":
    main()
