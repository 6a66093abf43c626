"""Bugs of the driver and of plans: keys, mechanisms, budgets."""

from planted_bugs.mutant import Mutant

_DRIVER, _PYTHON = "jaxdp/program/runs/driver.py", "jaxdp/methods/runner.py"
_KIP_PLAN, _NTK_PLAN = "jaxdp/methods/dp_kip/plan.py", "jaxdp/methods/dp_ntk/plan.py"
_TEACHER_PLAN, _MECHANISMS = (
    "jaxdp/methods/teacher/plan.py",
    "jaxdp/methods/teacher/mechanisms.py",
)
_TEACHER_RELEASE = "jaxdp/methods/teacher/release.py"
_KEYS = "tests/runs/test_keys_and_noise.py::"
_R = "tests/test_runners.py::"
_SEED = f"{_KEYS}test_guarantee_the_public_seed_makes_no_noise"
_KIP_RUNS = (f"{_KEYS}test_guarantee_dp_kip_runs_what_it_accounts",)
_NTK_RUNS = (f"{_KEYS}test_guarantee_a_generating_run_releases_what_it_accounts",)
_TEACHER_RUNS = (f"{_KEYS}test_guarantee_a_teacher_is_trained_as_accounted",)
_MEANS_RUN = (f"{_KEYS}test_guarantee_class_means_have_the_noise_that_is_accounted",)
_IMAGES = f"{_KEYS}test_guarantee_what_speaks_against_images_speaks_against_what_is_made_of_them"

