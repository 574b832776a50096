"""Permutations as matrices, defects by enumeration."""

from fractions import Fraction
from itertools import permutations as every_order
from itertools import product
from math import factorial

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from sympy.combinatorics import Permutation as SympyPermutation

from vitbias.errors import GeometryError, ShapeError, ValuesError
from vitbias.exact_attention import exact_attention
from vitbias.symmetry import (
    compose,
    equivariance_defect,
    generated,
    inverse,
    permutation_matrix,
    permutations,
    permute,
    require_permutation,
)

PERMUTATIONS = st.integers(1, 7).flatmap(lambda points: st.permutations(range(points)))
PAIRS = st.integers(1, 7).flatmap(lambda points: st.tuples(*[st.permutations(range(points))] * 2))
SWAP, CYCLE = (1, 0, 2), (1, 2, 0)


@pytest.mark.parametrize(
    "perm", [[2, 0, 1], (2, 0, 1), np.array([2, 0, 1], np.uint8), iter([2, 0, 1])]
)
def test_permutations_become_tuples_of_ints(perm):
    images = require_permutation(perm, 3)
    assert images == (2, 0, 1)
    assert type(images) is tuple
    assert all(type(image) is int for image in images)


@pytest.mark.parametrize(
    ("perm", "points", "kind", "message"),
    [
        ((0, 0), None, GeometryError, "perm: expected each of 0 to 1 once, got (0, 0)"),
        ((1, 2), None, GeometryError, "perm: expected each of 0 to 1 once, got (1, 2)"),
        ((0, 2**80), None, GeometryError, "perm: expected each of 0 to 1 once, got (0, 12"),
        ((-1, 0), None, GeometryError, "perm: expected an integer >= 0, got -1"),
        ((1.0, 0), None, GeometryError, "perm: expected an integer >= 0, got 1.0; write 1"),
        ((True, False), None, GeometryError, "perm: expected an integer >= 0, got True"),
        ((), None, GeometryError, "perm: expected at least one point, got ()"),
        ((1, 0), 3, GeometryError, "perm: expected 3 points, got 2 points"),
        ([[0], [1]], None, GeometryError, "perm: expected an integer >= 0, got [0]"),
        (5, None, ShapeError, "perm: expected a sequence, got 5"),
        (None, None, ShapeError, "perm: expected a sequence, got None"),
        ("01", None, ShapeError, "perm: expected a sequence, got '01'"),
        ({0, 1}, None, ShapeError, "perm: expected a sequence, got {0, 1} (set)"),
    ],
)
def test_what_is_no_permutation(perm, points, kind, message):
    calls = [lambda: require_permutation(perm, points)]
    if points is None:
        calls += [
            lambda: inverse(perm),
            lambda: compose(perm, (0, 1)),
            lambda: permutation_matrix(perm),
            lambda: permute(np.zeros((2, 3)), perm),
            lambda: equivariance_defect(abs, np.zeros((2, 3)), perm),
        ]
    else:
        calls += [
            lambda: compose((1, 2, 0), perm),
            lambda: permute(np.zeros((3, 3)), perm),
        ]
    for call in calls:
        with pytest.raises(kind) as caught:
            call()
        assert str(caught.value).startswith(message)


@pytest.mark.parametrize("points", range(1, 8))
def test_all_permutations_once_in_order(points):
    listed = list(permutations(points))
    assert len(set(listed)) == len(listed) == factorial(points)
    assert listed == sorted(listed)
    assert all(sorted(perm) == list(range(points)) for perm in listed)
    assert listed[0] == tuple(range(points))


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (9, "points: expected at most 8 points, got 9; generators suffice"),
        (2**80, "points: expected at most 8 points, got 12089"),
        (0, "points: expected an integer >= 1, got 0"),
        (3.0, "points: expected an integer >= 1, got 3.0; write 3"),
        (True, "points: expected an integer >= 1, got True"),
    ],
)
def test_numbers_of_points_that_are_refused_at_once(points, message):
    with pytest.raises(GeometryError) as caught:
        permutations(points)
    assert str(caught.value).startswith(message)


def test_eight_points_are_allowed():
    assert next(permutations(8)) == tuple(range(8))


@given(PERMUTATIONS)
def test_the_matrix_against_its_definition(perm):
    matrix = permutation_matrix(perm)
    size = range(len(perm))
    assert matrix.dtype == np.int64
    assert matrix.tolist() == [[int(j == perm[i]) for j in size] for i in size]
    x = np.arange(3 * len(perm)).reshape(-1, 3)
    assert np.array_equal(matrix @ x, permute(x, perm))
    assert np.array_equal(matrix @ matrix.T, np.eye(len(perm)))
    m = np.arange(len(perm) ** 2).reshape(len(perm), -1)
    conjugated = matrix @ m @ matrix.T
    assert all(conjugated[i, j] == m[perm[i], perm[j]] for i, j in product(size, size))


