"""Bugs of what is stored and read again: notes of releases, certificates, images."""

from planted_bugs.mutant import Mutant

_LOG, _L = "experiments/runs/release_log.py", "tests/runs/test_release_log.py::"
_IMAGES, _I = "experiments/runs/generated_images.py", "tests/runs/test_generated_images.py::"
_RELEASED = "jaxdp/saved/released.py"
_STORED = "tests/runs/test_stored_certificates.py::"
_EDITED = f"{_STORED}test_guarantee_an_edited_certificate_of_a_release_is_refused"
_NOTED = (
    '        self._note(name, content, {**self._notes, "files": {**self._files, name: found}})\n'
)
_RENAME = (
    '        rename_durably(self._folder.path / f"{name}{TEMPORARY}", self._folder.path / name)\n'
)

MUTANTS = (
    Mutant(
        "any generator is the one of the certificate",
        "experiments/runs/generator_file.py",
        "        if named not in (None, digest(path / DESCRIPTION)):\n",
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
        'certificate=recertified(meta["certificate"], old_noise=old_noise),',
        'certificate=meta["certificate"],',
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
        "if found != self.digests[name]:",
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
        "experiments/export.py",
        "    if not loaded.certificate.releasable:\n",
        "    if not loaded.certificate.facts:\n",
        ("tests/test_export.py::test_guarantee_what_must_not_be_released_is_not_exported[png]",),
    ),
    Mutant(
        "the certificate of a finished old run is believed",
        "experiments/runs/start.py",
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
        "experiments/runs/start.py",
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
)
