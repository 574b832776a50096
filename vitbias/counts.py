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

from typing import Any

from vitbias.formula import Size, as_size, exact_quotient

__all__ = [
    "attention_bytes",
    "block_macs",
    "block_params",
    "flops",
    "head_macs",
    "head_params",
    "merging_macs",
    "merging_params",
    "mlp_macs",
    "mlp_params",
    "msa_macs",
    "msa_params",
    "patch_macs",
    "patch_params",
    "relative_table_params",
    "training_flops",
    "vit_macs",
    "vit_params",
    "window_msa_macs",
]


def patch_params(raw: Size, width: Size) -> Any:
    """Dd + d: the patch projection and its bias.

    Raises
    ------
    GeometryError
    """
    raw, width = as_size("raw", raw), as_size("width", width)
    return raw * width + width


def msa_params(width: Size) -> Any:
    """4d² + 4d: query, key, value and output maps with biases, for any number of heads.

    Raises
    ------
    GeometryError
    """
    width = as_size("width", width)
    return 4 * width**2 + 4 * width


def mlp_params(width: Size, ratio: Size = 4) -> Any:
    """2rd² + rd + d: d to rd and back, with biases.

    Raises
    ------
    GeometryError
    """
    width, ratio = as_size("width", width), as_size("ratio", ratio)
    return 2 * ratio * width**2 + ratio * width + width


def block_params(width: Size, ratio: Size = 4) -> Any:
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


def relative_table_params(window: Size, heads: Size) -> Any:
    """(2w - 1)²h: one bias for each relative offset inside a window and each head of one block.

    Raises
    ------
    GeometryError
    """
    return (2 * as_size("window", window) - 1) ** 2 * as_size("heads", heads)


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
    ratio: Size = 4,
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
    524387328

    Raises
    ------
    GeometryError
    """
    tokens, width = as_size("tokens", tokens), as_size("width", width)
    return 4 * tokens * width**2 + 2 * tokens**2 * width


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
    return 4 * tokens * width**2 + 2 * window**2 * tokens * width


def mlp_macs(tokens: Size, width: Size, ratio: Size = 4) -> Any:
    """2rNd².

    Raises
    ------
    GeometryError
    """
    tokens, width = as_size("tokens", tokens), as_size("width", width)
    return 2 * as_size("ratio", ratio) * tokens * width**2


def block_macs(tokens: Size, width: Size, ratio: Size = 4, window: "Size | None" = None) -> Any:
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
    ratio: Size = 4,
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
