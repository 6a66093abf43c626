"""How every driver's run starts: its folder, its warnings, its settings and its certificate."""

import contextlib
import dataclasses
import importlib.metadata
import math
import platform
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import jax

from experiments.data import Dataset
from experiments.run_folder import RunFolder

_PACKAGES = ("jaxdp", "jax", "jaxlib", "flax", "optax", "numpy", "dp-accounting", "autodp")


class RunFlags(Protocol):
    """The flags that say what to do with a folder that is there already."""

    @property
    def resume(self) -> bool: ...  # noqa: D102
    @property
    def overwrite(self) -> bool: ...  # noqa: D102


class Planned(Protocol):
    """A checked run."""

    @property
    def settings(self) -> RunFlags: ...  # noqa: D102
    @property
    def out_dir(self) -> str: ...  # noqa: D102
    def fixed_config(self) -> dict[str, Any]: ...  # noqa: D102
    def config(self) -> dict[str, Any]: ...  # noqa: D102


@contextlib.contextmanager
def started(
    plan: Planned, certificate: Mapping[str, Any], *, num_bytes: int
) -> Iterator[RunFolder]:
    """Open the run's folder and write config.json and privacy.json before anything else.

    Args:
        plan: what is run.
        certificate: of everything the run may release. It counts every planned step, so it holds
            for whatever a killed run leaves behind.
        num_bytes: about what the run will write.

    Raises:
        InputError: the folder is in use or holds another run, or the disk is full.
    """
    flags = plan.settings
    folder = RunFolder(plan.out_dir, resume=flags.resume, overwrite=flags.overwrite)
    if flags.resume:
        folder.require_same_config(plan.fixed_config())
    folder.require_space(num_bytes)
    for warning in certificate["warnings"]:
        print(f"WARNING: {warning}", file=sys.stderr)
    with folder:
        folder.write_json("config.json", plan.config())
        folder.write_json("privacy.json", dict(certificate))
        yield folder


def fixed_config(
    parts: tuple[Any, ...], *, leave_out: tuple[str, ...], eps: float, data: Dataset
) -> dict[str, Any]:
    """Return what must be the same for a run and its resumption, as JSON.

    Args:
        parts: dataclasses of settings, later ones in the place of earlier ones.
        leave_out: their fields that a resumed run may change.
        eps: the budget; None in JSON stands for inf.
        data: what is private.
    """
    config: dict[str, Any] = {}
    for part in parts:
        config |= dataclasses.asdict(part)
    return {name: value for name, value in config.items() if name not in leave_out} | {
        "eps": None if math.isinf(eps) else eps,
        "num_examples": len(data.x_train),
        "example_shape": list(data.shape),
    }


def versions() -> dict[str, str]:
    """Return the versions of what computes, for config.json."""
    found = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return found | {"python": platform.python_version()}


def device_name() -> str:
    """Return the device that computes, for metrics.json."""
    device = jax.devices()[0]
    return f"{device.platform}: {device.device_kind}"
