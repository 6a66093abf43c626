"""Bugs of the release after a teacher's last step, that makes probabilities of its scores."""

from planted_bugs.mutant import Mutant

_FILE = "jaxdp/methods/teacher/probabilities.py"
_T = "tests/methods/teacher/test_probabilities.py::"
_CLASSIFIER, _PLAN = "jaxdp/methods/teacher/classifier.py", "jaxdp/methods/teacher/plan.py"
_MECHANISMS = "jaxdp/methods/teacher/mechanisms.py"
_NORM = (f"{_T}test_guarantee_a_record_adds_a_vector_of_norm_one_at_most",)
_ZERO = (f"{_T}test_guarantee_masked_and_non_finite_records_add_exactly_zero",)
_ACCOUNTED = (f"{_T}test_guarantee_gaps_are_accounted_beside_the_steps",)
_ONCE = (f"{_T}test_guarantee_gaps_are_released_once_in_a_run",)

MUTANTS = (
    Mutant(
        "the gaps of a record are not clipped",
        _FILE,
        "jnp.where(mask, jnp.minimum(1.0, 1 / norms), 0.0)",
        "jnp.where(mask, 1.0, 0.0)",
        (f"{_T}test_guarantee_entries_are_clipped_whatever_they_are",),
    ),
    Mutant(
        "gaps and classes have norm 1 each, and not together",
        _FILE,
        "part = math.sqrt(0.5) if by_size else 1.0",
        "part = 0.5 if by_size else 1.0",
        _NORM,
    ),
    Mutant(
        "the gaps have records that are not drawn",
        _FILE,
        "jnp.where(mask, jnp.minimum(1.0, 1 / norms), 0.0)",
        "jnp.minimum(1.0, 1 / norms)",
        _ZERO,
    ),
    Mutant(
        "the gaps are of records that are not finite, too",
        _FILE,
        "safe = jnp.where(finite[:, None], found, 0.0)",
        "safe = found",
        _ZERO,
    ),
    Mutant(
        "the gaps are the exact ones",
        _FILE,
        "found = dp_sgd.noisy_mean(key, mechanism, clipped, chunk_size=chunk_size)",
        "import dataclasses\n\n"
        "        exact = dataclasses.replace(mechanism, noise_multiplier=0.0)\n"
        "        found = dp_sgd.noisy_mean(key, exact, clipped, chunk_size=chunk_size)",
        (f"{_T}test_guarantee_the_release_has_the_noise_that_is_accounted",),
    ),
    Mutant(
        "what is released once is of a part of the records",
        "jaxdp/privacy/ledger.py",
        "(mechanism.num_steps, mechanism.sampling_rate, mechanism.clip_norm) != (1, 1.0, 1.0)",
        "mechanism.clip_norm != 1.0",
        (
            f"{_T}test_guarantee_gaps_are_one_release_of_all_records",
            "tests/methods/teacher/test_feature_mean.py::"
            "test_guarantee_a_mean_is_one_release_of_all_examples",
        ),
    ),
    Mutant(
        "gaps are released at every call",
        _CLASSIFIER,
        "if calibrate and before < mechanism.num_steps == int(state.step):",
        "if calibrate:",
        _ONCE,
    ),
    Mutant(
        "gaps are released again by a run that had ended",
        _CLASSIFIER,
        "if calibrate and before < mechanism.num_steps == int(state.step):",
        "if calibrate and mechanism.num_steps == int(state.step):",
        _ONCE,
    ),
    Mutant(
        "gaps and steps have one key",
        _CLASSIFIER,
        "first_key, steps_key, last_key = jax.random.split(key, 3)",
        "first_key, steps_key = jax.random.split(key)\n        last_key = steps_key",
        (f"{_T}test_guarantee_keys_of_the_three_releases_are_split",),
    ),
    Mutant(
        "the gaps are not accounted",
        _MECHANISMS,
        "        beside = (*beside, calibration)\n",
        "",
        _ACCOUNTED,
    ),
    Mutant(
        "the gaps have less noise than is accounted",
        _PLAN,
        "one_release(self.spec.num_examples, noise_multiplier=noise),",
        "one_release(self.spec.num_examples, noise_multiplier=noise / 2),",
        _ACCOUNTED,
    ),
)
