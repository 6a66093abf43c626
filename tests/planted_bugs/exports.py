"""Bugs of what is passed on: exports, saved sets, certificates, and what private data show."""

from planted_bugs.mutant import Mutant

_EXPORT, _E = "jaxdp/program/commands/export.py", "tests/test_export.py::"
_MADE, _RECORD, _R = (
    "jaxdp/methods/made.py",
    "jaxdp/methods/record.py",
    "tests/methods/test_run.py::",
)
_PRIVATE, _CERTIFIED_BY = "jaxdp/data/private.py", "jaxdp/methods/certified.py"
_SHOWN = ("tests/test_data.py::test_guarantee_private_examples_show_nothing_of_themselves",)
_CERTIFIED = '    certificate = {**loaded.certificate.facts, **about, "sha256": digests}\n'
_STAYS = (f"{_E}test_guarantee_an_export_holds_nothing_that_must_stay",)
_BESIDE = (f"{_R}test_guarantee_no_file_of_another_certificate_stays_beside_a_saved_set",)

_PACK, _P = "jaxdp/program/commands/pack.py", "tests/commands/test_pack.py::"
_ZIPS = "jaxdp/saved/zips.py"
_HOSTILE = f"{_P}test_hostile_zip_files_are_refused_in_one_line"
_CONTENTS, _SEAL = "jaxdp/program/exports/contents.py", "jaxdp/saved/seal.py"
_STRANGERS = (f"{_P}test_guarantee_nothing_that_must_stay_is_packed[teacher, noisy]",)
_WRITTEN = "    contents.write(folder, files)\n"
_LOADED = "jaxdp/saved/loading.py"
_VERIFY, _V = "jaxdp/program/commands/verify.py", "tests/commands/test_verify.py::"
_HELD = f"{_V}test_guarantee_what_does_not_hold_is_said"

