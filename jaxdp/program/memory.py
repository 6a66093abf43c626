"""How a program keeps memory that it has freed: the next step needs as much again."""

import contextlib
import ctypes

# Of glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8
_KEPT_BYTES = 256 * 2**20
# Threads that multiply wait for one another in a single heap: a step of a teacher's distillation
# took 1.8 s with it, 1.5 s with two heaps and 1.3 s with as many as threads. But then other arrays
# are mapped anew: 150 steps of a generator took 10 s with one or two heaps and 13 s with all.
_HEAPS = 2


def keep_freed() -> None:
    """Let the C library keep freed memory, up to 256 MB of it at the end of its heap.

    By default every large array is mapped anew and given back, and the kernel clears its pages each
    time: that was 13 of the 40 seconds of 100 steps of a generator. Where the C library is another
    one than glibc, nothing happens.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        set_option = ctypes.CDLL(None).mallopt
        # The first one alone grows to any size without maps.
        set_option(_ARENA_MAX, _HEAPS)
        set_option(_MMAP_MAX, 0)
        set_option(_TRIM_THRESHOLD, _KEPT_BYTES)
