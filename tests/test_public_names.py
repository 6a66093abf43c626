"""What `import jaxdp` gives: rooms and their names, imported when they are used."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import jaxdp

NAMES = ("JaxdpWarning", "Private", "SettingsError", "Spec", "load", "run")
ROOMS = [f"jaxdp.{room}" for room in jaxdp.__all__ if room not in NAMES]
METHODS = [f"jaxdp.methods.{name}" for name in ("dp_kip", "dp_ntk", "marginals", "teacher")]


@pytest.mark.parametrize("name", ["jaxdp", *ROOMS, *METHODS])
def test_a_package_has_the_names_that_it_lists(name: str) -> None:
    package = importlib.import_module(name)
    assert package.__doc__
    listed = getattr(package, "__all__", [])
    assert listed == sorted(set(listed), key=listed.index)
    for each in listed:
        assert getattr(package, each) is not None
        assert each in dir(package)


def test_help_names_every_room() -> None:
    for name in (*ROOMS, *(f"jaxdp.{each}" for each in NAMES)):
        assert name in str(jaxdp.__doc__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="precision"):
        jaxdp.precision  # noqa: B018


def test_importing_jaxdp_imports_no_jax() -> None:
    code = "import sys, jaxdp; assert 'jax' not in sys.modules; jaxdp.kernels.fc_ntk()"
    subprocess.run([sys.executable, "-c", code], check=True)
