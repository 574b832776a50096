"""A pre-norm vision transformer in NumPy that returns every intermediate under a stable name.

Notation: H, W picture [px]; P patch [px]; d width; L blocks; h heads; K classes; N patches; T tokens, the
patches and in front of them the extra ones: class, distillation, registers, in this order.

    z_0 = [extra; x_1 E^T + b; …; x_N E^T + b] + positions
    z'_l = z_(l-1) + attention(LN(z_(l-1)))        z_l = z'_l + MLP(LN(z'_l))
    y = LN(z_L) at the class token, or at class and distillation token, or its mean over the patches;
        with norm_after_mean LN of the mean of z_L over the patches
    logits = y W^T + b; with two classifiers the mean of theirs

Convention: MLP(x) = GELU(x W_1^T + b_1) W_2^T + b_2 with the exact GELU, x·Φ(x); LN adds 1e-6 to the
variance unless another number is given. Neither the epsilon nor the place of the last norm is a size, so
both are arguments of ``forward``. A table of positions has a row for each patch, and in front of them
one for each of the first ``position_extra`` extra tokens; an extra token without a row gets none.

The sizes are those of an ``Architecture``; what the equations above do not have (windows, several stages,
relative positions, a hidden layer in the read-out, maps without a bias) is refused by name.

Source: Dosovitskiy et al., ICLR 2021 (arXiv:2010.11929v2), equations 1 to 4; the mean read-out is its
appendix D.3. Touvron et al., ICML 2021, section 4: distillation token, and the mean of two classifiers.
"""

from dataclasses import dataclass
from functools import partial
from math import erf, sqrt
from typing import Any

import numpy as np

from vitbias.architecture import Architecture, Stage
from vitbias.arrays import Array, require_array, require_floats
from vitbias.attention import HeadWeights, affine, multi_head
from vitbias.errors import (
    Literal,
    ShapeError,
    ValuesError,
    describe,
    require_instance,
    require_number,
    require_sequence,
)
from vitbias.patches import patchify

__all__ = [
    "BlockWeights",
    "VitWeights",
    "forward",
    "gelu",
    "initial_weights",
    "layer_norm",
    "plain_stage",
]

EPSILON = 1e-6
TABLES = ("learned", "sine-cosine")
TWO = "class and distillation"


@dataclass(frozen=True)
class BlockWeights:
    """One block; hidden = mlp_ratio · d; norms are pairs (gain, bias) of shape (d,)."""

    norm1: tuple[Array, Array]
    attention: HeadWeights
    norm2: tuple[Array, Array]
    up: Array  # (hidden, d)
    up_bias: Array
    down: Array  # (d, hidden)
    down_bias: Array
    scale1: Array | None = None  # (d,) layer scale of the attention, and of the MLP; None without
    scale2: Array | None = None


@dataclass(frozen=True)
class VitWeights:
    """All weights; a part that the architecture does not have is None."""

    patch: Array  # (d, D)
    patch_bias: Array
    extra_tokens: Array | None  # (T - N, d): class, distillation, registers
    position: Array | None  # (position_extra + N, d)
    blocks: tuple[BlockWeights, ...]
    norm: tuple[Array, Array]
    head: Array  # (K, d)
    head_bias: Array
    distillation_head: Array | None = None  # (K, d)
    distillation_head_bias: Array | None = None


