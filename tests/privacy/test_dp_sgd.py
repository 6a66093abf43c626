"""The core of DP-SGD runs: what a step releases, how many steps there are, with which keys."""

from __future__ import annotations

from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp import numerics
from jaxdp.privacy import dp_sgd, sampling
from jaxdp.privacy.chacha import KEY_WORDS
from jaxdp.privacy.mechanism import SubsampledGaussian, add_gaussian_noise, private_key

N, STEPS = 200, 6
X = jnp.arange(N, dtype=jnp.float32)[:, None]
LABELS = jnp.zeros(N, jnp.int32)


class State(NamedTuple):
    step: jax.Array
    keys: jax.Array


def mechanism(**changes: float) -> SubsampledGaussian:
    values = {
        "num_examples": N,
        "sampling_rate": 0.25,
        "num_steps": STEPS,
        "clip_norm": 0.1,
        "noise_multiplier": 0.0,
    }
    return SubsampledGaussian(**{**values, **changes})


def record(state: State, key: jax.Array, x: jax.Array, labels: jax.Array) -> State:
    """A step that only notes its key."""
    return State(state.step + 1, state.keys.at[state.step].set(jax.random.key_data(key)))


START = State(jnp.zeros((), jnp.int32), jnp.zeros((STEPS + 2, KEY_WORDS), jnp.uint32))


def test_guarantee_no_more_steps_than_accounted_and_every_key_once() -> None:
    update = dp_sgd.accounted_steps(mechanism(), record)
    whole = update(START, private_key(0), X, LABELS, 1000)
    assert int(whole.step) == STEPS
    keys = np.asarray(whole.keys)
    assert np.all(keys[STEPS:] == 0)
    assert len(np.unique(keys[:STEPS], axis=0)) == STEPS
    again = update(whole, private_key(0), X, LABELS, 1000)
    chex.assert_trees_all_equal(again, whole)


@chex.assert_max_traces(n=1)
def traced_once(state: State, key: jax.Array, x: jax.Array, labels: jax.Array) -> State:
    return record(state, key, x, labels)


def test_a_run_may_be_cut_anywhere_and_is_compiled_once() -> None:
    update = dp_sgd.accounted_steps(mechanism(), traced_once)
    state = START
    for count in (1, 3, 2):
        state = update(state, private_key(0), X, LABELS, count)
    expected = dp_sgd.accounted_steps(mechanism(), record)(START, private_key(0), X, LABELS, 6)
    chex.assert_trees_all_equal(state, expected)


def test_needs_the_accounted_number_of_examples() -> None:
    update = dp_sgd.accounted_steps(mechanism(), record)
    with pytest.raises(ValueError, match="the mechanism is for 200 examples, got 199"):
        update(START, private_key(0), X[:-1], LABELS[:-1], 1)


@pytest.mark.parametrize("shape", [(N - 1,), (1,), (N + 1,), (N, 1), ()])
def test_guarantee_every_row_has_a_label_of_its_own(shape: tuple[int, ...]) -> None:
    """The last label would be that of every row beyond it, as jax clamps indices."""
    update = dp_sgd.accounted_steps(mechanism(), record)
    with pytest.raises(ValueError, match="need one label per row"):
        update(START, private_key(0), X, jnp.zeros(shape, jnp.int32), 1)


def drawn_rows(indices: jax.Array, mask: jax.Array) -> jax.Array:
    return jnp.sum(jnp.where(mask[:, None], X[indices], 0.0), axis=0)


def drawn_sum() -> dp_sgd.ClippedSum:
    return dp_sgd.ClippedSum(drawn_rows, jnp.zeros(1))


def nothing(size: int) -> dp_sgd.ClippedSum:
    """A sum of float64 to which nobody adds anything."""
    zero = jnp.zeros(size, jnp.float64)
    return dp_sgd.ClippedSum(lambda indices, mask: zero, zero)


def sample_size() -> dp_sgd.ClippedSum:
    """A sum of float64 to which everyone adds one."""

    def chunk(indices: jax.Array, mask: jax.Array) -> jax.Array:
        return jnp.sum(mask, dtype=jnp.float64)[None]

    return dp_sgd.ClippedSum(chunk, jnp.zeros(1, jnp.float64))


