"""The one family of errors, and the checks of sizes and names that raise them.

Every public function of the library answers bad input with one of these errors. The message
names the field, what was expected and what came: ``patch: expected an integer >= 1, got 16.0``.
"""

from collections.abc import Iterable, Mapping, Set
from difflib import get_close_matches
from math import isfinite
from numbers import Real
from operator import index
from typing import Any, TypeVar

__all__ = [
    "AmbiguousRankError",
    "GeometryError",
    "MissingExtraError",
    "ShapeError",
    "UnknownNameError",
    "ValuesError",
    "VitbiasError",
    "describe",
    "require_choice",
    "require_instance",
    "require_number",
    "require_sequence",
    "require_size",
]

SHOWN_CHARACTERS = 80
MOST_LISTED = 240  # characters of known names in a message

Kind = TypeVar("Kind")


class VitbiasError(ValueError):
    """Base of the family.

    Parameters
    ----------
    field : the argument or quantity that is at fault
    expected : what is allowed, in words
    got : the value that came; described in at most 80 characters
    hint : what to do about it, where one thing is likely
    """

    def __init__(self, field: str, *, expected: str, got: object, hint: str = "") -> None:
        self.field, self.expected, self.got, self.hint = field, expected, got, hint
        tail = f"; {hint}" if hint else ""
        super().__init__(f"{field}: expected {expected}, got {describe(got)}{tail}")


class GeometryError(VitbiasError):
    """Sizes that are not sizes, or that do not fit each other."""


class ShapeError(VitbiasError):
    """An array with the wrong number of axes or the wrong lengths."""


class ValuesError(VitbiasError):
    """An array whose values or type cannot be used: NaN, infinity, text, a masked array."""


class UnknownNameError(VitbiasError):
    """A name that is not in a list of known names; the message gives the nearest ones."""


class AmbiguousRankError(VitbiasError):
    """Singular values without a gap: a rank would be an artefact of the tolerance.

    ``gap`` is the ratio of the smallest singular value kept to the largest dropped.
    """

    def __init__(
        self, field: str, *, expected: str, got: object, hint: str = "", gap: float
    ) -> None:
        self.gap = gap
        super().__init__(field, expected=expected, got=got, hint=hint)


class MissingExtraError(VitbiasError):
    """An optional package is not installed; the message names the extra that brings it."""


class Literal(str):
    """Text that ``describe`` shows as it stands, without quotation marks."""


def describe(value: object) -> str:
    """``value`` in at most 80 printable characters; arrays by type and shape."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape and dtype is not None:
        return f"{dtype} array of shape {tuple(shape)}"
    if isinstance(value, Literal):
        return value
    try:
        text = ascii(value)
    except ValueError:  # Python writes no integer of more than 4,300 digits
        text = "an integer of more than 4,300 digits"
    except RecursionError:
        return f"a {type(value).__name__} nested too deeply to be written"
    if len(text) > SHOWN_CHARACTERS:
        text = text[: SHOWN_CHARACTERS - 3] + "..."
    kind = type(value).__name__
    return (
        text if isinstance(value, int | float | str | tuple | list | None) else f"{text} ({kind})"
    )


def require_size(field: str, value: object, *, minimum: int | None = 1) -> int:
    """``value`` as an int, if it is an integer of at least ``minimum`` (None: any integer).

    Booleans and floats are refused, also whole ones: ``224 // 16.0`` is a float, and every
    count that is made from it would be one too.

    Raises
    ------
    GeometryError : not an integer, or too small
    """
    expected = "an integer" if minimum is None else f"an integer >= {minimum}"
    if isinstance(value, bool):
        raise GeometryError(field, expected=expected, got=value)
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        whole = isinstance(value, float) and value.is_integer()
        hint = f"write {value:.0f}" if whole else ""
        raise GeometryError(field, expected=expected, got=value, hint=hint) from None
    if minimum is not None and number < minimum:
        raise GeometryError(field, expected=expected, got=number)
    return number


def require_instance(field: str, value: object, kind: type[Kind]) -> Kind:
    """``value``, if it is an instance of ``kind``.

    Raises
    ------
    ValuesError : anything else
    """
    if not isinstance(value, kind):
        raise ValuesError(field, expected=f"an instance of {kind.__name__}", got=value)
    return value


def require_number(field: str, value: object) -> float:
    """``value`` as a float, if it is a finite real number; booleans are refused.

    Raises
    ------
    ValuesError : not a number, NaN or infinite
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = float("inf")
        if isfinite(number):
            return number
    raise ValuesError(field, expected="a finite number", got=value)


def require_sequence(field: str, value: Any) -> list[Any]:
    """The items of ``value`` as a list; text and collections without an order are refused.

    Raises
    ------
    ShapeError : no sequence
    """
    try:
        items = iter(value)
    except TypeError:
        items = None
    if items is None or isinstance(value, str | bytes | Set | Mapping):
        raise ShapeError(field, expected="a sequence", got=value)
    return list(items)


def require_choice(field: str, value: object, known: Iterable[str]) -> str:
    """``value``, if it is one of the ``known`` names.

    Raises
    ------
    UnknownNameError : with the nearest known names, or all of them where none is near
    """
    names = sorted(known)
    if isinstance(value, str) and value in names:
        return value
    near = get_close_matches(value, names, n=3, cutoff=0.5) if isinstance(value, str) else []
    shown = [
        name
        for k, name in enumerate(names)
        if len(", ".join(map(repr, names[: k + 1]))) < MOST_LISTED
    ][:12]
    listed = ", ".join(map(repr, shown)) + (", ..." if len(names) > len(shown) else "")
    hint = "did you mean " + " or ".join(repr(name) for name in near) + "?" if near else ""
    raise UnknownNameError(field, expected=f"one of {listed}", got=value, hint=hint)
