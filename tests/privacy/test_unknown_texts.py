"""Texts of an unknown domain: what is counted, what passes, and how often a rare one does."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

from jaxdp.privacy import GaussianRelease, mechanism, private_key, unknown_texts
from jaxdp.privacy.unknown_texts import Texts

COLORS = Texts(np.array([0, 0, 0, 1, 1, 2, -1]), ("red", "blue", "green"))
SIZES = Texts(np.array([0, 1, 1, 1, 1, 1, 1]), ("small", "large"))


def release_of(stddev: float, sensitivity: float = math.sqrt(2)) -> GaussianRelease:
    return GaussianRelease(name="texts", sensitivity=sensitivity, stddev=stddev)


def found_in(
    *columns: Texts, stddev: float = 0.0, delta: float = 1e-6, seed: int = 0, most: int = 1
) -> tuple[dict[str, float], ...]:
    return unknown_texts.release_texts(
        private_key(seed),
        columns,
        release_of(stddev),
        threshold_delta=delta,
        records_per_person=most,
    )


def test_without_noise_all_texts_that_occur_are_counted() -> None:
    colors, sizes = found_in(COLORS, SIZES)
    assert {text: round(count) for text, count in colors.items()} == {
        "red": 3,
        "blue": 2,
        "green": 1,
    }
    assert list(sizes) == ["large", "small"], "the most frequent first"
    assert found_in(Texts(np.array([1]), ("never", "once")))[0].keys() == {"once"}


def test_guarantee_replacing_a_record_moves_counts_by_at_most_the_sensitivity() -> None:
    texts = ("a", "b", "c", "new")
    columns = [Texts(np.array([0, 0, 1, 2]), texts), Texts(np.array([1, 1, 1, 1]), texts)]
    before = found_in(*columns)
    for first in range(-1, 4):
        for second in range(-1, 4):
            changed = [
                Texts(np.append(column.places[:-1], place).astype(int), texts)
                for column, place in zip(columns, (first, second), strict=True)
            ]
            moved = [
                now.get(text, 0.0) - then.get(text, 0.0)
                for now, then in zip(found_in(*changed), before, strict=True)
                for text in texts
            ]
            assert np.linalg.norm(moved) / math.sqrt(2) <= math.sqrt(2) + 1e-9
            assert np.max(np.abs(moved)) <= 1 + 1e-9


@pytest.mark.parametrize(("most", "num_columns"), [(1, 1), (3, 1), (1, 4)])
def test_guarantee_a_text_of_one_person_passes_as_seldom_as_is_said(
    most: int, num_columns: int
) -> None:
    """Of texts that one person alone has, each with all of its records, so many pass."""
    num, delta = 20_000, 0.12
    own = Texts(np.repeat(np.arange(num), most), tuple(map(str, range(num))))
    found = found_in(*[own] * num_columns, stddev=5.0, delta=delta, most=most)
    passed = sum(map(len, found)) / (num * num_columns)
    # A person has `most` of these in every column: this bounds the chance of any.
    assert passed * most * num_columns == pytest.approx(delta, rel=0.15)


def test_known_texts_are_told_whatever_their_count_is() -> None:
    known = frozenset({"green", "never"})
    (found,) = found_in(COLORS._replace(known=known), stddev=5.0, delta=1e-9)
    assert set(found) == known
    (without,) = found_in(COLORS._replace(known=known))
    assert without == {"red": 3.0, "blue": 2.0, "green": 1.0, "never": 0.0}


def test_guarantee_other_texts_pass_no_easier_beside_known_ones() -> None:
    num, delta = 20_000, 0.12
    own = Texts(np.arange(num), tuple(map(str, range(num))), frozenset({"0", "elsewhere"}))
    (found,) = found_in(own, stddev=5.0, delta=delta)
    assert len(set(found) - own.known) / num == pytest.approx(delta, rel=0.15)


def test_the_threshold_is_that_of_the_tail() -> None:
    least = unknown_texts.threshold(7.0, threshold_delta=1e-6, num_columns=3, records_per_person=2)
    assert 6 * ndtr(mechanism.ROUNDED_BY - (least - 2) / 7.0) == pytest.approx(1e-6, rel=1e-5)
    with pytest.raises(ValueError, match="threshold_delta"):
        unknown_texts.threshold(1.0, threshold_delta=0.0, num_columns=1)


@pytest.mark.parametrize("stddev", [1.0, 4.94, 1.9999 * 8])
@pytest.mark.parametrize("num_columns", [1, 2, 5])
def test_guarantee_rounding_lets_no_text_of_one_person_pass(
    stddev: float, num_columns: int
) -> None:
    """A count passes from the first place of its grid on that is above the threshold."""
    root = math.sqrt(num_columns)
    least = unknown_texts.threshold(stddev * root, threshold_delta=1e-7, num_columns=num_columns)
    grid = 2.0 ** (math.floor(math.log2(stddev)) - 10)
    first = (math.floor(least / root / grid) + 1) * grid
    passes = ndtr(-(first - grid / 2 - 1 / root) / stddev)
    assert 0.99e-7 < num_columns * passes <= 1e-7


def test_guarantee_texts_of_equal_counts_are_not_in_the_order_of_records() -> None:
    """Noise that is rounded gives texts equal counts, and their order in the table is private."""
    (there,) = found_in(Texts(np.array([0, 1, 2]), ("b", "c", "a"), frozenset({"0", "d"})))
    assert list(there) == ["a", "b", "c", "0", "d"]


def test_guarantee_independent_noise_of_the_release_is_on_every_count() -> None:
    num = 4000
    many = Texts(np.repeat(np.arange(num), 1000), tuple(map(str, range(num))))
    first, second = found_in(many, many, stddev=10.0, delta=0.1)
    noise = np.array(
        [[each[str(place)] - 1000 for place in range(num)] for each in (first, second)]
    )
    assert noise.std() == pytest.approx(10.0 * math.sqrt(2), rel=0.03)
    assert abs(np.corrcoef(noise)[0, 1]) < 0.06


def test_guarantee_what_breaks_the_bound_is_refused() -> None:
    claims_less = release_of(1.0, sensitivity=1.0)
    with pytest.raises(ValueError, match="sensitivity is"):
        unknown_texts.release_texts(private_key(0), [COLORS], claims_less, threshold_delta=1e-6)
    with pytest.raises(ValueError, match="there twice"):
        found_in(Texts(np.array([0, 1]), ("a", "a")))
    with pytest.raises(ValueError, match="none of its column's"):
        found_in(Texts(np.array([0, 2]), ("a", "b")))
