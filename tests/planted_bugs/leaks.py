"""Leaks of counts, statistics and private records into files and logs."""

from planted_bugs.mutant import Mutant

_D = "tests/test_driver_guarantees.py::"
_WRITTEN = f"{_D}test_guarantee_nothing_private_is_written_beside_releases"
_F = "tests/runs/test_rows.py::"

MUTANTS = (
    Mutant(
        "class counts in the metrics",
        "experiments/runs/distill.py",
        '            "train_seconds": 0.0,\n',
        '            "train_seconds": 0.0,\n'
        '            "classes": np.bincount(self._plan.data.y_train).tolist(),\n',
        (f"{_WRITTEN}[dp_kip]",),
    ),
    Mutant(
        "a mean of the data in the configuration",
        "experiments/plan.py",
        '            "eval_every": self.eval_every,\n',
        '            "eval_every": self.eval_every,\n'
        '            "mean": float(self.data.x_train.mean()),\n',
        (f"{_WRITTEN}[dp_kip]",),
    ),
    Mutant(
        "bounds of the data for public ones",
        "experiments/plan.py",
        "    return data.scaling.bounds\n",
        "    low, high = data.x_train.min(), data.x_train.max()\n"
        "    scaled = ((float(z) - data.scaling.shift) / data.scaling.scale for z in (low, high))\n"
        "    return tuple(scaled)\n",
        (f"{_WRITTEN}[dp_kip]",),
    ),
    Mutant(
        "training images for first ones",
        "experiments/plan.py",
        "        return self.kip.init(support)\n",
        "        first = _flat(self.data.x_train)[: len(support.x)].astype(np.float32)\n"
        "        return self.kip.init(support._replace(x=jnp.asarray(first)))\n",
        (f"{_WRITTEN}[dp_kip]",),
    ),
    Mutant(
        "a training loss on the terminal",
        "experiments/runs/distill.py",
        '        self._metrics["krr_test_accuracy"] = accuracy\n',
        '        self._metrics["krr_test_accuracy"] = accuracy\n'
        "        scores = self._plan.row_fn(self._plan.targets) @ self._state.average.T\n"
        '        print(f"loss {float(jnp.mean(scores)):.3g}", file=sys.stderr)\n',
        (f"{_WRITTEN}[dp_kip]",),
    ),
    Mutant(
        "exact class shares for synthetic labels",
        "experiments/runs/generate.py",
        "            np.asarray(self._released.class_weights),\n",
        "            np.bincount(plan.data.y_train, minlength=plan.num_classes),\n",
        (f"{_WRITTEN}[dp_ntk]",),
    ),
    Mutant(
        "class counts beside the generator",
        "experiments/runs/generate.py",
        '        "code_dim": plan.hyper.code_dim,\n',
        '        "code_dim": plan.hyper.code_dim,\n'
        '        "classes": np.bincount(plan.data.y_train).tolist(),\n',
        (f"{_WRITTEN}[dp_ntk]",),
    ),
    Mutant(
        "distances to training images in the run's folder",
        "experiments/runs/folder.py",
        'return self.path.with_name(f"{self.path.name}.not_for_release")',
        'return self.path / "not_for_release"',
        (f"{_WRITTEN}[dp_ntk]",),
    ),
    Mutant(
        "distances to training images for everybody",
        "experiments/runs/generate.py",
        "folder.not_for_release.mkdir(mode=0o700, exist_ok=True)",
        "folder.not_for_release.mkdir(exist_ok=True)",
        (f"{_WRITTEN}[dp_ntk]",),
    ),
    Mutant(
        "a statistic of private features on the terminal",
        "experiments/runs/teach.py",
        "        weights = np.asarray(state.average)\n",
        "        weights = np.asarray(state.average)\n"
        '        print(f"features of mean {float(jnp.mean(features)):.4g}")\n',
        (f"{_WRITTEN}[dp_kip_teacher]",),
    ),
    Mutant(
        "a training accuracy in the teacher's metrics",
        "experiments/runs/teach.py",
        "                weights = jnp.asarray(released.weights)\n",
        "                weights = jnp.asarray(released.weights)\n"
        '                own = self._plan.features(self._plan.data.x_train, description="")\n'
        '                self._metrics["fit"] = float((own @ np.asarray(weights)).mean())\n',
        (f"{_WRITTEN}[dp_kip_teacher]",),
    ),
    Mutant(
        "first images from a seed that the labels make",
        "experiments/teacher_distillation.py",
        "        jax.random.key(plan.settings.seed),\n",
        "        jax.random.key(int(plan.data.y_train.sum())),\n",
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
        "experiments/data/load.py",
        "if is_bytes else _FLOAT_SCALING,",
        "if is_bytes else dataclasses.replace(_FLOAT_SCALING, shift=float(x_train.mean())),",
        ("tests/data/test_npz.py::test_npz_of_scaled_rows",),
    ),
    Mutant(
        "names of cached features are hashes of private data",
        "experiments/runs/rows.py",
        "hmac.new(self.secret, json.dumps(what",
        'hmac.new(b"", json.dumps(what',
        (f"{_F}test_guarantee_names_of_files_tell_nothing_about_the_data",),
    ),
    Mutant(
        "everybody can read cached features",
        "experiments/runs/rows.py",
        "        temporary.touch(mode=0o600)\n        features = ",
        "        temporary.touch(mode=0o644)\n        features = ",
        (f"{_F}test_guarantee_kept_features_are_for_their_owner_alone",),
    ),
)
