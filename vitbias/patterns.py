"""Attention patterns as masks of one graph: axial, dilated, local, causal, and hub tokens.

Notation: N = h·k tokens of a grid of h rows and k columns, numbered row by row; M[i, j] true where query i
may use key j. Window masks are in ``vitbias.windows``; what any sequence of masks connects is in
``vitbias.reach``.

Convention: hub tokens (class, distillation, registers) stand in front, as the class token of ViT does.
A hub is one token that every other sees and that sees every other, in every block.

Every mask is dense, N² truth values, so N is at most 4,096.

Source: the review, section 9; Dosovitskiy et al., ICLR 2021 (arXiv:2010.11929v2), section 3.1, for the
class token.
"""

from typing import Any

import numpy as np

from vitbias.arrays import MOST_PAIRED_TOKENS, Array, as_array
from vitbias.attention import require_mask
from vitbias.errors import GeometryError, Literal, ShapeError, require_size

__all__ = ["axial_mask", "causal_mask", "dilated_mask", "local_mask", "with_hubs"]


def axial_mask(height: int, width: int) -> Array:
    """Same row or same column, (N, N): two blocks connect any two tokens, over the corner they span.

    Raises
    ------
    GeometryError : no sizes, or more than 4,096 tokens
    """
    rows, columns = _places(height, width)
    return np.asarray((rows == rows[:, None]) | (columns == columns[:, None]))


def causal_mask(tokens: int) -> Array:
    """The token itself and those before it, (N, N): no number of blocks reaches a later token.

    Raises
    ------
    GeometryError : no size, or more than 4,096 tokens
    """
    return np.tri(_few(require_size("tokens", tokens)), dtype=bool)


def dilated_mask(height: int, width: int, step: int) -> Array:
    """Rows and columns both equal modulo ``step``, (N, N): every step-th token in both directions.

    With step = g/w it is the grid that a window layer leaves open: w² tokens spread over the picture.

    Raises
    ------
    GeometryError : no sizes, or more than 4,096 tokens
    """
    rows, columns = _places(height, width)
    step = min(require_size("step", step), MOST_PAIRED_TOKENS)  # a larger one changes nothing
    rows, columns = rows % step, columns % step
    return np.asarray((rows == rows[:, None]) & (columns == columns[:, None]))


def local_mask(height: int, width: int, radius: int) -> Array:
    """At most ``radius`` rows and columns away, (N, N): a window of its own around every token.

    Raises
    ------
    GeometryError : no sizes, or more than 4,096 tokens
    """
    rows, columns = _places(height, width)
    radius = min(require_size("radius", radius, minimum=0), MOST_PAIRED_TOKENS)
    near_rows, near_columns = (abs(place - place[:, None]) <= radius for place in (rows, columns))
    return np.asarray(near_rows & near_columns)


def with_hubs(mask: Any, hubs: int = 1) -> Array:
    """The mask with hub tokens in front, (hubs + N, hubs + N): all see a hub, a hub sees all.

    Parameters
    ----------
    mask : (N, N) truth values; not modified

    Raises
    ------
    ShapeError : not square
    ValuesError : not truth values, or a query that may use no key
    GeometryError : ``hubs`` is no size, or more than 4,096 tokens with the hubs
    """
    mask = as_array("mask", mask)
    if mask.ndim != 2 or 0 in mask.shape or mask.shape[0] != mask.shape[1]:
        got = Literal(f"shape {mask.shape}")
        raise ShapeError("mask", expected="as many queries as keys", got=got)
    mask = require_mask(mask, *mask.shape)
    hubs = require_size("hubs", hubs)
    _few(hubs + len(mask))
    return np.pad(mask, ((hubs, 0), (hubs, 0)), constant_values=True)


def _places(height: Any, width: Any) -> tuple[Array, Array]:
    """Row and column of each token."""
    height, width = require_size("height", height), require_size("width", width)
    _few(height * width)
    rows, columns = np.divmod(np.arange(height * width), width)
    return rows, columns


def _few(tokens: int) -> int:
    if tokens > MOST_PAIRED_TOKENS:
        expected = f"at most {MOST_PAIRED_TOKENS:,} tokens, for a truth value of each pair"
        raise GeometryError("tokens", expected=expected, got=tokens)
    return tokens
