"""Records drawn along a tree of columns: which columns it joins, and what is drawn."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest

import jaxdp
from jaxdp.data import Private, Spec, TableCodec
from jaxdp.features.base import SUMMED_SCALE
from jaxdp.methods import dp_ntk
from jaxdp.methods.dp_ntk import tree
from jaxdp.methods.dp_ntk.released import Released
from jaxdp.program.errors import InputError
from jaxdp.program.runs import generator_file
from jaxdp.program.runs.folder import RunFolder
from jaxdp.tables.layout import Layout
from jaxdp.tables.pairs import Pairs
from jaxdp.tables.schema import BINS, Schema

NUMBER = {"type": "numeric", "lower": 0, "upper": 12, "bins": 12}
LETTER = {"type": "categorical", "categories": ["a", "b", "c"], "other": False}
SCHEMA = Schema.from_json(
    {
        "columns": {
            "first": NUMBER,
            "copy": NUMBER,
            "letter": LETTER,
            "of_letter": LETTER,
            "alone": NUMBER,
            "class": {"type": "categorical", "categories": ["no", "yes"], "target": True},
        }
    }
)
LAYOUT = Layout(SCHEMA, BINS)
PAIRS = Pairs(LAYOUT)


def records(num: int) -> Private:
    """Return a table whose second column is the first, and whose fourth is nearly its third.

    Of the class "yes", the fourth column is the third turned by one.
    """
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, num)
    first, alone = rng.integers(0, 12, (2, num)) + 0.5
    letter = rng.integers(0, 3, num)
    noisy = np.where(rng.random(num) < 0.1, rng.integers(0, 3, num), letter)
    frame = pd.DataFrame(
        {
            "first": first,
            "copy": first,
            "letter": np.array(list("abc"))[letter],
            "of_letter": np.array(list("abc"))[(noisy + y) % 3],
            "alone": alone,
            "class": np.array(["no", "yes"])[y],
        }
    )
    return Private.of_frame(frame, SCHEMA)


def released_of(private: Private, *, share: float = 0.5) -> Released:
    """Return the embedding of a table without noise, by counting."""
    cells, n = LAYOUT.cells(private.x), len(private.x)
    single = np.zeros((2, LAYOUT.dim))
    paired = {(i, j): np.zeros((2, PAIRS.widths[i], PAIRS.widths[j])) for i, j in PAIRS.all}
    for record, label in zip(cells, private.y, strict=True):
        merged = [PAIRS.merged[k][cell] for k, cell in enumerate(record)]
        for block, cell in zip(LAYOUT.blocks, record, strict=True):
            single[label, block.start + cell] += 1 / n
        for i, j in PAIRS.all:
            paired[i, j][label, merged[i], merged[j]] += 1 / n
    tables = np.concatenate([paired[pair].reshape(2, -1) for pair in PAIRS.all], axis=1)
    parts = [
        single * math.sqrt((1 - share) / len(LAYOUT.blocks)),
        tables * math.sqrt(share / len(PAIRS.all)),
    ]
    mu = np.concatenate(parts, axis=1) * SUMMED_SCALE
    return Released(jax.numpy.asarray(mu), jax.numpy.full(2, 0.5))


def fitted(private: Private, *, stddev: float = 0.0) -> tree.TreeGenerator:
    """Return the generator of a table's embedding."""
    released = released_of(private)
    noise = np.random.default_rng(1).normal(size=released.mu.shape) * stddev
    generator, weights = tree.fitted(
        Released(released.mu + noise.astype(np.float32), released.class_weights),
        TableCodec(LAYOUT),
        share=0.5,
        stddev=stddev,
        class_names=("no", "yes"),
    )
    assert weights.sum() == pytest.approx(1)
    return generator


def folder_at(path: Path) -> RunFolder:
    """Return the folder of a new run."""
    return RunFolder(str(path), resume=False, overwrite=True)


def edges(parents: tuple[int, ...]) -> set[frozenset[int]]:
    """Return the pairs of columns that a tree joins."""
    return {frozenset((k, parent)) for k, parent in enumerate(parents) if parent != tree.ROOT}


def test_the_tree_joins_the_columns_that_depend_on_each_other() -> None:
    generator = fitted(records(5000), stddev=1e-3)
    assert edges(generator.parents) == {frozenset((0, 1)), frozenset((2, 3))}


def test_noise_alone_joins_nothing() -> None:
    rng = np.random.default_rng(0)
    private = records(3000)
    shuffled = np.stack([rng.permutation(column) for column in private.x.T], axis=1)
    generator = fitted(Private(shuffled, rng.permutation(private.y)), stddev=0.01)
    assert edges(generator.parents) == set()


