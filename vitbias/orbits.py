"""The size of a symmetry: how many free parameters it leaves, and how many inputs it merges.

Notation: as in ``vitbias.symmetry``; G a permutation group of N points, given by generators; R points that
every permutation fixes (class, distillation and register tokens); g, or g_h x g_w, the sides of a grid.

The commutant of G is {A in R^(N x N) : AΠ = ΠA for all Π in G}, the linear token mixings that respect G.
A commutes with Π exactly when A[perm[i], perm[j]] = A[i, j] for all i, j: A is constant on the orbits of G
on ordered pairs, and the indicator matrices of the orbits are a basis. So the dimension is the number of
orbits (``commutant_dimension``), or the nullity of the equations themselves (``commutation_nullity``).

Convention: linear maps only. The equivariant maps that are not linear have no finite dimension, whatever G.

Source: the orbit count is standard. For multisets: stars and bars.
"""

from collections.abc import Iterable, Sequence
from math import comb
from typing import Any

import numpy as np

from vitbias.arrays import Array
from vitbias.errors import GeometryError, describe, require_instance, require_sequence, require_size
from vitbias.formula import Size, as_size, is_symbolic, minimum
from vitbias.rank import exact_rank
from vitbias.symmetry import Permutation, permutation_matrix, require_few, require_permutation

__all__ = [
    "commutant_basis",
    "commutant_dimension",
    "commutation_nullity",
    "exchangeable_dimension",
    "grid_dimension",
    "layer_params",
    "multisets",
    "pair_orbits",
    "point_orbits",
]

MOST_SOLVED_POINTS = 16  # N² unknowns, N² equations for each generator
MOST_BASIS_ENTRIES = 2**24
MOST_FACTORS = 2**14


def commutant_dimension(generators: Iterable[Sequence[int]], points: int) -> int:
    """dim {A : AΠ = ΠA for all Π of the group}, by counting orbits on ordered pairs.

    Generators suffice: a matrix that commutes with them commutes with their products. No generators
    means no symmetry, N². Memory grows with N², so N is at most 4,096.

    >>> commutant_dimension([(1, 0, 2), (1, 2, 0)], 3)
    2

    Raises
    ------
    GeometryError, ShapeError
    """
    return int(pair_orbits(generators, points).max()) + 1


def pair_orbits(generators: Iterable[Sequence[int]], points: int) -> Array:
    """(N, N) integers: which orbit of ordered pairs (i, j) is in, numbered from 0 in reading order.

    >>> pair_orbits([(1, 2, 0)], 3).tolist()
    [[0, 1, 2], [2, 0, 1], [1, 2, 0]]

    Raises
    ------
    GeometryError : also more than 4,096 points
    ShapeError
    """
    points, moves = _moves(generators, points)
    pairs = np.arange(points * points).reshape(points, points)
    return _joined([pairs[np.ix_(images, images)].ravel() for images in moves], points**2).reshape(
        points, points
    )


def point_orbits(generators: Iterable[Sequence[int]], points: int) -> Array:
    """(N,) integers: which orbit of points i is in, numbered from 0. A bias may differ between orbits.

    Raises
    ------
    GeometryError, ShapeError
    """
    points, moves = _moves(generators, points)
    return _joined([np.array(images) for images in moves], points)


def commutant_basis(generators: Iterable[Sequence[int]], points: int) -> Array:
    """(dimension, N, N) matrices of 0 and 1, one for each orbit; they sum to the matrix of ones.

    Raises
    ------
    GeometryError : also more than 2²⁴ entries
    ShapeError
    """
    label = pair_orbits(generators, points)
    number = int(label.max()) + 1
    if number * label.size > MOST_BASIS_ENTRIES:
        expected = f"at most {MOST_BASIS_ENTRIES:,} entries of the basis"
        hint = "pair_orbits holds the same in N² numbers"
        raise GeometryError("points", expected=expected, got=number * label.size, hint=hint)
    return np.asarray(label == np.arange(number)[:, None, None]).astype(np.int64)


def commutation_nullity(generators: Iterable[Sequence[int]], points: int) -> int:
    """The same dimension from AΠ - ΠA = 0 itself: N² unknowns, exact elimination, N at most 16.

    >>> commutation_nullity([(1, 0, 2), (1, 2, 0)], 3)
    2

    Raises
    ------
    GeometryError : also more than 16 points
    ShapeError
    """
    points, moves = _moves(generators, points)
    if points > MOST_SOLVED_POINTS:
        expected = f"at most {MOST_SOLVED_POINTS} points, for N² equations"
        hint = "commutant_dimension counts orbits instead"
        raise GeometryError("points", expected=expected, got=points, hint=hint)
    eye = np.eye(points, dtype=np.int64)
    # row by row, AΠ is (1 ⊗ Π^T) a and ΠA is (Π ⊗ 1) a
    equations = [
        np.kron(eye, matrix.T) - np.kron(matrix, eye) for matrix in map(permutation_matrix, moves)
    ]
    return exact_rank(np.concatenate([*equations, np.zeros((1, points**2), np.int64)])).nullity


