"""Softmax attention in floating point, with masks and heads.

Notation: Q (N, d_k), K (N_k, d_k), V (N_k, d_v); rows are tokens. S = Q K^T · scale; A = row softmax of S,
(N, N_k); the output is A V. Batch and head axes stand in front of the token axis.

Convention: scale is 1/sqrt(d_k) unless given. A mask is boolean, True where the query of the row may use the
key of the column; a forbidden score counts as minus infinity, so its weight is exactly 0.

Sources: Vaswani et al., NeurIPS 2017 (arXiv:1706.03762), section 3.2; equation 2 of the review.
"""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from einops import rearrange

from vitbias.arrays import Array, as_array, require_array, require_floats
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    ValuesError,
    describe,
    require_instance,
    require_number,
    require_size,
)

__all__ = ["HeadWeights", "affine", "attend", "attention", "multi_head", "require_mask", "softmax"]


@dataclass(frozen=True)
class HeadWeights:
    """The maps of one multi-head attention: tokens (N, d) to tokens (N, d).

    query, key, value, output : (d, d), applied as x @ W^T + b, heads side by side in the rows of W
    *_bias : (d,)
    """

    query: Array
    query_bias: Array
    key: Array
    key_bias: Array
    value: Array
    value_bias: Array
    output: Array
    output_bias: Array


def softmax(scores: Any, *, mask: Any = None) -> Array:
    """Softmax over the last axis: exp(s_j - max s) / sum_k exp(s_k - max s), over the allowed keys.

    Subtracting the largest allowed score changes nothing in exact arithmetic and keeps exp in range.

    Parameters
    ----------
    scores : (..., queries, keys)
    mask : (queries, keys) booleans, True = allowed; None allows all

    Raises
    ------
    ShapeError, ValuesError : also for a mask with a row that allows no key
    """
    scores = require_floats("scores", scores, "... queries keys")
    if mask is None:
        allowed = np.ones(scores.shape[-2:], dtype=bool)
    else:
        allowed = require_mask(mask, *scores.shape[-2:])
    scores = np.where(allowed, scores, -np.inf)
    with np.errstate(over="ignore"):  # a difference beyond the range of floats is a weight of 0
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    total: Array = weights.sum(axis=-1, keepdims=True)
    return np.asarray(weights / total)


def attend(
    query: Any, key: Any, value: Any, *, mask: Any = None, scale: float | None = None
) -> Any:
    """Output A V, (..., N, d_v), and weights A, (..., N, N_k), as the pair (output, weights).

    Parameters
    ----------
    query : (..., N, d_k); key : (..., N_k, d_k); value : (..., N_k, d_v)
    mask : (N, N_k) booleans, True = allowed
    scale : factor of the scores; default 1/sqrt(d_k)

    Raises
    ------
    ShapeError : d_k of query and key, N_k of key and value, or the batch axes do not fit
    ValuesError : also for scores beyond the range of floats
    """
    query = require_floats("query", query, "... queries width")
    key = require_floats("key", key, "... keys width")
    value = require_floats("value", value, "... keys values")
    if query.shape[-1] != key.shape[-1]:
        got = Literal(f"{query.shape[-1]} and {key.shape[-1]}")
        raise ShapeError("query and key", expected="one width", got=got)
    if key.shape[-2] != value.shape[-2]:
        got = Literal(f"{key.shape[-2]} and {value.shape[-2]}")
        raise ShapeError("key and value", expected="one number of tokens", got=got)
    batches = [array.shape[:-2] for array in (query, key, value)]
    try:
        np.broadcast_shapes(*batches)
    except ValueError:
        got = Literal(", ".join(str(batch) for batch in batches))
        raise ShapeError("query, key, value", expected="batch axes that fit", got=got) from None
    factor = query.shape[-1] ** -0.5 if scale is None else require_number("scale", scale)
    with np.errstate(over="ignore", invalid="ignore"):  # softmax refuses what is not finite
        scores = query @ np.swapaxes(key, -1, -2) * factor
    weights = softmax(scores, mask=mask)
    return weights @ value, weights


def attention(
    query: Any, key: Any, value: Any, *, mask: Any = None, scale: float | None = None
) -> Array:
    """The output of ``attend`` alone: softmax_row(Q K^T / sqrt(d_k)) V, (..., N, d_v)."""
    output, _ = attend(query, key, value, mask=mask, scale=scale)
    return np.asarray(output)


def multi_head(tokens: Any, weights: HeadWeights, heads: int, *, mask: Any = None) -> Any:
    """Multi-head self-attention: (..., N, d) to the pair (output (..., N, d), A (..., heads, N, N)).

    Raises
    ------
    GeometryError : d is not divisible by the number of heads
    ShapeError, ValuesError : also for weights that are no ``HeadWeights``
    """
    tokens = require_array("tokens", tokens, "... tokens width")
    width = tokens.shape[-1]
    weights = require_instance("weights", weights, HeadWeights)
    heads = require_size("heads", heads)
    if width % heads:
        near = ", ".join(str(h) for h in range(1, width + 1) if width % h == 0)
        raise GeometryError("heads", expected=f"a divisor of the width {width} ({near})", got=heads)
    split = [
        rearrange(
            affine(name, tokens, getattr(weights, name), getattr(weights, f"{name}_bias"), width),
            "... tokens (heads width) -> ... heads tokens width",
            heads=heads,
        )
        for name in ("query", "key", "value")
    ]
    output, shares = attend(*split, mask=mask)
    joined = rearrange(output, "... heads tokens width -> ... tokens (heads width)")
    return affine("output", joined, weights.output, weights.output_bias, width), shares


def affine(field: str, tokens: Any, weight: Any, bias: Any, rows: int) -> Array:
    """x @ W^T + b for each token: (..., columns) to (..., rows), with the sizes and values checked.

    Raises
    ------
    ShapeError, ValuesError : ``field`` names the weight; also for results beyond the range of floats
    GeometryError : ``rows`` is no size that an axis can have
    """
    if require_size("rows", rows) > sys.maxsize:
        raise GeometryError("rows", expected=f"at most {sys.maxsize}", got=rows)
    tokens = require_array("tokens", tokens, "... width")
    weight = require_floats(field, weight, f"{rows} {tokens.shape[-1]}")
    bias = require_floats(f"{field}_bias", bias, str(rows))
    with np.errstate(over="ignore", invalid="ignore"):  # the check refuses what is not finite
        mapped = tokens @ weight.T + bias
    return require_array(f"tokens after {field}", mapped, "... width")


def require_mask(mask: Any, queries: int, keys: int) -> Array:
    """``mask`` as a boolean (queries, keys) array in which every row allows a key.

    Raises
    ------
    ShapeError : another shape
    ValuesError : not booleans, or a query that may use no key (its softmax is not defined)
    GeometryError : ``queries`` or ``keys`` is no size
    """
    wanted = require_size("queries", queries), require_size("keys", keys)
    array = as_array("mask", mask)
    if array.dtype != bool:
        raise ValuesError(
            "mask", expected="booleans, True = allowed", got=Literal(f"{array.dtype} values")
        )
    if array.shape != wanted:
        got = Literal(f"shape {array.shape}")
        raise ShapeError(
            "mask", expected=f"shape ({describe(wanted[0])}, {describe(wanted[1])})", got=got
        )
    empty = np.flatnonzero(~array.any(axis=1))
    if len(empty):
        got = Literal(f"none in row {empty[0]}")
        raise ValuesError("mask", expected="an allowed key in every row", got=got)
    return array
