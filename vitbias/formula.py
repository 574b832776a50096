"""What lets one formula take integers and sympy symbols alike.

A formula of the book is written once, as a plain function. Called with integers it counts;
called with sympy symbols it returns the expression that the derivations work with. These helpers
are the few places where the two differ. sympy is imported only when a symbol arrives.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

from vitbias.errors import GeometryError, Literal, describe, require_choice, require_size

if TYPE_CHECKING:
    import sympy

__all__ = [
    "Size",
    "as_size",
    "cells",
    "exact_quotient",
    "is_symbolic",
    "maximum",
    "minimum",
    "raw_dim",
]

Size: TypeAlias = "int | sympy.Expr"
BORDER_RULES = ("drop", "pad")


def is_symbolic(*values: Any) -> bool:
    """True if any value is a scalar sympy expression with a free symbol; no relation, set or matrix."""
    return any(
        bool(getattr(value, "free_symbols", ())) and getattr(value, "is_scalar", False) is True
        for value in values
    )


def as_size(field: str, value: Any, *, minimum: int | None = 1) -> Any:
    """A symbol as it is; anything else through ``require_size``.

    A symbol is refused where its assumptions rule the size out; what they leave open is allowed.

    Raises
    ------
    GeometryError : not an integer, or less than ``minimum`` (None: any integer)
    """
    if not is_symbolic(value):
        return require_size(field, value, minimum=minimum)
    too_small = minimum is not None and (value - minimum).is_negative
    # sympy leaves open whether 1.5·n is an integer; a size is never written with a float
    if value.is_integer is False or too_small or any(atom.is_Float for atom in value.atoms()):
        expected = "an integer" if minimum is None else f"an integer >= {minimum}"
        raise GeometryError(field, expected=f"{expected} or a symbol for one", got=value)
    return value


def maximum(first: Any, second: Any) -> Any:
    """max(first, second) of integers of any sign; ``sympy.Max`` when a symbol is among them.

    Raises
    ------
    GeometryError : neither an integer nor a symbol for one
    """
    first, second = as_size("first", first, minimum=None), as_size("second", second, minimum=None)
    if is_symbolic(first, second):
        from sympy import Max

        return Max(first, second)
    return max(first, second)


def minimum(first: Any, second: Any) -> Any:
    """min(first, second) of integers of any sign; ``sympy.Min`` when a symbol is among them.

    Raises
    ------
    GeometryError : neither an integer nor a symbol for one
    """
    first, second = as_size("first", first, minimum=None), as_size("second", second, minimum=None)
    if is_symbolic(first, second):
        from sympy import Min

        return Min(first, second)
    return min(first, second)


def exact_quotient(field: str, whole: Any, part: Any) -> Any:
    """whole / part, for integers only where ``part`` divides ``whole``.

    With symbols the quotient is formal: the derivation carries "part divides whole" as a hypothesis.

    Raises
    ------
    GeometryError : the division leaves a remainder; the message gives the nearest sizes that do not.
        Also for what is neither a size nor a symbol
    """
    whole, part = as_size(field, whole, minimum=0), as_size("part", part)
    if is_symbolic(whole, part):
        return whole / part
    quotient, remainder = divmod(whole, part)
    if remainder:
        below, above = describe(quotient * part), describe((quotient + 1) * part)
        near = f"{below} or {above}" if quotient else above
        raise GeometryError(
            field,
            expected=f"a multiple of {describe(part)}",
            got=Literal(f"{describe(whole)} (remainder {describe(remainder)})"),
            hint=f"the nearest sizes are {near}",
        )
    return quotient


def cells(field: str, side: Any, cell: Any, *, border: str | None = None) -> Any:
    """side / cell, the cells along one side of a grid.

    ``border`` names what happens to a remainder: ``"drop"`` leaves it out (floor), ``"pad"`` fills a last
    cell (ceiling); without a rule a remainder is an error.

    >>> cells("height", 30, 8, border="drop"), cells("height", 30, 8, border="pad")
    (3, 4)

    Raises
    ------
    GeometryError : as ``exact_quotient``; also a side without a whole cell under ``"drop"``
    UnknownNameError : an unknown rule
    """
    side, cell = as_size(field, side), as_size("cell", cell)
    if border is None:
        return exact_quotient(field, side, cell)
    require_choice("border", border, BORDER_RULES)
    count = side // cell if border == "drop" else -(-side // cell)
    if count == 0:
        raise GeometryError(field, expected=f"at least {describe(cell)}", got=side)
    return count


def raw_dim(patch: Size, channels: Size) -> Any:
    """D = P²C, the number of values in one raw patch [values].

    >>> raw_dim(16, 3), raw_dim(4, 3)
    (768, 48)

    Raises
    ------
    GeometryError : a size that is not a positive integer (or a symbol)
    """
    return as_size("patch", patch) ** 2 * as_size("channels", channels)
