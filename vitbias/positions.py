"""Position signals: tables and relative biases.

Notation: N tokens on a grid of rows and columns, numbered row by row; g side of a square grid; d width. A
table is added to the tokens, (N, d); a bias is added to the scores, (heads, N, N).

Conventions
    sine-cosine   frequencies 10000^(-k/m), k = 0…m-1, where m is d/2 on a line and d/4 on a grid; all sines
                  stand before all cosines. On a grid the first half of the width belongs to the column, the
                  second to the row: MAE's order. MoCo-v3's code has the two exchanged on square grids.
    origin        the place of the first token, 0 unless another is given; tables know it, offsets do not.
    relative      offset = query - key, row offsets slowest, from the most negative one, as in Swin. On a
                  torus offsets are taken modulo the sides: N entries, not (2 rows - 1)(2 columns - 1).

Sources: Dosovitskiy et al., ICLR 2021 (arXiv:2010.11929v2), section 3.1 (a row for each slot) and appendix
D.4 (rows and columns). Liu et al., ICCV 2021, section 3.2 (relative bias). He et al., CVPR 2022, and Chen et
al., ICCV 2021 (sine-cosine, released code).
"""

from typing import Any

import numpy as np

from vitbias.arrays import (
    MOST_PAIRED_TOKENS,
    Array,
    as_array,
    require_alike,
    require_array,
    require_fractions,
)
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    ValuesError,
    require_instance,
    require_number,
    require_sequence,
    require_size,
)
from vitbias.formula import Size, as_size, exact_quotient, minimum

__all__ = [
    "grid_table",
    "learned_table",
    "relative_bias",
    "relative_index",
    "require_origin",
    "row_column_rank",
    "row_column_sum",
    "row_column_table",
    "sine_cosine_line",
    "sine_cosine_table",
]

MOST_ENTRIES = 2**26  # 512 MiB of float64
MOST_PLACE = 2**40  # an angle beyond it has lost too many digits after the point
MOST_SCALE = 1e300  # beyond it a normal entry can leave the range of floats


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


def grid_table(grid: Any) -> Array:
    """The token in row i and column j gets grid[i, j], (N, d): a table written as a grid, (rows, columns, d).

    A change of the index and nothing else: the same numbers in the same order.

    Raises
    ------
    GeometryError, ShapeError, ValuesError
    """
    grid = _numbers("grid", grid, "rows columns width")
    _table_shape(grid.shape[0] * grid.shape[1], grid.shape[2])
    return np.array(grid.reshape(-1, grid.shape[2]))


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


def row_column_sum(by_row: Any, by_column: Any) -> Array:
    """The token in row i and column j gets by_row[i] + by_column[j], (N, d); both tables have the full width.

    Parameters
    ----------
    by_row : (rows, d); by_column : (columns, d); floats, or integers and fractions, which give fractions

    Raises
    ------
    ShapeError : the widths differ
    GeometryError, ValuesError : also when a sum leaves the range of floats
    """
    by_row, by_column = require_alike(
        ("by_row", by_row, "rows width"), ("by_column", by_column, "columns width")
    )
    width = by_row.shape[1]
    if by_column.shape[1] != width:
        got = Literal(f"width {by_column.shape[1]}")
        raise ShapeError("by_column", expected=f"width {width}, to be summed", got=got)
    _table_shape(len(by_row) * len(by_column), width)
    with np.errstate(over="ignore"):
        total = by_row[:, None] + by_column[None, :]
    if total.dtype.kind == "f" and not np.isfinite(total).all():
        expected = "values far from the limit of floats"
        raise ValuesError("by_row + by_column", expected=expected, got=total)
    return np.asarray(total).reshape(-1, width)


def row_column_rank(rows: Size, columns: Size, width: Size) -> Any:
    """min(d, rows + columns - 1): the most that a table of rows and columns can have.

    Whether summed or side by side. Generic sums reach it, and generic halves on a square grid.

    >>> row_column_rank(14, 14, 768), row_column_rank(14, 14, 16)
    (27, 16)

    Raises
    ------
    GeometryError : a size that is not a positive integer (or a symbol)
    """
    rows, columns = as_size("rows", rows), as_size("columns", columns)
    return minimum(as_size("width", width), rows + columns - 1)


def sine_cosine_line(
    tokens: int, width: int, *, temperature: float = 10_000, origin: int = 0
) -> Array:
    """p[n] = (sin tω_0, …, sin tω_(m-1), cos tω_0, …) with t = origin + n; (N, d).

    ω_k = temperature^(-k/m), m = d/2.

    Raises
    ------
    GeometryError : d is odd, or the origin no integer
    ValuesError : the temperature is not a finite number >= 1
    """
    tokens, width = _table_shape(tokens, width)
    half = exact_quotient("width", width, 2)
    first = _place("origin", origin)
    temperature = require_number("temperature", temperature)
    if temperature < 1:
        raise ValuesError("temperature", expected="a number >= 1", got=temperature)
    angles = np.outer(np.arange(first, first + tokens), temperature ** (-np.arange(half) / half))
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def sine_cosine_table(
    rows: int,
    columns: int,
    width: int,
    *,
    temperature: float = 10_000,
    origin: tuple[int, int] = (0, 0),
) -> Array:
    """The token in row i and column j gets (line[j], line[i]), (N, d), from lines of width d/2.

    Raises
    ------
    GeometryError : d is no multiple of 4, or the origin no pair of integers
    ValuesError : as ``sine_cosine_line``
    """
    top, left = require_origin(origin)
    rows, columns = require_size("rows", rows), require_size("columns", columns)
    _, width = _table_shape(rows * columns, width)
    half = 2 * exact_quotient("width", width, 4)
    by_row = sine_cosine_line(rows, half, temperature=temperature, origin=top)
    by_column = sine_cosine_line(columns, half, temperature=temperature, origin=left)
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
    ValuesError : ``torus`` is no truth value
    """
    rows, columns = require_size("rows", rows), require_size("columns", columns)
    if rows * columns > MOST_PAIRED_TOKENS:
        expected = f"at most {MOST_PAIRED_TOKENS:,} tokens, for a number for each pair"
        raise GeometryError("rows x columns", expected=expected, got=rows * columns)
    torus = require_instance("torus", torus, bool)
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


def require_origin(origin: Any) -> tuple[int, int]:
    """The place (row, column) of the first token: two integers between -2^40 and 2^40.

    Raises
    ------
    GeometryError, ShapeError
    """
    places = tuple(_place("origin", place) for place in require_sequence("origin", origin))
    if len(places) != 2:
        got = Literal(f"{len(places)} numbers")
        raise ShapeError("origin", expected="a pair (row, column)", got=got)
    return places[0], places[1]


def _place(field: str, value: Any) -> int:
    place = require_size(field, value, minimum=None)
    if abs(place) > MOST_PLACE:
        raise GeometryError(field, expected="a place between -2^40 and 2^40", got=place)
    return place


def _numbers(field: str, value: Any, axes: str) -> Array:
    """Numbers of any real type; objects become fractions."""
    objects = as_array(field, value).dtype.kind == "O"
    return require_fractions(field, value, axes) if objects else require_array(field, value, axes)


def _table_shape(tokens: int, width: int) -> tuple[int, int]:
    tokens, width = require_size("tokens", tokens), require_size("width", width)
    if tokens * width > MOST_ENTRIES:
        expected = f"at most {MOST_ENTRIES:,} entries"
        raise GeometryError("tokens x width", expected=expected, got=tokens * width)
    return tokens, width
