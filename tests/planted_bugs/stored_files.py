"""Bugs of what is stored and read again: notes of releases, certificates, images."""

from planted_bugs.mutant import Mutant

_LOG, _L = "jaxdp/program/runs/release_log.py", "tests/runs/test_release_log.py::"
_IMAGES, _I = "jaxdp/program/runs/generated_images.py", "tests/runs/test_generated_images.py::"
_RELEASED = "jaxdp/saved/released.py"
_STORED = "tests/runs/test_stored_certificates.py::"
_EDITED = f"{_STORED}test_guarantee_an_edited_certificate_of_a_release_is_refused"
_NOTED = (
    '        self._note(name, content, {**self._notes, "files": {**self._files, name: found}})\n'
)
_RENAME = (
    '        rename_durably(self._folder.path / f"{name}{TEMPORARY}", self._folder.path / name)\n'
)
_CERTIFICATES = "jaxdp/privacy/stored_certificates.py"
_C = "tests/privacy/test_certificates.py::"
_LEDGER, _H = "jaxdp/privacy/ledger.py", "tests/privacy/test_hostile_ledgers.py::"
_BEYOND = f"{_H}test_numbers_that_no_run_has_are_refused_before_any_accounting"
_SOON = f"{_H}test_accounting_ends_soon_for_whatever_numbers"
_PROFILES = f"{_H}test_profiles_end_soon_for_whatever_numbers"
_TEXTS = "tests/test_hostile_texts.py::test_no_stored_text_steers_what_is_shown"
_OUTSIDE, _FILES = "tests/data/test_outside_files.py::", "jaxdp/saved/files.py"
_ORBAX, _O = "jaxdp/program/runs/orbax_folders.py", "tests/runs/test_orbax_folders.py::"

