"""Bugs of accounting: events, accountants, shares, ledgers and certificates."""

from planted_bugs.mutant import Mutant

_FILE, _T = "jaxdp/privacy/accounting.py", "tests/privacy/test_accounting.py::"
_SEARCH, _S = "jaxdp/privacy/calibration.py", "tests/privacy/test_calibration.py::"
_RELEASES, _R = "jaxdp/privacy/releases.py", "tests/privacy/test_releases.py::"
_LEDGER, _L = "jaxdp/privacy/ledger.py", "tests/privacy/test_ledger.py::"
_CERTIFICATES, _C = "jaxdp/privacy/certificates.py", "tests/privacy/test_certificates.py::"
_STORED = "jaxdp/privacy/stored_certificates.py"
_EVENT = (f"{_T}test_guarantee_the_event_has_the_numbers_of_the_mechanism",)

MUTANTS = (
    Mutant(
        "one step less is accounted",
        _FILE,
        "dp_accounting.SelfComposedDpEvent(_step(mechanism), mechanism.num_steps)",
        "dp_accounting.SelfComposedDpEvent(_step(mechanism), mechanism.num_steps - 1)",
        _EVENT,
    ),
    Mutant(
        "half the rate is accounted",
        _FILE,
        "dp_accounting.PoissonSampledDpEvent(rate, alone)",
        "dp_accounting.PoissonSampledDpEvent(rate / 2, alone)",
        _EVENT,
    ),
    Mutant(
        "the variance is accounted as the deviation",
        _FILE,
        "alone = dp_accounting.GaussianDpEvent(mechanism.noise_multiplier / most)",
        "alone = dp_accounting.GaussianDpEvent(mechanism.noise_multiplier**2 / most)",
        _EVENT,
    ),
    Mutant(
        "other releases are left out",
        _FILE,
        "    if not also:\n        return steps",
        "    if also is not None:\n        return steps",
        (f"{_T}test_guarantee_releases_beside_a_run_are_accounted_with_it[pld]",),
    ),
    Mutant(
        "Renyi counts one of several releases",
        _FILE,
        "sum(0.5 * (people / sigma) ** 2 for sigma in also)",
        "sum(0.5 * (people / sigma) ** 2 for sigma in also[:1])",
        (f"{_T}test_guarantee_releases_beside_a_run_are_accounted_with_it[rdp]",),
    ),
    Mutant(
        "Renyi counts one step",
        _FILE,
        '"coeff": mechanism.num_steps,',
        '"coeff": 1,',
        (f"{_T}test_epsilon_falls_with_noise_and_delta_and_rises_with_steps_and_rate[rdp]",),
    ),
    Mutant(
        "Renyi counts one step on all data",
        _FILE,
        "sigma = mechanism.noise_multiplier / people / math.sqrt(mechanism.num_steps)",
        "sigma = mechanism.noise_multiplier / people",
        (f"{_T}test_guarantee_epsilon_without_subsampling_is_an_upper_bound[rdp-10.0-100]",),
    ),
    Mutant(
        "a curve that is lost to rounding is believed",
        _FILE,
        "(values > mechanism.num_steps * _LEAST_RENYI)",
        "(values > -1.0)",
        (f"{_T}test_guarantee_a_renyi_curve_that_is_lost_to_rounding_is_not_believed",),
    ),
    Mutant(
        "a larger delta is accounted",
        _FILE,
        "_accountant(accounted, interval).get_epsilon(delta)",
        "_accountant(accounted, interval).get_epsilon(2 * delta)",
        (f"{_T}test_guarantee_epsilon_of_one_step_is_an_upper_bound[pld-1.0-0.3]",),
    ),
    Mutant(
        "calibration ends below the target's noise",
        _SEARCH,
        "return dataclasses.replace(mechanism, noise_multiplier=2.0**high)",
        "return dataclasses.replace(mechanism, noise_multiplier=2.0**high / (1 + tolerance))",
        (f"{_S}test_guarantee_calibrate_never_exceeds_the_target[1.0-pld]",),
    ),
    Mutant(
        "calibration takes what spends a little more than the target",
        _SEARCH,
        "return 0.0 if -tolerance < found <= 0 else",
        "return 0.0 if -tolerance < found <= tolerance else",
        (f"{_S}test_guarantee_a_coarse_search_does_not_exceed_the_target_either[pld-0.3]",),
    ),
    Mutant(
        "calibration leaves other releases out",
        _SEARCH,
        "spent = epsilon(candidate, delta=delta, accountant=accountant, also=also)",
        "spent = epsilon(candidate, delta=delta, accountant=accountant)",
        (f"{_S}test_guarantee_calibration_leaves_room_for_other_releases",),
    ),
    Mutant(
        "noise of half the sensitivity",
        _FILE,
        "pld.accountant.get_smallest_gaussian_noise(parameters, 1, sensitivity)",
        "pld.accountant.get_smallest_gaussian_noise(parameters, 1, sensitivity / 2)",
        (f"{_T}test_guarantee_analytic_gaussian_meets_the_closed_form",),
    ),
    Mutant(
        "the exact epsilon is of twice delta",
        _FILE,
        "loss.get_delta_for_epsilon(candidate)) <= delta",
        "loss.get_delta_for_epsilon(candidate)) <= 2 * delta",
        (f"{_R}test_gaussian_epsilon_inverts_the_noise",),
    ),
    Mutant(
        "several releases count as the worst of them",
        _RELEASES,
        "math.sqrt(sum((r.sensitivity / r.stddev) ** 2 for r in releases))",
        "math.sqrt(max((r.sensitivity / r.stddev) ** 2 for r in releases))",
        (f"{_R}test_guarantee_releases_are_jointly_within_the_budget",),
    ),
    Mutant(
        "every release gets the whole budget",
        _RELEASES,
        "unit / math.sqrt(shares[name] / total)",
        "unit / math.sqrt(shares[name])",
        (f"{_R}test_equal_shares_give_the_k_fold_noise",),
    ),
    Mutant(
        "shares are not under a root",
        _RELEASES,
        "unit / math.sqrt(shares[name] / total)",
        "unit * math.sqrt(shares[name] / total)",
        (f"{_R}test_guarantee_releases_are_jointly_within_the_budget",),
    ),
    Mutant(
        "the ledger's epsilon leaves other releases out",
        _LEDGER,
        "                also=self.also,\n",
        "",
        (f"{_L}test_guarantee_epsilon_is_that_of_everything_in_it",),
    ),
    Mutant(
        "another release without noise passes",
        _LEDGER,
        "return self.steps.is_private and 0 not in self.also",
        "return self.steps.is_private",
        (f"{_L}test_guarantee_anything_without_noise_makes_epsilon_infinite",),
    ),
    Mutant(
        "a stored ledger's relation is believed",
        _LEDGER,
        "if relation != ledger.relation:",
        "if relation not in RELATIONS:",
        (f"{_L}test_guarantee_what_is_no_ledger_is_refused",),
    ),
    Mutant(
        "the certificate says what was asked for",
        _CERTIFICATES,
        '"epsilon": _finite(epsilon),\n        "delta"',
        '"epsilon": terms.target_epsilon,\n        "delta"',
        (f"{_C}test_guarantee_epsilon_is_recomputed_and_not_copied",),
    ),
    Mutant(
        "seeded noise is releasable",
        _CERTIFICATES,
        "    if ledger.seeded_noise:\n        return",
        "    if ledger.seeded_noise and not ledger.is_private:\n        return",
        (f"{_C}test_guarantee_never_releasable_without_noise_or_with_seeded_noise",),
    ),
    Mutant(
        "float32 noise is releasable",
        _CERTIFICATES,
        "if ledger.noise == FLOAT32_NOISE:",
        "if ledger.noise == FLOAT32_NOISE and ledger.seeded_noise:",
        (f"{_C}test_guarantee_a_teacher_of_version_0_1_0_is_not_releasable",),
    ),
    Mutant(
        "a delta of one over n is releasable",
        _CERTIFICATES,
        "if not ledger.delta < 1 / ledger.num_examples and not terms.allow_delta:",
        "if not ledger.delta <= 1 / ledger.num_examples and not terms.allow_delta:",
        (f"{_C}test_guarantee_a_delta_of_one_over_n_is_releasable_by_an_allowance_alone",),
    ),
    Mutant(
        "any epsilon is releasable",
        _CERTIFICATES,
        "if epsilon > MOST and not terms.allow_epsilon:",
        "if epsilon > MOST * 1e3 and not terms.allow_epsilon:",
        (f"{_C}test_guarantee_an_epsilon_above_fifty_is_releasable_by_an_allowance_alone",),
    ),
    Mutant(
        "a stored epsilon is not compared",
        _STORED,
        "        _require_agreement(stored, certificate)\n",
        "",
        (f"{_C}test_guarantee_a_certificate_that_says_more_than_its_ledger_is_refused",),
    ),
    Mutant(
        "a stored epsilon may be half of the computed one",
        _STORED,
        "if not said_value >= found_value * (1 - _TOLERANCE):",
        "if not said_value >= found_value * 0.5:",
        (f"{_C}test_guarantee_a_claim_a_hundredth_too_low_is_refused",),
    ),
    Mutant(
        "a stored certificate is believed",
        _STORED,
        "return certificate | kept",
        "return certificate | dict(stored)",
        (f"{_C}test_guarantee_a_lower_stored_claim_never_replaces_what_was_computed",),
    ),
    Mutant(
        "an objection is forgotten",
        _CERTIFICATES,
        "    return terms.objection\n",
        "    return None\n",
        (f"{_C}test_allowances_and_objections_are_kept_and_can_be_added",),
    ),
    Mutant(
        "seeds of old certificates are forgotten",
        _STORED,
        '"seeded_noise": "--noise_seed" in stored["randomness"],',
        '"seeded_noise": False,',
        (f"{_C}test_certificates_of_version_0_1_0_can_be_read",),
    ),
)
