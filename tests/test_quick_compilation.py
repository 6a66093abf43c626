"""Workers compile as quickly as the process that starts them, and as users do where asked to."""

from __future__ import annotations

import os

import jax
import pytest
from support import quick_compilation


@pytest.mark.parametrize("version", [(0, 5, 3), (0, 10, 2), (0, 12, 0)])
def test_a_worker_compiles_quickly_as_well(version: tuple[int, ...]) -> None:
    environment: dict[str, str] = {}
    assert quick_compilation.ask_for(environment, version)
    of_worker = dict(environment)
    assert quick_compilation.ask_for(of_worker, version)
    assert of_worker == environment


@pytest.mark.parametrize("flags", ["", "--xla_force_host_platform_device_count=8"])
def test_the_users_flags_count(flags: str) -> None:
    environment = {"XLA_FLAGS": flags}
    assert not quick_compilation.ask_for(environment, jax.__version_info__)
    assert environment == {"XLA_FLAGS": flags}


def test_a_version_whose_flags_are_not_known_gets_none() -> None:
    environment: dict[str, str] = {}
    assert quick_compilation.ask_for(environment, (0, 5, 3))
    assert "XLA_FLAGS" not in environment


def test_this_process_compiles_as_its_environment_says() -> None:
    unoptimised = quick_compilation.UNOPTIMISED in os.environ
    assert jax.config.read("jax_disable_most_optimizations") == unoptimised
