"""Commutants by orbits, by their equations, by Burnside's count; formulas against them; multisets."""

from itertools import combinations_with_replacement, product
from math import comb, prod

import numpy as np
import pytest
import sympy
from flint import fmpz_mat
from hypothesis import given
from hypothesis import strategies as st

from vitbias.errors import GeometryError, ShapeError
from vitbias.exact_attention import exact_attention
from vitbias.orbits import (
    commutant_basis,
    commutant_dimension,
    commutation_nullity,
    exchangeable_dimension,
    grid_dimension,
    layer_params,
    multisets,
    pair_orbits,
    point_orbits,
)
from vitbias.symmetry import compose, inverse, permutation_matrix

SWAP, CYCLE = (1, 0, 2), (1, 2, 0)


def every_order(points, fixed=0):
    """Generators of all permutations of the last points, R in front fixed."""
    if points == 1:
        return []
    front, total = range(fixed), fixed + points
    return [
        (*front, *range(fixed + 1, total), fixed),
        (*front, fixed + 1, fixed, *range(fixed + 2, total)),
    ]


def moves_of_a_grid(rows, columns):
    grid = np.arange(rows * columns).reshape(rows, columns)
    return [np.roll(grid, 1, axis).ravel() for axis in (0, 1)], grid


def equations_nullity(generators, points):
    """The null space of A -> (AΠ - ΠA)_Π, by flint, from Kronecker products."""
    eye = np.eye(points, dtype=int)
    rows = [np.zeros((1, points**2), int)]
    for perm in generators:
        matrix = np.zeros((points, points), int)
        for i, j in enumerate(perm):
            matrix[i, j] = 1
        # row-major: vec(AΠ) = (I ⊗ Π^T) vec A, vec(ΠA) = (Π ⊗ I) vec A
        rows.append(np.kron(eye, matrix.T) - np.kron(matrix, eye))
    return points**2 - fmpz_mat(np.concatenate(rows).tolist()).rank()


def burnside(generators, points):
    """Orbits on pairs = mean over the group of (number of fixed points)²."""
    group, frontier = {tuple(range(points))}, [tuple(range(points))]
    while frontier:
        element = frontier.pop()
        for generator in generators:
            image = tuple(element[i] for i in generator)
            if image not in group:
                group.add(image)
                frontier.append(image)
    total = sum(sum(i == p for i, p in enumerate(g)) ** 2 for g in group)
    assert total % len(group) == 0
    return total // len(group)


@given(
    st.integers(1, 6).flatmap(
        lambda points: st.tuples(
            st.just(points), st.lists(st.permutations(range(points)), max_size=3)
        )
    )
)
def test_commutant_against_its_equations_and_burnside(case):
    points, generators = case
    dimension = commutant_dimension(generators, points)
    assert type(dimension) is int
    assert dimension == commutation_nullity(generators, points)
    assert dimension == equations_nullity(generators, points) == burnside(generators, points)
    more = [*generators, *([compose(generators[0], generators[-1])] if generators else [])]
    assert commutant_dimension(more, points) == dimension
    relabel = tuple(range(points))[::-1]
    moved = [compose(compose(relabel, g), relabel) for g in generators]
    assert commutant_dimension(moved, points) == dimension
    assert commutant_dimension([inverse(g) for g in generators], points) == dimension


def test_the_commutation_equations_in_sympy():
    for generators in ([SWAP], [CYCLE], [SWAP, CYCLE]):
        entries = sympy.symbols("a:9")
        a = sympy.Matrix(3, 3, entries)
        equations = [
            equation
            for perm in generators
            for equation in a * sympy.Matrix(permutation_matrix(perm).tolist())
            - sympy.Matrix(permutation_matrix(perm).tolist()) * a
        ]
        system, _ = sympy.linear_eq_to_matrix(equations, entries)
        assert commutant_dimension(generators, 3) == 9 - system.rank()


@pytest.mark.parametrize("points", [2, 3, 5, 7, 11, 13])
def test_commutants_that_are_known(points):
    cycle = (*range(1, points), 0)
    swap = (1, 0, *range(2, points))
    flip = tuple(-i % points for i in range(points))
    assert commutant_dimension([], points) == points**2
    assert commutant_dimension([tuple(range(points))], points) == points**2
    assert commutant_dimension([cycle], points) == points
    assert commutant_dimension([cycle, flip], points) == points // 2 + 1
    assert commutant_dimension([cycle, swap], points) == 2
    assert commutant_dimension([swap], points) == (points - 2) ** 2 + 2 * (points - 2) + 2
    assert commutant_dimension(iter([cycle, swap]), np.int8(points)) == 2


