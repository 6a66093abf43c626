"""Bugs of features, embeddings and their release."""

from planted_bugs.mutant import Mutant

_MAPS, _F = "jaxdp/features/base.py", "tests/features/test_feature_maps.py::"
_SUMS, _E = "jaxdp/privacy/class_sums.py", "tests/privacy/test_class_sums.py::"
_TANGENT = "jaxdp/features/tangent.py"
_NTK, _N = "jaxdp/methods/dp_ntk/release.py", "tests/methods/dp_ntk/test_dp_ntk.py::"
_MEANS, _M = "jaxdp/methods/teacher/release.py", "tests/methods/teacher/test_class_means.py::"
_WAVES, _R = "jaxdp/features/fourier.py", "tests/features/test_fourier_and_hermite.py::"
_SPY = (f"{_N}test_guarantee_every_statistic_has_float64_noise_of_its_own",)

MUTANTS = (
    Mutant(
        "features of bytes have a norm that overflows",
        _MAPS,
        "        require_floats(phi)\n",
        "",
        ("tests/test_wrong_rows.py::test_guarantee_features_of_bytes_have_no_norm_that_overflows",),
    ),
    Mutant(
        "a gradient that is no number has norm 0",
        "jaxdp/networks/gradients.py",
        "is_zero = square == 0",
        "is_zero = ~(square > 0)",
        (f"{_F}test_guarantee_gradients_that_are_no_numbers_add_exactly_nothing",),
    ),
    Mutant(
        "class shares are released without noise",
        _NTK,
        "noisy_sums(weights_key, exact, stddev=stddev,",
        "noisy_sums(weights_key, exact, stddev=0.0 * stddev,",
        _SPY,
    ),
    Mutant(
        "class shares use the noise of the embedding",
        _NTK,
        "noisy_sums(weights_key, exact,",
        "noisy_sums(embedding_key, exact,",
        _SPY,
    ),
    Mutant(
        "noise of shares on counts",
        _NTK,
        "stddev = named[WEIGHTS].stddev * num_examples",
        "stddev = named[WEIGHTS].stddev",
        _SPY,
    ),
    Mutant(
        "noise of the mean on sums",
        _NTK,
        "stddev=named[EMBEDDING].stddev * num_examples,",
        "stddev=named[EMBEDDING].stddev,",
        (f"{_N}test_guarantee_the_noise_has_the_scale_it_claims",),
    ),
    Mutant(
        "released sums have float32 noise",
        _SUMS,
        "mechanism.add_gaussian_noise(jax.random.fold_in(key, i), row, stddev=stddev) / divisor",
        "(row + stddev * jax.random.normal(jax.random.fold_in(key, i), row.shape, jnp.float32))"
        " / divisor",
        _SPY,
    ),
    Mutant(
        "all classes share their noise",
        _SUMS,
        "mechanism.add_gaussian_noise(jax.random.fold_in(key, i), row,",
        "mechanism.add_gaussian_noise(jax.random.fold_in(key, 0 * i), row,",
        (f"{_N}test_guarantee_noise_is_independent_between_entries_classes_and_releases",),
    ),
    Mutant(
        "the first class is released without noise",
        _SUMS,
        "row, stddev=stddev) / divisor",
        "row, stddev=stddev * (i > 0)) / divisor",
        _SPY,
    ),
    Mutant(
        "too small a sensitivity is accepted",
        _NTK,
        "if named[name].sensitivity < bound * (1 - 1e-12):",
        "if named[name].sensitivity < bound * 0.4:",
        (f"{_N}test_guarantee_a_release_with_too_small_a_sensitivity_is_refused",),
    ),
    Mutant(
        "the embedding's sensitivity is that of a removal",
        _NTK,
        "(max(features.diameter, 2**0.5) if is_replaced else 1) / num_examples",
        "1 / num_examples",
        (f"{_N}test_guarantee_neighbours_stay_within_the_sensitivities",),
    ),
    Mutant(
        "the shares' sensitivity is that of a removal",
        _NTK,
        "bounds[WEIGHTS] = (2**0.5 if is_replaced else 1) / num_examples",
        "bounds[WEIGHTS] = 1 / num_examples",
        (f"{_N}test_guarantee_neighbours_stay_within_the_sensitivities",),
    ),
    Mutant(
        "a removal counts as half of what it moves",
        _NTK,
        "dataclasses.replace(release, sensitivity=1 / num_examples)",
        "dataclasses.replace(release, sensitivity=0.5 / num_examples)",
        (f"{_N}test_guarantee_removing_an_example_moves_less_than_its_multiplier_says",),
    ),
    Mutant(
        "shares that are not released are exact",
        _NTK,
        "return Released(mu, uniform)",
        "return Released(mu, uniform + jnp.bincount(chunks.labels, length=num_classes) / 1e3)",
        (f"{_N}test_weights_that_are_not_released_are_uniform",),
    ),
    Mutant(
        "class means have the noise of one class",
        _MEANS,
        "stddev=noise_multiplier,\n",
        "stddev=noise_multiplier / num_classes,\n",
        (f"{_M}test_guarantee_noise_is_what_is_accounted",),
    ),
    Mutant(
        "class means are accounted as sampled",
        "jaxdp/privacy/ledger.py",
        "sampling_rate=1.0,",
        "sampling_rate=0.5,",
        (f"{_M}test_guarantee_noise_is_what_is_accounted",),
    ),
    Mutant(
        "class sums are float32",
        _SUMS,
        "return sums + jnp.sum(parts, axis=0)",
        "return (sums + jnp.sum(parts, axis=0)).astype(jnp.float32)",
        (f"{_E}test_guarantee_class_sums_are_float64",),
    ),
    Mutant(
        "examples are sorted by class before they are added up",
        _SUMS,
        "return LabelledChunks(x, labels, chunk_size)",
        "return LabelledChunks(*(z[np.argsort(labels)] for z in (x, labels)), chunk_size)",
        (f"{_E}test_guarantee_chunks_hold_every_example_once_in_its_place",),
    ),
    Mutant(
        "padding counts as an example",
        _SUMS,
        "np.full(self.chunk_size, -1, np.int32)",
        "np.full(self.chunk_size, 0, np.int32)",
        (f"{_E}test_guarantee_chunks_hold_every_example_once_in_its_place",),
    ),
    Mutant(
        "explicit features of a whole chunk are added up in float32",
        _SUMS,
        "inside = np.arange(size) // rows == np.arange(blocks)[:, None]",
        "inside = np.zeros(size) == np.arange(blocks)[:, None]",
        (f"{_E}test_guarantee_no_examples_let_one_move_the_sum_by_more_than_one",),
    ),
    Mutant(
        "features of a whole chunk are added up in float32",
        _SUMS,
        "size, rows = len(x), min(len(x), _ROWS)",
        "size, rows = len(x), len(x)",
        (f"{_E}test_guarantee_no_examples_let_one_move_the_sum_by_more_than_one",),
    ),
    Mutant(
        "factors are multiplied in float32",
        _SUMS,
        "fill_value=0).astype(jnp.float64)",
        "fill_value=0).astype(jnp.float32)",
        (f"{_E}test_guarantee_factors_are_added_up_in_float64",),
    ),
    Mutant(
        "tiles of factors have rows of the next class",
        _SUMS,
        "ends = jnp.cumsum(-(-jnp.sum(marks, axis=0) // tile))",
        "ends = jnp.cumsum(jnp.sum(marks, axis=0) // tile)",
        (f"{_E}test_class_sums_are_those_of_weights",),
    ),
    Mutant(
        "norms of features may round above one",
        _MAPS,
        "jnp.where(usable, norms * (1 + _MARGIN), 1.0)",
        "jnp.where(usable, norms, 1.0)",
        (f"{_F}test_guarantee_features_have_norm_at_most_one",),
    ),
    Mutant(
        "features whose squares underflow are used",
        _MAPS,
        "return (norms >= _LEAST_NORM) & jnp.isfinite(norms)",
        "return (norms > 0) & jnp.isfinite(norms)",
        (f"{_F}test_guarantee_no_row_has_features_of_a_norm_above_one",),
    ),
    Mutant(
        "a row without a finite norm spoils the sum",
        _MAPS,
        "    phi = jnp.where(is_usable(norms)[:, None], phi, 0.0)\n",
        "",
        (f"{_F}test_guarantee_no_row_spoils_the_sum_of_the_others",),
    ),
    Mutant(
        "two moments have norm two",
        _MAPS,
        "return jnp.concatenate(parts) / jnp.sqrt(jnp.asarray(moments, x.dtype))",
        "return jnp.concatenate(parts)",
        (f"{_F}test_guarantee_features_have_norm_at_most_one",),
    ),
    Mutant(
        "joined maps have the shares for factors",
        _MAPS,
        "[math.sqrt(share) * part.weighted_sum(x, weights) for part, share in parts]",
        "[part.weighted_sum(x, weights) for part, share in parts]",
        (f"{_F}test_guarantee_features_have_norm_at_most_one",),
    ),
    Mutant(
        "features of random networks have the norm of as many",
        "jaxdp/features/random_networks.py",
        "return parts.reshape(-1) / jnp.sqrt(jnp.asarray(count, x.dtype))",
        "return parts.reshape(-1)",
        (
            "tests/features/test_random_networks.py::"
            "test_guarantee_features_of_any_row_have_norm_at_most_one",
        ),
    ),
    Mutant(
        "joined maps have the least diameter",
        _MAPS,
        "diameter = math.sqrt(sum(share * part.diameter**2 for part, share in parts))",
        "diameter = min(part.diameter for part, _ in parts)",
        (f"{_F}test_joined_maps_have_the_mean_of_their_kernels_and_distances",),
    ),
    Mutant(
        "features known by sums have no margin",
        _MAPS,
        "scaled = finite_weights(x, weights) / (1 + _MARGIN)",
        "scaled = finite_weights(x, weights)",
        (f"{_F}test_guarantee_features_known_by_sums_stay_below_one",),
    ),
    Mutant(
        "norms of the NTK lack biases",
        _TANGENT,
        "            squares += jnp.sum(jnp.sum(delta, axis=1) ** 2, axis=1)\n",
        "            squares += 0 * jnp.sum(jnp.sum(delta, axis=1) ** 2, axis=1)\n",
        (f"{_F}test_guarantee_features_have_norm_at_most_one",),
    ),
    Mutant(
        "Fourier features have norm two",
        _WAVES,
        "waves / math.sqrt(angles.shape[1])",
        "waves * math.sqrt(2 / angles.shape[1])",
        (f"{_R}test_guarantee_norms_are_at_most_one",),
    ),
    Mutant(
        "cosines of large angles leave the circle",
        "jaxdp/features/circle.py",
        "r = jnp.clip(r, -_MOST, _MOST)",
        "r = r + 0.0",
        ("tests/features/test_circle.py::test_guarantee_they_are_on_the_circle_at_every_angle",),
    ),
    Mutant(
        "a row that is not finite adds the features of zeros",
        _MAPS,
        "        weights = finite_weights(x, weights)\n        phi = jnp.where(",
        "        phi = jnp.where(",
        (f"{_F}test_guarantee_a_row_that_is_not_finite_adds_exactly_nothing",),
    ),
    Mutant(
        "features are divided by the norm of other ones",
        _MAPS,
        "phi = rounded_once(feature_fn(finite_rows(x)), weights)",
        "phi = feature_fn(finite_rows(x))",
        (
            "tests/test_rounded_once.py::test_guarantee_unit_features_of_few_digits_have_norm_at_most_one",
        ),
    ),
    Mutant(
        "features are computed in the precision that GPUs have by default",
        _MAPS,
        'unit_weights(weights, norms), phi, precision="highest")',
        "unit_weights(weights, norms), phi)",
        ("tests/methods/test_full_precision.py::test_embedded_features_are_not_rounded",),
    ),
)
