"""Hierarchy: patch merging, the stages it makes, and how far a token sees across them.

Notation: H, W image side [px]; P patch side [px]; h, k rows and columns of a grid [tokens]; C width of a
token here; w window side, s shift [tokens].

Convention: merging joins 2 x 2 tokens to one of width 4C, in the order of released Swin code: top left,
bottom left, top right, bottom right (down the columns, unlike the rows of a patch). A linear map then
takes 4C to 2C. Blocks are counted over the whole network, from 1; each stage starts with a regular layer.

A merged token reaches what its four parts reach. Rows and columns are treated apart (``vitbias.reach``).

Source: Liu et al., ICCV 2021 (arXiv:2103.14030v2), section 3.1 and 3.2; the released code for the order of
the four parts, for w := min(h, k) and s := 0 where a grid is not larger than its window, and for the zeros
at bottom and right (detection code) where a side is odd or ragged.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from einops import rearrange

from vitbias.arrays import Array, require_array
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    ValuesError,
    describe,
    require_choice,
    require_instance,
    require_sequence,
    require_size,
)
from vitbias.formula import Size, as_size, exact_quotient
from vitbias.interface import min_nullity
from vitbias.patches import grid_shape
from vitbias.reach import line_reach
from vitbias.windows import groups, require_window, swin_window

__all__ = [
    "StageRow",
    "fields",
    "global_block",
    "merge_patches",
    "merging_mask",
    "merging_nullity",
    "stage_table",
]

BORDER_RULES = ("pad",)
MOST_BLOCKS = 1024
MOST_SIDE = 2**14
MOST_PAIRS = 2**24


@dataclass(frozen=True)
class StageRow:
    """One stage: its grid (rows, columns) [tokens], width of a token, blocks, window and shift [tokens].

    ``border`` is the rule for a remainder, or None where there is none.

    Raises
    ------
    GeometryError, ShapeError, UnknownNameError : sizes that do not fit each other
    """

    grid: tuple[int, int]
    width: int
    blocks: int
    window: int
    shift: int
    border: str | None = None

    def __post_init__(self) -> None:
        grid = require_sequence("grid", self.grid)
        if len(grid) != 2:
            raise ShapeError("grid", expected="rows and columns", got=self.grid)
        _require_rule(self.border)
        # plain integers from here on: a NumPy uint8 would wrap around, a list is no equal of a pair
        sizes = [require_window(n, self.window, self.shift, border=self.border) for n in grid]
        plain: dict[str, Any] = {"grid": tuple(side for side, _, _ in sizes)}
        plain.update(zip(("window", "shift"), sizes[0][1:], strict=True))
        plain.update(
            {name: require_size(name, getattr(self, name)) for name in ("width", "blocks")}
        )
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    @property
    def tokens(self) -> int:
        """N = h·k."""
        return self.grid[0] * self.grid[1]

    @property
    def activations(self) -> int:
        """N·C, the numbers that the stage holds."""
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
    rows, columns = (_half(name, n, border) for name, n in (("height", height), ("width", width)))
    rest = [(0, 0)] * (tokens.ndim - 3)
    padded = np.pad(tokens, [*rest, (0, 2 * rows - height), (0, 2 * columns - width), (0, 0)])
    return rearrange(padded, "... (rows i) (columns j) c -> ... rows columns (j i c)", i=2, j=2)


def merging_mask(height: int, width: int) -> Array:
    """Which tokens each merged token is made of, (h·k/4, h·k) truth values: four in each row.

    Raises
    ------
    GeometryError : an odd side, or more than 2²⁴ entries
    """
    rows, columns = (_half(name, n, None) for name, n in (("height", height), ("width", width)))
    if 4 * (rows * columns) ** 2 > MOST_PAIRS:
        expected = f"at most {MOST_PAIRS:,} entries of the mask"
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


def stage_table(
    image_px: Any, patch_px: int, width: int, depths: Any, window: int, *, border: str | None = None
) -> tuple[StageRow, ...]:
    """The stages of a Swin-like network: each halves both sides of the grid and doubles the width.

    w and s = ⌊w/2⌋ as in released code: a shorter side of at most w tokens becomes w, with s = 0.

    Parameters
    ----------
    image_px : H, or (H, W)
    depths : blocks of each stage
    border : ``"pad"`` allows odd sides and ragged windows, zeros at bottom and right

    Raises
    ------
    GeometryError : sizes that do not fit each other
    ShapeError, UnknownNameError
    """
    sides = image_px if isinstance(image_px, tuple | list) else (image_px, image_px)
    if len(sides) != 2:
        got = Literal(f"{len(sides)} sides")
        raise ShapeError("image_px", expected="one side or two", got=got)
    sides = [require_size("image_px", side) for side in sides]
    patch_px, width = require_size("patch_px", patch_px), require_size("width", width)
    window = require_size("window", window)
    depths = [require_size("depths", item) for item in require_sequence("depths", depths)]
    if not depths:
        raise ShapeError("depths", expected="at least one stage", got=depths)
    grid = grid_shape(sides[0], sides[1], patch_px, border=_require_rule(border))
    if max(grid) > MOST_SIDE or sum(depths) > MOST_BLOCKS:
        expected = f"at most {MOST_SIDE:,} tokens a side and {MOST_BLOCKS:,} blocks"
        got = Literal(f"{describe(max(grid))} and {describe(sum(depths))}")
        raise GeometryError("stages", expected=expected, got=got)
    rows: list[StageRow] = []
    for blocks in depths:
        if rows:
            grid = (_half("height", grid[0], border), _half("width", grid[1], border))
        used, shift = swin_window(min(grid), window, window // 2)
        rows.append(StageRow(grid, width * 2 ** len(rows), blocks, used, shift, border))
    return tuple(rows)


def fields(rows: Any, *, shifted: bool = True) -> tuple[tuple[int, int], ...]:
    """The least that a token can depend on after each block: (rows, columns) of the first stage's grid.

    On each side the shortest of all reach intervals, so a field equal to the first grid means that every
    token sees everything. ``shifted=False`` leaves all layers regular.

    >>> fields(stage_table(224, 4, 96, (2, 2, 6, 2), 7))[5:7]
    ((49, 49), (56, 56))

    Raises
    ------
    ShapeError, ValuesError : no rows of ``stage_table``
    """
    stages = [require_instance("rows", row, StageRow) for row in require_sequence("rows", rows)]
    if not stages:
        raise ShapeError("rows", expected="at least one stage", got=stages)
    shifted = require_instance("shifted", shifted, bool)
    lines = [_line_fields(stages, axis, shifted) for axis in (0, 1)]
    return tuple(zip(*lines, strict=True))


def global_block(rows: Any, *, shifted: bool = True) -> int | None:
    """The first block, counted from 1, after which every token can depend on the whole picture.

    None: not in this network.

    Raises
    ------
    ShapeError, ValuesError : as ``fields``
    """
    stages = require_sequence("rows", rows)
    found = fields(stages, shifted=shifted)
    whole = stages[0].grid
    return next((block for block, field in enumerate(found, 1) if field == whole), None)


def _line_fields(stages: list[StageRow], axis: int, shifted: bool) -> list[int]:
    low = np.arange(stages[0].grid[axis])
    high = low + 1
    shortest = []
    for number, stage in enumerate(stages):
        side = stage.grid[axis]
        if number:
            halves = np.arange(0, len(low), 2)
            low, high = np.minimum.reduceat(low, halves), np.maximum.reduceat(high, halves)
        if len(low) != side:
            raise ValuesError("rows", expected="stages that halve the grid", got=stage)
        cuts = [stage.shift if shifted and block % 2 else 0 for block in range(stage.blocks)]
        labels = [groups(side, stage.window, cut, border=stage.border) for cut in cuts]
        within_low, within_high = line_reach(np.array(labels))
        # positions of this stage to tokens of the first: the ends of an interval lie in its outer positions
        shortest += [
            int((high[upper - 1] - low[lower]).min())
            for lower, upper in zip(within_low[1:], within_high[1:], strict=True)
        ]
        low, high = low[within_low[-1]], high[within_high[-1] - 1]
    return shortest


def _half(field: str, side: Any, border: str | None) -> int:
    size = require_size(field, side)
    if _require_rule(border) is None:
        return int(exact_quotient(field, size, 2))
    return (size + 1) // 2


def _require_rule(border: Any) -> str | None:
    return None if border is None else require_choice("border", border, BORDER_RULES)