def exchangeable_dimension(points: Size, fixed: Size = 0) -> Any:
    """R² + 2R + min(N, 2): N points in any order beside R fixed ones.

    Pairs fixed–fixed R², fixed–point and point–fixed R each, point–itself, and point–other if N >= 2.

    >>> exchangeable_dimension(196), exchangeable_dimension(196, 1), exchangeable_dimension(196, 5)
    (2, 5, 37)

    Raises
    ------
    GeometryError
    """
    points, fixed = as_size("points", points), as_size("fixed", fixed, minimum=0)
    return fixed**2 + 2 * fixed + minimum(points, 2)


def grid_dimension(height: Size, width: Size, *, flip: bool = False, square: bool = False) -> Any:
    """Cyclic shifts of a g_h x g_w grid: g_h·g_w, one number for each difference of places.

    ``flip`` adds the reversal of the rows, (⌊g_h/2⌋ + 1)·g_w. ``square`` adds all eight turns and flips
    of a square grid, n(n + 1)/2 with n = ⌊g/2⌋ + 1: both differences up to sign, in either order.

    >>> [grid_dimension(14, 14, **extra) for extra in ({}, {"flip": True}, {"square": True})]
    [196, 112, 36]

    Raises
    ------
    GeometryError : also ``square`` with sides that differ
    ValuesError : ``flip`` or ``square`` is no truth value
    """
    height, width = as_size("height", height), as_size("width", width)
    folded = height // 2 + 1
    flip, square = require_instance("flip", flip, bool), require_instance("square", square, bool)
    if square:
        if height != width:
            raise GeometryError("width", expected=f"the height, {describe(height)}", got=width)
        whole = folded * (folded + 1)
        return whole / 2 if is_symbolic(whole) else whole // 2
    return folded * width if flip else height * width


def layer_params(pairs: Size, points: Size, d_in: Size, d_out: Size) -> Any:
    """d_in·d_out for each orbit of pairs, and d_out biases for each orbit of points [params].

    The equivariant affine maps from N tokens of width d_in to N of width d_out; without a bias points = 0.

    Raises
    ------
    GeometryError
    """
    pairs, points = as_size("pairs", pairs), as_size("points", points, minimum=0)
    d_in, d_out = as_size("d_in", d_in), as_size("d_out", d_out)
    return pairs * d_in * d_out + points * d_out


def multisets(tokens: Size, kinds: Size) -> Any:
    """C(N + K - 1, N), the orbits of all permutations on the K^N sequences of N tokens of K kinds.

    What is blind to order separates at most so many. A network may separate fewer: attention over
    contents followed by a mean reads frequencies, so across N a multiset and its double are one.

    >>> multisets(196, 2), multisets(3, 4)
    (197, 20)

    Raises
    ------
    GeometryError : also integers whose binomial has min(N, K - 1) > 16,384 factors
    """
    tokens, kinds = as_size("tokens", tokens), as_size("kinds", kinds)
    if is_symbolic(tokens, kinds):
        from sympy import binomial

        return binomial(tokens + kinds - 1, tokens)
    factors = min(tokens, kinds - 1)
    if factors > MOST_FACTORS:
        expected = f"min(tokens, kinds - 1) at most {MOST_FACTORS:,}"
        raise GeometryError("tokens", expected=expected, got=factors)
    return comb(tokens + kinds - 1, tokens)


def _moves(generators: Any, points: Any) -> tuple[int, list[Permutation]]:
    points = require_size("points", points)
    require_few(points)
    listed = require_sequence("generators", generators)
    return points, [require_permutation(perm, points) for perm in listed]


def _joined(moves: list[Array], size: int) -> Array:
    """Classes of 0…size-1 when x joins move[x], numbered by their first member."""
    label = np.arange(size)
    while True:
        before = label
        for images in moves:
            moved = label[images]
            low, high = np.minimum(label, moved), np.maximum(label, moved)
            root = np.arange(size)
            np.minimum.at(root, high, low)
            label = root[label]
        if np.array_equal(label, before):
            return np.asarray(np.unique(label, return_inverse=True)[1]).reshape(size)