def test_without_noise_it_is_the_sum_of_a_sample_over_public_constants() -> None:
    m, key = mechanism(), private_key(3)
    sample_key, _ = jax.random.split(key)
    sample = sampling.poisson_sample(sample_key, num_examples=N, sampling_rate=m.sampling_rate)
    expected = np.sum(np.asarray(X)[np.asarray(sample.indices)[: int(sample.size)]])
    found = float(dp_sgd.noisy_mean(key, m, drawn_sum(), chunk_size=16)[0])
    assert found == pytest.approx(expected / (0.25 * N * 0.1), rel=1e-5)
    plain = mechanism(clip_norm=float("inf"))
    assert float(dp_sgd.noisy_mean(key, plain, drawn_sum(), chunk_size=16)[0]) == pytest.approx(
        expected / (0.25 * N), rel=1e-5
    )


def test_a_sum_is_assembled_before_the_noise_and_processed_after_the_mean() -> None:
    """Parts may be any tree; the noise is that of the array which they are assembled to."""
    m, key = mechanism(noise_multiplier=1.0), private_key(3)

    def chunk(indices: jax.Array, mask: jax.Array) -> dict[str, jax.Array]:
        return {"half": drawn_rows(indices, mask) / 2}

    with numerics.float64():
        plain = drawn_sum()._replace(zero=jnp.zeros(1, jnp.float64))
        parts = dp_sgd.ClippedSum(
            chunk, {"half": plain.zero}, lambda tree: 2 * tree["half"], lambda mean: mean**3
        )
        expected = dp_sgd.noisy_mean(key, m, plain, chunk_size=16)
        found = dp_sgd.noisy_mean(key, m, parts, chunk_size=7)
    np.testing.assert_allclose(found, np.asarray(expected) ** 3, rtol=1e-12)


def test_guarantee_noise_on_the_sum_is_the_multiplier_times_the_clip_norm() -> None:
    m = mechanism(noise_multiplier=2.0)
    with numerics.float64():
        noise = dp_sgd.noisy_mean(private_key(0), m, nothing(40_000), chunk_size=N)
    on_the_sum = np.asarray(noise) * m.expected_batch_size * m.clip_norm
    assert np.std(on_the_sum) == pytest.approx(2.0 * 0.1, rel=0.02)
    assert abs(np.mean(on_the_sum)) < 0.01


def test_guarantee_noise_outside_of_64_bit_mode_is_refused() -> None:
    with numerics.float64():
        exact = jnp.zeros(3, jnp.float64)
    with pytest.raises(TypeError, match="64-bit mode"):
        add_gaussian_noise(private_key(0), exact, stddev=1.0)


def test_guarantee_the_sample_and_the_noise_are_independent() -> None:
    """A sum that tells the sample's size does not tell the noise."""
    m = mechanism(noise_multiplier=1.0)

    @jax.jit
    def both(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        size = dp_sgd.noisy_mean(key, mechanism(), sample_size(), chunk_size=N)
        return size[0], dp_sgd.noisy_mean(key, m, nothing(1), chunk_size=N)[0]

    with numerics.float64():
        sizes, noise = jax.vmap(both)(jax.random.split(private_key(1), 4000))
    assert abs(np.corrcoef(sizes, noise)[0, 1]) < 0.06


def test_guarantee_the_key_of_a_sample_makes_no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their correlation is too small to be seen: who is drawn shows in other bits than the sum."""
    keys = [np.asarray(jax.random.key_data(private_key(2)))]
    draw, add = sampling.poisson_sample, dp_sgd.add_gaussian_noise

    def spied_draw(key: jax.Array, **options: float) -> sampling.PoissonSample:
        keys.append(np.asarray(jax.random.key_data(key)))
        return draw(key, **options)

    def spied_add(key: jax.Array, tree: jax.Array, *, stddev: float) -> jax.Array:
        keys.append(np.asarray(jax.random.key_data(key)))
        return add(key, tree, stddev=stddev)

    monkeypatch.setattr(sampling, "poisson_sample", spied_draw)
    monkeypatch.setattr(dp_sgd, "add_gaussian_noise", spied_add)
    with numerics.float64():
        m = mechanism(noise_multiplier=1.0)
        dp_sgd.noisy_mean(private_key(2), m, nothing(3), chunk_size=N)
    assert len(keys) == 3
    assert len(np.unique(np.stack(keys), axis=0)) == 3


def test_guarantee_steps_say_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """The size of a sample is private, in logs as well."""

    def step(state: State, key: jax.Array, x: jax.Array, labels: jax.Array) -> State:
        dp_sgd.noisy_mean(key, mechanism(noise_multiplier=1.0), sample_size(), chunk_size=16)
        return State(state.step + 1, state.keys)

    dp_sgd.accounted_steps(mechanism(), step)(START, private_key(0), X, LABELS, 2)
    jax.effects_barrier()
    assert capfd.readouterr() == ("", "")
