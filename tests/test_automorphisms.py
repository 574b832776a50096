"""Groups by search against all permutations one by one, and against groups that are known."""

from fractions import Fraction
from itertools import permutations as every_order
from math import factorial, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitbias.automorphisms import (
    Automorphisms,
    automorphisms,
    interchangeable,
    partition_order,
    shifted_order,
)
from vitbias.errors import GeometryError, ShapeError, ValuesError
from vitbias.symmetry import generated
from vitbias.windows import attention_mask, groups


def one_by_one(matrix):
    matrix = np.asarray(matrix)
    return {
        perm
        for perm in every_order(range(len(matrix)))
        if all(
            matrix[perm[i]][perm[j]] == matrix[i][j]
            for i in range(len(matrix))
            for j in range(len(matrix))
        )
    }


MATRICES = st.integers(1, 6).flatmap(
    lambda n: st.lists(
        st.lists(st.integers(0, 1), min_size=n, max_size=n), min_size=n, max_size=n
    ).map(np.array)
)


@given(MATRICES, st.booleans())
def test_the_group_against_all_permutations(matrix, symmetric):
    if symmetric:
        matrix = matrix + matrix.T
    group = automorphisms(matrix)
    wanted = one_by_one(matrix)
    assert group.order == len(wanted)
    assert type(group.order) is int
    assert generated(group.generators, len(matrix)) == wanted


@pytest.mark.parametrize("points", [1, 2, 5, 13])
def test_groups_that_are_known(points):
    line = np.arange(points)
    steps = (line[:, None] - line) % points
    assert automorphisms(np.zeros((points, points))).order == factorial(points)
    assert automorphisms(np.eye(points)).order == factorial(points)
    assert automorphisms(np.diag(line)) == Automorphisms(1, ())
    assert automorphisms(steps).order == points
    ring = np.minimum(steps, steps.T)
    assert automorphisms(ring).order == (2 * points if points > 2 else points)
    assert automorphisms(np.tri(points, dtype=bool)).order == 1
    blocks = np.kron(np.eye(3, dtype=bool), np.ones((points, points), dtype=bool))
    assert automorphisms(blocks).order == factorial(points) ** 3 * 6


def test_two_graphs_whose_points_all_look_alike():
    """The Petersen graph, 120; and a hexagon beside two triangles, where the rows do not tell them apart."""
    pairs = [(i, j) for i in range(5) for j in range(i)]
    petersen = np.array([[not set(p) & set(q) for q in pairs] for p in pairs])
    assert automorphisms(petersen).order == 120
    ring = np.array([[(i - j) % 6 in (1, 5) for j in range(6)] for i in range(6)])
    triangles = np.kron(np.eye(2, dtype=int), 1 - np.eye(3, dtype=int)).astype(bool)
    both = np.block([[ring, np.zeros((6, 6), bool)], [np.zeros((6, 6), bool), triangles]])
    assert automorphisms(both).order == 12 * 72
    # hexagon and triangles take turns, so that the first image that is tried leads nowhere
    turns = np.arange(12).reshape(2, 6).T.ravel()
    assert automorphisms(both[np.ix_(turns, turns)]).order == 12 * 72


def test_the_kinds_of_entries():
    half = Fraction(1, 2)
    assert automorphisms(np.array([[0, half], [half, 0]], dtype=object)).order == 2
    assert automorphisms([[0.0, 0.1], [0.1 + 1e-16, 0.0]]).order == 1
    assert automorphisms([[0.0, 1.0], [-1.0, -0.0]]).order == 1
    assert automorphisms([[2, 1], [1, 2.0]]).order == 2


def test_as_many_points_as_a_grid_of_fourteen():
    row, column = np.divmod(np.arange(196), 14)
    down, right = ((x[:, None] - x) % 14 for x in (row, column))
    group = automorphisms(down * 14 + right)
    assert group.order == 196
    assert len(group.generators) <= 8


@pytest.mark.parametrize(
    ("matrix", "kind", "message"),
    [
        (
            np.zeros((2, 3)),
            ShapeError,
            "matrix: expected as many rows as columns, got shape (2, 3)",
        ),
        (np.zeros(3), ShapeError, "matrix: expected axes (points, points), got shape (3,)"),
        (np.zeros((0, 0)), ShapeError, "matrix: expected axes (points, points), got shape (0, 0)"),
        (np.zeros((257, 257)), GeometryError, "matrix: expected at most 256 points, got 257"),
        ([[np.nan]], ValuesError, "matrix: expected finite numbers, got nan at index (0, 0)"),
        ([["a"]], ValuesError, "matrix: expected integers or floats, got <U1 values"),
    ],
)
def test_matrices_that_are_refused(matrix, kind, message):
    with pytest.raises(kind) as caught:
        automorphisms(matrix)
    assert str(caught.value) == message


def test_a_search_that_grows_beyond_its_limit_ends(monkeypatch):
    # every point of this graph looks like every other
    ring = np.abs(np.subtract.outer(range(11), range(11)))
    ring = (ring == 1) | (ring == 10)
    assert automorphisms(ring).order == 22
    monkeypatch.setattr("vitbias.automorphisms.MOST_CASES", 13)
    with pytest.raises(
        GeometryError, match="matrix: expected a matrix that 13 cases decide, got a harder"
    ):
        automorphisms(ring)


