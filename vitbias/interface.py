"""The patch interface: what survives the map from pixels to tokens.

Notation: x raw patch, D = P²C values; z = E x token, d values; E the patch projection, d x D (the ViT
paper writes x E with E of D x d). rank E + nullity E = D, and nullity E >= max(0, D - d).

Convention: nullity counts the directions of the D-dimensional patch space that leave no trace in the
token. A bias, a position signal or a normalisation after E cannot bring them back: they see z only.

Source: rank-nullity theorem; equation 1 of the review that this book accompanies.
"""

from dataclasses import dataclass
from math import gcd, lcm
from typing import Any

import numpy as np

from vitbias.arrays import Array, require_fractions, require_in_range, require_integers
from vitbias.errors import GeometryError, Literal, ValuesError
from vitbias.formula import Size, as_size, exact_quotient, maximum
from vitbias.rank import LARGEST_PRIME, flint_matrix, integer_rows, pivots_modulo, primes_below

__all__ = [
    "Collision",
    "collision",
    "fold_normalisation",
    "min_nullity",
    "null_vector",
    "null_vectors",
]


@dataclass(frozen=True)
class Collision:
    """Two different patches with one token: E first = E second = token, exactly."""

    first: Array
    second: Array
    token: Array


def min_nullity(raw: Size, width: Size) -> Any:
    """max(0, D - d), the least nullity of any d x D projection; attained at maximal rank.

    >>> min_nullity(768, 192), min_nullity(768, 768)
    (576, 0)

    Raises
    ------
    GeometryError : a size that is not an integer (D >= 1, d >= 0) or a symbol
    """
    return maximum(0, as_size("raw", raw) - as_size("width", width, minimum=0))


def null_vectors(weight: Any) -> Array:
    """A basis of {v : E v = 0} over the rationals, (nullity, D) Python integers.

    Each vector is primitive (its entries have greatest common divisor 1) and its first nonzero
    entry is positive. No vectors, shape (0, D), when E is injective. Compare spans, never bases: a basis
    is only one of many.

    Raises
    ------
    ShapeError, ValuesError
    """
    rows = integer_rows(weight)
    basis, nullity = flint_matrix(rows).nullspace()
    columns = np.array(basis.tolist(), dtype=object).reshape(rows.shape[1], -1)[:, :nullity]
    vectors = np.empty((nullity, rows.shape[1]), dtype=object)
    for index, column in enumerate(columns.T):
        vectors[index] = _primitive([int(entry) for entry in column])
    return vectors


def null_vector(weight: Any) -> Array:
    """One vector v with E v = 0 over the rationals, (D,) Python integers, primitive; not the whole basis.

    The first column that depends on those before it, modulo a prime, is solved for exactly by the others; the
    first nonzero entry is positive. Fast where ``null_vectors`` is not: a fraction of a second for 192 x 768.

    Raises
    ------
    GeometryError : E is injective
    ShapeError, ValuesError
    """
    rows = integer_rows(weight)
    matrix = flint_matrix(rows)
    raw = rows.shape[1]
    more = primes_below(LARGEST_PRIME)
    while True:
        prime = next(more)
        columns = pivots_modulo(matrix, prime)
        if len(columns) == raw:  # full rank modulo a prime is full rank
            expected = "a projection with a null space"
            raise GeometryError("weight", expected=expected, got=Literal("nullity 0"))
        independent = pivots_modulo(flint_matrix(rows[:, columns].T), prime) if columns else []
        free = next(column for column in range(raw) if column not in {*columns})
        vector = np.zeros(raw, dtype=object)
        vector[free] = 1
        if columns:
            square = flint_matrix(rows[np.ix_(independent, columns)])
            solved = square.solve(flint_matrix(-rows[independent][:, [free]])).entries()
            common = lcm(*(int(entry.q) for entry in solved))
            vector[free] = common
            vector[columns] = [int(entry.p) * (common // int(entry.q)) for entry in solved]
        if not (rows @ vector).any():  # else the prime hid a row
            return np.array(_primitive(vector.tolist()), dtype=object)


def collision(weight: Any, patch: Any, *, low: int = 0, high: int = 255) -> Collision:
    """A second integer patch with values in low…high and exactly the same token, or an error.

    second = patch + v or patch - v for the first basis vector v of ``null_vectors`` for which the values
    stay in range. ``vitbias.lattice`` searches further, for many patches at once.

    Parameters
    ----------
    weight : (d, D) integers; patch : (D,) integers in low…high

    Raises
    ------
    GeometryError : E is injective, or no basis vector fits the range around this patch
    ShapeError, ValuesError
    """
    weight = require_integers("weight", weight, "width raw")
    patch = require_in_range("patch", patch, str(weight.shape[1]), low, high)
    vectors = null_vectors(weight)
    for vector in vectors:
        for second in (patch + vector, patch - vector):
            if all(low <= value <= high for value in second):
                return Collision(patch, second, weight @ patch)
    got = Literal(
        f"{len(vectors)} null vectors, none of which fits" if len(vectors) else "nullity 0"
    )
    raise GeometryError(
        "weight", expected=f"a null vector that stays in {low} to {high} around the patch", got=got
    )


def fold_normalisation(weight: Any, bias: Any, mean: Any, std: Any) -> tuple[Array, Array]:
    """(E', b') with E((x/255 - mean)/std) + b = E' x + b' for raw pixels x in 0…255; exact fractions.

    E' = E/(255·std), b' = b - E (mean/std), mean and std repeated for each pixel, since channels run fastest.
    Floats count as the dyadic rationals that they are; write ``Fraction("0.485")`` for the decimal.

    Parameters
    ----------
    weight : (d, D); bias : (d,); mean, std : (C,) with C a divisor of D and std > 0

    Raises
    ------
    GeometryError : C does not divide D
    ShapeError, ValuesError
    """
    weight = require_fractions("weight", weight, "width raw", floats=True)
    width, raw = weight.shape
    bias = require_fractions("bias", bias, str(width), floats=True)
    mean = require_fractions("mean", mean, "channels", floats=True)
    std = require_fractions("std", std, str(len(mean)), floats=True)
    if min(std) <= 0:
        raise ValuesError("std", expected="numbers > 0", got=min(std))
    pixels = exact_quotient("raw", raw, len(mean))
    shift = np.tile(mean / std, pixels)
    return weight / np.tile(255 * std, pixels), bias - weight @ shift


def _primitive(vector: list[int]) -> list[int]:
    divisor = gcd(*vector)
    sign = next(1 if entry > 0 else -1 for entry in vector if entry)
    return [sign * entry // divisor for entry in vector]