MUTANTS = (
    Mutant(
        "a generator of an earlier run has the certificate of a later one",
        "jaxdp/program/runs/generator_file.py",
        "digests.get(DESCRIPTION) != there:",
        "digests.get(DESCRIPTION, there) != there:",
        (
            "tests/test_generate.py::"
            "test_guarantee_a_generator_that_the_certificate_does_not_name_is_not_taken",
        ),
    ),
    Mutant(
        "a saved set stays beside the generator of another",
        "jaxdp/methods/made.py",
        "*trained, path]",
        "path]",
        (
            "tests/methods/test_run.py::"
            "test_guarantee_no_generator_of_another_certificate_stays_beside_a_saved_set",
        ),
    ),
    Mutant(
        "a run overwrites one that has ended in its folder since",
        "jaxdp/program/runs/folder.py",
        "            self._require_usable()  # another run may have ended here since\n",
        "",
        (
            "tests/runs/test_second_releases.py::"
            "test_guarantee_a_run_that_has_ended_since_is_not_overwritten",
        ),
    ),
    Mutant(
        "images are given to classes that were renamed since",
        "jaxdp/program/runs/start.py",
        "before.class_names != plan.spec.class_names:",
        "set(before.class_names) != set(plan.spec.class_names):",
        (
            "tests/test_runs_on_one_dataset.py::"
            "test_guarantee_images_are_not_given_to_classes_that_were_renamed_since",
        ),
    ),
    Mutant(
        "a schema is bought for a run whose result earlier ones keep from leaving",
        "jaxdp/program/runs/schema_purchase.py",
        'if earlier and alone["releasable"] and not together["releasable"]:',
        "if False:",
        (
            "tests/test_schema_purchase.py::"
            "test_guarantee_nothing_is_bought_where_earlier_runs_keep_the_result_from_leaving",
        ),
    ),
    Mutant(
        "a run whose delta keeps its result from leaving is entered and goes on",
        "jaxdp/program/runs/start.py",
        "        certified.require_delta(plan)\n",
        "        pass\n",
        (
            "tests/test_driver.py::test_guarantee_a_large_delta_is_refused_or_allowed_with_a_warning",
        ),
    ),
    Mutant(
        "a new run with --resume is asked for no delta",
        "jaxdp/program/runs/start.py",
        '    if run_flags.resume and folder.read_json("config.json") is not None:\n',
        "    if run_flags.resume:\n",
        (
            "tests/test_driver.py::test_guarantee_a_large_delta_is_refused_or_allowed_with_a_warning",
        ),
    ),
    Mutant(
        "a run spends what earlier ones keep from leaving",
        "jaxdp/program/runs/start.py",
        "    entry.require_releasable()\n",
        "",
        (
            "tests/test_runs_on_one_dataset.py::"
            "test_guarantee_nothing_is_spent_that_earlier_runs_would_keep_from_leaving",
        ),
    ),
    Mutant(
        "what has no epsilon is releasable where any is allowed",
        "jaxdp/privacy/certificates.py",
        "    if math.isinf(epsilon):\n        taken",
        "    if math.isinf(epsilon) and not terms.allow_epsilon:\n        taken",
        (
            "tests/privacy/test_certificates.py::"
            "test_guarantee_what_has_no_epsilon_is_not_releasable_whatever_is_allowed",
        ),
    ),
    Mutant(
        "a resumed run buys its schema again where its folder has a name by default",
        "jaxdp/program/runs/schema_purchase.py",
        'begun = out is None or (user_path(out, "out_dir") / "config.json").exists()',
        'begun = out is not None and (user_path(out, "out_dir") / "config.json").exists()',
        ("tests/test_schema_purchase.py::test_guarantee_a_run_that_is_resumed_buys_nothing",),
    ),
    Mutant(
        "a ledger of another table counts runs on this one",
        "jaxdp/program/runs/dataset_ledgers.py",
        "for file in files if _is_its(file)]",
        "for file in files]",
        (
            "tests/runs/test_default_ledgers.py::"
            "test_guarantee_a_ledger_of_another_table_is_not_taken",
        ),
    ),
    Mutant(
        "any generator is the one of the certificate",
        "jaxdp/program/runs/generator_file.py",
        "        if isinstance(digests, dict) and digests.get(DESCRIPTION) != there:\n",
        "        if False:\n",
        (
            "tests/test_generate.py::test_guarantee_another_generator_is_not_the_one_that_was_certified",
        ),
    ),
    Mutant(
        "a file is released twice",
        _LOG,
        "        if name in self._files:\n",
        '        if name == "":\n',
        (f"{_L}test_a_release_is_noted_and_can_be_resumed",),
    ),
    Mutant(
        "a release is not noted",
        _LOG,
        _NOTED,
        "        self._folder.write_part(name, content)\n",
        (f"{_L}test_guarantee_a_release_that_is_gone_is_not_made_again",),
    ),
    Mutant(
        "a release is seen before it is noted",
        _LOG,
        f"{_NOTED}{_RENAME}",
        f"        self._folder.write_part(name, content)\n{_RENAME}{_NOTED}",
        (f"{_L}test_guarantee_a_run_killed_at_any_moment_releases_once[part]",),
    ),
    Mutant(
        "a release that is gone is made again",
        _LOG,
        "            self._require(name, expected)\n",
        "",
        (f"{_L}test_guarantee_a_release_that_is_gone_is_not_made_again",),
    ),
    Mutant(
        "a release that was replaced is believed",
        _LOG,
        "        if digest(path) != expected:\n",
        "        if not expected:\n",
        (f"{_L}test_guarantee_a_release_that_has_changed_is_refused",),
    ),
    Mutant(
        "the last released step is made again",
        _LOG,
        "        if step < self._step:\n",
        "        if step < self._step - 1:\n",
        (f"{_L}test_guarantee_released_steps_are_not_repeated",),
    ),
    Mutant(
        "an old run that lost its release makes another",
        _LOG,
        "if not path.exists() and _holds_something(self._folder.path / result):",
        "if path.exists() and not _holds_something(self._folder.path / result):",
        (f"{_L}test_guarantee_an_older_run_that_lost_its_release_is_refused",),
    ),
    Mutant(
        "images that no run has made are taken for released ones",
        _IMAGES,
        "if not isinstance(digests, dict) or digests.get(name) != digest(path / name):",
        "if not isinstance(digests, dict) or name not in digests:",
        (f"{_I}test_guarantee_images_that_the_run_did_not_make_are_refused",),
    ),
    Mutant(
        "images of another release are taken",
        _IMAGES,
        'if certificate["ledger"] != embedding["ledger"]:',
        'if certificate["delta"] != embedding["delta"]:',
        (f"{_I}test_guarantee_an_embedding_of_another_release_is_refused",),
    ),
    Mutant(
        "images that nothing ties to a release are releasable",
        _IMAGES,
        'stored |= {"objection": _UNTIED, "releasable": False}',
        "stored |= {}",
        (f"{_I}test_guarantee_images_that_nothing_ties_to_a_release_are_not_releasable",),
    ),
    Mutant(
        "a replaced release has the same digest",
        _IMAGES,
        "hashlib.sha256(mu.tobytes()).hexdigest()",
        "hashlib.sha256(str(mu.shape).encode()).hexdigest()",
        (f"{_I}test_guarantee_another_release_has_another_digest",),
    ),
    Mutant(
        "the certificate of images is believed",
        _IMAGES,
        "certificate = recertified(stored)",
        "certificate = stored",
        (f"{_I}test_guarantee_a_certificate_that_disagrees_is_refused_by_name",),
    ),
    Mutant(
        "the certificate of a release is believed",
        _RELEASED,
        'certificate=recertified(_object(meta["certificate"]), old_noise=old_noise),',
        'certificate=_object(meta["certificate"]),',
        tuple(f"{_EDITED}[{where}]" for where in ("embedding", "teacher")),
    ),
    Mutant(
        "no array of a teacher had float32 noise",
        "jaxdp/methods/teacher/released.py",
        'float32_arrays=("weights",),',
        'float32_arrays=("means",),',
        (f"{_STORED}test_guarantee_a_stored_teacher_of_version_0_1_0_is_not_releasable",),
    ),
    Mutant(
        "the certificate of a run that is used is believed",
        "jaxdp/saved/certificate.py",
        'return recertified(json_file(path / "privacy.json"))',
        'return json_file(path / "privacy.json")',
        (f"{_STORED}test_guarantee_an_edited_certificate_of_a_generator_is_refused",),
    ),
    Mutant(
        "a classifier is of another file than the certificate",
        "jaxdp/saved/folder.py",
        "if found != self.digests.get(name):",
        "if not found:",
        (
            "tests/test_classify_refusals.py::test_guarantee_files_are_those_that_the_certificate_is_about",
        ),
    ),
    Mutant(
        "a loaded set is another one than that of the certificate",
        "jaxdp/saved/folder.py",
        "        return npz_files.load(self.checked(name))\n",
        "        return npz_files.load(self.path / name)\n",
        (
            "tests/test_export.py::test_guarantee_files_that_the_certificate_is_not_about_are_not_exported",
        ),
    ),
    Mutant(
        "what must not be released is exported",
        "jaxdp/program/commands/export.py",
        "    if not loaded.certificate.releasable:\n",
        "    if not loaded.certificate.facts:\n",
        ("tests/test_export.py::test_guarantee_what_must_not_be_released_is_not_exported[png]",),
    ),
    Mutant(
        "the certificate of a finished old run is believed",
        "jaxdp/program/runs/start.py",
        "return recertified(folder.read_json(path.name) or {}, old_noise=old_noise)",
        "return folder.read_json(path.name) or {}",
        (f"{_STORED}test_guarantee_an_edited_certificate_of_an_old_run_is_refused",),
    ),
    Mutant(
        "an old teacher with float32 noise is releasable",
        _RELEASED,
        "old_noise = FLOAT32_NOISE if arrays.keys() & set(form.float32_arrays) else OLD_NOISE",
        "old_noise = OLD_NOISE",
        (f"{_STORED}test_guarantee_a_stored_teacher_of_version_0_1_0_is_not_releasable",),
    ),
    Mutant(
        "a teacher is used beside images it was not accounted with",
        "jaxdp/methods/teacher/earlier.py",
        "if images is not None and images.digest not in stored.certificate.get(BESIDE, ()):",
        "if images is not None and BESIDE not in stored.certificate:",
        (f"{_STORED}test_guarantee_a_teacher_is_used_beside_its_own_images_alone",),
    ),
    Mutant(
        "a certificate covers files that were replaced",
        "jaxdp/program/runs/start.py",
        "files = {name: digest(folder.path / name) for name in there}",
        "files = {name: name for name in there}",
        (f"{_I}test_images_come_by_class_and_in_the_unit_range",),
    ),
    Mutant(
        "a plan passes over what earlier runs have released",
        "jaxdp/methods/teacher/planning.py",
        "    check_earlier(settings, spec, earlier)\n",
        "",
        (
            "tests/test_teach_means.py::"
            "test_guarantee_a_teacher_is_used_with_the_images_it_was_accounted_with_alone",
        ),
    ),
    Mutant(
        "certificates of before are about persons",
        "jaxdp/privacy/stored_certificates.py",
        'persons_declared=stored.get("persons_declared") is True,',
        'persons_declared=stored.get("persons_declared", True) is True,',
        (
            "tests/test_card.py::"
            "test_guarantee_a_stored_certificate_is_of_persons_only_where_somebody_declared_them",
        ),
    ),
    Mutant(
        "files of another certificate stay beside a saved set",
        "jaxdp/methods/made.py",
        "        for path in others:  # the certificate",
        "        for path in others[-1:]:  # the certificate",
        (
            "tests/methods/test_run.py::"
            "test_guarantee_no_file_of_another_certificate_stays_beside_a_saved_set",
        ),
    ),
    Mutant(
        "whatever a certificate says beside its numbers is kept",
        _CERTIFICATES,
        "    return certificate | kept\n",
        "    return {**stored, **certificate, **kept}\n",
        (f"{_C}test_guarantee_what_is_not_computed_is_not_kept[certificate]",),
    ),
    Mutant(
        "a certificate is compared with its ledger in five numbers",
        _CERTIFICATES,
        "    for key in _NUMBERS:\n",
        "    for key in _NUMBERS[:5]:\n",
        (f"{_C}test_guarantee_no_number_may_differ_from_the_ledger[certificate-num_steps-12]",),
    ),
    Mutant(
        "a certificate names files outside of its folder",
        _CERTIFICATES,
        'if {"", ".", ".."} & set(parts) or len(name) > _LONGEST_PATH',
        "if len(name) > _LONGEST_PATH",
        (f"{_C}test_guarantee_what_is_kept_has_its_type[edit4]",),
    ),
    Mutant(
        "a message quotes a file as it is",
        "jaxdp/methods/settings.py",
        "super().__init__(one_line(words.said(message)))",
        "super().__init__(words.said(message))",
        (f"{_TEXTS}[images]", f"{_TEXTS}[table]"),
    ),
    Mutant(
        "words of a certificate steer a terminal",
        "jaxdp/privacy/stored_fields.py",
        "    return for_terminal(value)\n",
        "    return value\n",
        (f"{_C}test_words_that_are_kept_cannot_steer_a_terminal", f"{_TEXTS}[images]"),
    ),
    Mutant(
        "a dataset names itself on a card in Markdown",
        "jaxdp/methods/card.py",
        "of {for_markdown(spec.name)}",
        "of {spec.name}",
        (f"{_TEXTS}[images]",),
    ),
    Mutant(
        "a dataset writes into the YAML of a card",
        "jaxdp/program/exports/names.py",
        "return mark if mark.isprintable() else",
        "return mark if mark else",
        (f"{_TEXTS}[images]",),
    ),
    Mutant(
        "a delta has no least value",
        _LEDGER,
        "if not LEAST_READ <= self.delta < 1:",
        "if not 0 < self.delta < 1:",
        (f"{_BEYOND}[delta below what accountants reach]",),
    ),
    Mutant(
        "noise has no bounds",
        _LEDGER,
        "if not LEAST_NOISE <= noise <= MOST_NOISE:",
        "if noise < 0:",
        (f"{_BEYOND}[noise of 1e-9]", f"{_BEYOND}[noise beside of 1e-9]"),
    ),
    Mutant(
        "any number of runs is summed up",
        _LEDGER,
        "if len(ledgers) > MOST_LEDGERS:",
        "if len(ledgers) < 0:",
        (f"{_H}test_thousands_of_releases_and_of_earlier_runs_are_refused",),
    ),
    Mutant(
        "grids of a composition are of any size",
        "jaxdp/privacy/grids.py",
        "        and composed <= _MOST_COMPOSED\n",
        "",
        (f"{_SOON}[some noise, often]",),
    ),
    Mutant(
        "losses of all or nothing are as narrow as those of noise",
        "jaxdp/privacy/grids.py",
        "return min(everyone + drawn_or_not,",
        "return min(everyone,",
        (f"{_PROFILES}[little noise, often]",),
    ),
    Mutant(
        "the finer grid of a profile may fail",
        "jaxdp/privacy/accounting.py",
        """        found = losses(interval)
    except _NO_RUN_HAS:
        return gaussian(_mu_if_all_were_drawn(parts))
""",
        """        found = losses(interval)
    except SystemError:
        return gaussian(_mu_if_all_were_drawn(parts))
""",
        (f"{_PROFILES}[some noise, seldom]",),
    ),
    Mutant(
        "masses that overflow are composed",
        "jaxdp/privacy/accounting.py",
        'with np.errstate(over="raise", invalid="raise"):',
        "with np.errstate():",
        (f"{_PROFILES}[all but no loss]", f"{_SOON}[all but no loss]"),
    ),
    Mutant(
        "what is too large for a grid is counted by its rate",
        "jaxdp/privacy/accounting.py",
        "part.steps / part.noise**2",
        "part.rate * part.steps / part.noise**2",
        (f"{_H}test_guarantee_what_is_too_large_for_a_grid_is_never_counted_as_less",),
    ),
    Mutant(
        "of equal runs one is counted",
        "jaxdp/privacy/accounting.py",
        "steps[kind] = steps.get(kind, 0) + each.num_steps",
        "steps[kind] = each.num_steps",
        (f"{_H}test_guarantee_equal_runs_are_counted_as_often_as_they_are",),
    ),
    Mutant(
        "arrays of any size are read",
        "jaxdp/saved/npz.py",
        "if total > max_bytes():",
        "if total < 0:",
        (f"{_OUTSIDE}test_a_bomb_is_refused_before_memory_is_taken",),
    ),
    Mutant(
        "a pipe is waited for",
        _FILES,
        "os.O_RDONLY | os.O_NONBLOCK",
        "os.O_RDONLY",
        (f"{_OUTSIDE}test_pipes_and_devices_are_not_waited_for",),
    ),
    Mutant(
        "of two numbers of one name the last is taken",
        _FILES,
        "object_pairs_hook=_once,",
        "object_pairs_hook=dict,",
        (f"{_OUTSIDE}test_json_of_strangers_is_refused_in_one_short_line[0]",),
    ),
    Mutant(
        "JSON is of any size",
        _FILES,
        "if len(text) > MOST_JSON_BYTES:",
        "if len(text) < 0:",
        (f"{_OUTSIDE}test_no_more_of_a_file_is_read_than_a_run_can_have_written",),
    ),
    Mutant(
        "links in folders of orbax are followed",
        _ORBAX,
        "entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)",
        "entry.is_file() or entry.is_dir()",
        (
            f"{_O}test_folders_that_no_run_writes_are_refused_before_orbax_reads[a_link]",
            f"{_O}test_links_among_checkpoints_are_not_followed",
        ),
    ),
    Mutant(
        "orbax takes what arrays declare",
        _ORBAX,
        "if total > _FREE + _RATIO * stored:",
        "if total < 0:",
        (f"{_O}test_arrays_that_declare_more_than_their_files_hold_are_not_read",),
    ),
)
