"""Patterns, pair by pair, and what they connect."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitbias.errors import GeometryError, ShapeError, ValuesError
from vitbias.patterns import axial_mask, causal_mask, dilated_mask, local_mask, with_hubs
from vitbias.reach import compose, depth
from vitbias.windows import attention_mask

GRIDS = st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 4))


@given(GRIDS)
def test_every_pair(sizes):
    height, width, n = sizes
    axial, dilated, local = (
        axial_mask(height, width),
        *(make(height, width, n) for make in (dilated_mask, local_mask)),
    )
    places = list(product(range(height), range(width)))
    for (i, (a, b)), (j, (c, d)) in product(enumerate(places), repeat=2):
        assert axial[i, j] == (a == c or b == d)
        assert dilated[i, j] == ((a - c) % n == 0 and (b - d) % n == 0)
        assert local[i, j] == (max(abs(a - c), abs(b - d)) <= n)
    assert all(mask.dtype == bool for mask in (axial, dilated, local))


def test_causal():
    mask = causal_mask(5)
    assert all(mask[i, j] == (j <= i) for i, j in product(range(5), repeat=2))
    assert np.array_equal(compose([mask] * 3), mask)
    assert depth([mask]) is None


def test_depths_of_patterns():
    assert depth([axial_mask(5, 7)]) == 2
    assert depth([axial_mask(1, 7)]) == 1
    assert depth([dilated_mask(6, 6, 3)]) is None
    assert depth([dilated_mask(3, 5, 1)]) == 1
    assert depth([local_mask(1, 13, 2)]) == 6
    assert depth([local_mask(3, 5, 0)]) is None


@pytest.mark.parametrize(
    ("side", "window", "blocks"), [(6, 3, 2), (9, 3, 2), (12, 3, 3), (20, 4, 3), (8, 2, None)]
)
def test_windows_and_their_dilated_complement(side, window, blocks):
    """Two blocks exactly if w >= g/w; never if the steps fit into the windows."""
    masks = [attention_mask(side, side, window), dilated_mask(side, side, side // window)]
    assert depth(masks) == blocks
    assert (blocks == 2) == (window >= side // window)


def test_hubs_in_front(rng):
    mask = rng.random((5, 5)) < 0.3
    np.fill_diagonal(mask, True)
    before = mask.copy()
    for hubs in (1, 3):
        joined = with_hubs(mask, hubs)
        assert joined.shape == (5 + hubs, 5 + hubs)
        assert joined[:hubs].all() and joined[:, :hubs].all()
        assert np.array_equal(joined[hubs:, hubs:], mask)
        assert depth([joined]) == 2
    assert np.array_equal(mask, before)


def test_large_steps_change_nothing_more():
    assert np.array_equal(dilated_mask(3, 5, 2**80), np.eye(15, dtype=bool))
    assert local_mask(3, 5, 2**80).all()


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: axial_mask(64, 65), GeometryError, "tokens: expected at most 4,096 tokens"),
        (lambda: causal_mask(4097), GeometryError, "tokens: expected at most 4,096 tokens"),
        (lambda: dilated_mask(2**80, 1, 2), GeometryError, "tokens: expected at most 4,096"),
        (lambda: dilated_mask(3, 5, 0), GeometryError, "step: expected an integer >= 1, got 0"),
        (lambda: local_mask(3, 5, -1), GeometryError, "radius: expected an integer >= 0, got -1"),
        (lambda: with_hubs(np.ones((2, 3), bool)), ShapeError, "mask: expected as many queries"),
        (lambda: with_hubs(True), ShapeError, "mask: expected as many queries as keys"),
        (lambda: with_hubs(np.eye(3)), ValuesError, "mask: expected booleans"),
        (lambda: with_hubs(np.eye(3, dtype=bool), 0), GeometryError, "hubs: expected an integer"),
        (lambda: with_hubs(np.eye(3, dtype=bool), 4094), GeometryError, "tokens: expected at most"),
    ],
)
def test_refused(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value).startswith(message)
