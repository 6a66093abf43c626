"""Programs keep freed memory where the C library is glibc, and run as well where it is not."""

import ctypes
import types

from jaxdp.program import memory


def test_large_arrays_come_from_the_heap_and_not_from_maps(monkeypatch):
    said = {}
    library = types.SimpleNamespace(mallopt=lambda option, value: said.update({option: value}))
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    memory.keep_freed()
    # M_MMAP_MAX, M_ARENA_MAX and M_TRIM_THRESHOLD of glibc's malloc.h.
    assert said == {-4: 0, -8: 2, -1: 256 * 2**20}


def test_other_c_libraries_are_left_alone(monkeypatch):
    def refuse(name):
        raise OSError("no such library")

    monkeypatch.setattr(ctypes, "CDLL", lambda name: types.SimpleNamespace())
    memory.keep_freed()
    monkeypatch.setattr(ctypes, "CDLL", refuse)
    memory.keep_freed()
