"""Integer collisions: pictures with 8-bit values and bit-identical integer tokens.

The integer null vectors of an integer projection E (d x D) form a lattice, {v in Z^D : E v = 0}, of
rank D - rank E. Adding one of them to a patch leaves the token unchanged to the last bit. The shorter
the vectors, the more patches stay inside 0…255; LLL reduction finds short ones.

Method: the rows (B·E e_i | e_i), i = 1…D, are reduced by LLL; for a large B the reduced vectors with
head 0 are a basis of the lattice (any integer null vector is an integer combination of all rows, and the
other heads are linearly independent). The near-collision step is Babai's nearest plane.

Sources: Lenstra, Lenstra and Lovász, Math. Ann. 261 (1982); Babai, Combinatorica 6 (1986).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vitbias.arrays import Array, require_in_range, require_integers
from vitbias.errors import GeometryError, Literal, ShapeError, ValuesError, require_size
from vitbias.rank import exact_rank, flint_matrix

__all__ = ["PatchCollisions", "collide", "integer_product", "kernel_lattice"]

FIRST_SCALE_BITS = 24
# Lovász and size-reduction constants of a quick first pass; the second takes FLINT's defaults, 0.99 and 0.51
DELTA, ETA = 0.75, 0.6
EXACT_FLOATS = 2**53
WIDEST = 2**512  # of the range; floats have to hold it
MOST_STEPS = 10_000


@dataclass(frozen=True)
class PatchCollisions:
    """m pairs of patches with equal tokens: first, second (m, D); tokens (m, d); all exact integers.

    ``reached`` (m,) says how far each second patch went from the first (0) to its target (1), before
    rounding to the lattice.
    """

    first: Array
    second: Array
    tokens: Array
    reached: Array


def kernel_lattice(weight: Any) -> Array:
    """LLL-reduced basis of {v in Z^D : E v = 0}, (nullity, D) Python integers.

    Parameters
    ----------
    weight : (d, D) integers

    Raises
    ------
    GeometryError : E is injective, so the lattice is {0}
    ShapeError, ValuesError
    """
    from flint import fmpz_mat

    weight = require_integers("weight", weight, "width raw")
    width, raw = weight.shape
    nullity = exact_rank(weight).nullity
    if nullity == 0:
        raise GeometryError(
            "weight", expected="a projection with a null space", got=Literal("nullity 0")
        )
    bits = FIRST_SCALE_BITS
    while True:
        scaled = weight.T * 2**bits
        rows = np.concatenate([scaled, np.eye(raw, dtype=int).astype(object)], axis=1)
        reduced = fmpz_mat(rows.tolist()).lll(False, DELTA, ETA).tolist()
        basis = [[int(x) for x in row[width:]] for row in reduced if not any(row[:width])]
        if len(basis) == nullity:
            short = fmpz_mat(basis).lll().tolist()
            return np.array([[int(x) for x in row] for row in short], dtype=object)
        bits *= 2  # the scale was too small to push every head to 0


def collide(
    weight: Any,
    patches: Any,
    targets: Any,
    *,
    low: int = 0,
    high: int = 255,
    steps: int = 20,
) -> PatchCollisions:
    """Patches with the same integer tokens that come close to ``targets``.

    For each patch x with target t a lattice vector near r·(t - x) is added (Babai's), for the largest
    r of 1, 1 - 1/steps, …, 0 that keeps all values in low…high (r = 0 always does: x itself).

    Parameters
    ----------
    weight : (d, D) integers; patches, targets : (m, D) integers in low…high

    Raises
    ------
    GeometryError : E is injective, or ``steps`` not in 1…10,000
    ValuesError : also a range wider than 2⁵¹²
    ShapeError
    """
    weight = require_integers("weight", weight, "width raw")
    axes = f"patches {weight.shape[1]}"
    first = require_in_range("patches", patches, axes, low, high)
    goal = require_in_range("targets", targets, axes, low, high)
    if first.shape != goal.shape:
        raise ShapeError(
            "targets", expected=f"shape {first.shape}", got=Literal(f"shape {goal.shape}")
        )
    _require_narrow(low, high)
    if require_size("steps", steps) > MOST_STEPS:
        raise GeometryError("steps", expected=f"at most {MOST_STEPS:,}", got=steps)
    basis = kernel_lattice(weight)
    second, reached = first.copy(), np.zeros(len(first))
    open_rows = np.arange(len(first))
    for step in range(steps, 0, -1):
        share = step / steps
        wish = share * (goal[open_rows] - first[open_rows]).astype(float)
        moved = first[open_rows] + integer_product(_nearest_plane(basis, wish), basis)
        fits = ((moved >= low) & (moved <= high)).all(axis=1)
        second[open_rows[fits]], reached[open_rows[fits]] = moved[fits], share
        open_rows = open_rows[~fits]
        if not len(open_rows):
            break
    return PatchCollisions(first, second, integer_product(first, weight.T), reached)


def integer_product(left: Any, right: Any) -> Array:
    """left · right, (m, n) times (n, k), as Python integers; exact at any size.

    In float64 where every partial sum stays below 2^53, so that no rounding can happen; else in FLINT.

    Raises
    ------
    ShapeError, ValuesError
    """
    left = require_integers("left", left, "rows inner")
    right = require_integers("right", right, f"{left.shape[1]} columns")
    # at least 1: a zero on one side does not make the other fit into a float
    bound = max(1, int(abs(left).max())) * max(1, int(abs(right).max())) * left.shape[1]
    if bound < EXACT_FLOATS:
        return np.asarray((left.astype(float) @ right.astype(float)).astype(int).astype(object))
    entries = (flint_matrix(left) * flint_matrix(right)).tolist()
    return np.array([[int(entry) for entry in row] for row in entries], dtype=object)


def _require_narrow(low: Any, high: Any) -> None:
    if int(high) - int(low) > WIDEST:
        raise ValuesError("high", expected="at most low + 2**512", got=int(high))


def _nearest_plane(basis: Array, wishes: Array) -> Array:
    """Integer coefficients, (m, nullity), of Babai's lattice points for the rows of ``wishes``.

    Floats suffice: they choose which lattice point, and every lattice point is an exact collision.
    Nine digits are kept, so that a tie, k + 1/2 in theory, goes to the even side on every machine.
    """
    try:
        columns = basis.astype(float).T
    except OverflowError:
        got = Literal(f"a basis vector of {int(abs(basis).max()).bit_length()} bits")
        expected = "a lattice within the range of floats"
        raise ValuesError("weight", expected=expected, got=got) from None
    q, r = np.linalg.qr(columns)
    rest = wishes @ q
    coefficients = np.zeros(rest.shape)
    for k in reversed(range(len(basis))):
        coefficients[:, k] = np.rint(np.round(rest[:, k] / r[k, k], 9))
        rest -= np.outer(coefficients[:, k], r[:, k])
    exact = [[int(entry) for entry in row] for row in coefficients]  # int64 would wrap around
    return np.array(exact, dtype=object)
