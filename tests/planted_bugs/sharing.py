"""Bugs of runs that devices or processes share: coins, noise and keys."""

from planted_bugs.mutant import Mutant

_DEVICES, _PROCESSES = "jaxdp/devices.py", "jaxdp/processes.py"
_STEP, _T = "jaxdp/privacy/dp_sgd.py", "tests/devices/test_sharing.py::"
_NOISE = (f"{_T}test_guarantee_noise_is_added_once_by_all_devices_together",)
_COINS = (f"{_T}test_guarantee_every_example_has_its_own_coin_whatever_devices_there_are",)
_S = "tests/devices/test_stored_rows.py::"
_STORED = tuple(
    f"{_S}test_guarantee_{name}_draws_and_clips_the_same_rows_from_a_file"
    for name in ("a_teacher", "dp_kip")
)
_L = "tests/test_teach_labelled.py::"

MUTANTS = (
    Mutant(
        "rows in a file are others than those that were drawn",
        _DEVICES,
        "np.minimum(np.asarray(indices), len",
        "np.minimum(np.sort(np.asarray(indices)) // 2, len",
        _STORED,
    ),
    Mutant(
        "every device reads the rows of the first one from a file",
        "jaxdp/devices.py",
        "like, indices + self._first())",
        "like, indices)",
        (
            "tests/devices/test_sharing.py::"
            "test_guarantee_every_device_reads_its_own_rows_from_a_file",
        ),
    ),
    Mutant(
        "a labelled run's teacher is certified whatever its images are",
        "experiments/runs/generated_images.py",
        "certificate=images.certificate | {BESIDE: [images.digest]}",
        "certificate=stored.certificate | {BESIDE: [images.digest]}",
        (f"{_L}test_guarantee_a_teacher_of_untied_images_is_not_releasable",),
    ),
    Mutant(
        "a labelled run's embedding leaves a budget to another teacher",
        "experiments/runs/generated_images.py",
        "noise_multiplier=0.0 if has_teacher else _multiplier(certificate, folder)",
        "noise_multiplier=1e9 if has_teacher else _multiplier(certificate, folder)",
        (f"{_L}test_guarantee_images_without_noise_leave_no_budget_to_another_teacher",),
    ),
    Mutant(
        "every device adds noise of its own",
        _STEP,
        "total = clipped.assemble(devices.summed(parts))",
        "own = jax.random.fold_in(noise_key, 9)\n"
        "    noisy = add_gaussian_noise(own, clipped.assemble(parts), stddev=mechanism.stddev)\n"
        "    total = devices.summed(noisy)",
        _NOISE,
    ),
    Mutant(
        "noise is shared out like the rows",
        _STEP,
        "stddev=mechanism.stddev)",
        "stddev=mechanism.stddev / devices.num_shards() ** 0.5)",
        _NOISE,
    ),
    Mutant(
        "coins of one device are those of the next, too",
        _DEVICES,
        "jax.lax.axis_index(ROWS) * size, size)",
        "jax.lax.axis_index(ROWS) * (size - 1), size)",
        _COINS,
    ),
    Mutant(
        "sums of the other devices are left out",
        _DEVICES,
        "return tree if num_shards() == 1 else jax.lax.psum(tree, ROWS)",
        "return tree",
        _COINS,
    ),
    Mutant(
        "every process draws a key of its own",
        _PROCESSES,
        "words = told(np.asarray(jax.random.key_data(key)))",
        "words = np.asarray(jax.random.key_data(key))",
        ("tests/devices/test_processes.py::test_guarantee_processes_release_what_one_does",),
    ),
)
