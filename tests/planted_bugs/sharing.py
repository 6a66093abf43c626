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
_P = "tests/devices/test_parts_of_processes.py::"
_PARTS = (f"{_P}test_guarantee_every_row_belongs_to_one_process",)
_OWN = (f"{_P}test_guarantee_every_method_takes_its_own_rows_alone",)

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
        "jaxdp/program/runs/generated_images.py",
        "certificate=images.certificate | {BESIDE: [images.digest]}",
        "certificate=stored.certificate | {BESIDE: [images.digest]}",
        (f"{_L}test_guarantee_a_teacher_of_untied_images_is_not_releasable",),
    ),
    Mutant(
        "a labelled run's embedding leaves a budget to another teacher",
        "jaxdp/program/runs/generated_images.py",
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
    Mutant(
        "rows of two processes overlap by one",
        _PROCESSES,
        "min((max(here) + 1) * size, num_rows))",
        "min((max(here) + 1) * size + 1, num_rows))",
        _PARTS,
    ),
    Mutant(
        "every process takes all rows",
        _PROCESSES,
        "return slice(min(here) * size, min((max(here) + 1) * size, num_rows))",
        "return slice(0, num_rows)",
        _PARTS,
    ),
    Mutant(
        "processes have parts by their number, whatever their devices",
        _PROCESSES,
        "    here = [order.index(device) for device in jax.local_devices()]\n",
        "    here = [jax.process_index(), jax.process_index() + jax.local_device_count() - 1]\n",
        _PARTS,
    ),
    Mutant(
        "labels are those of another process's rows",
        "jaxdp/methods/teacher/release.py",
        "devices.by_rows(rows, n), devices.by_rows(private.y[own], n)",
        "devices.by_rows(rows, n), devices.by_rows(private.y[: len(rows)], n)",
        _OWN,
    ),
    Mutant(
        "every process sums the class means of all rows",
        "jaxdp/methods/teacher/release.py",
        "        private.rows[own],\n        private.y[own],\n",
        "        private.rows,\n        private.y,\n",
        _OWN,
    ),
    Mutant(
        "every process sums the embedding of all rows",
        "jaxdp/methods/dp_ntk/release.py",
        "own, y = processes.own_part(n), private.y",
        "own, y = slice(0, n), private.y",
        _OWN,
    ),
    Mutant(
        "rows of a process have the labels of the first one's",
        "jaxdp/methods/dp_kip/release.py",
        "devices.by_rows(mapped, n), devices.by_rows(private.y[own], n)",
        "devices.by_rows(mapped, n), devices.by_rows(private.y[: len(mapped)], n)",
        _OWN,
    ),
    Mutant(
        "large private arrays stay on the disk when a program has ended",
        "jaxdp/large_arrays.py",
        "with tempfile.TemporaryFile(dir=folder) as file:",
        "with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:",
        ("tests/data/test_large_arrays.py::test_images_are_those_in_memory_and_leave_no_file",),
    ),
    Mutant(
        "everybody can read the secret that names cached features",
        "jaxdp/program/runs/rows.py",
        "new_files.write_part(temporary, os.urandom(32), mode=0o600)",
        "new_files.write_part(temporary, os.urandom(32), mode=0o644)",
        ("tests/runs/test_rows.py::test_guarantee_names_of_files_tell_nothing_about_the_data",),
    ),
    Mutant(
        "everybody can list cached features",
        "jaxdp/program/runs/rows.py",
        "path.mkdir(mode=0o700, parents=True, exist_ok=True)",
        "path.mkdir(parents=True, exist_ok=True)",
        ("tests/runs/test_rows.py::test_guarantee_names_of_files_tell_nothing_about_the_data",),
    ),
    Mutant(
        "cached features of other rows of the same shape are used",
        "jaxdp/program/runs/rows.py",
        "        digest.update(np.ascontiguousarray(rows).data)\n",
        "",
        (
            "tests/runs/test_rows.py::"
            "test_guarantee_kept_features_of_other_rows_are_not_taken_for_these",
        ),
    ),
)
