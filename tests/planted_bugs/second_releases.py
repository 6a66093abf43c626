"""Bugs of runs that go on: what was released is released again, or under other numbers."""

from planted_bugs.mutant import Mutant

_DRIVER, _RUNNER = "jaxdp/program/runs/driver.py", "jaxdp/program/runs/runner.py"
_START = "jaxdp/program/runs/start.py"
_KIP_RELEASE = "jaxdp/methods/dp_kip/release.py"
_TEACHER_RELEASE = "jaxdp/methods/teacher/release.py"
_COUNTS = "tests/test_marginals_driver.py::"
_BESIDE = "tests/runs/test_what_is_written.py::"
_ONCE = "tests/runs/test_second_releases.py::"
_R = "tests/test_runners.py::"
_NOT_AGAIN = f"{_R}test_guarantee_steps_that_were_released_are_not_made_again"
_LOOKED_AT = f"{_R}test_guarantee_a_state_is_kept_and_noted_before_it_is_looked_at"
_DAMAGED = f"{_R}test_guarantee_a_damaged_checkpoint_of_a_private_step_is_not_made_again[False]"
_SAVING = """\
                    if checkpoints and (done == total or late or (due and not steps.free)):
                        # Before anything about the state is shown, so that a repeated step never
                        # follows a look at its first outcome.
                        self._save(steps, checkpoints, done, state)
                        saved_at = time.monotonic()
"""
_LOOKING = """\
                    if due:
                        self._note(steps, done, state, note)
"""

