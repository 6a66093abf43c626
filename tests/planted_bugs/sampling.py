"""Bugs of Poisson sampling, its rate and its chunks."""

from planted_bugs.mutant import Mutant

_FILE, _T = "jaxdp/privacy/sampling.py", "tests/privacy/test_sampling.py::"

MUTANTS = (
    Mutant(
        "draws beyond twice the mean are dropped",
        _FILE,
        "return PoissonSample(indices, jnp.sum(drawn, dtype=jnp.int32))",
        "most = math.ceil(2 * sampling_rate * num_examples)\n"
        "    return PoissonSample(indices, jnp.minimum(jnp.sum(drawn, dtype=jnp.int32), most))",
        (f"{_T}test_guarantee_no_draw_is_dropped_however_unlikely",),
    ),
    Mutant(
        "one coin for all examples",
        _FILE,
        "drawn = jax.random.bits(key, (num_examples,), jnp.uint32) < jnp.uint32(sides)",
        "drawn = jnp.full(num_examples, jax.random.bits(key, (), jnp.uint32) < jnp.uint32(sides))",
        (f"{_T}test_guarantee_inclusions_are_independent",),
    ),
    Mutant(
        "coins that fall too often",
        _FILE,
        "jnp.uint32) < jnp.uint32(sides)",
        "jnp.uint32) < jnp.uint32(min(1.1 * sides, _COIN_SIDES - 1))",
        (f"{_T}test_guarantee_inclusion_probability",),
    ),
    Mutant(
        "a coin has one side too many",
        _FILE,
        "jnp.uint32) < jnp.uint32(sides)",
        "jnp.uint32) <= jnp.uint32(sides)",
        (f"{_T}test_the_realised_rate_is_what_the_comparison_does",),
    ),
    Mutant(
        "the accounted rate is below the realised one",
        _FILE,
        "return math.floor(sampling_rate * _COIN_SIDES) / _COIN_SIDES",
        "return math.floor(0.9 * sampling_rate * _COIN_SIDES) / _COIN_SIDES",
        (f"{_T}test_realised_rate_is_never_above_the_nominal_one",),
    ),
    Mutant(
        "the last chunk of a sample is dropped",
        _FILE,
        "return carry[0] < sample.size",
        "return carry[0] + chunk_size <= sample.size",
        (f"{_T}test_guarantee_every_draw_is_used_exactly_once",),
    ),
    Mutant(
        "two chunks at most",
        _FILE,
        "return carry[0] < sample.size",
        "return carry[0] < jnp.minimum(sample.size, 2 * chunk_size)",
        (f"{_T}test_guarantee_every_draw_is_used_exactly_once",),
    ),
    Mutant(
        "lanes beyond the sample are not masked",
        _FILE,
        "start + lanes < sample.size)",
        "lanes < chunk_size)",
        (f"{_T}test_guarantee_every_draw_is_used_exactly_once",),
    ),
    Mutant(
        "chunks overlap",
        _FILE,
        "return start + chunk_size, jax.tree.map",
        "return start + jnp.maximum(chunk_size - 1, 1), jax.tree.map",
        (f"{_T}test_guarantee_every_draw_is_used_exactly_once",),
    ),
    Mutant(
        "the last chunk begins too early",
        _FILE,
        "padded = jnp.pad(sample.indices, (0, -n % chunk_size))",
        "padded = jnp.pad(sample.indices, (0, max(0, chunk_size - n)))",
        (f"{_T}test_guarantee_every_draw_is_used_exactly_once[7]",),
    ),
    Mutant(
        "coins are floats of 23 bits",
        _FILE,
        "drawn = jax.random.bits(key, (num_examples,), jnp.uint32) < jnp.uint32(sides)",
        "drawn = jax.random.uniform(key, (num_examples,), jnp.float32) < sampling_rate",
        (f"{_T}test_the_realised_rate_is_what_the_comparison_does",),
    ),
    Mutant(
        "a sample has as many examples as on average",
        _FILE,
        "return PoissonSample(indices, jnp.sum(drawn, dtype=jnp.int32))",
        "mean = math.ceil(sampling_rate * num_examples)\n"
        "    order = jax.random.permutation(key, num_examples)\n"
        "    return PoissonSample(devices.own_rows(order), jnp.asarray(mean, jnp.int32))",
        (f"{_T}test_guarantee_inclusions_are_independent",),
    ),
)