@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (3, 5), (5, 7)])
def test_cyclic_shifts_of_a_grid(rows, columns):
    grid = np.arange(rows * columns).reshape(rows, columns)
    down, right = (np.roll(grid, 1, axis).ravel() for axis in (0, 1))
    assert commutant_dimension([down, right], rows * columns) == rows * columns
    assert commutant_dimension([down], rows * columns) == rows * columns**2


def test_long_chains_are_followed_to_the_end():
    """A cycle of many points joins labels over many rounds."""
    points = 101
    order = np.random.default_rng(7).permutation(points)
    cycle = np.empty(points, int)
    cycle[order] = np.roll(order, 1)
    assert commutant_dimension([cycle], points) == points


@pytest.mark.parametrize(
    ("generators", "points", "kind", "message"),
    [
        (
            [],
            4097,
            GeometryError,
            "points: expected at most 4,096 points, for a number for each pair",
        ),
        ([], 2**80, GeometryError, "points: expected at most 4,096 points"),
        ([], 0, GeometryError, "points: expected an integer >= 1, got 0"),
        ([], 3.0, GeometryError, "points: expected an integer >= 1, got 3.0; write 3"),
        (5, 3, ShapeError, "generators: expected a sequence, got 5"),
        ("abc", 3, ShapeError, "generators: expected a sequence, got 'abc'"),
        ((1, 0, 2), 3, ShapeError, "perm: expected a sequence, got 1"),
        ([(1, 0), (0, 0)], 2, GeometryError, "perm: expected each of 0 to 1 once, got (0, 0)"),
        ([(1, 0)], 3, GeometryError, "perm: expected 3 points, got 2 points"),
    ],
)
def test_groups_that_are_refused(generators, points, kind, message):
    functions = [commutant_dimension, pair_orbits, point_orbits, commutant_basis]
    for function in [*functions, commutation_nullity]:
        with pytest.raises(kind) as caught:
            function(generators, points)
        assert str(caught.value).startswith(message)


@pytest.mark.parametrize("fixed", [0, 1, 2, 5])
@pytest.mark.parametrize("points", [1, 2, 3, 5])
def test_points_in_any_order_beside_fixed_ones(points, fixed):
    found = commutant_dimension(every_order(points, fixed), fixed + points)
    assert found == exchangeable_dimension(points, fixed)
    assert found == commutation_nullity(every_order(points, fixed), fixed + points)
    labels = point_orbits(every_order(points, fixed), fixed + points)
    assert labels.tolist() == [*range(fixed), *[fixed] * points]


@pytest.mark.parametrize("side", range(1, 9))
def test_squares_flips_and_shifts(side):
    shifts, grid = moves_of_a_grid(side, side)
    points, flip = side * side, grid[::-1].ravel()
    square = [*shifts, flip, grid.T.ravel()]
    assert commutant_dimension(shifts, points) == grid_dimension(side, side)
    assert commutant_dimension([*shifts, flip], points) == grid_dimension(side, side, flip=True)
    assert commutant_dimension(square, points) == grid_dimension(side, side, square=True)
    if points <= 16:
        assert commutation_nullity(square, points) == grid_dimension(side, side, square=True)


@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (3, 5), (4, 3), (5, 1)])
def test_grids_that_are_no_squares(rows, columns):
    shifts, grid = moves_of_a_grid(rows, columns)
    points = rows * columns
    assert commutant_dimension(shifts, points) == grid_dimension(rows, columns)
    flipped = commutant_dimension([*shifts, grid[::-1].ravel()], points)
    assert flipped == grid_dimension(rows, columns, flip=True)


def test_turns_and_flips_alone():
    for side, wanted in ((14, 4851), (13, 3655)):
        _, grid = moves_of_a_grid(side, side)
        assert commutant_dimension([grid[::-1].ravel(), grid.T.ravel()], side * side) == wanted


def test_a_square_needs_equal_sides():
    with pytest.raises(GeometryError, match=r"^width: expected the height, 3, got 5"):
        grid_dimension(3, 5, square=True)


