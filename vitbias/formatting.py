"""The one formatter for everything that is printed.

Processors and BLAS kernels differ in the last bits of a float, and NumPy's repr differs between
versions. So no notebook prints a bare float or array: numbers go through ``fmt``, numbers that
are zero in theory through ``below``, tables through ``table``.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import isfinite
from typing import Any

from vitbias.errors import (
    Literal,
    ShapeError,
    ValuesError,
    require_number,
    require_sequence,
    require_size,
)

__all__ = ["below", "fmt", "table"]

MOST_DIGITS = 12
MOST_NESTED = 64  # axes that an array can have


def fmt(value: Any, digits: int = 6) -> str:
    """``value`` as text that every machine prints alike.

    Integers in full with thousands separators, fractions as ``a/b``, floats with at most ``digits``
    significant digits (1 to 12; more would show rounding), sequences and arrays in brackets,
    text and truth values as they are.

    >>> fmt(9834496), fmt(2 / 3, 3), fmt([1, 0.5]), fmt(Fraction(-3, 4))
    ('9,834,496', '0.667', '[1, 0.5]', '-3/4')

    Raises
    ------
    ValuesError : NaN, infinity, an integer of more than 4,300 digits (Python writes none), a sequence that
        contains itself or is nested more than 64 deep, or a kind of value that has no agreed form
    GeometryError : ``digits`` is not an integer >= 1
    """
    digits = require_size("digits", digits)
    if digits > MOST_DIGITS:
        raise ValuesError("digits", expected=f"at most {MOST_DIGITS}", got=digits)
    return _text(value, digits, 0)


def below(value: float, bound: float) -> str:
    """``"< bound"`` for a number that theory says is zero.

    The digits of rounding error differ from machine to machine; that they stay below a stated bound
    does not.

    >>> below(3.1e-16, 1e-12)
    '< 1e-12'

    Raises
    ------
    ValuesError : the value is not below the bound, or one of them is no finite number
    """
    value, bound = require_number("value", value), require_number("bound", bound)
    if not abs(value) < bound:
        raise ValuesError("value", expected=f"a magnitude below {bound:g}", got=value)
    return f"< {bound:g}"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], digits: int = 6) -> str:
    """A text table: columns of numbers flush right, columns with text flush left.

    >>> print(table(["width", "nullity"], [[8, 40], [48, 0]]))
    width  nullity
        8       40
       48        0

    Raises
    ------
    ShapeError : a row with another number of cells than the header, or no sequence
    ValuesError : a cell that ``fmt`` refuses, a header that is not text
    """
    header = require_sequence("header", header)
    rows = [require_sequence("row", row) for row in require_sequence("rows", rows)]
    for name in header:
        if not isinstance(name, str):
            raise ValuesError("header", expected="text", got=name)
    for row in rows:
        if len(row) != len(header):
            raise ShapeError(
                "row",
                expected=f"{len(header)} cells",
                got=Literal(f"{len(row)} cells"),
            )
    cells = [header, *([fmt(value, digits) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    left = [any(isinstance(row[column], str) for row in rows) for column in range(len(header))]
    lines = (
        "  ".join(
            cell.ljust(width) if flush_left else cell.rjust(width)
            for cell, width, flush_left in zip(row, widths, left, strict=True)
        ).rstrip()
        for row in cells
    )
    return "\n".join(lines)


def _text(value: Any, digits: int, depth: int) -> str:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, str | bool):
        return str(value)
    if isinstance(value, list | tuple):
        if depth >= MOST_NESTED:
            expected = f"a sequence nested at most {MOST_NESTED} deep"
            raise ValuesError("value", expected=expected, got=value)
        return "[" + ", ".join(_text(item, digits, depth + 1) for item in value) + "]"
    if getattr(value, "is_Rational", False):
        value = Fraction(int(value.p), int(value.q))
    if isinstance(value, int):
        return _grouped(value)
    if isinstance(value, Fraction):
        over = f"/{_grouped(value.denominator)}" if value.denominator != 1 else ""
        return _grouped(value.numerator) + over
    if isinstance(value, float):
        if not isfinite(value):
            raise ValuesError("value", expected="a finite number", got=value)
        text = f"{value:.{digits}g}"
        return "0" if float(text) == 0 else text
    raise ValuesError("value", expected="a number, text, or a sequence of them", got=value)


def _grouped(number: int) -> str:
    try:
        return f"{number:,}"
    except ValueError:
        raise ValuesError("value", expected="at most 4,300 digits", got=number) from None
