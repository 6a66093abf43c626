"""Bugs of the drivers: keys, mechanisms, second releases."""

from planted_bugs.mutant import Mutant

_DISTILL, _PLAN = "experiments/runs/distill.py", "experiments/plan.py"
_GENERATE, _NTK_PLAN = "experiments/runs/generate.py", "experiments/ntk_plan.py"
_TEACH, _TEACHER_PLAN = "experiments/runs/teach.py", "experiments/teacher_plan.py"
_MECHANISMS, _START = "experiments/teacher_mechanisms.py", "experiments/runs/start.py"
_D = "tests/test_driver_guarantees.py::"
_SEED = f"{_D}test_guarantee_the_public_seed_makes_no_noise"
_KIP_RUNS = (f"{_D}test_guarantee_dp_kip_runs_what_it_accounts",)
_NTK_RUNS = (f"{_D}test_guarantee_a_generating_run_releases_what_it_accounts",)
_TEACHER_RUNS = (f"{_D}test_guarantee_a_teacher_is_trained_as_accounted",)
_MEANS_RUN = (f"{_D}test_guarantee_class_means_have_the_noise_that_is_accounted",)

MUTANTS = (
    Mutant(
        "DP-KIP's noise is keyed by the public seed",
        _DISTILL,
        "private_key(self._plan.settings.noise_seed)",
        "private_key(self._plan.settings.seed)",
        (f"{_SEED}[dp_kip]",),
    ),
    Mutant(
        "the generator's noise is keyed by the public seed",
        _NTK_PLAN,
        "private_key(self.settings.noise_seed),",
        "private_key(self.settings.seed),",
        (f"{_SEED}[dp_ntk]",),
    ),
    Mutant(
        "the teacher's noise is keyed by the public seed",
        _TEACH,
        "private_key(plan.settings.noise_seed)",
        "private_key(plan.settings.seed)",
        (f"{_SEED}[dp_kip_teacher]",),
    ),
    Mutant(
        "class means have the key of the teacher",
        _TEACH,
        "plan.release_means(means_key)",
        "plan.release_means(teacher_key)",
        (f"{_D}test_guarantee_teacher_and_class_means_have_keys_of_their_own",),
    ),
    Mutant(
        "DP-KIP runs with less noise than it accounts",
        _PLAN,
        "kip = dp_kip.dp_kip(kernel, mechanism, config)",
        "less = dataclasses.replace(mechanism, noise_multiplier=mechanism.noise_multiplier / 2)\n"
        "    kip = dp_kip.dp_kip(kernel, less, config)",
        _KIP_RUNS,
    ),
    Mutant(
        "DP-KIP accounts half its steps",
        _PLAN,
        "            steps=self.mechanism,\n",
        "            steps=dataclasses.replace(self.mechanism, num_steps=1),\n",
        _KIP_RUNS,
    ),
    Mutant(
        "DP-KIP's seeded noise is not noted",
        _PLAN,
        "seeded_noise=self.settings.noise_seed is not None,",
        "seeded_noise=False,",
        _KIP_RUNS,
    ),
    Mutant(
        "the embedding is released without noise",
        _NTK_PLAN,
        "            self.releases,\n            num_examples",
        "            tuple(dataclasses.replace(one, stddev=0.0) for one in self.releases),\n"
        "            num_examples",
        _NTK_RUNS,
    ),
    Mutant(
        "the embedding is calibrated to another budget",
        _NTK_PLAN,
        "bounds, target_epsilon=settings.eps,",
        "bounds, target_epsilon=1.1 * settings.eps,",
        _NTK_RUNS,
    ),
    Mutant(
        "sensitivities are those of more examples",
        _NTK_PLAN,
        "dp_ntk.sensitivities(features, len(data.x_train), class_weights",
        "dp_ntk.sensitivities(features, 2 * len(data.x_train), class_weights",
        _NTK_RUNS,
    ),
    Mutant(
        "the generator's seeded noise is not noted",
        _NTK_PLAN,
        "seeded_noise=self.settings.noise_seed is not None,",
        "seeded_noise=False,",
        _NTK_RUNS,
    ),
    Mutant(
        "class means are released exactly",
        _TEACHER_PLAN,
        "noise_multiplier=self.means_multiplier,",
        "noise_multiplier=0.0 * self.means_multiplier,",
        _MEANS_RUN,
    ),
    Mutant(
        "class means are not accounted",
        _TEACHER_PLAN,
        "for noise in (self.means_multiplier, earlier) if noise",
        "for noise in (earlier,) if noise",
        _MEANS_RUN,
    ),
    Mutant(
        "the teacher leaves class means no budget",
        _MECHANISMS,
        "also = tuple(noise for noise in (earlier, multiplier) if noise is not None)",
        "also = ()",
        _MEANS_RUN,
    ),
    Mutant(
        "the teacher is trained by a stale mechanism",
        _TEACHER_PLAN,
        "return teacher.dp_teacher(self.mechanism, config)",
        "return teacher.dp_teacher(\n"
        "            dataclasses.replace(self.mechanism, noise_multiplier=0.3), config\n"
        "        )",
        _TEACHER_RUNS,
    ),
    Mutant(
        "the teacher's seeded noise is not noted",
        _TEACHER_PLAN,
        "seeded_noise=self.settings.noise_seed is not None\n",
        "seeded_noise=False\n",
        _TEACHER_RUNS,
    ),
    Mutant(
        "seeded noise of generated images is forgotten",
        _TEACHER_PLAN,
        'or bool(beside and beside["seeded_noise"]),',
        "or False,",
        (f"{_D}test_guarantee_what_speaks_against_images_speaks_against_what_is_made_of_them",),
    ),
    Mutant(
        "an objection to generated images is forgotten",
        _TEACH,
        'objection = plan.synthetic.certificate["objection"]',
        "objection = None",
        (f"{_D}test_guarantee_what_speaks_against_images_speaks_against_what_is_made_of_them",),
    ),
    Mutant(
        "generated images are not accounted beside a teacher",
        _TEACHER_PLAN,
        "earlier = None if self.synthetic is None else self.synthetic.noise_multiplier\n"
        "        return tuple",
        "earlier = None\n        return tuple",
        (f"{_D}test_guarantee_what_speaks_against_images_speaks_against_what_is_made_of_them",),
    ),
    Mutant(
        "class means are released again on resumption",
        _TEACH,
        "        if path.exists():\n            return teacher_file.read(path)",
        "        if path.exists() and plan.means_multiplier is None:\n"
        "            return teacher_file.read(path)",
        (f"{_D}test_guarantee_a_resumed_run_takes_the_teacher_and_means_that_were_released",),
    ),
    Mutant(
        "the embedding is released again on resumption",
        _GENERATE,
        "if (self._folder.path / released_file.NAME).exists():",
        "if self._plan.reused is not None and (self._folder.path / released_file.NAME).exists():",
        (f"{_D}test_guarantee_a_resumed_run_takes_the_embedding_that_was_released",),
    ),
    Mutant(
        "the generator is trained on another release than the stored one",
        _GENERATE,
        "            released,\n            feature_config",
        "            self._plan.release(),\n            feature_config",
        (f"{_D}test_guarantee_an_embedding_is_released_once_and_stored",),
    ),
    Mutant(
        "DP-KIP repeats steps that it has released",
        _DISTILL,
        "            self._log.require_step(self._step)\n",
        "            pass\n",
        (f"{_D}test_guarantee_released_steps_are_not_made_again[dp_kip]",),
    ),
    Mutant(
        "the teacher repeats steps that it has released",
        _TEACH,
        "                self._log.require_step(int(state.step))\n",
        "                pass\n",
        (f"{_D}test_guarantee_released_steps_are_not_made_again[dp_kip_teacher]",),
    ),
    Mutant(
        "DP-KIP takes no note of released steps",
        _DISTILL,
        "with self._log.saving(self._step):",
        "with self._log.saving(0):",
        (f"{_D}test_guarantee_nothing_private_is_written_beside_releases[dp_kip]",),
    ),
    Mutant(
        "the teacher takes no note of released steps",
        _TEACH,
        "with self._log.saving(step):",
        "with self._log.saving(0):",
        (f"{_D}test_guarantee_nothing_private_is_written_beside_releases[dp_kip_teacher]",),
    ),
    Mutant(
        "DP-KIP makes damaged steps again",
        _DISTILL,
        "repeatable = settings.noise_seed is not None or not plan.mechanism.is_private",
        "repeatable = True",
        (f"{_D}test_guarantee_private_steps_are_not_repeatable[dp_kip]",),
    ),
    Mutant(
        "the teacher makes damaged steps again",
        _TEACH,
        "repeatable = plan.settings.noise_seed is not None or not plan.mechanism.is_private",
        "repeatable = True",
        (f"{_D}test_guarantee_private_steps_are_not_repeatable[dp_kip_teacher]",),
    ),
    Mutant(
        "a damaged checkpoint is passed over",
        "experiments/runs/checkpoints.py",
        "                if not self.repeatable:\n",
        "                if not steps:\n",
        (f"{_D}test_guarantee_a_damaged_checkpoint_ends_a_private_run",),
    ),
    Mutant(
        "a run goes on under another ledger",
        _START,
        '            _require_same_ledger(folder, stored["ledger"], config["ledger"])\n',
        "            pass\n",
        (f"{_D}test_guarantee_a_run_goes_on_with_the_numbers_it_started_with",),
    ),
    Mutant(
        "an old run goes on with new noise",
        _START,
        'if not (folder.read_json("metrics.json") or {}).get("finished"):',
        'if folder.read_json("metrics.json") is None:',
        (f"{_D}test_guarantee_an_unfinished_run_without_a_ledger_does_not_go_on",),
    ),
    Mutant(
        "a run goes on with other settings",
        "experiments/runs/folder.py",
        "            if stored.get(key) != value:\n",
        "            if key not in stored:\n",
        (f"{_D}test_guarantee_a_run_goes_on_with_the_numbers_it_started_with",),
    ),
    Mutant(
        "a subset depends on how many records there are",
        "experiments/data/load.py",
        'np.argsort(np.random.default_rng(stream).random(len(x)), kind="stable")[:size]',
        "np.random.default_rng(stream).permutation(len(x))[:size]",
        (
            "tests/data/test_load.py::test_guarantee_without_its_last_example_a_subset_differs_in_one",
        ),
    ),
    Mutant(
        "the teacher's features are centred by the private mean",
        _TEACH,
        'plan.features(plan.data.x_train, description="features, training split")\n',
        'plan.features(plan.data.x_train, description="features, training split")\n'
        "            - plan.features(plan.data.x_train, description='').mean(axis=0)\n",
        (f"{_D}test_guarantee_a_record_changes_its_own_features_alone[dp_kip_teacher]",),
    ),
    Mutant(
        "DP-KIP's features are centred by the private mean",
        _PLAN,
        'return self._features(rows, "features of the training split")',
        'found = self._features(rows, "features of the training split")\n'
        "            return found - jnp.mean(found, axis=0)",
        (f"{_D}test_guarantee_a_record_changes_its_own_features_alone[dp_kip]",),
    ),
)
