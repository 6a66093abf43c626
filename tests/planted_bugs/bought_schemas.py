"""Bugs of schemas that are bought: of thresholds, sums, their ledger and who counts it."""

from planted_bugs.mutant import Mutant

_TEXTS, _T = "jaxdp/privacy/unknown_texts.py", "tests/privacy/test_unknown_texts.py::"
_SUMS, _S = "jaxdp/privacy/ordered_counts.py", "tests/privacy/test_ordered_counts.py::"
_PURCHASE, _P = "jaxdp/bought/purchase.py", "tests/bought/test_purchase.py::"
_BUYING, _RELEASE = "jaxdp/bought/buying.py", "jaxdp/bought/release.py"
_RUNS, _R = "jaxdp/methods/bought_schema.py", "tests/methods/test_bought_schema.py::"
_LEDGER, _PROFILES = "jaxdp/privacy/ledger.py", "jaxdp/privacy/profiles.py"
_L = "tests/privacy/test_threshold_delta.py::"
_SELDOM = f"{_T}test_guarantee_a_text_of_one_person_passes_as_seldom_as_is_said"
_ALONE = f"{_P}test_guarantee_a_record_moves_noised_sums_alone"

MUTANTS = (
    Mutant(
        "texts of equal counts are in the order of the table",
        _TEXTS,
        "key=lambda place: (-noisy[place], names[place])",
        "key=lambda place: -noisy[place]",
        (f"{_T}test_guarantee_texts_of_equal_counts_are_not_in_the_order_of_records",),
    ),
    Mutant(
        "thresholds forget that noisy counts are rounded",
        _TEXTS,
        "stddev * (mechanism.ROUNDED_BY - float(ndtri(chance)))",
        "stddev * -float(ndtri(chance))",
        (f"{_T}test_guarantee_rounding_lets_no_text_of_one_person_pass",),
    ),
    Mutant(
        "a threshold forgets that a person has several records",
        _TEXTS,
        "return (records_per_person + noise)",
        "return (1 + noise)",
        (f"{_SELDOM}[3-1]",),
    ),
    Mutant(
        "a threshold is for one column alone",
        _TEXTS,
        "chance = threshold_delta / (records_per_person * num_columns)",
        "chance = threshold_delta / records_per_person",
        (f"{_SELDOM}[1-4]",),
    ),
    Mutant(
        "texts that occur pass without a threshold",
        _TEXTS,
        "(counts > 0) & (noisy > least)",
        "(counts > 0) & (noisy > 0)",
        (f"{_SELDOM}[1-1]",),
    ),
    Mutant(
        "texts of all columns are counted in full",
        _TEXTS,
        "counts / root, release) * root",
        "counts, release)",
        (f"{_T}test_guarantee_independent_noise_of_the_release_is_on_every_count",),
    ),
    Mutant(
        "all texts count as known beside known ones",
        _TEXTS,
        "is_known = np.array([name in column.known for name in names], bool)",
        "is_known = np.full(len(names), bool(column.known))",
        (f"{_T}test_guarantee_other_texts_pass_no_easier_beside_known_ones",),
    ),
    Mutant(
        "numbers that few records have are told as spikes",
        _RELEASE,
        "known = frozenset(map(_written, likely[name]))",
        "known = frozenset(map(_written, distinct))",
        (f"{_P}test_guarantee_a_number_of_few_records_is_no_spike",),
    ),
    Mutant(
        "each threshold takes all of the chance",
        _PURCHASE,
        "self._threshold_delta / max(self._thresholds, 1)",
        "self._threshold_delta",
        (f"{_P}test_guarantee_thresholds_share_the_chance_that_the_ledger_tells",),
    ),
    Mutant(
        "columns of texts share their noise",
        _TEXTS,
        "noisy = noisy_sums(jax.random.fold_in(key, number), counts",
        "noisy = noisy_sums(jax.random.fold_in(key, 0), counts",
        (f"{_T}test_guarantee_independent_noise_of_the_release_is_on_every_count",),
    ),
    Mutant(
        "ordered counts are longer than 1",
        _SUMS,
        "exact = _times_root(r, counts) / (norm * share)",
        "exact = _times_root(r, counts) / share",
        (f"{_S}test_guarantee_a_record_has_norm_one_at_most",),
    ),
    Mutant(
        "ordered counts of all columns are counted in full",
        _SUMS,
        "found, share = [], math.sqrt(len(columns))",
        "found, share = [], 1.0",
        (f"{_S}test_guarantee_replacing_a_record_moves_sums_by_at_most_the_sensitivity",),
    ),
    Mutant(
        "columns of ordered counts share their noise",
        _SUMS,
        "noisy_sums(jax.random.fold_in(key, number), exact, release)",
        "noisy_sums(jax.random.fold_in(key, 0), exact, release)",
        (f"{_S}test_guarantee_noise_of_sums_is_that_of_the_release",),
    ),
    Mutant(
        "bounds are read off the records",
        _BUYING,
        "        spikes, noise = self._spikes(cuts, threshold_delta, records_per_person)\n",
        "        spikes, noise = self._spikes(cuts, threshold_delta, records_per_person)\n"
        "        cuts = {n: c._replace(high=float(np.nanmax(self._records[n])) + 1)\n"
        "                for n, c in cuts.items()}\n",
        (f"{_ALONE}[far beyond]",),
    ),
    Mutant(
        "missing values are told without noise",
        _BUYING,
        "return float(self._looked[name][-1]) if name in self._looked else 0.0",
        "column = self._records[name]\n"
        "        return float(np.sum(np.isnan(column))) if not isinstance(column, tuple) else 0.0",
        (f"{_P}test_columns_of_nothing_make_a_schema_all_the_same",),
    ),
    Mutant(
        "releases of a purchase share a key",
        _BUYING,
        "jax.random.split(key, len(names))",
        "[key] * len(names)",
        (f"{_P}test_guarantee_releases_have_keys_of_their_own",),
    ),
    Mutant(
        "a purchase takes all of the budget, whatever its share is",
        _PURCHASE,
        "        if purchase.share < 1:\n",
        "        if purchase.share < 0:\n",
        (f"{_P}test_guarantee_a_purchase_costs_its_share_of_the_budget",),
    ),
    Mutant(
        "a ledger of a purchase keeps quiet about its threshold",
        _PURCHASE,
        "            threshold_delta=self._threshold_delta,\n        )\n\n\ndef buy_schema",
        "        )\n\n\ndef buy_schema",
        (f"{_P}test_guarantee_a_purchase_costs_its_share_of_the_budget",),
    ),
    Mutant(
        "a purchase for persons has the noise of one record",
        _PURCHASE,
        "            records_per_person=purchase.records_per_person,\n"
        "            relation=purchase.relation,\n        )\n\n    def _ledger",
        "            relation=purchase.relation,\n        )\n\n    def _ledger",
        (f"{_P}test_guarantee_a_purchase_costs_its_share_of_the_budget",),
    ),
    Mutant(
        "texts that stand for a missing value are categories",
        _RELEASE,
        "        places = np.where(gone[column.places], -1, column.places)\n",
        "        places = column.places\n",
        (f"{_P}test_a_schema_tells_what_is_in_the_table[20.0]",),
    ),
    Mutant(
        "a run forgets what its schema has cost",
        _RUNS,
        "    left = whole**-2 - before.noise_multiplier**-2\n",
        "    left = whole**-2\n",
        (
            f"{_R}test_guarantee_a_run_and_its_schema_are_within_the_budget_together[marginals]",
            f"{_R}test_guarantee_a_run_and_its_schema_are_within_the_budget_together[dp_ntk]",
        ),
    ),
    Mutant(
        "a training forgets what its schema has cost",
        "jaxdp/methods/noise.py",
        "also=(*bought_schema.multipliers(spec), *also),",
        "also=also,",
        (f"{_R}test_guarantee_a_run_and_its_schema_are_within_the_budget_together[dp_kip]",),
    ),
    Mutant(
        "a run's ledger leaves out what was bought",
        _RUNS,
        "releases=(*found.releases, *ledger.releases))\n",
        "releases=ledger.releases)\n",
        (f"{_R}test_guarantee_a_run_and_its_schema_are_within_the_budget_together[marginals]",),
    ),
    Mutant(
        "noise of a schema that somebody knows is secret in a run",
        _RUNS,
        "seeded_noise=ledger.seeded_noise or found.seeded_noise,",
        "seeded_noise=ledger.seeded_noise,",
        (
            f"{_R}test_guarantee_a_schema_that_was_bought_without_noise_is_never_releasable[marginals]",
        ),
    ),
    Mutant(
        "flawed noise of a schema is sound in a run",
        _RUNS,
        "noise=worst_noise(ledger.noise, found.noise),",
        "",
        (f"{_R}test_guarantee_a_run_has_the_noise_of_its_schema[marginals]",),
    ),
    Mutant(
        "a schema of all records of persons serves a run about persons",
        _RUNS,
        "spec.records_per_person == 1 and not bought.persons_declared:",
        "spec.records_per_person > 1 and not bought.persons_declared:",
        (
            f"{_R}test_guarantee_a_schema_of_all_records_of_persons_serves_no_run_about_persons"
            "[marginals]",
        ),
    ),
    Mutant(
        "a schema that was bought for single records serves persons",
        _RUNS,
        "    if found.records_per_person != spec.records_per_person:\n",
        "    if found.records_per_person > spec.records_per_person:\n",
        (f"{_R}test_guarantee_persons_are_protected_by_both_or_by_none",),
    ),
    Mutant(
        "noise gets all of delta, and thresholds a part of it, too",
        _LEDGER,
        "        return self.delta - self.threshold_delta\n",
        "        return self.delta\n",
        (f"{_L}test_guarantee_noise_has_what_thresholds_leave_of_delta",),
    ),
    Mutant(
        "thresholds of several runs are counted once",
        _LEDGER,
        "return math.fsum(ledger.threshold_delta for ledger in ledgers)",
        "return max(ledger.threshold_delta for ledger in ledgers)",
        (f"{_L}test_guarantee_thresholds_of_several_runs_add_up",),
    ),
    Mutant(
        "a profile leaves out the chance that a threshold fails",
        _PROFILES,
        "return self._noise_delta(epsilon) + self.threshold_delta",
        "return self._noise_delta(epsilon)",
        (f"{_L}test_guarantee_profiles_have_the_chance_of_a_threshold_added",),
    ),
    Mutant(
        "an attacker finds nothing where a threshold fails",
        _PROFILES,
        "return min(found + self.threshold_delta, 1.0)",
        "return min(found, 1.0)",
        (f"{_L}test_guarantee_profiles_have_the_chance_of_a_threshold_added",),
    ),
    Mutant(
        "a purchase is entered when it has been made",
        "jaxdp/program/runs/schema_purchase.py",
        "            file.enter(planned.name, SCHEMA, ledger, budget=budget, persons=persons)\n"
        "            file.finish(planned.name, {})\n",
        "            pass\n",
        (
            "tests/test_schema_purchase.py::"
            "test_guarantee_a_purchase_is_entered_before_its_noise_and_within_the_budget",
        ),
    ),
    Mutant(
        "runs at once buy a schema each, and one of them is lost",
        "jaxdp/program/runs/schema_purchase.py",
        "            if path.exists():  # bought since\n",
        "            if False:\n",
        (
            "tests/runs/test_purchase_lock.py::"
            "test_guarantee_of_two_runs_at_once_one_buys_and_the_other_waits",
        ),
    ),
    Mutant(
        "a run that replaces another takes over its counts",
        "jaxdp/program/runs/folder.py",
        '    "counts.npz",\n',
        "",
        (
            "tests/test_marginals_driver.py::"
            "test_guarantee_a_run_that_replaces_another_releases_anew",
        ),
    ),
    Mutant(
        "each of several processes buys, and adds its counts to those of the others",
        _PURCHASE,
        "if processes.are_several():",
        "if False:",
        (f"{_P}test_guarantee_several_processes_buy_nothing",),
    ),
    Mutant(
        "words on all runs leave out the thresholds of earlier ones",
        "jaxdp/privacy/promises.py",
        "*(self._earlier if together else ()))",
        ")",
        (f"{_L}test_guarantee_words_on_all_runs_tell_of_all_their_thresholds",),
    ),
    Mutant(
        "a missing class is found after the schema is bought, or never",
        "jaxdp/tables/cells.py",
        "        if value is None or _is_missing(value, missing):\n            raise target.error(",
        "        if rest is None and (value is None or _is_missing(value, missing)):\n"
        "            raise target.error(",
        (f"{_P}test_guarantee_a_class_that_is_missing_is_found_before_anything_is_counted[NA]",),
    ),
    Mutant(
        "what is no class is found after the schema is bought",
        "jaxdp/tables/raw.py",
        "    _labels(found, schema)  #",
        "    #",
        (f"{_P}test_guarantee_what_is_no_class_is_found_before_anything_is_counted[frame0]",),
    ),
)
