"""What a vision transformer holds and does: parameters, multiply-accumulates, bytes of score maps.

Notation: D = P²C raw patch values; d width; N tokens; L blocks; h heads; r = hidden / d of the MLP; w window
side [tokens]; K classes. Every formula takes integers or sympy symbols.

    attention     params 4d² + 4d           macs 4Nd² + 2N²d,  in windows 4Nd² + 2w²Nd
    MLP           params 2rd² + rd + d      macs 2rNd²
    block         params attention + MLP + 4d (two norms)
    embedding     params Dd + d             macs NDd
    patch merging params 8d² + 8d           macs 2Nd²  (N tokens in, N/4 out, width 4d to 2d)
    read-out      params dK + K             macs dK

Convention: one MAC is one multiplication with its addition, so flops = 2·macs. Counted are the linear maps
and the two products of attention (scores and weighted sums). Not counted are softmax, norms, GELU, biases,
residual sums and the addition of positions. In attention N counts every token that takes part, class and
distillation tokens too; in the embedding it counts patches.

Source: Dosovitskiy et al., ICLR 2021 (arXiv:2010.11929v2), equations 1 to 4; Liu et al., ICCV 2021
(arXiv:2103.14030v2), equations 1 and 2, section 3.1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from vitbias.architecture import Architecture, Block
from vitbias.errors import GeometryError, describe, require_instance
from vitbias.formula import Size, as_size, exact_quotient

Ratio: TypeAlias = "Size | Fraction"

__all__ = [
    "Macs",
    "Params",
    "attention_bytes",
    "block_macs",
    "block_params",
    "flops",
    "head_macs",
    "head_params",
    "macs",
    "merging_macs",
    "merging_params",
    "mlp_macs",
    "mlp_params",
    "msa_macs",
    "msa_params",
    "params",
    "patch_macs",
    "patch_params",
    "relative_table_params",
    "training_flops",
    "vit_macs",
    "vit_params",
    "window_msa_macs",
]


@dataclass(frozen=True)
class Params:
    """Learned numbers of a model by component; fixed tables and running averages are not among them.

    ``norms`` holds the gains and biases of norms, and layer scales; a merging norm is in ``merging``.
    ``position`` is the learned table of tokens, or the relative tables of all blocks.
    """

    embedding: int
    extra_tokens: int
    position: int
    attention: int
    mlp: int
    norms: int
    merging: int
    read_out: int

    @property
    def total(self) -> int:
        """The sum of the components."""
        return sum(vars(self).values())


@dataclass(frozen=True)
class Macs:
    """Multiply-accumulates of one picture's forward pass by component.

    ``projections`` are the four maps of attention (4Nd²), ``pairs`` its two products over pairs of tokens.
    """

    embedding: int
    projections: int
    pairs: int
    mlp: int
    merging: int
    read_out: int

    @property
    def total(self) -> int:
        """The sum of the components."""
        return sum(vars(self).values())


def patch_params(raw: Size, width: Size, *, bias: bool = True) -> Any:
    """Dd + d: the patch projection and its bias; Dd without.

    Raises
    ------
    GeometryError, ValuesError
    """
    raw, width = as_size("raw", raw), as_size("width", width)
    return raw * width + _optional("bias", bias) * width


def msa_params(width: Size, *, qkv_bias: bool = True) -> Any:
    """4d² + 4d: query, key, value and output maps with biases, for any number of heads.

    Without ``qkv_bias`` only the output map has one, 4d² + d.

    Raises
    ------
    GeometryError, ValuesError
    """
    width = as_size("width", width)
    return 4 * width**2 + (1 + 3 * _optional("qkv_bias", qkv_bias)) * width


def mlp_params(width: Size, ratio: Ratio = 4) -> Any:
    """2rd² + rd + d: d to rd and back, with biases.

    Raises
    ------
    GeometryError : also a ``Fraction`` r that does not make rd whole
    """
    width = as_size("width", width)
    hidden = _hidden(width, ratio)
    return 2 * width * hidden + hidden + width


def block_params(width: Size, ratio: Ratio = 4) -> Any:
    """Attention, MLP and the gains and biases of two norms; 12d² + 13d at r = 4.

    >>> block_params(768)
    7087872

    Raises
    ------
    GeometryError
    """
    return msa_params(width) + mlp_params(width, ratio) + 4 * as_size("width", width)


def merging_params(width: Size) -> Any:
    """8d² + 8d: the norm of 4d values, gain and bias, and the map 4d to 2d without a bias.

    Raises
    ------
    GeometryError
    """
    width = as_size("width", width)
    return 8 * width**2 + 8 * width


def relative_table_params(window: Size, heads: Size, columns: "Size | None" = None) -> Any:
    """(2w - 1)²h: one bias for each relative offset inside a window and each head of one block.

    ``columns`` where the window is not square: (2·rows - 1)(2·columns - 1)h.

    Raises
    ------
    GeometryError
    """
    rows = as_size("window", window)
    columns = rows if columns is None else as_size("columns", columns)
    return (2 * rows - 1) * (2 * columns - 1) * as_size("heads", heads)


def head_params(width: Size, classes: Size) -> Any:
    """dK + K: one linear classifier with biases.

    Raises
    ------
    GeometryError
    """
    width, classes = as_size("width", width), as_size("classes", classes)
    return width * classes + classes


def vit_params(
    patches: Size,
    raw: Size,
    width: Size,
    depth: Size,
    classes: Size,
    *,
    ratio: Ratio = 4,
    extra: Size = 1,
    heads_out: Size = 1,
) -> Any:
    """A plain ViT: embedding, extra tokens, a learned table of N + extra rows, blocks, norm, read-outs.

    >>> vit_params(196, 768, 768, 12, 1000)
    86567656

    Parameters
    ----------
    patches : N, without extra tokens
    extra : class, distillation and register tokens, each a learned vector
    heads_out : linear classifiers; 2 with distillation

    Raises
    ------
    GeometryError
    """
    patches, extra = as_size("patches", patches), as_size("extra", extra, minimum=0)
    width, depth = as_size("width", width), as_size("depth", depth)
    heads_out = as_size("heads_out", heads_out)
    rows = extra + (patches + extra)
    blocks = depth * block_params(width, ratio)
    return (
        patch_params(raw, width)
        + rows * width
        + blocks
        + 2 * width
        + heads_out * head_params(width, classes)
    )


def patch_macs(patches: Size, raw: Size, width: Size) -> Any:
    """NDd: every patch through the projection.

    Raises
    ------
    GeometryError
    """
    return as_size("patches", patches) * as_size("raw", raw) * as_size("width", width)


def msa_macs(tokens: Size, width: Size) -> Any:
    """4Nd² + 2N²d: four maps, then scores and weighted sums over all pairs; for any number of heads.

    >>> msa_macs(197, 768)
    524391936

    Raises
    ------
    GeometryError
    """
    tokens, width = as_size("tokens", tokens), as_size("width", width)
    return _projections(tokens, width) + _pairs(tokens, tokens, width)


def window_msa_macs(tokens: Size, width: Size, window: Size) -> Any:
    """4Nd² + 2w²Nd: as ``msa_macs``, each token with the w² of its window; windows tile the grid.

    A cyclic shift with a mask computes the same products and then hides some of them.

    Raises
    ------
    GeometryError : also a window of more tokens than there are, or one that cannot tile them
    """
    tokens, width = as_size("tokens", tokens), as_size("width", width)
    window = as_size("window", window)
    exact_quotient("tokens", tokens, window**2)
    return _projections(tokens, width) + _pairs(tokens, window**2, width)


def mlp_macs(tokens: Size, width: Size, ratio: Ratio = 4) -> Any:
    """2rNd².

    Raises
    ------
    GeometryError
    """
    tokens, width = as_size("tokens", tokens), as_size("width", width)
    return 2 * tokens * width * _hidden(width, ratio)


def block_macs(tokens: Size, width: Size, ratio: Ratio = 4, window: "Size | None" = None) -> Any:
    """Attention and MLP; 12Nd² + 2N²d at r = 4, or 12Nd² + 2w²Nd in windows.

    Raises
    ------
    GeometryError
    """
    mixing = msa_macs(tokens, width) if window is None else window_msa_macs(tokens, width, window)
    return mixing + mlp_macs(tokens, width, ratio)


def merging_macs(tokens: Size, width: Size) -> Any:
    """2Nd²: N tokens in, N/4 groups of 4d values out to 2d.

    Raises
    ------
    GeometryError : also when 4 does not divide N
    """
    width = as_size("width", width)
    return exact_quotient("tokens", as_size("tokens", tokens), 4) * 4 * width * 2 * width


def head_macs(width: Size, classes: Size) -> Any:
    """dK: one vector through one linear classifier.

    Raises
    ------
    GeometryError
    """
    return as_size("width", width) * as_size("classes", classes)


def vit_macs(
    patches: Size,
    raw: Size,
    width: Size,
    depth: Size,
    classes: Size,
    *,
    ratio: Ratio = 4,
    extra: Size = 1,
    heads_out: Size = 1,
) -> Any:
    """A plain ViT on one picture: embedding of N patches, L blocks on N + extra tokens, read-outs.

    >>> vit_macs(196, 768, 768, 12, 1000)
    17563828224

    Raises
    ------
    GeometryError
    """
    tokens = as_size("patches", patches) + as_size("extra", extra, minimum=0)
    blocks = as_size("depth", depth) * block_macs(tokens, width, ratio)
    read_out = as_size("heads_out", heads_out) * head_macs(width, classes)
    return patch_macs(patches, raw, width) + blocks + read_out


def attention_bytes(tokens: Size, heads: Size, depth: Size = 1, bytes_per_value: Size = 4) -> Any:
    """LhN² values of ``bytes_per_value`` bytes: all score maps of one picture, if they are kept.

    >>> attention_bytes(197, 12, 12)
    22353984

    Raises
    ------
    GeometryError
    """
    maps = as_size("depth", depth) * as_size("heads", heads) * as_size("tokens", tokens) ** 2
    return maps * as_size("bytes_per_value", bytes_per_value)


def flops(macs: Size) -> Any:
    """2·macs: one multiplication and one addition each.

    Raises
    ------
    GeometryError
    """
    return 2 * as_size("macs", macs, minimum=0)


def training_flops(macs: Size, images: Size) -> Any:
    """6·macs·images: a customary estimate; the backward pass is taken as twice the forward pass.

    Raises
    ------
    GeometryError
    """
    return 3 * flops(macs) * as_size("images", images, minimum=0)


def params(architecture: Architecture) -> Params:
    """Learned numbers of a plain, distilled or hierarchical transformer, by component.

    Raises
    ------
    ValuesError : no ``Architecture``
    """
    model = require_instance("architecture", architecture, Architecture)
    width, last = model.width, model.stages[-1].width
    table = model.patches + (model.position_extra or 0)
    stages = [
        (stage.depth, stage.width, stage.mlp_ratio, blocks[0])
        for stage, blocks in zip(model.stages, model.layout, strict=True)
    ]
    norms = sum(depth * (4 + 2 * model.layer_scale) * d for depth, d, _, _ in stages)
    return Params(
        embedding=patch_params(model.raw_dim, width, bias=model.patch_bias),
        extra_tokens=model.extra_tokens * width,
        position=sum(depth * _relative(block) for depth, _, _, block in stages)
        if model.position == "relative"
        else table * width * (model.position == "learned"),
        attention=sum(depth * msa_params(d, qkv_bias=model.qkv_bias) for depth, d, _, _ in stages),
        mlp=sum(depth * mlp_params(d, ratio) for depth, d, ratio, _ in stages),
        norms=norms + 2 * width * model.patch_norm + 2 * last * model.final_norm,
        merging=sum(merging_params(d) for _, d, _, _ in stages[:-1]),
        read_out=_read_out(model, head_params),
    )


def macs(architecture: Architecture) -> Macs:
    """Multiply-accumulates of one picture's forward pass, by component.

    Under the border rule "pad" attention runs on the padded grid, merging and MLP on the grid itself.

    Raises
    ------
    ValuesError : no ``Architecture``
    """
    model = require_instance("architecture", architecture, Architecture)
    projections = pairs = mlp = merging = 0
    before = model.width
    for number, (stage, (block, _)) in enumerate(zip(model.stages, model.layout, strict=True)):
        d, plain = stage.width, block.tokens
        tokens = plain if block.window is None else block.padded[0] * block.padded[1]
        keys = tokens if block.window is None else block.window**2
        projections += stage.depth * _projections(tokens, d)
        pairs += stage.depth * _pairs(tokens, keys, d)
        mlp += stage.depth * mlp_macs(plain, d, stage.mlp_ratio)
        merging += merging_macs(4 * plain, before) if number else 0
        before = d
    embedding = patch_macs(model.patches, model.raw_dim, model.width)
    return Macs(embedding, projections, pairs, mlp, merging, _read_out(model, head_macs))


def _projections(tokens: Any, width: Any) -> Any:
    return 4 * tokens * width**2


def _pairs(queries: Any, keys: Any, width: Any) -> Any:
    return 2 * queries * keys * width


def _hidden(width: Any, ratio: Any) -> Any:
    if not isinstance(ratio, Fraction):
        return as_size("ratio", ratio) * width
    hidden = ratio * width
    if ratio <= 0 or getattr(hidden, "denominator", 1) != 1:
        expected = f"a positive ratio that makes a whole number of {describe(width)}"
        raise GeometryError("ratio", expected=expected, got=ratio)
    return int(hidden) if isinstance(hidden, Fraction) else hidden


def _relative(block: Block) -> int:
    rows, columns = block.grid if block.window is None else (block.window, block.window)
    return int(relative_table_params(rows, block.heads, columns))


def _read_out(model: Architecture, count: Callable[[int, int], Any]) -> int:
    """``count(inputs, outputs)`` summed over the linear maps after the last norm."""
    if model.classes is None:
        return 0
    width, total = model.stages[-1].width, 0
    if model.representation is not None:
        total, width = count(width, model.representation), model.representation
    classifiers = 2 if model.read_out == "class and distillation" else 1
    return int(total + classifiers * count(width, model.classes))


def _optional(field: str, value: Any) -> int:
    return int(require_instance(field, value, bool))
