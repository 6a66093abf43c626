"""The Frechet inception distance, by torch-fidelity and weights that the user has.

The network's weights cannot come with this package and are never downloaded. Real data are looked
at without noise, so the privacy guarantee of the images does not cover the answer.
"""

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from jaxdp.program.errors import InputError

_FLAG = "--inception_weights"
_PACKAGE = "torch-fidelity"


def require(weights: str) -> None:
    """Raise an `InputError` where the weights or the package are not there."""
    if not Path(weights).is_file():
        raise InputError(f"{_FLAG}={weights}: no such file")
    try:
        import torch_fidelity  # noqa: F401
    except ImportError as error:
        raise InputError(
            f'{_FLAG}={weights}: needs {_PACKAGE}, pip install -e ".[fid]" ({error})'
        ) from error


def inception_fid(
    x: np.ndarray, x_real: np.ndarray, shape: tuple[int, int, int], weights: str
) -> dict[str, Any]:
    """Return the FID of images in [0, 1] against real ones.

    Args:
        x: (n, d) synthetic images, flattened.
        x_real: (m, d) real ones. Only values from equally many images can be compared.
        shape: (h, w, channels); grey images are given the same value in all three channels.
        weights: file of the Inception network in torch-fidelity's format. Torch unpickles it: one
            that you trust.

    Returns:
        `value`, `num_synthetic`, `num_real` and what computed it, ready for JSON.

    Raises:
        InputError: the weights cannot be used.

    References:
        Heusel et al. (2017), "GANs trained by a two time-scale update rule", section 2.
    """
    require(weights)
    import torch
    import torch_fidelity

    try:
        found = torch_fidelity.calculate_metrics(
            input1=_dataset(x, shape),
            input2=_dataset(x_real, shape),
            fid=True,
            feature_extractor_weights_path=weights,
            cuda=torch.cuda.is_available(),
            cache=False,
            save_cpu_ram=True,  # no worker processes for arrays in memory
            verbose=False,
        )
    except (RuntimeError, pickle.UnpicklingError, EOFError, ValueError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise InputError(f"{_FLAG}={weights}: {lines[0]}") from error
    return {
        "value": float(found[torch_fidelity.KEY_METRIC_FID]),
        "num_synthetic": len(x),
        "num_real": len(x_real),
        "computed_by": f"{_PACKAGE} {torch_fidelity.__version__}, weights {Path(weights).name}",
    }


def _dataset(x: np.ndarray, shape: tuple[int, int, int]) -> Any:
    """Return images as torch-fidelity takes them: bytes, channels first."""
    import torch

    images = np.rint(255 * np.clip(x, 0.0, 1.0)).astype(np.uint8).reshape(-1, *shape)
    images = np.broadcast_to(images, (*images.shape[:3], 3)).transpose(0, 3, 1, 2)
    return torch.utils.data.Subset(torch.from_numpy(images.copy()), range(len(images)))
