"""Checks of arrays: numbers, finite, and with the axes that a function expects.

Axes are named in one string, from the slowest to the fastest: ``"tokens width"``. A number fixes a
length (``"height width 3"``), a leading ``...`` allows any number of batch axes. The names are those
of the notation page and stand in the error message.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from vitbias.errors import Literal, ShapeError, ValuesError, describe

__all__ = [
    "Array",
    "as_array",
    "require_alike",
    "require_array",
    "require_float64",
    "require_floats",
    "require_fractions",
    "require_in_range",
    "require_integers",
    "require_numbers",
]

Array = np.ndarray[Any, np.dtype[Any]]
# the most tokens for which a value of each pair is held: 16 MiB of truth values, 128 MiB of integers
MOST_PAIRED_TOKENS = 4096


def require_array(field: str, value: Any, axes: str) -> Array:
    """``value`` as a finite real array with the named axes; never modified, copied only if it must be.

    Raises
    ------
    ValuesError : not numbers (text, objects, complex numbers, truth values), masked, NaN or infinite
    ShapeError : other axes than named, or an axis of length 0
    """
    array = require_numbers(field, value, axes)
    if not is_finite(array):
        first = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        got = Literal(f"{array[first]} at index {first}")
        raise ValuesError(field, expected="finite numbers", got=got)
    return array


def require_numbers(field: str, value: Any, axes: str) -> Array:
    """As ``require_array`` without a look at the values: for arrays that are not read as a whole.

    Raises
    ------
    ValuesError : not numbers (text, objects, complex numbers, truth values), masked
    ShapeError : other axes than named, or an axis of length 0
    """
    array = as_array(field, value)
    if array.dtype.kind not in "iuf":
        raise ValuesError(field, expected="integers or floats", got=_values(array))
    _require_axes(field, array, axes)
    return array


def require_floats(field: str, value: Any, axes: str) -> Array:
    """As ``require_array``; integers become float64, so that products cannot wrap around.

    Raises
    ------
    ValuesError, ShapeError : as ``require_array``
    """
    array = require_array(field, value, axes)
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def require_float64(field: str, value: Any, axes: str) -> Array:
    """As ``require_floats``, with every kind of float turned into float64.

    Raises
    ------
    ValuesError : also for longer floats that float64 cannot hold
    ShapeError
    """
    array = require_floats(field, value, axes)
    with np.errstate(over="ignore"):
        return require_array(field, array.astype(np.float64), axes)


def require_alike(*named: tuple[str, Any, str]) -> list[Array]:
    """Arguments (field, value, axes) of one computation: as fractions if none holds a float, else float64.

    Raises
    ------
    ValuesError : as ``require_fractions`` and ``require_float64``; fractions beside floats are refused
    ShapeError
    """
    exact = all(as_array(field, value).dtype.kind in "iuO" for field, value, _ in named)
    check = require_fractions if exact else require_float64
    return [check(field, value, axes) for field, value, axes in named]


def require_integers(field: str, value: Any, axes: str) -> Array:
    """``value`` as an array of Python integers (dtype object), exact at any size; a copy.

    Raises
    ------
    ValuesError : a value that is not an integer; floats are refused, also whole ones
    ShapeError : other axes than named, or an axis of length 0
    """
    return _exact(field, value, axes, (int,), "integers")


def require_fractions(field: str, value: Any, axes: str, *, floats: bool = False) -> Array:
    """``value`` as an array of ``fractions.Fraction`` (dtype object), exact at any size; a copy.

    With ``floats`` a float counts as the dyadic rational that it is; otherwise floats are refused.

    Raises
    ------
    ValuesError : a value that is not an integer or a fraction (or a finite float)
    ShapeError : other axes than named, or an axis of length 0
    """
    kinds = (int, Fraction, float) if floats else (int, Fraction)
    expected = "integers, fractions or floats" if floats else "integers or fractions"
    array = _exact(field, value, axes, kinds, expected)
    for index, item in np.ndenumerate(array):
        try:
            array[index] = Fraction(item)
        except (ValueError, OverflowError):
            got = Literal(f"{item} at index {index}")
            raise ValuesError(field, expected="finite numbers", got=got) from None
    return array


def require_in_range(field: str, value: Any, axes: str, low: Any, high: Any) -> Array:
    """As ``require_integers``, with every value in low…high.

    Raises
    ------
    ValuesError : a value outside; a limit that is not an integer
    ShapeError
    """
    low, high = (
        require_integers(name, limit, "").item() for name, limit in (("low", low), ("high", high))
    )
    array = require_integers(field, value, axes)
    outside = (array < low) | (array > high)
    if outside.any():
        first = tuple(int(i) for i in np.argwhere(outside)[0])
        expected = f"values in {describe(low)} to {describe(high)}"
        got = Literal(f"{describe(array[first])} at index {first}")
        raise ValuesError(field, expected=expected, got=got)
    return array


def as_array(field: str, value: Any) -> Array:
    """``value`` as an array of any type; a mask would be lost, so masked arrays are refused.

    Raises
    ------
    ValuesError : masked
    ShapeError : rows of unequal length
    """
    if isinstance(value, np.ma.MaskedArray):
        raise ValuesError(field, expected="an array without a mask", got=value)
    try:
        return np.asarray(value)
    except ValueError:
        raise ShapeError(field, expected="rows of equal length", got=value) from None


def _exact(field: str, value: Any, axes: str, kinds: tuple[type, ...], expected: str) -> Array:
    """Python numbers of the given kinds; NumPy would turn [2**63, -1] and [True, 2] into others."""
    array = as_array(field, value)
    if array.dtype.kind not in "iufO":
        raise ValuesError(field, expected=expected, got=_values(array))
    if isinstance(value, np.ndarray) and array.dtype.kind in "iu":
        _require_axes(field, array, axes)
        return array.astype(object)
    exact = np.array(value, dtype=object)
    for index, item in np.ndenumerate(exact):
        plain = item.item() if isinstance(item, np.integer | np.floating) else item
        if type(plain) not in kinds:
            raise ValuesError(field, expected=expected, got=_values(array))
        exact[index] = plain
    _require_axes(field, exact, axes)
    return exact


def is_finite(array: Array) -> bool:
    """Whether an array of numbers, as ``require_numbers`` gives, holds neither NaN nor infinity."""
    return bool(array.dtype.kind != "f" or _squares_are_finite(array) or np.isfinite(array).all())


def _squares_are_finite(array: Array) -> bool:
    """One pass without a mask: a finite sum of squares has finite terms. False decides nothing.

    Finite values can overflow when squared, and BLAS reads only contiguous single and double precision.
    """
    if array.dtype.char not in "fd" or not array.dtype.isnative or not array.flags.forc:
        return False
    flat = array.ravel(order="K")
    with np.errstate(all="ignore"):
        return bool(np.isfinite(np.dot(flat, flat)))


def _values(array: Array) -> object:
    return Literal(f"{array.dtype} values") if array.ndim else array.item()


def _require_axes(field: str, array: Array, axes: str) -> None:
    names = axes.split()
    batch = names[:1] == ["..."]
    wanted = names[1:] if batch else names
    lengths = array.shape[array.ndim - len(wanted) :] if batch else array.shape
    fits = len(lengths) == len(wanted) and all(
        not name.isdigit() or int(name) == length
        for name, length in zip(wanted, lengths, strict=True)
    )
    if not fits or 0 in array.shape:
        shape = Literal(f"shape {array.shape}")
        raise ShapeError(field, expected=f"axes ({', '.join(names)})", got=shape)
