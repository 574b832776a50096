"""Checks of arrays: numbers, finite, and with the axes that a function expects.

Axes are named in one string, from the slowest to the fastest: ``"tokens width"``. A number fixes a
length (``"height width 3"``), a leading ``...`` allows any number of batch axes. The names are those
of the notation page and stand in the error message.
"""

from typing import Any

import numpy as np

from vitbias.errors import Literal, ShapeError, ValuesError

__all__ = ["Array", "require_array", "require_integers"]

Array = np.ndarray[Any, np.dtype[Any]]


def require_array(field: str, value: Any, axes: str) -> Array:
    """``value`` as a finite real array with the named axes; never modified, copied only if it must be.

    Raises
    ------
    ValuesError : not numbers (text, objects, complex numbers, truth values), masked, NaN or infinite
    ShapeError : other axes than named, or an axis of length 0
    """
    if isinstance(value, np.ma.MaskedArray):
        raise ValuesError(field, expected="an array without a mask", got=value)
    array = _as_array(field, value)
    if array.dtype.kind not in "iuf":
        raise ValuesError(field, expected="integers or floats", got=_values(array))
    _require_axes(field, array, axes)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        first = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        got = Literal(f"{array[first]} at index {first}")
        raise ValuesError(field, expected="finite numbers", got=got)
    return array


def require_integers(field: str, value: Any, axes: str) -> Array:
    """``value`` as an array of Python integers (dtype object), exact at any size.

    Raises
    ------
    ValuesError : a value that is not an integer; floats are refused, also whole ones
    ShapeError : other axes than named, or an axis of length 0
    """
    array = _as_array(field, value)
    if array.dtype.kind in "iu":
        array = array.astype(object)
    elif array.dtype.kind != "O" or not all(type(item) is int for item in array.flat):
        raise ValuesError(field, expected="integers", got=_values(array))
    _require_axes(field, array, axes)
    return array


def _as_array(field: str, value: Any) -> Array:
    try:
        return np.asarray(value)
    except ValueError:
        raise ShapeError(field, expected="rows of equal length", got=value) from None


def _values(array: Array) -> object:
    return Literal(f"{array.dtype} values") if array.ndim else array.item()


def _require_axes(field: str, array: Array, axes: str) -> None:
    names = axes.split()
    batch = names[0] == "..."
    wanted = names[1:] if batch else names
    lengths = array.shape[array.ndim - len(wanted) :] if batch else array.shape
    fits = len(lengths) == len(wanted) and all(
        not name.isdigit() or int(name) == length
        for name, length in zip(wanted, lengths, strict=True)
    )
    if not fits or 0 in array.shape:
        shape = Literal(f"shape {array.shape}")
        raise ShapeError(field, expected=f"axes ({', '.join(names)})", got=shape)
