"""Bugs of rules: records that are made break them, or private ones are stored by others."""

from planted_bugs.mutant import Mutant

_OBEYING, _O = "jaxdp/tables/obeying.py", "tests/tables/test_obeying.py::"
_DIFFERENCES, _D = "jaxdp/tables/differences.py", "tests/tables/test_differences.py::"
_R = "tests/tables/test_rules.py::"
_EVERY = f"{_O}test_every_record_obeys_as_it_is_written[3000]"

MUTANTS = (
    Mutant(
        "a difference is counted from another record",
        _DIFFERENCES,
        " - self._values(stored, before)\n",
        " - np.roll(self._values(stored, before), 1)\n",
        (f"{_D}test_guarantee_one_record_moves_no_cell_of_another",),
    ),
    Mutant(
        "whether numbers are alike is told by the coarsest of all records",
        _DIFFERENCES,
        "<= self._steps(stored, at) + self._steps(stored, before)",
        "<= np.max(self._steps(stored, at) + self._steps(stored, before))",
        (f"{_D}test_guarantee_whether_two_numbers_are_alike_is_told_by_their_record_alone",),
    ),
    Mutant(
        "a difference below 0 is counted where it lies",
        _DIFFERENCES,
        "np.clip(np.where(are_one, 0.0, far), *column.bounds)",
        "np.abs(far)",
        (f"{_D}test_differences_come_back_as_what_they_are_of",),
    ),
    Mutant(
        "private records are brought to obey, by those of others",
        "jaxdp/tables/frames.py",
        "return records(frame, schema), labels(frame, schema)",
        "return obeying.obey(records(frame, schema), None, schema), labels(frame, schema)",
        (f"{_O}test_guarantee_one_record_changes_how_no_other_is_stored",),
    ),
    Mutant(
        "what was not asked for stays",
        _OBEYING,
        "values = np.where(asked, values, _missing(column))",
        "values = np.where(True, values, _missing(column))",
        (_EVERY,),
    ),
    Mutant(
        "an order holds where a value is missing alone",
        _OBEYING,
        "low = np.fmax(low, least)",
        "low = np.fmin(low, least)",
        (_EVERY,),
    ),
    Mutant(
        "totals are of numbers as computers hold them",
        "jaxdp/tables/totals.py",
        "decimal.Decimal(repr(float(number)))",
        "decimal.Decimal(float(number) * (1 + 1e-9))",
        (f"{_O}test_printed_totals_are_sums_of_printed_parts[form4-0.5]",),
    ),
    Mutant(
        "records that agree need not agree in what these tell",
        _OBEYING,
        "found[bound] = told[group]",
        "found[bound] = found[bound]",
        (_EVERY,),
    ),
    Mutant(
        "a rule that names suggest holds before anybody says so",
        "jaxdp/tables/rule_checks.py",
        "found += [] if rules.is_proposed(each) else [rule]",
        "found += [rule]",
        (f"{_R}test_a_rule_that_is_proposed_does_not_hold",),
    ),
)
