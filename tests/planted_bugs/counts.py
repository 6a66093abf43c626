"""Bugs of noisy counts of cells: of what a record adds to them, and of their noise."""

from planted_bugs.mutant import Mutant

_COUNTS, _C = "jaxdp/privacy/cell_counts.py", "tests/privacy/test_cell_counts.py::"
_DOMAIN, _D = "jaxdp/tables/domain.py", "tests/tables/test_domain.py::"
_MOMENTS = "jaxdp/privacy/second_moments.py"
_M = "tests/privacy/test_second_moments.py::"
_W = "tests/runs/test_what_is_written.py::"
_RELEASE = "jaxdp/methods/marginals/release.py"
_R = "tests/methods/marginals/test_release.py::"
_MOVES = f"{_C}test_guarantee_replacing_a_record_moves_counts_by_at_most_the_sensitivity"
_ANSWERS = f"{_C}test_guarantee_a_record_moves_answers_by_at_most_the_sensitivity"
_NOISE = f"{_C}test_guarantee_independent_noise_of_the_release_is_on_every_count"

MUTANTS = (
    Mutant(
        "all columns are counted in full",
        _COUNTS,
        "    root = math.sqrt(len(widths))\n",
        "    root = 1.0\n",
        (f"{_NOISE}[columns_of-3]",),
    ),
    Mutant(
        "all pairs are counted in full",
        _COUNTS,
        "root, sums = math.sqrt(len(pairs)), []",
        "root, sums = 1.0, []",
        (f"{_NOISE}[pairs_of-3]",),
    ),
    Mutant(
        "a record that replaces another is said to move counts as one that becomes empty",
        _COUNTS,
        "return math.sqrt(relations.contributions(relation))",
        "return 1.0",
        (f"{_MOVES}[columns_of-3]",),
    ),
    Mutant(
        "a program for noise is of as many texts as occur",
        _COUNTS,
        "    num_blocks = -(-len(exact) // _BLOCK)\n    filled = np.zeros((num_blocks, _BLOCK))\n",
        "    num_blocks = 1\n    filled = np.zeros((1, len(exact)))\n",
        (f"{_W}test_guarantee_kept_programs_tell_not_how_many_texts_occur",),
    ),
    Mutant(
        "kept programs hold the counts of a table",
        "jaxdp/methods/marginals/model.py",
        "return _moved(state, _redrawn(key, state, tables, fitted), target, shares, total)\n",
        "drawn = _redrawn(key, state, tables, fitted)\n"
        "        return jax.jit(lambda s, d: _moved(s, d, target, shares, total))(state, drawn)\n",
        (f"{_W}test_guarantee_kept_programs_of_counts_tell_nothing_of_the_records",),
    ),
    Mutant(
        "every block of counts gets the same noise",
        _COUNTS,
        "jax.random.fold_in(key, number),",
        "jax.random.fold_in(key, 0),",
        (f"{_C}test_guarantee_noise_of_many_counts_repeats_nowhere",),
    ),
    Mutant(
        "counts have half of their noise",
        _COUNTS,
        "stddev=release.stddev,",
        "stddev=release.stddev / 2,",
        (f"{_NOISE}[columns_of-3]", f"{_NOISE}[pairs_of-3]"),
    ),
    Mutant(
        "counts of pairs are believed, whatever their features are",
        _COUNTS,
        "        _require_features(each)\n",
        "        pass\n",
        (f"{_C}test_guarantee_features_that_break_the_bound_are_refused[features0-norm 1]",),
    ),
    Mutant(
        "features may have negative inner products",
        _COUNTS,
        "> 1 or np.min(products) < -1e-12:",
        "> 1:",
        (f"{_C}test_guarantee_features_that_break_the_bound_are_refused[features1-no negative]",),
    ),
    Mutant(
        "a pair may be counted twice for the price of one",
        _COUNTS,
        "    if len(set(pairs)) < len(pairs):\n",
        "    if not pairs:\n",
        (f"{_C}test_guarantee_a_pair_is_counted_once_and_a_record_once",),
    ),
    Mutant(
        "features of cells are longer than 1",
        _DOMAIN,
        "np.linalg.cholesky(alike) * (1 - _MARGIN)",
        "np.linalg.cholesky(alike) * (1 + _MARGIN)",
        (f"{_D}test_guarantee_features_have_norm_one_at_most_and_no_negative_products[adult]",),
    ),
    Mutant(
        "columns, pairs and chosen pairs share a key",
        _RELEASE,
        "column_key, pair_key, chosen_key, moment_key, answer_key = jax.random.split(key, 5)",
        "column_key, pair_key, chosen_key, moment_key, answer_key = (key,) * 5",
        (f"{_R}test_guarantee_noise_of_every_part_is_its_own",),
    ),
    Mutant(
        "pairs are chosen by counts without noise",
        _RELEASE,
        "chosen = list(choose(columns, found))",
        "exact = np.concatenate(\n"
        "        [np.bincount(cells[:, j], minlength=w) / len(cells)\n"
        "         for j, w in enumerate(domain.widths)])\n"
        "    chosen = list(choose(exact, found))",
        (f"{_R}test_guarantee_the_choice_of_pairs_sees_what_was_released_alone",),
    ),
    Mutant(
        "persons with several records count as one",
        "jaxdp/methods/bought_schema.py",
        "            shares=shares,\n            records_per_person=spec.records_per_person,\n",
        "            shares=shares,\n            records_per_person=1,\n",
        (f"{_R}test_guarantee_persons_get_noise_for_all_of_their_records",),
    ),
    Mutant(
        "all queries are answered in full",
        _COUNTS,
        "root = math.sqrt(len(queries))",
        "root = 1.0",
        (f"{_NOISE}[queries_of-8]", _ANSWERS),
    ),
    Mutant(
        "a release of answers may claim less",
        _COUNTS,
        "_require_claim(release, SENSITIVITY_OF_ANSWERS)",
        "_require_claim(release, 0.0)",
        (_ANSWERS,),
    ),
    Mutant(
        "answers to queries have no noise",
        _COUNTS,
        "return noisy_sums(key, exact / root, release) * (root / num_records)\n\n\ndef pair_counts",
        "return exact / num_records\n\n\ndef pair_counts",
        (f"{_NOISE}[queries_of-8]",),
    ),
    Mutant(
        "answers to queries are spent beside the budget",
        "jaxdp/methods/marginals/plan.py",
        "{name: (1 - own) * part for name, part in shares.items()}",
        "{name: part for name, part in shares.items()}",
        (f"{_R}test_guarantee_answers_to_queries_have_their_share_of_the_budget[zero-out]",),
    ),
    Mutant(
        "answers get the noise of counts of columns",
        _RELEASE,
        "            answer_key,\n",
        "            column_key,\n",
        (f"{_R}test_guarantee_noise_of_every_part_is_its_own",),
    ),
    Mutant(
        "longer vectors of scores are not shortened",
        _MOMENTS,
        "np.maximum(norms, 1.0)",
        "np.ones_like(norms)",
        (f"{_M}test_guarantee_vectors_are_no_longer_than_claimed_whatever_they_are",),
    ),
    Mutant(
        "vectors of scores are rounded to the nearest whole numbers",
        _MOMENTS,
        "np.trunc(short * (LENGTH * (1 - _MARGIN)))",
        "np.rint(short * (LENGTH * (1 - _MARGIN)))",
        (f"{_M}test_guarantee_vectors_are_no_longer_than_claimed_whatever_they_are",),
    ),
    Mutant(
        "second moments above the diagonal count half",
        _MOMENTS,
        "np.where(upper[0] == upper[1], 1.0, math.sqrt(2))",
        "np.ones(len(upper[0]))",
        (
            f"{_M}test_guarantee_noise_of_the_release_is_on_each_number_once",
            f"{_R}test_guarantee_cells_are_scored_by_what_was_released_alone",
        ),
    ),
    Mutant(
        "second moments have no noise",
        _MOMENTS,
        "noisy = cell_counts.noisy_sums(key, exact * weights / LENGTH**2, release)",
        "noisy = exact * weights / LENGTH**2",
        (f"{_M}test_guarantee_noise_of_the_release_is_on_each_number_once",),
    ),
    Mutant(
        "a release of second moments may claim less",
        _MOMENTS,
        "    cell_counts.require_sensitivity(release)\n",
        "",
        (f"{_M}test_guarantee_what_claims_less_or_does_not_fit_is_refused",),
    ),
    Mutant(
        "vectors of scores are added up as they are",
        _MOMENTS,
        "whole = whole_rows(rows).astype(np.float64)",
        "whole = rows * LENGTH",
        (f"{_M}test_guarantee_a_record_moves_what_gets_noise_by_at_most_the_sensitivity",),
    ),
    Mutant(
        "second moments get the noise of counts of columns",
        _RELEASE,
        "            moment_key,\n",
        "            column_key,\n",
        (f"{_R}test_guarantee_noise_of_moments_is_that_of_no_other_part",),
    ),
    Mutant(
        "second moments are spent beside the budget",
        "jaxdp/methods/marginals/plan.py",
        "        found[last] -= settings.factor_share\n",
        "        found[last] += settings.factor_share\n",
        (f"{_R}test_guarantee_second_moments_have_their_share_of_the_budget[zero-out]",),
    ),
    Mutant(
        "cells are scored by exact shares",
        _RELEASE,
        "score(columns, found)",
        "score(np.concatenate([np.bincount(c, minlength=w) / num_records for c, w in "
        "zip(cells.T, domain.widths)]), found)",
        (f"{_R}test_guarantee_cells_are_scored_by_what_was_released_alone",),
    ),
    Mutant(
        "queries are chosen by exact shares",
        _RELEASE,
        "ask(processes.told(columns)),",
        "ask(np.concatenate([np.bincount(c, minlength=w) / num_records for c, w in "
        "zip(cells.T, domain.widths)])),",
        (
            f"{_R}test_guarantee_queries_are_chosen_by_what_was_released_and_answered_with_its_noise",
        ),
    ),
)