MUTANTS = (
    Mutant(
        "class means are released again on resumption",
        _DRIVER,
        "        if path.exists():\n            return released.read",
        '        means = getattr(getattr(plan, "mechanisms", None), "means", None)\n'
        "        if path.exists() and means is None:\n"
        "            return released.read",
        (f"{_ONCE}test_guarantee_a_resumed_run_takes_the_teacher_and_means_that_were_released",),
    ),
    Mutant(
        "the embedding is released again on resumption",
        _DRIVER,
        "        if path.exists():\n            return released.read",
        '        if path.exists() and story.kind == "distilled":\n            return released.read',
        (f"{_ONCE}test_guarantee_a_resumed_run_takes_the_embedding_that_was_released",),
    ),
    Mutant(
        "the generator is trained on another release than the stored one",
        _DRIVER,
        "        return found.released\n",
        "        return found.released if stored else self._release()\n",
        (f"{_ONCE}test_guarantee_an_embedding_is_released_once_and_stored",),
    ),
    Mutant(
        "a release is used that is not on the disk",
        _DRIVER,
        "        released.write(self._log, story.released, form, found)\n",
        "",
        (f"{_ONCE}test_guarantee_a_release_is_on_disk_before_it_is_used[dp_ntk]",),
    ),
    Mutant(
        "a run whose release is gone makes another",
        _DRIVER,
        '        self._log.require_unless_begun(story.released, f"{story.result}.npz", *after)\n',
        "",
        (f"{_R}test_guarantee_results_without_their_release_end_a_run",),
    ),
    Mutant(
        "steps that were released are made again",
        _RUNNER,
        "            self._log.require_step(int(state.step), content)\n",
        "            pass\n",
        (
            _NOT_AGAIN,
            f"{_ONCE}test_guarantee_released_steps_are_not_made_again[dp_kip]",
            f"{_ONCE}test_guarantee_released_steps_are_not_made_again[dp_kip_teacher]",
        ),
    ),
    Mutant(
        "steps are made again where noise is new, not where it is the same",
        _RUNNER,
        "        if not checkpoints.repeatable:\n            self._log",
        "        if checkpoints.repeatable:\n            self._log",
        (_NOT_AGAIN,),
    ),
    Mutant(
        "private steps may be repeated",
        _RUNNER,
        "return self._plan.settings.noise_seed is not None or not (ledger and ledger.is_private)",
        "return self._plan.settings.noise_seed is not None or bool(ledger and ledger.is_private)",
        (
            _NOT_AGAIN,
            f"{_ONCE}test_guarantee_private_steps_are_not_repeatable[dp_kip]",
            f"{_ONCE}test_guarantee_private_steps_are_not_repeatable[dp_kip_teacher]",
        ),
    ),
    Mutant(
        "damaged steps are made again",
        _RUNNER,
        "repeatable=steps.free or self._may_repeat",
        "repeatable=True",
        (
            _DAMAGED,
            f"{_ONCE}test_guarantee_private_steps_are_not_repeatable[dp_kip]",
            f"{_ONCE}test_guarantee_private_steps_are_not_repeatable[dp_kip_teacher]",
        ),
    ),
    Mutant(
        "DP-KIP's steps pass for post-processing",
        _KIP_RELEASE,
        "            free=False,\n",
        "            free=True,\n",
        (f"{_ONCE}test_guarantee_private_steps_are_not_repeatable[dp_kip]",),
    ),
    Mutant(
        "the teacher's steps pass for post-processing",
        _TEACHER_RELEASE,
        "            free=False,\n",
        "            free=True,\n",
        (f"{_ONCE}test_guarantee_private_steps_are_not_repeatable[dp_kip_teacher]",),
    ),
    Mutant(
        "no note is taken of released steps",
        _RUNNER,
        "with self._log.saving(step, content):",
        "with self._log.saving(0, content):",
        (
            _LOOKED_AT,
            f"{_BESIDE}test_guarantee_nothing_private_is_written_beside_releases[dp_kip]",
            f"{_BESIDE}test_guarantee_nothing_private_is_written_beside_releases[dp_kip_teacher]",
        ),
    ),
    Mutant(
        "private steps are saved as post-processing is",
        _RUNNER,
        "        if steps.free:\n            checkpoints.save",
        "        if not steps.free:\n            checkpoints.save",
        (_LOOKED_AT,),
    ),
    Mutant(
        "a state is looked at before it is kept",
        _RUNNER,
        f"{_SAVING}{_LOOKING}",
        f"{_LOOKING}{_SAVING}",
        (_LOOKED_AT,),
    ),
    Mutant(
        "states that are looked at are not kept",
        _RUNNER,
        "late or (due and not steps.free)):",
        "late):",
        (_LOOKED_AT,),
    ),
    Mutant(
        "a damaged checkpoint is passed over",
        "jaxdp/program/runs/checkpoints.py",
        "                if not self.repeatable:\n",
        "                if not steps:\n",
        (f"{_ONCE}test_guarantee_a_damaged_checkpoint_ends_a_private_run",),
    ),
    Mutant(
        "a run goes on under another ledger",
        _START,
        '            _require_same_ledger(folder, stored["ledger"], config["ledger"])\n',
        "            pass\n",
        (f"{_ONCE}test_guarantee_a_run_goes_on_with_the_numbers_it_started_with",),
    ),
    Mutant(
        "an old run goes on with new noise",
        _START,
        'if not (folder.read_json("metrics.json") or {}).get("finished"):',
        'if folder.read_json("metrics.json") is None:',
        (f"{_ONCE}test_guarantee_an_unfinished_run_without_a_ledger_does_not_go_on",),
    ),
    Mutant(
        "a run goes on with other settings",
        "jaxdp/program/runs/folder.py",
        "            if stored.get(key) != value:\n",
        "            if key not in stored:\n",
        (f"{_ONCE}test_guarantee_a_run_goes_on_with_the_numbers_it_started_with",),
    ),
    Mutant(
        "a run goes on from the older of two checkpoints",
        "jaxdp/program/runs/checkpoints.py",
        "steps = sorted(self._manager.all_steps(), reverse=True)",
        "steps = sorted(self._manager.all_steps())",
        ("tests/runs/test_checkpoints.py::test_checkpoints_survive_a_round_trip",),
    ),
    Mutant(
        "a step is noted that is in no checkpoint",
        _RUNNER,
        "                checkpoints.save_packed(step, content)\n        self._write_metrics()\n",
        "                pass\n        self._write_metrics()\n",
        (_LOOKED_AT,),
    ),
    Mutant(
        "a generator's checkpoints stand in the place of its teacher's",
        _RUNNER,
        "folder.teacher_checkpoints if before_generator else folder.checkpoints,",
        "folder.checkpoints,",
        (
            "tests/runs/test_labelled_resumed.py::"
            "test_a_run_stopped_between_teacher_and_embedding_goes_on",
        ),
    ),
    Mutant(
        "a generating run whose generator has begun makes another embedding",
        _DRIVER,
        'after = ("checkpoints",) if story.kind == "generated" else ()',
        "after = ()",
        (
            f"{_ONCE}test_guarantee_a_generator_whose_release_is_gone_is_not_trained_on_another"
            "[dp_ntk]",
        ),
    ),
    Mutant(
        "a method that keeps no release makes it again on resumption",
        _DRIVER,
        "if plan.ledger is not None and plan.ledger.releases:",
        "if plan.ledger is None:",
        (f"{_ONCE}test_guarantee_a_single_release_that_is_not_kept_is_not_made",),
    ),
    Mutant(
        "a run from Python does not tell of earlier runs",
        "jaxdp/methods/runner.py",
        "certified.certificate(plan, None if entered is None else entered.earlier)",
        "certified.certificate(plan)",
        (
            "tests/test_runs_on_one_dataset.py::"
            "test_guarantee_runs_from_python_are_counted_in_the_same_file",
        ),
    ),
    Mutant(
        "a budget that is given from Python is not kept",
        "jaxdp/methods/runner.py",
        "total = None if budget is None else TotalBudget(float(budget), counted.delta)",
        "total = None",
        (
            "tests/test_runs_on_one_dataset.py::"
            "test_guarantee_runs_from_python_are_counted_in_the_same_file",
        ),
    ),
    Mutant(
        "packs and verdicts take a release of another run",
        "jaxdp/program/exports/contents.py",
        "            folder.released(story.released, form)\n",
        "            del form\n",
        (
            f"{_COUNTS}test_guarantee_counts_of_another_run_are_not_taken_for_those_of_a_certificate",
        ),
    ),
)
