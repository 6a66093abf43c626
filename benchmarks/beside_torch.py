"""Seconds of a teacher's features beside torch on the same work: scattering and patches.

    python benchmarks/beside_torch.py --torch_python=PYTHON [--quick] [--out=FILE]

PYTHON is another Python, which has torch and kymatio (on Debian, `apt install python3-torch`, and
`pip install kymatio` in a virtual environment with `--system-site-packages`). Scattering is that of
kymatio's torch backend. Patches are one convolution of torch with all words, and what follows of
it. Both sides get the same numbers, and their results are compared.
Without `--torch_python` nothing is beside ours.
"""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _harness import (
    Measurement,
    argument_parser,
    isolated,
    measure,
    record,
    report,
    seconds_alone,
)

from jaxdp.features import levels, patches, scattering

_TORCH_SIDE = Path(__file__).with_name("_torch_features.py")
# What is computed, images (n, h, w, channels), and whether it is pulled back.
_CASES = (
    ("scattering", (256, 28, 28), False),
    ("scattering", (256, 28, 28), True),
    ("scattering", (768, 32, 32), False),
    ("scattering", (768, 32, 32), True),
    ("patches", (256, 32, 32, 3), False),
)
_QUICK_CASES = (("scattering", (3, 8, 8), True), ("patches", (3, 8, 8, 3), False))
_WORDS, _QUICK_WORDS = 512, 4
_TOLERANCE = 2e-3  # of float32 results, of the largest value
Arrays = dict[str, np.ndarray]


def inputs(what: str, shape: tuple[int, ...], pulled_back: bool, quick: bool) -> Arrays:
    """Return what both sides are given."""
    rng = np.random.default_rng(0)
    arrays = {"x": rng.random(shape, np.float32)}
    if what == "patches":
        words = _QUICK_WORDS if quick else _WORDS
        arrays["filters"] = patches.dictionary(jax.random.key(0), words, shape[-1])
        for name, side in zip(("down", "across"), shape[1:3], strict=True):
            places = side - patches.SIDE + 1
            arrays[name] = levels.averaging(places, 2).astype(np.float32)  # of halves of a side
    if pulled_back:
        out = jax.eval_shape(scattering.scattering, jnp.asarray(arrays["x"])).shape
        arrays["cotangent"] = rng.standard_normal(out, np.float32)
    return arrays


def ours(what: str, arrays: Arrays) -> tuple[Measurement, np.ndarray]:
    """Measure our features."""
    given = [jnp.asarray(arrays["x"])]
    function: Any = scattering.scattering
    if what == "patches":
        shape = arrays["x"].shape[1:]
        found = patches.patch_features(shape, arrays["filters"], mirror=True)
        function, given = found, [given[0].reshape(len(given[0]), -1)]
    if "cotangent" in arrays:
        given.append(jnp.asarray(arrays["cotangent"]))
        function = _pulled_back
    measured = measure(jax.jit(function), *given)
    assert measured is not None
    return measured[0], np.asarray(measured[1])


def _pulled_back(x: jax.Array, cotangent: jax.Array) -> jax.Array:
    return jax.vjp(scattering.scattering, x)[1](cotangent)[0]


def theirs(python: str, what: str, arrays: Arrays) -> tuple[float, np.ndarray, str]:
    """Return the seconds that torch takes, what it returns, and its versions."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "arrays.npz", **arrays)  # type: ignore[arg-type]
        subprocess.run([python, str(_TORCH_SIDE), folder, what], check=True)
        with np.load(Path(folder) / "result.npz") as stored:
            return float(stored["seconds"]), stored["result"], str(stored["versions"])


def records(python: str | None, quick: bool) -> Iterator[dict[str, Any]]:
    """Measure both sides in every case, and compare what they return."""
    for what, shape, pulled_back in _QUICK_CASES if quick else _CASES:
        arrays = isolated(inputs, what, shape, pulled_back, quick)
        mine, result = isolated(ours, what, arrays)
        beside, versions = None, None
        if python:
            seconds, expected, versions = theirs(python, what, arrays)
            atol = _TOLERANCE * np.abs(expected).max()
            np.testing.assert_allclose(result, expected.reshape(result.shape), atol=atol)
            beside = seconds_alone(seconds)
        size = "x".join(map(str, shape[1:]))
        case = f"{what}{', vjp' * pulled_back} n={shape[0]} {size}"
        yield record(case, mine, beside, beside=versions)


def main() -> None:
    """Run the benchmark."""
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--torch_python", help="a Python that has torch and kymatio")
    args = parser.parse_args()
    columns = ("seconds", "baseline_seconds", "ratio", "beside")
    report(records(args.torch_python, args.quick), columns=columns, out=args.out)


if __name__ == "__main__":
    main()
