"""The rank of a matrix, with a certificate that says how much of it is proved.

Notation: a matrix of d rows and D columns; rank + nullity = D.

    certificate      what it rests on                                          what is proved of the rank
    "bound"          the sizes alone                                           at most min(d, D)
    "generic"        the sizes alone; equal for almost every matrix            at most min(d, D)
    "modular"        a rank of min(d, D) modulo one prime                      equal
    "three primes"   the same smaller rank modulo three primes, none larger    at least
    "integer"        elimination in integers, or primes beyond every minor     equal
    "numerical"      singular values, a tolerance and a gap around it          nothing

A minor that is not 0 modulo a prime is not 0, so a rank modulo a prime is never too large. It is too small
where the prime divides all the largest minors. Hadamard: a minor of k rows is at most the product of the k
largest lengths of rows. A minor that is 0 modulo primes whose product is larger than that is 0.

Floats count as the dyadic rationals that they are: each row is multiplied by a power of 2.

Sources: rank-nullity theorem; Hadamard, Bull. Sci. Math. 17 (1893); python-flint does the elimination.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf, lcm, prod
from typing import Any

import numpy as np

from vitbias.arrays import Array, as_array, require_array, require_fractions
from vitbias.errors import (
    AmbiguousRankError,
    Literal,
    ValuesError,
    require_instance,
    require_size,
)

__all__ = [
    "RankReport",
    "certified_rank",
    "exact_rank",
    "integer_rows",
    "numerical_rank",
    "rank_from_sizes",
]

SMALLEST_MARGIN = 1e3
# products of two residues stay inside int64
QUICK_PRIMES = (2**31 - 1, 2**31 - 19, 2**31 - 61)
LARGEST_PRIME = 2**62

Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class RankReport:
    """Rank and nullity of a d x D matrix, with the evidence for them.

    ``at_least`` and ``at_most`` are the proved bounds of the rank; both are the rank where it is proved.
    ``primes`` counts the primes of a modular certificate. ``tolerance``, ``kept``, ``dropped`` and ``gap``
    belong to the numerical one: the absolute tolerance, the smallest singular value above it, the largest
    below it (0.0 if there is none), and gap = kept / dropped (infinite if there is none). They leave the
    range of floats where the singular values do; rank and gap do not suffer, since the matrix is scaled by a
    power of 2 first.
    """

    rank: int
    nullity: int
    certificate: str
    at_least: int | None = None
    at_most: int | None = None
    primes: int | None = None
    tolerance: float | None = None
    kept: float | None = None
    dropped: float | None = None
    gap: float | None = None

    def __post_init__(self) -> None:
        for field in ("at_least", "at_most"):
            if getattr(self, field) is None:
                object.__setattr__(self, field, self.rank)

    @property
    def proved(self) -> bool:
        """The rank is exactly this."""
        return self.at_least == self.at_most


def rank_from_sizes(width: int, raw: int, *, generic: bool = False) -> RankReport:
    """What sizes alone say of a d x D matrix: its rank is at most min(d, D).

    ``generic`` names the same numbers as those of almost every matrix: the matrices of smaller rank are the
    zeros of polynomials, the minors, which are not all 0 for every matrix.

    >>> rank_from_sizes(192, 768).nullity
    576

    Raises
    ------
    GeometryError : a size that is not an integer >= 1
    ValuesError : ``generic`` is no truth value
    """
    width, raw = require_size("width", width), require_size("raw", raw)
    most = min(width, raw)
    certificate = "generic" if require_instance("generic", generic, bool) else "bound"
    return RankReport(most, raw - most, certificate, at_least=0, at_most=most)


def certified_rank(
    weight: Any, *, exact: bool = False, progress: Progress | None = None
) -> RankReport:
    """Rank over the rationals by ranks modulo primes; every report says what it proves.

    Full rank is certified by one prime, in a fraction of a second for 768 x 768. A smaller rank is reported
    under ``"three primes"``; with ``exact`` primes are added until their product is beyond every minor of one
    row more, and then the rank is proved (``"integer"``).

    Parameters
    ----------
    weight : (d, D) integers, fractions or floats
    progress : called with (primes done, primes needed) after each prime of the proof; it may raise

    Raises
    ------
    ShapeError
    ValuesError : also when ``exact`` is no truth value or ``progress`` cannot be called
    """
    require_instance("exact", exact, bool)
    if progress is not None and not callable(progress):
        raise ValuesError("progress", expected="a function or None", got=progress)
    residues, shape = _residues(weight)
    most, raw = min(shape), shape[1]
    seen: list[int] = []
    for prime in QUICK_PRIMES:
        seen.append(_rank_modulo(residues(prime), prime))
        if seen[-1] == most:
            return RankReport(most, raw - most, "modular", primes=len(seen))
    if exact or len({*seen}) > 1:
        rows = integer_rows(weight)
        matrix = flint_matrix(rows)
        if exact:
            return _proved(matrix, rows, max(seen), progress)
        more = primes_below(LARGEST_PRIME)
        while max(seen) < most and seen.count(max(seen)) < 3:  # one divided the largest minors
            seen.append(_rank_modulo(matrix, next(more)))
    rank = max(seen)
    if rank == most:
        return RankReport(rank, raw - rank, "modular", primes=len(seen))
    return RankReport(rank, raw - rank, "three primes", rank, most, primes=len(seen))


def exact_rank(weight: Any) -> RankReport:
    """Rank over the rationals of a (d, D) matrix of integers, fractions or floats, by elimination.

    The plain way, and for small matrices the fastest; ``certified_rank`` is the one for large ones.

    Raises
    ------
    ShapeError, ValuesError
    """
    rows = integer_rows(weight)
    rank = int(flint_matrix(rows).rank())
    return RankReport(rank, rows.shape[1] - rank, "integer")


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
        rank would say more of the tolerance than of the matrix; the error carries the gap
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
    raw, most = weight.shape[1], min(weight.shape)
    if rank == 0:
        return RankReport(0, raw, "numerical", 0, most, tolerance=0.0, dropped=0.0)
    kept = float(singular[rank - 1])
    dropped = float(singular[rank]) if rank < len(singular) else 0.0
    gap = kept / dropped if dropped else inf
    clear = kept >= SMALLEST_MARGIN * tolerance
    with np.errstate(over="ignore"):
        kept, dropped, tolerance = np.ldexp([kept, dropped, tolerance], exponent).tolist()
    if not clear:
        got = Literal(
            f"{kept:.3g} kept, {dropped:.3g} dropped, gap {gap:.3g}, tolerance {tolerance:.3g}"
        )
        raise AmbiguousRankError(
            "weight",
            expected=f"singular values below the tolerance or a factor {SMALLEST_MARGIN:g} above it",
            got=got,
            hint="use certified_rank, or name another rtol",
            gap=gap,
        )
    report = RankReport(rank, raw - rank, "numerical", 0, most)
    return replace(report, tolerance=tolerance, kept=kept, dropped=dropped, gap=gap)


def integer_rows(weight: Any) -> Array:
    """A matrix of Python integers with the same row space: each row times its common denominator.

    Parameters
    ----------
    weight : (d, D) integers, ``fractions.Fraction``, or floats (taken as dyadic rationals)

    Raises
    ------
    ShapeError, ValuesError
    """
    parts = _dyadic(weight)
    if parts is not None:
        numbers, shifts = parts
        pairs = zip(numbers.ravel().tolist(), shifts.ravel().tolist(), strict=True)
        return _objects([number << shift for number, shift in pairs], numbers.shape)
    exact = require_fractions("weight", weight, "width raw", floats=True)
    rows = np.empty(exact.shape, dtype=object)
    for index, row in enumerate(exact):
        common = lcm(*(entry.denominator for entry in row))
        rows[index] = [int(entry * common) for entry in row]
    return rows


def flint_matrix(rows: Array) -> Any:
    """The same integers as a matrix of python-flint."""
    from flint import fmpz_mat

    height, width = rows.shape
    return fmpz_mat(height, width, rows.ravel().tolist())


def primes_below(limit: int) -> Iterator[int]:
    """Primes downwards from an even limit."""
    from flint import fmpz

    return (n for n in range(limit - 1, 2, -2) if fmpz(n).is_prime())


def pivots_modulo(matrix: Any, prime: int) -> list[int]:
    """Columns that are independent modulo the prime, and so over the rationals, from the left."""
    from flint import nmod_mat

    reduced, rank = nmod_mat(matrix, prime).rref()
    entries = np.array([int(entry) for entry in reduced.entries()], dtype=object)
    steps = entries.reshape(matrix.nrows(), -1)[:rank] != 0
    return [int(column) for column in steps.argmax(axis=1)]


def _dyadic(weight: Any) -> tuple[Array, Array] | None:
    """Odd-or-any int64 numbers and shifts >= 0 with row·2^k = number·2^shift; None for other types."""
    array = as_array("weight", weight)
    if not isinstance(weight, np.ndarray) or array.dtype.kind not in "if" or array.itemsize > 8:
        return None
    array = require_array("weight", array, "width raw")
    if array.dtype.kind == "i":
        return array.astype(np.int64), np.zeros(array.shape, dtype=np.int64)
    mantissa, exponent = np.frexp(array.astype(np.float64))
    numbers = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = numbers & -numbers  # 2^trailing zeros, 0 for 0
    zeros = np.frexp(lowest.astype(np.float64))[1].astype(np.int64) - 1
    shifts = np.where(numbers == 0, 0, exponent - 53 + zeros)
    numbers = np.where(numbers == 0, 0, numbers >> np.maximum(zeros, 0))
    return numbers, shifts + np.maximum(0, -shifts.min(axis=1, keepdims=True))


def _residues(weight: Any) -> tuple[Callable[[int], Any], tuple[int, int]]:
    """A function from a prime below 2^31 to the matrix modulo it, and the shape."""
    parts = _dyadic(weight)
    if parts is None:
        rows = integer_rows(weight)
        matrix = flint_matrix(rows)
        return lambda prime: matrix, rows.shape
    numbers, shifts = parts
    longest = int(shifts.max())

    def residues(prime: int) -> Any:
        reduced = numbers % prime
        if longest:
            powers = np.array([pow(2, shift, prime) for shift in range(longest + 1)])
            reduced = reduced * powers[shifts] % prime
        return flint_matrix(reduced)

    return residues, numbers.shape


def _rank_modulo(matrix: Any, prime: int) -> int:
    from flint import nmod_mat

    return int(nmod_mat(matrix, prime).rank())


def _proved(matrix: Any, rows: Array, rank: int, progress: Progress | None) -> RankReport:
    """Primes until their product is beyond every minor of one row more than the largest rank seen."""
    most, raw = min(rows.shape), rows.shape[1]
    squares = [
        sorted((sum(x * x for x in line) for line in side), reverse=True)
        for side in (rows.tolist(), rows.T.tolist())
    ]

    def needed(size: int) -> list[int]:
        """The fewest of the largest primes whose product is beyond Hadamard's bound for ``size`` rows."""
        bound = min(prod(lengths[:size]) for lengths in squares)  # squared, as the product below
        more, chosen, product = primes_below(LARGEST_PRIME), [], 1
        while product <= bound:
            chosen.append(next(more))
            product *= chosen[-1] ** 2
        return chosen

    primes, done = needed(rank + 1), 0
    while rank < most and done < len(primes):
        found = _rank_modulo(matrix, primes[done])
        done += 1
        if found > rank:
            rank = found
            primes = needed(rank + 1) if rank < most else primes[:done]
        if progress is not None:
            progress(done, max(len(primes), done))
    return RankReport(rank, raw - rank, "modular" if rank == most else "integer", primes=done)


def _objects(items: list[int], shape: tuple[int, ...]) -> Array:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(shape)
