"""Position signals: tables, relative biases, and the operators that resize a table.

Notation: N tokens on a grid of rows and columns, numbered row by row; g side of a square grid; d width. A
table is added to the tokens, (N, d); a bias is added to the scores, (heads, N, N).

Conventions
    sine-cosine   frequencies 10000^(-k/m), k = 0…m-1, where m is d/2 on a line and d/4 on a grid; all sines
                  stand before all cosines. On a grid the first half of the width belongs to the column, the
                  second to the row: MAE's order. MoCo-v3's code has the two exchanged on square grids.
    relative      offset = query - key, row offsets slowest, from the most negative one, as in Swin. On a
                  torus offsets are taken modulo the sides: N entries, not (2 rows - 1)(2 columns - 1).
    resizing      new = U old along each axis. Align-corners: new slot j reads the old axis at
                  j(old - 1)/(new - 1). Half-pixel: at (j + 1/2)·old/new - 1/2; nodes beyond the border are
                  the border's. Cubic is Keys' kernel with a = -3/4, except antialiased: there a = -1/2, the
                  kernel is stretched by max(1, old/new), and what is left inside the border is normalised.

Sources: Dosovitskiy et al., ICLR 2021 (arXiv:2010.11929v2), appendix D.4; its released code resizes by
scipy.ndimage.zoom with order 1, "align-corners linear". Touvron et al., ICML 2021, section 6, whose code
calls PyTorch's bicubic, "half-pixel cubic". Liu et al., ICCV 2021, section 3.2 (relative bias). He et al.,
CVPR 2022, and Chen et al., ICCV 2021 (sine-cosine, released code). Keys, IEEE Trans. ASSP 29 (1981).
"""

from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np

from vitbias.arrays import (
    MOST_PAIRED_TOKENS,
    Array,
    as_array,
    require_array,
    require_floats,
    require_fractions,
)
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    ValuesError,
    describe,
    require_choice,
    require_instance,
    require_number,
    require_size,
)
from vitbias.formula import exact_quotient

__all__ = [
    "METHODS",
    "learned_table",
    "relative_bias",
    "relative_index",
    "resize_operator",
    "resize_table",
    "row_column_table",
    "sine_cosine_line",
    "sine_cosine_table",
]

MOST_ENTRIES = 2**26  # 512 MiB of float64
MOST_SIDE = 1024
MOST_SCALE = 1e300  # beyond it a normal entry can leave the range of floats

METHODS = tuple(
    f"{alignment} {kernel}"
    for alignment in ("align-corners", "half-pixel", "antialiased")
    for kernel in ("linear", "cubic")
)


def learned_table(tokens: int, width: int, rng: np.random.Generator, *, scale: float = 0.02) -> Any:
    """A table before training, (N, d): independent normal entries of standard deviation ``scale``.

    Every slot gets a vector of its own; nothing in it says which slots are neighbours.

    Raises
    ------
    GeometryError
    ValuesError : ``rng`` is no generator, or ``scale`` no number in 0 to 1e300
    """
    tokens, width = _table_shape(tokens, width)
    rng = require_instance("rng", rng, np.random.Generator)
    scale = require_number("scale", scale)
    if not 0 <= scale <= MOST_SCALE:
        raise ValuesError("scale", expected=f"a number in 0 to {MOST_SCALE:g}", got=scale)
    return rng.standard_normal((tokens, width)) * scale


def row_column_table(by_row: Any, by_column: Any) -> Array:
    """The token in row i and column j gets (by_row[i], by_column[j]) side by side, (N, d_1 + d_2).

    Parameters
    ----------
    by_row : (rows, d_1); by_column : (columns, d_2)

    Raises
    ------
    GeometryError, ShapeError, ValuesError
    """
    by_row = _numbers("by_row", by_row, "rows width")
    by_column = _numbers("by_column", by_column, "columns width")
    rows, columns = len(by_row), len(by_column)
    _table_shape(rows * columns, by_row.shape[1] + by_column.shape[1])
    return np.concatenate([by_row.repeat(columns, axis=0), np.tile(by_column, (rows, 1))], axis=1)


def sine_cosine_line(tokens: int, width: int, *, temperature: float = 10_000) -> Array:
    """p[n] = (sin nω_0, …, sin nω_(m-1), cos nω_0, …), ω_k = temperature^(-k/m), m = d/2; (N, d).

    Raises
    ------
    GeometryError : d is odd
    ValuesError : the temperature is not a finite number >= 1
    """
    tokens, width = _table_shape(tokens, width)
    half = exact_quotient("width", width, 2)
    temperature = require_number("temperature", temperature)
    if temperature < 1:
        raise ValuesError("temperature", expected="a number >= 1", got=temperature)
    angles = np.outer(np.arange(tokens), temperature ** (-np.arange(half) / half))
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def sine_cosine_table(rows: int, columns: int, width: int, *, temperature: float = 10_000) -> Array:
    """The token in row i and column j gets (line[j], line[i]), (N, d), from lines of width d/2.

    Raises
    ------
    GeometryError : d is no multiple of 4
    ValuesError : as ``sine_cosine_line``
    """
    rows, columns = require_size("rows", rows), require_size("columns", columns)
    _, width = _table_shape(rows * columns, width)
    half = 2 * exact_quotient("width", width, 4)
    by_row = sine_cosine_line(rows, half, temperature=temperature)
    by_column = sine_cosine_line(columns, half, temperature=temperature)
    return np.roll(row_column_table(by_row, by_column), half, axis=1)


