"""Bugs of a generator and a teacher under one budget."""

from planted_bugs.mutant import Mutant

_PLAN, _RELEASE = "jaxdp/methods/dp_ntk/labels/plan.py", "jaxdp/methods/dp_ntk/labels/release.py"
_L = "tests/methods/dp_ntk/labels/test_labelled.py::"
_BUDGET = (f"{_L}test_guarantee_both_releases_together_spend_the_budget",)
_SPY = (f"{_L}test_guarantee_what_is_accounted_is_what_is_released",)
_WRITTEN = "tests/runs/test_what_is_written.py::"
_KEPT = f"{_WRITTEN}test_guarantee_kept_programs_tell_nothing_of_the_data"
_IMAGES = "jaxdp/program/runs/generated_images.py"

MUTANTS = (
    Mutant(
        "teacher and embedding share a key",
        _RELEASE,
        "teacher_key, embedding_key = jax.random.split(key)",
        "teacher_key = embedding_key = key",
        _SPY,
    ),
    Mutant(
        "a teacher beside an embedding has the noise of one alone",
        _PLAN,
        "            training=training,\n",
        "            training=training._replace(mechanism=dataclasses.replace(\n"
        "                training.mechanism, noise_multiplier=0.3)),\n",
        _SPY,
    ),
    Mutant(
        "a teacher is calibrated as if nothing else were released",
        _PLAN,
        "make_teacher_plan(asked, spec, cached=cached, beside=beside)",
        "make_teacher_plan(asked, spec, cached=cached)",
        _BUDGET,
    ),
    Mutant(
        "the ledger of a teacher forgets the embedding",
        _PLAN,
        "also=released.beside)",
        "also=released.beside[1:])",
        _BUDGET,
    ),
    Mutant(
        "an embedding beside a teacher has half its noise",
        _PLAN,
        "stddev=multiplier / n",
        "stddev=multiplier / (2 * n)",
        _BUDGET,
    ),
    Mutant(
        "the embedding beside a teacher is divided by the exact sizes of classes",
        _RELEASE,
        "    return Released(embedded.mu, np.asarray(taught.weights))\n",
        "    sizes = np.bincount(private.y, minlength=spec.num_classes)\n"
        "    mu = embedded.mu * (len(private.y) / np.maximum(sizes, 1))[:, None]\n"
        "    return Released(mu, np.asarray(taught.weights))\n",
        (
            "tests/runs/test_keys_and_noise.py::"
            "test_guarantee_nothing_is_done_with_exact_sizes_of_classes[labelled]",
        ),
    ),
    Mutant(
        "teacher and embedding are calibrated at a larger delta",
        "jaxdp/methods/noise.py",
        "            delta=bought_schema.noise_delta(settings, spec),\n",
        "            delta=10 * settings.delta,\n",
        _BUDGET,
    ),
    Mutant(
        "an embedding beside a teacher is calibrated at a larger delta",
        _PLAN,
        "                delta=settings.delta,\n                sensitivity",
        "                delta=10 * settings.delta,\n                sensitivity",
        _BUDGET,
    ),
    Mutant(
        "an embedding and a teacher about records serve a run about persons",
        "jaxdp/methods/dp_ntk/labels/earlier.py",
        "    require_same_data(stored, spec, spec.num_classes)\n",
        "",
        (
            f"{_L}test_guarantee_what_was_released_about_records_serves_no_run_about_persons"
            "[labelled]",
        ),
    ),
    Mutant(
        "an embedding and a teacher of another release pass beside their images",
        _IMAGES,
        "for name in (of_release, _NAME) if digests is not None else ():",
        "for name in (_NAME,) if digests is not None else ():",
        (
            "tests/runs/test_generated_images.py::"
            "test_guarantee_an_embedding_of_another_release_is_refused",
        ),
    ),
    Mutant(
        "kept programs hold the weights of a teacher",
        _PLAN,
        "            then=functools.partial(linear.predict, weights),\n",
        "            fn=lambda rows: linear.predict(weights, features.fn(rows)),\n",
        (f"{_KEPT}[labelled]",),
    ),
    Mutant(
        "kept programs hold the embedding that images are moved to",
        "jaxdp/methods/dp_ntk/flow.py",
        "nu: Array, length: Array, aim: _Aim\n",
        "nu: Array, length: Array, _: _Aim\n",
        (f"{_KEPT}[moved]",),
    ),
)
