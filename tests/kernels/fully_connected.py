"""The fully connected kernels that tests take one after the other."""

from __future__ import annotations

from jaxdp import kernels

FACTORIES = {"ntk": kernels.fc_ntk, "nngp": kernels.fc_nngp}
KINDS = sorted(FACTORIES)
