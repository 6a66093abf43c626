"""Bugs of features of images: levels, brightness, patches, views, networks, class means."""

from planted_bugs.mutant import Mutant

_MAPS, _M = "jaxdp/methods/teacher/public_maps.py", "tests/methods/teacher/test_public_maps.py::"
_PARTS, _LEVELS = "jaxdp/features/map_parts.py", "jaxdp/features/levels.py"
_PATCHES, _P = "jaxdp/features/patches.py", "tests/features/test_patches.py::"
_SECOND = "jaxdp/features/second_layer.py"
_SECOND_TESTS = "tests/features/test_second_layer.py::"
_ENCODER, _E = "jaxdp/features/public_encoder.py", "tests/features/test_public_encoder.py::"
_VIEWS, _WHITE = "jaxdp/images/views.py", "jaxdp/features/whitening.py"
_NETWORKS, _N = "jaxdp/features/random_networks.py", "tests/features/test_random_networks.py::"
_SUMS, _S = "jaxdp/privacy/class_sums.py", "tests/privacy/test_class_sums.py::"
_RELEASE = "jaxdp/methods/teacher/release.py"
_KEYS = "tests/runs/test_keys_and_noise.py::"
_ALONE = (
    f"{_M}test_guarantee_a_private_image_has_the_same_features_whatever_others_are_beside_it",
)
_BRIGHT = (f"{_M}test_guarantee_brightness_is_of_a_row_and_of_constants",)
_ONCE = (f"{_S}test_guarantee_chunks_hold_every_example_once_in_its_place",)