MUTANTS = (
    Mutant(
        "a run's noise is keyed by the public seed",
        _DRIVER,
        "private_key(self._plan.settings.noise_seed)",
        "private_key(self._plan.settings.seed)",
        (f"{_SEED}[dp_kip]", f"{_SEED}[dp_ntk]", f"{_SEED}[dp_kip_teacher]"),
    ),
    Mutant(
        "a run without a seed of noise has that of seed 0",
        _DRIVER,
        "private_key(self._plan.settings.noise_seed)",
        "private_key(self._plan.settings.noise_seed or 0)",
        (f"{_SEED}[dp_kip]", f"{_SEED}[dp_ntk]", f"{_SEED}[dp_kip_teacher]"),
    ),
    Mutant(
        "noise of a run from Python is keyed by the public seed",
        _PYTHON,
        "private_key(complete.noise_seed)",
        "private_key(complete.seed)",
        (f"{_R}test_guarantee_the_public_seed_makes_no_noise",),
    ),
    Mutant(
        "a run from Python takes data of another size than it accounts",
        _PYTHON,
        "    private = checked(private, spec)\n",
        "",
        (f"{_R}test_guarantee_data_of_another_size_than_accounted_are_refused",),
    ),
    Mutant(
        "class means have the key of the teacher",
        _TEACHER_RELEASE,
        "_class_means(private, means_key, runner, spec, means)",
        "_class_means(private, teacher_key, runner, spec, means)",
        (f"{_KEYS}test_guarantee_teacher_and_class_means_have_keys_of_their_own",),
    ),
    Mutant(
        "DP-KIP runs with less noise than it accounts",
        _KIP_PLAN,
        "kip=algorithm.dp_kip(kernel, mechanism, config),",
        "kip=algorithm.dp_kip(\n"
        "            kernel,\n"
        "            dataclasses.replace(\n"
        "                mechanism, noise_multiplier=mechanism.noise_multiplier / 2\n"
        "            ),\n"
        "            config,\n"
        "        ),",
        _KIP_RUNS,
    ),
    Mutant(
        "DP-KIP accounts half its steps",
        _KIP_PLAN,
        "steps=self.mechanism, accountant",
        "steps=dataclasses.replace(self.mechanism, num_steps=1), accountant",
        _KIP_RUNS,
    ),
    Mutant(
        "seeded noise is not noted",
        "jaxdp/methods/base.py",
        "seeded_noise=self.settings.noise_seed is not None,",
        "seeded_noise=False,",
        (f"{_KEYS}test_guarantee_seeded_noise_is_noted",),
    ),
    Mutant(
        "the embedding is released without noise",
        _NTK_PLAN,
        "            self.releases,\n            num_classes",
        "            tuple(dataclasses.replace(one, stddev=0.0) for one in self.releases),\n"
        "            num_classes",
        _NTK_RUNS,
    ),
    Mutant(
        "the embedding is calibrated to another budget",
        "jaxdp/methods/bought_schema.py",
        "            target_epsilon=settings.eps,\n",
        "            target_epsilon=1.1 * settings.eps,\n",
        _NTK_RUNS,
    ),
    Mutant(
        "sensitivities are those of more examples",
        _NTK_PLAN,
        "features, spec.num_examples, class_weights=share > 0",
        "features, 2 * spec.num_examples, class_weights=share > 0",
        _NTK_RUNS,
    ),
    Mutant(
        "class means are released exactly",
        _TEACHER_PLAN,
        "return releasing.Means(features, noise)",
        "return releasing.Means(features, 0.0 * noise)",
        _MEANS_RUN,
    ),
    Mutant(
        "class means are not accounted",
        _MECHANISMS,
        "        beside = (*beside, means)\n",
        "",
        _MEANS_RUN,
    ),
    Mutant(
        "the teacher leaves class means no budget",
        _MECHANISMS,
        "steps = calibrated(settings, spec, steps, also=beside)",
        "steps = calibrated(settings, spec, steps)",
        _MEANS_RUN,
    ),
    Mutant(
        "the teacher is trained by a stale mechanism",
        _TEACHER_PLAN,
        "return releasing.Training(steps, config,",
        "stale = dataclasses.replace(steps, noise_multiplier=0.3)\n"
        "        return releasing.Training(stale, config,",
        _TEACHER_RUNS,
    ),
    Mutant(
        "seeded noise of generated images is forgotten",
        _TEACHER_PLAN,
        'seeded_noise=own.seeded_noise or before["seeded_noise"],',
        "",
        (_IMAGES,),
    ),
    Mutant(
        "flawed noise of generated images is forgotten",
        _TEACHER_PLAN,
        'noise=worst_noise(own.noise, before["noise"]),',
        "",
        ("tests/test_teach_means.py::test_images_of_unsafe_releases_make_nothing_releasable",),
    ),
    Mutant(
        "an objection to generated images is forgotten",
        _TEACHER_PLAN,
        'objection=None if images is None else images.certificate["objection"]',
        "objection=None",
        (_IMAGES,),
    ),
    Mutant(
        "generated images are not accounted beside a teacher",
        _MECHANISMS,
        "        beside = (*beside, spent)\n",
        "        beside = ()\n",
        (_IMAGES,),
    ),
    Mutant(
        "a subset depends on how many records there are",
        "jaxdp/program/data/load.py",
        'np.argsort(np.random.default_rng(stream).random(num), kind="stable")[:size]',
        "np.random.default_rng(stream).permutation(num)[:size]",
        (
            "tests/data/test_load.py::test_guarantee_without_its_last_example_a_subset_differs_in_one",
        ),
    ),
    Mutant(
        "the teacher's features are centred by the private mean",
        _TEACHER_RELEASE,
        "    features, labels = devices.by_rows(rows, n), devices.by_rows(private.y[own], n)\n",
        "    rows = rows - rows.mean(axis=0)\n"
        "    features, labels = devices.by_rows(rows, n), devices.by_rows(private.y[own], n)\n",
        (f"{_KEYS}test_guarantee_a_record_changes_its_own_features_alone[dp_kip_teacher]",),
    ),
    Mutant(
        "DP-KIP's features are centred by the private mean",
        "jaxdp/methods/dp_kip/release.py",
        "    rows, labels = devices.by_rows(mapped, n), devices.by_rows(private.y[own], n)\n",
        "    mapped = mapped - mapped.mean(axis=0)\n"
        "    rows, labels = devices.by_rows(mapped, n), devices.by_rows(private.y[own], n)\n",
        (f"{_KEYS}test_guarantee_a_record_changes_its_own_features_alone[dp_kip]",),
    ),
)
