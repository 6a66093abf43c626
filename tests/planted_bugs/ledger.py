"""Bugs of the ledger of a dataset: releases that nobody counts, changes that nobody finds."""

from planted_bugs.mutant import Mutant

_FILE, _LINES = "jaxdp/privacy/dataset_ledger.py", "jaxdp/privacy/ledger_file.py"
_ENTRY, _LOG = "jaxdp/program/runs/ledger_entry.py", "jaxdp/program/runs/release_log.py"
_FOLDER, _NEW = "jaxdp/program/runs/folder.py", "jaxdp/new_files.py"
_L = "tests/privacy/test_dataset_ledger.py::"
_K = "tests/runs/test_kills_and_copies.py::"
_W = "tests/test_new_files.py::"
_ROW = "tests/test_ledger_table.py::test_guarantee_what_the_table_says"
_COPIES = f"{_K}test_guarantee_of_a_run_and_any_copy_of_it_one_goes_on[True]"
_CONFIG = f"{_K}test_guarantee_a_copy_of_config_json_alone_is_no_run_that_can_go_on"
_KILLED = f"{_K}test_guarantee_a_run_that_is_killed_after_any_write_goes_on_and_releases_once"
_TELL = """\
        if self._entry is not None:
            try:
                self._entry.note(hashlib.sha256(text).hexdigest())
            except OvertakenError:
                for each in (name, NAME):
                    (self._folder.path / f"{each}{TEMPORARY}").unlink(missing_ok=True)
                raise
"""
_TAKE = """\
        rename_durably(self._folder.path / f"{NAME}{TEMPORARY}", self._folder.path / NAME)
"""

