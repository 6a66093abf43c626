"""ChaCha20 as a random number generator of jax: keys of 256 bits, made for secrets.

jax's own generators have keys of 64 bits (threefry) or are not made to withstand an attacker
(Philox). Two of them added up are no way out: subtracting the right one of two independent draws
from a release halves the variance, so each key could be guessed by itself. Here every word depends
on all 256 bits.

    block(key, nonce, counter) -> 16 words,   nonce = what the words are for

`CHACHA20` is the implementation to give to `jax.random.wrap_key_data`; its keys work with all
functions of `jax.random`. Words for use, keys of a split and folded keys come from blocks under
different nonces, so none is ever equal to another.

References:
    Nir & Langley (2018), "ChaCha20 and Poly1305 for IETF protocols" (RFC 8439), section 2.3.
"""

import math
from typing import Any

import jax
import jax.extend.random
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt32

from jaxdp.numerics import ByBackend

KEY_WORDS = 8
_BLOCK_WORDS = 16
_CONSTANTS = np.frombuffer(b"expand 32-byte k", "<u4")
_DOUBLE_ROUNDS = 10
# First words of nonces: what a block is for.
_BITS, _SPLIT, _FOLD = 1, 2, 3
# Blocks at once: what stays in a CPU's cache, what fills a GPU.
_CHUNK = ByBackend(cpu=2**13, accelerator=2**20)
_MOST_BLOCKS = 2**32

Words = UInt32[Array, "*n"]


def _rotated(word: Words, by: int) -> Words:
    return (word << np.uint32(by)) | (word >> np.uint32(32 - by))


def _quarter_round(a: Words, b: Words, c: Words, d: Words) -> tuple[Words, Words, Words, Words]:
    a = a + b
    d = _rotated(d ^ a, 16)
    c = c + d
    b = _rotated(b ^ c, 12)
    a = a + b
    d = _rotated(d ^ a, 8)
    c = c + d
    b = _rotated(b ^ c, 7)
    return a, b, c, d


def _turned(row: Words, by: int) -> Words:
    return row[(np.arange(4) + by) % 4]


def _double_round(_: Any, rows: tuple[Words, ...]) -> tuple[Words, ...]:
    """Return the state, four rows of words, after a round of columns and one of diagonals."""
    a, b, c, d = _quarter_round(*rows)
    a, b, c, d = _quarter_round(a, _turned(b, 1), _turned(c, 2), _turned(d, 3))
    return a, _turned(b, 3), _turned(c, 2), _turned(d, 1)


# Outside of a program every call would trace the rounds anew.
@jax.jit
def blocks(
    key: UInt32[Array, "8"], nonce: UInt32[Array, "3"], counters: UInt32[Array, " n"]
) -> UInt32[Array, "n 16"]:
    """Return ChaCha20's key stream: one block of 16 words per counter (RFC 8439, section 2.3)."""
    shape = (4, counters.shape[0])
    constants = jnp.asarray(_CONSTANTS)
    numbers = jnp.concatenate([counters[None], jnp.broadcast_to(nonce[:, None], (3, shape[1]))])
    fixed = (jnp.broadcast_to(words[:, None], shape) for words in (constants, key[:4], key[4:]))
    start = (*fixed, numbers)
    end = jax.lax.fori_loop(0, _DOUBLE_ROUNDS, _double_round, start)
    return jnp.concatenate([x + y for x, y in zip(start, end, strict=True)]).T


def _nonce(purpose: int) -> Array:
    return jnp.asarray([purpose, 0, 0], jnp.uint32)


def _words(key: Array, count: int) -> UInt32[Array, " count"]:
    """Return the first words of a key's stream, in chunks."""
    num_blocks = -(-count // _BLOCK_WORDS)
    if num_blocks > _MOST_BLOCKS:
        raise ValueError(f"one key gives {_MOST_BLOCKS * _BLOCK_WORDS} words, not {count}")
    chunk = _CHUNK.here
    size = min(chunk, num_blocks)
    padded = -(-num_blocks // size) * size
    counters = jnp.arange(padded, dtype=jnp.uint32).reshape(-1, size)
    words = jax.lax.map(lambda part: blocks(key, _nonce(_BITS), part), counters)
    return words.reshape(-1)[:count]


def _random_bits(key: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
    dtype = {8: jnp.uint8, 16: jnp.uint16, 32: jnp.uint32, 64: jnp.uint64}[bit_width]
    size = math.prod(shape)
    if size == 0:
        return jnp.zeros(shape, dtype)
    words = _words(key, -(-size * bit_width // 32))
    if bit_width == 64:
        bits = jax.lax.bitcast_convert_type(words.reshape(-1, 2), dtype)
    else:
        bits = jax.lax.bitcast_convert_type(words, dtype).reshape(-1)
    return bits[:size].reshape(shape)


def _split(key: Array, shape: tuple[int, ...]) -> Array:
    counters = jnp.arange(math.prod(shape), dtype=jnp.uint32)
    return blocks(key, _nonce(_SPLIT), counters)[:, :KEY_WORDS].reshape(*shape, KEY_WORDS)


def _fold_in(key: Array, data: Any) -> Array:
    counter = jnp.asarray(data, jnp.uint32).reshape(1)
    return blocks(key, _nonce(_FOLD), counter)[0, :KEY_WORDS]


def _seed(seed: Array) -> Array:
    """Return the key of a number, for `jax.random.key(number, impl=CHACHA20)`."""
    low = seed.astype(jnp.uint32)
    high = jnp.zeros((), jnp.uint32) if seed.dtype.itemsize < 8 else (seed >> 32).astype(jnp.uint32)
    return jnp.stack([low, high, *[jnp.zeros((), jnp.uint32)] * (KEY_WORDS - 2)])


CHACHA20: Any = jax.extend.random.define_prng_impl(
    key_shape=(KEY_WORDS,),
    seed=_seed,
    split=_split,
    random_bits=_random_bits,
    fold_in=_fold_in,
    name="chacha20",
    tag="chacha",
)