def initial_weights(
    model: Architecture, rng: np.random.Generator, *, scale: float = 1.0
) -> VitWeights:
    """Random weights, float64, all normal.

    Matrices have variance scale²/fan-in; biases and the extra tokens scale²/length; gains and layer scales
    are 1 plus such a vector; the table of positions has variance 1/d at every scale, and is random too
    where the model's is of sines and cosines.

    Not any release's initialisation: large enough that every part of the model matters at once, so that a
    test which ignores a part fails.

    Raises
    ------
    ValuesError : ``scale`` is not a finite number >= 0, ``rng`` no generator, or ``model`` no plain ViT
    """
    stage = plain_stage(model)
    if not isinstance(rng, np.random.Generator):
        raise ValuesError("rng", expected="a numpy.random.Generator", got=rng)
    scale = require_number("scale", scale)
    if scale < 0:
        raise ValuesError("scale", expected="a number >= 0", got=scale)
    scale = abs(scale)  # NumPy refuses the sign of -0.0
    d, hidden = stage.width, stage.hidden

    def matrix(rows: int, columns: int) -> Array:
        return rng.normal(0.0, scale / sqrt(columns), (rows, columns))

    def vector(length: int = d) -> Array:
        return rng.normal(0.0, scale / sqrt(d), length)

    def norm() -> tuple[Array, Array]:
        return 1.0 + vector(), vector()

    def block() -> BlockWeights:
        maps = HeadWeights(*(part for _ in range(4) for part in (matrix(d, d), vector())))
        norms_and_mlp = (
            *(norm(), maps, norm()),
            *(matrix(hidden, d), vector(hidden), matrix(d, hidden), vector()),
        )
        scales = (1.0 + vector(), 1.0 + vector()) if model.layer_scale else (None, None)
        return BlockWeights(*norms_and_mlp, *scales)

    def table() -> Array:
        return rng.normal(0.0, 1 / sqrt(d), (_table_rows(model), d))

    extra, classes = model.extra_tokens, _classes(model)
    two = model.read_out == TWO
    return VitWeights(
        patch=matrix(d, model.raw_dim),
        patch_bias=vector(),
        extra_tokens=np.array([vector() for _ in range(extra)]) if extra else None,
        position=table() if model.position in TABLES else None,
        blocks=tuple(block() for _ in range(stage.depth)),
        norm=norm(),
        head=matrix(classes, d),
        head_bias=vector(classes),
        distillation_head=matrix(classes, d) if two else None,
        distillation_head_bias=vector(classes) if two else None,
    )


def forward(
    pictures: Any,
    weights: VitWeights,
    model: Architecture,
    *,
    epsilon: float = EPSILON,
    norm_after_mean: bool = False,
) -> tuple[Array, dict[str, Array]]:
    """Logits (..., K) and the trace of every intermediate.

    Keys of the trace, in order: ``patches`` (..., N, D), ``patch_tokens`` (..., N, d), ``tokens``
    (..., T, d) with extra tokens and positions; for each block l = 1…L ``block l norm1``,
    ``block l weights`` (..., h, T, T), ``block l attention``, ``block l middle``, ``block l norm2``,
    ``block l mlp``, ``block l``; then ``norm`` (..., T, d), or ``mean`` (..., d) with ``norm_after_mean``;
    and ``read_out`` (..., d), with two classifiers (..., 2, d). Attention and MLP are traced after their
    layer scale.

    Parameters
    ----------
    pictures : (..., H, W, C), used as they are: scaling to [-1, 1] is the caller's
    epsilon : what every LayerNorm adds to the variance
    norm_after_mean : the last norm stands behind the mean, as where a release calls it ``fc_norm``

    Raises
    ------
    ShapeError : pictures or weights do not have the model's sizes
    ValuesError : also when weights, blocks or model are of another class, the model has parts that the
        equations do not have, there is no mean for a norm to follow, and when an intermediate leaves the
        range of floats
    """
    stage = _require_parts(weights, model)
    if require_instance("norm_after_mean", norm_after_mean, bool) and model.read_out != "mean":
        expected = f"False with the read-out {model.read_out!r}"
        raise ValuesError("norm_after_mean", expected=expected, got=True)
    height, width = model.image_px
    pictures = require_array("pictures", pictures, f"... {height} {width} {model.channels}")
    patches = patchify(pictures, model.patch_px)
    tokens = affine("patch", patches, weights.patch, weights.patch_bias, stage.width)
    trace = {"patches": patches, "patch_tokens": tokens}
    tokens = trace["tokens"] = _with_places(tokens, weights, model)
    for number, block in enumerate(weights.blocks, start=1):
        tokens = _block(tokens, block, stage, f"block {number}", trace, epsilon)
    norm = partial(_norm, "norm", weights.norm, epsilon=epsilon)
    if norm_after_mean:
        mean = trace["mean"] = tokens[..., model.extra_tokens :, :].mean(axis=-2)
        read = trace["read_out"] = norm(mean)
    else:
        tokens = trace["norm"] = norm(tokens)
        read = trace["read_out"] = _read(tokens, model)
    classify = partial(affine, rows=_classes(model))
    if model.read_out != TWO:
        return classify("head", read, weights.head, weights.head_bias), trace
    name = "distillation_head"
    first = classify("head", read[..., 0, :], weights.head, weights.head_bias)
    second = classify(name, read[..., 1, :], *(getattr(weights, n) for n in (name, f"{name}_bias")))
    return (first + second) / 2, trace


