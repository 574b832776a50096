"""Reach: which input tokens a token can depend on after some blocks, and after how many it is all of them.

Notation: M mask of one block, M[i, j] true where query i may use key j; g side of a line or grid [tokens];
w window side, s shift [tokens]; L blocks. R_n[i, j] is true if token i after n blocks can depend on input
token j: R_0 = I and R_n = (M_n or I) R_(n-1), a boolean product; the residual path I keeps each token.

Convention: masks stand in the order in which blocks are applied, the first block first; the product puts it
on the right. Reach is about what weights could do. It says nothing of what trained weights do.

On a grid where tokens attend iff their row labels and their column labels agree, every mask is a Kronecker
product of two masks of a line, with the diagonal in both; so are the boolean products, and the rows and the
columns can be treated apart. On a line whose labels stand in runs, a reach set is an interval [low, high).

Source: the review, section 9; Liu et al., ICCV 2021 (arXiv:2103.14030v2), section 3.2, for the alternation.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from vitbias.arrays import MOST_PAIRED_TOKENS, Array, require_array
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    ValuesError,
    require_choice,
    require_size,
)
from vitbias.formula import Size, as_size, maximum, minimum
from vitbias.graphs import Graph, Merging, as_graphs, first_after, packed_identity, unpacked
from vitbias.windows import groups, require_window

__all__ = [
    "Coverage",
    "compose",
    "coverage",
    "depth",
    "first_global",
    "frontier",
    "grid_depth",
    "line_depth",
    "line_reach",
    "path_counts",
    "product_depth",
    "shifted_depth",
]

ORDERS = ("regular", "shifted")
MOST_WALKED_TOKENS = 2**13  # side of a line whose blocks are walked one by one, in seconds


@dataclass(frozen=True)
class Coverage:
    """What part of the input tokens the tokens can depend on: the least, the mean and the most, exact."""

    least: Fraction
    mean: Fraction
    most: Fraction


def compose(masks: Any) -> Array:
    """R_L = (M_L or I) … (M_1 or I), (queries of the last block, keys of the first) truth values.

    A mask that is not square, such as that of patch merging, changes the number of tokens; it gets no I.

    Parameters
    ----------
    masks : sequence, first block first, of ``Partition``, ``Merging`` (``vitbias.graphs``) or dense masks
        (N_n, N_(n-1)) of truth values

    Raises
    ------
    ShapeError : no masks, or a mask with other keys than there are tokens
    ValuesError : not truth values, or a query that may use no key
    GeometryError : more than 32,768 tokens
    """
    chain = as_graphs("masks", masks)
    packed = first_after(chain[0])
    for graph in chain[1:]:
        packed = graph.after(packed)
    return unpacked(packed, chain[0].sizes[1])


def coverage(masks: Any) -> tuple[Coverage, ...]:
    """The least, mean and greatest share of the input tokens within reach, after each mask.

    Parameters
    ----------
    masks : as in ``compose``, in order, not repeated

    Raises
    ------
    GeometryError, ShapeError, ValuesError : as ``compose``
    """
    chain = as_graphs("masks", masks)
    tokens = chain[0].sizes[1]
    packed, found = None, []
    for graph in chain:
        packed = first_after(graph) if packed is None else graph.after(packed)
        found.append(_shares(np.bitwise_count(packed).sum(axis=1, dtype=np.int64), tokens))
    return tuple(found)


def first_global(masks: Any) -> int | None:
    """The first block, counted from 1, after which every token can depend on every input token; None: none.

    A ``Merging`` or another mask that is not square changes the tokens and counts as no block. The masks are
    the whole network and do not repeat; ``depth`` repeats them.

    Raises
    ------
    GeometryError, ShapeError, ValuesError : as ``compose``
    """
    chain = as_graphs("masks", masks)
    tokens = chain[0].sizes[1]
    packed, blocks = None, 0
    for graph in chain:
        packed = first_after(graph) if packed is None else graph.after(packed)
        blocks += _is_block(graph)
        if _is_full(packed, tokens):
            return blocks
    return None


def depth(masks: Any) -> int | None:
    """Blocks until every token can depend on every input token; None: it never happens.

    The masks are one period and repeat. Reach sets only grow, so a period without a change is the end.

    Parameters
    ----------
    masks : as in ``compose``, none of which changes the number of tokens

    Raises
    ------
    GeometryError, ShapeError, ValuesError : as ``compose``; also masks that are not square
    """
    return _depth(_square(as_graphs("masks", masks)))


def product_depth(rows: Any, columns: Any) -> int | None:
    """``depth`` of the masks M_n = A_n ⊗ B_n of a grid, from those of its rows A_n and its columns B_n.

    R_L of the grid is the Kronecker product of the two lines', since every A_n and B_n holds the diagonal:
    (A' ⊗ B')(A ⊗ B) = A'A ⊗ B'B, also for boolean products. So the grid is connected exactly when both lines
    are; one of them alone may be connected earlier and stays so.

    Parameters
    ----------
    rows, columns : as in ``depth``, each one period of the same length

    Raises
    ------
    ShapeError : also periods of two lengths
    GeometryError, ValuesError : as ``depth``
    """
    lines = [
        _square(as_graphs(field, line)) for field, line in (("rows", rows), ("columns", columns))
    ]
    if len(lines[0]) != len(lines[1]):
        got = Literal(f"{len(lines[0])} and {len(lines[1])}")
        raise ShapeError("rows and columns", expected="equally many masks", got=got)
    found = [_depth(line) for line in lines]
    return None if None in found else max(blocks for blocks in found if blocks is not None)


def frontier(masks: Any, token: int) -> Array:
    """Who can have heard of one input token: (L + 1, N) truth values, row n after n blocks.

    frontier[n, i] = R_n[i, token]

    Parameters
    ----------
    masks : as in ``depth``, in order, not repeated
    token : 0…N-1

    Raises
    ------
    ShapeError, ValuesError : as ``depth``
    GeometryError : no such token
    """
    chain = _square(as_graphs("masks", masks))
    tokens = chain[0].sizes[1]
    token = require_size("token", token, minimum=0)
    if token >= tokens:
        raise GeometryError("token", expected=f"at most {tokens - 1}", got=token)
    heard = np.arange(tokens) == token
    rows = [heard]
    for graph in chain:
        heard = graph.heard(heard)
        rows.append(heard)
    return np.array(rows)


def path_counts(masks: Any) -> Array:
    """Paths from input token j to token i through all blocks, (N_L, N_0) Python integers, exact at any size.

    The integer product of the 0/1 matrices (M or I): staying on the residual path and attending to
    oneself count as one step. A count is zero exactly where ``compose`` is false.

    Raises
    ------
    ShapeError, ValuesError : as ``compose``
    GeometryError : more than 4,096 tokens: N² integers are formed
    """
    from flint import fmpz_mat

    chain = as_graphs("masks", masks)
    tokens = max(size for graph in chain for size in graph.sizes)
    if tokens > MOST_PAIRED_TOKENS:
        raise GeometryError("masks", expected=f"at most {MOST_PAIRED_TOKENS:,} tokens", got=tokens)
    product = fmpz_mat(np.eye(chain[0].sizes[1], dtype=int).tolist())
    for graph in chain:
        product = fmpz_mat(graph.mask().astype(int).tolist()) * product
    entries = [int(entry) for entry in product.entries()]
    return np.array(entries, dtype=object).reshape(product.nrows(), product.ncols())


def line_reach(labels: Any) -> tuple[Array, Array]:
    """Reach sets on a line as intervals: (low, high), each (L + 1, g), row n after n blocks.

    R_n[i, j] holds iff low[n, i] <= j < high[n, i]. Time and memory O(L g), no pairs.

    Parameters
    ----------
    labels : (L, g) integers; in a block, positions with equal labels attend to each other

    Raises
    ------
    ValuesError : equal labels that do not stand side by side, as where windows wrap around: no intervals
    ShapeError
    """
    labels = require_array("labels", labels, "blocks side")
    if labels.dtype.kind == "f":
        raise ValuesError("labels", expected="integers", got=labels)
    low = np.arange(labels.shape[1])
    high = low + 1
    rows = [(low, high)]
    for label in labels:
        low, high = _widen(_starts(label), low, high)
        rows.append((low, high))
    lows, highs = zip(*rows, strict=True)
    return np.array(lows), np.array(highs)


def line_depth(
    side: int, window: int, shift: int, *, first: str = "regular", border: str | None = None
) -> int | None:
    """Blocks until all pairs of a line are connected, windows alternating; None: never (s = 0).

    Walks the blocks on the borders of intervals, memory O(g). At most 8,192 tokens a side.

    >>> line_depth(56, 7, 3), line_depth(56, 7, 3, first="shifted"), line_depth(56, 7, 0)
    (15, 16, None)

    Parameters
    ----------
    side, window, shift : g, w, s [tokens]
    first : which layer comes first, ``"regular"`` as in Swin or ``"shifted"``
    border : as in ``vitbias.windows.groups``

    Raises
    ------
    GeometryError : as ``groups``; also a longer side
    UnknownNameError
    """
    side, window, shift = require_window(side, window, shift, border=border)
    _require_order(first)
    if side > MOST_WALKED_TOKENS:
        hint = "shifted_depth has the closed form"
        expected = f"at most {MOST_WALKED_TOKENS:,} tokens a side"
        raise GeometryError("side", expected=expected, got=side, hint=hint)
    order = [_starts(groups(side, window, cut, border=border)) for cut in (0, shift)]
    if first == "shifted":
        order.reverse()
    low = np.arange(side)
    high = low + 1
    blocks = unchanged = 0
    while low.any() or (high < side).any():
        if unchanged == len(order):
            return None
        before = low, high
        low, high = _widen(order[blocks % 2], low, high)
        blocks += 1
        unchanged = unchanged + 1 if np.array_equal(before, (low, high)) else 0
    return blocks


def grid_depth(
    height: int,
    width: int,
    window: int,
    shift: int,
    *,
    first: str = "regular",
    border: str | None = None,
) -> int | None:
    """Blocks until all pairs of a grid are connected: the larger of the two lines; None: never.

    >>> grid_depth(994, 1001, 7, 3)
    285

    Raises
    ------
    GeometryError, UnknownNameError : as ``line_depth``
    """
    lines = [
        line_depth(side, window, shift, first=first, border=border) for side in (height, width)
    ]
    found = [blocks for blocks in lines if blocks is not None]
    return max(found) if len(found) == len(lines) else None


def shifted_depth(side: Size, window: Size, shift: Size, *, first: str = "regular") -> Any:
    """The closed form of ``line_depth`` for g >= 2 and 0 < s < w, ragged last windows included.

    With G = ⌈g/w⌉ windows, the last of r = g - (G-1)w tokens: 2G - 1 if the regular layer is first,
    or if r <= s; 2G if the shifted layer is first and r > s.

    >>> shifted_depth(64, 7, 3), shifted_depth(56, 7, 3, first="shifted")
    (19, 16)

    Raises
    ------
    GeometryError : no sizes, g < 2, s < 1 or s >= w
    UnknownNameError
    """
    side, window = as_size("side", side, minimum=2), as_size("window", window, minimum=2)
    shift = as_size("shift", shift)
    as_size("window - shift", window - shift)
    windows = -(-side // window)
    if _require_order(first) == "regular":
        return 2 * windows - 1
    last = side - (windows - 1) * window
    return 2 * windows - 1 + minimum(1, maximum(0, last - shift))


def _depth(chain: list[Graph]) -> int | None:
    tokens = chain[0].sizes[1]
    if tokens == 1:
        return 0
    before, packed = packed_identity(tokens), first_after(chain[0])
    blocks, unchanged = 1, int(np.array_equal(before, packed))
    while not _is_full(packed, tokens):
        if unchanged == len(chain):
            return None
        before, packed = packed, chain[blocks % len(chain)].after(packed)
        blocks += 1
        unchanged = unchanged + 1 if np.array_equal(before, packed) else 0
    return blocks


def _square(chain: list[Graph]) -> list[Graph]:
    for graph in chain:
        if not _is_block(graph):
            got = Literal(f"shape {graph.sizes}")
            raise ShapeError("mask", expected="as many queries as keys", got=got)
    return chain


def _is_block(graph: Graph) -> bool:
    """Not a change of the tokens; a merging of single tokens is none either."""
    return not isinstance(graph, Merging) and graph.sizes[0] == graph.sizes[1]


def _is_full(packed: Array, tokens: int) -> bool:
    return bool((np.bitwise_count(packed).sum(axis=1, dtype=np.int64) == tokens).all())


def _shares(counts: Array, tokens: int) -> Coverage:
    least, total, most = int(counts.min()), int(counts.sum()), int(counts.max())
    mean = Fraction(total, tokens * len(counts))
    return Coverage(Fraction(least, tokens), mean, Fraction(most, tokens))


def _starts(label: Array) -> Array:
    """First positions of the runs of equal labels."""
    starts = np.flatnonzero(np.concatenate([[True], label[1:] != label[:-1]]))
    if len(np.unique(label)) != len(starts):
        hint = "where windows wrap around, use dense masks (depth)"
        got = Literal("a label in two runs")
        raise ValuesError("labels", expected="equal labels side by side", got=got, hint=hint)
    return starts


def _widen(starts: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Each run gets the union of its positions' intervals; they overlap or touch, so it is one interval."""
    lengths = np.diff(starts, append=len(low))
    lows, highs = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
    return np.repeat(lows, lengths), np.repeat(highs, lengths)


def _require_order(first: Any) -> str:
    return require_choice("first", first, ORDERS)
