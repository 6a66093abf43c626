"""Bugs of runs that devices or processes share: coins, noise and keys."""

from planted_bugs.mutant import Mutant

_DEVICES, _PROCESSES = "jaxdp/devices.py", "jaxdp/processes.py"
_STEP, _T = "jaxdp/privacy/dp_sgd.py", "tests/devices/test_sharing.py::"
_NOISE = (f"{_T}test_guarantee_noise_is_added_once_by_all_devices_together",)
_COINS = (f"{_T}test_guarantee_every_example_has_its_own_coin_whatever_devices_there_are",)

MUTANTS = (
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
