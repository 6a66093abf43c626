"""DP-KIP's guarantee: what a record moves, what depends on it, noise, and the number of steps."""

from __future__ import annotations

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from kip_problem import N, config, drawn, mechanism

from jaxdp import kernels
from jaxdp.methods import dp_kip
from jaxdp.privacy.mechanism import private_key


@pytest.mark.parametrize("clip_norm", [1e-4, 1e-2])
def test_guarantee_one_record_moves_a_release_by_at_most_the_clip_norm(
    data: tuple, support: dp_kip.SupportSet, clip_norm: float
) -> None:
    x, labels = data
    m = mechanism(sampling_rate=1.0, clip_norm=clip_norm)
    kip = dp_kip.dp_kip(kernels.fc_ntk(), m, config())

    def released(x: jax.Array) -> np.ndarray:
        after = kip.update(kip.init(support), private_key(0), x, labels, 1)
        # Undo the division by public constants: what is left is the clipped sum.
        return np.asarray(support.x - after.support.x, np.float64) * N * clip_norm

    whole = released(x)
    # A record of NaN contributes exactly zero, as one that was left out (tested below).
    moved = [np.linalg.norm(whole - released(x.at[i].set(jnp.nan))) for i in range(N)]
    assert max(moved) <= clip_norm * (1 + 1e-3)  # the state is float32
    assert max(moved) >= clip_norm * (1 - 1e-3)  # and the bound is attained


def test_guarantee_nothing_but_the_sample_and_the_noise_depends_on_data(
    data: tuple, support: dp_kip.SupportSet
) -> None:
    kip = dp_kip.dp_kip(kernels.fc_ntk(), mechanism(sampling_rate=0.1), config())
    key = private_key(2)
    batch = drawn(key, 0, 0.1)
    not_drawn = np.setdiff1d(np.arange(N), batch)
    changed = (data[0].at[not_drawn].set(99.0), data[1].at[not_drawn].set(0))
    first, second = (kip.update(kip.init(support), key, *z, 1) for z in (data, changed))
    chex.assert_trees_all_equal(first, second)


def pure_noise(support: dp_kip.SupportSet, steps: int, noise_multiplier: float) -> np.ndarray:
    """Return the updates of steps whose every record is NaN: all that is left is noise."""
    m = mechanism(clip_norm=0.1, noise_multiplier=noise_multiplier, num_steps=steps)
    kip = dp_kip.dp_kip(kernels.fc_ntk(), m, config(optimizer=optax.sgd(1e-3)))
    x, labels = jnp.full((N, support.x.shape[1]), jnp.nan), jnp.zeros(N, jnp.int32)
    state, key, moves = kip.init(support), private_key(7), []
    for _ in range(steps):
        after = kip.update(state, key, x, labels, 1)
        moves.append(np.asarray(state.support.x - after.support.x, np.float64))
        state = after
    return np.stack(moves) / 1e-3 * m.expected_batch_size  # in units of the clip norm


def test_guarantee_noise_has_the_accounted_scale_and_is_fresh_every_step() -> None:
    # 20 steps of 20 x 200 draws: the variance is known to 0.5 %, and 3 % off would be seen.
    support = dp_kip.initial_support(jax.random.key(0), ipc=10, num_classes=2, dim=200)
    noise = pure_noise(support, 20, noise_multiplier=1.5)
    assert abs(np.std(noise) / 1.5 - 1) < 0.015
    rows = noise.reshape(20, -1)
    correlation = np.corrcoef(rows) - np.eye(20)
    assert np.abs(correlation).max() < 0.08  # 5 standard errors; repeated noise gives 1


def test_non_finite_records_contribute_exactly_zero(
    data: tuple, support: dp_kip.SupportSet
) -> None:
    x, labels = data
    kip = dp_kip.dp_kip(kernels.fc_ntk(), mechanism(sampling_rate=1.0, clip_norm=0.1), config())
    state = kip.init(support)
    poisoned = kip.update(
        state, private_key(0), x.at[3].set(jnp.nan).at[4, 0].set(jnp.inf), labels, 1
    )
    assert np.isfinite(poisoned.support.x).all()
    rest = np.delete(np.arange(N), [3, 4])
    m = mechanism(num_examples=N - 2, sampling_rate=1.0, clip_norm=0.1)
    clean = dp_kip.dp_kip(kernels.fc_ntk(), m, config())
    without = clean.update(state, private_key(0), x[rest], labels[rest], 1)
    step, expected = (support.x - z.support.x for z in (poisoned, without))
    np.testing.assert_allclose(step * N, expected * (N - 2), rtol=1e-4, atol=1e-4)


def test_never_more_steps_than_accounted(data: tuple, support: dp_kip.SupportSet) -> None:
    kip = dp_kip.dp_kip(kernels.fc_ntk(), mechanism(num_steps=5), config())
    state = kip.update(kip.init(support), private_key(0), *data, 3)
    state = kip.update(state, private_key(0), *data, 100)
    assert int(state.step) == 5
    chex.assert_trees_all_equal(state, kip.update(state, private_key(1), *data, 1))


def test_update_needs_the_accounted_number_of_examples(
    data: tuple, support: dp_kip.SupportSet
) -> None:
    kip = dp_kip.dp_kip(kernels.fc_ntk(), mechanism(num_examples=N + 1), config())
    with pytest.raises(ValueError, match="41 examples, got 40"):
        kip.update(kip.init(support), private_key(0), *data, 1)
