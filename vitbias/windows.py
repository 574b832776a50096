"""Window attention on a grid of tokens: partition, cyclic shift, masks, and counts of pairs.

Notation: g grid side [tokens]; N tokens (g² on a square grid); w window side [tokens]; s shift [tokens],
0 <= s < w; G = ⌈g/w⌉ windows along a side. Tokens are rows x columns x values, numbered row by row.

Convention: a positive shift moves tokens up and left, as released code rolls them: row i of the shifted
grid is row i + s (mod g) of the grid, so the cuts lie at s, s + w, … of the grid. The roll joins opposite
borders in one window; the mask parts them again, so no pair of a masked layer wraps around.

Two tokens attend to each other exactly if their row labels agree and their column labels agree
(``groups``): the mask of a grid is the Kronecker product of two masks of a line.

A pair is (query, key), both real tokens unless said; a count is of one layer and one head.

Source: Liu et al., ICCV 2021 (arXiv:2103.14030v2), section 3.2 and footnote 4 for the padding; the
released code for -100; equation 3 of the review for N·min(N, w²).
"""

from typing import Any

import numpy as np
from einops import rearrange

from vitbias.architecture import require_shift, swin_window
from vitbias.arrays import MOST_PAIRED_TOKENS, Array, require_array
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    describe,
    require_choice,
    require_instance,
    require_size,
)
from vitbias.formula import Size, as_size, exact_quotient, is_symbolic, minimum
from vitbias.graphs import Partition

__all__ = [
    "attention_mask",
    "global_pairs",
    "groups",
    "merge",
    "padded_pairs",
    "partition",
    "query_pairs",
    "ragged_pairs",
    "released_mask",
    "require_window",
    "shift",
    "shifted_pairs",
    "swin_window",
    "window_graph",
    "window_pairs",
]

BORDER_RULES = ("pad", "ragged")
MASKED = -100.0  # what released code adds to the score of a masked pair
MOST_ENTRIES = 2**24


def require_window(
    side: Any, window: Any, shift: Any = 0, *, border: str | None = None
) -> tuple[int, int, int]:
    """(g, w, s) as ints, if windows of side w, shifted by s, tile a line of g tokens.

    ``border`` names what happens to a remainder: ``"ragged"`` leaves a smaller last window, ``"pad"``
    fills it with tokens that are not real; the pairs of real tokens are the same. Either rule also
    allows one window that is larger than the line.

    Raises
    ------
    GeometryError : no sizes; s >= w; without a rule, w > g or w does not divide g
    UnknownNameError : an unknown rule
    """
    side = require_size("side", side)
    window, shift = require_shift(window, shift)
    if border is not None:
        require_choice("border", border, BORDER_RULES)
    elif window > side:
        hint = "equation 3 takes min(N, w^2) keys (window_pairs); Swin takes w = g, s = 0 (swin_window)"
        expected = f"at most the side of the grid, {describe(side)}"
        raise GeometryError("window", expected=expected, got=window, hint=hint)
    elif side % window:
        got = Literal(f"{describe(side)} (remainder {describe(side % window)})")
        hint = "name a border rule, 'pad' or 'ragged'"
        expected = f"a multiple of the window, {describe(window)}"
        raise GeometryError("side", expected=expected, got=got, hint=hint)
    return side, window, shift


def groups(
    side: int, window: int, shift: int = 0, *, border: str | None = None, wrap: bool = False
) -> Array:
    """The label of each of g positions of a line, (g,) integers; equal labels attend to each other.

    label[i] = ⌊(i - s)/w⌋ + [s > 0]; with ``wrap`` the shifted layer without its mask, ⌊((i - s) mod g)/w⌋,
    which no border rule mends: there w divides g.

    >>> groups(6, 3, 1).tolist(), groups(6, 3, 1, wrap=True).tolist()
    ([0, 1, 1, 1, 2, 2], [1, 0, 0, 0, 1, 1])

    Raises
    ------
    GeometryError : as ``require_window``, also more than 2²⁴ positions
    UnknownNameError, ValuesError
    """
    closed = require_instance("wrap", wrap, bool)
    side, window, shift = require_window(side, window, shift, border=None if closed else border)
    _require_few("side", side, MOST_ENTRIES, "positions")
    from_cut = np.arange(side) - min(shift, side)
    if closed:
        return from_cut % side // window
    return from_cut // min(window, side) + (shift > 0)


