"""Hierarchy: patch merging, the stages it makes, and how far a token sees across them.

Notation: H, W image side [px]; P patch side [px]; h, k rows and columns of a grid [tokens]; C width of a
token here; w window side, s shift [tokens].

Convention: merging joins 2 x 2 tokens to one of width 4C, in the order of released Swin code: top left,
bottom left, top right, bottom right (down the columns, unlike the rows of a patch). A linear map then
takes 4C to 2C. Blocks are counted over the whole network, from 1; each stage starts with a regular layer.
Grids, windows and shifts of the stages are those of ``vitbias.architecture``.

A merged token reaches what its four parts reach. Rows and columns are treated apart (``vitbias.reach``).

Source: Liu et al., ICCV 2021 (arXiv:2103.14030v2), section 3.1 and 3.2; the released code for the order of
the four parts, and for the zeros at bottom and right (detection code) where a side is odd.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from einops import rearrange

from vitbias.architecture import Architecture
from vitbias.arrays import MOST_PAIRED_TOKENS, Array, require_array, require_fractions
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    ValuesError,
    describe,
    require_choice,
    require_instance,
    require_size,
)
from vitbias.formula import Size, as_size, cells
from vitbias.graphs import MOST_TOKENS, Graph, Merging, Partition, packed_identity
from vitbias.interface import Collision, min_nullity, null_vector, null_vectors
from vitbias.reach import Coverage, line_reach
from vitbias.windows import groups

__all__ = [
    "StageRow",
    "block_graphs",
    "coverages",
    "fields",
    "global_block",
    "merge_patches",
    "merging_collision",
    "merging_graph",
    "merging_mask",
    "merging_nullity",
    "stage_table",
]

BORDER_RULES = ("pad",)
MOST_BLOCKS = 1024
MOST_SIDE = 2**14
MOST_WRAPPED_SIDE = 2**11  # whose pairs are kept, in bits
SHIFTS = ("masked", "cyclic", "none")


@dataclass(frozen=True)
class StageRow:
    """One stage: its blocks, grid (rows, columns) [tokens], width of a token, window and shift [tokens].

    ``window`` is None and ``shift`` 0 in a stage whose tokens all attend to each other.
    """

    blocks: int
    grid: tuple[int, int]
    width: int
    window: int | None
    shift: int

    @property
    def tokens(self) -> int:
        """N = h·k, without extra tokens."""
        return self.grid[0] * self.grid[1]

    @property
    def activations(self) -> int:
        """N·C, the numbers that the stage holds of the picture."""
        return self.tokens * self.width


def merge_patches(tokens: Any, *, border: str | None = None) -> Array:
    """2 x 2 neighbours side by side, (..., h, k, C) to (..., h/2, k/2, 4C).

    merged[i, j] = [t[2i, 2j], t[2i+1, 2j], t[2i, 2j+1], t[2i+1, 2j+1]]

    Parameters
    ----------
    tokens : (..., h, k, C) integers or floats; not modified
    border : ``"pad"`` adds zeros at bottom and right where a side is odd; without it odd sides are refused

    Raises
    ------
    GeometryError : an odd side without a rule
    ShapeError, ValuesError, UnknownNameError
    """
    tokens = require_array("tokens", tokens, "... height width values")
    height, width = tokens.shape[-3:-1]
    if border is not None:
        require_choice("border", border, BORDER_RULES)
    rows, columns = (
        cells(name, n, 2, border=border) for name, n in (("height", height), ("width", width))
    )
    rest = [(0, 0)] * (tokens.ndim - 3)
    padded = np.pad(tokens, [*rest, (0, 2 * rows - height), (0, 2 * columns - width), (0, 0)])
    return rearrange(padded, "... (rows i) (columns j) c -> ... rows columns (j i c)", i=2, j=2)


def merging_graph(height: int, width: int) -> Merging:
    """Which merged token each token goes into, row by row; an odd side leaves groups of two or one.

    Raises
    ------
    GeometryError : no sizes, or more than 2²⁴ tokens
    """
    rows, columns = require_size("height", height), require_size("width", width)
    if rows * columns > MOST_PAIRED_TOKENS**2:
        expected = f"at most {MOST_PAIRED_TOKENS**2:,}"
        raise GeometryError("tokens", expected=expected, got=rows * columns)
    row, column = np.divmod(np.arange(rows * columns), columns)
    return Merging(row // 2 * -(-columns // 2) + column // 2)


def merging_mask(height: int, width: int) -> Array:
    """Which tokens each merged token is made of, (h·k/4, h·k) truth values: four in each row.

    Raises
    ------
    GeometryError : an odd side, or more than 2²⁴ entries
    """
    sides = (("height", height), ("width", width))
    rows, columns = (cells(name, require_size(name, side), 2) for name, side in sides)
    if 4 * (rows * columns) ** 2 > MOST_PAIRED_TOKENS**2:
        expected = f"at most {MOST_PAIRED_TOKENS**2:,} entries of the mask"
        raise GeometryError("tokens", expected=expected, got=4 * rows * columns)
    row, column = np.divmod(np.arange(4 * rows * columns), 2 * columns)
    return np.asarray((row // 2 * columns + column // 2) == np.arange(rows * columns)[:, None])


def merging_nullity(width: Size) -> Any:
    """2C, the least nullity of the linear map from 4C to 2C that follows merging, for each merged token.

    >>> [merging_nullity(width) for width in (96, 192, 384)]
    [192, 384, 768]

    Raises
    ------
    GeometryError
    """
    width = as_size("width", width)
    return min_nullity(4 * width, 2 * width)


def merging_collision(weight: Any, scale: Any, merged: Any) -> Collision:
    """Two merged tokens that LayerNorm and the linear map after it cannot tell apart, exactly.

    x' = x - 2 (⟨x_c, v⟩ / ⟨v, v⟩) v, with W Γ v = 0, Σv = 0, x_c = x minus its mean, Γ = diag(scale)

    x' mirrors x_c at the hyperplane across v: same mean, same Σ(x_c)², same W Γ x_c. LayerNorm divides
    by sqrt(Σ(x_c)²/4C + ε) and adds a shift, so W·LN agrees on both for every ε > 0 and every shift.
    ``token`` is W Γ x_c, before that division.

    Parameters
    ----------
    weight : (d, n) integers, fractions or floats (taken as dyadic rationals); scale : (n,); merged : (n,)

    Raises
    ------
    GeometryError : no v; there is one wherever n >= d + 2
    ValuesError : x_c is orthogonal to every v, and so its own mirror image; values that are no numbers
    ShapeError
    """
    weight = require_fractions("weight", weight, "width values", floats=True)
    values = weight.shape[1]
    scale = require_fractions("scale", scale, "values", floats=True)
    first = require_fractions("merged", merged, "values", floats=True)
    for field, vector in (("scale", scale), ("merged", first)):
        if len(vector) != values:
            raise ShapeError(field, expected=f"{values} values", got=len(vector))
    scaled = weight * scale
    conditions = np.vstack([scaled, first * 0 + 1])
    centred = first - first.sum() / values
    mirror = null_vector(conditions)
    if not centred @ mirror:
        seen = [vector for vector in null_vectors(conditions) if centred @ vector]
        if not seen:
            expected, got = "a part in a common null direction", Literal("none")
            raise ValuesError("merged", expected=expected, got=got)
        mirror = seen[0]
    second = first - 2 * (centred @ mirror) / (mirror @ mirror) * mirror
    return Collision(first, second, scaled @ centred)


def stage_table(architecture: Architecture) -> tuple[StageRow, ...]:
    """The stages of a pipeline on its own picture, one row each.

    Raises
    ------
    ValuesError : no ``Architecture``
    """
    model = require_instance("architecture", architecture, Architecture)
    return tuple(
        StageRow(stage.depth, shifted.grid, shifted.width, shifted.window, shifted.shift)
        for stage, (_, shifted) in zip(model.stages, model.layout, strict=True)
    )


def block_graphs(architecture: Architecture, *, shift: str = "masked") -> list[Graph]:
    """The whole network as graphs on its tokens, mergings between the stages included; extra tokens in front.

    ``shift``: "masked" as in Swin; "cyclic", the same rolled windows without the mask, which joins opposite
    borders; "none", all layers regular.

    Raises
    ------
    ValuesError : no ``Architecture``
    UnknownNameError : another shift
    GeometryError : more than 32,768 tokens in a stage; ``coverages`` needs no pairs
    """
    model = require_instance("architecture", architecture, Architecture)
    require_choice("shift", shift, SHIFTS)
    graphs: list[Graph] = []
    for number, (stage, (block, _)) in enumerate(
        zip(stage_table(model), model.layout, strict=True)
    ):
        if number:
            graphs.append(merging_graph(*stage_table(model)[number - 1].grid))
        if block.tokens > MOST_TOKENS:
            expected = f"at most {MOST_TOKENS:,}"
            hint = "coverages and fields need no pairs"
            raise GeometryError("tokens", expected=expected, got=block.tokens, hint=hint)
        for cut in _cuts(stage, shift):
            if stage.window is None:
                graphs.append(Partition(np.zeros(block.tokens, dtype=np.int64)))
                continue
            row, column = (_labels(side, stage.window, cut, shift) for side in stage.grid)
            graphs.append(Partition((row[:, None] * (column.max() + 1) + column).ravel()))
    return graphs


def fields(architecture: Architecture, *, shift: str = "masked") -> tuple[tuple[int, int], ...]:
    """The least that a token can depend on after each block: (rows, columns) of the first stage's grid.

    On each side the smallest of all reach sets, so a field equal to the first grid means that every token
    sees everything. ``shift`` as in ``block_graphs``.

    Raises
    ------
    ValuesError : no ``Architecture``
    UnknownNameError : another shift
    GeometryError : more than 16,384 tokens a side (2,048 where the shift is cyclic) or 1,024 blocks
    """
    lines = _lines(architecture, shift)
    return tuple((int(down.min()), int(right.min())) for down, right in lines)


def coverages(architecture: Architecture, *, shift: str = "masked") -> tuple[Coverage, ...]:
    """The least, mean and greatest share of the first grid that a token can depend on, after each block.

    Exact at any size: reach sets are products of a line's, so their counts are products, and so is the mean.

    >>> from vitbias.readers.catalogue import published
    >>> coverages(published("Swin-T"))[1].mean, coverages(published("Swin-T"))[6].least
    (Fraction(225, 4096), Fraction(1, 1))

    Raises
    ------
    GeometryError, UnknownNameError, ValuesError : as ``fields``
    """
    found = []
    grid = require_instance("architecture", architecture, Architecture).grid
    for down, right in _lines(architecture, shift):
        least, mean, most = Fraction(1), Fraction(1), Fraction(1)
        for counts, side in zip((down, right), grid, strict=True):
            least *= Fraction(int(counts.min()), side)
            mean *= Fraction(int(counts.sum()), len(counts) * side)
            most *= Fraction(int(counts.max()), side)
        found.append(Coverage(least, mean, most))
    return tuple(found)


def global_block(architecture: Architecture, *, shift: str = "masked") -> int | None:
    """The first block, counted from 1, after which every token can depend on the whole picture.

    None: not in this network.

    Raises
    ------
    GeometryError, UnknownNameError, ValuesError : as ``fields``
    """
    found = fields(architecture, shift=shift)
    return next((n for n, field in enumerate(found, 1) if field == architecture.grid), None)


def _lines(architecture: Any, shift: Any) -> list[tuple[Array, Array]]:
    """Sizes of all reach sets after each block, on the rows and on the columns."""
    model = require_instance("architecture", architecture, Architecture)
    require_choice("shift", shift, SHIFTS)
    most = MOST_WRAPPED_SIDE if shift == "cyclic" else MOST_SIDE
    if max(model.grid) > most or model.depth > MOST_BLOCKS:
        expected = f"at most {most:,} tokens a side and {MOST_BLOCKS:,} blocks"
        got = Literal(f"{describe(max(model.grid))} and {describe(model.depth)}")
        raise GeometryError("stages", expected=expected, got=got)
    walk = _wrapped_line if shift == "cyclic" else _line
    return list(zip(*(walk(model, axis, shift) for axis in (0, 1)), strict=True))


def _line(model: Architecture, axis: int, shift: str) -> list[Array]:
    """By intervals: no window wraps round."""
    low = np.arange(model.grid[axis])
    high = low + 1
    sizes = []
    for number, row in enumerate(stage_table(model)):
        if number:
            halves = np.arange(0, len(low), 2)
            low, high = np.minimum.reduceat(low, halves), np.maximum.reduceat(high, halves)
        labels = [_labels(row.grid[axis], row.window, cut, shift) for cut in _cuts(row, shift)]
        within_low, within_high = line_reach(np.array(labels))
        # positions of this stage to tokens of the first: the ends of an interval lie in its outer positions
        sizes += [
            high[upper - 1] - low[lower]
            for lower, upper in zip(within_low[1:], within_high[1:], strict=True)
        ]
        low, high = low[within_low[-1]], high[within_high[-1] - 1]
    return sizes


def _wrapped_line(model: Architecture, axis: int, shift: str) -> list[Array]:
    """By bits: windows that wrap round leave no intervals."""
    packed, sizes = packed_identity(model.grid[axis]), []
    for number, row in enumerate(stage_table(model)):
        if number:
            packed = Merging(np.arange(len(packed)) // 2).after(packed)
        for cut in _cuts(row, shift):
            packed = Partition(_labels(row.grid[axis], row.window, cut, shift)).after(packed)
            sizes.append(np.bitwise_count(packed).sum(axis=1, dtype=np.int64))
    return sizes


def _cuts(row: StageRow, shift: str) -> list[int]:
    return [row.shift if shift != "none" and block % 2 else 0 for block in range(row.blocks)]


def _labels(side: int, window: int | None, cut: int, shift: str) -> Array:
    if shift == "cyclic" and cut:
        return groups(side, window or side, cut, wrap=True)
    # whether a remainder is allowed was decided by the description
    return groups(side, side if window is None else window, cut, border="pad")
