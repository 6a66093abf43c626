"""ChaCha20: against the standard's vectors, and as a generator of jax."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp import numerics
from jaxdp.numerics import ByBackend
from jaxdp.privacy import chacha
from jaxdp.privacy.chacha import CHACHA20


def key(*words: int) -> jax.Array:
    data = jnp.asarray([*words, *[0] * (chacha.KEY_WORDS - len(words))], jnp.uint32)
    return jax.random.wrap_key_data(data, impl=CHACHA20)


def test_equals_the_vector_of_the_standard() -> None:
    """RFC 8439, section 2.3.2: key 00..1f, nonce 00 00 00 09 00 00 00 4a 00 00 00 00, counter 1."""
    secret = np.frombuffer(bytes(range(32)), "<u4")
    nonce = np.frombuffer(bytes.fromhex("000000090000004a00000000"), "<u4")
    found = chacha.blocks(jnp.asarray(secret), jnp.asarray(nonce), jnp.ones(1, jnp.uint32))
    expected = (
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    )
    assert np.asarray(found, "<u4").tobytes().hex() == expected


@pytest.mark.parametrize("counter", [0, 1])
def test_equals_the_key_stream_of_a_zero_key(counter: int) -> None:
    """RFC 8439, appendix A.1, vectors 1 and 2."""
    expected = ("76b8e0ada0f13d90405d6ae55386bd28", "9f07e7be5551387a98ba977c732d080d")[counter]
    zero = jnp.zeros(8, jnp.uint32), jnp.zeros(3, jnp.uint32)
    found = chacha.blocks(*zero, jnp.full(1, counter, jnp.uint32))
    assert np.asarray(found, "<u4").tobytes().hex().startswith(expected)


def test_bits_of_every_width_come_from_one_stream(float64: None) -> None:
    eight, sixteen, thirty_two, sixty_four = (
        np.asarray(jax.random.bits(key(7), (256 // width,), dtype)).tobytes()
        for width, dtype in ((8, jnp.uint8), (16, jnp.uint16), (32, jnp.uint32), (64, jnp.uint64))
    )
    assert eight == sixteen == thirty_two == sixty_four
    assert jax.random.bits(key(7), (3, 0)).shape == (3, 0)


def test_chunks_of_the_stream_follow_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = np.asarray(jax.random.bits(key(1), (1000,), jnp.uint32))
    monkeypatch.setattr(chacha, "_CHUNK", ByBackend(8, 8))
    jax.clear_caches()
    np.testing.assert_array_equal(jax.random.bits(key(1), (1000,), jnp.uint32), whole)
    assert len(np.unique(whole)) == whole.size


def test_streams_that_would_repeat_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chacha, "_MOST_BLOCKS", 10)
    with pytest.raises(ValueError, match="one key gives 160 words"):
        chacha._words(jnp.zeros(8, jnp.uint32), 161)


def test_guarantee_no_key_or_word_is_derived_twice() -> None:
    """Splits, folded keys and words for use of one key, and of keys derived from it, all differ."""
    keys = [key(3), *jax.random.split(key(3), 5)]
    keys += [jax.random.fold_in(k, data) for k in keys for data in (0, 1, 2**32 - 1)]
    data = np.stack([np.asarray(jax.random.key_data(k)) for k in keys])
    words = np.stack([np.asarray(jax.random.bits(k, (8,), jnp.uint32)) for k in keys])
    assert len(np.unique(np.concatenate([data, words]), axis=0)) == 2 * len(keys)


def test_guarantee_every_bit_of_a_number_that_is_folded_in_counts() -> None:
    """Steps are numbers: were one bit left out, a long run would use its noise again."""
    numbers = jnp.asarray([0, *(1 << bit for bit in range(32))], jnp.uint32)
    folded = jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key(3), numbers)
    assert len(np.unique(np.asarray(jax.random.key_data(folded)), axis=0)) == 33


def test_guarantee_every_bit_of_the_key_counts() -> None:
    plain = np.asarray(jax.random.bits(key(), (64,), jnp.uint32))
    for word in range(chacha.KEY_WORDS):
        for bit in (0, 31):
            secret = np.zeros(8, np.uint32)
            secret[word] = 1 << bit
            other = jax.random.wrap_key_data(jnp.asarray(secret), impl=CHACHA20)
            flipped = plain ^ np.asarray(jax.random.bits(other, (64,), jnp.uint32))
            assert 0.4 < np.mean(np.unpackbits(flipped.view(np.uint8))) < 0.6


def test_it_works_as_any_generator_of_jax() -> None:
    uniform = np.asarray(jax.random.uniform(key(5), (50_000,)))
    assert abs(uniform.mean() - 0.5) < 0.01
    assert abs(uniform.var() - 1 / 12) < 0.002
    keys = jax.random.split(key(5), (2, 3))
    assert keys.shape == (2, 3)
    normal = jax.jit(lambda k: jax.random.normal(k, (4,)))
    one_by_one = [normal(k) for k in keys[0]]
    np.testing.assert_array_equal(jax.vmap(normal)(keys[0]), one_by_one)
    with numerics.float64():
        wide = jax.random.normal(key(5), (10,), jnp.float64)
        assert wide.dtype == jnp.float64
    seeded = jax.random.key_data(jax.random.key(9, impl=CHACHA20))
    np.testing.assert_array_equal(seeded, jax.random.key_data(key(9)))
