"""How tests compile: quickly, as compilation is most of the suite.

LLVM makes machine code with next to no optimisation, which takes half of the time. What XLA makes
of a program stays as it is, but that its older emitters (jax 0.10) take half the time and memory of
the newer ones, and that it works in one part, as workers have one core each. Where XLA_FLAGS is
set, even to nothing, it counts: `XLA_FLAGS= make pytest` compiles as users do.
"""

from __future__ import annotations

from collections.abc import MutableMapping

_FLAGS = "XLA_FLAGS"
UNOPTIMISED = "JAX_DISABLE_MOST_OPTIMIZATIONS"
"""Beside flags of XLA it says that they are those of this file: workers inherit both."""
_ONE_PART = "--xla_cpu_parallel_codegen_split_count=1"
# XLA ends a process that names a flag it does not know: a version has those it takes.
_OF_VERSION = {
    (0, 10): f"{_ONE_PART} --xla_cpu_use_fusion_emitters=false",
    (0, 11): _ONE_PART,
    (0, 12): _ONE_PART,
}


def ask_for(environment: MutableMapping[str, str], version: tuple[int, ...]) -> bool:
    """Have a version of jax compile quickly; False where the user has flags, which stay."""
    if _FLAGS in environment and UNOPTIMISED not in environment:
        return False
    environment[UNOPTIMISED] = "1"
    if version[:2] in _OF_VERSION:
        environment[_FLAGS] = _OF_VERSION[version[:2]]
    return True