def attention_mask(
    height: int,
    width: int,
    window: int,
    shift: int = 0,
    *,
    border: str | None = None,
    wrap: bool = False,
) -> Array:
    """Which pairs a layer computes, (N, N) truth values for a grid of height x width tokens, N <= 4,096.

    mask[(i, j), (k, l)] = [row label of i = that of k] · [column label of j = that of l]: dense, N² values;
    larger grids are compared by ``groups``, which holds the same in g values.

    Raises
    ------
    GeometryError, UnknownNameError, ValuesError : as ``groups``
    """
    lines = []
    for field, side in (("height", height), ("width", width)):
        _require_few(field, require_size(field, side), MOST_PAIRED_TOKENS, "tokens")
        label = groups(side, window, shift, border=border, wrap=wrap)
        lines.append(label[:, None] == label)
    _require_few("tokens", len(lines[0]) * len(lines[1]), MOST_PAIRED_TOKENS, "tokens")
    return np.kron(*lines)


def window_graph(
    height: int,
    width: int,
    window: int,
    shift: int = 0,
    *,
    border: str | None = None,
    wrap: bool = False,
) -> Partition:
    """``attention_mask`` as a partition of the grid, N labels and no pairs.

    Raises
    ------
    GeometryError : as ``groups``, also more than 2²⁴ tokens
    UnknownNameError, ValuesError : as ``groups``
    """
    row, column = (
        groups(side, window, shift, border=border, wrap=wrap) for side in (height, width)
    )
    _require_few("tokens", len(row) * len(column), MOST_ENTRIES, "tokens")
    return Partition((row[:, None] * (int(column.max()) + 1) + column).ravel())


def released_mask(height: int, width: int, window: int, shift: int) -> Array:
    """What released Swin adds to the scores, (windows, w², w²) float32: 0 or -100, not minus infinity.

    Windows and tokens are those of ``partition(shift(grid, s), w)``. Released code adds nothing where
    s = 0; this returns the zeros of that sum.

    Raises
    ------
    GeometryError : as ``require_window``; also more than 2²⁴ entries
    """
    rows, _, _ = require_window(height, window, shift)
    columns, window, shift = require_window(width, window, shift)
    _require_few("entries of the mask", rows * columns * window**2, MOST_ENTRIES, "numbers")
    row_label, column_label = groups(rows, window, shift), groups(columns, window, shift)
    label = row_label[:, None] * (columns + 1) + column_label
    order = np.roll(label, (-shift, -shift), axis=(0, 1))
    of_window = partition(order[..., None], window)[..., 0]
    agree = of_window[:, :, None] == of_window[:, None, :]
    return np.where(agree, np.float32(0), np.float32(MASKED))


def partition(tokens: Any, window: int) -> Array:
    """The tokens of each window, (..., h, k, c) to (..., windows, w², c), row by row in both.

    Raises
    ------
    GeometryError : w does not divide both sides
    ShapeError, ValuesError
    """
    tokens = require_array("tokens", tokens, "... height width values")
    window = require_size("window", window)
    _window_counts(tokens.shape[-3], tokens.shape[-2], window)
    return rearrange(
        tokens, "... (rows i) (columns j) c -> ... (rows columns) (i j) c", i=window, j=window
    )


def merge(windows: Any, height: int, width: int, window: int) -> Array:
    """The grid from its windows, (..., windows, w², c) to (..., h, k, c): the inverse of ``partition``.

    Raises
    ------
    GeometryError : w does not divide both sides
    ShapeError : not (h/w)(k/w) windows of w² tokens
    ValuesError
    """
    windows = require_array("windows", windows, "... windows tokens values")
    height, width = require_size("height", height), require_size("width", width)
    window = require_size("window", window)
    rows, columns = _window_counts(height, width, window)
    if windows.shape[-3:-1] != (rows * columns, window**2):
        wanted = f"{describe(rows * columns)} windows of {describe(window**2)} tokens"
        got = Literal(f"{windows.shape[-3]} windows of {windows.shape[-2]} tokens")
        raise ShapeError("windows", expected=wanted, got=got)
    return rearrange(
        windows,
        "... (rows columns) (i j) c -> ... (rows i) (columns j) c",
        rows=rows,
        columns=columns,
        i=window,
        j=window,
    )