MUTANTS = (
    Mutant(
        "every file of a run is packed",
        _PACK,
        _WRITTEN,
        "    all_of_them = (p for p in loaded.folder.path.iterdir() if p.is_file())\n"
        "    contents.write(folder, {p.name: p.read_bytes() for p in all_of_them} | files)\n",
        _STRANGERS,
    ),
    Mutant(
        "notes that somebody has left as README.md are packed",
        _PACK,
        "    contents.write(folder, {cards.NAME:",
        "    card = (loaded.folder.path / cards.NAME).read_text()\n"
        "    contents.write(folder, {cards.NAME:",
        _STRANGERS,
    ),
    Mutant(
        "what is written into a certificate by hand is packed",
        _CONTENTS,
        _CERTIFIED,
        "    import json\n"
        "    stored = json.loads((loaded.folder.path / CERTIFICATE).read_text())\n"
        '    certificate = {**stored, **about, "sha256": digests}\n',
        _STRANGERS,
    ),
    Mutant(
        "whatever a certificate names is packed",
        _CONTENTS,
        "        if name not in known:\n",
        "        if not known:\n",
        (f"{_P}test_guarantee_a_certificate_cannot_name_what_must_stay[metrics.json]",),
    ),
    Mutant(
        "settings are packed with the folders of private files",
        _CONTENTS,
        "json_bytes(without_folders(folder.config))",
        "json_bytes(folder.config)",
        (f"{_P}test_guarantee_config_names_no_folders",),
    ),
    Mutant(
        "a licence is whatever lies there",
        _CONTENTS,
        "    told = seal.listed(loaded.folder).get(LICENCE)\n",
        "    there = loaded.folder.path / LICENCE\n"
        "    told = hashlib.sha256(there.read_bytes()).hexdigest() if there.exists() else None\n",
        _STRANGERS,
    ),
    Mutant(
        "a file is loaded that is not the one that was packed",
        _SEAL,
        "            if found != told:\n",
        "            if not found:\n",
        (f"{_P}test_guarantee_a_changed_file_is_refused",),
    ),
    Mutant(
        "a file may be added to a pack",
        _SEAL,
        "    if strangers:\n",
        "    if not folder.digests:\n",
        (f"{_P}test_guarantee_a_file_that_is_added_or_gone_is_refused",),
    ),
    Mutant(
        "a file may be taken from a pack",
        _SEAL,
        "    if gone:\n",
        "    if not folder.digests:\n",
        (f"{_P}test_guarantee_a_file_that_is_added_or_gone_is_refused",),
    ),
    Mutant(
        "without its list a pack may hold anything",
        _SEAL,
        "    before = () if folder.has(NAME) else _BEFORE\n",
        "    before = ()\n    if not folder.has(NAME):\n        return\n",
        (f"{_P}test_guarantee_without_its_list_a_pack_is_no_older_one",),
    ),
    Mutant(
        "digests are told of files outside of their folder",
        _SEAL,
        " or not _is_inside(name):",
        ":",
        (f"{_P}test_lists_that_lead_out_of_their_folder_are_refused",),
    ),
    Mutant(
        "a command believes settings that somebody has changed",
        _LOADED,
        "    seal.check(folder, every=packed)\n",
        "    seal.check(folder, every=packed) if packed else None\n",
        (f"{_E}test_guarantee_only_what_is_listed_is_believed_by_commands_too",),
    ),
    Mutant(
        "a name in a zip file steers a terminal",
        _ZIPS,
        "shown = part.isprintable()",
        "shown = bool(part)",
        (f"{_HOSTILE}[codes of a terminal]",),
    ),
    Mutant(
        "two files of a zip file are one on some systems",
        _ZIPS,
        "        if info.filename.casefold() in seen:",
        "        if info.filename in seen:",
        (f"{_HOSTILE}[two that are one on some systems]",),
    ),
    Mutant(
        "whatever lies beside a generator is packed",
        "jaxdp/program/runs/generator_file.py",
        'for each in (place / _VARIABLES).rglob("*")',
        'for each in place.rglob("*")',
        (f"{_P}test_guarantee_of_a_generator_its_own_files_are_packed",),
    ),
    Mutant(
        "what must not be released is packed",
        _PACK,
        "        if not loaded.certificate.releasable:\n",
        "        if loaded.certificate is None:\n",
        (f"{_P}test_guarantee_what_must_not_be_released_is_not_packed",),
    ),
    Mutant(
        "a file is packed that nobody has certified",
        _CONTENTS,
        "folder.content(name)",
        "(folder.path / name).read_bytes()",
        (f"{_P}test_guarantee_another_file_than_was_certified_is_not_packed",),
    ),
    Mutant(
        "a packed file may be named above its folder",
        _ZIPS,
        """part not in ("", ".", "..") and""",
        """part not in ("", ".") and""",
        (f"{_HOSTILE}[a name above]",),
    ),
    Mutant(
        "a packed link is unpacked",
        _ZIPS,
        "kind not in (0, stat.S_IFREG)",
        "kind not in (0, stat.S_IFREG, stat.S_IFLNK)",
        (f"{_HOSTILE}[a link]",),
    ),
    Mutant(
        "a zip file may unpack to whatever size",
        _ZIPS,
        "if size > max_bytes():",
        "if not members:",
        (f"{_P}test_a_bomb_is_refused_before_it_is_unpacked",),
    ),
    Mutant(
        "figures of private test data are told without a word of their holder",
        _PACK,
        "        if self.with_figures and self.test_data is None:\n",
        "        if self.with_figures and self.test_data is None and self.run is None:\n",
        (f"{_P}test_guarantee_no_figures_are_packed_unasked",),
    ),
    Mutant(
        "whatever metrics.json calls a judge is told",
        "jaxdp/program/exports/figures.py",
        "    for name, model in _WANTED.items():\n",
        "    for name, model in {**{each: each for each in judged}, **_WANTED}.items():\n",
        (f"{_P}test_guarantee_figures_are_told_with_a_statement_and_nothing_beside_them_is",),
    ),
    Mutant(
        "what does not hold ends as if it did",
        _VERIFY,
        "    sys.exit(1)\n",
        "    sys.exit(0)\n",
        (f"{_HELD}[an edited epsilon]",),
    ),
    Mutant(
        "what is verified is not compared with its digests",
        _VERIFY,
        "    seal.check(folder, every=True)\n",
        "    seal.check(folder, every=False)\n",
        (f"{_V}test_guarantee_pictures_of_an_unpacked_pack_have_their_digests",),
    ),
    Mutant(
        "files that were added to what is verified are not seen",
        _VERIFY,
        "        seal.require_whole(folder, packed=False)",
        "        seal.listed(folder)",
        (f"{_V}test_exports_and_unpacked_packs_are_verified",),
    ),
    Mutant(
        "what must not be released is verified like anything else",
        _VERIFY,
        "        if not loaded.certificate.releasable:\n",
        "        if loaded.certificate is None:\n",
        (f"{_V}test_guarantee_what_must_not_be_released_is_not_all_well",),
    ),
    Mutant(
        "a fingerprint is of the numbers alone",
        _SEAL,
        "    canonical = json.dumps(certificate, ",
        '    certificate = {k: v for k, v in certificate.items() if k != "sha256"}\n'
        "    canonical = json.dumps(certificate, ",
        (f"{_V}test_guarantee_sender_and_receiver_see_the_same_fingerprint",),
    ),
    Mutant(
        "an export takes along how good a run is",
        _EXPORT,
        "        exported = writers[form](folder, loaded, loaded.made)\n",
        "        exported = writers[form](folder, loaded, loaded.made)\n"
        '        for path in user_path(run, "run").glob("metrics.json"):\n'
        "            (folder / path.name).write_bytes(path.read_bytes())\n",
        _STAYS,
    ),
    Mutant(
        "an export takes along every file of the run",
        _EXPORT,
        "        exported = writers[form](folder, loaded, loaded.made)\n",
        "        for path in user_path(run, 'run').iterdir():\n"
        "            if path.is_file():\n"
        "                (folder / path.name).write_bytes(path.read_bytes())\n"
        "        exported = writers[form](folder, loaded, loaded.made)\n",
        _STAYS,
    ),
    Mutant(
        "whatever has an epsilon is exported",
        _EXPORT,
        "    if not loaded.certificate.releasable:\n",
        '    if facts["epsilon"] is None and not loaded.certificate.releasable:\n',
        (f"{_E}test_guarantee_what_is_private_and_must_stay_is_not_exported",),
    ),
    Mutant(
        "an export promises what was asked for",
        _CONTENTS,
        _CERTIFIED,
        _CERTIFIED + '    certificate["epsilon"] = certificate["target_epsilon"]\n',
        (f"{_E}test_guarantee_every_export_has_the_certificate[torch]",),
    ),
    Mutant(
        "the certificate of a saved set does not name what was released",
        _RECORD,
        "content in {**files, **beside}.items()",
        "content in files.items()",
        (f"{_R}test_guarantee_a_saved_certificate_is_about_every_file_of_its_release",),
    ),
    Mutant(
        "a saved release does not tell of earlier runs",
        _RECORD,
        "        certificate=dict(certificate),\n",
        "        certificate=certified.certificate(plan),\n",
        (f"{_R}test_guarantee_a_saved_release_tells_of_earlier_runs",),
    ),
    Mutant(
        "a set without a certificate is saved beside that of another one",
        _MADE,
        "if stored is None or stored == certificate:",
        "if stored is None or certificate in (None, stored):",
        _BESIDE,
    ),
    Mutant(
        "private examples show how many there are of each class",
        _PRIVATE,
        'return f"Private({len(self.x)} examples)"',
        'return f"Private({len(self.x)} examples, {np.bincount(self.y).tolist()} by class)"',
        _SHOWN,
    ),
    Mutant(
        "a message names the largest private label",
        _PRIVATE,
        'raise ValueError(f"y has labels outside 0..{spec.num_classes - 1}")',
        'raise ValueError(f"y has labels outside 0..{spec.num_classes - 1}, up to {y.max()}")',
        _SHOWN,
    ),
    Mutant(
        "a message names the range of private values",
        _PRIVATE,
        'raise ValueError(f"x has values outside [{low:g}, {high:g}], the range of spec")',
        "raise ValueError(\n"
        '            f"x has values outside [{low:g}, {high:g}], the range of spec: "\n'
        '            f"from {x.min():g} to {x.max():g}"\n'
        "        )",
        ("tests/test_data.py::test_guarantee_messages_about_private_examples_name_no_value",),
    ),
    Mutant(
        "a message says how many private values are not finite",
        _PRIVATE,
        'raise ValueError("x has values that are not finite")',
        'raise ValueError(f"x has {np.sum(~np.isfinite(x))} values that are not finite")',
        ("tests/test_data.py::test_guarantee_messages_about_private_examples_name_no_value",),
    ),
    Mutant(
        "a certificate does not tell of earlier runs",
        _CERTIFIED_BY,
        "        earlier=earlier,\n",
        "",
        (
            "tests/test_runs_on_one_dataset.py::"
            "test_guarantee_runs_from_python_are_counted_in_the_same_file",
        ),
    ),
    Mutant(
        "a certificate does not say that classes were counted in private labels",
        _CERTIFIED_BY,
        "        counted_classes=spec.counted_classes,\n",
        "",
        (f"{_R}test_guarantee_a_certificate_says_that_classes_were_counted[dp_ntk]",),
    ),
    Mutant(
        "a result that is used again has the certificate that was stored with it",
        _CERTIFIED_BY,
        "        again = recertified(\n"
        "            used_again,\n"
        "            allow_delta=settings.allow_delta,\n"
        "            allow_epsilon=settings.allow_epsilon,\n"
        "            covers=story.covers_again,\n"
        "        )\n",
        "        again = used_again\n",
        (
            "tests/test_teach_labelled.py::"
            "test_guarantee_a_labelled_run_brings_its_teacher_and_no_data_are_used",
        ),
    ),
)
