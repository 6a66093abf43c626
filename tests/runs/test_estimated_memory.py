"""What a run is said to take, beside what its compiled programs take."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.data import Spec
from jaxdp.features.random_networks import RandomNetworks, num_features
from jaxdp.images.packing import Packing
from jaxdp.kernels.kip import SupportSet
from jaxdp.methods import teacher
from jaxdp.methods.teacher import finish, targets
from jaxdp.methods.teacher.public_maps import mean_map
from jaxdp.program.runs import estimates

_NETWORKS = 2


def images(shape: tuple[int, int, int]) -> Spec:
    return Spec.images("scans", (5000, *shape), class_names=["no", "yes"])


def estimated(spec: Spec, **settings: Any) -> float:
    complete = teacher.complete(teacher.Settings(whiten=0.0, packing=2, **settings), spec)
    return estimates.of_run("teacher", complete, spec, judges="none").memory


def of_images(spec: Spec, **settings: Any) -> float:
    """What the estimate counts for an image that is distilled."""
    few, more = (estimated(spec, ipc=ipc, **settings) for ipc in (4, 24))
    return (more - few) / (20 * spec.num_classes * 4)  # four small images in one


def held(shape: tuple[int, int, int], many: int, target: str) -> float:
    """Bytes of an image in the gradient of a step, as the compiled program says."""
    packing = Packing(image_shape=shape, factor=2)
    if target == "networks":
        networks = RandomNetworks(shape, np.zeros((_NETWORKS, num_features(shape)), np.float32))
        extra: Any = functools.partial(targets.network_distance, networks=networks)
        width = networks.all().dim
    else:
        features = mean_map(shape)
        extra = functools.partial(targets.embedding_distance, features=features)
        width = features.dim
    config = finish.DistillConfig(
        num_steps=1,
        cosine_weight=0.0,
        total_variation=0.24,
        image_shape=packing.small_shape,
        extra_loss=extra,
        enlarged=packing.enlarged,
    )

    def step(support: SupportSet, means: jax.Array) -> Any:
        key = jax.random.key(0)
        return jax.grad(finish.loss)(support, None, jnp.asarray, config, key=key, extra_data=means)

    small = int(np.prod(packing.small_shape))
    support = SupportSet(*(jax.ShapeDtypeStruct((many, w), jnp.float32) for w in (small, 2)))
    means = jax.ShapeDtypeStruct((2, width), jnp.float32)
    analysis = jax.jit(step).lower(support, means).compile().memory_analysis()
    assert analysis is not None
    return analysis.temp_size_in_bytes / many


@pytest.mark.parametrize("shape", [(32, 32, 3), (28, 28, 1)], ids=["colour", "grey"])
@pytest.mark.parametrize(("target", "networks"), [("networks", _NETWORKS), ("views", 0)])
def test_memory_of_distilled_images_is_right_up_to_a_factor_of_two(
    shape: tuple[int, int, int], target: str, networks: int
) -> None:
    told = of_images(images(shape), match="embedding", networks=networks)
    assert 0.5 < told / held(shape, 400, target) < 2


def test_many_images_are_seen_a_few_at_once_by_networks() -> None:
    spec, settings = images((32, 32, 3)), {"match": "embedding", "networks": _NETWORKS}
    many, more = (estimated(spec, ipc=ipc, **settings) for ipc in (50, 250))
    assert (more - many) / (200 * spec.num_classes * 4) < of_images(spec, **settings) / 5


def test_the_teachers_map_counts_only_where_images_are_moved_towards_a_teacher() -> None:
    spec = images((32, 32, 3))
    alone = {"match": "embedding", "networks": _NETWORKS}
    assert of_images(spec, encoder=True, **alone) == of_images(spec, encoder=False, **alone)
    assert of_images(spec, encoder=True) > 4 * of_images(spec, encoder=False)
