"""One immutable description of a pipeline, from the picture to the supervision.

Notation: H, W picture [px]; P patch [px]; C channels; D = P²C; d width; h heads; w window side [tokens];
s shift [tokens]; N patches; T = N + extra tokens; K classes.

    picture (H, W, C) → patches (N, D) → embedding (N, d) [+ norm] → extra tokens, positions (T, d) [+ norm]
    → stages of blocks, patch merging between two stages [→ class blocks] → norm → read-out → K logits

Conventions. A windowed stage shifts every second block, its second, fourth, …; the shift is floor(w/2)
unless another is given. Where the shorter side of a stage's grid is at most the window, the window becomes
that side and nothing is shifted. Patch merging halves the grid, doubles the width, and maps the 4d values of
a normed 2 x 2 group to 2d without a bias. What does not divide is refused unless a border rule is named.
Class blocks, as in CaiT, follow the last stage: in them the class token alone asks, and it is in no block
before them.

The description knows sizes only. ``vitbias.counts`` counts it, ``vitbias.readers`` makes it.

Source: Dosovitskiy et al., ICLR 2021 (arXiv:2010.11929v2), section 3.1; Touvron et al., ICML 2021
(arXiv:2012.12877v2), section 4; Liu et al., ICCV 2021 (arXiv:2103.14030v2), sections 3.1 and 3.2, and its
released code for the rule of small grids.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import index
from typing import Any

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
from vitbias.formula import BORDER_RULES, cells, raw_dim

__all__ = ["Architecture", "Block", "Stage", "plain_vit", "require_shift", "swin_window"]

POSITIONS = (
    *("none", "learned", "sine-cosine", "relative"),
    *("continuous relative", "rotary", "learned and rotary"),
)
TABLES = ("learned", "sine-cosine", "learned and rotary")
READ_OUTS = ("class", "class and distillation", "mean", "attention pool", "none")
SUPERVISIONS = (
    *("labels", "hard distillation", "soft distillation"),
    *("self-supervision", "image and text", "not stated"),
)
LONGEST_TEXT = 400
MOST_BLOCKS = 2**16
FLAGS = (
    *("class_token", "distillation_token", "patch_bias", "patch_norm", "embedding_norm"),
    *("qkv_bias", "key_bias", "cosine_attention", "talking_heads", "attention_norm"),
    *("gated_mlp", "mlp_norm", "post_norm", "pooled_norm", "final_norm", "layer_scale"),
)


def require_shift(window: Any, shift: Any) -> tuple[int, int]:
    """(w, s) as ints, if 0 <= s < w.

    Raises
    ------
    GeometryError : no sizes, or s >= w
    """
    window = require_size("window", window)
    shift = require_size("shift", shift, minimum=0)
    if shift >= window:
        expected = f"less than the window, {describe(window)}"
        raise GeometryError("shift", expected=expected, got=shift)
    return window, shift


def swin_window(side: int, window: int, shift: int) -> tuple[int, int]:
    """(w, s) as released Swin uses them: (g, 0) where the grid is not larger than the window.

    >>> swin_window(14, 7, 3), swin_window(7, 7, 3), swin_window(6, 7, 3)
    ((7, 3), (7, 0), (6, 0))

    Raises
    ------
    GeometryError : no sizes, or s >= w
    """
    side = require_size("side", side)
    window, shift = require_shift(window, shift)
    return (side, 0) if side <= window else (window, shift)


@dataclass(frozen=True)
class Stage:
    """Blocks that share their sizes.

    mlp_ratio : r = hidden/d, an integer, or a ``Fraction`` for which r·d is one
    window : w, or None for attention among all tokens
    shift : s of every second block, 0 for none; None for floor(w/2)

    Raises
    ------
    GeometryError : sizes that are no sizes or do not fit each other
    """

    depth: int
    width: int
    heads: int
    mlp_ratio: int | Fraction = 4
    window: int | None = None
    shift: int | None = None

    def __post_init__(self) -> None:
        for field in ("depth", "width", "heads"):
            object.__setattr__(self, field, require_size(field, getattr(self, field)))
        if self.width % self.heads:
            expected = f"a divisor of the width {describe(self.width)}"
            raise GeometryError("heads", expected=expected, got=self.heads)
        object.__setattr__(self, "mlp_ratio", _ratio(self.mlp_ratio, self.width))
        if self.window is None:
            if self.shift is not None:
                expected = "None in a stage without windows"
                raise GeometryError("shift", expected=expected, got=self.shift)
            return
        window = require_size("window", self.window)
        half = window // 2
        window, shift = require_shift(window, half if self.shift is None else self.shift)
        object.__setattr__(self, "window", window)
        object.__setattr__(self, "shift", shift)

    @property
    def hidden(self) -> int:
        """r·d, the width inside the MLP."""
        return int(self.mlp_ratio * self.width)


@dataclass(frozen=True)
class Block:
    """A stage where its grid is known, at its unshifted (``shift`` 0) or shifted blocks.

    grid : (rows, columns) of patches; tokens : rows · columns, and the extra tokens
    window, shift : as they act on this grid; window None for attention among all tokens
    padded : (rows, columns) that the windows tile; more than ``grid`` under the border rule "pad" only
    """

    stage: int
    grid: tuple[int, int]
    tokens: int
    width: int
    heads: int
    hidden: int
    window: int | None
    shift: int
    padded: tuple[int, int]

    @property
    def sees_all(self) -> bool:
        """Every token attends to every token: no window, or one window that is the grid."""
        return self.window is None or self.grid == (self.window, self.window)


@dataclass(frozen=True)
class Architecture:
    """A pipeline, refused at once where its parts do not fit each other.

    image_px : (H, W), or one integer for both
    stages : one ``Stage``, or several with patch merging between them
    position : "none"; "learned" or "sine-cosine" (a table added to the tokens); "relative" (a bias to the
        scores, one table for each block and head; a class token has three entries of its own);
        "continuous relative" (that bias from an MLP of the offset, as in Swin v2); "rotary" (queries and
        keys are turned); "learned and rotary"
    position_extra : how many extra tokens have a row in the added table; None for all in the blocks
    registers : further learned tokens that are read by nobody
    class_blocks : class-attention blocks behind the last stage
    read_out : "class", "class and distillation" (two classifiers), "mean" (of the patch tokens), "attention
        pool" (a learned query, a block's attention and MLP; with or without a classifier), "none"
    classes : K; None with the read-out "none", and allowed with "attention pool"
    representation : width of a hidden layer before the classifier, as in ViT's pre-training; None without
    patch_bias, patch_norm, final_norm, layer_scale : whether these parts exist
    embedding_norm : a norm of all tokens before the first block, as in CLIP
    qkv_bias, key_bias : biases of queries and values, and of keys too; BEiT and Swin v2 have none for keys
    cosine_attention : scores from directions only, with a learned factor for each head, as in Swin v2
    talking_heads : two linear maps over the heads, before and behind the softmax, as in CaiT
    attention_norm, mlp_norm : a norm before the output map of attention, before that of the MLP
    gated_mlp : a second map d to rd, multiplied in, as in EVA-02
    post_norm : norms behind attention, MLP and merging instead of before, as in Swin v2
    pooled_norm : the final norm acts on the mean of the patch tokens, as in BEiT, and not on each token
    border : None; "drop" (the convolution leaves a remainder of the picture unread); "pad" (picture, windows
        and merging are filled with zeros)
    supervision : what the training compares with; ``teacher`` is named with distillation and only then
    source : where these sizes are stated

    Raises
    ------
    GeometryError : sizes that are no sizes or do not fit each other
    ShapeError : no sequence of stages
    UnknownNameError : a choice that is not listed above
    ValuesError : parts of another class; parts that exclude each other
    """

    name: str
    image_px: tuple[int, int]
    patch_px: int
    stages: tuple[Stage, ...]
    position: str = "learned"
    class_token: bool = True
    distillation_token: bool = False
    registers: int = 0
    class_blocks: int = 0
    position_extra: int | None = None
    read_out: str = "class"
    classes: int | None = 1000
    representation: int | None = None
    channels: int = 3
    patch_bias: bool = True
    patch_norm: bool = False
    embedding_norm: bool = False
    qkv_bias: bool = True
    key_bias: bool = True
    cosine_attention: bool = False
    talking_heads: bool = False
    attention_norm: bool = False
    gated_mlp: bool = False
    mlp_norm: bool = False
    post_norm: bool = False
    pooled_norm: bool = False
    final_norm: bool = True
    layer_scale: bool = False
    border: str | None = None
    supervision: str = "labels"
    teacher: str | None = None
    source: str = "not stated"

    def __post_init__(self) -> None:
        for field in ("name", "source"):
            _require_text(field, getattr(self, field))
        for field in FLAGS:
            require_instance(field, getattr(self, field), bool)
        sizes = (("patch_px", 1), ("channels", 1), ("registers", 0), ("class_blocks", 0))
        for field, least in sizes:
            self._set(field, require_size(field, getattr(self, field), minimum=least))
        self._set("image_px", _image(self.image_px))
        stages = require_sequence("stages", self.stages)
        self._set("stages", tuple(require_instance("stages", stage, Stage) for stage in stages))
        require_choice("position", self.position, POSITIONS)
        require_choice("read_out", self.read_out, READ_OUTS)
        require_choice("supervision", self.supervision, SUPERVISIONS)
        if self.border is not None:
            require_choice("border", self.border, BORDER_RULES)
        self._require_hierarchy()
        self._require_tokens()
        self._require_read_out()
        self._require_teacher()
        _ = self.layout  # refuses what does not divide

    @property
    def raw_dim(self) -> int:
        """D = P²C, the values of one raw patch."""
        return int(raw_dim(self.patch_px, self.channels))

    @property
    def grid(self) -> tuple[int, int]:
        """(rows, columns) of patches that the first stage works on."""
        return self.layout[0][0].grid

    @property
    def patches(self) -> int:
        """N, rows times columns."""
        rows, columns = self.grid
        return rows * columns

    @property
    def extra_tokens(self) -> int:
        """Class, distillation and register tokens."""
        return self.class_token + self.distillation_token + self.registers

    @property
    def block_extra(self) -> int:
        """The extra tokens that are in the blocks of the stages: all, or none with class blocks."""
        return 0 if self.class_blocks else self.extra_tokens

    @property
    def tokens(self) -> int:
        """T = N + the extra tokens in the blocks, at the first stage."""
        return self.patches + self.block_extra

    @property
    def width(self) -> int:
        """d of the patch embedding, that of the first stage."""
        return self.stages[0].width

    @property
    def depth(self) -> int:
        """L, the blocks of all stages."""
        return sum(stage.depth for stage in self.stages)

    @cached_property
    def layout(self) -> tuple[tuple[Block, Block], ...]:
        """For each stage the first, third, … block (never shifted) and the second, fourth, … (shifted)."""
        sides = dict(zip(("height", "width"), self.image_px, strict=True))
        grid = tuple(
            cells(field, side, self.patch_px, border=self.border) for field, side in sides.items()
        )
        placed = []
        for number, stage in enumerate(self.stages):
            if number:
                pad = "pad" if self.border == "pad" else None
                grid = tuple(cells(f"grid of stage {number}", side, 2, border=pad) for side in grid)
            placed.append(self._place(number, stage, grid))
        return tuple(placed)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All L blocks in order; every second one of a windowed stage is shifted.

        Raises
        ------
        GeometryError : more than 65,536 blocks; ``layout`` has two for each stage
        """
        if self.depth > MOST_BLOCKS:
            expected, hint = f"at most {MOST_BLOCKS:,} blocks", "layout has two for each stage"
            raise GeometryError("depth", expected=expected, got=self.depth, hint=hint)
        return tuple(
            pair[index % 2]
            for stage, pair in zip(self.stages, self.layout, strict=True)
            for index in range(stage.depth)
        )

    def _set(self, field: str, value: Any) -> None:
        object.__setattr__(self, field, value)

    def _place(self, number: int, stage: Stage, grid: Any) -> tuple[Block, Block]:
        window, shift, padded = None, 0, grid
        if stage.window is not None:
            window, shift = swin_window(min(grid), stage.window, stage.shift or 0)
            pad = "pad" if self.border == "pad" else None
            name = f"grid of stage {number + 1}"
            padded = tuple(window * cells(name, side, window, border=pad) for side in grid)
        tokens = grid[0] * grid[1] + self.block_extra
        sizes = (number, grid, tokens, stage.width, stage.heads, stage.hidden, window)
        return Block(*sizes, 0, padded), Block(*sizes, shift, padded)

    def _require_hierarchy(self) -> None:
        if not self.stages:
            raise ShapeError("stages", expected="at least one stage", got=Literal("none"))
        for before, after in zip(self.stages, self.stages[1:], strict=False):
            if after.width != 2 * before.width:
                expected = f"twice the width {describe(before.width)} of the stage before"
                raise GeometryError("stages", expected=expected, got=after.width)

    def _require_tokens(self) -> None:
        extra = self.extra_tokens
        local = any(stage.window is not None for stage in self.stages)
        if extra and (local or len(self.stages) > 1):
            expected = "no extra tokens beside windows or patch merging"
            raise ValuesError("extra tokens", expected=expected, got=extra)
        if self.class_blocks and not (self.class_token and extra == 1):
            expected = "a class token and no other extra token"
            raise ValuesError("class_blocks", expected=expected, got=self.class_blocks)
        if self.position == "continuous relative" and None in {s.window for s in self.stages}:
            expected = "windows in every stage beside positions from an MLP of the offset"
            raise ValuesError("window", expected=expected, got=None)
        others = extra - self.class_token if self.position == "relative" else extra
        if others and self.position in ("relative", "continuous relative"):
            expected = "no extra tokens beside relative positions: they have no offset"
            raise ValuesError("extra tokens", expected=expected, got=extra)
        extra = self.block_extra
        table = self.position in TABLES
        if self.position_extra is None:
            self._set("position_extra", extra if table else 0)
            return
        rows = require_size("position_extra", self.position_extra, minimum=0)
        if rows > (extra if table else 0):
            expected = f"at most {describe(extra)} extra tokens, and a table of positions"
            raise GeometryError("position_extra", expected=expected, got=rows)
        self._set("position_extra", rows)

    def _require_read_out(self) -> None:
        for token, wanted in (("class_token", "class"), ("distillation_token", "distillation")):
            if wanted in self.read_out and not getattr(self, token):
                raise ValuesError(
                    token, expected=f"True with the read-out {self.read_out!r}", got=False
                )
        if self.classes is None and self.read_out not in ("none", "attention pool"):
            expected = f"a number with the read-out {self.read_out!r}"
            raise ValuesError("classes", expected=expected, got=None)
        if self.classes is not None and self.read_out == "none":
            expected = "None with the read-out 'none'"
            raise ValuesError("classes", expected=expected, got=self.classes)
        if self.pooled_norm and not (self.final_norm and self.read_out in ("mean", "none")):
            expected = "False without a final norm of a mean of tokens"
            raise ValuesError("pooled_norm", expected=expected, got=True)
        if self.classes is None and self.representation is not None:
            expected = "None without classes"
            raise ValuesError("representation", expected=expected, got=self.representation)
        for field in ("classes", "representation"):
            if getattr(self, field) is not None:
                self._set(field, require_size(field, getattr(self, field)))

    def _require_teacher(self) -> None:
        if (self.teacher is not None) != self.supervision.endswith("distillation"):
            expected = "a name with distillation, and None without"
            raise ValuesError("teacher", expected=expected, got=self.teacher)
        if self.teacher is not None:
            _require_text("teacher", self.teacher)


