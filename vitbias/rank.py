"""The rank of a matrix, with the evidence for it.

Notation: a matrix of d rows and D columns; rank + nullity = D.

Two certificates. ``"integer"``: Gaussian elimination in integers (python-flint), so the rank is the
rank. ``"numerical"``: singular values above a tolerance, given only when there is a gap around it.

Source: rank-nullity theorem.
"""

from dataclasses import dataclass
from math import inf, lcm
from typing import Any

import numpy as np

from vitbias.arrays import Array, require_array, require_fractions
from vitbias.errors import AmbiguousRankError, Literal, ValuesError

__all__ = ["RankReport", "exact_rank", "integer_rows", "numerical_rank"]

SMALLEST_MARGIN = 1e3


@dataclass(frozen=True)
class RankReport:
    """Rank and nullity of a d x D projection, with the evidence for them.

    ``tolerance``, ``kept``, ``dropped`` and ``gap`` are None under the integer certificate. Under the
    numerical one: the absolute tolerance, the smallest singular value above it, the largest below it
    (0.0 if there is none), and gap = kept / dropped (infinite if there is none). They leave the range of
    floats where the singular values do; rank and gap do not suffer, since the matrix is scaled by a power
    of 2 first.
    """

    rank: int
    nullity: int
    certificate: str
    tolerance: float | None = None
    kept: float | None = None
    dropped: float | None = None
    gap: float | None = None


def numerical_rank(weight: Any, *, rtol: float | None = None) -> RankReport:
    """Rank of a float matrix by its singular values, with tolerance and gap.

    rank = #{s_i > tolerance}, tolerance = rtol · s_1; rtol defaults to max(d, D) times the machine
    epsilon of the matrix's type, a customary bound on the rounding of the singular values.

    Parameters
    ----------
    weight : (d, D) floats or integers
    rtol : relative to the largest singular value; in (0, 1)

    Raises
    ------
    AmbiguousRankError : a singular value lies above the tolerance by less than a factor 1,000, so the
        rank would say more of the tolerance than of the matrix
    ShapeError, ValuesError
    """
    weight = require_array("weight", weight, "width raw")
    native = weight.dtype.newbyteorder("=")
    kind = native if native in (np.float32, np.float64) else np.dtype(np.float64)
    with np.errstate(over="ignore"):  # from longer floats; the check refuses what is not finite
        weight = require_array("weight", weight.astype(kind), "width raw")
    if rtol is None:
        rtol = max(weight.shape) * float(np.finfo(kind).eps)
    if not (isinstance(rtol, float) and 0 < rtol < 1):
        raise ValuesError("rtol", expected="a float between 0 and 1", got=rtol)
    _, exponent = np.frexp(np.abs(weight).max())
    singular = np.linalg.svd(np.ldexp(weight, -exponent), compute_uv=False).astype(float)
    tolerance = rtol * float(singular[0])
    rank = int((singular > tolerance).sum())
    if rank == 0:
        return RankReport(0, weight.shape[1], "numerical", 0.0, None, 0.0, None)
    kept = float(singular[rank - 1])
    dropped = float(singular[rank]) if rank < len(singular) else 0.0
    gap = kept / dropped if dropped else inf
    clear = kept >= SMALLEST_MARGIN * tolerance
    with np.errstate(over="ignore"):
        kept, dropped, tolerance = np.ldexp([kept, dropped, tolerance], exponent).tolist()
    if not clear:
        got = Literal(f"{kept:.3g} kept, {dropped:.3g} dropped, tolerance {tolerance:.3g}")
        raise AmbiguousRankError(
            "weight",
            expected=f"singular values below the tolerance or a factor {SMALLEST_MARGIN:g} above it",
            got=got,
            hint="use exact_rank, or name another rtol",
        )
    return RankReport(rank, weight.shape[1] - rank, "numerical", tolerance, kept, dropped, gap)


def exact_rank(weight: Any) -> RankReport:
    """Rank over the rationals of a (d, D) matrix of integers, fractions or floats.

    Floats count as the dyadic rationals that they are, without rounding.

    Raises
    ------
    ShapeError, ValuesError
    """
    rows = integer_rows(weight)
    rank = int(flint_matrix(rows).rank())
    return RankReport(rank, rows.shape[1] - rank, "integer")


def integer_rows(weight: Any) -> Array:
    """A matrix of Python integers with the same row space: each row times its common denominator.

    Parameters
    ----------
    weight : (d, D) integers, ``fractions.Fraction``, or floats (taken as dyadic rationals)

    Raises
    ------
    ShapeError, ValuesError
    """
    exact = require_fractions("weight", weight, "width raw", floats=True)
    rows = np.empty(exact.shape, dtype=object)
    for index, row in enumerate(exact):
        common = lcm(*(entry.denominator for entry in row))
        rows[index] = [int(entry * common) for entry in row]
    return rows


def flint_matrix(rows: Array) -> Any:
    from flint import fmpz_mat

    return fmpz_mat(rows.tolist())