COLOURED = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.sampled_from([0, 1, 1, 1]), min_size=n * n, max_size=n * n).map(
        lambda entries: np.reshape(entries, (n, n))
    )
)


@given(COLOURED)
def test_cells_are_the_exchanges_that_are_automorphisms(matrix):
    wanted, cell = one_by_one(matrix), interchangeable(matrix)
    points = len(matrix)
    for i in range(points):
        for j in range(i):
            exchange = list(range(points))
            exchange[i], exchange[j] = j, i
            assert (cell[i] == cell[j]) == (tuple(exchange) in wanted)
    firsts = [cell.tolist().index(label) for label in range(cell.max() + 1)]
    assert firsts == sorted(firsts)


TABLES = st.integers(1, 5).flatmap(
    lambda n: st.lists(st.integers(0, 1), min_size=2 * n * n, max_size=2 * n * n).map(
        lambda entries: np.reshape(entries, (2, n, n))
    )
)


@given(TABLES)
def test_two_matrices_have_the_common_group(pair):
    first, second = pair
    both = one_by_one(first) & one_by_one(second)
    group = automorphisms(first, second)
    assert group.order == len(both)
    assert generated(group.generators, len(first)) == both
    assert (
        automorphisms(second, first).order == automorphisms(first, second, first).order == len(both)
    )


def test_matrices_of_different_sizes():
    for function in (automorphisms, interchangeable):
        with pytest.raises(ShapeError, match=r"^matrix: expected matrices of one size, got shapes"):
            function(np.eye(2), np.eye(3))


@pytest.mark.parametrize(
    "sizes", [[1], [2, 2], [1, 2], [3, 1, 2], [2, 2, 2], [1, 1, 2, 2], [7, 7, 2]]
)
def test_windows_alone(sizes):
    label = np.repeat(np.arange(len(sizes)), sizes)
    mask = label[:, None] == label
    group = automorphisms(mask)
    assert group.order == partition_order(sizes)
    assert interchangeable(mask).tolist() == label.tolist() or 1 in sizes
    if len(label) <= 6:
        assert group.order == len(one_by_one(mask))


@pytest.mark.parametrize(
    ("height", "width", "window", "shift"),
    [
        *[(4, 4, 2, 1), (6, 6, 2, 1), (6, 6, 3, 1), (9, 9, 3, 2), (8, 8, 4, 1), (8, 8, 4, 2)],
        *[(4, 6, 2, 1), (6, 9, 3, 1), (8, 12, 4, 2), (10, 10, 5, 2), (14, 14, 7, 3), (8, 8, 4, 3)],
    ],
)
def test_a_regular_and_a_shifted_layer(height, width, window, shift):
    masks = [attention_mask(height, width, window, s) for s in (0, shift)]
    group = automorphisms(*masks)
    assert group.order == shifted_order(height, width, window, shift)
    for perm in group.generators:
        assert all((mask[np.ix_(perm, perm)] == mask).all() for mask in masks)


def test_fourteen_by_fourteen():
    masks = [attention_mask(14, 14, 7, s) for s in (0, 3)]
    assert np.bincount(interchangeable(*masks)).tolist().count(12) == 8
    assert round(log2(automorphisms(*masks).order), 2) == 482.56
    unmasked = attention_mask(14, 14, 7, 3, wrap=True)
    assert automorphisms(masks[0], unmasked).order == 4 * automorphisms(*masks).order


def test_a_line_against_all_permutations():
    for side, window, shift in ((4, 2, 1), (6, 3, 1), (6, 2, 1)):
        masks = [
            np.equal.outer(label, label) for label in (groups(side, window, s) for s in (0, shift))
        ]
        wanted = one_by_one(masks[0]) & one_by_one(masks[1])
        assert automorphisms(*masks).order == len(wanted)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((7, 14, 7, 3), "height: expected at least two windows, got 7"),
        ((14, 7, 7, 3), "width: expected at least two windows, got 7"),
        ((14, 14, 7, 0), "shift: expected an integer >= 1, got 0; without a shift"),
        ((14, 14, 7, 7), "shift: expected"),
        ((14, 15, 7, 3), "side: expected a multiple of the window, 7, got 15"),
        ((56, 56, 7, 3), "height: expected at most 256 points, got 3136"),
    ],
)
def test_pairs_of_layers_that_are_refused(arguments, message):
    with pytest.raises(GeometryError) as caught:
        shifted_order(*arguments)
    assert str(caught.value).startswith(message)


def test_windows_that_are_refused():
    with pytest.raises(GeometryError, match=r"^sizes: expected an integer >= 1, got 0"):
        partition_order([2, 0])
    with pytest.raises(GeometryError, match=r"^sizes: expected at most 256 points, got 257"):
        partition_order([257])
    with pytest.raises(ShapeError, match=r"^sizes: expected a sequence, got 3"):
        partition_order(3)
