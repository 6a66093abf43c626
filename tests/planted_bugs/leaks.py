"""Bugs of what files and logs tell: counts, statistics and private records."""

from planted_bugs.mutant import Mutant

_BESIDE = "tests/runs/test_what_is_written.py::"
_WRITTEN = f"{_BESIDE}test_guarantee_nothing_private_is_written_beside_releases"
_COMPARED = "tests/test_check_fidelity.py::test_guarantee_a_comparison_changes_nothing_that_leaves"
_F = "tests/runs/test_rows.py::"
_FOLDER, _SIZE = "tests/data/test_image_folder.py::", "tests/data/test_image_size.py::"
_FORMATS = "tests/data/test_image_formats.py::"
_DRIVER, _TEACHER = "jaxdp/program/runs/driver.py", "jaxdp/methods/teacher/release.py"

MUTANTS = (
    Mutant(
        "class counts in the metrics",
        _DRIVER,
        "        self._test_rows: np.ndarray | None = None\n",
        "        self._test_rows: np.ndarray | None = None\n"
        '        self._metrics["classes"] = np.bincount(data.private.y).tolist()\n',
        (f"{_WRITTEN}[dp_kip]",),
    ),
    Mutant(
        "a mean of the data in the configuration",
        _DRIVER,
        'facts = {"data_source": data.source} | _facts(plan, run_flags)',
        'facts = {"mean": float(data.private.x.mean())} | _facts(plan, run_flags)',
        (f"{_WRITTEN}[dp_kip]",),
    ),
    Mutant(
        "bounds of the data for public ones",
        "jaxdp/program/data/load.py",
        "        codec=codec,\n",
        "        codec=dataclasses.replace(codec, high=float(x_train.max())),\n",
        (f"{_WRITTEN}[dp_kip]",),
    ),
    Mutant(
        "training images for first ones",
        "jaxdp/methods/dp_kip/plan.py",
        "            state=jax.jit(self._initial_state)(self._public_key),\n",
        "            state=self.kip.init(\n"
        "                self._initial_state(self._public_key).support._replace(\n"
        "                    x=jnp.asarray(private.rows[: self.story.num_made], jnp.float32)\n"
        "                )\n"
        "            ),\n",
        (f"{_WRITTEN}[dp_kip]",),
    ),
    Mutant(
        "a training loss on the terminal",
        "jaxdp/methods/dp_kip/release.py",
        "    return SupportSet(last.average, last.support.y)\n",
        '    print(f"loss {float(jnp.mean(rows @ last.average.T)):.3g}")\n'
        "    return SupportSet(last.average, last.support.y)\n",
        (f"{_WRITTEN}[dp_kip]",),
    ),
    Mutant(
        "exact class shares for synthetic labels",
        "jaxdp/methods/dp_ntk/plan.py",
        "        return jax.block_until_ready(released)\n",
        "        shares = np.bincount(private.y, minlength=self.num_classes) / len(private.y)\n"
        "        return released._replace(class_weights=jax.numpy.asarray(shares))\n",
        (f"{_WRITTEN}[dp_ntk]",),
    ),
    Mutant(
        "class counts beside the generator",
        _DRIVER,
        "            generator_file.write(folder, made.generator)\n",
        "            generator_file.write(folder, made.generator)\n"
        "            counts = np.bincount(self._data.private.y).tolist()\n"
        '            folder.write_json("generator/classes.json", {"classes": counts})\n',
        (f"{_WRITTEN}[dp_ntk]",),
    ),
    Mutant(
        "distances to training images in the run's folder",
        "jaxdp/program/runs/folder.py",
        'return path.with_name(f"{path.name}.not_for_release")',
        'return path / "not_for_release"',
        (f"{_WRITTEN}[dp_ntk]",),
    ),
    Mutant(
        "distances to training images for everybody",
        "jaxdp/program/runs/folder.py",
        "        self.not_for_release.mkdir(mode=0o700, exist_ok=True)\n"
        "        self.not_for_release.chmod(0o700)",
        "        self.not_for_release.mkdir(exist_ok=True)\n"
        "        self.not_for_release.chmod(0o755)",
        (f"{_WRITTEN}[dp_ntk]",),
    ),
    Mutant(
        "a comparison with private records in the run's folder",
        "jaxdp/program/runs/judging.py",
        'folder.write_not_for_release("fidelity.json"',
        'folder.write_bytes("fidelity.json"',
        (_COMPARED,),
    ),
    Mutant(
        "a distance to private records on the terminal",
        "jaxdp/program/runs/judging.py",
        "    text = json.dumps(comparison.figures(found)",
        "    print(found.compared)\n    text = json.dumps(comparison.figures(found)",
        (_COMPARED,),
    ),
    Mutant(
        "a statistic of private features on the terminal",
        _TEACHER,
        "    return np.asarray(state.result), view\n",
        '    print(f"largest feature {float(np.max(features)):.9g}")\n'
        "    return np.asarray(state.result), view\n",
        (f"{_WRITTEN}[dp_kip_teacher]",),
    ),
    Mutant(
        "a training accuracy in the teacher's metrics",
        _DRIVER,
        "            metrics[plan.story.released_metric] = self._accuracy(result)\n",
        "            metrics[plan.story.released_metric] = self._accuracy(result)\n"
        '            own = plan.rows(self._data.private.rows, self._runner, "")\n'
        '            metrics["fit"] = float((own @ result.weights).mean())\n',
        (f"{_WRITTEN}[dp_kip_teacher]",),
    ),
    Mutant(
        "first images from a seed that the labels make",
        _DRIVER,
        "    ready = checked(method, settings, run_flags, data.spec)\n",
        '    settings = type(settings)(**vars(settings) | {"seed": int(data.private.y.sum())})\n'
        "    ready = checked(method, settings, run_flags, data.spec)\n",
        (f"{_WRITTEN}[dp_kip_teacher]",),
    ),
    Mutant(
        "every step logs its batch size",
        "jaxdp/privacy/dp_sgd.py",
        "    noisy_sum = add_gaussian_noise",
        '    jax.debug.print("batch of {}", sample.size)\n    noisy_sum = add_gaussian_noise',
        ("tests/privacy/test_dp_sgd.py::test_guarantee_steps_say_nothing",),
    ),
    Mutant(
        "scaling by the mean of the data",
        "jaxdp/program/data/load.py",
        "codec = _codec(name, raw, x_train.dtype, wanted.bits)",
        "codec = dataclasses.replace(FLOATS, shift=float(x_train.mean()))",
        ("tests/data/test_npz.py::test_npz_of_scaled_rows",),
    ),
    Mutant(
        "names of cached features are hashes of private data",
        "jaxdp/program/runs/rows.py",
        "hmac.new(self.secret, json.dumps(what",
        'hmac.new(b"", json.dumps(what',
        (f"{_F}test_guarantee_names_of_files_tell_nothing_about_the_data",),
    ),
    Mutant(
        "everybody can read cached features",
        "jaxdp/program/runs/rows.py",
        "new_files.opened(temporary, mode=0o600)",
        "new_files.opened(temporary, mode=0o644)",
        (f"{_F}test_guarantee_kept_features_are_for_their_owner_alone",),
    ),
    Mutant(
        "the range of images of 16 bits is that of the data",
        "jaxdp/program/data/load.py",
        "raw.value_range or (limits.min, limits.max)",
        "raw.value_range or (limits.min, raw.x_train.max())",
        (f"{_FORMATS}test_guarantee_the_range_of_16_bits_is_that_of_the_type",),
    ),
    Mutant(
        "images are resized after the mean image is taken off",
        "jaxdp/program/data/resizing.py",
        "        found[number] = resized(image, size)\n",
        "        mean = images.mean(axis=0).astype(image.dtype)\n"
        "        found[number] = resized(image - mean, size)\n",
        (f"{_SIZE}test_guarantee_a_resized_image_depends_on_itself_alone",),
    ),
    Mutant(
        "images of a folder keep the values of the first one",
        "jaxdp/program/data/image_stack.py",
        "resized(found[1].pixels, target)",
        "np.minimum(resized(found[1].pixels, target), first[1].pixels.max() // 2)",
        (f"{_SIZE}test_guarantee_an_image_of_a_folder_is_resized_by_itself",),
    ),
    Mutant(
        "one image of another size has all others resized",
        "jaxdp/program/data/resizing.py",
        "        if others < 2:\n            return None if others else",
        "        if others < 1:\n            return None if others else",
        (f"{_SIZE}test_guarantee_no_one_image_decides_on_the_size_of_all",),
    ),
    Mutant(
        "a person with several images has all others resized",
        "jaxdp/program/data/resizing.py",
        "len(np.unique(owners[np.any(sizes != small, axis=1)]))",
        "np.sum(np.any(sizes != small, axis=1))",
        (f"{_SIZE}test_guarantee_no_one_person_decides_on_the_size_of_all",),
    ),
    Mutant(
        "a folder in which one image has another size is taken",
        "jaxdp/program/data/image_stack.py",
        "    if odd is not None and not wanted.size.asked:\n",
        "    if odd is not None and wanted.size.asked:\n",
        (f"{_SIZE}test_guarantee_one_image_of_another_size_is_refused",),
    ),
    Mutant(
        "one image moves the places that all others are held out by",
        "jaxdp/program/data/splits.py",
        'f"{salt}/{each}".encode(errors="surrogateescape")',
        'f"{salt}/{names.index(each)}".encode()',
        (f"{_FOLDER}test_guarantee_another_image_changes_one_training_image_at_most",),
    ),
    Mutant(
        "labels decide which examples of a pair are held out",
        "jaxdp/program/data/array_files.py",
        "places = [str(place) for place in range(len(x))]",
        "places = [f'{label} {place}' for place, label in enumerate(y)]",
        (
            "tests/data/test_usual_arrays.py::"
            "test_guarantee_which_examples_are_held_out_depends_on_their_places_alone",
        ),
    ),
    Mutant(
        "one example moves the places that all others of shards are held out by",
        "jaxdp/program/data/tfds_data.py",
        "names = [_digest(each) for _, each in",
        "names = [str(place) for place, _ in",
        (
            "tests/data/test_tfds.py::"
            "test_guarantee_of_own_prepared_data_one_record_changes_one_training_record",
        ),
    ),
    Mutant(
        "one image moves the places that a subset of all others is chosen by",
        "jaxdp/program/data/image_folder.py",
        "names=[str(path.relative_to(folder)) for path, _ in files[0]],",
        "names=None,",
        (f"{_FOLDER}test_guarantee_another_image_changes_one_of_a_subset_at_most",),
    ),
    Mutant(
        "a subset by name depends on how many records there are",
        "jaxdp/program/data/load.py",
        'f"subset/{seed}")[:size])',
        'f"subset/{seed}/{len(names)}")[:size])',
        (
            "tests/data/test_load.py::"
            "test_guarantee_who_is_in_a_subset_by_name_depends_on_names_and_the_seed_alone",
        ),
    ),
    Mutant(
        "one person moves the places that a subset of all others is chosen by",
        "jaxdp/program/data/load.py",
        "        told = (np.arange(len(x_train)).astype(str) if told is None else told)[used]\n",
        "",
        (
            "tests/test_own_persons.py::"
            "test_guarantee_another_person_changes_one_person_of_a_subset_at_most[npz]",
        ),
    ),
    Mutant(
        "classes without images are named",
        "jaxdp/program/data/image_folder.py",
        "{each.name for each in _class_folders(split)}",
        "{each.name for each in _class_folders(split) if any(each.iterdir())}",
        (f"{_FOLDER}test_guarantee_whether_a_class_folder_is_empty_is_not_said",),
    ),
    Mutant(
        "what is left out is counted by class",
        "jaxdp/program/data/image_folder.py",
        "                left_out[_ending(path)] += 1\n",
        "                left_out[class_name] += 1\n",
        (f"{_FOLDER}test_what_is_left_out_is_said_by_ending_and_of_no_class",),
    ),
)
