"""Rational twins: pictures in a box, other pictures in the same box, and exactly the same tokens.

Notation: E (d x D) of integers, fractions or floats, which count as the dyadic rationals that they are;
x a patch, t a target; v_1…v_k null vectors of E. The twin of x is x + r·(c_1 v_1 + … + c_k v_k).

Method: in floats, the differences t - x are projected on the null space and their k leading directions
found. Each direction is then made exact: its free coordinates are rounded to multiples of 2^-44 and the
coordinates of an invertible minor solved for in rationals. The coefficients c are dyadic, and r in [0, 1]
is the longest step that stays in the box. So floats choose where to go; that E v = 0 is exact.

Convention: all numbers share one denominator of some thousand bits. A picture of 8 bits can hold none of
them: what a screen shows is the rounded twin, whose tokens differ (``rounding_drift``).

Source: Cramer's rule, by p-adic lifting (Dixon, Numerische Mathematik 40 (1982)) in FLINT.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from vitbias.arrays import Array, require_in_range, require_integers
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    ValuesError,
    require_instance,
    require_size,
)
from vitbias.lattice import integer_product
from vitbias.rank import (
    LARGEST_PRIME,
    flint_matrix,
    integer_rows,
    pivots_modulo,
    primes_below,
)

__all__ = ["RationalTwins", "RoundingDrift", "rational_twins", "rounding_drift"]

BITS = 44  # of the free coordinates and of the coefficients
WIDEST = 2**64  # of the box; floats have to hold it
MARGIN = 2.0**-20  # of a step; the twins stay that far off the edges


@dataclass(frozen=True)
class RationalTwins:
    """m patches and their twins: E first = E (second / denominator), exactly.

    first (m, D), second (m, D) numerators and denominator are Python integers; reached (m,) is the
    share r of the wished step, a float for information.
    """

    first: Array
    second: Array
    denominator: int
    reached: Array


@dataclass(frozen=True)
class RoundingDrift:
    """Twins rounded to integers, and how far their tokens are from the tokens of the first patches.

    rounded (m, D); largest = max |E rounded - E first|; token = max |E first|; changed of ``values`` token
    values differ. All exact.
    """

    rounded: Array
    largest: Fraction
    token: Fraction
    changed: int
    values: int


def rational_twins(
    weight: Any,
    patches: Any,
    targets: Any,
    *,
    directions: int = 16,
    low: int = 0,
    high: int = 255,
) -> RationalTwins:
    """Patches with values in low…high and exactly the tokens of ``patches``, on the way to ``targets``.

    Parameters
    ----------
    weight : (d, D) integers, fractions or floats; patches, targets : (m, D) integers in low…high
    directions : k, how many null vectors all patches share; at most m and D - rank E are used

    Raises
    ------
    GeometryError : E is injective, or ``directions`` < 1
    ShapeError, ValuesError
    """
    rows = integer_rows(weight)
    axes = f"patches {rows.shape[1]}"
    first = require_in_range("patches", patches, axes, low, high)
    goal = require_in_range("targets", targets, axes, low, high)
    if first.shape != goal.shape:
        raise ShapeError(
            "targets", expected=f"shape {first.shape}", got=Literal(f"shape {goal.shape}")
        )
    low, high = (
        require_integers(name, limit, "").item() for name, limit in (("low", low), ("high", high))
    )
    if high - low > WIDEST:
        raise ValuesError("high", expected=f"at most low + {WIDEST}", got=high)
    count = require_size("directions", directions)
    scaled = _unit_rows(rows)
    wishes = _off_row_space(scaled, (goal - first).astype(float))
    left, sizes, right = np.linalg.svd(wishes, full_matrices=False)
    vectors, denominator = _null_vectors_near(rows, scaled, right[:count])
    shares = left[:, : len(vectors)] * sizes[: len(vectors)]
    moves = shares @ _as_floats(vectors, denominator)
    reached = _longest_steps((first - low).astype(float), moves, float(high - low))
    steps = np.ldexp(reached[:, None] * shares, BITS)
    common = denominator << BITS
    second = first * common + integer_product(_integers(np.rint(steps)), vectors)
    outside = ((second < low * common) | (second > high * common)).any(axis=1)
    second[outside], reached[outside] = first[outside] * common, 0.0  # at an edge within rounding
    return RationalTwins(first, second, common, reached)


def rounding_drift(weight: Any, twins: RationalTwins) -> RoundingDrift:
    """What is left of the collision once the twins are rounded to whole values (halves up).

    Raises
    ------
    GeometryError : a denominator below 1
    ShapeError, ValuesError
    """
    twins = require_instance("twins", twins, RationalTwins)
    rows = integer_rows(weight)
    first = require_integers("first", twins.first, "patches raw")
    count, raw = first.shape
    second = require_integers("second", twins.second, f"{count} {raw}")
    denominator = require_size("denominator", twins.denominator)
    if rows.shape[1] != raw:
        got = Literal(f"shape {rows.shape}")
        raise ShapeError("weight", expected=f"axes (width, {raw})", got=got)
    scales = [_scale(*pair) for pair in zip(rows, np.array(weight, dtype=object), strict=True)]
    rounded = (2 * second + denominator) // (2 * denominator)
    change = abs(integer_product(rounded - first, rows.T))
    tokens = abs(integer_product(first, rows.T))
    largest, token = (
        max(Fraction(int(top)) / scale for top, scale in zip(part.max(axis=0), scales, strict=True))
        for part in (change, tokens)
    )
    return RoundingDrift(rounded, largest, token, int((change != 0).sum()), change.size)


def _scale(row: Array, given: Array) -> Fraction:
    """By how much ``integer_rows`` has multiplied a row; 1 for a row of zeros."""
    for entry, old in zip(row, given, strict=True):
        if entry:
            exact = old.item() if isinstance(old, np.generic) else old
            return Fraction(int(entry)) / Fraction(exact)
    return Fraction(1)


def _unit_rows(rows: Array) -> Array:
    """Rows as floats of size about 1, whatever the size of their integers."""
    bits = [max(int(abs(row).max()).bit_length() - 60, 0) for row in rows]
    short = np.array([[int(x) >> b for x in row] for row, b in zip(rows, bits, strict=True)], float)
    largest = np.abs(short).max(axis=1, keepdims=True)
    return np.asarray(short / np.where(largest, largest, 1))


def _off_row_space(scaled: Array, wishes: Array) -> Array:
    """Orthogonal projection on the null space, in floats."""
    _, sizes, right = np.linalg.svd(scaled, full_matrices=False)
    basis = right[sizes > sizes[0] * 1e-12]
    return np.asarray(wishes - (wishes @ basis.T) @ basis)


def _null_vectors_near(rows: Array, scaled: Array, wished: Array) -> tuple[Array, int]:
    """Exact null vectors near the wished ones: numerators (k, D) and one denominator.

    A prime only chooses rows and columns. A minor that is invertible modulo it is invertible; if the rank
    were larger than modulo the prime, another row would not vanish on the vectors: the next prime is taken.
    """
    order = np.array(_far_from_dependent(scaled))
    more = primes_below(LARGEST_PRIME)
    while True:
        pivots, kept = _invertible_minor(rows, order, next(more))
        free = np.setdiff1d(order, pivots)
        if not len(free):  # full rank modulo a prime is full rank
            raise GeometryError(
                "weight", expected="a projection with a null space", got=Literal("nullity 0")
            )
        near = wished[: len(free)]
        grid = _integers(np.rint(np.ldexp(near[:, free], BITS)))
        vectors, common = np.empty(near.shape, dtype=object), 1
        if len(pivots):
            minor = flint_matrix(rows[np.ix_(kept, pivots)])
            right = flint_matrix(integer_product(rows[np.ix_(kept, free)], -grid.T))
            solved, common = minor.solve(right).numer_denom()
            vectors[:, pivots] = _integers(solved.tolist()).T
        vectors[:, free] = grid * int(common)
        if not integer_product(rows, vectors.T).any():
            return vectors, int(common) << BITS


def _invertible_minor(rows: Array, order: Array, prime: int) -> tuple[Array, Array]:
    """Columns, taken in the given order, and rows of a largest minor that the prime does not divide."""
    columns = order[pivots_modulo(flint_matrix(rows[:, order]), prime)]
    if not len(columns):
        return columns, columns
    return columns, np.array(pivots_modulo(flint_matrix(rows[:, columns].T), prime))


def _far_from_dependent(scaled: Array) -> list[int]:
    """All columns, first those that an elimination with the largest remainder as pivot takes."""
    order, rest = [], scaled.copy()
    for _ in range(min(rest.shape)):
        lengths = (rest**2).sum(axis=0)
        column = int(lengths.argmax())
        if lengths[column] < 1e-18:
            break
        unit = rest[:, column] / np.sqrt(lengths[column])
        rest = rest - np.outer(unit, unit @ rest)
        order.append(column)
    return list(dict.fromkeys([*order, *range(scaled.shape[1])]))


def _as_floats(vectors: Array, denominator: int) -> Array:
    try:
        return np.array([[entry / denominator for entry in row] for row in vectors.tolist()])
    except OverflowError:
        expected = "null vectors within the range of floats"
        raise ValuesError("weight", expected=expected, got=Literal("larger ones")) from None


def _longest_steps(above: Array, moves: Array, widest: float) -> Array:
    """The largest r in [0, 1] for each row with 0 <= above + r·move <= widest, less a margin."""
    room = np.where(moves > 0, widest - above, above)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(moves, room / np.abs(moves), np.inf)
    return np.asarray(np.minimum(shares.min(axis=1), 1.0) * (1 - MARGIN))


def _integers(rows: Any) -> Array:
    return np.array([[int(entry) for entry in row] for row in rows], dtype=object)