def relative_index(rows: int, columns: int, *, torus: bool = False) -> Array:
    """Which entry of the bias table belongs to query i and key j, (N, N) integers; N at most 4,096.

    (Δrow + rows - 1)(2 columns - 1) + Δcolumn + columns - 1, with Δ the place of the query minus that of the
    key; on a torus (Δrow mod rows)·columns + (Δcolumn mod columns).

    >>> relative_index(1, 3)
    array([[2, 1, 0],
           [3, 2, 1],
           [4, 3, 2]])

    Raises
    ------
    GeometryError
    """
    rows, columns = require_size("rows", rows), require_size("columns", columns)
    if rows * columns > MOST_PAIRED_TOKENS:
        expected = f"at most {MOST_PAIRED_TOKENS:,} tokens, for a number for each pair"
        raise GeometryError("rows x columns", expected=expected, got=rows * columns)
    row, column = np.divmod(np.arange(rows * columns), columns)
    down, right = row[:, None] - row[None, :], column[:, None] - column[None, :]
    if torus:
        return np.asarray(down % rows * columns + right % columns)
    return np.asarray((down + rows - 1) * (2 * columns - 1) + right + columns - 1)


def relative_bias(table: Any, rows: int, columns: int, *, torus: bool = False) -> Array:
    """B[head, i, j] = table[index[i, j], head], (heads, N, N), in the type of the table.

    Parameters
    ----------
    table : ((2 rows - 1)(2 columns - 1), heads), on a torus (N, heads); numbers or fractions

    Raises
    ------
    ShapeError : a table with another number of rows
    GeometryError, ValuesError
    """
    index = relative_index(rows, columns, torus=torus)
    table = _numbers("table", table, "offsets heads")
    offsets = int(index.max()) + 1  # the largest offset, first to last, occurs
    if len(table) != offsets:
        got = Literal(f"{len(table)} rows")
        raise ShapeError("table", expected=f"{offsets} rows, one for each offset", got=got)
    return np.moveaxis(table[index], -1, 0)


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


def resize_table(table: Any, old: int, new: int, method: str, *, kept: int = 0) -> Array:
    """(U ⊗ U) p for a table of an old x old grid: (kept + new², d).

    Floats stay floats; integers and fractions give fractions.

    Parameters
    ----------
    table : (kept + old², d)
    old, new, method : as in ``resize_operator``
    kept : rows in front that belong to no slot of the grid (class token, registers) and are copied

    Raises
    ------
    ShapeError : another number of rows than kept + old²
    ValuesError : also when the result leaves the range of floats
    GeometryError, UnknownNameError
    """
    operator = resize_operator(old, new, method)
    kept = require_size("kept", kept, minimum=0)
    exact = as_array("table", table).dtype.kind != "f"
    check = require_fractions if exact else require_floats
    table = check("table", table, "tokens width")
    slots = len(table) - kept
    if slots != operator.shape[1] ** 2:
        expected = f"{describe(kept)} + {operator.shape[1]}² rows"
        got = Literal(f"{len(table)} rows")
        one_more = slots == operator.shape[1] ** 2 + 1
        hint = "a class token's row is named by kept" if one_more else ""
        raise ShapeError("table", expected=expected, got=got, hint=hint)
    if not exact:
        operator = operator.astype(float)
    grid = table[kept:].reshape(*[operator.shape[1]] * 2, -1)
    with np.errstate(over="ignore", invalid="ignore"):
        grid = _along(operator, _along(operator, grid).swapaxes(0, 1)).swapaxes(0, 1)
    result = np.concatenate([table[:kept], grid.reshape(-1, table.shape[1])])
    if not exact and not np.isfinite(result).all():
        raise ValuesError("table", expected="values far from the limit of floats", got=table)
    return result


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


def _numbers(field: str, value: Any, axes: str) -> Array:
    """Numbers of any real type; objects become fractions."""
    objects = as_array(field, value).dtype.kind == "O"
    return require_fractions(field, value, axes) if objects else require_array(field, value, axes)


def _side(field: str, value: int) -> int:
    side = require_size(field, value)
    if side > MOST_SIDE:
        raise GeometryError(field, expected=f"at most {MOST_SIDE:,} slots", got=side)
    return side


def _table_shape(tokens: int, width: int) -> tuple[int, int]:
    tokens, width = require_size("tokens", tokens), require_size("width", width)
    if tokens * width > MOST_ENTRIES:
        expected = f"at most {MOST_ENTRIES:,} entries"
        raise GeometryError("tokens x width", expected=expected, got=tokens * width)
    return tokens, width
