"""Bugs of what a record may be exchanged for."""

from planted_bugs.mutant import Mutant

_ACCOUNTING, _LEDGER = "jaxdp/privacy/accounting.py", "jaxdp/privacy/ledger.py"
_R, _M = "tests/privacy/test_relations.py::", "tests/methods/test_relation.py::"
_KEEPS = f"{_M}test_guarantee_every_method_keeps_its_budget_under_either_relation"
_BOUGHT = f"{_M}test_guarantee_a_schema_was_bought_under_what_its_run_promises"
_CLAIM = f"{_M}test_guarantee_releases_claim_what_a_record_moves_under_each_relation"
_WHOLE = f"{_R}test_guarantee_whole_data_move_by_two_contributions_of_each_record"
_BESIDE = f"{_R}test_guarantee_releases_beside_sampled_steps_move_by_two_contributions"

MUTANTS = (
    Mutant(
        "steps whose records are replaced are accounted as if these became empty",
        _ACCOUNTING,
        "relations.REPLACE: NeighboringRelation.REPLACE_ONE",
        "relations.REPLACE: NeighboringRelation.ADD_OR_REMOVE_ONE",
        (f"{_R}test_guarantee_a_step_bounds_records_that_are_replaced_by_any_other[1.5-0.4]",),
    ),
    Mutant(
        "a step that may draw any of a person's records counts as one that may draw one",
        _ACCOUNTING,
        "return rate if rate == 1 or people == 1 else",
        "return rate if people > 0 else",
        (f"{_R}test_guarantee_a_step_bounds_persons_whose_records_are_replaced[3]",),
    ),
    Mutant(
        "releases beside steps move by one contribution",
        _ACCOUNTING,
        "others = [noise / mechanism.most_moved for noise in also]",
        "others = [noise / mechanism.records_per_person for noise in also]",
        (f"{_WHOLE}[1]", _BESIDE),
    ),
    Mutant(
        "releases beside steps of several runs move by one contribution",
        _LEDGER,
        "moved = people * relations.contributions(relation)",
        "moved = people",
        (f"{_WHOLE}[1]", _BESIDE),
    ),
    Mutant(
        "a second opinion takes one contribution",
        _ACCOUNTING,
        "    moved = mechanism.most_moved\n    if moved > 1",
        "    moved = mechanism.records_per_person\n    if moved > 1",
        (
            f"{_R}test_guarantee_renyi_says_nothing_of_sampled_records_that_are_replaced",
            f"{_WHOLE}[1]",
        ),
    ),
    Mutant(
        "releases of both relations are together about records that are replaced",
        "jaxdp/privacy/relations.py",
        "return REPLACE if set(found) == {REPLACE} else ZERO_OUT",
        "return REPLACE if REPLACE in set(found) else ZERO_OUT",
        (
            f"{_R}test_a_ledger_is_about_what_all_of_its_releases_are_about",
            f"{_R}test_guarantee_ledgers_of_both_relations_are_together_about_emptied_records",
        ),
    ),
    Mutant(
        "a ledger that promises less than was asked for gets a certificate",
        "jaxdp/methods/certified.py",
        "if plan.settings.relation == REPLACE != ledger.relation:",
        "if False:",
        (f"{_M}test_guarantee_a_ledger_that_promises_less_than_was_asked_for_gets_no_certificate",),
    ),
    Mutant(
        "a teacher of labels does not hear of the relation",
        "jaxdp/methods/dp_ntk/labels/settings.py",
        "        relation=settings.relation,\n",
        "",
        (f"{_KEEPS}[1-labelled]",),
    ),
    Mutant(
        "steps do not hear of the relation",
        "jaxdp/methods/noise.py",
        "        relation=settings.relation,\n",
        "",
        (f"{_KEEPS}[1-dp_kip]", f"{_KEEPS}[1-teacher]"),
    ),
    Mutant(
        "counts do not hear of the relation",
        "jaxdp/methods/marginals/plan.py",
        "cell_counts.sensitivity(settings.relation)",
        'cell_counts.sensitivity("zero-out")',
        (f"{_CLAIM}[marginals-1.4142135623730951]",),
    ),
    Mutant(
        "an embedding does not hear of the relation",
        "jaxdp/methods/dp_ntk/plan.py",
        "class_weights=share > 0, relation=settings.relation",
        'class_weights=share > 0, relation="zero-out"',
        (f"{_CLAIM}[dp_ntk-2.0]",),
    ),
    Mutant(
        "a schema that was bought for less serves a run under replace",
        "jaxdp/methods/bought_schema.py",
        "if settings.relation == relations.REPLACE != found.relation:",
        "if False:",
        (f"{_BOUGHT}[marginals]", f"{_BOUGHT}[teacher]"),
    ),
    Mutant(
        "a stored purchase says that counts move by less than they do",
        "jaxdp/methods/bought_schema.py",
        "            cell_counts.require_sensitivity(release)",
        "            release.name.strip()",
        (f"{_M}test_guarantee_a_stored_purchase_that_claims_less_is_refused",),
    ),
    Mutant(
        "what was bought counts for less beside steps",
        "jaxdp/methods/bought_schema.py",
        "(found.noise_multiplier * cell_counts.sensitivity(found.relation),)",
        "(2 * found.noise_multiplier * cell_counts.sensitivity(found.relation),)",
        (f"{_M}test_guarantee_steps_count_what_was_bought_by_what_a_record_contributes",),
    ),
    Mutant(
        "what was released for less is used again under replace",
        "jaxdp/methods/certified.py",
        'if settings.relation == REPLACE != again["ledger"]["relation"]:',
        "if False:",
        (
            "tests/test_marginals_driver.py::"
            "test_how_far_the_table_is_from_the_private_one_may_leave",
        ),
    ),
)
