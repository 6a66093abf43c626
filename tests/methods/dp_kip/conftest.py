"""The data and the support of the small problem of DP-KIP (`kip_problem`)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kip_problem import IPC, C, D, N

from jaxdp.methods import dp_kip


@pytest.fixture
def data() -> tuple[jax.Array, jax.Array]:
    rng = np.random.default_rng(0)
    labels = np.arange(N) % C
    centres = 2 * rng.normal(size=(C, D))
    x = centres[labels] + rng.normal(size=(N, D))
    return jnp.asarray(x, jnp.float32), jnp.asarray(labels, jnp.int32)


@pytest.fixture
def support() -> dp_kip.SupportSet:
    return dp_kip.initial_support(jax.random.key(3), ipc=IPC, num_classes=C, dim=D)