MUTANTS = (
    Mutant(
        "brightness has the mean length of the private images beside it",
        _MAPS,
        "squared = odds * jnp.sum(phi**2, axis=1, keepdims=True)",
        "squared = odds * jnp.mean(jnp.sum(phi**2, axis=1)) * jnp.ones((len(phi), 1))",
        _BRIGHT,
    ),
    Mutant(
        "brightness is centred by the mean of private images",
        _MAPS,
        "lambda rows: rows - _GREY)",
        "lambda rows: rows - jnp.mean(rows, axis=0))",
        _BRIGHT,
    ),
    Mutant(
        "bounded features are bounded by all images of a chunk together",
        _PARTS,
        "return phi / jnp.sqrt(1 + jnp.sum(phi**2, axis=1, keepdims=True))",
        "return phi / jnp.sqrt(1 + jnp.sum(phi**2))",
        _BRIGHT,
    ),
    Mutant(
        "patches are normalised by the contrast of all images of a chunk",
        _PATCHES,
        "variance = jnp.maximum(squares / values - mean**2, 0)",
        "variance = jnp.mean(jnp.maximum(squares / values - mean**2, 0), axis=0)",
        (f"{_P}test_features_are_those_of_loops_over_patches[shape0]",),
    ),
    Mutant(
        "many images share the features of the chunk's first one",
        _PATCHES,
        "lambda row: of_chunk(row[None])[0], rows",
        "lambda row: of_chunk(rows[:1])[0], rows",
        (f"{_P}test_many_images_are_taken_in_chunks",),
    ),
    Mutant(
        "what fills up a chunk comes in the place of others",
        "jaxdp/numerics.py",
        "lambda each: each[:count], found)",
        "lambda each: each[-count:], found)",
        ("tests/test_numerics.py::test_mapped_rows_are_those_of_one_by_one",),
    ),
    Mutant(
        "an image has the mirror image of another one beside it",
        _ENCODER,
        "both[: len(rows)] + both[len(rows) :]",
        "both[: len(rows)] + both[len(rows) :][::-1]",
        (f"{_E}test_guarantee_a_row_has_the_same_features_whatever_others_are_beside_it",),
    ),
    Mutant(
        "neighbourhoods are normalised by all images of a chunk",
        _SECOND,
        "squares / len(chosen.words) + _FLOOR)",
        "jnp.mean(squares, axis=0) / len(chosen.words) + _FLOOR)",
        (
            f"{_SECOND_TESTS}test_guarantee_a_row_has_the_same_features_whatever_others_are_beside_it[False]",
        ),
    ),
    Mutant(
        "neighbourhoods are centred by the mean of private images",
        _SECOND,
        "cells = _cells(strengths) - chosen.centre",
        "cells = _cells(strengths) - jnp.mean(_cells(strengths), axis=(0, 1, 2))",
        (
            f"{_SECOND_TESTS}test_guarantee_a_row_has_the_same_features_whatever_others_are_beside_it[True]",
        ),
    ),
    Mutant(
        "an encoder of anybody is taken for the public one",
        _ENCODER,
        "    if found != DIGEST:",
        "    if not found:",
        (f"{_E}test_guarantee_weights_are_the_public_ones_of_this_version",),
    ),
    Mutant(
        "an encoder's features are centred by the mean of private images",
        _ENCODER,
        "        return jnp.repeat(images, _CHANNELS, axis=3) if image_shape[2] == 1 else images\n",
        "        images -= jnp.mean(images)\n"
        "        return jnp.repeat(images, _CHANNELS, axis=3) if image_shape[2] == 1 else images\n",
        (f"{_E}test_guarantee_a_row_has_the_same_features_whatever_others_are_beside_it",),
    ),
    Mutant(
        "a layer of images is kept as that of images with their mirror images",
        _MAPS,
        '        **{"mirror": mirror, "seed": _SECOND_SEED},',
        '        **{"mirror": True, "seed": _SECOND_SEED},',
        (f"{_M}test_a_second_layer_stands_beside_patches[False]",),
    ),
    Mutant(
        "whitened features are centred by the mean of private images",
        _WHITE,
        "        return jnp.matmul(feature_fn(x), matrix, precision=_HIGHEST)\n",
        "        phi = feature_fn(x)\n"
        "        return jnp.matmul(phi - jnp.mean(phi, axis=0), matrix, precision=_HIGHEST)\n",
        _ALONE,
    ),
    Mutant(
        "levels of an image are centred by the mean of private images",
        _LEVELS,
        "        return jax.lax.collapse(images, 1)\n",
        "        return jax.lax.collapse(images - jnp.mean(images), 1)\n",
        (
            "tests/features/test_image_maps.py::"
            "test_guarantee_features_of_large_and_odd_images_depend_on_their_own_image_only",
        ),
    ),
    Mutant(
        "views of several images stand side by side",
        _VIEWS,
        "phi = feature_fn(seen.reshape(-1, rows.shape[1]))",
        "phi = feature_fn(seen.swapaxes(0, 1).reshape(-1, rows.shape[1]))",
        (
            "tests/images/test_views.py::"
            "test_guarantee_a_row_of_viewed_features_depends_on_that_row_alone",
        ),
    ),
    Mutant(
        "every image is moved in the way of its place",
        _NETWORKS,
        "reflect=shape[2] > 1, alike=True)",
        "reflect=shape[2] > 1, alike=False)",
        (f"{_N}test_guarantee_a_row_counts_for_itself_alone",),
    ),
    Mutant(
        "networks are centred by the mean of private images",
        _NETWORKS,
        "lambda rows: raw(number, rows) - mean,",
        "lambda rows: raw(number, rows) - jnp.mean(raw(number, rows), axis=0),",
        (f"{_N}test_guarantee_a_row_counts_for_itself_alone",),
    ),
    Mutant(
        "means of networks are taken off after the norm",
        _NETWORKS,
        "        return feature_maps.unit_features(\n"
        "            lambda rows: raw(number, rows) - mean, math.prod(self.image_shape)\n"
        "        )",
        "        unit = feature_maps.unit_features(\n"
        "            functools.partial(raw, number), math.prod(self.image_shape)\n"
        "        )\n"
        "        return FeatureMap(\n"
        "            unit.dim, lambda x, w: unit.weighted_sum(x, w) - jnp.sum(w) * mean\n"
        "        )",
        (f"{_N}test_guarantee_features_of_any_row_have_norm_at_most_one[1000000.0]",),
    ),
    Mutant(
        "views have norm one each",
        _MAPS,
        "        viewed = views.viewed(feature_fn, seen, views.FIVE_VIEWS)\n"
        "        return feature_maps.unit_features(levels.then(see, viewed), dim)\n",
        "        from jaxdp.features.base import FeatureMap as Map\n\n"
        "        viewed = views.viewed(feature_fn, seen, views.FIVE_VIEWS)\n"
        "        unit = feature_maps.unit_features(levels.then(see, viewed), dim)\n"
        "        each = len(views.FIVE_VIEWS) ** 0.5\n"
        "        return Map(unit.dim, lambda x, w: each * unit.weighted_sum(x, w))\n",
        (
            "tests/test_teach_means.py::"
            "test_guarantee_class_means_move_by_one_example_as_accounted[0]",
        ),
    ),
    Mutant(
        "class means are divided by the exact sizes of classes",
        _RELEASE,
        "    return np.asarray(found)\n",
        "    sizes = np.bincount(private.y, minlength=spec.num_classes)\n"
        "    share = spec.num_examples / spec.num_classes\n"
        "    return np.asarray(found) * (share / np.maximum(sizes, 1))[:, None]\n",
        (f"{_KEYS}test_guarantee_nothing_is_done_with_exact_sizes_of_classes[dp_kip_teacher]",),
    ),
    Mutant(
        "chunks leave out their last example",
        _SUMS,
        "size = len(self.labels[places])",
        "size = len(self.labels[places]) - 1",
        _ONCE,
    ),
    Mutant(
        "chunks overlap by an example",
        _SUMS,
        "places = slice(chunk * self.chunk_size, (chunk + 1) * self.chunk_size)",
        "places = slice(max(chunk * self.chunk_size - 1, 0), (chunk + 1) * self.chunk_size - 1)",
        _ONCE,
    ),
    Mutant(
        "every device sums the chunk of the first one",
        _SUMS,
        "zip(*(chunks.arrays(first + at) for at in range(several)), strict=True)",
        "zip(*(chunks.arrays(first) for _ in range(several)), strict=True)",
        ("tests/devices/test_sharing.py::test_guarantee_eight_devices_release_what_one_does",),
    ),
    Mutant(
        "a teacher that is trained beside images has their certificate",
        "jaxdp/methods/teacher/plan.py",
        "if stored is not None or (images is not None and not self.uses_teacher):",
        "if stored is not None or images is not None:",
        (f"{_KEYS}test_guarantee_what_speaks_against_images_speaks_against_what_is_made_of_them",),
    ),
    Mutant(
        "a run that distils images has a certificate of files that it does not hold",
        "jaxdp/methods/teacher/plan.py",
        "again = None if images is None else self._covers()",
        "again = None",
        (
            "tests/test_teach_labelled.py::"
            "test_guarantee_a_labelled_run_brings_its_teacher_and_no_data_are_used",
        ),
    ),
)
