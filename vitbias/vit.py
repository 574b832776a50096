"""A small pre-norm vision transformer in NumPy that returns every intermediate under a stable name.

Notation: H, W picture [px]; P patch [px]; d width; L blocks; h heads; K classes; N patches; T = N + 1 tokens
with a class token, else N.

    z_0 = [class; x_1 E^T + b; …; x_N E^T + b] + positions
    z'_l = z_(l-1) + attention(LN(z_(l-1)))        z_l = z'_l + MLP(LN(z'_l))
    y = LN(z_L)[class token]  or  the mean of LN(z_L) over all tokens;   logits = y W^T + b

Convention: MLP(x) = GELU(x W_1^T + b_1) W_2^T + b_2 with the exact GELU, x·Φ(x); LN adds 1e-6 to the
variance.

Source: Dosovitskiy et al., ICLR 2021 (arXiv:2010.11929v2), equations 1 to 4; the mean read-out is its
appendix D.3.
"""

from dataclasses import dataclass
from math import erf, sqrt
from typing import Any

import numpy as np

from vitbias.arrays import Array, require_array, require_floats
from vitbias.attention import HeadWeights, affine, multi_head
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    ValuesError,
    describe,
    require_choice,
    require_instance,
    require_number,
    require_sequence,
    require_size,
)
from vitbias.formula import exact_quotient
from vitbias.patches import patchify, raw_dim, token_count

__all__ = ["BlockWeights", "Vit", "VitWeights", "forward", "gelu", "initial_weights", "layer_norm"]

EPSILON = 1e-6
READ_OUTS = ("class", "mean")
POSITIONS = ("learned", "none")
SIZES = ("image", "patch", "width", "depth", "heads", "classes", "channels", "mlp_ratio")


@dataclass(frozen=True)
class Vit:
    """The sizes of a model; refused at once when they do not fit each other.

    read_out : "class" (the class token) or "mean" (no class token, mean over tokens)
    position : "learned" (a table of one row for each token) or "none"
    """

    image: int
    patch: int
    width: int
    depth: int
    heads: int
    classes: int
    channels: int = 3
    mlp_ratio: int = 4
    read_out: str = "class"
    position: str = "learned"

    def __post_init__(self) -> None:
        for field in SIZES:  # plain integers from here on: a NumPy uint8 would wrap around
            object.__setattr__(self, field, require_size(field, getattr(self, field)))
        require_choice("read_out", self.read_out, READ_OUTS)
        require_choice("position", self.position, POSITIONS)
        exact_quotient("image", self.image, self.patch)
        if self.width % self.heads:
            expected = f"a divisor of the width {describe(self.width)}"
            raise GeometryError("heads", expected=expected, got=self.heads)

    @property
    def tokens(self) -> int:
        """T, patches and class token [tokens]."""
        return int(token_count(self.image, self.image, self.patch)) + (self.read_out == "class")


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


@dataclass(frozen=True)
class VitWeights:
    """All weights; ``class_token`` is (d,) or None, ``position`` is (T, d) or None."""

    patch: Array  # (d, D)
    patch_bias: Array
    class_token: Array | None
    position: Array | None
    blocks: tuple[BlockWeights, ...]
    norm: tuple[Array, Array]
    head: Array  # (K, d)
    head_bias: Array


def initial_weights(model: Vit, rng: np.random.Generator, *, scale: float = 1.0) -> VitWeights:
    """Random weights, float64, all normal.

    Matrices have variance scale²/fan-in; biases and the class token scale²/length; gains are 1 plus such a
    vector; the table of positions has variance 1/d at every scale.

    Not any release's initialisation: large enough that every part of the model matters at once, so that a
    test which ignores a part fails.

    Raises
    ------
    ValuesError : ``scale`` is not a finite number >= 0, ``rng`` no generator, or ``model`` no ``Vit``
    """
    model = require_instance("model", model, Vit)
    if not isinstance(rng, np.random.Generator):
        raise ValuesError("rng", expected="a numpy.random.Generator", got=rng)
    scale = require_number("scale", scale)
    if scale < 0:
        raise ValuesError("scale", expected="a number >= 0", got=scale)
    scale = abs(scale)  # NumPy refuses the sign of -0.0
    d, hidden = model.width, model.mlp_ratio * model.width

    def matrix(rows: int, columns: int) -> Array:
        return rng.normal(0.0, scale / sqrt(columns), (rows, columns))

    def vector(length: int = d) -> Array:
        return rng.normal(0.0, scale / sqrt(d), length)

    def norm() -> tuple[Array, Array]:
        return 1.0 + vector(), vector()

    def block() -> BlockWeights:
        maps = HeadWeights(*(part for _ in range(4) for part in (matrix(d, d), vector())))
        return BlockWeights(
            norm(), maps, norm(), matrix(hidden, d), vector(hidden), matrix(d, hidden), vector()
        )

    return VitWeights(
        patch=matrix(d, raw_dim(model.patch, model.channels)),
        patch_bias=vector(),
        class_token=vector() if model.read_out == "class" else None,
        position=rng.normal(0.0, 1 / sqrt(d), (model.tokens, d))
        if model.position == "learned"
        else None,
        blocks=tuple(block() for _ in range(model.depth)),
        norm=norm(),
        head=matrix(model.classes, d),
        head_bias=vector(model.classes),
    )


