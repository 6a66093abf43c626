"""Bugs of the mean of features that a teacher's training begins with."""

from planted_bugs.mutant import Mutant

_MEAN, _T = "jaxdp/methods/teacher/feature_mean.py", "tests/methods/teacher/test_feature_mean.py::"
_CLASSIFIER, _PLAN = "jaxdp/methods/teacher/classifier.py", "jaxdp/methods/teacher/plan.py"
_MECHANISMS = "jaxdp/methods/teacher/mechanisms.py"
_ONE = (f"{_T}test_guarantee_one_record_moves_the_mean_by_at_most_one",)
_ACCOUNTED = (f"{_T}test_guarantee_the_mean_is_accounted_beside_the_steps",)

MUTANTS = (
    Mutant(
        "rows of features are not clipped before their mean is taken",
        _MEAN,
        "jnp.minimum(1.0, 1 / norms), 0.0)",
        "jnp.ones_like(norms), 0.0)",
        _ONE,
    ),
    Mutant(
        "rows of features are clipped without a margin for rounding",
        _MEAN,
        "norms = sums.MARGIN * clipping.norms_from_above(phi, terms=phi.shape[1])",
        "norms = 0.9999 * jnp.linalg.norm(phi, axis=1)",
        (f"{_T}test_guarantee_no_rounding_lets_a_row_add_more_than_one",),
    ),
    Mutant(
        "the mean has rows that are not drawn",
        _MEAN,
        "jnp.where(mask & jnp.isfinite(norms)",
        "jnp.where(jnp.isfinite(norms)",
        (f"{_T}test_guarantee_masked_and_non_finite_rows_add_exactly_zero",),
    ),
    Mutant(
        "the mean is of rows that are not finite, too",
        _MEAN,
        "phi = jnp.where(finite[:, None], wide, 0.0)",
        "phi = wide",
        (f"{_T}test_guarantee_masked_and_non_finite_rows_add_exactly_zero",),
    ),
    Mutant(
        "the mean is the exact one",
        _MEAN,
        "found = dp_sgd.noisy_mean(key, mechanism, clipped, chunk_size=chunk_size)",
        "import dataclasses\n\n"
        "        exact = dataclasses.replace(mechanism, noise_multiplier=0.0)\n"
        "        found = dp_sgd.noisy_mean(key, exact, clipped, chunk_size=chunk_size)",
        (f"{_T}test_guarantee_the_mean_has_the_noise_that_is_accounted",),
    ),
    Mutant(
        "the mean is released at every call",
        _CLASSIFIER,
        "if look and before == 0:",
        "if look:",
        (f"{_T}test_guarantee_the_mean_is_released_once_in_a_run",),
    ),
    Mutant(
        "mean and steps have one key",
        _CLASSIFIER,
        "first_key, steps_key, last_key = jax.random.split(key, 3)",
        "first_key = steps_key = last_key = key",
        (f"{_T}test_guarantee_keys_of_mean_and_steps_are_split",),
    ),
    Mutant(
        "the mean of features is not accounted",
        _MECHANISMS,
        "        beside = (*beside, mean)\n",
        "",
        _ACCOUNTED,
    ),
    Mutant(
        "the mean of features has less noise than is accounted",
        _PLAN,
        "one_release(n, noise_multiplier=noise)",
        "one_release(n, noise_multiplier=noise / 2)",
        _ACCOUNTED,
    ),
    Mutant(
        "the mean of persons' features has the noise of records",
        _MECHANISMS,
        "sensitivity=float(spec.records_per_person * settings.contributions)",
        "sensitivity=1.0",
        (f"{_T}test_guarantee_the_mean_of_persons_has_their_noise",),
    ),
)
