"""What sharing out a step's examples costs: weak scaling on virtual devices of this CPU.

    python benchmarks/sharing.py [--quick] [--out=FILE]

Every device has equally many examples and draws equally many, so with d devices a step has d times
the work. Virtual devices share the cores there are: where sharing costs nothing, a step of d
devices takes d / cores times that of one, and `seconds_per_device` stays where cores are busy.
`summed_bytes` is what a device gives to the one sum of a step.
"""

import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from _harness import argument_parser, isolated, measure, record, report

from jaxdp import devices, kernels, numerics
from jaxdp.kernels.kip import SupportSet
from jaxdp.kernels.preprocess import centred_one_hot
from jaxdp.methods.dp_kip.clipped import sums, terms
from jaxdp.methods.dp_kip.release import KIPConfig, dp_kip
from jaxdp.methods.teacher.classifier import TeacherConfig, dp_teacher
from jaxdp.privacy.mechanism import SubsampledGaussian, private_key

_COLUMNS = ("seconds", "seconds_per_device", "summed_bytes", "process_peak_mb")
_CLASSES, _STEPS = 10, 10
_COUNTS = (1, 2, 4, 8)


def _mechanism(each: int, drawn: int) -> SubsampledGaussian:
    return SubsampledGaussian(
        num_examples=each * jax.device_count(),
        sampling_rate=drawn / each,
        num_steps=10**6,
        clip_norm=0.1,
        noise_multiplier=1.0,
    )


def _teacher(each: int, drawn: int, dim: int) -> tuple[Any, Any, int]:
    mechanism = _mechanism(each, drawn)
    teacher = dp_teacher(mechanism, TeacherConfig(optimizer=optax.sgd(1.0)))
    return teacher.update, teacher.init(dim, _CLASSES), 8 * dim * _CLASSES


def _kip(each: int, drawn: int, dim: int) -> tuple[Any, Any, int]:
    mechanism, kernel = _mechanism(each, drawn), kernels.fc_ntk(depth=3)
    y = centred_one_hot(jnp.arange(10 * _CLASSES) % _CLASSES, _CLASSES)
    support = SupportSet(jax.random.normal(jax.random.key(0), (len(y), dim)), y)
    algorithm = dp_kip(kernel, mechanism, KIPConfig(ridge=1e-6, optimizer=optax.sgd(1.0)))
    assert kernel.dot_product is not None
    with numerics.float64():
        found = terms.support_terms(kernel.dot_product, *support, 1e-6, num_targets=drawn)
        moments = jax.tree.leaves(sums.zero_moments(found))
    return algorithm.update, algorithm.init(support), sum(leaf.nbytes for leaf in moments)


_CASES = {
    "teacher, 4536 features, 1024 drawn of 8192 per device": (_teacher, 8192, 1024, 4536),
    "DP-KIP, 100 images of 784, 250 drawn of 4096 per device": (_kip, 4096, 250, 784),
}
_TOY = {"teacher": (_teacher, 32, 8, 20), "DP-KIP": (_kip, 32, 8, 20)}


def _measured(name: str, toy: bool) -> dict[str, Any]:
    algorithm, each, drawn, dim = (_TOY if toy else _CASES)[name]
    update, state, summed = algorithm(each, drawn, dim)
    n, count = each * jax.device_count(), jax.device_count()
    rng = np.random.default_rng(0)
    rows = devices.by_rows(rng.normal(size=(n, dim)).astype(np.float32))
    labels = devices.by_rows(rng.integers(0, _CLASSES, n))
    key = private_key(0)
    found = measure(lambda: update(state, key, rows, labels, _STEPS))
    assert found is not None
    seconds = found[0].seconds / _STEPS
    entry = record(f"{name}, {count} devices", found[0], None)
    more = {"seconds_per_device": seconds / count, "summed_bytes": summed}
    return entry | {"seconds": seconds, "process_peak_mb": found[0].process_peak_mb} | more


def main() -> None:
    """Measure every case with 1 to 8 devices."""
    flags = argument_parser(__doc__ or "").parse_args()
    given = os.environ.get("XLA_FLAGS", "")

    def records() -> Any:
        for name in _TOY if flags.quick else _CASES:
            for count in (1,) if flags.quick else _COUNTS:
                # Read by jax when the process of the measurement starts.
                os.environ["XLA_FLAGS"] = f"{given} --xla_force_host_platform_device_count={count}"
                yield isolated(_measured, name, flags.quick)

    report(records(), columns=_COLUMNS, out=flags.out)


if __name__ == "__main__":
    main()
