"""Bugs of persons with several records, and of the ledger that all runs on a dataset share."""

from planted_bugs.mutant import Mutant

_ACCOUNTING, _P = "jaxdp/privacy/accounting.py", "tests/privacy/test_persons.py::"
_RUNS = "tests/test_own_persons.py::"
_NOISE = f"{_RUNS}test_guarantee_every_method_adds_the_noise_that_persons_need"
_PERSONS, _DATASET = "jaxdp/program/data/persons.py", "jaxdp/program/data/load.py"
_LOAD = "tests/data/test_load.py::"
_FILE, _F = "jaxdp/privacy/dataset_ledger.py", "tests/privacy/test_dataset_ledger.py::"
_START, _S = "jaxdp/program/runs/ledger_entry.py", "tests/test_runs_on_one_dataset.py::"
_ENTERED = (
    "    entered = _entered(plan, ledger, budget) if counts and processes.is_first() else None\n"
)
_BEGUN = (
    "    cached.may_begin = True\n"
    "    entered_plan, plan = plan, make_plan() if cached.is_needed else plan\n"
    "    certified.require_same_ledger(plan, entered_plan)\n"
)
_RELEASED = "    released = plan.release(private, private_key(complete.noise_seed), runner)\n"

MUTANTS = (
    Mutant(
        "a person has one record fewer in a step",
        _ACCOUNTING,
        "drawn = np.arange(most + 1)",
        "drawn = np.arange(most)",
        (f"{_P}test_guarantee_a_step_of_persons_has_the_epsilon_of_a_quadrature[2-0.1]",),
    ),
    Mutant(
        "releases beside steps move by one record",
        _ACCOUNTING,
        "others = [noise / mechanism.most_moved for noise in also]",
        "others = list(also)",
        (f"{_P}test_guarantee_a_release_of_the_whole_data_moves_by_all_records_of_a_person",),
    ),
    Mutant(
        "releases of persons have the noise of records",
        "jaxdp/privacy/releases.py",
        "sensitivity=float(records_per_person)",
        "sensitivity=1.0",
        (f"{_P}test_guarantee_calibration_keeps_the_budget_of_a_person",),
    ),
    Mutant(
        "an embedding beside a teacher has the noise of records",
        "jaxdp/methods/dp_ntk/labels/plan.py",
        "sensitivity=float(generator.spec.records_per_person * settings.contributions)",
        "sensitivity=1.0",
        (f"{_NOISE}[labelled]",),
    ),
    Mutant(
        "what a run releases is accounted to single records of persons",
        "jaxdp/methods/base.py",
        "            records_per_person=self.spec.records_per_person,\n",
        "",
        (
            "tests/methods/marginals/test_release.py::"
            "test_guarantee_persons_get_noise_for_all_of_their_records",
        ),
    ),
    Mutant(
        "one record too many of a person is used",
        "jaxdp/privacy/contributions.py",
        "kept[records[ranks[most:]]] = False",
        "kept[records[ranks[most + 1 :]]] = False",
        (f"{_P}test_guarantee_no_person_has_more_records_than_allowed[1]",),
    ),
    Mutant(
        "two persons whose names differ by a NUL are one",
        "jaxdp/tables/cells.py",
        "zip(found, null, strict=True)], object",
        "zip(found, null, strict=True)], str",
        (f"{_P}test_guarantee_names_that_differ_by_a_nul_are_of_two_persons",),
    ),
    Mutant(
        "persons in a list lose the NULs of their names",
        "jaxdp/privacy/contributions.py",
        "np.asarray(persons, _kind_of(persons))",
        "np.asarray(persons)",
        (f"{_P}test_guarantee_names_that_differ_by_a_nul_are_of_two_persons",),
    ),
    Mutant(
        "other persons choose which records of one are used",
        "jaxdp/privacy/contributions.py",
        'f"{seed}/{person}"',
        'f"{np.random.default_rng().random()}/{person}"',
        (f"{_P}test_which_records_are_used_is_a_public_choice",),
    ),
    Mutant(
        "a person with one record more than allowed keeps all",
        "jaxdp/privacy/contributions.py",
        "np.flatnonzero(counts > most)",
        "np.flatnonzero(counts > most + 1)",
        (f"{_P}test_guarantee_no_person_has_more_records_than_allowed[3]",),
    ),
    Mutant(
        "how many records there are chooses those of a person",
        "jaxdp/privacy/contributions.py",
        "_numbers(str(names[person]), len(records), seed)",
        "_numbers(str(len(named)), len(records), seed)",
        (f"{_P}test_guarantee_a_person_changes_only_which_of_its_own_records_are_used",),
    ),
    Mutant(
        "one person moves the places that all others are held out by",
        _PERSONS,
        "held_out([str(name) for name in names], fraction, seed=seed)",
        "held_out([str(place) for place in range(len(names))], fraction, seed=seed)",
        (f"{_RUNS}test_guarantee_another_person_moves_one_person_between_splits",),
    ),
    Mutant(
        "a person is in both splits",
        _PERSONS,
        "    return chosen[person_of]\n",
        '    told = [f"{name}/{place}" for place, name in enumerate(persons)]\n'
        "    return np.array(held_out(told, fraction, seed=seed)) & (len(chosen) > 0)\n",
        (f"{_RUNS}test_names_of_image_files_tell_persons_and_none_is_in_both_splits",),
    ),
    Mutant(
        "a person's name goes on to the last separator",
        _PERSONS,
        "path.name.split(separator)[0]",
        "path.name.rsplit(separator, 1)[0]",
        (f"{_RUNS}test_guarantee_a_person_ends_at_the_first_separator",),
    ),
    Mutant(
        "persons are those of other images than the ones that train",
        "jaxdp/program/data/image_folder.py",
        "persons.named_by([path for path, _ in files[0]], wanted.persons.separator)",
        "persons.named_by(\n"
        "        [path for path, _ in (*files[1], *files[0])][: len(files[0])],\n"
        "        wanted.persons.separator,\n"
        "    )",
        (f"{_RUNS}test_guarantee_a_person_ends_at_the_first_separator",),
    ),
    Mutant(
        "all records of a person of a table are used in a run",
        "jaxdp/program/data/load.py",
        "        return schema, train if used is None else train.part(used), test\n",
        "        return schema, train, test\n",
        (f"{_RUNS}test_a_column_of_a_table_tells_persons",),
    ),
    Mutant(
        "a subset is accounted with the number of all records",
        _DATASET,
        "        spec=dataclasses.replace(data.spec, num_examples=len(chosen)),\n",
        "",
        (f"{_LOAD}test_guarantee_facts_tell_how_many_private_examples_there_are",),
    ),
    Mutant(
        "facts may be about another number of private examples",
        "jaxdp/program/data/dataset.py",
        "        if self.private.x.shape != told or len(self.private.y) != told[0]:\n",
        "        if self.private.x.shape[1:] != told[1:]:\n",
        (f"{_LOAD}test_guarantee_facts_tell_how_many_private_examples_there_are",),
    ),
    Mutant(
        "a method whose ledger forgets persons gets a certificate for them",
        "jaxdp/methods/certified.py",
        "    assert plan.ledger is not None\n    _require_of_run(plan, plan.ledger)\n",
        "    assert plan.ledger is not None\n",
        (
            "tests/methods/test_run.py::"
            "test_guarantee_a_ledger_that_is_not_about_its_run_gets_no_certificate",
        ),
    ),
    Mutant(
        "persons of a table are accounted as records",
        _DATASET,
        "            spec,\n            records_per_person=persons.records_per_person,\n",
        "            spec,\n",
        (f"{_RUNS}test_a_column_of_a_table_tells_persons",),
    ),
    Mutant(
        "persons of images are accounted as records",
        _DATASET,
        "        records_per_person=wanted.persons.records_per_person,\n",
        "",
        (f"{_RUNS}test_guarantee_no_more_records_of_a_person_are_used_than_certified",),
    ),
    Mutant(
        "a plan of a table in another form forgets persons",
        "jaxdp/data/spec.py",
        "return dataclasses.replace(self, shape=(layout.dim,), codec=TableCodec(layout))",
        "return type(self).table(self.name, self.schema, self.num_examples, form=form)",
        (f"{_RUNS}test_guarantee_every_method_adds_the_noise_that_persons_of_a_table_need",),
    ),
    Mutant(
        "an embedding of persons has the noise of records",
        "jaxdp/methods/bought_schema.py",
        "            records_per_person=spec.records_per_person,\n"
        "            relation=settings.relation,\n        )\n    require_noise",
        "            relation=settings.relation,\n        )\n    require_noise",
        (f"{_NOISE}[dp_ntk]",),
    ),
    Mutant(
        "a release for persons with more records serves those with fewer",
        "jaxdp/methods/stored.py",
        "    if most != spec.records_per_person:\n",
        "    if most < spec.records_per_person:\n",
        (f"{_RUNS}test_guarantee_certificates_of_runs_say_whom_they_protect[dp_ntk-main]",),
    ),
    Mutant(
        "a joint epsilon of releases is that of one record of a person",
        "jaxdp/privacy/releases.py",
        "multiplier = joint_noise_multiplier(releases) / records_per_person",
        "multiplier = joint_noise_multiplier(releases)",
        (f"{_P}test_guarantee_a_ledger_of_persons_says_whom_it_protects[releases]",),
    ),
    Mutant(
        "all records of a person are used in a run",
        "jaxdp/program/data/load.py",
        "        x_train, y_train = x_train[used], y_train[used]\n",
        "        pass\n",
        (f"{_RUNS}test_guarantee_no_more_records_of_a_person_are_used_than_certified",),
    ),
    Mutant(
        "a joint epsilon is that of the last run",
        "jaxdp/privacy/ledger.py",
        "        for ledger in ledgers\n        if ledger.steps is not None",
        "        for ledger in ledgers[-1:]\n        if ledger.steps is not None",
        (f"{_P}test_guarantee_several_ledgers_are_one_composition",),
    ),
    Mutant(
        "a sum over runs is told under the relation of the last one",
        "jaxdp/privacy/ledger.py",
        "return relations.joint(ledger.relation for ledger in ledgers)",
        "return list(ledgers)[-1].relation",
        (f"{_F}test_guarantee_a_sum_over_runs_names_its_own_relation",),
    ),
    Mutant(
        "the budget is compared without the run itself",
        _FILE,
        "spent = joint_epsilon((*others, run.ledger), delta=budget.delta)",
        "spent = joint_epsilon(others or [run.ledger], delta=budget.delta)",
        (f"{_F}test_guarantee_no_run_is_entered_beyond_the_budget",),
    ),
    Mutant(
        "runs are entered without a lock",
        _FILE,
        "            fcntl.flock(file, lock)\n",
        "",
        (f"{_F}test_guarantee_runs_at_the_same_time_do_not_miss_each_other",),
    ),
    Mutant(
        "runs about records are added up to one about a person",
        _FILE,
        "if run.is_of_persons and any(others):",
        "if False:",
        (f"{_F}test_guarantee_a_sum_with_runs_about_records_is_not_told_to_persons",),
    ),
    Mutant(
        "a run does not say that it is about persons",
        _START,
        "                persons=self._plan.spec.persons_declared,\n                notes",
        "                notes",
        (f"{_S}test_guarantee_the_sum_of_a_run_for_persons_counts_no_run_for_records[command]",),
    ),
    Mutant(
        "images about records are beside a teacher about persons",
        "jaxdp/methods/teacher/earlier.py",
        "        if stored is None and settings.uses_teacher:\n",
        "        if False:\n",
        (
            "tests/runs/test_generated_images.py::"
            "test_guarantee_a_teacher_for_persons_is_trained_beside_images_for_persons",
        ),
    ),
    Mutant(
        "changed lines of version 1 are believed",
        "jaxdp/privacy/ledger_file.py",
        '            _require(unchanged, "what is before was changed")\n',
        "",
        (f"{_F}test_guarantee_files_of_version_1_go_on_being_counted",),
    ),
    Mutant(
        "a run from Python is entered after its release",
        "jaxdp/methods/runner.py",
        _ENTERED + _BEGUN + _RELEASED,
        _BEGUN + _RELEASED + _ENTERED,
        (f"{_S}test_guarantee_a_run_is_counted_before_it_reads_private_data[library]",),
    ),
    Mutant(
        "a plan that is made again is not compared with the one that was entered",
        "jaxdp/methods/certified.py",
        "    if plan.ledger != entered.ledger:\n",
        "    if False:\n",
        (
            "tests/methods/test_run.py::"
            "test_guarantee_a_plan_made_again_has_the_ledger_that_was_entered",
        ),
    ),
    Mutant(
        "a run that replaces another is not entered",
        _START,
        '(folder.read_json("config.json") if run_flags.resume else None) or {}',
        'folder.read_json("config.json") or {}',
        (f"{_S}test_guarantee_certificates_show_what_all_runs_have_spent",),
    ),
    Mutant(
        "records of nobody are one person's",
        _PERSONS,
        'if persons.dtype.kind in "OSU" and any(not str(person).strip() for person in persons):',
        "if False:",
        (f"{_RUNS}test_guarantee_records_of_nobody_are_not_one_persons[]",),
    ),
    Mutant(
        "persons are certified whom no files name",
        _PERSONS,
        "if persons is None and self.separator is not None:",
        "if False:",
        (f"{_RUNS}test_guarantee_persons_that_no_files_name_are_not_certified",),
    ),
    Mutant(
        "blank lines of a column are skipped",
        "jaxdp/program/data/table_files.py",
        '            options["skip_blank_lines"] = False\n',
        "",
        (
            "tests/data/test_one_column.py::test_guarantee_a_blank_line_is_a_record_and_moves_no_other",
        ),
    ),
)