@given(PAIRS)
def test_compose_and_inverse_are_those_of_the_matrices(pair):
    first, second = pair
    joined = compose(first, second)
    product_ = permutation_matrix(second) @ permutation_matrix(first)
    assert np.array_equal(permutation_matrix(joined), product_)
    x = np.arange(len(first)) * 10
    assert np.array_equal(permute(permute(x, first), second), permute(x, joined))
    identity = tuple(range(len(first)))
    back = inverse(first)
    assert compose(first, back) == compose(back, first) == identity
    assert np.array_equal(permutation_matrix(back), permutation_matrix(first).T)
    assert inverse(joined) == compose(inverse(second), inverse(first))
    assert compose(identity, first) == compose(first, identity) == tuple(first)


@given(st.tuples(*[st.permutations(range(5))] * 3))
def test_composition_is_associative_and_agrees_with_sympy(three):
    a, b, c = three
    assert compose(compose(a, b), c) == compose(a, compose(b, c))
    # sympy's p*q takes i to q[p[i]]; ours takes i to first[second[i]]
    joined = SympyPermutation(b) * SympyPermutation(a)
    assert tuple(joined.array_form) == compose(a, b)
    assert tuple((~SympyPermutation(a)).array_form) == inverse(a)


def test_permute_copies_any_type_and_any_number_of_axes():
    for x in (
        np.arange(3),
        np.arange(30).reshape(3, 5, 2),
        np.array([Fraction(1, 2), 2, "x"], dtype=object),
        np.array(["b", "a", "c"]),
        np.array([True, False, True]),
    ):
        moved = permute(x, (2, 0, 1))
        assert moved.dtype == x.dtype
        assert [np.array_equal(a, x[i]) for a, i in zip(moved, (2, 0, 1), strict=True)] == [
            True
        ] * 3
        assert not np.shares_memory(permute(x, (0, 1, 2)), x)
    assert permute([[1, 2], [3, 4]], (1, 0)).tolist() == [[3, 4], [1, 2]]


@pytest.mark.parametrize(
    ("tokens", "kind", "message"),
    [
        (5, ShapeError, "tokens: expected an axis of tokens, got a single value"),
        ([[1], [1, 2]], ShapeError, "tokens: expected rows of equal length, got [[1], [1, 2]]"),
        (np.ma.ones((2, 1)), ValuesError, "tokens: expected an array without a mask, got float64"),
        (np.zeros((3, 2)), GeometryError, "perm: expected 3 points, got 2 points"),
        (np.zeros((0, 2)), GeometryError, "perm: expected 0 points, got 2 points"),
    ],
)
def test_tokens_that_are_none(tokens, kind, message):
    for call in (
        lambda: permute(tokens, (1, 0)),
        lambda: equivariance_defect(lambda x: x, tokens, (1, 0)),
    ):
        with pytest.raises(kind) as caught:
            call()
        assert str(caught.value).startswith(message)


def loop_defect(function, tokens, perm):
    moved = function(np.array([tokens[i] for i in perm]))
    plain = function(np.array(tokens))
    pairs = zip(
        np.asarray(moved, object).ravel(),
        np.asarray([plain[i] for i in perm], object).ravel(),
        strict=True,
    )
    return max(abs(a - b) for a, b in pairs)


