"""Rotary positions: queries and keys are turned by angles that grow with the place.

Notation: N tokens on a grid, numbered row by row; c_i = (row, column) of token i; d width of a head; d/2
planes, the coordinates 2k and 2k + 1 of a vector, and one turn for each plane.

    R_i = diag of the 2 x 2 turns by (row of i)·ω_k, then by (column of i)·ω_k
    score of query i and key j = (R_i q_i) · (R_j k_j) = q_i · R_(c_j - c_i) k_j

Conventions
    planes        neighbouring coordinates, as in the paper; other codes pair k with k + d/2.
    two axes      the first half of the planes turns with the row, the second with the column.
    phases        (cosine, sine) in place of angles, (N, d/2, 2): a fraction such as (3/5, 4/5) is exact.

A turn by (0, 1) has order 4 and closes on an axis of 4 places; a turn by (3/5, 4/5) has no finite order.

Source: Su et al., Neurocomputing 568 (2024) 127063 (arXiv:2104.09864), section 3.2; for two axes Heo et al.,
ECCV 2024 (arXiv:2403.13298), section 3.2 ("axial").
"""

from typing import Any

import numpy as np

from vitbias.arrays import Array, require_alike, require_fractions
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    ValuesError,
    require_number,
    require_size,
)
from vitbias.formula import exact_quotient
from vitbias.positions import require_origin
from vitbias.symmetry import require_few

__all__ = [
    "exact_phases",
    "rotary_phases",
    "rotary_scores",
    "rotate",
    "torus_phases",
    "turn_classes",
]

MOST_ENTRIES = 2**26  # 512 MiB of float64
DIGITS = 9  # of floats that count as equal, after the point
MOST_TURNED = 2**20  # beyond, the angle itself is known to fewer digits than that
MOST_POWER = 4096  # the fraction of the n-th power of a turn has digits in proportion to n


def rotary_phases(
    rows: int,
    columns: int,
    width: int,
    *,
    temperature: float = 10_000,
    origin: tuple[int, int] = (0, 0),
) -> Array:
    """(cos, sin) of place·ω_k, ω_k = temperature^(-k/m), k = 0…m-1, m = d/4 planes for each axis.

    Returns
    -------
    (N, d/2, 2) floats

    Raises
    ------
    GeometryError : d is no multiple of 4, the origin is no pair of integers, or a place of it is beyond ±2²⁰:
        floats no longer hold turns of such places to 9 digits
    ValuesError : the temperature is not a finite number >= 1
    ShapeError
    """
    rows, columns, quarter = _sizes(rows, columns, width)
    temperature = require_number("temperature", temperature)
    if temperature < 1:
        raise ValuesError("temperature", expected="a number >= 1", got=temperature)
    for place in require_origin(origin):
        if abs(place) > MOST_TURNED:
            expected = f"places between -{MOST_TURNED:,} and {MOST_TURNED:,}"
            raise GeometryError("origin", expected=expected, got=place)
    frequencies = temperature ** (-np.arange(quarter) / quarter)
    return _from_angles(rows, columns, frequencies, frequencies, origin)


def torus_phases(rows: int, columns: int, width: int, *, origin: tuple[int, int] = (0, 0)) -> Array:
    """As ``rotary_phases`` with frequencies that close: 2π k/rows and 2π k/columns, k = 1…d/4.

    The first of them alone tells all offsets of its axis apart.

    Raises
    ------
    GeometryError, ShapeError
    """
    rows, columns, quarter = _sizes(rows, columns, width)
    whole = 2 * np.pi * np.arange(1, quarter + 1)
    top, left = require_origin(origin)
    around = top % rows, left % columns  # exact, where the product of a far place would be rounded
    return _from_angles(rows, columns, whole / rows, whole / columns, around)


def exact_phases(rows: int, columns: int, turns: Any, *, origin: tuple[int, int] = (0, 0)) -> Array:
    """Powers of exact turns: (c_k + i s_k)^place for each axis, (N, 2m, 2) fractions.

    Parameters
    ----------
    turns : (m, 2) integers or fractions (c_k, s_k) with c_k² + s_k² = 1; every axis gets all m of them

    Raises
    ------
    ValuesError : c_k² + s_k² is not 1
    GeometryError : a place beyond ±4,096
    ShapeError
    """
    turns = require_fractions("turns", turns, "planes 2")
    rows, columns, _ = _sizes(rows, columns, 4 * len(turns))
    squares = (turns**2).sum(axis=1)
    if (squares != 1).any():
        got = Literal(f"{squares[squares != 1][0]}")
        raise ValuesError("turns", expected="squares that sum to 1", got=got)
    top, left = require_origin(origin)
    lines = [_powers(turns, first, count) for first, count in ((top, rows), (left, columns))]
    return _of_grid(*lines)


def rotate(vectors: Any, phases: Any) -> Array:
    """R_i x_i for each token: (…, N, d) to (…, N, d), by the planes of neighbouring coordinates.

    Parameters
    ----------
    vectors : (…, N, d); phases : (N, d/2, 2), both floats, or both integers and fractions

    Raises
    ------
    ShapeError, ValuesError
    """
    vectors, phases = require_alike(
        ("vectors", vectors, "... tokens width"), ("phases", phases, "tokens planes 2")
    )
    tokens, planes, _ = phases.shape
    if vectors.shape[-2:] != (tokens, 2 * planes):
        got = Literal(f"axes {vectors.shape[-2:]}")
        raise ShapeError("vectors", expected=f"axes ({tokens}, {2 * planes})", got=got)
    x, y = vectors[..., 0::2], vectors[..., 1::2]
    c, s = phases[..., 0], phases[..., 1]
    with np.errstate(over="ignore", invalid="ignore"):
        turned = np.stack([c * x - s * y, s * x + c * y], axis=-1).reshape(vectors.shape)
    return _within_floats("vectors", turned)