def test_without_noise_drawn_records_have_the_pairs_of_the_table() -> None:
    """By class: the fourth column is turned in one of them."""
    private = records(4000)
    generator = fitted(private)
    y = np.repeat([0, 1], 2000).astype(np.int32)
    x = generator(y, seed=3)
    ours, theirs = LAYOUT.cells(x), LAYOUT.cells(private.x)
    for label, (i, j) in itertools.product((0, 1), ((0, 1), (2, 3))):
        tables = []
        for cells, labels in ((ours, y), (theirs, private.y)):
            table = np.zeros((PAIRS.widths[i], PAIRS.widths[j]))
            of_class = cells[labels == label]
            np.add.at(table, (PAIRS.merged[i][of_class[:, i]], PAIRS.merged[j][of_class[:, j]]), 1)
            tables.append(table / table.sum())
        assert np.abs(tables[0] - tables[1]).sum() / 2 < 0.03


def test_drawn_records_keep_the_shares_of_every_column() -> None:
    private = records(4000)
    generator = fitted(private)
    y = np.zeros(3000, np.int32)
    cells = LAYOUT.cells(generator(y, seed=0))
    for number, block in enumerate(LAYOUT.blocks):
        shares = np.bincount(cells[:, number], minlength=block.width) / len(y)
        np.testing.assert_allclose(shares, generator.shares[0, block.places], atol=0.02)


def test_shares_given_a_parent_are_shares() -> None:
    generator = fitted(records(500), stddev=2e-3)
    hanging = [k for k, parent in enumerate(generator.parents) if parent != tree.ROOT]
    assert hanging
    for number in hanging:
        given = generator.given[number]
        assert given.min() >= 0
        np.testing.assert_allclose(given.sum(axis=2), 1, atol=1e-6)


def test_a_table_meets_its_margins() -> None:
    rng = np.random.default_rng(0)
    rows, columns = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(5))
    rows[2] = 0
    rows /= rows.sum()
    table = tree.with_margins(rng.random((4, 5)) + 0.1, rows, columns)
    np.testing.assert_allclose(table.sum(axis=1), rows, atol=1e-9)
    np.testing.assert_allclose(table.sum(axis=0), columns, atol=1e-9)


def test_columns_that_hang_in_a_circle_are_refused() -> None:
    assert tree.in_order((1, 2, -1)) == [2, 1, 0]
    for parents in ((1, 0), (0,), (5, -1)):
        with pytest.raises(ValueError, match="hang on each other"):
            tree.in_order(parents)


def test_a_run_counts_pairs_and_its_generator_is_stored(tmp_path: Path) -> None:
    private, spec = records(3000), Spec.table("toy", SCHEMA, 3000)
    asked = dp_ntk.Settings(eps=8.0, features="pairs", num_synthetic=400)
    made, certificate = jaxdp.run(dp_ntk, asked, spec, private, progress=False)
    assert certificate.epsilon <= 8
    assert isinstance(made.generator, tree.TreeGenerator)
    assert {frozenset((0, 1)), frozenset((2, 3))} <= edges(made.generator.parents)
    assert len(made.frame) == 400
    generator_file.write(folder_at(tmp_path), made.generator)
    again = generator_file.read(tmp_path, "--generator")
    labels = np.arange(10, dtype=np.int32) % 2
    np.testing.assert_array_equal(again(labels, seed=5), made.generator(labels, seed=5))


@pytest.mark.parametrize("parents", [[1, 0, -1, -1, -1], [-1], ["a"] * 5, [-1, 0, 0, 0, 9]])
def test_a_stored_tree_of_other_columns_is_refused(tmp_path: Path, parents: list[object]) -> None:
    generator_file.write(folder_at(tmp_path), fitted(records(300)))
    path = tmp_path / "generator" / "description.json"
    description = json.loads(path.read_text())
    description["arguments"]["parents"] = parents
    path.write_text(json.dumps(description))
    with pytest.raises(InputError, match="--generator"):
        generator_file.read(tmp_path, "--generator")


@pytest.mark.parametrize("labels", [[], [[0]], [-1], [100], [0.5], [[0], [1]]])
def test_labels_of_no_class_are_refused(labels: list) -> None:
    """A label of -1 would be that of the last class."""
    generator = fitted(records(300))
    with pytest.raises(ValueError, match="labels must be"):
        generator(np.array(labels), seed=0)
