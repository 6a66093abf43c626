"""Bugs of noise, keys and steps."""

from planted_bugs.mutant import Mutant

_MECHANISM, _CHACHA, _DP_SGD = (
    "jaxdp/privacy/mechanism.py",
    "jaxdp/privacy/chacha.py",
    "jaxdp/privacy/dp_sgd.py",
)
_L = "tests/privacy/test_lattice_attack.py::"
_T, _C, _S = (
    "tests/privacy/test_mechanism.py::",
    "tests/privacy/test_chacha.py::",
    "tests/privacy/test_dp_sgd.py::",
)

MUTANTS = (
    Mutant(
        "noise is too small by the root of two",
        _MECHANISM,
        "stddev / math.sqrt(_DRAWS) * jnp.sum",
        "stddev / _DRAWS * jnp.sum",
        (f"{_T}test_guarantee_noise_has_the_stated_scale",),
    ),
    Mutant(
        "noise is one draw, whose lattice shows",
        _MECHANISM,
        "_DRAWS = 2",
        "_DRAWS = 1",
        (f"{_T}test_guarantee_a_sample_is_the_sum_of_two_draws",),
    ),
    Mutant(
        "noisy sums are released as float64 leaves them",
        _MECHANISM,
        "return jnp.rint(noisy / grid) * grid",
        "return noisy",
        (
            f"{_L}test_guarantee_counts_show_nothing_by_their_last_bits",
            f"{_L}test_guarantee_sums_near_0_show_nothing_either",
        ),
    ),
    Mutant(
        "noisy sums are rounded to float32 alone",
        _MECHANISM,
        "return jnp.rint(noisy / grid) * grid",
        "return noisy.astype(jnp.float32).astype(jnp.float64)",
        (f"{_L}test_guarantee_sums_near_0_show_nothing_either",),
    ),
    Mutant(
        "noise is drawn in float32",
        _MECHANISM,
        "(_DRAWS, *leaf.shape), jnp.float64)",
        "(_DRAWS, *leaf.shape), jnp.float32)",
        (f"{_T}test_guarantee_noise_is_float64_whatever_is_asked_for",),
    ),
    Mutant(
        "noise is added to float32",
        _MECHANISM,
        "if leaf.dtype != jnp.float64 or not numerics.has_float64():",
        "if not numerics.has_float64():",
        (f"{_T}test_guarantee_noise_is_float64_whatever_is_asked_for",),
    ),
    Mutant(
        "all leaves of a release share one key",
        _MECHANISM,
        "_noisy(jax.random.fold_in(key, i), leaf, stddev)",
        "_noisy(jax.random.fold_in(key, 0 * i), leaf, stddev)",
        (f"{_T}test_every_leaf_and_every_key_has_its_own_noise",),
    ),
    Mutant(
        "all entries of a leaf share one draw",
        _MECHANISM,
        "(_DRAWS, *leaf.shape), jnp.float64)",
        "(_DRAWS, *(1 for _ in leaf.shape)), jnp.float64)",
        (f"{_T}test_every_leaf_and_every_key_has_its_own_noise",),
    ),
    Mutant(
        "noise is uniform",
        _MECHANISM,
        "jax.random.normal(key, (_DRAWS, *leaf.shape), jnp.float64)",
        "jax.random.uniform(key, (_DRAWS, *leaf.shape), jnp.float64, -(3**0.5), 3**0.5)",
        (f"{_T}test_noise_is_normal",),
    ),
    Mutant(
        "noise ignores the clip norm",
        _MECHANISM,
        "return self.noise_multiplier * self.clip_norm if self.is_private else 0.0",
        "return self.noise_multiplier if self.is_private else 0.0",
        (f"{_S}test_guarantee_noise_on_the_sum_is_the_multiplier_times_the_clip_norm",),
    ),
    Mutant(
        "a key that can be guessed makes noise",
        _MECHANISM,
        "    require_private(key)\n    leaves",
        "    leaves",
        (f"{_T}test_guarantee_a_key_that_can_be_guessed_is_refused",),
    ),
    Mutant(
        "a key has 32 bits of the system",
        _MECHANISM,
        "os.urandom(4 * KEY_WORDS)",
        "os.urandom(4) * KEY_WORDS",
        (f"{_T}test_guarantee_a_private_key_comes_from_the_operating_system",),
    ),
    Mutant(
        "a key without a seed is that of seed 0",
        _MECHANISM,
        "def private_key(noise_seed: int | None = None)",
        "def private_key(noise_seed: int | None = 0)",
        (f"{_T}test_guarantee_private_keys_differ_whatever_else_is_equal",),
    ),
    Mutant(
        "noise that float32 flushes to zero passes",
        _MECHANISM,
        "LEAST_STDDEV = 1e-30",
        "LEAST_STDDEV = 1e-320",
        (f"{_T}test_guarantee_noise_too_small_to_be_noise_is_refused",),
    ),
    Mutant(
        "ChaCha has eight rounds",
        _CHACHA,
        "_DOUBLE_ROUNDS = 10",
        "_DOUBLE_ROUNDS = 4",
        (f"{_C}test_equals_the_vector_of_the_standard",),
    ),
    Mutant(
        "ChaCha uses half of its key",
        _CHACHA,
        "for words in (constants, key[:4], key[4:]))",
        "for words in (constants, key[:4], key[:4]))",
        (f"{_C}test_guarantee_every_bit_of_the_key_counts",),
    ),
    Mutant(
        "split keys are folded keys",
        _CHACHA,
        "_BITS, _SPLIT, _FOLD = 1, 2, 3",
        "_BITS, _SPLIT, _FOLD = 1, 2, 2",
        (f"{_C}test_guarantee_no_key_or_word_is_derived_twice",),
    ),
    Mutant(
        "words for use are keys of a split",
        _CHACHA,
        "_BITS, _SPLIT, _FOLD = 1, 2, 3",
        "_BITS, _SPLIT, _FOLD = 1, 1, 3",
        (f"{_C}test_guarantee_no_key_or_word_is_derived_twice",),
    ),
    Mutant(
        "every chunk of the stream is the first",
        _CHACHA,
        "counters = jnp.arange(padded, dtype=jnp.uint32).reshape(-1, size)",
        "counters = (jnp.arange(padded, dtype=jnp.uint32) % size).reshape(-1, size)",
        (f"{_C}test_chunks_of_the_stream_follow_one_another",),
    ),
    Mutant(
        "the noise of a step has the key of its sample",
        _DP_SGD,
        "add_gaussian_noise(noise_key, total",
        "add_gaussian_noise(sample_key, total",
        (f"{_S}test_guarantee_the_key_of_a_sample_makes_no_noise",),
    ),
    Mutant(
        "all steps have one key",
        _DP_SGD,
        "step(state, jax.random.fold_in(key, state.step), x, labels)",
        "step(state, jax.random.fold_in(key, 0 * state.step), x, labels)",
        (f"{_S}test_guarantee_no_more_steps_than_accounted_and_every_key_once",),
    ),
    Mutant(
        "one step more than accounted",
        _DP_SGD,
        "lambda state: state.step < stop,",
        "lambda state: state.step <= stop,",
        (f"{_S}test_guarantee_no_more_steps_than_accounted_and_every_key_once",),
    ),
    Mutant(
        "as many steps as asked for",
        _DP_SGD,
        "stop = jnp.minimum(state.step + num_steps, mechanism.num_steps)",
        "stop = state.step + num_steps",
        (f"{_S}test_guarantee_no_more_steps_than_accounted_and_every_key_once",),
    ),
    Mutant(
        "noise of the mean on the sum",
        _DP_SGD,
        "noise_key, total, stddev=mechanism.stddev)",
        "noise_key, total, stddev=mechanism.stddev / mechanism.expected_batch_size)",
        (f"{_S}test_guarantee_noise_on_the_sum_is_the_multiplier_times_the_clip_norm",),
    ),
    Mutant(
        "the divisor is the private size of the sample",
        _DP_SGD,
        "noisy_sum / (mechanism.expected_batch_size * unit)",
        "noisy_sum / (sample.size * unit)",
        (f"{_S}test_without_noise_it_is_the_sum_of_a_sample_over_public_constants",),
    ),
    Mutant(
        "the sample has a public key",
        _DP_SGD,
        "        sample_key,\n        num_examples",
        "        jax.random.key(0),\n        num_examples",
        (f"{_S}test_without_noise_it_is_the_sum_of_a_sample_over_public_constants",),
    ),
    Mutant(
        "steps of a mechanism for more data",
        _DP_SGD,
        "if x.shape[0] != (devices.padded(n) if across else n):",
        "if x.shape[0] > (devices.padded(n) if across else n):",
        (f"{_S}test_needs_the_accounted_number_of_examples",),
    ),
    Mutant(
        "rows beyond the last label have that one's label",
        _DP_SGD,
        "if labels.shape != (x.shape[0],):",
        "if labels.ndim != 1 or labels.shape[0] > x.shape[0]:",
        (
            f"{_S}test_guarantee_every_row_has_a_label_of_its_own",
            "tests/methods/teacher/test_teacher.py::"
            "test_guarantee_every_row_has_a_label_of_its_own",
        ),
    ),
    Mutant(
        "a compiled program keeps a private key, and with it its noise",
        _MECHANISM,
        "        if numerics.is_traced():\n",
        "        if False:\n",
        (f"{_T}test_guarantee_no_compiled_program_keeps_a_private_key",),
    ),
    Mutant(
        "ChaCha's rounds are not added to their start",
        _CHACHA,
        "return jnp.concatenate([x + y for x, y in zip(start, end, strict=True)]).T",
        "return jnp.concatenate(end).T",
        (f"{_C}test_equals_the_vector_of_the_standard",),
    ),
    Mutant(
        "keys of steps repeat after 65,536 of them",
        _CHACHA,
        "counter = jnp.asarray(data, jnp.uint32).reshape(1)",
        "counter = jnp.asarray(data, jnp.uint32).astype(jnp.uint16).astype(jnp.uint32).reshape(1)",
        (f"{_C}test_guarantee_every_bit_of_a_number_that_is_folded_in_counts",),
    ),
    Mutant(
        "words of 64 bits hold 32 random ones",
        _CHACHA,
        "bits = jax.lax.bitcast_convert_type(words.reshape(-1, 2), dtype)",
        "bits = words.reshape(-1, 2)[:, 0].astype(dtype) << 32",
        (f"{_C}test_bits_of_every_width_come_from_one_stream",),
    ),
    Mutant(
        "all keys of a split are the first one",
        _CHACHA,
        "counters = jnp.arange(math.prod(shape), dtype=jnp.uint32)\n",
        "counters = jnp.zeros(math.prod(shape), dtype=jnp.uint32)\n",
        (f"{_C}test_guarantee_no_key_or_word_is_derived_twice",),
    ),
    Mutant(
        "what comes after the noise is done before it",
        _DP_SGD,
        "total = clipped.assemble(devices.summed(parts))",
        "total = clipped.after(clipped.assemble(devices.summed(parts)))",
        (f"{_S}test_a_sum_is_assembled_before_the_noise_and_processed_after_the_mean",),
    ),
    Mutant(
        "noise is added to the parts, before they are assembled",
        _DP_SGD,
        "    total = clipped.assemble(devices.summed(parts))\n"
        "    noisy_sum = add_gaussian_noise(noise_key, total, stddev=mechanism.stddev)\n",
        "    parts = devices.summed(parts)\n"
        "    noisy_sum = clipped.assemble(\n"
        "        add_gaussian_noise(noise_key, parts, stddev=mechanism.stddev)\n"
        "    )\n",
        (f"{_S}test_a_sum_is_assembled_before_the_noise_and_processed_after_the_mean",),
    ),
)
