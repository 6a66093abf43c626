"""The torch side of `beside_torch.py`, run by a Python that has torch and kymatio, not jax.

    python benchmarks/_torch_features.py FOLDER CASE

`FOLDER/arrays.npz` has the inputs; `FOLDER/result.npz` gets the seconds of the fastest run, what it
returned and the versions.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch  # type: ignore[import-not-found, unused-ignore]

_SECONDS, _RUNS = 3.0, 3
_CHUNK = 4  # images at once: the fastest of 1, 4, 8, 16, 32 and 256
_VARIANCE_FLOOR, _THRESHOLD = 0.01, 0.5


def scattering(arrays: dict[str, Any]) -> Callable[[], Any]:
    """Return kymatio's transform of images (n, h, w), without its 3-D part."""
    from kymatio.scattering2d.frontend.torch_frontend import ScatteringTorch2D

    x = arrays["x"]
    transform = ScatteringTorch2D(2, tuple(x.shape[1:]))
    if "cotangent" not in arrays:
        return lambda: transform(x)

    def pulled_back() -> Any:
        seen = x.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(transform(seen), seen, arrays["cotangent"])
        return gradient

    return pulled_back


def patches(arrays: dict[str, Any]) -> Callable[[], Any]:
    """Return features of patches, by convolutions of a few images with all words."""
    images = arrays["x"].permute(0, 3, 1, 2).contiguous()
    words = arrays["filters"].permute(3, 2, 0, 1).contiguous()
    side, half = words.shape[2], len(words) // 2

    def mean_of_patches(values: Any) -> Any:
        return torch.nn.functional.avg_pool2d(values, side, 1).mean(1, keepdim=True)

    def features(x: Any) -> Any:
        mean = mean_of_patches(x)
        variance = (mean_of_patches(x**2) - mean**2).clamp(min=0)
        looks = torch.nn.functional.conv2d(x, words)
        looks = (looks - mean * words.sum((1, 2, 3))[None, :, None, None]) * torch.rsqrt(
            variance + _VARIANCE_FLOOR
        )
        found = []
        for sign in (1, -1):
            above = (sign * looks - _THRESHOLD).clamp(min=0)
            means = arrays["down"] @ above @ arrays["across"].T
            found.append(means[:, :half] + means[:, half:].flip(3))
        return torch.stack(found, 1).permute(0, 1, 3, 4, 2).reshape(len(x), -1)

    return lambda: torch.cat([features(x) for x in images.split(_CHUNK)])


def main() -> None:
    """Time one case."""
    folder, case = Path(sys.argv[1]), sys.argv[2]
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    with np.load(folder / "arrays.npz") as stored:
        arrays = {name: torch.from_numpy(stored[name]) for name in stored.files}
    run = {"scattering": scattering, "patches": patches}[case](arrays)
    result = run()
    fastest, began, runs = float("inf"), time.perf_counter(), 0
    while runs < _RUNS or time.perf_counter() - began < _SECONDS:
        started = time.perf_counter()
        result = run()
        fastest, runs = min(fastest, time.perf_counter() - started), runs + 1
    versions = f"torch {torch.__version__}, {torch.get_num_threads()} threads"
    np.savez(folder / "result.npz", seconds=fastest, result=result.numpy(), versions=versions)


if __name__ == "__main__":
    main()
