"""The permutations that leave a matrix, or several at once, as they are, counted exactly.

An automorphism of an N x N matrix M is a permutation with M[perm[i], perm[j]] = M[i, j] for all i, j, that is
ΠMΠ^T = M. M may hold masks, biases, distances or, on its diagonal, colours of the points. Attention with the
mask M commutes with Π for all contents exactly when Π is an automorphism of M.

Notation: a cell is a set of points that may be exchanged freely (``interchangeable``). Aut(M) is the product
of the S_|cell|, times the automorphisms Γ of the cells with their sizes: the group is a semidirect product,
and its order the product of both.

Convention: two entries are equal when their values are; floats are compared to the last bit, so entries that
are equal in theory only have to be rounded first.

Method: cells are found first, and the search runs on one point of each. The order of Γ is the product of the
orbits' lengths along the chain of stabilisers (of nothing, of point 0, of points 0 and 1, …). Whether a
point can go to another is decided by search, and permutations found on the way merge orbits, so that few
searches are needed. The search is exact, and fast where the matrix has many different entries; a matrix made
to be hard (a strongly regular graph, say) can take very long.

Source: orbit–stabiliser theorem; the chain is that of Sims (1970). Wreath products of equal windows and the
cells of a shifted pair follow from the definition.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import factorial, prod
from typing import Any

import numpy as np

from vitbias.arrays import Array, as_array, require_array, require_fractions
from vitbias.errors import GeometryError, Literal, ShapeError, require_sequence, require_size
from vitbias.symmetry import Permutation
from vitbias.windows import require_window

__all__ = ["Automorphisms", "automorphisms", "interchangeable", "partition_order", "shifted_order"]

MOST_POINTS = 256
MOST_CASES = 50_000  # partial permutations to try; matrices made to be hard would need far more


@dataclass(frozen=True)
class Automorphisms:
    """The group of all automorphisms: how many, and permutations whose products are all of them."""

    order: int
    generators: tuple[Permutation, ...]


def automorphisms(matrix: Any, *more: Any) -> Automorphisms:
    """All permutations with ΠMΠ^T = M for every matrix given, each of shape (N, N), N at most 256.

    >>> automorphisms([[0, 1], [1, 0]])
    Automorphisms(order=2, generators=((1, 0),))

    Parameters
    ----------
    matrix : (N, N) truth values, integers, floats or fractions
    more : further matrices of the same shape, such as the mask of the next layer

    Raises
    ------
    GeometryError : more than 256 points, or a search of more than 50,000 cases
    ShapeError : not square, or of different sizes
    ValuesError
    """
    colours = _joint(matrix, *more)
    cells = _members(_cells(colours))
    first = [cell[0] for cell in cells]
    # a cell as a point: its diagonal holds its size and its two inner colours
    inner = [(len(c), colours[c[0], c[0]], colours[c[0], c[-1]]) for c in cells]
    small = colours[np.ix_(first, first)]
    np.fill_diagonal(small, colours.max() + 1 + np.unique(inner, axis=0, return_inverse=True)[1])
    order, found = _group(small)
    generators = [_lifted(perm, cells) for perm in found]
    for cell in cells:
        for one, other in pairwise(cell):
            images = list(range(len(colours)))
            images[one], images[other] = other, one
            generators.append(tuple(images))
    return Automorphisms(order * prod(factorial(len(cell)) for cell in cells), tuple(generators))


def interchangeable(matrix: Any, *more: Any) -> Array:
    """(N,) integers: the cell of each point, numbered by first member.

    Two points share a cell when their exchange alone is an automorphism of every matrix.

    >>> interchangeable([[1, 1, 0], [1, 1, 0], [0, 0, 1]]).tolist()
    [0, 0, 1]

    Raises
    ------
    GeometryError, ShapeError, ValuesError : as ``automorphisms``
    """
    return _cells(_joint(matrix, *more))


def partition_order(sizes: Sequence[int]) -> int:
    """The order for windows of these sizes, alone: prod_m m!^k_m · k_m!, with k_m windows of m tokens.

    Windows of one size may change places as wholes (S_m wr S_k); windows of different sizes may not.

    >>> partition_order([2, 2]), partition_order([2, 1])
    (8, 2)

    Raises
    ------
    GeometryError : also more than 256 tokens, where the search ends
    ShapeError
    """
    counts = Counter(require_size("sizes", m) for m in require_sequence("sizes", sizes))
    _require_searchable("sizes", sum(m * k for m, k in counts.items()))
    return prod(factorial(m) ** k * factorial(k) for m, k in counts.items())


def shifted_order(height: int, width: int, window: int, shift: int) -> int:
    """The order for a regular layer and its masked shifted one: prod |cell|! · |Γ|.

    The cells are the windows cut by the other layer's, of sides s and w - s. For at least two windows along
    each side, Γ exchanges the axes of a square grid, and reverses an axis where s = w/2: |Γ| is 2, or 8 at
    s = w/2; on a rectangle 1, or 4.

    >>> shifted_order(4, 4, 2, 1), shifted_order(4, 6, 2, 1)
    (8, 4)

    Raises
    ------
    GeometryError : w does not divide a side or covers it, s = 0, or more than 256 tokens
    """
    rows, window, shift = require_window(height, window, shift)
    columns, *_ = require_window(width, window, shift)
    _require_searchable("height", rows * columns)
    for field, side in (("height", rows), ("width", columns)):
        if side == window:
            raise GeometryError(field, expected="at least two windows", got=side)
    if shift == 0:
        hint = "without a shift it is partition_order"
        raise GeometryError("shift", expected="an integer >= 1", got=shift, hint=hint)
    sides = (shift, window - shift)
    windows = rows * columns // window**2
    cells = prod(factorial(a * b) ** windows for a in sides for b in sides)
    turns = (2 if rows == columns else 1) * (4 if 2 * shift == window else 1)
    return int(cells * turns)


def _joint(*matrices: Any) -> Array:
    """One matrix of colours that are equal where all matrices are."""
    joint, *rest = map(_colours, matrices)
    for colours in rest:
        if colours.shape != joint.shape:
            got = Literal(f"shapes {joint.shape} and {colours.shape}")
            raise ShapeError("matrix", expected="matrices of one size", got=got)
        joint = _colours(joint * (int(colours.max()) + 1) + colours)
    return joint


def _cells(colours: Array) -> Array:
    """i and j share a cell if nothing but themselves tells their rows and columns apart."""
    label = np.full(len(colours), -1)
    diagonal = colours.diagonal()
    for i in range(len(colours)):
        if label[i] >= 0:
            continue
        rows, columns = colours != colours[i], colours[:, i] != colours.T
        # the two places where an exchange moves the entry do not count against it
        for differ in (rows, columns):
            differ[:, i] = False
            np.fill_diagonal(differ, False)
        alike = ~(rows | columns).any(axis=1)
        alike &= (diagonal == diagonal[i]) & (colours[i] == colours[:, i])
        label[alike] = label.max() + 1
    return label


def _members(label: Array) -> list[list[int]]:
    return [np.flatnonzero(label == cell).tolist() for cell in range(label.max() + 1)]


def _lifted(perm: Permutation, cells: list[list[int]]) -> Permutation:
    """The permutation of points that sends cells as ``perm`` does, the k-th member to the k-th."""
    images = {
        point: image
        for cell, to in enumerate(perm)
        for point, image in zip(cells[cell], cells[to], strict=True)
    }
    return tuple(images[point] for point in range(len(images)))


def _group(colours: Array) -> tuple[int, list[Permutation]]:
    points = len(colours)
    chain = [_alike(colours)]  # chain[k][i, j]: may i go to j if 0 … k-1 stay
    for point in range(points):
        chain.append(_sent(colours, chain[-1], point, point))
    order, found = 1, list[Permutation]()
    cases = iter(range(MOST_CASES))
    for point in reversed(range(points)):
        orbit, outside = {point}, set[int]()
        for image in map(int, np.flatnonzero(chain[point][point])):
            if image in orbit or image in outside:
                continue
            settled = np.arange(points) <= point
            perm = _completed(colours, _sent(colours, chain[point], point, image), settled, cases)
            if perm is None:
                outside |= _orbit([image], found)
            else:
                found.append(perm)
                orbit = _orbit(orbit, found)
        order *= len(orbit)
    return order, found


def _colours(matrix: Any) -> Array:
    """Integers that are equal where the entries of M are."""
    array = as_array("matrix", matrix)
    if array.dtype.kind == "b":
        array = array.astype(int)
    check = require_fractions if array.dtype.kind == "O" else require_array
    array = check("matrix", array, "points points")
    points = len(array)
    if array.shape != (points, points):
        got = Literal(f"shape {array.shape}")
        raise ShapeError("matrix", expected="as many rows as columns", got=got)
    _require_searchable("matrix", points)
    return np.asarray(np.unique(array, return_inverse=True)[1].reshape(points, points))


def _require_searchable(field: str, points: int) -> None:
    if points > MOST_POINTS:
        raise GeometryError(field, expected=f"at most {MOST_POINTS} points", got=points)


def _alike(colours: Array) -> Array:
    """(N, N) booleans: equal colour on the diagonal, and the same colours in the row."""
    rows = np.concatenate([colours.diagonal()[:, None], np.sort(colours, axis=1)], axis=1)
    kind = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    return np.asarray(kind[:, None] == kind[None, :])


def _sent(colours: Array, allowed: Array, point: int, image: int) -> Array:
    """What is still allowed when ``point`` goes to ``image``, which must itself be allowed."""
    left: Array = allowed & (colours[point][:, None] == colours[image][None, :])
    left[point, :] = left[:, image] = False
    left[point, image] = True
    return left


def _completed(
    colours: Array, allowed: Array, settled: Array, cases: Iterator[int]
) -> Permutation | None:
    """A permutation within ``allowed`` that keeps all colours, if there is one."""
    if next(cases, None) is None:
        expected = f"a matrix that {MOST_CASES:,} cases decide"
        raise GeometryError("matrix", expected=expected, got=Literal("a harder one"))
    choices = allowed.sum(axis=1)
    if not choices.all():
        return None
    if settled.all():
        return tuple(map(int, allowed.argmax(axis=1)))
    point = int(np.where(settled, len(colours) + 1, choices).argmin())
    now = settled | (np.arange(len(colours)) == point)
    for image in map(int, np.flatnonzero(allowed[point])):
        perm = _completed(colours, _sent(colours, allowed, point, image), now, cases)
        if perm is not None:
            return perm
    return None


def _orbit(start: Iterable[int], moves: list[Permutation]) -> set[int]:
    """All points that products of the moves reach; of a finite group, so inverses are among them."""
    reached, fresh = set(start), set(start)
    while fresh:
        fresh = {move[point] for move in moves for point in fresh} - reached
        reached |= fresh
    return reached
