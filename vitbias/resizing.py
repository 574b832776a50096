"""Resizing a table of positions: the operators that released codes mean by "interpolate".

Notation: g slots along an axis of the old grid, g' of the new one; a table of rows of width d, first those of
extra tokens, then those of the grid, row by row.

Convention
    resizing      new = U old along each axis. Align-corners: new slot j reads the old axis at
                  j(old - 1)/(new - 1). Half-pixel: at (j + 1/2)·old/new - 1/2; nodes beyond the border are
                  the border's. Cubic is Keys' kernel with a = -3/4, except antialiased: there a = -1/2, the
                  kernel is stretched by max(1, old/new), and what is left inside the border is normalised.

Sources: Dosovitskiy et al., ICLR 2021 (arXiv:2010.11929v2); its released code resizes by
scipy.ndimage.zoom with order 1, "align-corners linear". Touvron et al., ICML 2021, section 6, whose code
calls PyTorch's bicubic, "half-pixel cubic". Keys, IEEE Trans. ASSP 29 (1981).
"""

from fractions import Fraction
from math import ceil, floor, isqrt
from types import MappingProxyType
from typing import Any

import numpy as np

from vitbias.arrays import Array, as_array, require_floats, require_fractions
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    ValuesError,
    describe,
    require_choice,
    require_size,
)

__all__ = [
    "METHODS",
    "RELEASES",
    "resize_operator",
    "resize_table",
    "round_trip",
    "white_energy",
]

MOST_SIDE = 1024

METHODS = tuple(
    f"{alignment} {kernel}"
    for alignment in ("align-corners", "half-pixel", "antialiased")
    for kernel in ("linear", "cubic")
)

# what released codes do to a table of positions unless told otherwise; behind it the function they call
RELEASES = MappingProxyType(
    {
        "ViT": "align-corners linear",  # vit_jax/checkpoint.py: scipy.ndimage.zoom, order 1
        "DeiT": "half-pixel cubic",  # main.py: torch interpolate, bicubic
        "timm": "antialiased cubic",  # 1.0.31, resample_abs_pos_embed: the same, antialias
        "transformers ViT": "half-pixel cubic",  # 5.24.0: torch interpolate, bicubic
        "transformers DeiT": "half-pixel cubic",  # 5.24.0
        "transformers DINOv2": "half-pixel cubic",  # 5.24.0
        "transformers DINOv2 with registers": "antialiased cubic",  # 5.24.0: the same, antialias
    }
)


def resize_operator(old: int, new: int, method: str) -> Array:
    """U, (new, old) fractions whose rows sum to 1: new values along one axis from the old ones.

    >>> print(resize_operator(2, 3, "align-corners linear")[1])
    [Fraction(1, 2) Fraction(1, 2)]

    Parameters
    ----------
    old, new : slots along the axis, 1 to 1,024
    method : one of ``METHODS``

    Raises
    ------
    GeometryError, UnknownNameError
    """
    old, new = _side("old", old), _side("new", new)
    alignment, kernel = require_choice("method", method, METHODS).split()
    stretch = max(Fraction(old, new), Fraction(1)) if alignment == "antialiased" else Fraction(1)
    reach = stretch * (1 if kernel == "linear" else 2)
    sharpness = Fraction(-1, 2) if alignment == "antialiased" else Fraction(-3, 4)
    operator = np.full((new, old), Fraction(0), dtype=object)
    for slot in range(new):
        if alignment == "align-corners":
            centre = Fraction(slot * (old - 1), max(new - 1, 1))  # a single slot reads the first
        else:
            centre = Fraction((2 * slot + 1) * old - new, 2 * new)
        nodes = range(ceil(centre - reach), floor(centre + reach) + 1)
        if alignment == "antialiased":
            nodes = range(max(nodes.start, 0), min(nodes.stop, old))
        weights = [_kernel(abs(node - centre) / stretch, kernel, sharpness) for node in nodes]
        total = sum(weights)
        for node, weight in zip(nodes, weights, strict=True):
            operator[slot, min(max(node, 0), old - 1)] += weight / total
    return operator