def layer_norm(tokens: Any, gain: Any, bias: Any, *, epsilon: float = EPSILON) -> Array:
    """(x - mean)/sqrt(variance + ε) · gain + bias over the last axis, (..., d) to (..., d).

    Parameters
    ----------
    gain, bias : (d,)
    epsilon : ε > 0

    Raises
    ------
    ShapeError
    ValuesError : also when a variance leaves the range of floats
    """
    epsilon = require_number("epsilon", epsilon)
    if epsilon <= 0:
        raise ValuesError("epsilon", expected="a number > 0", got=epsilon)
    tokens = require_floats("tokens", tokens, "... width")
    gain, bias = (
        require_floats(name, value, str(tokens.shape[-1]))
        for name, value in (("gain", gain), ("bias", bias))
    )
    with np.errstate(over="ignore", invalid="ignore"):
        centred = tokens - tokens.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon)
    if not np.isfinite(spread).all():
        raise ValuesError("tokens", expected="a finite variance", got=tokens)
    return np.asarray(centred / spread * gain + bias)


def gelu(values: Any) -> Array:
    """x·Φ(x) = x·(1 + erf(x/√2))/2, elementwise, float64.

    Source: Hendrycks and Gimpel, arXiv:1606.08415, section 2 (the exact form, not the tanh fit).

    Raises
    ------
    ShapeError, ValuesError
    """
    array = require_array("values", values, "...")
    with np.errstate(over="ignore"):  # from longer floats; the check refuses what is not finite
        array = require_array("values", array.astype(np.float64), "...")
    return np.asarray(array * 0.5 * (1.0 + _erf(array / sqrt(2.0))))


def _erf(values: Array) -> Array:
    """NumPy has no error function; this one takes a third of the whole pass at DeiT-Ti's size."""
    flat = map(erf, values.ravel().tolist())
    return np.fromiter(flat, np.float64, values.size).reshape(values.shape)


def plain_stage(model: Architecture) -> Stage:
    """The one stage of a plain ViT.

    Raises
    ------
    ValuesError : ``model`` has parts that the equations above do not have; they are named
    """
    model = require_instance("model", model, Architecture)
    absent = {
        "several stages": len(model.stages) > 1,
        "windows": any(stage.window is not None for stage in model.stages),
        f"{model.position} positions": model.position not in ("none", *TABLES),
        "class blocks": model.class_blocks > 0,
        "a norm of the patches": model.patch_norm,
        "a norm of the embedding": model.embedding_norm,
        "a norm inside attention": model.attention_norm,
        "a norm inside the MLP": model.mlp_norm,
        "norms behind": model.post_norm,
        "a norm of the mean": model.pooled_norm,
        "cosine attention": model.cosine_attention,
        "talking heads": model.talking_heads,
        "a gated MLP": model.gated_mlp,
        "an attention pool": model.read_out == "attention pool",
        "no final norm": not model.final_norm,
        "a hidden layer in the read-out": model.representation is not None,
        "no read-out": model.read_out == "none",
        "a border rule": model.border is not None,
        "no bias of queries, keys and values": not (model.qkv_bias and model.key_bias),
        "no bias of the patches": not model.patch_bias,
    }
    found = [part for part, there in absent.items() if there]
    if found:
        got = Literal(f"{describe(model.name)} with {', '.join(found)}")
        raise ValuesError("model", expected="a plain ViT", got=got)
    return model.stages[0]