def plain_vit(
    image: int,
    patch: int,
    width: int,
    depth: int,
    heads: int,
    classes: int | None,
    *,
    mlp_ratio: int | Fraction = 4,
    read_out: str = "class",
    **parts: Any,
) -> Architecture:
    """A pipeline of one stage with global attention, in one line.

    A class token stands in front, but not with the read-out "mean". ``parts`` are further fields of
    ``Architecture``.

    >>> plain_vit(224, 16, 192, 12, 3, 1000).tokens
    197

    Raises
    ------
    GeometryError, ShapeError, UnknownNameError, ValuesError : as ``Architecture``
    """
    stage = Stage(depth, width, heads, mlp_ratio=mlp_ratio)
    parts = {"name": "plain ViT", "class_token": read_out != "mean", **parts}
    return Architecture(
        image_px=image,  # type: ignore[arg-type]  # one integer stands for both sides
        patch_px=patch,
        stages=(stage,),
        classes=classes,
        read_out=read_out,
        **parts,
    )


def _ratio(value: Any, width: int) -> int | Fraction:
    if not isinstance(value, Fraction):
        return require_size("mlp_ratio", value)
    if value <= 0 or (value * width).denominator != 1:
        expected = f"a positive ratio that makes a whole number of {describe(width)}"
        raise GeometryError("mlp_ratio", expected=expected, got=value)
    return int(value) if value.denominator == 1 else value


def _image(value: Any) -> tuple[int, int]:
    try:
        index(value)
    except TypeError:
        pass
    else:
        side = require_size("image_px", value)
        return side, side
    sides = tuple(require_size("image_px", side) for side in require_sequence("image_px", value))
    if len(sides) != 2:
        raise ShapeError("image_px", expected="(height, width)", got=sides)
    return sides


def _require_text(field: str, value: Any) -> None:
    if not (isinstance(value, str) and value.isprintable() and 0 < len(value) <= LONGEST_TEXT):
        expected = f"1 to {LONGEST_TEXT} printable characters"
        raise ValuesError(field, expected=expected, got=value)
