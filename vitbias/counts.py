"""What a vision transformer holds and does: parameters, multiply-accumulates, bytes of score maps.

Notation: D = P²C raw patch values; d width; N tokens; L blocks; h heads; r = hidden / d of the MLP; w window
side [tokens]; K classes. Every formula takes integers or sympy symbols.

    attention     params 4d² + 4d           macs 4Nd² + 2N²d,  in windows 4Nd² + 2w²Nd
    talking heads params 2h² + 2h           macs 2N²h²
    MLP           params 2rd² + rd + d      macs 2rNd²
    gated MLP     params 3rd² + 2rd + d     macs 3rNd²
    block         params attention + MLP + 4d (two norms)
    class block   params as a block         macs 2d² + 2(N+1)d² + 2(N+1)d, and the MLP of one token
    embedding     params Dd + d             macs NDd
    offset MLP    params 1536 + 512h        macs (2w-1)²·(1024 + 512h)
    patch merging params 8d² + 8d           macs 2Nd²  (N tokens in, N/4 out, width 4d to 2d)
    read-out      params dK + K             macs dK
    pooling       params d + 4d² + 4d + 2d + MLP    macs 2d² + 2Nd² + 2Nd, and the MLP of one vector

Convention: one MAC is one multiplication with its addition, so flops = 2·macs. Counted are the linear maps
and the two products of attention (scores and weighted sums). Not counted are softmax, norms, GELU, biases,
residual sums, the addition of positions and the turning of queries and keys. In attention N counts every
token that takes part, class and distillation tokens too; in the embedding it counts patches.

Source: Dosovitskiy et al., ICLR 2021 (arXiv:2010.11929v2), equations 1 to 4; Liu et al., ICCV 2021
(arXiv:2103.14030v2), equations 1 and 2, section 3.1; Touvron et al., ICCV 2021 (arXiv:2103.17239), sections
2 and 3, for class blocks; Liu et al., CVPR 2022 (arXiv:2111.09883), section 3, for the offset MLP; Fang et
al. 2023 (arXiv:2303.11331), section 2, for the gated MLP; the released code of timm for what each holds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from vitbias.architecture import Architecture, Block, Stage
from vitbias.errors import GeometryError, describe, require_instance
from vitbias.formula import Size, as_size, exact_quotient

Ratio: TypeAlias = "Size | Fraction"

OFFSET_WIDTH = 512  # hidden values of Swin v2's offset MLP
POOL = "attention pool"

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
    "offset_mlp_macs",
    "offset_mlp_params",
    "params",
    "patch_macs",
    "patch_params",
    "pooling_params",
    "query_macs",
    "relative_table_params",
    "talking_macs",
    "talking_params",
    "training_flops",
    "vit_macs",
    "vit_params",
    "window_msa_macs",
]


@dataclass(frozen=True)
class Params:
    """Learned numbers of a model by component; fixed tables and running averages are not among them.

    ``norms`` holds the gains and biases of norms, and layer scales; a merging norm is in ``merging``, that of
    a pooling read-out in ``read_out``. ``position`` is the learned table of tokens, the relative tables or
    the offset MLPs of all blocks. Class blocks count as blocks.
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

    ``projections`` are the four maps of attention (4Nd²), ``pairs`` its two products over pairs of tokens, of
    a pooling read-out too; ``talking`` the maps over heads for each pair; ``position`` the offset MLPs.
    """

    embedding: int
    position: int
    projections: int
    pairs: int
    talking: int
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


def msa_params(width: Size, *, qkv_bias: bool = True, key_bias: bool = True) -> Any:
    """4d² + 4d: query, key, value and output maps with biases, for any number of heads.

    Without ``qkv_bias`` only the output map has one, 4d² + d; without ``key_bias`` 4d² + 3d.

    Raises
    ------
    GeometryError, ValuesError
    """
    width = as_size("width", width)
    biases = _optional("qkv_bias", qkv_bias) * (2 + _optional("key_bias", key_bias))
    return 4 * width**2 + (1 + biases) * width


def talking_params(heads: Size) -> Any:
    """2h² + 2h: two maps over the heads, with biases.

    Raises
    ------
    GeometryError
    """
    heads = as_size("heads", heads)
    return 2 * heads**2 + 2 * heads


def mlp_params(width: Size, ratio: Ratio = 4, *, gated: bool = False) -> Any:
    """2rd² + rd + d: d to rd and back, with biases; 3rd² + 2rd + d with a gate.

    Raises
    ------
    GeometryError, ValuesError : also a ``Fraction`` r that does not make rd whole
    """
    width = as_size("width", width)
    hidden, maps = _hidden(width, ratio), 2 + _optional("gated", gated)
    return maps * width * hidden + (maps - 1) * hidden + width


def block_params(width: Size, ratio: Ratio = 4) -> Any:
    """Attention, MLP and the gains and biases of two norms; 12d² + 13d at r = 4.

    >>> block_params(768)
    7087872

    Raises
    ------
    GeometryError
    """
    return msa_params(width) + mlp_params(width, ratio) + 4 * as_size("width", width)


def merging_params(width: Size, *, post_norm: bool = False) -> Any:
    """8d² + 8d: the norm of 4d values, gain and bias, and the map 4d to 2d without a bias.

    With ``post_norm`` the norm comes after the map, on 2d values: 8d² + 4d.

    Raises
    ------
    GeometryError, ValuesError
    """
    width = as_size("width", width)
    return 8 * width**2 + (8 - 4 * _optional("post_norm", post_norm)) * width


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


def offset_mlp_params(heads: Size) -> Any:
    """1536 + 512h: two coordinates to 512 values with biases, and to one bias for each head without.

    >>> offset_mlp_params(3)
    3072

    Raises
    ------
    GeometryError
    """
    return 3 * OFFSET_WIDTH + OFFSET_WIDTH * as_size("heads", heads)


def offset_mlp_macs(window: Size, heads: Size) -> Any:
    """(2w - 1)²(1024 + 512h): the offset MLP of one block, once for a picture.

    Raises
    ------
    GeometryError
    """
    offsets = relative_table_params(window, 1)
    return offsets * (2 * OFFSET_WIDTH + OFFSET_WIDTH * as_size("heads", heads))


def pooling_params(width: Size, ratio: Ratio = 4) -> Any:
    """d + (4d² + 4d) + 2d + MLP: a learned query, attention, a norm and an MLP.

    Raises
    ------
    GeometryError
    """
    return msa_params(width) + mlp_params(width, ratio) + 3 * as_size("width", width)


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


def query_macs(tokens: Size, width: Size) -> Any:
    """2d² + 2Nd² + 2Nd: attention of one query to N tokens, as in a class block or in pooling.

    Raises
    ------
    GeometryError
    """
    tokens, width = as_size("tokens", tokens), as_size("width", width)
    return _query_projections(tokens, width) + _pairs(1, tokens, width)


def talking_macs(tokens: Size, heads: Size) -> Any:
    """2N²h²: for each pair of tokens two maps over the heads.

    Raises
    ------
    GeometryError
    """
    return 2 * as_size("tokens", tokens) ** 2 * as_size("heads", heads) ** 2


def mlp_macs(tokens: Size, width: Size, ratio: Ratio = 4, *, gated: bool = False) -> Any:
    """2rNd²; 3rNd² with a gate.

    Raises
    ------
    GeometryError, ValuesError
    """
    tokens, width = as_size("tokens", tokens), as_size("width", width)
    return (2 + _optional("gated", gated)) * tokens * width * _hidden(width, ratio)


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
    """Learned numbers of a pipeline, by component.

    Raises
    ------
    ValuesError : no ``Architecture``
    """
    model = require_instance("architecture", architecture, Architecture)
    width, last = model.width, model.stages[-1]
    position = attention = mlp = norms = merging = 0
    for stage, (block, _) in zip(model.stages, model.layout, strict=True):
        d, depth = stage.width, stage.depth
        position += depth * _bias_params(model, block)
        attention += depth * _attention_params(model, stage)
        mlp += depth * mlp_params(d, stage.mlp_ratio, gated=model.gated_mlp)
        norms += depth * _norm_params(model, stage)
        merging += merging_params(d, post_norm=model.post_norm) if stage is not last else 0
    if model.position in ("learned", "learned and rotary"):
        position += (model.patches + (model.position_extra or 0)) * width
    number, d = model.class_blocks, last.width
    biases = {"qkv_bias": model.qkv_bias, "key_bias": model.key_bias}
    return Params(
        embedding=patch_params(model.raw_dim, width, bias=model.patch_bias),
        extra_tokens=model.extra_tokens * width,
        position=position,
        attention=attention + number * msa_params(d, **biases),
        mlp=mlp + number * mlp_params(d, last.mlp_ratio),
        norms=norms
        + number * (4 + 2 * model.layer_scale) * d
        + 2 * width * (model.patch_norm + model.embedding_norm)
        + 2 * d * model.final_norm,
        merging=merging,
        read_out=_read_out(model, head_params, pooling_params),
    )


def macs(architecture: Architecture) -> Macs:
    """Multiply-accumulates of one picture's forward pass, by component.

    Under the border rule "pad" attention runs on the padded grid, merging and MLP on the grid itself.

    Raises
    ------
    ValuesError : no ``Architecture``
    """
    model = require_instance("architecture", architecture, Architecture)
    position = projections = pairs = talking = mlp = merging = 0
    for number, (stage, (block, _)) in enumerate(zip(model.stages, model.layout, strict=True)):
        d, plain, depth = stage.width, block.tokens, stage.depth
        if block.window is None:
            tokens = keys = plain
        else:
            tokens, keys = block.padded[0] * block.padded[1], block.window**2
            if model.position == "continuous relative":
                position += depth * offset_mlp_macs(block.window, stage.heads)
        projections += depth * _projections(tokens, d)
        pairs += depth * _pairs(tokens, keys, d)
        talking += depth * talking_macs(tokens, stage.heads) if model.talking_heads else 0
        mlp += depth * mlp_macs(plain, d, stage.mlp_ratio, gated=model.gated_mlp)
        merging += merging_macs(4 * plain, d // 2) if number else 0
    last, joined = model.stages[-1], block.tokens + 1
    asked = model.class_blocks
    projections += asked * _query_projections(joined, last.width)
    pairs += asked * _pairs(1, joined, last.width)
    mlp += asked * mlp_macs(1, last.width, last.mlp_ratio)
    if model.read_out == POOL:
        pairs += _pairs(1, block.tokens, last.width)

    def pooling(width: int, ratio: Any) -> int:
        return int(_query_projections(block.tokens, width) + mlp_macs(1, width, ratio))

    return Macs(
        embedding=patch_macs(model.patches, model.raw_dim, model.width),
        position=position,
        projections=projections,
        pairs=pairs,
        talking=talking,
        mlp=mlp,
        merging=merging,
        read_out=_read_out(model, head_macs, pooling),
    )


def _projections(tokens: Any, width: Any) -> Any:
    return 4 * tokens * width**2


def _query_projections(tokens: Any, width: Any) -> Any:
    return 2 * width**2 + 2 * tokens * width**2


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


def _attention_params(model: Architecture, stage: Stage) -> int:
    maps = msa_params(stage.width, qkv_bias=model.qkv_bias, key_bias=model.key_bias)
    talking = talking_params(stage.heads) if model.talking_heads else 0
    return int(maps + talking + model.cosine_attention * stage.heads)


def _norm_params(model: Architecture, stage: Stage) -> int:
    scaled = (4 + 2 * model.layer_scale + 2 * model.attention_norm) * stage.width
    return scaled + 2 * stage.hidden * model.mlp_norm


def _bias_params(model: Architecture, block: Block) -> int:
    """What one block learns of offsets."""
    if model.position == "continuous relative":
        return int(offset_mlp_params(block.heads))
    if model.position != "relative":
        return 0
    rows, columns = block.grid if block.window is None else (block.window, block.window)
    # from the class token, to it, and with itself
    extra = 3 * block.heads * model.class_token
    return int(relative_table_params(rows, block.heads, columns)) + extra


def _read_out(
    model: Architecture, count: Callable[[int, int], Any], pool: Callable[[int, Any], Any]
) -> int:
    """The pooling, and ``count(inputs, outputs)`` summed over the linear maps after the last norm."""
    last = model.stages[-1]
    width, total = last.width, 0
    if model.read_out == POOL:
        total += pool(width, last.mlp_ratio)
    if model.classes is None:
        return int(total)
    if model.representation is not None:
        total, width = total + count(width, model.representation), model.representation
    classifiers = 2 if model.read_out == "class and distillation" else 1
    return int(total + classifiers * count(width, model.classes))


def _optional(field: str, value: Any) -> int:
    return int(require_instance(field, value, bool))