def rotary_scores(query: Any, key: Any, phases: Any) -> Array:
    """S_ij = (R_i q_i) · (R_j k_j), (N, N), before any scaling; N at most 4,096.

    Parameters
    ----------
    query, key : (N, d); phases : (N, d/2, 2)

    Raises
    ------
    GeometryError, ShapeError, ValuesError
    """
    query, key, phases = require_alike(
        ("query", query, "tokens width"),
        ("key", key, "tokens width"),
        ("phases", phases, "tokens planes 2"),
    )
    require_few(len(phases))
    query, key = rotate(query, phases), rotate(key, phases)
    with np.errstate(over="ignore", invalid="ignore"):
        return _within_floats("query and key", np.asarray(query @ key.T))


def turn_classes(phases: Any) -> Array:
    """Which relative turn R_i^T R_j belongs to a pair, as (N, N) labels 0, 1, …; N at most 4,096.

    Equal labels, equal turns: for fractions exactly, for floats to 9 places after the point. These labels are
    all that scores can know of places.

    Raises
    ------
    GeometryError, ShapeError, ValuesError
    """
    (phases,) = require_alike(("phases", phases, "tokens planes 2"))
    require_few(len(phases))
    floats = phases.dtype.kind == "f"
    c, s = phases[..., 0], phases[..., 1]
    labels: dict[tuple[Any, ...], int] = {}
    found = np.empty((len(phases), len(phases)), dtype=np.int64)
    for i in range(len(phases)):
        with np.errstate(over="ignore", invalid="ignore"):
            turn = np.stack([c[i] * c + s[i] * s, c[i] * s - s[i] * c], axis=-1)
        turn = _within_floats("phases", turn)
        if floats:
            turn = np.rint(turn * 10.0**DIGITS) + 0.0  # -0.0 is 0.0
        rows = map(tuple, turn.reshape(len(phases), -1).tolist())
        found[i] = [labels.setdefault(row, len(labels)) for row in rows]
    return _neighbours_joined(np.array(list(labels)))[found] if floats else found


def _neighbours_joined(rounded: Array) -> Array:
    """A label for each row: equal where each coordinate differs by a chain of single units.

    A value between two multiples of the unit is rounded to either, by its last bits.
    """
    clusters = np.empty(rounded.shape, dtype=np.int64)
    for column, values in enumerate(rounded.T):
        order = np.argsort(values, kind="stable")
        apart = np.diff(values[order], prepend=values[order[0]]) > 1
        clusters[order, column] = np.cumsum(apart)
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in clusters])


def _sizes(rows: Any, columns: Any, width: Any) -> tuple[int, int, int]:
    """Rows, columns, and planes of one axis: d/4."""
    rows, columns = require_size("rows", rows), require_size("columns", columns)
    quarter = exact_quotient("width", require_size("width", width), 4)
    if rows * columns * 4 * quarter > MOST_ENTRIES:
        expected = f"at most {MOST_ENTRIES:,} entries"
        raise GeometryError("tokens x width", expected=expected, got=rows * columns * 4 * quarter)
    return rows, columns, quarter


def _within_floats(field: str, result: Array) -> Array:
    if result.dtype.kind == "f" and not np.isfinite(result).all():
        got = Literal("products beyond it")
        raise ValuesError(field, expected="values far from the limit of floats", got=got)
    return result


def _from_angles(rows: int, columns: int, down: Array, right: Array, origin: Any) -> Array:
    lines = []
    for first, count, frequencies in zip(
        require_origin(origin), (rows, columns), (down, right), strict=True
    ):
        angles = np.outer(np.arange(first, first + count), frequencies)
        lines.append(np.stack([np.cos(angles), np.sin(angles)], axis=-1))
    return _of_grid(*lines)


def _of_grid(by_row: Array, by_column: Array) -> Array:
    """Phases of all tokens: those of the row, then those of the column."""
    rows, columns = len(by_row), len(by_column)
    down = by_row.repeat(columns, axis=0)
    right = np.concatenate([by_column] * rows)
    return np.concatenate([down, right], axis=1)


def _powers(turns: Array, first: int, count: int) -> Array:
    """(cos, sin) of each turn's powers first … first + count - 1: (count, m, 2) fractions."""
    if max(abs(first), abs(first + count - 1)) > MOST_POWER:
        expected = f"places between -{MOST_POWER:,} and {MOST_POWER:,}"
        raise GeometryError("origin", expected=expected, got=first)
    c, s = turns[:, 0], turns[:, 1]
    if first < 0:  # the power of a turn is that of its inverse
        s = -s
    x, y = 0 * c + 1, 0 * s
    for _ in range(abs(first)):
        x, y = c * x - s * y, s * x + c * y
    s = turns[:, 1]
    line = []
    for _ in range(count):
        line.append(np.stack([x, y], axis=-1))
        x, y = c * x - s * y, s * x + c * y
    return np.stack(line)
