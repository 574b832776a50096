"""Where an object falls on the patch grid, and what a shift of the pixels changes.

Notation: P patch side [px]; a length of a segment, or side of a box, along one axis [px]; H side of the
picture [px]; phase = place of the first pixel modulo P, 0…P - 1.

Convention: two laws that are easily taken for one. Without a picture's border the phase is uniform on
0…P - 1. A segment placed uniformly inside a finite picture, H - a + 1 places, has no uniform phase: it is a
little more often contained. Both need whole pixels; for a phase uniform on the reals the expectation is
1 + a/P instead of 1 + (a - 1)/P.

The axes of an axis-parallel box with independent phases are independent, so its law is a product.

Source: counting the borders k·P between the first and the last pixel.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from vitbias.arrays import Array, as_array, require_array, require_float64, require_integers
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    ValuesError,
    require_instance,
    require_size,
)
from vitbias.formula import Size, as_size, exact_quotient, is_symbolic

__all__ = [
    "box_law",
    "change",
    "contained_share",
    "expected_patches",
    "patches_met",
    "patches_met_law",
]


def patches_met(length: Size, patch: Size, first: Size) -> Any:
    """(first + a - 1)//P - first//P + 1, the patches that a segment from pixel ``first`` on touches.

    >>> patches_met(8, 16, 3), patches_met(8, 16, 12)
    (1, 2)

    Raises
    ------
    GeometryError
    """
    length, patch = as_size("length", length), as_size("patch", patch)
    first = as_size("first", first, minimum=None)
    return (first + length - 1) // patch - first // patch + 1


def patches_met_law(length: int, patch: int) -> Mapping[int, Fraction]:
    """Probability of each number of patches that a segment of uniform phase touches.

    (a - 1)//P + 1, or with probability ((a - 1) mod P)/P one more.

    >>> patches_met_law(8, 16)
    {1: Fraction(9, 16), 2: Fraction(7, 16)}

    Raises
    ------
    GeometryError
    """
    length, patch = require_size("length", length), require_size("patch", patch)
    whole, rest = divmod(length - 1, patch)
    law = {whole + 1: Fraction(patch - rest, patch), whole + 2: Fraction(rest, patch)}
    return {count: share for count, share in law.items() if share}


def box_law(height: int, width: int, patch: int) -> Mapping[int, Fraction]:
    """The same for a filled box of independent phases: products of rows and columns met.

    >>> box_law(8, 8, 16)[1]
    Fraction(81, 256)

    Raises
    ------
    GeometryError
    """
    law: dict[int, Fraction] = {}
    across = patches_met_law(width, patch)
    for rows, share in patches_met_law(height, patch).items():
        for columns, other in across.items():
            law[rows * columns] = law.get(rows * columns, Fraction(0)) + share * other
    return dict(sorted(law.items()))


def expected_patches(
    length: Size, patch: Size, side: Any = None, *, continuous: bool = False
) -> Any:
    """1 + (a - 1)/P, the mean number of patches along one axis; a ``Fraction``, or an expression of symbols.

    With ``side`` H the segment lies uniformly in the picture, a <= P:
    1 + (H/P - 1)(a - 1)/(H - a + 1). With ``continuous`` the phase is uniform on the reals: 1 + a/P.

    Raises
    ------
    GeometryError : also if P does not divide H, or a > P with ``side``
    ValuesError : ``side`` and ``continuous`` together
    """
    length, patch = as_size("length", length), as_size("patch", patch)
    continuous = require_instance("continuous", continuous, bool)
    if side is None:
        return 1 + _ratio(length if continuous else length - 1, patch)
    if continuous:
        raise ValuesError("continuous", expected="False with a side", got=continuous)
    grid, places = _places(length, patch, side)
    return 1 + _ratio((grid - 1) * (length - 1), places)


def contained_share(length: Size, patch: Size, side: Any = None) -> Any:
    """(P - a + 1)/P, the probability that one patch holds the segment, a <= P; 0 for longer ones.

    With ``side`` H the segment lies uniformly in the picture: (H/P)(P - a + 1)/(H - a + 1). Symbols stand
    for lengths a <= P.

    >>> contained_share(8, 16), contained_share(8, 16, 224)
    (Fraction(9, 16), Fraction(18, 31))

    Raises
    ------
    GeometryError : also if P does not divide H, or a > P with ``side``
    """
    length, patch = as_size("length", length), as_size("patch", patch)
    if side is not None:
        grid, places = _places(length, patch, side)
        return _ratio(grid * (patch - length + 1), places)
    if not is_symbolic(length, patch) and length > patch:
        return Fraction(0)
    return _ratio(patch - length + 1, patch)


def change(before: Any, after: Any, unit: Any = None) -> Any:
    """Mean squared distance of the rows of two arrays, in units of that of two rows drawn from ``unit``.

    0: nothing changed. 1: as different as two rows drawn independently. Exact for integers.

    Parameters
    ----------
    before, after : (N, d)
    unit : (M, d), whose mean squared distance over all ordered pairs of rows is 1; ``before`` if not given

    Raises
    ------
    ShapeError : different shapes
    ValuesError : all rows of ``unit`` are equal, so there is no unit; also distances beyond the floats
    """
    unit = before if unit is None else unit
    named = {"before": before, "after": after, "unit": unit}
    exact = all(as_array(field, value).dtype.kind in "iu" for field, value in named.items())
    check = _integers if exact else require_float64
    before, after, unit = (check(field, value, "tokens width") for field, value in named.items())
    if before.shape != after.shape:
        got = Literal(f"{before.shape} and {after.shape}")
        raise ShapeError("before and after", expected="one shape", got=got)
    if unit.shape[1] != before.shape[1]:
        got = Literal(f"width {unit.shape[1]}")
        raise ShapeError("unit", expected=f"width {before.shape[1]}", got=got)
    with np.errstate(over="ignore", invalid="ignore"):
        # deviations from one row in place of values, so that a common offset costs no digits
        rows = unit - unit[0]
        pairs = 2 * (len(unit) * (rows**2).sum() - (rows.sum(axis=0) ** 2).sum())
        moved = ((after - before) ** 2).sum()
    if not exact and not np.isfinite([pairs, moved]).all():
        raise ValuesError(
            "before and after", expected="distances within the range of floats", got=before
        )
    if pairs <= 0:
        raise ValuesError("unit", expected="rows that differ", got=unit)
    if exact:
        return Fraction(int(moved) * len(unit) ** 2, len(before) * int(pairs))
    return float(moved / len(before) * (len(unit) ** 2 / pairs))


def _integers(field: str, value: Any, axes: str) -> Array:
    """64-bit integers where no sum of the distances can wrap, else Python integers."""
    array = require_array(field, value, axes)
    if array.size < 2**20 and array.min() > -(2**8) and array.max() < 2**8:
        return array.astype(np.int64)
    return require_integers(field, value, axes)


def _places(length: Any, patch: Any, side: Any) -> tuple[Any, Any]:
    """H/P, and the H - a + 1 places of the segment."""
    grid = exact_quotient("side", as_size("side", side), patch)
    if not is_symbolic(length, patch) and length > patch:
        expected = "at most the patch side, for the law in a picture"
        raise GeometryError("length", expected=expected, got=length)
    return grid, side - length + 1


def _ratio(whole: Any, part: Any) -> Any:
    return whole / part if is_symbolic(whole, part) else Fraction(whole, part)