def resize_table(table: Any, old: Any, new: Any, method: str, *, kept: int = 0) -> Array:
    """(U_rows ⊗ U_columns) p for a table of a grid: (kept + rows'·columns', d).

    Floats stay floats; integers and fractions give fractions.

    Parameters
    ----------
    table : (kept + rows·columns, d)
    old : one side of a square, (rows, columns), or None for the square that the rows of the table make
    new : one side of a square, or (rows', columns')
    method : as in ``resize_operator``
    kept : rows in front that belong to no slot of the grid (class token, registers) and are copied

    Raises
    ------
    ShapeError : another number of rows than the grid has; no square, where no grid is named
    ValuesError : also when the result leaves the range of floats
    GeometryError, UnknownNameError
    """
    method = require_choice("method", method, METHODS)
    kept = require_size("kept", kept, minimum=0)
    exact = as_array("table", table).dtype.kind != "f"
    check = require_fractions if exact else require_floats
    table = check("table", table, "tokens width")
    rows, columns = before = _square(len(table), kept) if old is None else _grid("old", old)
    if len(table) != kept + rows * columns:
        expected = f"{describe(kept)} + {rows} x {columns} rows"
        got = Literal(f"{len(table)} rows")
        one_more = len(table) == kept + rows * columns + 1
        hint = "a class token's row is named by kept" if one_more else ""
        raise ShapeError("table", expected=expected, got=got, hint=hint)
    operators = [
        resize_operator(*sides, method) for sides in zip(before, _grid("new", new), strict=True)
    ]
    if not exact:
        operators = [operator.astype(float) for operator in operators]
    down, across = operators
    grid = table[kept:].reshape(rows, columns, -1)
    with np.errstate(over="ignore", invalid="ignore"):
        grid = _along(across, _along(down, grid).swapaxes(0, 1)).swapaxes(0, 1)
    result = np.concatenate([table[:kept], grid.reshape(-1, table.shape[1])])
    if not exact and not np.isfinite(result).all():
        raise ValuesError("table", expected="values far from the limit of floats", got=table)
    return result


def round_trip(old: int, new: int, method: str) -> Array:
    """D U along one axis, (old, old) fractions: resized to ``new`` slots and back; the identity if lossless.

    Raises
    ------
    GeometryError, UnknownNameError
    """
    there = resize_operator(old, new, method)
    return np.asarray(resize_operator(new, old, method) @ there)


def white_energy(old: int, new: int, method: str) -> Fraction:
    """Mean over new slots of Σ_k U[j, k]²: what unrelated entries keep of their mean square, per axis.

    Entries of mean zero and one variance, all uncorrelated; a table keeps the product of both axes.

    >>> white_energy(2, 3, "align-corners linear")
    Fraction(5, 6)

    Raises
    ------
    GeometryError, UnknownNameError
    """
    operator = resize_operator(old, new, method)
    return Fraction((operator**2).sum() / len(operator))


def _along(operator: Array, grid: Array) -> Array:
    """operator · grid along the first axis; of fractions only the few that are not zero."""
    if operator.dtype.kind == "f":
        return np.tensordot(operator, grid, 1)
    used = [np.flatnonzero(row) for row in operator]
    return np.array(
        [np.tensordot(row[n], grid[n], 1) for row, n in zip(operator, used, strict=True)]
    )


def _kernel(distance: Any, kernel: str, a: Any) -> Any:
    """Weight of a node at this distance >= 0, in nodes; 1 at 0, and 0 at 1, 2, …"""
    if kernel == "linear":
        return 1 - distance
    if distance <= 1:
        return ((a + 2) * distance - (a + 3)) * distance**2 + 1
    return a * (((distance - 5) * distance + 8) * distance - 4)


def _grid(field: str, value: Any) -> tuple[int, int]:
    """(rows, columns) from one side of a square or from both sides."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(value, list | tuple):
        return (_side(field, value),) * 2
    if len(value) != 2:
        raise ShapeError(field, expected="one side or (rows, columns)", got=value)
    return _side(field, value[0]), _side(field, value[1])


def _square(count: int, kept: int) -> tuple[int, int]:
    side = isqrt(max(count - kept, 0))
    if side == 0 or side**2 != count - kept:
        expected = f"{describe(kept)} + a square number of rows"
        hint = "name the old grid, or another number of kept rows"
        raise ShapeError("table", expected=expected, got=Literal(f"{count} rows"), hint=hint)
    return side, side


def _side(field: str, value: int) -> int:
    side = require_size(field, value)
    if side > MOST_SIDE:
        raise GeometryError(field, expected=f"at most {MOST_SIDE:,} slots", got=side)
    return side
