"""Bugs of reports, metrics and warnings: what is said of a run, and what it was computed from."""

from planted_bugs.mutant import Mutant

_CAUTIONS, _C = "jaxdp/program/runs/cautions.py", "tests/runs/test_cautions.py::"
_JUDGING, _DRIVER = "jaxdp/program/runs/judging.py", "jaxdp/program/runs/driver.py"
_VALUES, _HEADLINE, _PAGE = (
    "jaxdp/program/report/values.py",
    "jaxdp/program/report/headline.py",
    "jaxdp/program/report/page.py",
)
_R = "tests/report/test_report.py::"
_WRITTEN = (
    "tests/runs/test_what_is_written.py::test_guarantee_nothing_private_is_written_beside_releases"
)
_COMPARED = (
    "tests/test_check_fidelity.py::test_guarantee_a_comparison_changes_nothing_that_leaves",
)
_ROWS = (f"{_C}test_guarantee_values_of_training_rows_are_not_looked_at",)

MUTANTS = (
    Mutant(
        "a warning names the rare classes of the training split",
        _CAUTIONS,
        "counts = np.bincount(data.y_test, minlength=data.spec.num_classes)",
        "counts = np.bincount(data.y_train, minlength=data.spec.num_classes)",
        (f"{_C}test_guarantee_a_rare_class_of_the_training_split_is_not_told",),
    ),
    Mutant(
        "a warning names the classes that the training split lacks",
        _CAUTIONS,
        "set(np.unique(data.y_test).tolist())",
        "set(np.unique(data.y_train).tolist())",
        (f"{_C}test_guarantee_a_class_that_the_training_split_lacks_is_not_told",),
    ),
    Mutant(
        "a warning looks at the values of training rows",
        _CAUTIONS,
        "else np.abs(data.x_test).max()",
        "else np.abs(data.x_train).max()",
        _ROWS,
    ),
    Mutant(
        "a schema is compared with training records",
        _CAUTIONS,
        "of_made = (*lost_classes(made), *misfits.warnings(made))",
        "of_made = (\n"
        "        *lost_classes(made),\n"
        '        *misfits.warnings(made.__class__(**(vars(made) | {"x": data.x_train}))),\n'
        "    )",
        (f"{_C}test_guarantee_what_a_finished_table_is_warned_of_is_not_of_training_records",),
    ),
    Mutant(
        "finer bins are advised by the values of training records",
        _CAUTIONS,
        "return (*found, *misfits.few_bins(settings, spec))",
        "spread = len(np.unique(data.x_train)) > 1000\n"
        "    return (*found, *(misfits.few_bins(settings, spec) if spread else ()))",
        (f"{_C}test_guarantee_bins_are_advised_by_public_facts_alone",),
    ),
    Mutant(
        "judges are tested on training examples",
        _JUDGING,
        "        x, x_test = made.rows.reshape(-1, *plan.spec.shape), made.scaled(data.x_test)\n"
        "    problem = Problem(\n"
        "        x=x,\n"
        "        y=made.y,\n"
        "        x_test=x_test,\n"
        "        y_test=data.y_test,\n",
        "        x, x_test = made.rows.reshape(-1, *plan.spec.shape), made.scaled(data.x_train)\n"
        "    problem = Problem(\n"
        "        x=x,\n"
        "        y=made.y,\n"
        "        x_test=x_test,\n"
        "        y_test=data.y_train,\n",
        (f"{_C}test_guarantee_judges_see_no_training_example",),
    ),
    Mutant(
        "the distance of the nearest training image on the terminal",
        _JUDGING,
        'print(f"NOT FOR RELEASE: {path} was computed from private data without noise")',
        "print(f\"NOT FOR RELEASE: {path}, least distance {found['synthetic']['min']:.3g}\")",
        (f"{_WRITTEN}[dp_ntk]",),
    ),
    Mutant(
        "distances to training images beside what may leave",
        _JUDGING,
        'folder.write_not_for_release("copies.json"',
        'folder.write_bytes("copies.json"',
        (f"{_WRITTEN}[dp_ntk]",),
    ),
    Mutant(
        "a page that compares with private records beside what may leave",
        _JUDGING,
        'folder.write_not_for_release("fidelity.html"',
        'folder.write_bytes("fidelity.html"',
        _COMPARED,
    ),
    Mutant(
        "the distance of the nearest training image in the metrics",
        _DRIVER,
        "            judging.write_copies(plan, made, self._data, folder)\n",
        "            judging.write_copies(plan, made, self._data, folder)\n"
        "            apart = np.abs(self._data.x_train - made.x[:1].astype(float))\n"
        '            self._metrics["nearest"] = float(apart.max(axis=(1, 2, 3)).min())\n',
        (f"{_WRITTEN}[dp_ntk]",),
    ),
    Mutant(
        "training images stand beside made ones in the picture",
        _DRIVER,
        "                made.x,\n                made.y,\n                made.class_names,\n"
        "                low=codec.low,",
        "                np.concatenate([made.x, self._data.x_train[:10]]),\n"
        "                np.concatenate([made.y, self._data.y_train[:10]]),\n"
        "                made.class_names,\n"
        "                low=codec.low,",
        (f"{_WRITTEN}[dp_kip]",),
    ),
    Mutant(
        "the picture has the contrast of the training images",
        _DRIVER,
        "                low=codec.low,\n                high=codec.high,\n",
        "                low=float(self._data.x_train.min()),\n"
        "                high=float(self._data.x_train.max()),\n",
        (f"{_WRITTEN}[dp_kip]",),
    ),
    Mutant(
        "the report rounds a promise to the next number",
        _VALUES,
        "decimal.Context(prec=4, rounding=decimal.ROUND_CEILING)",
        "decimal.Context(prec=4, rounding=decimal.ROUND_HALF_EVEN)",
        (f"{_R}test_printed_epsilon_is_never_below_the_true_one",),
    ),
    Mutant(
        "what an attacker can do is rounded to the next number",
        "jaxdp/privacy/certificates.py",
        "prec=4, rounding=decimal.ROUND_CEILING",
        "prec=4, rounding=decimal.ROUND_HALF_EVEN",
        ("tests/privacy/test_certificates.py::test_guarantee_no_limit_of_a_loss_is_rounded_down",),
    ),
    Mutant(
        "the top of the report lets leave what has a finite epsilon",
        _HEADLINE,
        '    if privacy.get("releasable") is True:\n',
        "    if is_private(privacy):\n",
        (f"{_R}test_guarantee_the_top_lets_nothing_leave_that_is_not_releasable",),
    ),
    Mutant(
        "files of a run that must stay are listed as leaving",
        _PAGE,
        '(("May leave", "may_leave"), ("Must stay", "must_stay"))',
        '(("May leave", "may_leave"), ("May leave", "must_stay"))',
        (f"{_R}test_what_may_leave_and_what_must_not_comes_first",),
    ),
    Mutant(
        "the report says e to half the epsilon",
        _PAGE,
        "factor = round_up(math.exp(min(epsilon, 700.0)))",
        "factor = round_up(math.exp(min(epsilon, 700.0) / 2))",
        (f"{_R}test_guarantee_in_words",),
    ),
    Mutant(
        "the top of the report tells the epsilon of one run of several",
        _HEADLINE,
        'epsilon = privacy["epsilon_with_earlier_runs"]',
        'epsilon = privacy["epsilon"]',
        (f"{_R}test_it_says_what_an_attacker_can_do_in_words_and_in_mu",),
    ),
)
