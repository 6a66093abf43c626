"""Bugs of what certificates, ledgers and registry entries say is lost: profiles, mu, verdicts."""

from planted_bugs.mutant import Mutant

_PROFILES, _P = "jaxdp/privacy/profiles.py", "tests/privacy/test_profiles.py::"
_ACCOUNTING, _LEDGER = "jaxdp/privacy/accounting.py", "jaxdp/privacy/ledger.py"
_CERTIFICATES, _C = "jaxdp/privacy/certificates.py", "tests/privacy/test_certificates.py::"
_PROMISES = "jaxdp/privacy/promises.py"
_ENTRY, _E = "jaxdp/program/commands/registry_entry.py", "tests/test_registry_entry.py::"
_MU = f"{_P}test_guarantee_mu_covers_every_delta_that_the_arithmetic_supports"
_JOINT = f"{_P}test_guarantee_a_joint_profile_counts_every_release_of_every_ledger"
_BEST = f"{_P}test_guarantee_the_advantage_and_true_positives_bound_the_best_attacker"
_SUM = f"{_C}test_guarantee_the_verdict_goes_by_the_sum_of_all_runs"

MUTANTS = (
    Mutant(
        "mu is compared at the near end of an interval",
        _PROFILES,
        "deltas, epsilons = self.deltas(grid[:-1]), grid[1:]",
        "deltas, epsilons = self.deltas(grid[1:]), grid[:-1]",
        (_MU,),
    ),
    Mutant(
        "mu is that of one delta alone",
        _PROFILES,
        "        while not np.all(gaussian_deltas(high, epsilons) >= deltas):\n",
        "        deltas, epsilons = deltas[:1], epsilons[:1]\n"
        "        while not np.all(gaussian_deltas(high, epsilons) >= deltas):\n",
        (_MU,),
    ),
    Mutant(
        "the advantage of an attacker is at epsilon 0.1",
        _PROFILES,
        "return min(self.delta(0.0), 1.0)",
        "return min(self.delta(0.1), 1.0)",
        (_BEST,),
    ),
    Mutant(
        "true positives leave delta out",
        _PROFILES,
        "first = deltas + np.exp(grid) * false_positives",
        "first = np.exp(grid) * false_positives",
        (_BEST,),
    ),
    Mutant(
        "the profile of a Gaussian has half its mu",
        _PROFILES,
        "first = log_ndtr(mu / 2 - epsilons / mu)",
        "first = log_ndtr(mu / 4 - epsilons / mu)",
        (f"{_P}test_the_profile_of_a_gaussian_is_that_of_balle_and_wang",),
    ),
    Mutant(
        "a profile counts one of the releases beside steps",
        _ACCOUNTING,
        "return math.fsum(noise**-2 for noise in also) ** -0.5",
        "return math.fsum(noise**-2 for noise in also[:1]) ** -0.5",
        (_JOINT,),
    ),
    Mutant(
        "a profile counts one of the steps of the whole data",
        _ACCOUNTING,
        "math.fsum(part.steps / part.noise**2 for part in parts)",
        "math.fsum(1 / part.noise**2 for part in parts)",
        (f"{_P}test_steps_of_the_whole_data_are_one_gaussian", _JOINT),
    ),
    Mutant(
        "the sum over ledgers forgets that a person has several records",
        _LEDGER,
        "people, relation = ledgers[0].records_per_person, joint_relation(ledgers)",
        "people, relation = 1, joint_relation(ledgers)",
        (f"{_P}test_guarantee_sums_of_runs_count_all_records_of_a_person",),
    ),
    Mutant(
        "a verdict goes by the run alone",
        _CERTIFICATES,
        "else max(epsilon, together)",
        "else epsilon",
        (_SUM,),
    ),
    Mutant(
        "a sum above fifty is releasable",
        _CERTIFICATES,
        "reason = why_not_releasable(ledger, max(epsilon, together), terms)",
        "reason = why_not_releasable(ledger, epsilon, terms)",
        (f"{_C}test_guarantee_a_sum_above_fifty_is_releasable_by_an_allowance_alone",),
    ),
    Mutant(
        "what an attacker can do leaves earlier runs out",
        _CERTIFICATES,
        "whole_loss((*earlier, ledger))",
        "whole_loss((ledger,))",
        (f"{_C}test_what_an_attacker_can_do_counts_earlier_runs",),
    ),
    Mutant(
        "the promise of all runs has the epsilon of one",
        _PROMISES,
        'self._promised(epsilon, relation, "all of them", "both times")',
        'self._promised(self.epsilon, relation, "all of them", "both times")',
        (f"{_C}test_guarantee_a_sum_with_earlier_runs_and_a_run_by_itself_are_said_apart",),
    ),
    Mutant(
        "a sum is promised with a run whose noise may tell the sums under it",
        _PROMISES,
        "if self.promises_nothing or self._num_flawed:",
        "if self.promises_nothing:",
        (f"{_C}test_guarantee_a_sum_without_any_epsilon_promises_nothing",),
    ),
    Mutant(
        "noise that somebody knows promises something",
        _PROMISES,
        "return math.isinf(self.epsilon) or self._void is not None",
        "return math.isinf(self.epsilon)",
        (f"{_C}test_guarantee_noise_that_hides_nothing_promises_nothing",),
    ),
    Mutant(
        "a stored mu is not compared",
        "jaxdp/privacy/stored_certificates.py",
        '("epsilon", "gaussian_dp_mu", "epsilon_with_earlier_runs")',
        '("epsilon", "epsilon_with_earlier_runs")',
        (f"{_C}test_guarantee_a_stored_mu_or_sum_below_that_of_its_ledger_is_refused",),
    ),
    Mutant(
        "any delta is supported",
        _CERTIFICATES,
        "if ledger.delta < LEAST_DELTA:",
        "if ledger.delta < 0:",
        (f"{_C}test_guarantee_a_delta_below_what_arithmetic_supports_is_not_releasable",),
    ),
    Mutant(
        "any delta can be asked for",
        "jaxdp/methods/settings.py",
        "if delta < LEAST_DELTA:",
        "if delta < 0:",
        (
            "tests/methods/test_settings.py::test_guarantee_a_delta_that_nothing_supports_is_refused",
        ),
    ),
    Mutant(
        "an entry of the registry tells the epsilon of one run",
        _ENTRY,
        "if len(ledgers) > 1 else own.epsilon(),",
        "if len(ledgers) < 1 else own.epsilon(),",
        (f"{_E}test_guarantee_an_entry_tells_the_sum_of_all_runs_in_the_ledger",),
    ),
    Mutant(
        "an entry of the registry is made of what must stay",
        _ENTRY,
        "if not loaded.certificate.releasable:",
        "if not loaded.certificate.facts:",
        (f"{_E}test_guarantee_no_entry_is_made_of_what_must_not_be_released",),
    ),
    Mutant(
        "a verdict goes by the sum where the run by itself is worse",
        _CERTIFICATES,
        "else max(epsilon, together)",
        "else together",
        (f"{_C}test_guarantee_the_verdict_is_that_of_the_worse_of_the_run_and_the_sum",),
    ),
    Mutant(
        "a run above fifty is releasable where a sum is below",
        _CERTIFICATES,
        "reason = why_not_releasable(ledger, max(epsilon, together), terms)",
        "reason = why_not_releasable(ledger, together, terms)",
        (f"{_C}test_guarantee_the_verdict_is_that_of_the_worse_of_the_run_and_the_sum",),
    ),
    Mutant(
        "an attacker on several runs has the question of the last one",
        _CERTIFICATES,
        "emptied = joint_relation(ledgers) == relations.ZERO_OUT",
        "emptied = ledgers[-1].relation == relations.ZERO_OUT",
        (f"{_C}test_the_question_of_an_attacker_on_a_mixed_sum_is_that_of_the_sum",),
    ),
    Mutant(
        "an epsilon of a profile is on the wrong side",
        _PROFILES,
        "<= delta else (middle, high)\n        return high\n",
        "<= delta else (middle, high)\n        return low\n",
        (f"{_P}test_guarantee_an_epsilon_of_a_profile_keeps_its_delta",),
    ),
    Mutant(
        "an entry of the registry leaves out what the certificate counts",
        _ENTRY,
        "if ledgers.count(each) < counted.count(each):",
        "if each not in ledgers:",
        (f"{_E}test_guarantee_an_entry_claims_no_less_than_the_certificate",),
    ),
    Mutant(
        "an entry of the registry tells one run of those that the certificate sums",
        _ENTRY,
        'earlier = [*map(Ledger.from_json, facts.get("earlier_runs", ()))]',
        "earlier = list[Ledger]()",
        (f"{_E}test_guarantee_an_entry_claims_no_less_than_the_certificate",),
    ),
    Mutant(
        "an entry of the registry has the relation of one run",
        _ENTRY,
        '"relation": IN_WORDS[joint_relation(ledgers)],',
        '"relation": IN_WORDS[own.relation],',
        (f"{_E}test_guarantee_an_entry_claims_no_less_than_the_certificate",),
    ),
    Mutant(
        "an entry of the registry is about persons though one run is not",
        _ENTRY,
        "all(each.is_of_persons for each in runs))",
        "any(each.is_of_persons for each in runs))",
        (f"{_E}test_guarantee_an_entry_is_about_persons_where_all_runs_are",),
    ),
)