def forward(pictures: Any, weights: VitWeights, model: Vit) -> tuple[Array, dict[str, Array]]:
    """Logits (..., K) and the trace of every intermediate.

    Keys of the trace, in order: ``patches`` (..., N, D), ``patch_tokens`` (..., N, d), ``tokens``
    (..., T, d) with class token and positions; for each block l = 1…L ``block l norm1``,
    ``block l weights`` (..., h, T, T), ``block l attention``, ``block l middle``, ``block l norm2``,
    ``block l mlp``, ``block l``; then ``norm`` and ``read_out`` (..., d).

    Parameters
    ----------
    pictures : (..., H, W, C), used as they are: scaling to [-1, 1] is the caller's

    Raises
    ------
    ShapeError : pictures or weights do not have the model's sizes
    ValuesError : also when weights, blocks or model are of another class, and when an intermediate leaves
        the range of floats
    """
    _require_parts(weights, model)
    side = model.image
    pictures = require_array("pictures", pictures, f"... {side} {side} {model.channels}")
    patches = patchify(pictures, model.patch)
    tokens = affine("patch", patches, weights.patch, weights.patch_bias, model.width)
    trace = {"patches": patches, "patch_tokens": tokens}
    if weights.class_token is not None:
        row = require_floats("class_token", weights.class_token, str(model.width))
        first = np.broadcast_to(row, (*tokens.shape[:-2], 1, model.width))
        tokens = np.concatenate([first, tokens], axis=-2)
    if weights.position is not None:
        table = require_floats("position", weights.position, f"{model.tokens} {model.width}")
        tokens = tokens + table
    trace["tokens"] = tokens
    for number, block in enumerate(weights.blocks, start=1):
        tokens = _block(tokens, block, model, f"block {number}", trace)
    tokens = trace["norm"] = layer_norm(tokens, *_pair("norm", weights.norm))
    first_only = model.read_out == "class"
    read = trace["read_out"] = tokens[..., 0, :] if first_only else tokens.mean(axis=-2)
    return affine("head", read, weights.head, weights.head_bias, model.classes), trace


def layer_norm(tokens: Any, gain: Any, bias: Any) -> Array:
    """(x - mean)/sqrt(variance + 1e-6) · gain + bias over the last axis, (..., d) to (..., d).

    Parameters
    ----------
    gain, bias : (d,)

    Raises
    ------
    ShapeError
    ValuesError : also when a variance leaves the range of floats
    """
    tokens = require_floats("tokens", tokens, "... width")
    gain, bias = (
        require_floats(name, value, str(tokens.shape[-1]))
        for name, value in (("gain", gain), ("bias", bias))
    )
    with np.errstate(over="ignore", invalid="ignore"):
        centred = tokens - tokens.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
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


_erf = np.vectorize(erf, otypes=[np.float64])


def _require_parts(weights: VitWeights, model: Vit) -> None:
    """Parts that are there or not, as the model says: read-out, positions, depth."""
    weights = require_instance("weights", weights, VitWeights)
    model = require_instance("model", model, Vit)
    for name, part, wanted, rule in (
        ("class_token", weights.class_token, model.read_out == "class", "read-out 'class'"),
        ("position", weights.position, model.position == "learned", "learned positions"),
    ):
        if (part is not None) != wanted:
            raise ShapeError(name, expected=f"an array with {rule}, else None", got=part)
    blocks = require_sequence("blocks", weights.blocks)
    for block in blocks:
        require_instance("blocks", block, BlockWeights)
    if len(blocks) != model.depth:
        got = Literal(f"{len(blocks)} blocks")
        raise ShapeError("blocks", expected=f"{describe(model.depth)}, the depth", got=got)


def _pair(name: str, parts: Any) -> tuple[Any, Any]:
    parts = require_sequence(name, parts)
    if len(parts) != 2:
        got = Literal(f"{len(parts)} parts")
        raise ShapeError(name, expected="a pair (gain, bias)", got=got)
    gain, bias = parts
    return gain, bias


def _block(
    tokens: Array, block: BlockWeights, model: Vit, name: str, trace: dict[str, Array]
) -> Array:
    normed = trace[f"{name} norm1"] = layer_norm(tokens, *_pair("norm1", block.norm1))
    mixed, shares = multi_head(normed, block.attention, model.heads)
    trace[f"{name} weights"], trace[f"{name} attention"] = shares, mixed
    tokens = trace[f"{name} middle"] = tokens + mixed
    normed = trace[f"{name} norm2"] = layer_norm(tokens, *_pair("norm2", block.norm2))
    hidden = model.mlp_ratio * model.width
    raised = gelu(affine("up", normed, block.up, block.up_bias, hidden))
    trace[f"{name} mlp"] = affine("down", raised, block.down, block.down_bias, model.width)
    tokens = trace[name] = tokens + trace[f"{name} mlp"]
    return tokens
