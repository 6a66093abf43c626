"""A folder as experiments.dp_ntk leaves it, without running it."""

from __future__ import annotations

import math
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from jaxdp.data import Spec
from jaxdp.methods import dp_ntk
from jaxdp.methods.dp_ntk.features import FeatureOptions
from jaxdp.methods.settings import part_of
from jaxdp.methods.stored import Stored
from jaxdp.privacy import certificates, releases
from jaxdp.privacy.certificates import Terms
from jaxdp.privacy.ledger import Ledger
from jaxdp.program.runs import released
from jaxdp.program.runs import start as run_start
from jaxdp.program.runs.folder import RunFolder
from jaxdp.program.runs.release_log import ReleaseLog

GENERATED_EPS = 2.0
_DELTA = 1e-5


def written(
    path: Path,
    *,
    eps: float = GENERATED_EPS,
    mu: float = 0.0,
    seeded: bool = False,
    class_names: tuple[str, ...] | None = None,
    **arrays: np.ndarray,
) -> Path:
    """A folder as experiments.dp_ntk leaves it, with four images of every digit."""
    planned = releases.calibrate(
        {dp_ntk.EMBEDDING: 2 / 1437, dp_ntk.WEIGHTS: 2**0.5 / 1437},
        target_epsilon=eps,
        delta=_DELTA,
    )
    ledger = Ledger(num_examples=1437, delta=_DELTA, releases=planned, seeded_noise=seeded)
    terms = Terms(covers=("everything",), target_epsilon=None if math.isinf(eps) else eps)
    certificate = certificates.certify(ledger, terms)
    x = np.arange(40).reshape(40, 1, 1, 1) % 17 * np.ones((1, 8, 8, 1))
    saved = {"x": x.astype(np.float32), "y": np.repeat(np.arange(10), 4)} | arrays
    stored = Stored(
        released=dp_ntk.Released(jnp.full((10, 7), mu), jnp.full(10, 0.1)),
        options=_options(),
        example_shape=(8, 8, 1),
        num_classes=10,
        certificate=certificate,
        source="",
        class_names=class_names,
    )
    with RunFolder(path, resume=False, overwrite=False) as folder:
        released.write(ReleaseLog(folder), "embedding.npz", dp_ntk.FORM, stored)
        folder.write_npz("synthetic.npz", **saved)
        run_start.finish(folder, certificate, ("embedding.npz", "synthetic.npz"))
    return path


def _options() -> FeatureOptions:
    spec = Spec.images("digits", (1437, 8, 8), class_names=list("0123456789"), low=0, high=16)
    return part_of(dp_ntk.complete(dp_ntk.Settings(), spec), FeatureOptions)