def test_formulas_take_symbols():
    n, r, g, k = sympy.symbols("n r g k", integer=True, positive=True)
    for value in (1, 2, 7):
        assert exchangeable_dimension(n, r).subs({n: value, r: 3}) == exchangeable_dimension(
            value, 3
        )
        square = grid_dimension(g, g, square=True).subs(g, value)
        assert square == grid_dimension(value, value, square=True)
        assert multisets(n, k).subs({n: value, k: 5}) == multisets(value, 5)
    assert layer_params(n, r, g, k) == n * g * k + r * k


@given(
    st.integers(1, 5).flatmap(
        lambda points: st.tuples(
            st.just(points), st.lists(st.permutations(range(points)), max_size=2)
        )
    )
)
def test_the_basis_is_one(case):
    points, generators = case
    basis = commutant_basis(generators, points)
    label = pair_orbits(generators, points)
    assert len(basis) == commutant_dimension(generators, points)
    assert (basis.sum(axis=0) == 1).all() and (basis.max(axis=(1, 2)) == 1).all()
    assert (np.tensordot(np.arange(len(basis)), basis, 1) == label).all()
    firsts = [label.ravel().tolist().index(orbit) for orbit in range(len(basis))]
    assert firsts == sorted(firsts)
    for perm, matrix in product(generators, basis):
        moved = permutation_matrix(perm)
        assert (matrix @ moved == moved @ matrix).all()


def test_points_and_their_biases():
    assert point_orbits([(1, 0, 2, 4, 3)], 5).tolist() == [0, 0, 1, 2, 2]
    assert point_orbits([], 3).tolist() == [0, 1, 2]
    # unknowns: weights 2 x 3 for each pair of points, biases 3 for each point
    generators, points, d_in, d_out = [(1, 0, 2)], 3, 2, 3
    pairs = commutant_dimension(generators, points)
    biases = int(point_orbits(generators, points).max()) + 1
    moved = permutation_matrix(generators[0])
    linear = np.kron(np.kron(moved, moved), np.eye(d_in * d_out, dtype=int)) - np.eye(54, dtype=int)
    offset = np.kron(moved, np.eye(d_out, dtype=int)) - np.eye(9, dtype=int)
    solved = 54 + 9 - fmpz_mat(linear.tolist()).rank() - fmpz_mat(offset.tolist()).rank()
    assert layer_params(pairs, biases, d_in, d_out) == solved
    assert layer_params(2, 0, 3, 5) == 30


@pytest.mark.parametrize("kinds", range(1, 5))
@pytest.mark.parametrize("tokens", range(1, 6))
def test_multisets_by_listing(tokens, kinds):
    listed = {tuple(sorted(word)) for word in product(range(kinds), repeat=tokens)}
    assert multisets(tokens, kinds) == len(listed)
    assert len(listed) == len([*combinations_with_replacement(range(kinds), tokens)])


def test_multisets_that_are_known():
    assert multisets(196, 2) == 197
    assert multisets(196, 256) == comb(451, 196) == comb(451, 255)
    assert multisets(10**30, 3) == (10**30 + 2) * (10**30 + 1) // 2
    assert multisets(3, 10**30) == prod(10**30 + i for i in range(3)) // 6
    with pytest.raises(
        GeometryError, match=r"^tokens: expected min\(tokens, kinds - 1\) at most 16,384"
    ):
        multisets(16_385, 16_386)


def test_a_mean_of_attention_reads_frequencies():
    maps = np.array([[[1, 2], [0, 1]], [[1, -1], [2, 0]], [[3, 0], [1, 1]]])

    def read(x):
        rows = exact_attention(*(x @ m for m in maps))
        return (rows.sum(axis=0) / len(rows)).tolist()

    tokens = np.array([[1, 0], [0, 1], [0, 1]])
    assert read(tokens) == read(np.repeat(tokens, 2, axis=0)) == read(np.tile(tokens, (3, 1)))
    assert read(tokens) != read(np.array([[1, 0], [1, 0], [0, 1]]))


@pytest.mark.parametrize("function", [commutation_nullity, commutant_basis])
def test_sizes_that_are_refused(function):
    limit = {commutation_nullity: 17, commutant_basis: 65}[function]
    with pytest.raises(GeometryError, match=r"^points: expected at most .*; "):
        function([], limit)
    assert commutation_nullity([], 3) == 9
