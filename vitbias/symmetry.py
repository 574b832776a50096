"""Permutations and equivariance defects.

Notation: a permutation of N points is written as the tuple perm of its images; Π is its matrix.

Convention: row i of ΠX is row perm[i] of X, so Π[i, perm[i]] = 1 and (ΠMΠ^T)[i, j] = M[perm[i], perm[j]].

Source: equation 2 of the review for the defect.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import permutations as _permutations
from typing import Any

import numpy as np

from vitbias.arrays import Array, as_array
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    ValuesError,
    describe,
    require_sequence,
    require_size,
)

__all__ = [
    "compose",
    "equivariance_defect",
    "generated",
    "inverse",
    "permutation_matrix",
    "permutations",
    "permute",
    "require_permutation",
]

Permutation = tuple[int, ...]
MOST_ENUMERATED_POINTS = 8
MOST_PAIRED_POINTS = 4096  # 128 MiB for one integer of each pair


def require_permutation(perm: Any, points: int | None = None) -> Permutation:
    """``perm`` as a tuple of ints that holds each of 0…N-1 once.

    Raises
    ------
    GeometryError : not a permutation, or of another number of points
    ShapeError : no sequence
    """
    images = tuple(
        require_size("perm", image, minimum=0) for image in require_sequence("perm", perm)
    )
    if not images:
        raise GeometryError("perm", expected="at least one point", got=images)
    if sorted(images) != list(range(len(images))):
        raise GeometryError("perm", expected=f"each of 0 to {len(images) - 1} once", got=images)
    if points is not None and len(images) != require_size("points", points, minimum=0):
        raise GeometryError(
            "perm", expected=f"{describe(points)} points", got=Literal(f"{len(images)} points")
        )
    return images


def permutations(points: int) -> Iterator[Permutation]:
    """All N! permutations of N points, N at most 8 (40,320 of them), in lexicographic order.

    Raises
    ------
    GeometryError
    """
    return _permutations(range(_enumerable(points)))


def generated(generators: Iterable[Sequence[int]], points: int) -> frozenset[Permutation]:
    """All permutations that products of the generators reach, the identity included; N at most 8.

    >>> sorted(generated([(1, 2, 0)], 3))
    [(0, 1, 2), (1, 2, 0), (2, 0, 1)]

    Raises
    ------
    GeometryError, ShapeError
    """
    points = _enumerable(points)
    moves = [
        require_permutation(perm, points) for perm in require_sequence("generators", generators)
    ]
    found: set[Permutation] = {tuple(range(points))}
    fresh = set(found)
    while fresh:
        fresh = {compose(perm, move) for perm in fresh for move in moves} - found
        found |= fresh
    return frozenset(found)


def compose(first: Any, second: Any) -> Permutation:
    """The permutation with matrix Π_second Π_first: permute by ``first``, then by ``second``.

    >>> compose((1, 2, 0), (0, 2, 1))
    (1, 0, 2)

    Raises
    ------
    GeometryError
    """
    first = require_permutation(first)
    second = require_permutation(second, len(first))
    return tuple(first[image] for image in second)


def inverse(perm: Any) -> Permutation:
    """The permutation with matrix Π^T.

    Raises
    ------
    GeometryError
    """
    images = require_permutation(perm)
    back = [0] * len(images)
    for position, image in enumerate(images):
        back[image] = position
    return tuple(back)


def permutation_matrix(perm: Any) -> Array:
    """Π, (N, N) integers: row i has its 1 in column perm[i]; N at most 4,096.

    Raises
    ------
    GeometryError
    """
    images = require_permutation(perm)
    require_few(len(images))
    return np.eye(len(images), dtype=np.int64)[list(images)]


def permute(tokens: Any, perm: Any) -> Array:
    """ΠX for X of shape (N, …): a copy whose row i is row perm[i] of X.

    Raises
    ------
    GeometryError, ShapeError
    """
    array = as_array("tokens", tokens)
    if array.ndim == 0:
        raise ShapeError("tokens", expected="an axis of tokens", got=Literal("a single value"))
    return array[list(require_permutation(perm, len(array)))]


def equivariance_defect(function: Callable[[Array], Any], tokens: Any, perm: Any) -> Any:
    """max |f(ΠX) - Π f(X)| over all entries, in the arithmetic of f (0 exactly for fractions).

    Integers and truth values are subtracted as Python integers: nothing wraps around.

    Parameters
    ----------
    function : (N, …) to (N, …); tokens : (N, …)

    Raises
    ------
    ShapeError : f changes the number of tokens, so Π does not act on its values
    ValuesError : f is no function, or returns no numbers, NaN or infinity; a defect would be meaningless
    GeometryError
    """
    if not callable(function):
        raise ValuesError("function", expected="a function", got=function)
    array = as_array("tokens", tokens)
    moved_first = _numbers("f(ΠX)", function(permute(array, perm)))
    plain = _numbers("f(X)", function(array.copy()))  # f may work in place
    if plain.ndim == 0 or len(plain) != len(array) or plain.shape != moved_first.shape:
        got = Literal(f"shapes {array.shape} to {plain.shape}")
        raise ShapeError("function", expected="as many rows out as in", got=got)
    return abs(moved_first - permute(plain, perm)).max()


def _enumerable(points: Any) -> int:
    number = require_size("points", points)
    if number > MOST_ENUMERATED_POINTS:
        expected = f"at most {MOST_ENUMERATED_POINTS} points"
        raise GeometryError("points", expected=expected, got=number, hint="generators suffice")
    return number


def require_few(points: int) -> None:
    if points > MOST_PAIRED_POINTS:
        expected = f"at most {MOST_PAIRED_POINTS:,} points, for a number for each pair"
        raise GeometryError("points", expected=expected, got=points)


def _numbers(name: str, value: Any) -> Array:
    """What f returned, as floats, complex numbers or exact objects; nothing that wraps around."""
    values = as_array(name, value)
    if values.size == 0:
        raise ShapeError(name, expected="at least one entry", got=Literal(f"shape {values.shape}"))
    if values.dtype.kind not in "biufcO":
        raise ValuesError(name, expected="numbers", got=values)
    if values.dtype.kind in "biu":
        values = values.astype(object)
    try:
        with np.errstate(invalid="ignore"):
            finite = np.all(values - values == 0)  # inf - inf is NaN; symbols and fractions give 0
    except TypeError:
        raise ValuesError(name, expected="numbers", got=values) from None
    if not finite:
        raise ValuesError(name, expected="finite numbers", got=values)
    return values
