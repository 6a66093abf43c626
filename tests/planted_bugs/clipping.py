"""Bugs of clipping, masks and norms."""

from planted_bugs.mutant import Mutant

_CLIP, _T = "jaxdp/privacy/clipping.py", "tests/privacy/test_clipping.py::"
_TEACHER, _TT = "jaxdp/methods/teacher/classifier.py", "tests/methods/teacher/test_teacher.py::"
_KIP, _K, _KG = (
    "jaxdp/methods/dp_kip/release.py",
    "tests/methods/dp_kip/test_dp_kip.py::",
    "tests/methods/dp_kip/test_dp_kip_guarantees.py::",
)
_GRADS, _NORMS, _G = (
    "jaxdp/methods/dp_kip/clipped/sums.py",
    "jaxdp/methods/dp_kip/clipped/norms.py",
    "tests/methods/dp_kip/test_norm_bounds.py::",
)
_TERMS, _ROUND = (
    "jaxdp/methods/dp_kip/clipped/terms.py",
    "tests/methods/dp_kip/test_rounding.py::",
)
_ONCE, _O = "jaxdp/numerics.py", "tests/test_rounded_once.py::"
_ANY_COMPILATION = (
    f"{_ROUND}test_guarantee_a_record_adds_at_most_the_clip_norm_under_any_compilation",
)
_COMPUTED = (f"{_ROUND}test_guarantee_targets_that_are_computed_add_at_most_the_clip_norm",)
_PIXELS, _P = "jaxdp/methods/dp_kip/clipped/pixels.py", "tests/methods/dp_kip/test_pixels.py::"

_SUMS, _ST = "jaxdp/privacy/sums.py", "tests/privacy/test_sums.py::"
_ROUNDED = tuple(
    f"{_ST}test_guarantee_no_records_let_one_move_{what}"
    for what in (
        "the_mean_of_features_by_more_than_one",
        "the_gaps_by_more_than_one",
        "gradients_by_more_than_the_clip_norm",
    )
)