def _classes(model: Architecture) -> int:
    return model.classes or 0  # None only with the read-out "none", which is refused


def _table_rows(model: Architecture) -> int:
    return model.patches + (model.position_extra or 0)


def _require_parts(weights: VitWeights, model: Architecture) -> Stage:
    """Parts that are there or not, as the model says: extra tokens, positions, second head, depth."""
    weights = require_instance("weights", weights, VitWeights)
    stage = plain_stage(model)
    two = model.read_out == TWO
    _require_presence(weights, "extra_tokens", model.extra_tokens > 0, "extra tokens")
    _require_presence(weights, "position", model.position in TABLES, "a table of positions")
    for name in ("distillation_head", "distillation_head_bias"):
        _require_presence(weights, name, two, "two classifiers")
    blocks = require_sequence("blocks", weights.blocks)
    for block in blocks:
        require_instance("blocks", block, BlockWeights)
        for name in ("scale1", "scale2"):
            _require_presence(block, name, model.layer_scale, "layer scale")
    if len(blocks) != stage.depth:
        got = Literal(f"{len(blocks)} blocks")
        raise ShapeError("blocks", expected=f"{describe(stage.depth)}, the depth", got=got)
    return stage


def _require_presence(parts: Any, name: str, wanted: bool, rule: str) -> None:
    part = getattr(parts, name)
    if (part is not None) != wanted:
        raise ShapeError(name, expected=f"an array with {rule}, else None", got=part)


def _read(tokens: Array, model: Architecture) -> Array:
    """What the classifiers see of the normed tokens."""
    if model.read_out == "mean":
        return np.asarray(tokens[..., model.extra_tokens :, :].mean(axis=-2))
    return tokens[..., :2, :] if model.read_out == TWO else tokens[..., 0, :]


def _with_places(tokens: Array, weights: VitWeights, model: Architecture) -> Array:
    """Extra tokens in front, then the rows of the table, where there are any."""
    extra, width = model.extra_tokens, model.width
    if weights.extra_tokens is not None:
        rows = require_floats("extra_tokens", weights.extra_tokens, f"{extra} {width}")
        first = np.broadcast_to(rows, (*tokens.shape[:-2], extra, width))
        tokens = np.concatenate([first, tokens], axis=-2)
    if weights.position is not None:
        held = model.position_extra or 0
        table = require_floats("position", weights.position, f"{_table_rows(model)} {width}")
        none = np.zeros((extra - held, width), table.dtype)
        tokens = tokens + np.concatenate([table[:held], none, table[held:]])
    return tokens


def _norm(name: str, parts: Any, tokens: Array, *, epsilon: float) -> Array:
    parts = require_sequence(name, parts)
    if len(parts) != 2:
        got = Literal(f"{len(parts)} parts")
        raise ShapeError(name, expected="a pair (gain, bias)", got=got)
    return layer_norm(tokens, *parts, epsilon=epsilon)


def _block(
    tokens: Array,
    block: BlockWeights,
    stage: Stage,
    name: str,
    trace: dict[str, Array],
    epsilon: float,
) -> Array:
    normed = trace[f"{name} norm1"] = _norm("norm1", block.norm1, tokens, epsilon=epsilon)
    mixed, shares = multi_head(normed, block.attention, stage.heads)
    mixed = _scaled("scale1", mixed, block.scale1)
    trace[f"{name} weights"], trace[f"{name} attention"] = shares, mixed
    tokens = trace[f"{name} middle"] = tokens + mixed
    normed = trace[f"{name} norm2"] = _norm("norm2", block.norm2, tokens, epsilon=epsilon)
    raised = gelu(affine("up", normed, block.up, block.up_bias, stage.hidden))
    lowered = affine("down", raised, block.down, block.down_bias, stage.width)
    trace[f"{name} mlp"] = _scaled("scale2", lowered, block.scale2)
    tokens = trace[name] = tokens + trace[f"{name} mlp"]
    return tokens


def _scaled(field: str, tokens: Array, scale: Any) -> Array:
    if scale is None:
        return tokens
    return tokens * require_floats(field, scale, str(tokens.shape[-1]))