MUTANTS = (
    Mutant(
        "the ledger is not told that a run releases",
        _FILE,
        "            add([ledger_file.notes_line(name, notes)])\n",
        "            add([])\n",
        (_CONFIG, f"{_L}test_guarantee_notes_are_taken_from_who_has_the_last_ones"),
    ),
    Mutant(
        "the ledger is told of a release after it is noted",
        _LOG,
        f"{_TELL}{_TAKE}",
        f"{_TAKE}{_TELL}",
        (_KILLED,),
    ),
    Mutant(
        "notes are taken from whoever has some",
        _FILE,
        "            if run.notes != before:\n",
        "            if run.notes is None and before is not None:\n",
        (
            f"{_L}test_guarantee_notes_are_taken_from_who_has_the_last_ones",
            f"{_K}test_guarantee_a_run_that_was_overtaken_leaves_nothing_that_was_not_counted[False]",
        ),
    ),
    Mutant(
        "a folder's notes are not compared with the ledger",
        _ENTRY,
        "            self._require(self.notes)\n",
        "            pass\n",
        (f"{_ROW}[`config.json` alone is copied and resumed]",),
    ),
    Mutant(
        "a folder without notes passes for one that has released nothing",
        _ENTRY,
        "        if notes not in (found, next_ones or found):\n",
        "        if found is not None and notes not in (found, next_ones or found):\n",
        (f"{_ROW}[`config.json` alone is copied and resumed]",),
    ),
    Mutant(
        "a copy goes on from the notes that the ledger has",
        _ENTRY,
        "                self._ledger.note(self.name, notes, before=self.notes)\n",
        "                known = self._ledger.read().find(self.name)\n"
        "                self._ledger.note(self.name, notes, before=known and known.notes)\n",
        (
            f"{_K}test_guarantee_a_run_that_was_overtaken_leaves_nothing_that_was_not_counted[False]",
        ),
    ),
    Mutant(
        "what was not counted stays beside its place",
        _LOG,
        "                for each in (name, NAME):\n",
        "                for each in ():\n",
        (
            f"{_K}test_guarantee_a_run_that_was_overtaken_leaves_nothing_that_was_not_counted[False]",
        ),
    ),
    Mutant(
        "a budget that a resumed run is given is dropped",
        _FILE,
        "            if budget is not None and budget != contents.budget:\n",
        "            if budget is not None and budget != contents.budget and there is None:\n",
        (f"{_L}test_guarantee_a_budget_that_comes_later_holds_from_then_on",),
    ),
    Mutant(
        "a budget forgets the runs after the one that is resumed",
        _FILE,
        "others = [entry.ledger for entry in contents.entries if entry.name != run.name]",
        "others = list(contents.before(run.name))",
        (f"{_L}test_guarantee_a_budget_that_comes_later_holds_from_then_on",),
    ),
    Mutant(
        "a budget is taken at the delta of the run",
        _FILE,
        "    spent = joint_epsilon((*others, run.ledger), delta=budget.delta)\n",
        "    spent = joint_epsilon((*others, run.ledger), delta=run.ledger.delta)\n",
        (f"{_L}test_guarantee_a_budget_is_taken_at_its_own_delta",),
    ),
    Mutant(
        "a changed line is found by the next one alone",
        _LINES,
        "        digest.update(line[:-length])\n        _require(line[-length:] == _end("
        'digest.hexdigest()), "it, or what is before, was changed")\n',
        "        digest.update(line[:-length])\n",
        (f"{_L}test_guarantee_a_changed_last_line_is_found",),
    ),
    Mutant(
        "a line's digest forgets what is before it",
        _LINES,
        "        self._digest.update(line)\n",
        "        self._digest = hashlib.sha256(line)\n",
        (
            f"{_L}test_guarantee_notes_are_taken_from_who_has_the_last_ones",
            f"{_L}test_guarantee_runs_are_summed_up_as_one_composition",
        ),
    ),
    Mutant(
        "lines of version 1 may follow newer ones",
        _LINES,
        "        self._version = 2  # from here on, the older lines are none\n",
        "",
        (f"{_L}test_guarantee_no_line_of_version_1_comes_after_a_newer_one",),
    ),
    Mutant(
        "an entry of version 1 passes for one that has not begun",
        _LINES,
        "found.get(_NOTES) if _DIGEST in found else UNKNOWN",
        "found.get(_NOTES)",
        (
            f"{_L}test_guarantee_files_of_version_1_go_on_being_counted",
            f"{_ROW}[an unfinished run of an earlier version is resumed]",
        ),
    ),
    Mutant(
        "an unfinished run of version 1 goes on",
        _ENTRY,
        '        if found is None or not (self._folder.read_json("metrics.json") or {}).get('
        '"finished"):\n',
        "        if found is None:\n",
        (f"{_ROW}[an unfinished run of an earlier version is resumed]",),
    ),
    Mutant(
        "a finished run releases more",
        _FILE,
        "            if run.finished is not None:\n",
        "            if run.finished is None and before == notes:\n",
        (
            f"{_L}test_guarantee_a_run_that_has_finished_releases_nothing_more",
            f"{_K}test_guarantee_a_finished_run_releases_nothing_more",
        ),
    ),
    Mutant(
        "a run that is counted goes on without a ledger",
        _ENTRY,
        "        if counted is not None and self._ledger is None and self._stored is not None:\n",
        "        if counted is None and self._stored is not None:\n",
        (f"{_ROW}[a run is resumed with `--ledger=none`]",),
    ),
    Mutant(
        "a run whose entry is lost keeps its name and its notes are not entered",
        _ENTRY,
        "                notes=self.notes,\n",
        "                notes=None,\n",
        (f"{_ROW}[a run is resumed with another `--ledger`]",),
    ),
    Mutant(
        "a run from Python is entered as one that has not begun",
        "jaxdp/methods/runner.py",
        "        notes=_NO_NOTES,\n",
        "",
        (
            "tests/test_runs_on_one_dataset.py::"
            "test_guarantee_a_run_from_python_has_begun_and_finished_in_the_file",
        ),
    ),
    Mutant(
        "another state in the place of the released one is gone on from",
        _LOG,
        "(step, found) != noted:",
        "step != noted[0]:",
        (f"{_K}test_guarantee_another_state_in_the_place_of_the_released_one_is_refused",),
    ),
    Mutant(
        "a noted state that has no checkpoint is thrown away",
        _LOG,
        "        folder.remove_leftovers(keep=(STATE,) if self._state else ())\n",
        "        folder.remove_leftovers()\n",
        (_KILLED,),
    ),
    Mutant(
        "a file of somebody is cut as a half-written line",
        _LINES,
        "        lines = [content]  # somebody's file, and not the beginning of one of these\n",
        "        pass\n",
        (f"{_L}test_guarantee_a_file_of_somebody_is_not_cut",),
    ),
    Mutant(
        "a ledger on a share that is not there begins anew",
        _FILE,
        "            if not self.path.exists():  # a new file would begin to count at nothing\n",
        "            if self.path.is_dir():\n",
        (f"{_L}test_guarantee_a_link_to_a_share_that_is_not_there_begins_no_new_file",),
    ),
    Mutant(
        "the lock of a run is opened through a link",
        _FOLDER,
        "os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK",
        "os.O_RDWR | os.O_CREAT | os.O_NONBLOCK",
        (f"{_W}test_guarantee_a_lock_that_is_none_is_refused_and_stays[dangling]",),
    ),
    Mutant(
        "somebody's file passes for a lock, and is removed",
        _FOLDER,
        "not stat.S_ISREG(found.st_mode) or found.st_size > 0:",
        "not stat.S_ISREG(found.st_mode):",
        (f"{_W}test_guarantee_a_lock_that_is_none_is_refused_and_stays[content]",),
    ),
    Mutant(
        "files are written through what has their name",
        _NEW,
        '    path.unlink(missing_ok=True)\n    return os.fdopen(os.open(path, _NEW, mode), "wb")\n',
        '    return path.open("wb")\n',
        (f"{_W}test_guarantee_writing_leaves_what_has_other_names[out/y.json-hard link]",),
    ),
    Mutant(
        "a run writes through a folder that is a link",
        _FOLDER,
        "            if (self.path / name).is_symlink():\n",
        '            if (self.path / name / "config.json").is_symlink():\n',
        (f"{_W}test_guarantee_a_folder_of_a_run_that_is_a_link_is_refused[resume-checkpoints]",),
    ),
    Mutant(
        "a run is twice in a ledger, and counts once",
        "jaxdp/privacy/ledger_file.py",
        '            _require(entry.name not in self.entries, "a run is in it twice")\n',
        "",
        (
            "tests/privacy/test_dataset_ledger.py::"
            "test_a_run_that_is_twice_in_the_file_or_has_no_noise_is_refused",
        ),
    ),
    Mutant(
        "a run without noise counts in a ledger",
        "jaxdp/privacy/ledger_file.py",
        '    _require(entry.ledger.is_private, "a run has no noise")\n',
        "",
        (
            "tests/privacy/test_dataset_ledger.py::"
            "test_a_run_that_is_twice_in_the_file_or_has_no_noise_is_refused",
        ),
    ),
    Mutant(
        "a larger delta loosens a budget",
        "jaxdp/privacy/dataset_ledger.py",
        "delta=min(budget.delta, contents.budget.delta)",
        "delta=max(budget.delta, contents.budget.delta)",
        (
            "tests/privacy/test_dataset_ledger.py::"
            "test_guarantee_a_budget_is_not_loosened_by_a_larger_delta",
        ),
    ),
    Mutant(
        "of two default ledgers one is forgotten",
        "jaxdp/program/runs/dataset_ledgers.py",
        "    if len(files_there) > 1:\n",
        "    if False:\n",
        ("tests/runs/test_default_ledgers.py::test_guarantee_of_two_ledgers_none_is_forgotten",),
    ),
    Mutant(
        "a ledger whose share is gone begins anew elsewhere",
        "jaxdp/program/runs/dataset_ledgers.py",
        "if path.exists() or path.is_symlink()]",
        "if path.exists()]",
        (
            "tests/runs/test_default_ledgers.py::"
            "test_guarantee_a_ledger_whose_share_is_gone_is_not_begun_anew",
        ),
    ),
    Mutant(
        "a link to data has a ledger of its own",
        "jaxdp/program/runs/dataset_ledgers.py",
        "files = (data, data.resolve())",
        "files = (data, data)",
        ("tests/runs/test_default_ledgers.py::test_guarantee_a_link_to_data_has_their_ledger",),
    ),
    Mutant(
        "a part of other content takes the place of a release",
        "jaxdp/program/runs/release_log.py",
        "and part.exists() and digest(part) == expected:",
        "and part.exists():",
        (
            "tests/runs/test_release_log.py::"
            "test_guarantee_a_part_of_other_content_does_not_take_the_place_of_a_release",
        ),
    ),
    Mutant(
        "features are kept in the folder that is passed on",
        "jaxdp/program/runs/rows.py",
        "        if path.is_relative_to(run):\n",
        "        if path == run:\n",
        ("tests/runs/test_rows.py::test_guarantee_features_are_not_kept_where_files_may_leave",),
    ),
    Mutant(
        "numbers of 16 bits are rounded after they are clipped",
        "jaxdp/privacy/clipping.py",
        "narrow = jnp.finfo(leaf.dtype).bits < 32",
        "narrow = jnp.finfo(leaf.dtype).bits < 16",
        (
            "tests/privacy/test_clipping.py::"
            "test_guarantee_numbers_of_16_bits_are_clipped_to_the_norm[float16]",
        ),
    ),
    Mutant(
        "datasets whose names differ behind a dot share a ledger",
        "jaxdp/program/runs/dataset_ledgers.py",
        'data.name.removesuffix(".npz") if whole else table_name(data)',
        'data.name.split(".")[0]',
        (
            "tests/runs/test_default_ledgers.py::"
            "test_guarantee_names_with_dots_have_ledgers_of_their_own",
        ),
    ),
)