MUTANTS = (
    Mutant(
        "gradients are clipped at twice the norm",
        _CLIP,
        "jnp.where(norm > clip_norm, wide",
        "jnp.where(norm > 2 * clip_norm, wide",
        (f"{_T}test_clipping_starts_exactly_at_clip_norm",),
    ),
    Mutant(
        "the norm is that of one leaf",
        _CLIP,
        "norm = global_norm(tree) * _margin(tree)",
        "norm = global_norm(jax.tree.leaves(tree)[0]) * _margin(tree)",
        (f"{_T}test_global_norm_and_clip",),
    ),
    Mutant(
        "rounding may exceed the clip norm",
        _CLIP,
        "return 1 + (size + 16) * float(jnp.finfo(_wide_type()).eps) / 2 + 4 * stored",
        "return 1.0",
        (f"{_T}test_guarantee_no_rounding_exceeds_the_clip_norm_and_the_bound_is_attained",),
    ),
    Mutant(
        "gradients without a finite norm are kept",
        _CLIP,
        "keep = keep & jnp.isfinite(norm)",
        "keep = keep | jnp.isnan(norm)",
        (f"{_T}test_guarantee_a_finite_record_with_an_infinite_gradient_contributes_exactly_zero",),
    ),
    Mutant(
        "masked gradients are kept",
        _CLIP,
        "lambda grad, keep: clip(grad, clip_norm, keep)",
        "lambda grad, keep: clip(grad, clip_norm, keep | True)",
        (f"{_T}test_guarantee_non_finite_and_masked_records_contribute_exactly_zero",),
    ),
    Mutant(
        "the last whole microbatch counts twice",
        _CLIP,
        "lambda z: z[chunks * size :], (batch, mask)",
        "lambda z: z[(chunks - 1) * size :], (batch, mask)",
        (f"{_T}test_microbatches_of_any_size_give_the_same_sum",),
    ),
    Mutant(
        "examples are summed in float32",
        _CLIP,
        "jnp.sum(_wide(g), axis=0)",
        "jnp.sum(g, axis=0)",
        (f"{_T}test_guarantee_sums_of_float32_gradients_are_float64",),
    ),
    Mutant(
        "the teacher clips class by class",
        _TEACHER,
        "norms = sums.MARGIN * of_phi * of_residuals",
        "norms = sums.MARGIN * of_phi * jnp.max(jnp.abs(residuals), axis=1)",
        (f"{_TT}test_guarantee_no_clipped_norm_exceeds_the_clip_norm",),
    ),
    Mutant(
        "norms are rounded down",
        _CLIP,
        "margin = 1 + (terms + 16) * 2.0**-24",
        "margin = 1.0",
        (
            "tests/privacy/test_clipping.py::"
            "test_guarantee_norms_from_above_are_no_less_than_exact_ones",
        ),
    ),
    Mutant(
        "the teacher's small norms underflow",
        _CLIP,
        "axis=1) + terms * _LEAST_NORMAL)",
        "axis=1) + _LEAST_NORMAL * 0 * terms)",
        (f"{_TT}test_guarantee_norms_that_underflow_are_clipped_too",),
    ),
    Mutant(
        "the teacher's sum is rounded to 11 bits on GPUs",
        _SUMS,
        'return jnp.matmul(left.T, right, precision="highest")',
        "return jnp.matmul(left.T, right)",
        (
            "tests/methods/test_clipped_sum_contract.py::"
            "test_guarantee_no_product_of_a_clipped_sum_is_rounded_as_gpus_do_by_default",
        ),
    ),
    Mutant(
        "the teacher has no mask",
        _TEACHER,
        "keep = mask & jnp.all(finite, axis=1)",
        "keep = jnp.all(finite, axis=1)",
        (f"{_TT}test_non_finite_records_contribute_exactly_zero",),
    ),
    Mutant(
        "the teacher keeps records that are not finite",
        _TEACHER,
        "keep = mask & jnp.all(finite, axis=1) & jnp.isfinite(norms)",
        "keep = mask & jnp.isfinite(norms)",
        (f"{_TT}test_non_finite_records_contribute_exactly_zero",),
    ),
    Mutant(
        "the teacher looks for infinite numbers before its view makes them",
        _TEACHER,
        "finite = jnp.isfinite(seen)",
        "finite = jnp.isfinite(wide)",
        (
            "tests/methods/teacher/test_teacher.py::"
            "test_guarantee_records_that_a_view_makes_infinite_contribute_exactly_zero",
        ),
    ),
    Mutant(
        "the teacher's gradients are clipped by rows that are not centred",
        _TEACHER,
        "for rows in (phi, residuals))",
        "for rows in (jnp.where(finite, wide, 0.0), residuals))",
        (
            "tests/methods/test_clipped_sum_contract.py::"
            "test_guarantee_one_example_moves_the_sum_by_at_most_the_clip_norm[teacher]",
        ),
    ),
    Mutant(
        "the teacher clips the sum",
        _TEACHER,
        "factors = jnp.minimum(1.0, clip_norm / norms)",
        "factors = jnp.minimum(1.0, clip_norm / jnp.mean(norms)) * jnp.ones_like(norms)",
        (f"{_TT}test_guarantee_one_record_moves_a_release_by_at_most_the_clip_norm",),
    ),
    Mutant(
        "general kernels clip the sum",
        _KIP,
        "return clipping.sum_clipped_grads(\n"
        "            target_loss, support.x, (rows, y_t), mask, clip_norm=mechanism.clip_norm\n"
        "        )",
        "total = clipping.sum_clipped_grads(\n"
        "            target_loss, support.x, (rows, y_t), mask, clip_norm=1e30\n"
        "        )\n"
        "        return clipping.clip(total, mechanism.clip_norm, jnp.any(mask))",
        (f"{_K}test_kernels_without_dot_product_form_take_the_general_path",),
    ),
    Mutant(
        "clipping in pixels takes norms of features",
        _KIP,
        "clipped = linear(norms_fn=norms_fn)",
        "clipped = linear()",
        (f"{_P}test_clipping_in_pixels_equals_autodiff",),
    ),
    Mutant(
        "a record may be several targets",
        _KIP,
        "        if len(rows) != len(y_t):\n",
        "        if len(rows) < len(y_t):\n",
        (f"{_P}test_guarantee_a_record_is_one_target",),
    ),
    Mutant(
        "targets are centred by their private mean",
        _KIP,
        "rows = target_fn(x_t[indices])",
        "rows = target_fn(x_t[indices] - jnp.mean(x_t, axis=0))",
        (f"{_KG}test_guarantee_nothing_but_the_sample_and_the_noise_depends_on_data",),
    ),
    Mutant(
        "KIP does not clip",
        _GRADS,
        "factor = jnp.minimum(1.0, clip_norm / jnp.where(norms > 0, norms, 1.0))",
        "factor = jnp.ones_like(norms)",
        (f"{_KG}test_guarantee_one_record_moves_a_release_by_at_most_the_clip_norm",),
    ),
    Mutant(
        "KIP clips by the mean norm",
        _GRADS,
        "factor = jnp.minimum(1.0, clip_norm / jnp.where(norms > 0, norms, 1.0))",
        "factor = jnp.minimum(1.0, clip_norm / jnp.mean(norms)) * jnp.ones_like(norms)",
        (f"{_KG}test_guarantee_one_record_moves_a_release_by_at_most_the_clip_norm",),
    ),
    Mutant(
        "KIP has no mask",
        _GRADS,
        "keep = mask & finite & jnp.all(jnp.isfinite(x_t), axis=1)",
        "keep = finite & jnp.all(jnp.isfinite(x_t), axis=1)",
        (f"{_P}test_guarantee_one_record_moves_the_clipped_sum_by_at_most_the_clip_norm",),
    ),
    Mutant(
        "KIP's moments lack the factor of clipping",
        _GRADS,
        "ub=dot(factor, kept(target.ub)),",
        "ub=dot(jnp.where(keep, 1.0, 0.0), kept(target.ub)),",
        (f"{_KG}test_guarantee_one_record_moves_a_release_by_at_most_the_clip_norm",),
    ),
    Mutant(
        "KIP's norms are what rounding left of them",
        _NORMS,
        "norm = jnp.sqrt(jnp.maximum(square, 0.0) + rounding * _magnitude_square(support, target))",
        "norm = jnp.sqrt(jnp.maximum(square, 0.0) + 0 * _magnitude_square(support, target))",
        (f"{_G}test_norm_bounds_are_never_below_the_norm",),
    ),
    Mutant(
        "KIP's norms forget a cancelling diagonal",
        _NORMS,
        "return norm + rounding * _diagonal_magnitude(support, target)",
        "return norm + 0 * _diagonal_magnitude(support, target)",
        (f"{_G}test_norm_bounds_with_records_that_cancel_on_the_diagonal",),
    ),
    Mutant(
        "KIP's norms lack a part",
        _NORMS,
        "square += 2 * jnp.sum(p * m_h, axis=1) + jnp.sum(p * p, axis=1) * target.square",
        "square += jnp.sum(p * p, axis=1) * target.square",
        (f"{_G}test_norm_bounds_match_the_oracle_and_are_tight",),
    ),
    Mutant(
        "KIP's norms of features forget rounding",
        _NORMS,
        "jnp.maximum(square, 0.0) + rounding * _linear_magnitude(support, target))",
        "jnp.maximum(square, 0.0) + 0 * _linear_magnitude(support, target))",
        (f"{_G}test_norm_bounds_are_never_below_the_norm",),
    ),
    Mutant(
        "KIP's norms of features lack what the ridge adds",
        _NORMS,
        "square += 4 * tau * (across - uv) + 4 * tau * tau * jnp.trace(gram)",
        "square += 4 * tau * tau * jnp.trace(gram)",
        (f"{_G}test_linear_norm_bounds_are_those_of_the_general_formula_and_tight",),
    ),
    Mutant(
        "norms of features are used for every kernel",
        _GRADS,
        "bounds = linear_norm_bounds if dot_product is LINEAR else norm_bounds",
        "bounds = linear_norm_bounds",
        (
            "tests/methods/dp_kip/test_clipped_sums_guarantees.py::"
            "test_guarantee_one_record_moves_the_sum_by_at_most_clip_norm",
        ),
    ),
    Mutant(
        "norms in pixels are those of the last row",
        _PIXELS,
        "return (total + jnp.sum(grads**2, axis=1), jnp",
        "return (0 * total + jnp.sum(grads**2, axis=1), jnp",
        (f"{_P}test_guarantee_one_record_moves_the_clipped_sum_by_at_most_the_clip_norm",),
    ),
    Mutant(
        "norms in pixels are from below",
        _PIXELS,
        "return jnp.sqrt(squares) * (1 + _ROUNDING) + lost",
        "return jnp.sqrt(squares) * (1 - _ROUNDING)",
        (f"{_P}test_guarantee_one_record_moves_the_clipped_sum_by_at_most_the_clip_norm",),
    ),
    Mutant(
        "norms in pixels lack what rounding takes away",
        _PIXELS,
        "return jnp.sqrt(squares) * (1 + _ROUNDING) + lost",
        "return jnp.sqrt(squares) * (1 + _ROUNDING)",
        (f"{_P}test_guarantee_a_nearly_singular_kernel_moves_no_sum_further",),
    ),
    Mutant(
        "a norm of KIP and its sum read different roundings of a support's terms",
        _TERMS,
        "terms = rounded_once(terms, x)",
        "terms = jax.lax.optimization_barrier(terms)",
        _ANY_COMPILATION,
    ),
    Mutant(
        "a norm of KIP and its sum read different roundings of a target",
        _TERMS,
        "wide(rounded_once(x_t, support.x))",
        "wide(x_t)",
        _COMPUTED,
    ),
    Mutant(
        "a norm of KIP and its sum read different roundings of residuals",
        _TERMS,
        "w = rounded_once((dot(k, support.alpha) - y) / y.shape[1], support.x)",
        "w = (dot(k, support.alpha) - y) / y.shape[1]",
        _ANY_COMPILATION,
    ),
    Mutant(
        "values pass a barrier that XLA removes",
        _ONCE,
        "return _through_a_loop(values, unknown)\n\n\n@rounded_once",
        "return jax.lax.optimization_barrier(values)\n\n\n@rounded_once",
        (*_ANY_COMPILATION, f"{_O}test_guarantee_xla_keeps_the_loop"),
    ),
    Mutant(
        "values pass a loop of a known number of rounds",
        _ONCE,
        "rounds = 1 + jnp.any(jnp.isnan(unknown.reshape(-1)[:1])).astype(jnp.int32)",
        "rounds = jnp.ones((), jnp.int32)",
        (f"{_O}test_guarantee_xla_keeps_the_loop",),
    ),
    Mutant(
        "general clipping reads other gradients than it sums",
        _CLIP,
        "        grads = numerics.rounded_once(grads, some_param)\n",
        "",
        (f"{_O}test_guarantee_gradients_of_few_digits_are_clipped_by_their_own_norm",),
    ),
    Mutant(
        "the teacher's norms are of other residuals than the sum's",
        _TEACHER,
        "    phi, residuals = rounded_once((phi, residuals), weights)\n",
        "",
        (f"{_O}test_guarantee_confident_teachers_clip_residuals_of_few_digits",),
    ),
    Mutant(
        "KIP's norms have a hundredth of their margin",
        _NORMS,
        "return 4 * (s + d + 4) * float(",
        "return 0.04 * (s + d + 4) * float(",
        (f"{_G}test_norm_bounds_are_never_below_the_norm",),
    ),
    Mutant(
        "norms in pixels allow for the rounding of the last row alone",
        _PIXELS,
        "jnp.maximum(largest, size)), None",
        "size), None",
        (f"{_P}test_guarantee_a_nearly_singular_kernel_moves_no_sum_further",),
    ),
    Mutant(
        "thousands of records are added up in float32",
        _SUMS,
        "    blocks = -(-len(left) // ROWS)\n",
        "    return _wide(_product(left, right))\n    blocks = -(-len(left) // ROWS)\n",
        _ROUNDED,
    ),
    Mutant(
        "many blocks of a teacher's sum are rounded to 11 bits on GPUs",
        _SUMS,
        'left, right, precision="highest")\n    return jnp.sum',
        "left, right)\n    return jnp.sum",
        (f"{_ST}test_guarantee_no_product_is_rounded_as_gpus_do_by_default",),
    ),
    Mutant(
        "the mean of features is clipped without a margin for the rounding of sums",
        "jaxdp/methods/teacher/feature_mean.py",
        "norms = sums.MARGIN * clipping",
        "norms = clipping",
        _ROUNDED[:1],
    ),
    Mutant(
        "gaps are clipped without a margin for the rounding of sums",
        "jaxdp/methods/teacher/probabilities.py",
        "norms = sums.MARGIN * clipping",
        "norms = clipping",
        _ROUNDED[1:2],
    ),
    Mutant(
        "a teacher's gradients are clipped without a margin for the rounding of sums",
        "jaxdp/methods/teacher/classifier.py",
        "norms = sums.MARGIN * of_phi * of_residuals",
        "norms = of_phi * of_residuals",
        _ROUNDED[2:],
    ),
)
