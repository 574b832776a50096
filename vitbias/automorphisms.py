"""The permutations that leave a matrix as it is, counted exactly.

An automorphism of an N x N matrix M is a permutation with M[perm[i], perm[j]] = M[i, j] for all i, j, that is
ΠMΠ^T = M. M may hold masks, biases, distances or, on its diagonal, colours of the points.

Convention: two entries are equal when their values are; floats are compared to the last bit, so entries that
are equal in theory only have to be rounded first.

Method: the order is the product of the orbits' lengths along the chain of stabilisers (of nothing, of
point 0, of points 0 and 1, …). Whether a point can go to another is decided by search, and permutations
found on the way merge orbits, so that few searches are needed. The search is exact, and fast where the
matrix has many different entries; a matrix made to be hard (a strongly regular graph, say) can take very
long.

Source: orbit–stabiliser theorem; the chain is that of Sims (1970).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from vitbias.arrays import Array, as_array, require_array, require_fractions
from vitbias.errors import GeometryError, Literal, ShapeError
from vitbias.symmetry import Permutation

__all__ = ["Automorphisms", "automorphisms"]

MOST_POINTS = 256
MOST_CASES = 50_000  # partial permutations to try; matrices made to be hard would need far more


@dataclass(frozen=True)
class Automorphisms:
    """The group of all automorphisms: how many, and permutations whose products are all of them."""

    order: int
    generators: tuple[Permutation, ...]


def automorphisms(matrix: Any) -> Automorphisms:
    """All permutations with ΠMΠ^T = M, for M of shape (N, N), N at most 256.

    >>> automorphisms([[0, 1], [1, 0]])
    Automorphisms(order=2, generators=((1, 0),))

    Parameters
    ----------
    matrix : (N, N) truth values, integers, floats or fractions

    Raises
    ------
    GeometryError : more than 256 points, or a search of more than 50,000 cases
    ShapeError : not square
    ValuesError
    """
    colours = _colours(matrix)
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
    return Automorphisms(order, tuple(found))


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
    if points > MOST_POINTS:
        raise GeometryError("matrix", expected=f"at most {MOST_POINTS} points", got=points)
    return np.asarray(np.unique(array, return_inverse=True)[1].reshape(points, points))


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
