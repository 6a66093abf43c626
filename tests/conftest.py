"""Run-time checks of shapes and types, 64-bit mode and a compilation cache, for the whole suite."""

from __future__ import annotations

import gc
import importlib
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import jax
import jaxtyping
import pytest
from support import quick_compilation

from jaxdp.program import program_cache

# Compilation is most of the suite's time. Programs are kept for the next run, and workers and the
# programs that tests start share them. A half-written entry of a run that was killed, or is being
# written, does not unpack: it is compiled anew. JAXDP_TESTS_CACHE names another folder.
_CACHE = Path(
    os.environ.get("JAXDP_TESTS_CACHE") or Path(__file__).parents[1] / ".pytest_cache" / "programs"
)
_MOST_BYTES = 10**9
if "PYTEST_XDIST_WORKER" not in os.environ:  # before there are workers
    if sum(path.stat().st_size for path in _CACHE.glob("*")) > _MOST_BYTES:
        shutil.rmtree(_CACHE)
    _CACHE.mkdir(parents=True, exist_ok=True)
for _name, _value in {
    "jax_compilation_cache_dir": str(_CACHE),
    "jax_persistent_cache_min_compile_time_secs": 0.0,  # most programs are tiny
    "jax_persistent_cache_min_entry_size_bytes": -1,
}.items():
    if program_cache.is_right():
        jax.config.update(_name, _value)  # jax has read its environment by now
        os.environ[_name.upper()] = str(_value)  # of programs that tests start

if quick_compilation.ask_for(os.environ, jax.__version_info__):
    jax.config.update("jax_disable_most_optimizations", True)  # its environment was read by now

# What runs keep of public computations stays out of the user's own cache folder.
os.environ["XDG_CACHE_HOME"] = str(_CACHE.with_name("public"))

# jax keeps many small objects, and looking through them for garbage takes an eighth of the time:
# that is done once a module.
gc.disable()

# Commands that a shell starts in the background ignore Ctrl-C, and so do the programs they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Settings check the types of their fields themselves, and are None before `complete`: they are
# imported before annotations are checked.
for _method in ("dp_kip", "teacher", "dp_ntk"):
    importlib.import_module(f"jaxdp.methods.{_method}.settings")

# Must come before anything else imports jaxdp. The program has no arrays of its own to check.
_LIBRARY = [
    f"jaxdp.{path.stem}"
    for path in (Path(__file__).parents[1] / "jaxdp").iterdir()
    if path.stem not in ("__init__", "__main__", "program")
]
jaxtyping.install_import_hook(_LIBRARY, "beartype.beartype")

from jaxdp import numerics  # noqa: E402
from jaxdp.methods import words  # noqa: E402

# Most tests read messages as the command line has them, whoever says them.
words.show_flags()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run files with slow tests first, so that workers end together.

    Toy data are few, of which `jaxdp.run` warns.
    """
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("ignore::jaxdp.JaxdpWarning"), append=False)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="module", autouse=True)
def free_memory() -> Iterator[None]:
    """Drop a module's programs: the next one has few of them, and they are on the disk."""
    yield
    jax.clear_caches()
    gc.collect()
    gc.freeze()  # what is left stays, and is not looked through again


@pytest.fixture
def python_words() -> Iterator[None]:
    """Let messages name settings as Python does, outside of the command line."""
    words.show_flags(False)
    yield
    words.show_flags()


@pytest.fixture
def float64() -> Iterator[None]:
    """Run a test in jax's 64-bit mode."""
    with numerics.float64():
        yield


@pytest.fixture(scope="module")
def few_public_images(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whiten public maps by a small set of images, kept in a folder of this run of the tests."""
    from jaxdp.features import patches, second_layer, whitening
    from jaxdp.methods.dp_kip import kernels

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whitening, "_NUM_IMAGES", 200)
        patch.setattr(kernels, "_NUM_IMAGES", 100)
        patch.setattr(patches, "_NUM_IMAGES", 60)
        patch.setattr(second_layer, "_NUM_IMAGES", 60)
        patch.setattr(second_layer, "_CELL_IMAGES", 20)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