FUNCTIONS = {
    "rows": lambda x: x * 3 + 1,
    "first weighs more": lambda x: x * np.arange(1, len(x) + 1)[:, None],
    "sum of all": lambda x: x + x.sum(axis=0),
    "running sum": lambda x: np.cumsum(x, axis=0),
    "truth": lambda x: x > np.arange(len(x))[:, None],
    "complex": lambda x: x * np.array([1, 1j, 2])[:, None],
    "halves": lambda x: np.array([[Fraction(int(v), i + 2) for v in r] for i, r in enumerate(x)]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("perm", list(every_order(range(3))))
def test_defects_against_the_loop(name, perm):
    tokens = np.array([[2, 3], [5, 7], [11, 13]])
    defect = equivariance_defect(FUNCTIONS[name], tokens, perm)
    assert defect == loop_defect(lambda x: (FUNCTIONS[name](x)).astype(object), tokens, perm)
    assert (defect == 0) or name not in ("rows", "sum of all")
    if perm == (0, 1, 2):
        assert defect == 0


def test_a_defect_is_exact_in_exact_arithmetic():
    def mostly(x):
        exact = np.array([[Fraction(int(v))] for v in x[:, 0]])
        exact[0] += Fraction(1, 10**40)
        return exact

    defect = equivariance_defect(mostly, np.array([[1], [2], [3]]), SWAP)
    assert defect == Fraction(1, 10**40)
    assert type(defect) is Fraction

    def layer(x):
        return exact_attention(x, x, x)

    tokens = np.array([[1, 2], [3, 5], [-2, 0]])
    assert all(equivariance_defect(layer, tokens, perm) == 0 for perm in permutations(3))
    a, b, c = sympy.symbols("a b c")
    assert equivariance_defect(lambda x: x**2, np.array([a, b, c]), CYCLE) == 0


def test_integers_do_not_wrap():
    tokens = np.array([[0], [255]], np.uint8)
    assert equivariance_defect(lambda x: x * np.array([[1], [0]], np.uint8), tokens, (1, 0)) == 255
    extremes = np.array([[-(2**63)], [2**63 - 1]])
    sign = equivariance_defect(lambda x: np.array([[x[0, 0]], [x[0, 0]]]), extremes, (1, 0))
    assert sign == 2**64 - 1
    assert equivariance_defect(lambda x: x > x.mean(), tokens, (1, 0)) == 0


def test_a_small_defect_is_not_lost():
    def layer(x):
        return x + np.array([[0.0], [1e-9], [0.0]])

    defect = equivariance_defect(layer, np.zeros((3, 2)), SWAP)
    assert defect == 1e-9
    assert equivariance_defect(layer, np.zeros((3, 2)), (2, 1, 0)) == 0


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (
            lambda x: x[:1],
            ShapeError,
            "function: expected as many rows out as in, got shapes (2, 2)",
        ),
        (
            lambda x: x.sum(),
            ShapeError,
            "function: expected as many rows out as in, got shapes (2, 2)",
        ),
        (lambda x: x[:, : int(x[0, 0])], ShapeError, "function: expected as many rows out as in"),
        (lambda x: x[:, :0], ShapeError, "f(ΠX): expected at least one entry, got shape (2, 0)"),
        (lambda x: [[1], [1, 2]], ShapeError, "f(ΠX): expected rows of equal length"),
        (lambda x: x * np.nan, ValuesError, "f(ΠX): expected finite numbers, got float64 array"),
        (lambda x: x / np.array([[1], [0]]), ValuesError, "f(ΠX): expected finite numbers"),
        (lambda x: x * complex("nan"), ValuesError, "f(ΠX): expected finite numbers, got complex"),
        (
            lambda x: np.array([[float("inf")], [1]], dtype=object),
            ValuesError,
            "f(ΠX): expected finite numbers, got object array of shape (2, 1)",
        ),
        (lambda x: x.astype(str), ValuesError, "f(ΠX): expected numbers, got <U"),
        (lambda x: np.zeros((2, 2), "M8[s]"), ValuesError, "f(ΠX): expected numbers, got datetime"),
        (
            lambda x: np.full((2, 2), None),
            ValuesError,
            "f(ΠX): expected numbers, got object array of shape (2, 2)",
        ),
        (lambda x: np.ma.array(x), ValuesError, "f(ΠX): expected an array without a mask"),
        (
            lambda x: x * (np.nan if x[0, 0] == 1 else 1),
            ValuesError,
            "f(X): expected finite numbers, got float64 array",
        ),
    ],
)
def test_functions_whose_defect_means_nothing(function, kind, message):
    tokens = np.array([[1, 2], [2, 5]])
    with np.errstate(divide="ignore"), pytest.raises(kind) as caught:
        equivariance_defect(function, tokens, (1, 0))
    assert str(caught.value).startswith(message)


def test_a_function_that_works_in_place_spoils_nothing():
    tokens = np.array([[1.0], [2.0], [3.0]])

    def halve(x):
        x /= 2
        return x

    assert equivariance_defect(halve, tokens, CYCLE) == 0
    assert tokens.tolist() == [[1], [2], [3]]


def test_an_error_of_the_function_is_its_own():
    with pytest.raises(ZeroDivisionError):
        equivariance_defect(lambda x: 1 // 0, np.zeros((2, 1)), (1, 0))


def test_one_point():
    assert list(permutations(1)) == [(0,)]
    assert permutation_matrix((0,)).tolist() == [[1]]
    assert inverse((0,)) == compose((0,), (0,)) == (0,)
    assert equivariance_defect(lambda x: x + 1, np.zeros((1, 3)), (0,)) == 0


def test_a_matrix_that_would_fill_the_memory_is_refused():
    assert permutation_matrix(range(4096))[4095, 4095] == 1
    with pytest.raises(GeometryError, match=r"^points: expected at most 4,096 points, .* got 4097"):
        permutation_matrix(range(4097))


def test_one_exchange_and_one_cycle_generate_everything():
    for points in range(2, 7):
        exchange, cycle = (1, 0, *range(2, points)), (*range(1, points), 0)
        assert generated([exchange, cycle], points) == set(permutations(points))
        assert len(generated([cycle], points)) == points


def test_a_generated_set_is_a_group():
    group = generated([(1, 2, 3, 0, 4), (3, 2, 1, 0, 4)], 5)
    assert len(group) == 8  # the square's symmetries, one point fixed
    assert {compose(a, b) for a in group for b in group} == group
    assert {inverse(a) for a in group} == group
    assert generated([], 3) == {(0, 1, 2)}


def test_only_few_points_are_enumerated():
    with pytest.raises(GeometryError, match="points: expected at most 8 points, got 9"):
        generated([(1, 0, *range(2, 9))], 9)
    with pytest.raises(GeometryError, match="perm: expected 3 points, got 2 points"):
        generated([(1, 0)], 3)