def shift(tokens: Any, s: int) -> Array:
    """The grid rolled by s up and to the left, (..., h, k, c) of the same shape; -s rolls it back.

    shifted[i, j] = tokens[(i + s) mod h, (j + s) mod k]

    Raises
    ------
    GeometryError, ShapeError, ValuesError
    """
    tokens = require_array("tokens", tokens, "... height width values")
    s = require_size("s", s, minimum=None)
    height, width = tokens.shape[-3:-1]
    return np.roll(tokens, (-s % height, -s % width), axis=(-3, -2))


def global_pairs(tokens: Size) -> Any:
    """N² pairs of global attention.

    Raises
    ------
    GeometryError
    """
    return as_size("tokens", tokens) ** 2


def window_pairs(tokens: Size, window: Size) -> Any:
    """N·min(N, w²) pairs, equation 3: a window that holds the whole grid is global attention.

    >>> window_pairs(3136, 7), window_pairs(49, 7), window_pairs(4, 7)
    (153664, 2401, 16)

    Raises
    ------
    GeometryError
    """
    tokens = as_size("tokens", tokens)
    return tokens * minimum(tokens, as_size("window", window) ** 2)


def ragged_pairs(side: Size, window: Size, shift: Size = 0) -> Any:
    """Valid pairs of a square grid whose last windows are smaller, the remainder at bottom and right.

    (a² + (g - a - b)·w + b²)², with a = min(s, g) before the first cut and b = (g - a) mod w behind the last.

    >>> ragged_pairs(64, 7), ragged_pairs(64, 7, 3)
    (195364, 181476)

    Raises
    ------
    GeometryError : no sizes, or s >= w
    """
    side, window, shift = _sizes(side, window, shift)
    first = minimum(shift, side)
    return _line_pairs(side, window, first, (side - first) % window) ** 2


def query_pairs(side: Size, window: Size) -> Any:
    """w²g² pairs: each real query of a padded square grid meets w² keys, real or not.

    Raises
    ------
    GeometryError
    """
    return as_size("side", side) ** 2 * as_size("window", window) ** 2


def padded_pairs(side: Size, window: Size) -> Any:
    """⌈g/w⌉²w⁴ pairs that a padded square grid computes, padded queries and keys included.

    Raises
    ------
    GeometryError
    """
    window = as_size("window", window)
    return (-(-as_size("side", side) // window)) ** 2 * window**4


def shifted_pairs(side: Size, window: Size, shift: Size) -> Any:
    """(s² + (g/w - 1)w² + (w - s)²)² valid pairs of a masked shifted layer; w divides g.

    >>> [shifted_pairs(side, 7, 3) for side in (56, 28, 14)]
    [135424, 29584, 5476]

    Raises
    ------
    GeometryError : as ``require_window``; symbols carry "w divides g" as a hypothesis
    """
    if is_symbolic(side, window, shift):
        side, window, shift = _sizes(side, window, shift)
    else:
        side, window, shift = require_window(side, window, shift)
    return _line_pairs(side, window, shift, window - shift) ** 2


def _line_pairs(side: Any, window: Any, first: Any, last: Any) -> Any:
    """Pairs of a line that full windows fill between a first and a last part."""
    return first**2 + (side - first - last) * window + last**2


def _sizes(side: Any, window: Any, shift: Any) -> tuple[Any, Any, Any]:
    side, window = as_size("side", side), as_size("window", window)
    shift = as_size("shift", shift, minimum=0)
    as_size("window - shift", window - shift)
    return side, window, shift


def _window_counts(height: int, width: int, window: int) -> tuple[int, int]:
    return exact_quotient("height", height, window), exact_quotient("width", width, window)


def _require_few(field: str, number: int, most: int, what: str) -> None:
    if number > most:
        hint = "labels of a line (groups) hold the same in less memory" if what == "tokens" else ""
        expected = f"at most {most:,} {what}"
        raise GeometryError(field, expected=expected, got=number, hint=hint)
