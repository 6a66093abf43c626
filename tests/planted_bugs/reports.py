"""Bugs of reports, metrics and warnings: what is said of a run, and what it was computed from."""

from planted_bugs.mutant import Mutant

_C = "tests/runs/test_cautions.py::"
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
_CEILING = (
    "tests/test_ceiling.py::test_guarantee_a_ceiling_and_private_images_change_nothing_that_leaves",
)
_HANDED = (f"{_C}test_guarantee_a_run_hands_the_test_split_alone_to_warnings_and_judges",)

MUTANTS = (
    Mutant(
        "what is said before a run looks at the training split",
        _DRIVER,
        "method, ready.settings, run_flags, data.spec, data.test, data.notes",
        "method, ready.settings, run_flags, data.spec, data.private, data.notes",
        _HANDED,
    ),
    Mutant(
        "what a finished run is warned of looks at the training split",
        _DRIVER,
        "self._method, plan, self._flags, self._data.test, self._metrics, made",
        "self._method, plan, self._flags, self._data.private, self._metrics, made",
        _HANDED,
    ),
    Mutant(
        "judges are tested on training examples",
        _DRIVER,
        "judging.judged(self._judges, plan, made, self._data.test, self._flags)",
        "judging.judged(self._judges, plan, made, self._data.private, self._flags)",
        _HANDED,
    ),
    Mutant(
        "the distance of the nearest training image on the terminal",
        _JUDGING,
        'print(f"NOT FOR RELEASE: {path} was computed from private data without noise")',
        "print(f\"NOT FOR RELEASE: {path}, least distance {found['synthetic']['min']:.9g}\")",
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
        "what is learnt without noise beside what may leave",
        "jaxdp/program/runs/ceiling.py",
        "folder.write_not_for_release(FILE, content.encode())",
        "folder.not_for_release / FILE\n    folder.write_bytes(FILE, content.encode())",
        _CEILING,
    ),
    Mutant(
        "what is learnt without noise in the metrics",
        _DRIVER,
        "            ceiling.write_ceiling(plan, self._data.private, self._data.test, folder)\n",
        "            ceiling.write_ceiling(plan, self._data.private, self._data.test, folder)\n"
        "            found = ceiling._of_teacher(\n"
        "                plan.spec, self._data.private, self._data.test.x, 0\n"
        "            )[1]\n"
        '            self._metrics["ceiling"] = float((found == self._data.test.y).mean())\n'
        "            folder.write_json(METRICS, self._metrics)\n",
        _CEILING,
    ),
    Mutant(
        "private images beside made ones in the run's folder",
        _JUDGING,
        'return folder.write_not_for_release("side_by_side.html", page.encode())',
        'folder.write_bytes("side_by_side.html", page.encode())\n'
        '    return folder.write_not_for_release("side_by_side.html", page.encode())',
        _CEILING,
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
        "            judging.write_copies(made, self._data.private, self._data.test.x, folder)\n",
        "            judging.write_copies(made, self._data.private, self._data.test.x, folder)\n"
        "            apart = np.abs(self._data.private.x - made.x[:1].astype(float))\n"
        '            self._metrics["nearest"] = float(apart.max(axis=(1, 2, 3)).min())\n',
        (f"{_WRITTEN}[dp_ntk]",),
    ),
    Mutant(
        "training images stand beside made ones in the picture",
        _DRIVER,
        "            made.x, made.y, made.class_names, low=codec.low,",
        "            np.concatenate([made.x, self._data.private.x[:10]]),\n"
        "            np.concatenate([made.y, self._data.private.y[:10]]),\n"
        "            made.class_names, low=codec.low,",
        (f"{_WRITTEN}[dp_kip]",),
    ),
    Mutant(
        "the picture has the contrast of the training images",
        _DRIVER,
        "low=codec.low, high=codec.high, title=title",
        "low=float(self._data.private.x.min()),\n"
        "            high=float(self._data.private.x.max()), title=title",
        (f"{_WRITTEN}[dp_kip]",),
    ),
    Mutant(
        "the report rounds a promise to the next number",
        _VALUES,
        "_short(rounded_up(value))",
        '_short(f"{value:.4g}")',
        (f"{_R}test_printed_epsilon_is_never_below_the_true_one",),
    ),
    Mutant(
        "what an attacker can do is rounded to the next number",
        "jaxdp/privacy/wording.py",
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
        "loss, epsilon = privacy, certificate.promised_epsilon",
        'loss, epsilon = privacy, privacy["epsilon"]',
        (f"{_R}test_it_says_what_an_attacker_can_do_in_words_and_in_mu",),
    ),
)
