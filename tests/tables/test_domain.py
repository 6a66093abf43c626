"""The cells that are counted, and the rows of features that count them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.toy_tables import frame_of, schema_of

from jaxdp.data import Private
from jaxdp.tables import Domain, read_schema
from jaxdp.tables.columns import Column
from jaxdp.tables.domain import cell_features
from jaxdp.tables.schema import BUILT_IN

SCHEMA = schema_of()
DOMAIN = Domain(SCHEMA)


@pytest.mark.parametrize("name", BUILT_IN)
def test_guarantee_features_have_norm_one_at_most_and_no_negative_products(name: str) -> None:
    for features in Domain(read_schema(name)).features:
        products = features @ features.T
        assert np.max(np.diag(products)) <= 1
        assert np.min(np.diag(products)) > 1 - 1e-6  # and are not shorter than they need to be
        assert np.min(products) >= 0


def test_near_cells_are_alike_where_there_is_an_order() -> None:
    number = Column(name="n", type="numeric", lower=0, upper=1, nullable=True)
    products = cell_features(number, 11) @ cell_features(number, 11).T
    np.testing.assert_allclose(products[0, :10], np.exp(-np.arange(10) / 3), rtol=1e-6)
    np.testing.assert_allclose(products[10], np.eye(11)[10], atol=1e-6)  # of missing values
    stages = Column(name="s", type="ordinal", categories=("I", "II", "III"), other=False)
    assert 0.3 < (cell_features(stages, 3) @ cell_features(stages, 3).T)[0, 1] < 0.35
    hues = Column(name="h", type="categorical", categories=("red", "blue"))
    np.testing.assert_allclose(cell_features(hues, 3), np.eye(3), atol=1e-6)


def test_cells_are_those_of_the_layout_and_the_class() -> None:
    private = Private.of_frame(frame_of(50), SCHEMA)
    cells = DOMAIN.cells(private.x, private.y)
    np.testing.assert_array_equal(cells[:, :-1], DOMAIN.layout.cells(private.x))
    np.testing.assert_array_equal(cells[:, -1], private.y)
    assert np.all(cells >= 0)
    assert np.all(cells < DOMAIN.widths)
    assert DOMAIN.columns[-1].name == SCHEMA.target.name


def test_all_pairs_are_there_once() -> None:
    assert DOMAIN.pairs == tuple(itertools.combinations(range(len(DOMAIN.widths)), 2))
    assert DOMAIN.dim == sum(DOMAIN.widths)
    assert DOMAIN.size_of((0, 1)) == DOMAIN.widths[0] * DOMAIN.widths[1]
    assert [place.stop - place.start for place in DOMAIN.places] == list(DOMAIN.widths)
